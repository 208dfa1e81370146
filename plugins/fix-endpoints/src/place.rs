//! Which containers a member and the control plane are. Pure.

use karmada_repair::docker::membership::{Owner, Role, Tool, container_port, nodes_of, publishing};
use karmada_repair::docker::model::Container;

use crate::endpoint::Endpoint;

/// A cluster that runs in containers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Home<'a> {
    /// Its API servers, running or not, the first one first; never empty.
    pub servers: Vec<&'a Container>,
    /// The port on which they listen.
    pub api_port: u16,
    /// What led to it.
    pub evidence: Evidence,
    /// Whether its cluster has the member's name.
    pub is_namesake: bool,
    /// What it is, for a person who must choose.
    pub shown: String,
}

impl Home<'_> {
    /// Whether one of its servers runs.
    pub fn runs(&self) -> bool {
        self.servers.iter().any(|server| server.is_running())
    }
}

/// What led to a container.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Evidence {
    /// It publishes the port that the endpoint names.
    PublishedPort,
    /// Its cluster has the member's name.
    Name,
    /// It holds the address, or has the name, that the endpoint names.
    Address,
}

impl Evidence {
    /// The evidence as the end of `found by ...`.
    pub fn words(self) -> &'static str {
        match self {
            Evidence::PublishedPort => "its published port",
            Evidence::Name => "its cluster's name",
            Evidence::Address => "its address",
        }
    }
}

/// Where the member of this name may run that is dialled at this endpoint (`None` = no readable endpoint), the best
/// evidence first: the published port of an endpoint on the Docker machine, then the name, then the address.
pub fn candidates<'a>(
    name: &str,
    endpoint: Option<&Endpoint>,
    containers: &'a [Container],
) -> Vec<Home<'a>> {
    let mut homes = Vec::new();
    if let Some(endpoint) = endpoint.filter(|endpoint| endpoint.is_docker_host()) {
        let port = endpoint.port();
        for group in claims_on(port, containers) {
            homes.push(group.home(name, Evidence::PublishedPort, |container| {
                container_port(container, port)
            }));
        }
    }
    for group in clusters_named(name, containers) {
        homes.push(group.home(name, Evidence::Name, |_| None));
    }
    if let Some(endpoint) = endpoint.filter(|endpoint| !endpoint.is_docker_host()) {
        for group in holders_of(endpoint, containers) {
            homes.push(group.home(name, Evidence::Address, |_| Some(endpoint.port())));
        }
    }
    let mut seen: Vec<String> = Vec::new();
    homes.retain(|home| {
        let first = home.servers.first().map(|server| server.id.clone());
        let is_new = first.as_ref().is_some_and(|first| !seen.contains(first));
        seen.extend(first);
        is_new
    });
    homes
}

/// The containers on which the control plane's controllers may run, or in words why they cannot be told.
///
/// `given` are names or IDs from the command line and win; else the Karmada API server's own address tells, else the
/// context of the host cluster.
///
/// # Errors
/// Why the containers cannot be told.
pub fn control_plane<'a>(
    server: &str,
    host_context: Option<&str>,
    given: &[String],
    containers: &'a [Container],
) -> Result<Vec<&'a Container>, String> {
    if !given.is_empty() {
        return given.iter().map(|name| named(name, containers)).collect();
    }
    let endpoint = Endpoint::parse(server).ok();
    let by_server = match &endpoint {
        Some(endpoint) if endpoint.is_docker_host() => claims_on(endpoint.port(), containers),
        Some(endpoint) => holders_of(endpoint, containers),
        None => Vec::new(),
    };
    let by_context = || match host_context {
        Some(context) => clusters_named(context, containers),
        None => Vec::new(),
    };
    let found = if by_server.is_empty() {
        by_context()
    } else {
        by_server
    };
    match found.as_slice() {
        [] => Err(format!(
            "no container publishes or holds the address of the Karmada API server {server}"
        )),
        [one] => Ok(match &one.owner.cluster {
            Some(cluster) => nodes_of(containers, one.owner.tool, cluster),
            None => one.members.clone(),
        }),
        several => Err(format!(
            "several containers answer to it: {}",
            several
                .iter()
                .map(Group::shown)
                .collect::<Vec<_>>()
                .join(", ")
        )),
    }
}

