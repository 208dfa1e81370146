//! Addresses are tried from inside a container of the control plane, before they are written.

use futures::future::join_all;
use jiff::Timestamp;
use karmada_repair::access::Access;
use karmada_repair::docker::client::Docker;

use crate::bypass;
use crate::config::Config;
use crate::credentials;
use crate::doors;
use crate::endpoint::Endpoint;
use crate::examine::{Remedy, control_plane, examine};
use crate::observed::{Member, Observed};
use crate::vantage::{self, Target, Tried};

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
        let open: Vec<(&Member, Endpoint, Option<String>)> = observed
            .members
            .iter()
            .filter(|member| config.examines(member) && (!member.is_reached() || config.by_name))
            .flat_map(|member| {
                let wanted = untried(member, observed, config, now);
                let of_member = move |endpoint| (member, endpoint, authority(member, now));
                let proxy = bypass::untried_proxy(member).map(|proxy| (member, proxy, None));
                wanted.into_iter().map(of_member).chain(proxy)
            })
            .collect();
        if open.is_empty() {
            return;
        }
        let attempts = open.iter().map(|(_, endpoint, authority)| {
            tried(docker, (&id, &name), endpoint, authority.as_deref())
        });
        let attempts = join_all(attempts).await;
        let open: Vec<(String, Endpoint)> = open
            .into_iter()
            .map(|(member, endpoint, _)| (member.name().to_owned(), endpoint))
            .collect();
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
        Remedy::Nothing if bypass::is_open_question(member) => {
            return member
                .endpoint()
                .filter(|endpoint| member.tried_at(endpoint).is_none())
                .into_iter()
                .collect();
        }
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

async fn tried(
    docker: &Docker,
    from: (&str, &str),
    endpoint: &Endpoint,
    authority: Option<&str>,
) -> Tried {
    let target = Target {
        host: endpoint.host(),
        port: endpoint.port(),
        authority,
    };
    vantage::look(docker, from, target).await
}

/// The CA that the control plane is to judge the member by, where it judges and a command line can hold it.
fn authority(member: &Member, now: Timestamp) -> Option<String> {
    let judges = !member.cluster.spec.insecure_skip_tls_verification;
    credentials::authority(member, now)
        .filter(|authority| judges && authority.len() <= LONGEST_ARGUMENT)
}

/// Half of what Linux takes as one argument.
const LONGEST_ARGUMENT: usize = 64 * 1024;

const MOST_ROUNDS: usize = 4;
