//! Changes to networks and containers beyond a first connection: made, replaced, pinned, restarted. Pure.

use std::net::Ipv4Addr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::docker::model::Attachment;
use crate::docker::network_draft::NetworkDraft;
use crate::docker::routes::Routes;
use crate::text::shell_word;

/// A change to one network or container of the Docker daemon.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "docker", rename_all = "kebab-case")]
pub enum DockerAction {
    /// Makes a network; precondition: there is none of its name.
    CreateNetwork(NetworkDraft),
    /// Removes a network; precondition: it is made as told, and no container is on it, running or not.
    RemoveNetwork(NetworkDraft),
    /// Makes a network anew under its name, with all containers taken off and put back; precondition: these are on it.
    ReplaceNetwork(Replacement),
    /// Changes a container's place on a network; precondition: it is as told.
    Rewire(Rewiring),
    /// Starts a container; precondition: it is the same container.
    StartContainer(ContainerName),
    /// Restarts a container and looks at it; precondition: it is the same container.
    RestartContainer(ContainerRestart),
    /// Writes or removes a file in a container; precondition: its content is as told.
    WriteFile(ContainerFile),
}

/// Which container is meant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContainerName {
    /// The container's ID.
    pub container_id: String,
    /// The container's name.
    pub container: String,
}

/// A container joins a network, leaves it, or is on it in another way than before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Rewiring {
    /// Which container.
    #[serde(flatten)]
    pub name: ContainerName,
    /// The network's ID; `None` = the one of that name, which an earlier step makes.
    pub network_id: Option<String>,
    /// The network's name.
    pub network: String,
    /// How it is on the network; `None` = not at all.
    pub before: Option<Attachment>,
    /// How it is to be on it, `pinned` being the fixed address; `None` = not at all.
    pub after: Option<Attachment>,
    /// Whether it is stopped for that and started again, since Docker changes nothing at a container in this state.
    pub halts: bool,
}

/// A network is made anew, with other properties.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Replacement {
    /// The ID of the network as it is; `None` = the one of that name.
    pub network_id: Option<String>,
    /// What it is made of.
    pub before: NetworkDraft,
    /// What it is to be made of; of the same name.
    pub after: NetworkDraft,
    /// All containers that are on it, running or not.
    pub moved: Vec<Rewiring>,
}

/// A container is restarted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContainerRestart {
    /// Which container.
    #[serde(flatten)]
    pub name: ContainerName,
    /// What must be there again afterwards; `None` = nothing in particular.
    pub unchanged: Option<Inside>,
}

/// What a container holds, and how it looks from inside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Inside {
    /// The address on each network, by its name, sorted.
    pub addresses: Vec<(String, Ipv4Addr)>,
    /// The routes, with the names of the interfaces.
    pub routes: Routes,
}

/// A file in a container.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContainerFile {
    /// Which container.
    #[serde(flatten)]
    pub name: ContainerName,
    /// Its absolute path.
    pub path: String,
    /// What it holds; `None` = there is none.
    pub before: Option<String>,
    /// What it is to hold; `None` = it is removed.
    pub after: Option<String>,
}

impl DockerAction {
    /// The network or container that is changed, as reports name it.
    pub fn target(&self) -> String {
        match self {
            DockerAction::CreateNetwork(draft) | DockerAction::RemoveNetwork(draft) => {
                format!("network/{}", draft.name)
            }
            DockerAction::ReplaceNetwork(replacement) => {
                format!("network/{}", replacement.before.name)
            }
            DockerAction::Rewire(rewiring) => format!("container/{}", rewiring.name.container),
            DockerAction::StartContainer(name) => format!("container/{}", name.container),
            DockerAction::RestartContainer(restart) => {
                format!("container/{}", restart.name.container)
            }
            DockerAction::WriteFile(file) => format!("container/{}", file.name.container),
        }
    }