/// The containers whose port bindings must be inspected, because the list tells them for running ones only.
pub fn to_inspect<'a>(
    endpoint: &Endpoint,
    containers: &'a [Container],
) -> impl Iterator<Item = &'a Container> {
    let settled = !endpoint.is_docker_host() || !publishing(containers, endpoint.port()).is_empty();
    containers
        .iter()
        .filter(move |container| !settled && !container.is_running() && container.ports.is_empty())
}

/// The containers of one cluster, or one container of no cluster.
struct Group<'a> {
    owner: Owner,
    members: Vec<&'a Container>,
}

impl<'a> Group<'a> {
    /// `port` is the API port of a container that no tool made.
    fn home(
        &self,
        name: &str,
        evidence: Evidence,
        port: impl Fn(&Container) -> Option<u16>,
    ) -> Home<'a> {
        let api_port = self
            .owner
            .api_port
            .or_else(|| self.members.first().and_then(|container| port(container)))
            .unwrap_or(USUAL_API_PORT);
        Home {
            servers: self.members.clone(),
            api_port,
            evidence,
            is_namesake: self.is_called(name),
            shown: self.shown(),
        }
    }

    fn is_called(&self, name: &str) -> bool {
        let prefix = match self.owner.tool {
            Tool::K3d => "k3d-",
            Tool::Kind => "kind-",
            Tool::Minikube | Tool::Unknown => "",
        };
        self.owner.cluster.as_deref().is_some_and(|cluster| {
            name == cluster || (!prefix.is_empty() && name.strip_prefix(prefix) == Some(cluster))
        })
    }

    fn shown(&self) -> String {
        let names: Vec<&str> = self
            .members
            .iter()
            .map(|container| container.name.as_str())
            .collect();
        match &self.owner.cluster {
            Some(cluster) => format!(
                "{} cluster {cluster} ({})",
                self.owner.tool,
                names.join(", ")
            ),
            None => format!("container {}", names.join(", ")),
        }
    }
}

fn claims_on(port: u16, containers: &[Container]) -> Vec<Group<'_>> {
    grouped(publishing(containers, port))
}

fn holders_of<'a>(endpoint: &Endpoint, containers: &'a [Container]) -> Vec<Group<'a>> {
    let holds = |container: &Container| match endpoint.address() {
        Some(address) => container
            .attachments
            .values()
            .any(|attachment| attachment.address.map(Into::into) == Some(address)),
        None => container.name == endpoint.host(),
    };
    let holders: Vec<&Container> = containers
        .iter()
        .filter(|container| holds(container))
        .collect();
    let mut groups = grouped(holders);
    // A member is its servers: a load balancer that holds the address stands for them.
    for group in &mut groups {
        if let Some(cluster) = &group.owner.cluster {
            group.members = servers_of(group.owner.tool, cluster, containers);
        }
    }
    groups
}

fn clusters_named<'a>(name: &str, containers: &'a [Container]) -> Vec<Group<'a>> {
    let servers = containers
        .iter()
        .filter(|container| Owner::of(container).role == Role::Server)
        .collect();
    let mut groups = grouped(servers);
    groups.retain(|group| group.is_called(name));
    for group in &mut groups {
        if let Some(cluster) = &group.owner.cluster {
            group.members = servers_of(group.owner.tool, cluster, containers);
        }
    }
    groups
}

fn servers_of<'a>(tool: Tool, cluster: &str, containers: &'a [Container]) -> Vec<&'a Container> {
    nodes_of(containers, tool, cluster)
        .into_iter()
        .filter(|node| Owner::of(node).role == Role::Server)
        .collect()
}

fn grouped<'a>(containers: Vec<&'a Container>) -> Vec<Group<'a>> {
    let mut groups: Vec<Group<'a>> = Vec::new();
    for container in containers {
        let owner = Owner::of(container);
        let same = groups.iter_mut().find(|group| {
            owner.cluster.is_some()
                && group.owner.tool == owner.tool
                && group.owner.cluster == owner.cluster
        });
        match same {
            Some(group) => group.members.push(container),
            None => groups.push(Group {
                owner,
                members: vec![container],
            }),
        }
    }
    groups
}

fn named<'a>(name: &str, containers: &'a [Container]) -> Result<&'a Container, String> {
    containers
        .iter()
        .find(|container| {
            container.name == name || (name.len() >= 12 && container.id.starts_with(name))
        })
        .ok_or_else(|| format!("there is no container {name:?}"))
}

const USUAL_API_PORT: u16 = 6443;

#[cfg(test)]
mod tests;
