//! A container's place on a network is changed; a change that fails leaves the old place, and never a broken entry.

use crate::apply::StepResult;
use crate::docker::client::{ConnectRequest, Docker};
use crate::docker::error::DockerError;
use crate::docker::model::{Attachment, ContainerState, Network};
use crate::docker::refusal::Refusal;
use crate::plan::Rewiring;

use super::standing::agrees;
use super::{found, on_network};

/// Changes the place as planned.
pub(super) async fn rewire(docker: &Docker, rewiring: &Rewiring) -> StepResult {
    let network = match found(docker, rewiring.network_id.as_deref(), &rewiring.network).await {
        Ok(network) => network,
        Err(reason) => return StepResult::Refused(reason),
    };
    if let Some(after) = &rewiring.after
        && let Err(reason) = free(docker, rewiring, &network, after).await
    {
        return StepResult::Refused(reason);
    }
    let id = &rewiring.name.container_id;
    let stopped = match halted(docker, rewiring).await {
        Ok(stopped) => stopped,
        Err(reason) => return StepResult::Refused(reason),
    };
    let changed = change(docker, rewiring, &network).await;
    let started = match stopped {
        true => docker.start_container(id).await,
        false => Ok(()),
    };
    let container = &rewiring.name.container;
    match (changed, started) {
        (Ok(()), Ok(())) => confirmed(docker, rewiring, &network).await,
        (Ok(()), Err(error)) => StepResult::Failed(format!(
            "it is done, and container {container} does not start: {error}"
        )),
        (Err(result), Ok(())) => result,
        (Err(result), Err(error)) => StepResult::Failed(format!(
            "{result}; and container {container} does not start: {error}"
        )),
    }
}

/// Takes a container off a network, a broken entry included.
///
/// Docker refuses to disconnect a running container of which it only has an entry. A connection that succeeds makes
/// the entry a real one, which can go.
pub(super) async fn leave(
    docker: &Docker,
    network: &Network,
    container_id: &str,
) -> Result<(), DockerError> {
    let container = docker.inspect(container_id).await?;
    let Some(place) = container.attachment_to(network) else {
        return Ok(());
    };
    if container.is_ghost(place) {
        docker
            .connect_network(&request(&network.id, container_id, &Attachment::default()))
            .await?;
    }
    match docker
        .disconnect_network(&network.id, container_id, false)
        .await
    {
        Err(error) if error.refusal() == Some(Refusal::NotConnected) => Ok(()),
        ended => ended,
    }
}

/// Puts a container on a network.
pub(super) async fn join(
    docker: &Docker,
    network_id: &str,
    container_id: &str,
    place: &Attachment,
) -> Result<(), DockerError> {
    docker
        .connect_network(&request(network_id, container_id, place))
        .await
}

fn request(network_id: &str, container_id: &str, place: &Attachment) -> ConnectRequest {
    ConnectRequest {
        network_id: network_id.to_owned(),
        container_id: container_id.to_owned(),
        address: place.pinned,
        gateway_priority: place.gateway_priority,
        interface: place.interface.clone(),
        aliases: place.aliases.clone(),
    }
}

/// Nobody else may hold the address or have it pinned: Docker notices too late, or not at all.
async fn free(
    docker: &Docker,
    rewiring: &Rewiring,
    network: &Network,
    after: &Attachment,
) -> Result<(), String> {
    let Some(wanted) = after.pinned else {
        return Ok(());
    };
    let on = on_network(docker, network)
        .await
        .map_err(|error| error.to_string())?;
    let holder = on
        .iter()
        .filter(|other| other.id != rewiring.name.container_id)
        .find(|other| {
            other
                .attachment_to(network)
                .is_some_and(|place| [place.address, place.pinned].contains(&Some(wanted)))
        });
    match holder {
        Some(holder) => Err(format!(
            "conflict: {wanted} on {} belongs to {} by now; run again to see it as it is now",
            network.name, holder.name
        )),
        None => Ok(()),
    }
}

/// Stops the container where the plan says so and it does not stand still already; whether it was stopped.
async fn halted(docker: &Docker, rewiring: &Rewiring) -> Result<bool, String> {
    let id = &rewiring.name.container_id;
    let container = docker
        .inspect(id)
        .await
        .map_err(|error| error.to_string())?;
    let moves = container.is_up() || container.state == ContainerState::Restarting;
    if !rewiring.halts {
        return match container.state {
            ContainerState::Restarting => Err(format!(
                "conflict: container {} restarts over and over by now; run again to see it as it is now",
                container.name
            )),
            _ => Ok(false),
        };
    }
    if moves {
        docker
            .stop_container(id)
            .await
            .map_err(|error| error.to_string())?;
    }
    Ok(moves)
}

