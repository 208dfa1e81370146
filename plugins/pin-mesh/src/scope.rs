//! Which nodes are meant, and in which order they get their addresses. Pure.

use std::net::{IpAddr, Ipv4Addr};

use karmada_repair::docker::membership::{Owner, Role, Tool, nodes_of, publishing};
use karmada_repair::docker::model::Container;
use karmada_repair::error::UsageError;
use karmada_repair::text::near_matches;

use crate::config::{Config, Word};
use crate::observed::{Daemon, Observed};

/// A node that gets an address.
#[derive(Debug, Clone)]
pub struct Node<'a> {
    /// Its container.
    pub container: &'a Container,
    /// What it is.
    pub owner: Owner,
    /// The cluster as a person calls it; `None` for a container that is no node of a known tool.
    pub cluster: Option<String>,
    /// The name under which the control plane knows the cluster; `None` = it does not.
    pub member: Option<String>,
    /// Where it stands in the order of addresses.
    pub rank: Rank,
    /// The address that was asked for on the command line.
    pub asked: Option<Ipv4Addr>,
    /// Whether it is meant, or only keeps its place in the order.
    pub selected: bool,
}

/// Which series of addresses a node is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rank {
    /// The first server of the control plane's cluster.
    ControlPlane,
    /// The first server of another cluster.
    FirstServer,
    /// Any other node.
    Other,
}

/// A cluster that runs in containers of the daemon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClusterOf<'a> {
    /// The tool that made it.
    pub tool: Tool,
    /// Its name, without the tool's prefix.
    pub name: &'a str,
}

impl ClusterOf<'_> {
    fn is_called(&self, word: &str) -> bool {
        word == self.name
            || match self.tool {
                Tool::K3d => word.strip_prefix("k3d-") == Some(self.name),
                Tool::Kind => word.strip_prefix("kind-") == Some(self.name),
                Tool::Minikube | Tool::Unknown => false,
            }
    }
}

/// The clusters of the daemon, sorted by name.
pub fn clusters(containers: &[Container]) -> Vec<(Tool, String)> {
    let mut clusters: Vec<(Tool, String)> = containers
        .iter()
        .map(Owner::of)
        .filter(|owner| matches!(owner.role, Role::Server | Role::Agent))
        .filter_map(|owner| Some((owner.tool, owner.cluster?)))
        .collect();
    clusters.sort_by(|one, other| (&one.1, one.0).cmp(&(&other.1, other.0)));
    clusters.dedup();
    clusters
}

/// The cluster that runs the control plane: named, else behind the URL of its API server, else of Karmada's own name.
pub fn control_plane(observed: &Observed, config: &Config) -> Option<(Tool, String)> {
    let containers = &observed.docker.containers;
    let all = clusters(containers);
    let called = |word: &str| {
        let found = all
            .iter()
            .find(|(tool, name)| ClusterOf { tool: *tool, name }.is_called(word));
        found.cloned()
    };
    if let Some(name) = &config.control_plane {
        return called(name);
    }
    let by_url = observed
        .control_plane
        .as_deref()
        .and_then(|url| behind(url, containers));
    by_url.or_else(|| called("karmada-host"))
}

/// The cluster behind a URL: whose container publishes its port, if it is of this machine, or holds its address.
pub(crate) fn behind(url: &str, containers: &[Container]) -> Option<(Tool, String)> {
    let url = url::Url::parse(url).ok()?;
    let host = url.host_str()?.trim_matches(['[', ']']).to_owned();
    let port = url.port_or_known_default()?;
    let here = match host.parse::<IpAddr>() {
        Ok(address) => address.is_loopback() || address.is_unspecified(),
        Err(_) => ["localhost", "host.docker.internal"].contains(&host.as_str()),
    };
    let candidates: Vec<&Container> = if here {
        publishing(containers, port)
    } else {
        let address = host.parse::<Ipv4Addr>().ok();
        let holds = |container: &&Container| {
            container.name == host
                || container.attachments.values().any(|place| {
                    address.is_some() && [place.address, place.pinned].contains(&address)
                })
        };
        containers.iter().filter(holds).collect()
    };
    let owner = candidates.first().map(|container| Owner::of(container))?;
    Some((owner.tool, owner.cluster?))
}

/// All nodes that have a place in the order of addresses, those that are meant marked.
///
/// # Errors
/// A word that names nothing here, or something that cannot be pinned.
pub fn nodes<'a>(observed: &'a Observed, config: &Config) -> Result<Vec<Node<'a>>, UsageError> {
    let docker = &observed.docker;
    let control_plane = control_plane(observed, config);
    if let (Some(name), None) = (&config.control_plane, &control_plane) {
        return Err(unknown(name, observed));
    }
    let all = clusters(&docker.containers);
    let members = member_names(observed, &all);
    let member_of = |cluster: &(Tool, String)| {
        members
            .iter()
            .find(|(_, found)| found == cluster)
            .map(|(name, _)| name.clone())
    };
    let mut nodes: Vec<Node<'_>> = Vec::new();
    for cluster in &all {
        let (tool, name) = cluster;
        for (index, container) in nodes_of(&docker.containers, *tool, name)
            .into_iter()
            .enumerate()
        {
            nodes.push(Node {
                container,
                owner: Owner::of(container),
                cluster: Some(name.clone()),
                member: member_of(cluster),
                rank: match index {
                    0 if control_plane.as_ref() == Some(cluster) => Rank::ControlPlane,
                    0 => Rank::FirstServer,
                    _ => Rank::Other,
                },
                asked: None,
                selected: false,
            });
        }
    }
    if config.words.is_empty() {
        select_by_default(&mut nodes, observed, config, control_plane.as_ref());
    }
    for word in &config.words {
        select(&mut nodes, word, observed, &members)?;
    }
    if config.all {
        for node in nodes.iter_mut() {
            node.selected = true;
        }
    }
    nodes.sort_by_key(|node| node.rank);
    Ok(nodes)
}

