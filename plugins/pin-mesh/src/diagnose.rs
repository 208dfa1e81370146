//! From what was examined to findings. Pure.

use karmada_repair::docker::membership::Tool;
use karmada_repair::finding::{Finding, Severity, Subject};

use crate::certificate;
use crate::config::{Config, Task};
use crate::examine::{Examination, Examined, Fault};
use crate::network::{Lack, Mesh, Unfitness, Unusable};
use crate::observed::Observed;
use crate::release;
use crate::scope;

/// All findings of a run.
pub fn diagnose(observed: &Observed, config: &Config) -> Vec<Finding> {
    let examined = match crate::examine::examine(observed, config) {
        Ok(examined) => examined,
        // Said before: an observation is not made of words that name nothing.
        Err(error) => {
            return vec![finding(
                "word-unknown",
                Severity::Error,
                docker(),
                error.to_string(),
            )];
        }
    };
    let mut findings = of_daemon(observed);
    if config.task == Task::Release {
        findings.extend(release::findings(observed, config, &examined));
        return findings;
    }
    findings.extend(of_members(observed, config));
    findings.extend(of_file(observed, config, &examined));
    findings.extend(of_network(config, &examined));
    if examined.nothing_selected {
        findings.push(nothing_selected(observed, config));
    }
    for node in &examined.nodes {
        findings.extend(of_node(observed, config, &examined.mesh, node));
        findings.extend(certificate::findings(config, node));
    }
    findings
}

/// A finding of this plugin.
pub fn finding(
    code: &str,
    severity: Severity,
    subject: Subject,
    message: impl Into<String>,
) -> Finding {
    Finding::new("pin-mesh", code, severity, subject, message)
}

/// The subject of what is about the daemon.
pub fn docker() -> Subject {
    Subject::new("docker", "daemon")
}

/// The subject of a container.
pub fn container(name: &str) -> Subject {
    Subject::new("container", name)
}

/// The subject of a network.
pub fn network(name: &str) -> Subject {
    Subject::new("network", name)
}

fn of_daemon(observed: &Observed) -> Vec<Finding> {
    let daemon = &observed.docker;
    let mut findings = Vec::new();
    if daemon.is_podman {
        findings.push(
            finding(
                "podman-daemon",
                Severity::Error,
                docker(),
                format!(
                    "{} is Podman, whose answers about addresses and fixed ones are not Docker's; nothing is changed",
                    daemon.at
                ),
            )
            .hint("name a Docker daemon: --docker-host URL, or --docker-context NAME"),
        );
    }
    if let Some(machine) = &daemon.elsewhere {
        findings.push(finding(
            "docker-elsewhere",
            Severity::Info,
            docker(),
            format!(
                "the containers run on another machine, {machine}, reached at {}",
                daemon.at
            ),
        ));
    }
    findings
}

/// Which clusters are members matters only where nothing else says what is meant.
fn of_members(observed: &Observed, config: &Config) -> Option<Finding> {
    let why = observed.members.unreadable()?;
    let severity = match config.all || !config.words.is_empty() {
        true => Severity::Info,
        false => Severity::Unknown,
    };
    Some(finding(
        "members-unreadable",
        severity,
        Subject::new("control-plane", "clusters"),
        format!("which clusters are members cannot be told: {why}"),
    ))
}

fn of_file(observed: &Observed, config: &Config, examined: &Examined<'_>) -> Option<Finding> {
    let path = config.file.as_ref()?.display().to_string();
    let known = observed.file.seen();
    let lacks: Vec<&str> = examined
        .nodes
        .iter()
        .filter(|node| !node.is_obstructed())
        .filter(|node| {
            let name = &node.node.container.name;
            node.wanted.is_some()
                && node.wanted != known.and_then(|file| file.addresses.get(name).copied())
        })
        .map(|node| node.node.container.name.as_str())
        .collect();
    (!lacks.is_empty()).then(|| {
        finding(
            "file-incomplete",
            Severity::Error,
            Subject::new("file", path.clone()),
            format!("{path} lacks the address of {}", lacks.join(", ")),
        )
    })
}

