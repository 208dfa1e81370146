//! Networks are made and removed.

use crate::apply::StepResult;
use crate::docker::client::Docker;
use crate::docker::error::DockerError;
use crate::docker::model::Network;
use crate::docker::network_draft::NetworkDraft;

use super::{found, on_network};

/// The networks of this name, each with what it is made of.
pub(super) async fn drafts(
    docker: &Docker,
    name: &str,
) -> Result<Vec<(Network, NetworkDraft)>, DockerError> {
    let mut drafts = Vec::new();
    for network in docker.networks().await? {
        if network.name == name {
            let draft = docker.network_draft(&network.id).await?;
            drafts.push((network, draft));
        }
    }
    Ok(drafts)
}

/// Makes the network, and takes it away again where somebody made another one of that name meanwhile: Docker before 25
/// lets both be.
pub(super) async fn create(docker: &Docker, draft: &NetworkDraft) -> StepResult {
    let id = match docker.create_network(draft).await {
        Ok(id) => id,
        Err(error) if error.may_have_acted() => {
            return match drafts(docker, &draft.name).await.as_deref() {
                Ok([(_, one)]) if one.agrees_with(draft) => StepResult::Applied(Some(
                    "the answer was lost; the network was looked for and is there".to_owned(),
                )),
                _ => StepResult::Failed(error.to_string()),
            };
        }
        Err(error) => return StepResult::Refused(error.to_string()),
    };
    let of_that_name = match docker.networks().await {
        Ok(networks) => networks
            .iter()
            .filter(|network| network.name == draft.name)
            .count(),
        Err(error) => {
            return StepResult::Failed(format!(
                "the network was made, and whether it is the only one of its name cannot be told: {error}"
            ));
        }
    };
    if of_that_name == 1 {
        return StepResult::Applied(None);
    }
    match docker.remove_network(&id).await {
        Ok(()) => StepResult::Refused(format!(
            "somebody made another network {} at the same time; ours was removed again",
            draft.name
        )),
        Err(error) => StepResult::Failed(format!(
            "there are {of_that_name} networks {}, and ours cannot be removed: {error}",
            draft.name
        )),
    }
}

/// Removes the network. Docker lets those go whose containers stand still, which could not start then.
pub(super) async fn remove(docker: &Docker, draft: &NetworkDraft) -> StepResult {
    let network = match found(docker, None, &draft.name).await {
        Ok(network) => network,
        Err(reason) => return StepResult::Refused(reason),
    };
    match on_network(docker, &network).await {
        Ok(on) if on.is_empty() => {}
        Ok(on) => {
            let names: Vec<&str> = on.iter().map(|container| container.name.as_str()).collect();
            return StepResult::Refused(format!(
                "network {} is still in use by {}",
                draft.name,
                names.join(", ")
            ));
        }
        Err(error) => return StepResult::Refused(error.to_string()),
    }
    match docker.remove_network(&network.id).await {
        Ok(()) => StepResult::Applied(None),
        Err(error) if error.may_have_acted() => StepResult::Failed(error.to_string()),
        Err(error) => StepResult::Refused(error.to_string()),
    }
}
