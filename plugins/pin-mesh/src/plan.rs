//! From what was examined to the steps that cure it. Pure.

use std::net::Ipv4Addr;

use karmada_repair::docker::model::{Attachment, Container, ContainerState, Network};
use karmada_repair::finding::{Finding, FindingKey, Severity, Subject};
use karmada_repair::plan::{
    Action, Commands, ContainerName, ContainerRestart, DockerAction, Inside, LocalFile, Plan,
    Replacement, Rewiring, Step,
};

use crate::certificate;
use crate::config::{Config, Task};
use crate::diagnose::{container, network};
use crate::examine::{Examination, Examined, Fault};
use crate::mesh_file::MeshFile;
use crate::network::{Mesh, Unfitness};
use crate::observed::{Daemon, Observed};
use crate::release;

/// The plan of a run.
pub fn plan(observed: &Observed, findings: &[Finding], config: &Config) -> Plan {
    let Ok(examined) = crate::examine::examine(observed, config) else {
        return Plan::default();
    };
    if observed.docker.is_podman {
        return Plan::default();
    }
    let steps = Steps {
        findings,
        commands: &observed.commands,
    };
    let planned = match config.task {
        Task::Services | Task::Print(_) => Vec::new(),
        Task::Release => release::steps(observed, config, &examined, &steps),
        Task::Pin { .. } => {
            let mut planned = pinning(observed, config, &examined, &steps);
            planned.extend(file_step(observed, config, &examined, &steps));
            planned
        }
    };
    Plan {
        steps: planned,
        proofs: Vec::new(),
    }
}

/// Makes steps.
pub(crate) struct Steps<'a> {
    findings: &'a [Finding],
    commands: &'a Commands,
}

impl Steps<'_> {
    /// A step for the sake of a container.
    pub(crate) fn step(
        &self,
        name: &str,
        action: DockerAction,
        reason: &str,
        caution: Option<String>,
        cures: Vec<FindingKey>,
    ) -> Step {
        self.step_of(container(name), action, reason, caution, cures)
    }

    /// A step for the sake of anything.
    pub(crate) fn step_of(
        &self,
        subject: Subject,
        action: DockerAction,
        reason: &str,
        caution: Option<String>,
        cures: Vec<FindingKey>,
    ) -> Step {
        let action = Action::Docker(Box::new(action));
        Step {
            subject,
            command: action.command(self.commands),
            action,
            reason: reason.to_owned(),
            caution,
            cures,
        }
    }

    /// The findings of a container with one of these codes.
    fn found(&self, name: &str, codes: &[&str]) -> Vec<FindingKey> {
        let subject = container(name);
        self.keys(|finding| {
            finding.key.subject == subject && codes.contains(&finding.key.code.as_str())
        })
    }

    fn keys(&self, wanted: impl Fn(&Finding) -> bool) -> Vec<FindingKey> {
        self.findings
            .iter()
            .filter(|finding| wanted(finding) && finding.severity > Severity::Info)
            .map(|finding| finding.key.clone())
            .collect()
    }
}

fn pinning(
    observed: &Observed,
    config: &Config,
    examined: &Examined<'_>,
    steps: &Steps<'_>,
) -> Vec<Step> {
    let mut planned = Vec::new();
    let ready: Vec<&Examination<'_>> = examined
        .nodes
        .iter()
        .filter(|node| !node.is_obstructed())
        .collect();
    let of_network = steps.keys(|finding| finding.key.subject == network(&config.network));
    match &examined.mesh {
        Mesh::Unusable(_) => return Vec::new(),
        Mesh::Missing { draft, .. } if !ready.is_empty() => planned.push(steps.step_of(
            network(&config.network),
            DockerAction::CreateNetwork(draft.clone()),
            "it leads nowhere else, so it never becomes a default route, and Docker's own choice of addresses stays away from the pins",
            None,
            of_network,
        )),
        Mesh::Unfit {
            network: old,
            before,
            after,
            why,
            ..
        } if !ready.is_empty() => {
            let moved = moved(&observed.docker, old, &ready);
            let neighbours = moved
                .iter()
                .filter(|moved| !ready.iter().any(|node| node.node.container.id == moved.name.container_id))
                .count();
            let mut cures = of_network;
            for node in &ready {
                cures.extend(steps.found(&node.node.container.name, REWIRED));
            }
            planned.push(steps.step_of(
                network(&config.network),
                DockerAction::ReplaceNetwork(Replacement {
                    network_id: Some(old.id.clone()),
                    before: before.clone(),
                    after: after.clone(),
                    moved,
                }),
                match why {
                    Unfitness::NoSubnet => "Docker fixes no address on a network whose subnet it chose by itself, and changes no network",
                    Unfitness::AskedFor => "Docker changes no network, and --replace-network asks for another one",
                },
                Some(format!(
                    "connections over {} break{}",
                    config.network,
                    match neighbours {
                        0 => String::new(),
                        1 => "; another container on it gets another address".to_owned(),
                        more => format!("; {more} other containers on it get other addresses"),
                    }
                )),
                cures,
            ));
            for node in &ready {
                if !old_member(node, old) {
                    planned.push(rewiring_step(observed, config, node, steps, None));
                }
            }
            planned.extend(after_rewiring(observed, config, &ready, steps));
            return planned;
        }
        Mesh::Missing { .. } | Mesh::Unfit { .. } | Mesh::Usable { .. } => {}
    }
    planned.extend(rewirings(observed, config, &examined.mesh, &ready, steps));
    planned.extend(after_rewiring(observed, config, &ready, steps));
    planned
}