    /// What is done, in one clause.
    pub fn sentence(&self) -> String {
        match self {
            DockerAction::CreateNetwork(draft) => {
                format!("create network {}: {}", draft.name, made_of(draft))
            }
            DockerAction::RemoveNetwork(draft) => format!("remove network {}", draft.name),
            DockerAction::ReplaceNetwork(replacement) => {
                let back: Vec<String> = replacement
                    .moved
                    .iter()
                    .map(|moved| format!("{}{}", moved.name.container, at(moved.after.as_ref())))
                    .collect();
                let containers = match back.len() {
                    0 => "no container is on it".to_owned(),
                    _ => format!(
                        "take its containers off and put them back: {}",
                        back.join(", ")
                    ),
                };
                format!(
                    "replace network {} by one that is {}; {containers}",
                    replacement.before.name,
                    made_of(&replacement.after)
                )
            }
            DockerAction::Rewire(rewiring) => rewiring.sentence(),
            DockerAction::StartContainer(name) => format!("start container {}", name.container),
            DockerAction::RestartContainer(restart) => {
                let look = match restart.unchanged {
                    Some(_) => " and see that its addresses, interfaces and routes are unchanged",
                    None => "",
                };
                format!("restart container {}{look}", restart.name.container)
            }
            DockerAction::WriteFile(file) => match &file.after {
                Some(_) => format!("write {} in container {}", file.path, file.name.container),
                None => format!(
                    "remove {} from container {}",
                    file.path, file.name.container
                ),
            },
        }
    }

    /// The action that takes this one back; a restart stands for itself.
    pub fn inverse(&self) -> DockerAction {
        match self.clone() {
            DockerAction::CreateNetwork(draft) => DockerAction::RemoveNetwork(draft),
            DockerAction::RemoveNetwork(draft) => DockerAction::CreateNetwork(draft),
            DockerAction::ReplaceNetwork(Replacement {
                before,
                after,
                moved,
                ..
            }) => DockerAction::ReplaceNetwork(Replacement {
                network_id: None,
                before: after,
                after: before,
                moved: moved.into_iter().map(Rewiring::inverse).collect(),
            }),
            DockerAction::Rewire(rewiring) => DockerAction::Rewire(rewiring.inverse()),
            DockerAction::WriteFile(ContainerFile {
                name,
                path,
                before,
                after,
            }) => DockerAction::WriteFile(ContainerFile {
                name,
                path,
                before: after,
                after: before,
            }),
            same @ (DockerAction::StartContainer(_) | DockerAction::RestartContainer(_)) => same,
        }
    }

    /// The command that does this by hand; `docker` is the command with the flags that reach the daemon.
    pub fn command(&self, docker: &str) -> String {
        match self {
            DockerAction::CreateNetwork(draft) => create_command(docker, draft),
            DockerAction::RemoveNetwork(draft) => {
                format!("{docker} network rm {}", shell_word(&draft.name))
            }
            DockerAction::ReplaceNetwork(replacement) => {
                let name = shell_word(&replacement.before.name);
                let leave = replacement.moved.iter().map(|moved| {
                    format!(
                        "{docker} network disconnect {name} {}",
                        shell_word(&moved.name.container)
                    )
                });
                let join = replacement
                    .moved
                    .iter()
                    .filter_map(|moved| Some(moved.connect_command(docker, moved.after.as_ref()?)));
                leave
                    .chain([
                        format!("{docker} network rm {name}"),
                        create_command(docker, &replacement.after),
                    ])
                    .chain(join)
                    .collect::<Vec<_>>()
                    .join(" && ")
            }
            DockerAction::Rewire(rewiring) => rewiring.command(docker),
            DockerAction::StartContainer(name) => {
                format!("{docker} start {}", shell_word(&name.container))
            }
            DockerAction::RestartContainer(restart) => {
                format!("{docker} restart {}", shell_word(&restart.name.container))
            }
            DockerAction::WriteFile(file) => file.command(docker),
        }
    }
}

impl Rewiring {
    fn inverse(self) -> Rewiring {
        Rewiring {
            before: self.after,
            after: self.before,
            ..self
        }
    }

    fn sentence(&self) -> String {
        let (container, network) = (&self.name.container, &self.network);
        let verb = match (&self.before, &self.after) {
            (_, None) => format!("disconnect container {container} from network {network}"),
            (None, Some(after)) => format!(
                "connect container {container} to network {network}{}",
                at(Some(after))
            ),
            (Some(before), Some(after)) => {
                let before_at = before.pinned.or(before.address);
                let from = match (before_at, after.pinned) {
                    (Some(old), Some(new)) if old != new => format!(", not {old}"),
                    _ => String::new(),
                };
                format!(
                    "disconnect container {container} from network {network} and connect it again{}{from}",
                    at(Some(after))
                )
            }
        };
        match self.halts {
            true => format!("stop container {container}, {verb}, and start it"),
            false => verb,
        }
    }

