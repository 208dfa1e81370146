//! Containers are started and restarted, and files are written in them.

use std::time::Duration;

use crate::apply::StepResult;
use crate::clock::Deadline;
use crate::docker::client::Docker;
use crate::docker::routes::Routes;
use crate::plan::{ContainerFile, ContainerName, ContainerRestart, Inside};

/// Starts the container, and sees that it stays up for a moment.
pub(super) async fn start(docker: &Docker, name: &ContainerName) -> StepResult {
    match docker.start_container(&name.container_id).await {
        Ok(()) => StepResult::Applied(None),
        Err(error) if error.may_have_acted() => StepResult::Failed(error.to_string()),
        Err(error) => StepResult::Refused(error.to_string()),
    }
}

/// Restarts the container, and compares it with what has to be unchanged.
pub(super) async fn restart(docker: &Docker, restart: &ContainerRestart) -> StepResult {
    let ContainerName {
        container_id,
        container,
    } = &restart.name;
    if let Err(error) = docker.restart_container(container_id).await {
        let state = match docker.inspect(container_id).await {
            Ok(now) => format!("{container} is {} now", now.state),
            Err(error) => format!("what became of {container} cannot be told: {error}"),
        };
        return StepResult::Failed(format!("{error}; {state}"));
    }
    let Some(before) = &restart.unchanged else {
        return StepResult::Applied(None);
    };
    let deadline = Deadline::after(UP_WITHIN);
    loop {
        let different = match inside(docker, container_id).await {
            Ok(now) => differences(before, &now),
            Err(reason) => vec![reason],
        };
        if different.is_empty() {
            return StepResult::Applied(Some(format!(
                "unchanged: {}",
                before
                    .addresses
                    .iter()
                    .map(|(network, address)| format!("{address} on {network}"))
                    .chain(
                        before
                            .routes
                            .default_interface
                            .iter()
                            .map(|interface| format!("default route by {interface}"))
                    )
                    .collect::<Vec<_>>()
                    .join(", ")
            )));
        }
        if deadline.passed() {
            return StepResult::Failed(format!(
                "{container} is not as it was before the restart: {}",
                different.join("; ")
            ));
        }
        tokio::time::sleep(BETWEEN_LOOKS).await;
    }
}

/// Writes the file, or removes it.
pub(super) async fn write(docker: &Docker, file: &ContainerFile) -> StepResult {
    let id = &file.name.container_id;
    let Some(content) = &file.after else {
        return match docker.remove_file(id, &file.path).await {
            Ok(()) => StepResult::Applied(None),
            Err(reason) => StepResult::Failed(reason),
        };
    };
    match docker.write_file(id, &file.path, content).await {
        Ok(()) => StepResult::Applied(None),
        Err(error) if error.may_have_acted() => StepResult::Failed(error.to_string()),
        Err(error) => StepResult::Refused(error.to_string()),
    }
}

async fn inside(docker: &Docker, id: &str) -> Result<Inside, String> {
    let container = docker
        .inspect(id)
        .await
        .map_err(|error| error.to_string())?;
    if !container.is_running() {
        return Err(format!("it is {}", container.state));
    }
    Ok(Inside {
        addresses: container.addresses(),
        routes: docker.routes(id).await?,
    })
}

fn differences(before: &Inside, now: &Inside) -> Vec<String> {
    let mut different = Vec::new();
    for (network, address) in &before.addresses {
        let held = now.addresses.iter().find(|(name, _)| name == network);
        if held.map(|(_, address)| address) != Some(address) {
            let held = held.map_or("no address".to_owned(), |(_, address)| address.to_string());
            different.push(format!("{held} on {network}, and before {address}"));
        }
    }
    let interface = |routes: &Routes| {
        routes
            .default_interface
            .clone()
            .unwrap_or_else(|| "no interface".to_owned())
    };
    if before.routes.default_interface != now.routes.default_interface {
        different.push(format!(
            "the default route is by {}, and before by {}",
            interface(&now.routes),
            interface(&before.routes)
        ));
    }
    for link in &before.routes.links {
        // Interfaces that the node makes by itself come later, or not at all under a load.
        let is_dockers = before
            .addresses
            .iter()
            .any(|(_, address)| link.subnet.contains(address));
        let found = now.routes.interface_of(link.subnet);
        // Before Docker 28 a connection to a running container takes the next number, and a start counts anew.
        let may_be_renumbered = |name: &str| name.starts_with("eth") && name != "eth0";
        let is_same = found == Some(link.interface.as_str())
            || (may_be_renumbered(&link.interface) && found.is_some_and(may_be_renumbered));
        if is_dockers && !is_same {
            different.push(format!(
                "{} is behind {}, and before behind {}",
                link.subnet,
                found.unwrap_or("no interface"),
                link.interface
            ));
        }
    }
    different
}

const UP_WITHIN: Duration = Duration::from_secs(30);
const BETWEEN_LOOKS: Duration = Duration::from_millis(250);

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::docker::routes::Link;

    fn seen(address: &str, eth0: &str, default: &str) -> Inside {
        let link = |interface: &str, subnet: &str| Link {
            interface: interface.to_owned(),
            subnet: subnet.parse().unwrap(),
        };
        Inside {
            addresses: vec![("karmada-mesh".to_owned(), address.parse().unwrap())],
            routes: Routes {
                default_interface: Some(default.to_owned()),
                links: vec![link(eth0, "172.28.0.0/24"), link("cni0", "10.42.0.0/24")],
            },
        }
    }

    #[test]
    fn a_restart_is_told_by_what_it_changed() {
        let before = seen("172.28.0.11", "mesh0", "eth0");
        assert!(differences(&before, &before).is_empty());
        let old = seen("172.28.0.11", "eth2", "eth0");
        assert!(differences(&old, &seen("172.28.0.11", "eth1", "eth0")).is_empty());
        assert_eq!(
            differences(&old, &seen("172.28.0.11", "eth0", "eth0")).len(),
            1
        );
        let mut without_pods = before.clone();
        without_pods.routes.links.pop();
        assert!(differences(&before, &without_pods).is_empty());
        let moved = differences(&before, &seen("172.28.0.3", "eth0", "eth1"));
        assert_eq!(
            moved,
            [
                "172.28.0.3 on karmada-mesh, and before 172.28.0.11",
                "the default route is by eth1, and before by eth0",
                "172.28.0.0/24 is behind eth0, and before behind mesh0"
            ]
        );
    }
}