/// The step that writes down which addresses there are; `None` = no file was named, or it says so already.
fn file_step(
    observed: &Observed,
    config: &Config,
    examined: &Examined<'_>,
    steps: &Steps<'_>,
) -> Option<Step> {
    let path = config.file.as_ref()?;
    let range = examined.mesh.range()?;
    let mut file = observed.file.seen().cloned().unwrap_or_default();
    let mut addresses = file.addresses.clone();
    for node in examined.nodes.iter().filter(|node| !node.is_obstructed()) {
        addresses.extend(
            node.wanted
                .map(|wanted| (node.node.container.name.clone(), wanted)),
        );
    }
    if addresses == file.addresses {
        return None;
    }
    file = MeshFile::of(&config.network, range, addresses);
    let action = Action::File(LocalFile {
        path: path.display().to_string(),
        before: observed.file_text.clone(),
        after: Some(file.text()),
    });
    Some(Step {
        subject: Subject::new("file", path.display().to_string()),
        command: action.command(steps.commands),
        action,
        reason: "what is in it is kept to by every later run with --file".to_owned(),
        caution: observed
            .file_text
            .is_some()
            .then(|| "comments in the file are lost".to_owned()),
        cures: steps.keys(|finding| finding.key.code == "file-incomplete"),
    })
}

fn old_member(node: &Examination<'_>, old: &Network) -> bool {
    node.node.container.attachment_to(old).is_some()
}

