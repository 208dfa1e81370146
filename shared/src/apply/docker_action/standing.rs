//! Whether an action is still to be done, is done, or is about something else by now. Sends reads.

use crate::docker::client::Docker;
use crate::docker::error::DockerError;
use crate::docker::model::{Attachment, Container};
use crate::docker::refusal::Refusal;
use crate::plan::{DockerAction, Replacement, Rewiring};

use super::{found, network, on_network};

/// Where the daemon stands between before and after an action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Standing {
    /// As it was before, or as good as that.
    Before,
    /// As the action leaves it.
    After,
    /// Neither; what is different, as a clause.
    Neither(String),
    /// The container is gone, and what was done to it with it.
    Gone,
}

/// Where the daemon stands; a start and a restart are never done.
///
/// # Errors
/// What the daemon answers, except that something is gone.
pub(crate) async fn standing(
    docker: &Docker,
    action: &DockerAction,
) -> Result<Standing, DockerError> {
    match action {
        DockerAction::CreateNetwork(draft) => {
            let drafts = network::drafts(docker, &draft.name).await?;
            Ok(match drafts.as_slice() {
                [] => Standing::Before,
                [(_, one)] if one.agrees_with(draft) => Standing::After,
                [_] => Standing::Neither(format!("there is another network {} by now", draft.name)),
                _ => Standing::Neither(format!("there are two networks {} by now", draft.name)),
            })
        }
        DockerAction::RemoveNetwork(draft) => {
            let drafts = network::drafts(docker, &draft.name).await?;
            Ok(match drafts.as_slice() {
                [] => Standing::After,
                [(_, one)] if one.agrees_with(draft) => Standing::Before,
                _ => Standing::Neither(format!("network {} is another one by now", draft.name)),
            })
        }
        DockerAction::ReplaceNetwork(replacement) => replaced(docker, replacement).await,
        DockerAction::Rewire(rewiring) => rewired(docker, rewiring).await,
        DockerAction::StartContainer(name) => Ok(match seen(docker, &name.container_id).await? {
            Some(container) if container.is_up() => Standing::After,
            Some(_) => Standing::Before,
            None => Standing::Gone,
        }),
        DockerAction::RestartContainer(restart) => {
            Ok(match seen(docker, &restart.name.container_id).await? {
                Some(_) => Standing::Before,
                None => Standing::Gone,
            })
        }
        DockerAction::WriteFile(file) => {
            if seen(docker, &file.name.container_id).await?.is_none() {
                return Ok(Standing::Gone);
            }
            let now = docker
                .read_file(&file.name.container_id, &file.path)
                .await?;
            Ok(if now == file.after {
                Standing::After
            } else if now == file.before {
                Standing::Before
            } else {
                Standing::Neither(format!(
                    "{} in {} is another file by now",
                    file.path, file.name.container
                ))
            })
        }
    }
}

async fn replaced(docker: &Docker, replacement: &Replacement) -> Result<Standing, DockerError> {
    let Replacement {
        network_id,
        before,
        after,
        moved,
    } = replacement;
    let drafts = network::drafts(docker, &before.name).await?;
    let [(network, now)] = drafts.as_slice() else {
        return Ok(Standing::Neither(format!(
            "there are {} networks {} by now",
            drafts.len(),
            before.name
        )));
    };
    let is_old = match network_id {
        Some(id) => network.id == *id,
        None => now.agrees_with(before),
    };
    if !is_old && now.agrees_with(after) {
        return Ok(Standing::After);
    }
    if !is_old {
        return Ok(Standing::Neither(format!(
            "network {} is another one by now",
            before.name
        )));
    }
    let on = on_network(docker, network).await?;
    let mut planned: Vec<&str> = moved
        .iter()
        .map(|moved| moved.name.container_id.as_str())
        .collect();
    let mut there: Vec<&str> = on.iter().map(|container| container.id.as_str()).collect();
    planned.sort_unstable();
    there.sort_unstable();
    Ok(if planned == there {
        Standing::Before
    } else {
        Standing::Neither(format!(
            "other containers are on network {} by now",
            before.name
        ))
    })
}

async fn rewired(docker: &Docker, rewiring: &Rewiring) -> Result<Standing, DockerError> {
    let Some(container) = seen(docker, &rewiring.name.container_id).await? else {
        return Ok(Standing::Gone);
    };
    let now = match found(docker, rewiring.network_id.as_deref(), &rewiring.network).await {
        Ok(network) => container.attachment_to(&network),
        // A container that stands still keeps the name of a network that is gone.
        Err(_) => container.attachments.get(&rewiring.network),
    };
    let orders = docker.version().await?.orders_interfaces();
    let is = |wanted: Option<&Attachment>| match (now, wanted) {
        (None, None) => true,
        (Some(now), Some(wanted)) => agrees(now, wanted, orders),
        _ => false,
    };
    let broken = now.is_some_and(|now| container.is_ghost(now));
    Ok(if !broken && is(rewiring.after.as_ref()) {
        Standing::After
    } else if is(rewiring.before.as_ref()) {
        Standing::Before
    } else {
        Standing::Neither(match now {
            Some(now) => format!(
                "{} is on {} {} by now",
                rewiring.name.container,
                rewiring.network,
                placed(now)
            ),
            None => format!(
                "{} is not on {} by now",
                rewiring.name.container, rewiring.network
            ),
        })
    })
}

/// Whether a place is as it was asked for; what old daemons drop does not count with them.
pub(super) fn agrees(now: &Attachment, wanted: &Attachment, orders: bool) -> bool {
    let ordered = !orders
        || (now.interface == wanted.interface && now.gateway_priority == wanted.gateway_priority);
    let names = wanted
        .aliases
        .iter()
        .all(|alias| now.aliases.contains(alias));
    now.pinned == wanted.pinned && ordered && names
}

/// A container as it is; `None` = it is gone.
pub(super) async fn seen(docker: &Docker, id: &str) -> Result<Option<Container>, DockerError> {
    match docker.inspect(id).await {
        Ok(container) => Ok(Some(container)),
        Err(error) if error.refusal() == Some(Refusal::NoSuchContainer) => Ok(None),
        Err(error) => Err(error),
    }
}

fn placed(place: &Attachment) -> String {
    match (place.pinned, place.address) {
        (Some(pinned), _) => format!("pinned at {pinned}"),
        (None, Some(address)) => format!("at {address}"),
        (None, None) => "without an address".to_owned(),
    }
}