fn of_network(config: &Config, examined: &Examined<'_>) -> Vec<Finding> {
    let name = &config.network;
    let subject = || network(name);
    let is_needed = !examined.nodes.is_empty();
    match &examined.mesh {
        Mesh::Missing { .. } if !is_needed => Vec::new(),
        Mesh::Missing { range, .. } => vec![
            finding(
                "network-missing",
                Severity::Error,
                subject(),
                format!("there is no network {name} that the nodes could share"),
            )
            .expected(range.subnet.to_string()),
        ],
        Mesh::Usable { lacks, range, .. } => lacks
            .iter()
            .map(|lack| lacking(name, lack, &range.subnet.to_string()))
            .collect(),
        Mesh::Unfit {
            why: Unfitness::NoSubnet,
            range,
            network,
            ..
        } => {
            let own = network.subnets.first().map(|subnet| subnet.subnet);
            let mut found = finding(
                "network-cannot-pin",
                Severity::Error,
                subject(),
                format!(
                    "Docker chose the subnet of {name} by itself{}, and fixes no address in such a network",
                    own.map_or(String::new(), |own| format!(", {own}"))
                ),
            )
            .expected(range.subnet.to_string())
            .hint(format!(
                "the plan makes it anew; to leave it alone, choose another name: --network {name}-2"
            ));
            if let Some(own) = own {
                found = found.actual(own.to_string());
            }
            vec![found]
        }
        Mesh::Unfit { range, .. } => vec![finding(
            "network-replaced",
            Severity::Error,
            subject(),
            format!(
                "{name} is to be made anew with {} (--replace-network)",
                range.subnet
            ),
        )],
        Mesh::Unusable(why) => vec![unusable(name, why)],
    }
}

fn lacking(name: &str, lack: &Lack, subnet: &str) -> Finding {
    let again = format!("kubectl karmada-pin-mesh --network {name} --replace-network");
    match lack {
        Lack::Internal => finding(
            "network-not-internal",
            Severity::Warning,
            network(name),
            format!("{name} leads to the outside: before Docker 28 it can become the default route of a node"),
        )
        .hint(again),
        Lack::Range => finding(
            "network-without-range",
            Severity::Warning,
            network(name),
            format!(
                "{name} has no ip-range, so Docker gives any address of {subnet} away while the node that has it stands still; pins are put high"
            ),
        )
        .hint(again),
        Lack::AskedFor(has) => finding(
            "network-differs",
            Severity::Warning,
            network(name),
            format!("{name} has {has}, not what was asked for, and is used as it is"),
        )
        .hint(again),
    }
}

fn unusable(name: &str, why: &Unusable) -> Finding {
    let error =
        |code: &str, message: String| finding(code, Severity::Error, network(name), message);
    match why {
        Unusable::Ambiguous(ids) => {
            let short: Vec<String> = ids.iter().map(|id| id.chars().take(12).collect()).collect();
            error(
                "network-ambiguous",
                format!("there are {} networks {name}: {}", ids.len(), short.join(", ")),
            )
            .hint(format!(
                "docker network inspect {}; then remove the one that nobody uses: docker network rm ID",
                short.join(" ")
            ))
        }
        Unusable::Driver(driver) => error(
            "network-not-bridge",
            format!("{name} is a network of the driver {driver}, and nodes are pinned on a bridge"),
        )
        .hint(format!("choose another name: --network {name}-2")),
        Unusable::Overlap {
            subnet,
            other,
            taken,
            free,
        } => {
            let found = error(
                "subnet-overlap",
                format!("{subnet} overlaps {taken} of the network {other}"),
            );
            match free {
                Some(free) => found.hint(format!("kubectl karmada-pin-mesh --subnet {free}")),
                None => found,
            }
        }
        Unusable::Unread => finding(
            "network-unreadable",
            Severity::Unknown,
            network(name),
            format!("what {name} is made of cannot be read"),
        ),
        Unusable::Ipv6 => error(
            "network-dual-stack",
            format!("{name} has to be made anew, and would lose its IPv6 addresses"),
        )
        .hint(format!("choose another name: --network {name}-2")),
    }
}