/// All containers of a network that is made anew; nodes that are meant get their pins.
fn moved(daemon: &Daemon, old: &Network, ready: &[&Examination<'_>]) -> Vec<Rewiring> {
    daemon
        .containers
        .iter()
        .filter_map(|container| {
            let place = container.attachment_to(old)?;
            let node = ready
                .iter()
                .find(|node| node.node.container.id == container.id);
            let after = match node {
                Some(node) => node.after()?,
                None => Attachment {
                    network_id: None,
                    address: None,
                    pinned: None,
                    ..place.clone()
                },
            };
            Some(Rewiring {
                name: named(container),
                network_id: None,
                network: old.name.clone(),
                before: Some(place.clone()),
                after: Some(after),
                halts: container.state == ContainerState::Restarting,
            })
        })
        .collect()
}

/// Each node's own change; a container in the way makes room first, and comes back last.
fn rewirings(
    observed: &Observed,
    config: &Config,
    mesh: &Mesh<'_>,
    ready: &[&Examination<'_>],
    steps: &Steps<'_>,
) -> Vec<Step> {
    let changing: Vec<&&Examination<'_>> =
        ready.iter().filter(|node| node.needs_rewiring()).collect();
    let holds = |node: &Examination<'_>, address: Ipv4Addr| {
        node.place
            .is_some_and(|place| [place.address, place.pinned].contains(&Some(address)))
    };
    let mut planned = Vec::new();
    let mut left: Vec<&str> = Vec::new();
    let mut back = Vec::new();
    for node in ready {
        for fault in &node.faults {
            let Fault::Stolen { by, .. } = fault else {
                continue;
            };
            let is_node = changing
                .iter()
                .any(|other| other.node.container.name == *by);
            if left.contains(&by.as_str()) || is_node {
                continue;
            }
            if let Some((away, again)) = making_room(observed, config, mesh, by, node, steps) {
                planned.push(away);
                back.push(again);
                left.push(by);
            }
        }
    }
    // Nodes that exchange addresses leave first, all of them, and then get what they are to have.
    for node in &changing {
        let in_the_way = changing.iter().any(|other| {
            other.node.container.id != node.node.container.id
                && other.wanted.is_some_and(|wanted| holds(node, wanted))
        });
        if in_the_way && node.place.is_some() {
            let mut action = rewiring(config, node, mesh);
            action.after = None;
            planned.push(steps.step(
                &node.node.container.name,
                DockerAction::Rewire(action),
                "another node gets the address that it holds",
                None,
                Vec::new(),
            ));
            left.push(&node.node.container.name);
        }
    }
    for node in &changing {
        let is_off = left.contains(&node.node.container.name.as_str());
        let before = is_off.then_some(());
        planned.push(rewiring_step(observed, config, node, steps, before));
    }
    for node in ready {
        let was_stolen = node.faults.iter().any(|fault| {
            matches!(
                fault,
                Fault::Stolen {
                    was_pinned: true,
                    ..
                }
            )
        });
        if was_stolen && node.node.container.state == ContainerState::Exited {
            let name = &node.node.container.name;
            planned.push(steps.step(
                name,
                DockerAction::StartContainer(named(node.node.container)),
                "it could not start while its address was taken, and Docker does not try again",
                None,
                steps.found(name, &["pin-stolen"]),
            ));
        }
    }
    planned.extend(back);
    planned
}

/// A container that Docker gave the address of a node by itself leaves the network, and joins it again later.
fn making_room(
    observed: &Observed,
    config: &Config,
    mesh: &Mesh<'_>,
    by: &str,
    node: &Examination<'_>,
    steps: &Steps<'_>,
) -> Option<(Step, Step)> {
    let other = observed.docker.container(by)?;
    let place = other.attachment_to(mesh.network()?)?;
    let away = Rewiring {
        name: named(other),
        network_id: mesh.network().map(|network| network.id.clone()),
        network: config.network.clone(),
        before: Some(place.clone()),
        after: None,
        halts: other.state == ContainerState::Restarting,
    };
    let again = Rewiring {
        before: None,
        after: Some(Attachment {
            network_id: None,
            address: None,
            ..place.clone()
        }),
        halts: false,
        ..away.clone()
    };
    let cures = steps.found(&node.node.container.name, &["pin-stolen", "address-taken"]);
    let holder = format!("it holds the address of {}", node.node.container.name);
    Some((
        steps.step(
            by,
            DockerAction::Rewire(away),
            &holder,
            Some(format!("connections of {by} over {} break", config.network)),
            cures.clone(),
        ),
        steps.step(
            by,
            DockerAction::Rewire(again),
            "it was on the network before, and gets another address",
            None,
            cures,
        ),
    ))
}

fn rewiring(config: &Config, node: &Examination<'_>, mesh: &Mesh<'_>) -> Rewiring {
    Rewiring {
        name: named(node.node.container),
        network_id: match mesh {
            Mesh::Usable { network, .. } => Some(network.id.clone()),
            _ => None,
        },
        network: config.network.clone(),
        before: node.place.cloned(),
        after: node.after(),
        halts: node.node.container.state == ContainerState::Restarting,
    }
}

fn rewiring_step(
    observed: &Observed,
    config: &Config,
    node: &Examination<'_>,
    steps: &Steps<'_>,
    is_off: Option<()>,
) -> Step {
    let mesh = Mesh::of(observed, config);
    let mut action = rewiring(config, node, &mesh);
    if is_off.is_some() || matches!(mesh, Mesh::Unfit { .. } | Mesh::Missing { .. }) {
        action.before = None;
    }
    let name = &node.node.container.name;
    let reason = if node.faults.contains(&Fault::Ghost) {
        "a connection that succeeds clears the broken entry"
    } else if node.place.is_none() {
        "a fixed address is kept whenever Docker or the container starts"
    } else if node.faults.contains(&Fault::Dynamic) {
        "Docker keeps only an address that was asked for, and changes none in place"
    } else if node.faults == [Fault::Unordered] {
        "with a priority and an interface name of its own the network stays behind eth0"
    } else {
        "Docker changes no address in place"
    };
    let held = node
        .place
        .and_then(|place| place.address)
        .filter(|held| Some(*held) != node.wanted);
    let caution = held.map(|held| {
        let dialled = observed
            .members
            .seen()
            .into_iter()
            .flatten()
            .find(|member| {
                member
                    .endpoint
                    .as_deref()
                    .and_then(|url| url::Url::parse(url).ok())
                    .is_some_and(|url| url.host_str() == Some(held.to_string().as_str()))
            });
        match dialled {
            Some(member) => format!(
                "the control plane dials {} at {held}; afterwards run: kubectl karmada-fix-endpoints {}",
                member.name, member.name
            ),
            None => format!("connections to {held} break"),
        }
    });
    steps.step(
        name,
        DockerAction::Rewire(action),
        reason,
        caution,
        steps.found(name, REWIRED),
    )
}

/// What follows once the places are right: restarts that put eth0 back, home addresses, certificates, the drill.
fn after_rewiring(
    observed: &Observed,
    config: &Config,
    ready: &[&Examination<'_>],
    steps: &Steps<'_>,
) -> Vec<Step> {
    let mut planned = Vec::new();
    for node in ready {
        let name = &node.node.container.name;
        if config.pins_home()
            && let Some(home) = &node.home
        {
            // Docker before 28 gives a running container no eth0 back.
            let halts = !observed.docker.orders_interfaces
                || node.node.container.state == ContainerState::Restarting;
            let action = Rewiring {
                name: named(node.node.container),
                network_id: Some(home.network.id.clone()),
                network: home.network.name.clone(),
                before: Some(home.place.clone()),
                after: Some(Attachment {
                    network_id: None,
                    address: None,
                    pinned: Some(home.address),
                    ..home.place.clone()
                }),
                halts,
            };
            planned.push(steps.step(
                name,
                DockerAction::Rewire(action),
                "its address stays what it is, and is kept whenever Docker starts",
                Some(match halts {
                    true => "the node, and what runs on it, is away for as long as it takes to start".to_owned(),
                    false => "its connections stall for a moment".to_owned(),
                }),
                steps.found(name, &["home-dynamic"]),
            ));
        }
        let is_moved = node.faults.iter().any(|fault| {
            matches!(
                fault,
                Fault::Eth0Elsewhere(_) | Fault::DefaultRouteElsewhere(_)
            )
        });
        let cures = steps.found(
            name,
            &["home-interface-elsewhere", "default-route-elsewhere"],
        );
        if is_moved && node.node.container.is_running() {
            planned.push(
                steps.step(
                    name,
                    DockerAction::RestartContainer(ContainerRestart {
                        name: named(node.node.container),
                        unchanged: None,
                    }),
                    "interfaces get their names when the container starts",
                    Some(
                        "the node, and what runs on it, is away for as long as it takes to start"
                            .to_owned(),
                    ),
                    cures,
                ),
            );
        }
        if config.adds_san() {
            planned.extend(certificate::steps(observed, node, steps));
        }
    }
    let is_sound = planned.is_empty() && ready.iter().all(|node| node.is_sound());
    if config.drills() && is_sound {
        planned.extend(drill(observed, ready, steps));
    }
    planned
}

/// A restart of each node, one after the other.
fn drill(observed: &Observed, ready: &[&Examination<'_>], steps: &Steps<'_>) -> Vec<Step> {
    let inside = |node: &Examination<'_>| {
        let routes = observed.docker.routes.get(&node.node.container.name)?;
        Some(Inside {
            addresses: node.node.container.addresses(),
            routes: routes.seen()?.clone(),
        })
    };
    ready
        .iter()
        .filter_map(|node| {
            let name = &node.node.container.name;
            let action = DockerAction::RestartContainer(ContainerRestart {
                name: named(node.node.container),
                unchanged: Some(inside(node)?),
            });
            Some(
                steps.step(
                    name,
                    action,
                    "--drill asks for it",
                    Some(
                        "the node, and what runs on it, is away for as long as it takes to start"
                            .to_owned(),
                    ),
                    Vec::new(),
                ),
            )
        })
        .collect()
}

/// Which container is meant.
pub(crate) fn named(container: &Container) -> ContainerName {
    ContainerName {
        container_id: container.id.clone(),
        container: container.name.clone(),
    }
}

/// The codes of the findings that a change of the place ends.
const REWIRED: &[&str] = &[
    "not-on-mesh",
    "ghost-endpoint",
    "address-dynamic",
    "pin-differs",
    "pin-impossible",
    "interface-unordered",
    "default-route-elsewhere",
    "crash-loop",
];
