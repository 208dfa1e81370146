//! Nodes are taken off the network again, and the network goes when nothing is left on it. Pure.

use karmada_repair::docker::model::{Container, ContainerState, Network};
use karmada_repair::finding::{Finding, FindingKey, Severity};
use karmada_repair::plan::{DockerAction, Rewiring, Step};

use crate::config::Config;
use crate::diagnose::{container, finding, network};
use crate::examine::Examined;
use crate::network::is_own;
use crate::observed::Observed;
use crate::plan::{Steps, named};

/// What is still on the network.
pub fn findings(observed: &Observed, config: &Config, examined: &Examined<'_>) -> Vec<Finding> {
    let name = &config.network;
    let mut findings = Vec::new();
    for mesh in networks(observed, config) {
        let (leaving, staying) = parted(observed, mesh, examined);
        findings.extend(leaving.iter().map(|leaving| {
            finding(
                ON_NETWORK,
                Severity::Error,
                container(&leaving.name),
                format!("it is on {name}"),
            )
        }));
        if staying.is_empty() {
            findings.push(finding(
                NETWORK_LEFT,
                Severity::Error,
                network(name),
                format!("{name} is there"),
            ));
        } else {
            let names: Vec<&str> = staying.iter().map(|other| other.name.as_str()).collect();
            findings.push(finding(
                "release-neighbours",
                Severity::Info,
                network(name),
                format!("{name} stays, for {}", names.join(", ")),
            ));
        }
    }
    findings
}

/// The steps that take the nodes off, and the network away.
pub(crate) fn steps(
    observed: &Observed,
    config: &Config,
    examined: &Examined<'_>,
    steps: &Steps<'_>,
) -> Vec<Step> {
    let mut planned = Vec::new();
    for mesh in networks(observed, config) {
        let (leaving, staying) = parted(observed, mesh, examined);
        for container in leaving {
            let action = Rewiring {
                name: named(container),
                network_id: Some(mesh.id.clone()),
                network: mesh.name.clone(),
                before: container.attachment_to(mesh).cloned(),
                after: None,
                halts: container.state == ContainerState::Restarting,
            };
            planned.push(steps.step(
                &container.name,
                DockerAction::Rewire(action),
                "--release asks for it",
                Some(format!("its connections over {} break", mesh.name)),
                vec![FindingKey {
                    code: ON_NETWORK.to_owned(),
                    subject: crate::diagnose::container(&container.name),
                }],
            ));
        }
        let draft = observed.docker.drafts.get(&mesh.id);
        if let (true, Some(draft)) = (staying.is_empty(), draft) {
            planned.push(steps.step_of(
                network(&mesh.name),
                DockerAction::RemoveNetwork(draft.clone()),
                "nothing is left on it",
                (!is_own(mesh)).then(|| "it was not made by this plugin".to_owned()),
                vec![FindingKey {
                    code: NETWORK_LEFT.to_owned(),
                    subject: network(&mesh.name),
                }],
            ));
        }
    }
    planned
}

fn networks<'a>(observed: &'a Observed, config: &Config) -> impl Iterator<Item = &'a Network> {
    let name = config.network.clone();
    let mut named = observed
        .docker
        .networks
        .iter()
        .filter(move |network| network.name == name);
    // Of two with one name, neither is touched.
    let (first, second) = (named.next(), named.next());
    first.filter(|_| second.is_none()).into_iter()
}

/// The containers on the network that are meant, and the others.
fn parted<'a>(
    observed: &'a Observed,
    mesh: &Network,
    examined: &Examined<'_>,
) -> (Vec<&'a Container>, Vec<&'a Container>) {
    observed
        .docker
        .containers
        .iter()
        .filter(|container| container.attachment_to(mesh).is_some())
        .partition(|container| {
            examined
                .nodes
                .iter()
                .any(|node| node.node.container.id == container.id)
        })
}

const ON_NETWORK: &str = "on-network";
const NETWORK_LEFT: &str = "network-left";
