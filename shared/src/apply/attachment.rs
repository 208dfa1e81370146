//! A container joins or leaves a network of the Docker daemon.

use std::net::Ipv4Addr;

use crate::apply::StepResult;
use crate::docker::client::{ConnectRequest, Docker};
use crate::docker::error::DockerError;
use crate::docker::refusal::Refusal;
use crate::plan::NetworkAttachment;

/// Joins the network; nothing is sent when the container is on it as wanted.
///
/// An entry that a failed connection left behind is overwritten by one that succeeds.
pub(super) async fn connect(docker: &Docker, wanted: &NetworkAttachment) -> StepResult {
    match now(docker, wanted).await {
        Ok(Now::On(address)) if accepts(wanted, address) => return StepResult::Unchanged,
        Ok(Now::On(address)) => {
            return StepResult::Refused(format!(
                "conflict: {} is on {} at {} by now; run again to see it as it is now",
                wanted.container,
                wanted.network,
                address.map_or("no address".to_owned(), |address| address.to_string())
            ));
        }
        Ok(Now::Off | Now::Ghost) => {}
        Err(error) => return StepResult::Refused(error.to_string()),
    }
    let mut request = ConnectRequest {
        network_id: wanted.network_id.clone(),
        container_id: wanted.container_id.clone(),
        address: wanted.address,
        gateway_priority: wanted.gateway_priority,
        interface: Some(wanted.interface.clone()),
        aliases: Vec::new(),
    };
    let mut sent = docker.connect_network(&request).await;
    let refused = sent.as_ref().err().and_then(DockerError::refusal);
    if wanted.address_may_yield && refused == Some(Refusal::NoUserSubnet) {
        request.address = None;
        sent = docker.connect_network(&request).await;
    }
    let after = now(docker, wanted).await;
    match (sent, after) {
        (_, Ok(Now::On(address))) => StepResult::Applied(note(wanted, address)),
        (Ok(()), Ok(Now::Off | Now::Ghost)) => StepResult::Failed(format!(
            "Docker took the request, but {} holds no address on {}",
            wanted.container, wanted.network
        )),
        (Ok(()), Err(reading)) => StepResult::Applied(Some(format!(
            "the address it got cannot be told: {reading}"
        ))),
        (Err(error), Ok(Now::Off)) => StepResult::Refused(error.to_string()),
        (Err(error), Ok(Now::Ghost)) => StepResult::Failed(format!(
            "{error}; Docker kept a broken entry for {network} in {container}, with which it cannot start again: \
             docker stop {container}, docker network disconnect {network} {container}, docker start {container}",
            network = wanted.network,
            container = wanted.container
        )),
        (Err(error), Err(reading)) => StepResult::Failed(format!(
            "{error}; whether {} is connected cannot be told: {reading}",
            wanted.container
        )),
    }
}

/// Leaves the network; nothing is sent when the container is not on it.
pub(super) async fn disconnect(docker: &Docker, wanted: &NetworkAttachment) -> StepResult {
    match now(docker, wanted).await {
        Ok(Now::Off) => return StepResult::Unchanged,
        Ok(Now::On(_) | Now::Ghost) => {}
        Err(error) => return StepResult::Refused(error.to_string()),
    }
    match docker
        .disconnect_network(&wanted.network_id, &wanted.container_id, false)
        .await
    {
        Ok(()) => StepResult::Applied(None),
        Err(error) => StepResult::Failed(error.to_string()),
    }
}

enum Now {
    Off,
    /// On the network; a container that does not run holds no address.
    On(Option<Ipv4Addr>),
    /// An entry without an address although the container runs, left by a failed connection.
    Ghost,
}

async fn now(docker: &Docker, wanted: &NetworkAttachment) -> Result<Now, DockerError> {
    let container = docker.inspect(&wanted.container_id).await?;
    let attachment = container
        .attachments
        .get(&wanted.network)
        .filter(|attachment| {
            attachment
                .network_id
                .as_ref()
                .is_none_or(|id| *id == wanted.network_id)
        });
    Ok(match attachment {
        None => Now::Off,
        Some(attachment) if container.is_ghost(attachment) => Now::Ghost,
        Some(attachment) => Now::On(attachment.address.or(attachment.pinned)),
    })
}

fn accepts(wanted: &NetworkAttachment, address: Option<Ipv4Addr>) -> bool {
    wanted.address.is_none() || wanted.address == address || wanted.address_may_yield
}

fn note(wanted: &NetworkAttachment, address: Option<Ipv4Addr>) -> Option<String> {
    match (wanted.address, address) {
        (Some(wanted), Some(address)) if wanted == address => None,
        (_, Some(address)) => Some(format!(
            "at {address}, which Docker chose and may change when it restarts: the network has no subnet of the user's"
        )),
        (_, None) => Some("it gets its address when it starts".to_owned()),
    }
}