fn nothing_selected(observed: &Observed, config: &Config) -> Finding {
    let clusters = scope::clusters(&observed.docker.containers);
    let names: Vec<&str> = clusters.iter().map(|(_, name)| name.as_str()).collect();
    if names.is_empty() {
        return finding(
            "nothing-selected",
            Severity::Info,
            docker(),
            format!(
                "no cluster of k3d, kind or minikube is on the Docker daemon at {}",
                observed.docker.at
            ),
        );
    }
    finding(
        "nothing-selected",
        Severity::Info,
        docker(),
        format!(
            "no cluster is on the network {} yet; there are {}",
            config.network,
            names.join(", ")
        ),
    )
    .hint("kubectl karmada-pin-mesh --all, or name the clusters")
}

fn of_node(
    observed: &Observed,
    config: &Config,
    mesh: &Mesh<'_>,
    node: &Examination<'_>,
) -> Vec<Finding> {
    let mut findings: Vec<Finding> = node
        .faults
        .iter()
        .map(|fault| of_fault(observed, config, mesh, node, fault))
        .collect();
    if let Some(home) = &node.home {
        let name = &home.network.name;
        let severity = match config.pins_home() {
            true => Severity::Error,
            false => Severity::Info,
        };
        findings.push(
            finding(
                "home-dynamic",
                severity,
                container(&node.node.container.name),
                format!("its address {} on its own network {name} is of Docker's choice, and {name} could fix it", home.address),
            )
            .hint("add --home to fix it where it is"),
        );
    }
    findings
}

