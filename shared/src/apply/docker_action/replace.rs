//! A network is made anew under its name; what fails half way is taken back, containers and all.

use crate::apply::StepResult;
use crate::docker::client::Docker;
use crate::docker::model::Network;
use crate::plan::{Replacement, Rewiring};

use super::rewire::{join, leave};
use super::{found, on_network};

/// Replaces the network.
pub(super) async fn replace(docker: &Docker, replacement: &Replacement) -> StepResult {
    let name = &replacement.before.name;
    let old = match found(docker, replacement.network_id.as_deref(), name).await {
        Ok(old) => old,
        Err(reason) => return StepResult::Refused(reason),
    };
    match carried_out(docker, replacement, &old).await {
        Ok(()) => StepResult::Applied(None),
        Err(reason) => match taken_back(docker, replacement).await {
            Ok(()) => StepResult::Failed(format!(
                "{reason}; the network {name} is as it was before, with its containers"
            )),
            Err(left) => StepResult::Failed(format!("{reason}; taking it back failed: {left}")),
        },
    }
}

async fn carried_out(
    docker: &Docker,
    replacement: &Replacement,
    old: &Network,
) -> Result<(), String> {
    let Replacement { after, moved, .. } = replacement;
    for container in moved {
        let name = &container.name.container;
        let left = match container.halts {
            true => docker.stop_container(&container.name.container_id).await,
            false => Ok(()),
        };
        let left = match left {
            Ok(()) => leave(docker, old, &container.name.container_id).await,
            failed => failed,
        };
        left.map_err(|error| format!("{name} does not leave: {error}"))?;
    }
    let words = |error: crate::docker::error::DockerError| error.to_string();
    docker.remove_network(&old.id).await.map_err(words)?;
    let id = docker.create_network(after).await.map_err(words)?;
    found(docker, None, &after.name).await?;
    for container in moved {
        put(docker, &id, container, true).await?;
    }
    Ok(())
}

/// Puts a container on the network as it is to be, or as it was before.
async fn put(
    docker: &Docker,
    network_id: &str,
    container: &Rewiring,
    as_planned: bool,
) -> Result<(), String> {
    let place = match as_planned {
        true => &container.after,
        false => &container.before,
    };
    let id = &container.name.container_id;
    let failed = |error: crate::docker::error::DockerError| {
        format!("{} does not join: {error}", container.name.container)
    };
    if let Some(place) = place {
        join(docker, network_id, id, place).await.map_err(failed)?;
    }
    if container.halts {
        docker.start_container(id).await.map_err(failed)?;
    }
    Ok(())
}

async fn taken_back(docker: &Docker, replacement: &Replacement) -> Result<(), String> {
    let Replacement {
        network_id,
        before,
        moved,
        ..
    } = replacement;
    let words = |error: crate::docker::error::DockerError| error.to_string();
    let networks = docker.networks().await.map_err(words)?;
    let named = networks
        .iter()
        .filter(|network| network.name == before.name);
    let mut old = None;
    for network in named {
        let is_old = match network_id {
            Some(id) => network.id == *id,
            None => docker
                .network_draft(&network.id)
                .await
                .map_err(words)?
                .agrees_with(before),
        };
        if is_old {
            old = Some(network.clone());
            continue;
        }
        for container in on_network(docker, network).await.map_err(words)? {
            leave(docker, network, &container.id).await.map_err(words)?;
        }
        docker.remove_network(&network.id).await.map_err(words)?;
    }
    let id = match old {
        Some(old) => old.id,
        None => docker.create_network(before).await.map_err(words)?,
    };
    let network = found(docker, Some(&id), &before.name).await?;
    let mut left = Vec::new();
    for container in moved {
        let now = docker.inspect(&container.name.container_id).await;
        let is_there = now.is_ok_and(|now| {
            now.attachment_to(&network)
                .is_some_and(|place| !now.is_ghost(place))
        });
        if !is_there && let Err(reason) = put(docker, &id, container, false).await {
            left.push(reason);
        }
    }
    match left.is_empty() {
        true => Ok(()),
        false => Err(left.join("; ")),
    }
}
