//! Changes to networks and containers of the Docker daemon are carried out, and taken back where they fail half way.

mod container;
mod network;
mod replace;
mod rewire;
mod standing;

use serde_json::{Value, json};

use crate::apply::StepResult;
use crate::docker::client::Docker;
use crate::docker::error::DockerError;
use crate::docker::model::{Container, Network};
use crate::plan::DockerAction;

pub(crate) use standing::{Standing, standing};

/// Carries out an action whose precondition holds; nothing is sent when its result is there already.
pub(super) async fn carry_out(docker: &Docker, action: &DockerAction) -> StepResult {
    match standing(docker, action).await {
        Ok(Standing::After) => return StepResult::Unchanged,
        Ok(Standing::Before) => {}
        Ok(Standing::Gone) => {
            return StepResult::Refused(format!("{} is gone", action.target()));
        }
        Ok(Standing::Neither(what)) => {
            return StepResult::Refused(format!(
                "conflict: {what}; run again to see it as it is now"
            ));
        }
        Err(error) => return StepResult::Refused(error.to_string()),
    }
    match action {
        DockerAction::CreateNetwork(draft) => network::create(docker, draft).await,
        DockerAction::RemoveNetwork(draft) => network::remove(docker, draft).await,
        DockerAction::ReplaceNetwork(replacement) => replace::replace(docker, replacement).await,
        DockerAction::Rewire(rewiring) => rewire::rewire(docker, rewiring).await,
        DockerAction::StartContainer(name) => container::start(docker, name).await,
        DockerAction::RestartContainer(restart) => container::restart(docker, restart).await,
        DockerAction::WriteFile(file) => container::write(docker, file).await,
    }
}

/// What the backup keeps of what an action changes.
///
/// # Errors
/// What the daemon answers; a network that is still to be made is no error.
pub(super) async fn before(docker: &Docker, action: &DockerAction) -> Result<Value, DockerError> {
    let container = match action {
        DockerAction::CreateNetwork(draft) | DockerAction::RemoveNetwork(draft) => {
            let drafts = network::drafts(docker, &draft.name).await?;
            return Ok(json!({ "networks": drafts }));
        }
        DockerAction::ReplaceNetwork(replacement) => {
            let drafts = network::drafts(docker, &replacement.before.name).await?;
            return Ok(json!({ "networks": drafts, "moved": replacement.moved }));
        }
        DockerAction::Rewire(rewiring) => &rewiring.name,
        DockerAction::StartContainer(name) => name,
        DockerAction::RestartContainer(restart) => &restart.name,
        DockerAction::WriteFile(file) => &file.name,
    };
    let container = docker.inspect(&container.container_id).await?;
    Ok(json!({
        "container": container.name,
        "state": container.state,
        "attachments": container.attachments
    }))
}

/// The one network of a name, or with an id.
///
/// # Errors
/// In words, when there is none or more than one.
async fn found(docker: &Docker, id: Option<&str>, name: &str) -> Result<Network, String> {
    let networks = docker.networks().await.map_err(|error| error.to_string())?;
    let mut named = networks.into_iter().filter(|network| match id {
        Some(id) => network.id == id,
        None => network.name == name,
    });
    match (named.next(), named.next()) {
        (Some(network), None) => Ok(network),
        (None, _) => Err(format!("there is no network {name}")),
        (Some(_), Some(_)) => Err(format!("there are two networks of the name {name}")),
    }
}

/// The containers that are on a network, running or not, as inspections show them.
async fn on_network(docker: &Docker, network: &Network) -> Result<Vec<Container>, DockerError> {
    let listed = docker.containers().await?;
    let mut found = Vec::new();
    for container in listed
        .iter()
        .filter(|container| container.attachment_to(network).is_some())
    {
        found.push(docker.inspect(&container.id).await?);
    }
    Ok(found)
}