    fn command(&self, docker: &str) -> String {
        let container = shell_word(&self.name.container);
        let network = shell_word(&self.network);
        let mut commands = Vec::new();
        if self.halts {
            commands.push(format!("{docker} stop {container}"));
        }
        if self.before.is_some() {
            commands.push(format!("{docker} network disconnect {network} {container}"));
        }
        if let Some(after) = &self.after {
            commands.push(self.connect_command(docker, after));
        }
        if self.halts {
            commands.push(format!("{docker} start {container}"));
        }
        commands.join(" && ")
    }

    /// A docker command before 28 does not know `--gw-priority`; what it asks for is unknown to such a daemon, too.
    fn connect_command(&self, docker: &str, after: &Attachment) -> String {
        let address = match after.pinned {
            Some(address) => format!(" --ip {address}"),
            None => String::new(),
        };
        let aliases: String = after
            .aliases
            .iter()
            .map(|alias| format!(" --alias {}", shell_word(alias)))
            .collect();
        let interface = match &after.interface {
            Some(name) => format!(
                " --driver-opt com.docker.network.endpoint.ifname={}",
                shell_word(name)
            ),
            None => String::new(),
        };
        let target = format!(
            "{} {}",
            shell_word(&self.network),
            shell_word(&self.name.container)
        );
        let plain = format!("{docker} network connect{address}{aliases} {target}");
        if after.gateway_priority == 0 && after.interface.is_none() {
            return plain;
        }
        format!(
            "{{ {docker} network connect{address}{aliases} --gw-priority {}{interface} {target} || {plain}; }}",
            after.gateway_priority
        )
    }
}

impl ContainerFile {
    fn command(&self, docker: &str) -> String {
        let container = shell_word(&self.name.container);
        let Some(after) = &self.after else {
            return format!("{docker} exec {container} rm -f {}", shell_word(&self.path));
        };
        let folder = self.path.rsplit_once('/').map_or("/", |(folder, _)| folder);
        let script = format!(
            "mkdir -p {} && printf %s {} > {}",
            shell_word(folder),
            shell_word(after),
            shell_word(&self.path)
        );
        format!("{docker} exec {container} sh -c {}", shell_word(&script))
    }
}

/// ` at ADDRESS`, with the interface, as the end of a clause.
fn at(place: Option<&Attachment>) -> String {
    let Some(place) = place else {
        return String::new();
    };
    let address = match place.pinned {
        Some(address) => format!(" at {address}"),
        None => " at an address that Docker chooses".to_owned(),
    };
    match &place.interface {
        Some(interface) => format!("{address} as {interface}"),
        None => address,
    }
}

fn made_of(draft: &NetworkDraft) -> String {
    let mut words = Vec::new();
    if draft.internal {
        words.push("internal".to_owned());
    }
    words.push(draft.driver.clone());
    for pool in &draft.pools {
        words.extend(pool.subnet.clone());
        words.extend(
            pool.gateway
                .as_ref()
                .map(|gateway| format!("with gateway {gateway}")),
        );
        words.extend(
            pool.ip_range
                .as_ref()
                .map(|range| format!("and {range} for addresses that Docker chooses")),
        );
    }
    words.join(" ")
}

fn create_command(docker: &str, draft: &NetworkDraft) -> String {
    let mut command = format!(
        "{docker} network create --driver {}",
        shell_word(&draft.driver)
    );
    let mut flag = |name: &str, value: &str| {
        command.push_str(&format!(" --{name} {}", shell_word(value)));
    };
    for pool in &draft.pools {
        for (name, value) in [
            ("subnet", &pool.subnet),
            ("gateway", &pool.gateway),
            ("ip-range", &pool.ip_range),
        ] {
            if let Some(value) = value {
                flag(name, value);
            }
        }
        for (name, address) in &pool.reserved {
            flag("aux-address", &format!("{name}={address}"));
        }
    }
    for (name, value) in &draft.labels {
        flag("label", &format!("{name}={value}"));
    }
    for (name, value) in &draft.options {
        flag("opt", &format!("{name}={value}"));
    }
    for (set, name) in [
        (draft.internal, "internal"),
        (draft.attachable, "attachable"),
        (draft.ipv6, "ipv6"),
    ] {
        if set {
            command.push_str(&format!(" --{name}"));
        }
    }
    format!("{command} {}", shell_word(&draft.name))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
