//! Clusters on a daemon as they are observed, and a daemon of no tricks that carries plans out.

use std::collections::BTreeMap;

use karmada_repair::docker::machine::Machine;
use karmada_repair::docker::model::{
    Attachment, Container, ContainerState, Labels, Network, Subnet,
};
use karmada_repair::docker::network_draft::NetworkDraft;
use karmada_repair::docker::routes::{Link, Routes};
use karmada_repair::part::Part;
use karmada_repair::plan::{Action, Commands, DockerAction, Plan, Rewiring};

use crate::config::{Config, Task, Word};
use crate::observed::{Daemon, Observed};
use crate::{diagnose, plan};

pub(super) fn ip(text: &str) -> std::net::Ipv4Addr {
    text.parse().expect("a literal address")
}

pub(super) fn config(words: &[&str]) -> Config {
    Config {
        words: words
            .iter()
            .map(|word| {
                let (name, address) = word.split_once('=').unwrap_or((word, ""));
                Word {
                    name: name.to_owned(),
                    address: (!address.is_empty()).then(|| ip(address)),
                }
            })
            .collect(),
        all: words.is_empty(),
        network: "karmada-mesh".to_owned(),
        subnet: None,
        ip_range: None,
        file: None,
        control_plane: None,
        replace_network: false,
        task: Task::Pin {
            home: false,
            add_san: false,
            drill: false,
        },
        docker: karmada_repair::cli::docker::DockerChoice::Found,
    }
}

pub(super) fn network(name: &str, subnet: &str, gateway: bool) -> Network {
    let net: ipnet::Ipv4Net = subnet.parse().expect("a literal subnet");
    Network {
        id: format!("id-{name}"),
        name: name.to_owned(),
        driver: "bridge".to_owned(),
        internal: false,
        subnets: vec![Subnet {
            subnet: net,
            gateway: gateway.then(|| net.hosts().next()).flatten(),
            ip_range: None,
            reserved: Vec::new(),
        }],
        labels: Labels::default(),
    }
}

pub(super) fn mesh() -> Network {
    let mut mesh = network("karmada-mesh", "172.28.0.0/24", true);
    mesh.internal = true;
    mesh.subnets[0].ip_range = "172.28.0.128/25".parse().ok();
    mesh
}

pub(super) fn server(cluster: &str, home: &str) -> Container {
    let name = format!("k3d-{cluster}-server-0");
    let network = format!("k3d-{cluster}");
    Container {
        id: format!("id-{name}"),
        state: ContainerState::Running,
        network_mode: network.clone(),
        labels: Labels::of([
            ("k3d.cluster", cluster),
            ("k3d.role", "server"),
            ("k3d.cluster.network", network.as_str()),
        ]),
        ports: Vec::new(),
        attachments: BTreeMap::from([(
            network.clone(),
            Attachment {
                network_id: Some(format!("id-{network}")),
                address: Some(ip(home)),
                ..Attachment::default()
            },
        )]),
        name,
    }
}

pub(super) fn on_mesh(address: Option<&str>, pinned: Option<&str>) -> Attachment {
    Attachment {
        network_id: Some("id-karmada-mesh".to_owned()),
        address: address.map(ip),
        pinned: pinned.map(ip),
        interface: pinned.map(|_| "mesh0".to_owned()),
        gateway_priority: pinned.map_or(0, |_| -100),
        aliases: Vec::new(),
    }
}

pub(super) fn stranger(name: &str, address: &str) -> Container {
    Container {
        labels: Labels::default(),
        network_mode: "karmada-mesh".to_owned(),
        attachments: BTreeMap::from([("karmada-mesh".to_owned(), on_mesh(Some(address), None))]),
        id: format!("id-{name}"),
        name: name.to_owned(),
        ..server("x", "10.0.0.1")
    }
}

/// Two clusters on Docker 28, not on the mesh.
pub(super) fn observed() -> Observed {
    let containers = vec![
        server("cluster-a", "172.20.0.2"),
        server("karmada-host", "172.19.0.2"),
    ];
    let mut observed = Observed {
        docker: Daemon {
            at: "unix:///d.sock".to_owned(),
            elsewhere: None,
            version: "28.5.2".to_owned(),
            is_podman: false,
            orders_interfaces: true,
            machine: Machine::default(),
            containers,
            networks: vec![
                network("k3d-cluster-a", "172.20.0.0/16", true),
                network("k3d-karmada-host", "172.19.0.0/16", true),
            ],
            drafts: BTreeMap::new(),
            routes: BTreeMap::new(),
            certificates: BTreeMap::new(),
            san_files: BTreeMap::new(),
        },
        members: Part::Absent,
        control_plane: None,
        file: Part::Absent,
        file_text: None,
        commands: Commands {
            docker: "docker".to_owned(),
            ..Commands::default()
        },
    };
    look_inside(&mut observed);
    observed
}

