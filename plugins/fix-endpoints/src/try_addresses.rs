//! Addresses are tried from inside a container of the control plane, before they are written.

use futures::future::join_all;
use jiff::Timestamp;
use karmada_repair::access::Access;
use karmada_repair::docker::client::Docker;

use crate::config::Config;
use crate::doors;
use crate::endpoint::Endpoint;
use crate::examine::{Remedy, control_plane, examine};
use crate::observed::{Member, Observed};
use crate::vantage::{self, Reach, Tried};

/// Tries the addresses that would be planned and need no joining of networks, until none is left that was not tried.
pub(crate) async fn try_addresses(
    access: &Access,
    config: &Config,
    observed: &mut Observed,
    now: Timestamp,
) {
    let Some(docker) = access.docker_in_use() else {
        return;
    };
    let Some((id, name)) = vantage_of(observed, config) else {
        return;
    };
    // Each round may show that the next best address must be tried; there are few.
    for _ in 0..MOST_ROUNDS {
        let open: Vec<(String, Endpoint)> = observed
            .members
            .iter()
            .filter(|member| member.is_dialled() && !member.is_reached())
            .flat_map(|member| {
                untried(member, observed, config, now)
                    .into_iter()
                    .map(|endpoint| (member.name().to_owned(), endpoint))
            })
            .collect();
        if open.is_empty() {
            return;
        }
        let attempts = open
            .iter()
            .map(|(_, endpoint)| tried(docker, (&id, &name), endpoint));
        let attempts = join_all(attempts).await;
        for ((cluster, endpoint), attempt) in open.into_iter().zip(attempts) {
            for member in &mut observed.members {
                if member.name() == cluster {
                    member.tried.insert(endpoint.to_string(), attempt.clone());
                }
            }
        }
    }
}

fn untried(member: &Member, observed: &Observed, config: &Config, now: Timestamp) -> Vec<Endpoint> {
    let wanted: Vec<&Endpoint> = match &examine(member, observed, config, now).remedy {
        Remedy::Take(route) if route.joining.is_empty() => {
            return Some(route.endpoint.clone())
                .filter(|endpoint| member.tried_at(endpoint).is_none())
                .into_iter()
                .collect();
        }
        Remedy::Dial(_) | Remedy::Blocked(_) => doors::usable(member, now)
            .map(|door| &door.endpoint)
            .collect(),
        _ => Vec::new(),
    };
    wanted
        .into_iter()
        .filter(|endpoint| member.tried_at(endpoint).is_none())
        .cloned()
        .collect()
}

/// A running container of the control plane, by ID and name.
fn vantage_of(observed: &Observed, config: &Config) -> Option<(String, String)> {
    let docker = observed.docker.seen()?;
    let nodes = control_plane(observed, config, docker).ok()?;
    let node = nodes.into_iter().find(|node| node.is_running())?;
    Some((node.id.clone(), node.name.clone()))
}

async fn tried(docker: &Docker, from: (&str, &str), endpoint: &Endpoint) -> Tried {
    match endpoint.address() {
        Some(address) => vantage::look(docker, from, address, endpoint.port()).await,
        None => Tried {
            from: from.1.to_owned(),
            // The container resolves names otherwise than the pods in it do.
            reach: Reach::Untried("its host is a name".to_owned()),
        },
    }
}

const MOST_ROUNDS: usize = 4;