/// Without words: the federation, and what is on the network already.
fn select_by_default(
    nodes: &mut [Node<'_>],
    observed: &Observed,
    config: &Config,
    control_plane: Option<&(Tool, String)>,
) {
    let has_control_plane = observed.control_plane.is_some() && observed.members.seen().is_some();
    let in_file = |name: &str| {
        observed
            .file
            .seen()
            .is_some_and(|file| file.addresses.contains_key(name))
    };
    let on_mesh: Vec<Option<String>> = nodes
        .iter()
        .filter(|node| node.container.attachments.contains_key(&config.network))
        .map(|node| node.cluster.clone())
        .collect();
    for node in nodes {
        let is_control_plane = control_plane.is_some_and(|(tool, name)| {
            node.owner.tool == *tool && node.cluster.as_ref() == Some(name)
        });
        node.selected = (has_control_plane && (is_control_plane || node.member.is_some()))
            || on_mesh.contains(&node.cluster)
            || in_file(&node.container.name);
    }
}

fn select<'a>(
    nodes: &mut Vec<Node<'a>>,
    word: &Word,
    observed: &'a Observed,
    members: &[(String, (Tool, String))],
) -> Result<(), UsageError> {
    let known = |cluster: &Option<String>, tool: Tool| {
        cluster.as_ref().is_some_and(|name| {
            ClusterOf { tool, name }.is_called(&word.name)
                || members.iter().any(|(member, (of_tool, of))| {
                    *member == word.name && *of_tool == tool && of == name
                })
        })
    };
    let mut tools: Vec<(Tool, Option<String>)> = Vec::new();
    let mut first = true;
    for node in nodes
        .iter_mut()
        .filter(|node| known(&node.cluster, node.owner.tool))
    {
        node.selected = true;
        if first {
            node.asked = word.address.or(node.asked);
            first = false;
        }
        let cluster = (node.owner.tool, node.cluster.clone());
        if !tools.contains(&cluster) {
            tools.push(cluster);
        }
    }
    if tools.len() > 1 {
        let shown: Vec<String> = tools
            .iter()
            .map(|(tool, cluster)| format!("{tool}-{}", cluster.as_deref().unwrap_or_default()))
            .collect();
        return Err(
            UsageError::new(format!("{:?} can be {}", word.name, shown.join(" or ")))
                .with_hint("name the containers of the one that is meant"),
        );
    }
    if !tools.is_empty() {
        return Ok(());
    }
    let found = observed.docker.containers.iter().find(|container| {
        container.name == word.name
            || (word.name.len() >= 6 && container.id.starts_with(&word.name))
    });
    let Some(container) = found else {
        return Err(unknown(&word.name, observed));
    };
    let owner = Owner::of(container);
    if owner.role == Role::LoadBalancer {
        return Err(UsageError::new(format!(
            "{} is a load balancer: nobody needs to know its address, and it is no node",
            container.name
        ))
        .with_hint("name the cluster, or a server"));
    }
    match nodes
        .iter_mut()
        .find(|node| node.container.id == container.id)
    {
        Some(node) => {
            node.selected = true;
            node.asked = word.address.or(node.asked);
        }
        None => nodes.push(Node {
            container,
            cluster: owner.cluster.clone(),
            owner,
            member: None,
            rank: Rank::Other,
            asked: word.address,
            selected: true,
        }),
    }
    Ok(())
}

/// The members that run here, each with its cluster: of the same name, else behind its endpoint.
fn member_names(observed: &Observed, all: &[(Tool, String)]) -> Vec<(String, (Tool, String))> {
    let Some(members) = observed.members.seen() else {
        return Vec::new();
    };
    members
        .iter()
        .filter_map(|member| {
            let by_endpoint = member
                .endpoint
                .as_deref()
                .and_then(|url| behind(url, &observed.docker.containers));
            let by_name = || {
                all.iter()
                    .find(|(tool, name)| ClusterOf { tool: *tool, name }.is_called(&member.name))
                    .cloned()
            };
            Some((member.name.clone(), by_name().or(by_endpoint)?))
        })
        .collect()
}

fn unknown(name: &str, observed: &Observed) -> UsageError {
    let clusters = clusters(&observed.docker.containers);
    let daemon: &Daemon = &observed.docker;
    let known: Vec<&str> = clusters
        .iter()
        .map(|(_, name)| name.as_str())
        .chain(
            daemon
                .containers
                .iter()
                .map(|container| container.name.as_str()),
        )
        .collect();
    let near = near_matches(name, known.iter().copied());
    let error = UsageError::new(format!(
        "there is no cluster and no container {name:?} on the Docker daemon at {}",
        daemon.at
    ));
    match near.is_empty() {
        false => error.with_hint(format!("did you mean {}?", near.join(", "))),
        true if clusters.is_empty() => error.with_hint("docker ps --all"),
        true => error.with_hint(format!(
            "choose from the clusters there: {}",
            clusters
                .iter()
                .map(|(_, name)| name.as_str())
                .collect::<Vec<_>>()
                .join(", ")
        )),
    }
}