pub(super) fn with_mesh(places: &[(&str, Attachment)]) -> Observed {
    let mut observed = observed();
    observed.docker.networks.push(mesh());
    for (name, place) in places {
        container(&mut observed, name)
            .attachments
            .insert("karmada-mesh".to_owned(), place.clone());
    }
    look_inside(&mut observed);
    observed
}

pub(super) fn container<'a>(observed: &'a mut Observed, name: &str) -> &'a mut Container {
    let mut containers = observed.docker.containers.iter_mut();
    containers
        .find(|container| container.name == name)
        .expect("a container of the fixture")
}

/// What the kernels of running nodes would say.
pub(super) fn look_inside(observed: &mut Observed) {
    let networks = observed.docker.networks.clone();
    observed.docker.routes = observed
        .docker
        .containers
        .iter()
        .filter(|container| container.is_running())
        .map(|container| {
            let mut number = 0;
            let mut links = Vec::new();
            for (name, place) in &container.attachments {
                let found = networks.iter().find(|network| network.name == *name);
                let (Some(found), Some(_)) = (found, place.address) else {
                    continue;
                };
                let interface = place.interface.clone().unwrap_or_else(|| {
                    number += 1;
                    format!("eth{}", number - 1)
                });
                links.push(Link {
                    interface,
                    subnet: found.subnets[0].subnet,
                });
            }
            let routes = Routes {
                default_interface: Some("eth0".to_owned()),
                links,
            };
            (container.name.clone(), Part::Seen(routes))
        })
        .collect();
}

pub(super) fn planned(observed: &Observed, config: &Config) -> Plan {
    plan::plan(observed, &diagnose::diagnose(observed, config), config)
}

pub(super) fn sentences(plan: &Plan) -> Vec<String> {
    plan.steps
        .iter()
        .map(|step| step.action.sentence())
        .collect()
}

/// The observation after the plan, as a daemon of no tricks would leave it.
pub(super) fn played(observed: &Observed, plan: &Plan) -> Observed {
    let mut after = observed.clone();
    for step in &plan.steps {
        let Action::Docker(action) = &step.action else {
            continue;
        };
        match action.as_ref() {
            DockerAction::CreateNetwork(draft) => made(&mut after, draft),
            DockerAction::RemoveNetwork(draft) => {
                after
                    .docker
                    .networks
                    .retain(|network| network.name != draft.name);
            }
            DockerAction::ReplaceNetwork(replacement) => {
                let name = &replacement.before.name;
                after
                    .docker
                    .networks
                    .retain(|network| network.name != *name);
                made(&mut after, &replacement.after);
                for moved in &replacement.moved {
                    rewired(&mut after, moved);
                }
            }
            DockerAction::Rewire(rewiring) => rewired(&mut after, rewiring),
            DockerAction::StartContainer(name) => {
                let started = container(&mut after, &name.container);
                started.state = ContainerState::Running;
                for place in started.attachments.values_mut() {
                    place.address = place.pinned.or(place.address);
                }
            }
            DockerAction::RestartContainer(_) | DockerAction::WriteFile(_) => {}
        }
    }
    look_inside(&mut after);
    after
}

pub(super) fn made(observed: &mut Observed, draft: &NetworkDraft) {
    let mut made = mesh();
    made.name.clone_from(&draft.name);
    observed.docker.networks.push(made);
}

pub(super) fn rewired(observed: &mut Observed, rewiring: &Rewiring) {
    let container = container(observed, &rewiring.name.container);
    if rewiring.halts {
        container.state = ContainerState::Running;
    }
    match &rewiring.after {
        None => {
            container.attachments.remove(&rewiring.network);
        }
        Some(place) => {
            let address = place.pinned.or_else(|| Some(ip("172.28.0.130")));
            container.attachments.insert(
                rewiring.network.clone(),
                Attachment {
                    network_id: Some("id-karmada-mesh".to_owned()),
                    address: address.filter(|_| container.is_up()),
                    ..place.clone()
                },
            );
        }
    }
}