/// Off the network and on it again; what fails is taken back.
async fn change(docker: &Docker, rewiring: &Rewiring, network: &Network) -> Result<(), StepResult> {
    let id = &rewiring.name.container_id;
    let inspected = docker.inspect(id).await;
    let container = inspected.map_err(|error| StepResult::Refused(error.to_string()))?;
    let place = container.attachment_to(network);
    let is_ghost = place.is_some_and(|place| container.is_ghost(place));
    let Some(after) = &rewiring.after else {
        return leave(docker, network, id)
            .await
            .map_err(|error| StepResult::Failed(error.to_string()));
    };
    // A connection that succeeds overwrites a broken entry, and a disconnection of one is refused.
    if place.is_some() && !is_ghost {
        let left = docker.disconnect_network(&network.id, id, false).await;
        if let Err(error) = left
            && error.refusal() != Some(Refusal::NotConnected)
        {
            return Err(match error.may_have_acted() {
                true => taken_back(docker, rewiring, network, &error).await,
                false => StepResult::Refused(error.to_string()),
            });
        }
    }
    match join(docker, &network.id, id, after).await {
        Ok(()) => Ok(()),
        Err(error) => Err(taken_back(docker, rewiring, network, &error).await),
    }
}

/// After a connection that failed: the container is where it was before, or the result says what it needs.
async fn taken_back(
    docker: &Docker,
    rewiring: &Rewiring,
    network: &Network,
    failed: &DockerError,
) -> StepResult {
    let id = &rewiring.name.container_id;
    let (container, name) = (&rewiring.name.container, &network.name);
    let now = match docker.inspect(id).await {
        Ok(now) => now,
        Err(error) => {
            return StepResult::Failed(format!(
                "{failed}; whether {container} is on {name} cannot be told: {error}"
            ));
        }
    };
    let place = now.attachment_to(network);
    let is_ghost = place.is_some_and(|place| now.is_ghost(place));
    if let (Some(place), Some(after), false) = (place, &rewiring.after, is_ghost)
        && place.pinned == after.pinned
    {
        // It was done, and the answer was lost.
        return StepResult::Applied(Some(
            "the answer was lost; the container was looked at again".to_owned(),
        ));
    }
    let restored = match (&rewiring.before, is_ghost) {
        // The first connection failed, and left an entry with which the container cannot start again.
        (None, true) => leave(docker, network, id).await,
        (None, false) => Ok(()),
        (Some(before), _) => match place {
            Some(_) if !is_ghost && !now.is_up() => {
                // A container that stands still keeps its old entry, whatever is asked for.
                match docker.disconnect_network(&network.id, id, false).await {
                    Ok(()) => join(docker, &network.id, id, before).await,
                    Err(error) => Err(error),
                }
            }
            _ => join(docker, &network.id, id, before).await,
        },
    };
    match (restored, &rewiring.before) {
        (Ok(()), None) => StepResult::Refused(format!("{failed}; {container} is not on {name}")),
        (Ok(()), Some(before)) => StepResult::Refused(format!(
            "{failed}; {container} is on {name} again as before{}",
            match before.pinned {
                Some(address) => format!(", at {address}"),
                None => String::new(),
            }
        )),
        (Err(error), _) => StepResult::Failed(format!(
            "{failed}; and the former state could not be restored: {error}; with what is left {container} may not start \
             again: docker stop {container}; docker network disconnect {name} {container}; docker start {container}"
        )),
    }
}

/// Looks at the container again: Docker takes some requests and does nothing.
async fn confirmed(docker: &Docker, rewiring: &Rewiring, network: &Network) -> StepResult {
    let (container, name) = (&rewiring.name.container, &network.name);
    let (now, orders) = match (
        docker.inspect(&rewiring.name.container_id).await,
        docker.version().await,
    ) {
        (Ok(now), Ok(version)) => (now, version.orders_interfaces()),
        (Err(error), _) | (_, Err(error)) => {
            return StepResult::Applied(Some(format!("the result cannot be told: {error}")));
        }
    };
    match (now.attachment_to(network), &rewiring.after) {
        (None, None) => StepResult::Applied(None),
        (Some(place), Some(after)) if now.is_ghost(place) => StepResult::Failed(format!(
            "Docker took the request, and {container} holds no address on {name}, not {}",
            after
                .pinned
                .map_or("any".to_owned(), |address| address.to_string())
        )),
        (Some(place), Some(after)) if agrees(place, after, orders) => StepResult::Applied(
            (!now.is_up())
                .then(|| "it stands still, and gets its address when it starts".to_owned()),
        ),
        (Some(_), _) => StepResult::Failed(format!(
            "Docker took the request, and {container} is on {name} in another way than asked for"
        )),
        (None, Some(_)) => StepResult::Failed(format!(
            "Docker took the request, and {container} is not on {name}"
        )),
    }
}