fn of_fault(
    observed: &Observed,
    config: &Config,
    mesh: &Mesh<'_>,
    node: &Examination<'_>,
    fault: &Fault,
) -> Finding {
    let name = &node.node.container.name;
    let network = &config.network;
    let wanted = node.wanted.map(|wanted| wanted.to_string());
    let at = wanted.clone().unwrap_or_default();
    let found = |code: &str, severity: Severity, message: String| {
        let found = finding(code, severity, container(name), message);
        match &wanted {
            Some(wanted) => found.expected(wanted.clone()),
            None => found,
        }
    };
    let error = |code: &str, message: String| found(code, Severity::Error, message);
    match fault {
        Fault::CannotJoin(why) => error(
            "cannot-join",
            format!("it {why}, so Docker lets it join no other network"),
        ),
        Fault::KindWouldMove => error(
            "kind-would-move",
            format!(
                "kind's start-up takes the first address of its own host name for the node's, which on {} may be the one on {network}, and writes it into the configuration of etcd and kubelet",
                observed.docker.version
            ),
        )
        .hint(match mesh.is_internal() {
            true => "leave kind clusters out: they share the network kind, and reach each other there",
            false => "choose an internal network, or leave kind clusters out: they share the network kind",
        }),
        Fault::DefaultRouteAtRisk(home) => error(
            "default-route-at-risk",
            format!(
                "{network} sorts before {home} and leads to the outside, so Docker {} makes it the node's default route and eth0",
                observed.docker.version
            ),
        )
        .hint(format!(
            "kubectl karmada-pin-mesh --network {network} --replace-network, which makes it internal"
        )),
        Fault::NotOnMesh => error("not-on-mesh", format!("it is not on {network}")),
        Fault::Ghost => error(
            "ghost-endpoint",
            format!("a failed connection left an entry of it on {network} without an address, with which it cannot start again"),
        ),
        Fault::Dynamic => {
            let held = node.place.and_then(|place| place.address);
            let found = error(
                "address-dynamic",
                format!(
                    "its address on {network}{} is of Docker's choice, and may be another one after a restart",
                    held.map_or(String::new(), |held| format!(", {held},"))
                ),
            );
            match held {
                Some(held) => found.actual(held.to_string()),
                None => found,
            }
        }
        Fault::OtherPin(pinned) => error(
            "pin-differs",
            format!("it is pinned to {pinned} on {network}, not to {at}"),
        )
        .actual(pinned.to_string()),
        Fault::ImpossiblePin(pinned) => error(
            "pin-impossible",
            format!("it is pinned to {pinned}, which {network} has for no node, so it cannot start again"),
        )
        .actual(pinned.to_string()),
        Fault::SharedPin(other) => error(
            "pin-shared",
            format!("{at} on {network} is pinned by {other} too"),
        )
        .hint(format!(
            "give one of them another address: kubectl karmada-pin-mesh {name}=ADDRESS"
        )),
        Fault::Stolen {
            by,
            was_pinned: true,
        } => error(
            "pin-stolen",
            format!("{by} took its address {at} on {network} while it stood still, so it cannot start"),
        ),
        Fault::Stolen { by, .. } => {
            error("address-taken", format!("{at} on {network} is held by {by}"))
        }
        Fault::InRange => found(
            "pin-in-range",
            Severity::Warning,
            format!("{at} is among the addresses that Docker gives away by itself, so it can be taken while {name} stands still"),
        )
        .hint(format!("choose one below: kubectl karmada-pin-mesh {name}=ADDRESS")),
        Fault::Unordered => error(
            "interface-unordered",
            format!(
                "nothing keeps {network} from becoming its eth0 or default route: Docker {} deals eth0 out at every start",
                observed.docker.version
            ),
        ),
        Fault::Eth0Elsewhere(interface) => error(
            "home-interface-elsewhere",
            format!(
                "its own network {} is on {interface}, not on eth0",
                node.node.owner.home_network.as_deref().unwrap_or_default()
            ),
        )
        .expected("eth0")
        .actual(interface.clone()),
        Fault::DefaultRouteElsewhere(interface) => error(
            "default-route-elsewhere",
            format!("its default route leads into {network} ({interface})"),
        )
        .actual(interface.clone()),
        Fault::CrashLoop => found(
            "crash-loop",
            Severity::Warning,
            "it restarts over and over; it is stopped for the change and started again".to_owned(),
        )
        .hint(format!("docker logs --tail 20 {name}")),
        Fault::Paused => found(
            "container-paused",
            Severity::Warning,
            "it is paused: it holds its addresses and answers nothing, and was not looked into".to_owned(),
        )
        .hint(format!("docker unpause {name}")),
        Fault::Stopped => found(
            "container-stopped",
            Severity::Info,
            format!(
                "it does not run ({}); its address holds from its next start on",
                node.node.container.state
            ),
        )
        .hint(format!("docker start {name}")),
        Fault::Unread(why) => found(
            "routes-unreadable",
            Severity::Unknown,
            format!("its interfaces and routes cannot be read: {why}"),
        ),
        Fault::NoAddress => error(
            "no-address-left",
            format!("no address of {network} is left for it"),
        )
        .hint("choose a larger network: --network OTHER --subnet CIDR"),
    }
}

/// How a person adds an address to the certificate of a cluster of this tool.
pub fn own_instructions(tool: Tool, cluster: &str, address: &str) -> Option<String> {
    match tool {
        Tool::K3d => Some(
            "add --add-san, or make the cluster with the configuration of --print k3d".to_owned(),
        ),
        Tool::Kind => Some(format!(
            "add {address} to apiServer.certSANs in /kind/kubeadm.conf of each control-plane node, remove /etc/kubernetes/pki/apiserver.crt and .key, and run: kubeadm init phase certs apiserver --config /kind/kubeadm.conf"
        )),
        Tool::Minikube => Some(format!(
            "minikube start -p {cluster} --apiserver-ips={address}"
        )),
        Tool::Unknown => None,
    }
}
