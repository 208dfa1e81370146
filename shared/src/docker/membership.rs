//! Which cluster a container belongs to, and which networks and addresses it can use. Pure.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use ipnet::Ipv4Net;

use crate::docker::model::{Attachment, Container, Network, Subnet};

/// What a container's labels say about the cluster that it is a node of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    /// What made the container.
    pub tool: Tool,
    /// The cluster's name as the tool has it (without `k3d-` or `kind-`); `None` for an unknown tool.
    pub cluster: Option<String>,
    /// What the container does in the cluster.
    pub role: Role,
    /// The network that the node's own address is on; `None` when the container is on none, or on several of which
    /// none is marked.
    pub home_network: Option<String>,
    /// The port on which the API server listens inside; `None` for an unknown tool.
    pub api_port: Option<u16>,
}

impl Owner {
    /// Reads the labels of a container.
    pub fn of(container: &Container) -> Owner {
        let labels = &container.labels;
        if let Some(cluster) = labels.value("k3d.cluster") {
            return Owner {
                tool: Tool::K3d,
                cluster: Some(cluster.to_owned()),
                role: k3d_role(container),
                home_network: labels
                    .value("k3d.cluster.network")
                    .map(str::to_owned)
                    .or_else(|| first_network(container)),
                api_port: Some(API_PORT),
            };
        }
        if let Some(cluster) = labels.value("io.x-k8s.kind.cluster") {
            return Owner {
                tool: Tool::Kind,
                cluster: Some(cluster.to_owned()),
                role: kind_role(container),
                home_network: first_network(container).or_else(|| attached(container, "kind")),
                api_port: Some(API_PORT),
            };
        }
        if let Some(machine) = labels.value("name.minikube.sigs.k8s.io") {
            let (profile, role) = minikube_place(container, machine);
            return Owner {
                tool: Tool::Minikube,
                cluster: Some(profile.to_owned()),
                role,
                home_network: first_network(container).or_else(|| attached(container, profile)),
                api_port: Some(MINIKUBE_API_PORT),
            };
        }
        Owner {
            tool: Tool::Unknown,
            cluster: None,
            role: Role::Other,
            home_network: first_network(container),
            api_port: None,
        }
    }

    /// Whether the container is a node of this cluster of this tool.
    pub fn is_of(&self, tool: Tool, cluster: &str) -> bool {
        self.tool == tool && self.cluster.as_deref() == Some(cluster)
    }
}

/// A tool that runs Kubernetes clusters in containers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tool {
    /// k3d.
    K3d,
    /// kind.
    Kind,
    /// minikube with its docker driver.
    Minikube,
    /// None of those.
    Unknown,
}

impl std::fmt::Display for Tool {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Tool::K3d => "k3d",
            Tool::Kind => "kind",
            Tool::Minikube => "minikube",
            Tool::Unknown => "unknown",
        })
    }
}

/// What a container does in its cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Runs an API server.
    Server,
    /// Runs workloads only.
    Agent,
    /// Passes connections on to the servers.
    LoadBalancer,
    /// Anything else, such as a registry.
    Other,
}

/// The servers, then the agents of a cluster, each in the order of their numbers, running or not.
pub fn nodes_of<'a>(containers: &'a [Container], tool: Tool, cluster: &str) -> Vec<&'a Container> {
    let mut nodes: Vec<(Role, &Container)> = containers
        .iter()
        .map(|container| (Owner::of(container), container))
        .filter(|(owner, _)| owner.is_of(tool, cluster))
        .map(|(owner, container)| (owner.role, container))
        .filter(|(role, _)| matches!(role, Role::Server | Role::Agent))
        .collect();
    nodes.sort_by_key(|(role, container)| (*role, numbered(container)));
    nodes.into_iter().map(|(_, container)| container).collect()
}

/// The containers that answer at a port of the host, or would if they ran.
///
/// A server of k3d answers at the port in its label `k3d.server.api.port`, whoever publishes it. The servers stand for
/// a load balancer of k3d or kind that publishes the port. Several clusters in the answer are several claims.
pub fn publishing(containers: &[Container], port: u16) -> Vec<&Container> {
    let mut found: Vec<&Container> = Vec::new();
    for container in containers {
        if !claims(container, port) {
            continue;
        }
        let owner = Owner::of(container);
        match (owner.role, owner.cluster) {
            (Role::LoadBalancer, Some(cluster)) => {
                let nodes = nodes_of(containers, owner.tool, &cluster);
                found.extend(
                    nodes
                        .into_iter()
                        .filter(|node| Owner::of(node).role == Role::Server),
                );
            }
            _ => found.push(container),
        }
    }
    found.sort_by_key(|container| numbered(container));
    found.dedup_by(|one, other| one.id == other.id);
    found
}

/// The port inside a container behind a port of the host; `None` when it does not publish that one itself.
pub fn container_port(container: &Container, host_port: u16) -> Option<u16> {
    let ports = &container.ports;
    let published = ports.iter().find(|port| port.host_port == host_port)?;
    Some(published.container_port)
}

/// Whether Docker is known to give fixed addresses on a network: some container has one there.
///
/// Docker refuses them on a network whose subnet it chose itself, and the Engine API tells the choice nowhere: an
/// automatic subnet and one of the user's look the same in it. Where this is false, only trying tells.
pub fn takes_fixed_addresses(network: &Network, containers: &[Container]) -> bool {
    places_on(network, containers).any(|(_, place)| place.pinned.is_some())
}

/// The highest address of a network that a container can be given for good; `None` when there is none.
///
/// It is outside the ip-range, from which Docker takes addresses by itself (when there is one), it is no gateway,
/// reserved, network or broadcast address, and no container holds it or has it pinned, stopped ones included: Docker
/// hands out the lowest free address, so a high one stays clear of it longest.
pub fn highest_free_address(network: &Network, containers: &[Container]) -> Option<Ipv4Addr> {
    let subnet = network.subnets.first()?;
    let taken = taken_addresses(network, subnet, containers);
    let network_address = u32::from(subnet.subnet.network());
    let mut candidate = u32::from(subnet.subnet.broadcast()).checked_sub(1)?;
    while candidate > network_address {
        let address = Ipv4Addr::from(candidate);
        if let Some(range) = subnet.ip_range.filter(|range| range.contains(&address)) {
            candidate = u32::from(range.network()).checked_sub(1)?;
            continue;
        }
        if !taken.contains(&address) {
            return Some(address);
        }
        candidate -= 1;
    }
    None
}

/// The names of the networks that both containers are on, sorted; ghosts do not count.
///
/// For a container that is stopped these are the networks that it will be on.
pub fn shared_networks(one: &Container, other: &Container) -> Vec<String> {
    let real = |container: &Container, name: &str| {
        let attachment = container.attachments.get(name)?;
        (!container.is_ghost(attachment)).then(|| attachment.network_id.clone())
    };
    one.attachments
        .keys()
        .filter(|name| !matches!(name.as_str(), "host" | "none"))
        .filter(|name| match (real(one, name), real(other, name)) {
            (Some(Some(here)), Some(Some(there))) => here == there,
            (Some(_), Some(_)) => true,
            _ => false,
        })
        .cloned()
        .collect()
}

/// The interface name for an attachment that a repair adds: `km` and the first 8 digits of the network's id.
///
/// It is no `ethN`, so that the interface of the home network keeps that name, differs between networks, and stays
/// below the 15 characters that Linux allows.
pub fn interface_name(network_id: &str) -> String {
    let digits: String = network_id.chars().take(8).collect();
    format!("km{digits}")
}

fn k3d_role(container: &Container) -> Role {
    match container.labels.value("k3d.role") {
        Some("server") => Role::Server,
        Some("agent") => Role::Agent,
        Some("loadbalancer") => Role::LoadBalancer,
        _ => Role::Other,
    }
}

fn kind_role(container: &Container) -> Role {
    match container.labels.value("io.x-k8s.kind.role") {
        Some("control-plane") => Role::Server,
        Some("worker") => Role::Agent,
        Some("external-load-balancer") => Role::LoadBalancer,
        _ => Role::Other,
    }
}

/// The profile and role of a minikube machine. Its labels tell the machine's name and no role: the first machine bears
/// the profile's name, the others have `-m02`, `-m03`, ... behind it, and are on the profile's network.
fn minikube_place<'a>(container: &Container, machine: &'a str) -> (&'a str, Role) {
    if container.attachments.contains_key(machine) {
        return (machine, Role::Server);
    }
    match machine.rsplit_once("-m") {
        Some((profile, number))
            if !profile.is_empty()
                && number.len() >= 2
                && number.bytes().all(|byte| byte.is_ascii_digit()) =>
        {
            (profile, Role::Agent)
        }
        _ => (machine, Role::Server),
    }
}

/// The network that a container was made on: the one of its network mode, else the only one that it is on.
fn first_network(container: &Container) -> Option<String> {
    let mode = match container.network_mode.as_str() {
        "default" => "bridge",
        mode => mode,
    };
    let mut names = container.attachments.keys();
    match (names.next(), names.next()) {
        (Some(only), None) => Some(only.clone()),
        _ => attached(container, mode),
    }
}

fn attached(container: &Container, network: &str) -> Option<String> {
    container
        .attachments
        .contains_key(network)
        .then(|| network.to_owned())
}

fn claims(container: &Container, port: u16) -> bool {
    let labels = &container.labels;
    let by_label = k3d_role(container) == Role::Server
        && labels
            .value("k3d.server.api.port")
            .and_then(|text| text.parse().ok())
            == Some(port);
    by_label || container_port(container, port).is_some()
}

/// Sorts `server-2` before `server-10`: names of one cluster differ in their last number alone.
fn numbered(container: &Container) -> (usize, &str) {
    (container.name.len(), &container.name)
}

/// Every container's place on a network, also where only the name is known or the network was made anew under it.
fn places_on<'a>(
    network: &'a Network,
    containers: &'a [Container],
) -> impl Iterator<Item = (&'a Container, &'a Attachment)> {
    containers.iter().flat_map(move |container| {
        container
            .attachments
            .iter()
            .filter(move |(name, attachment)| {
                attachment.network_id.as_deref() == Some(&network.id) || **name == network.name
            })
            .map(move |(_, attachment)| (container, attachment))
    })
}

fn taken_addresses(
    network: &Network,
    subnet: &Subnet,
    containers: &[Container],
) -> BTreeSet<Ipv4Addr> {
    let held = places_on(network, containers)
        .flat_map(|(_, place)| [place.address, place.pinned])
        .flatten();
    let gateways = match subnet.gateway {
        Some(gateway) => vec![gateway],
        None => first_of(subnet.subnet)
            .into_iter()
            .chain(subnet.ip_range.map(|range| range.network()))
            .chain(subnet.ip_range.and_then(first_of))
            .collect(),
    };
    held.chain(gateways)
        .chain(subnet.reserved.iter().copied())
        .collect()
}

fn first_of(net: Ipv4Net) -> Option<Ipv4Addr> {
    u32::from(net.network()).checked_add(1).map(Ipv4Addr::from)
}

const API_PORT: u16 = 6443;
const MINIKUBE_API_PORT: u16 = 8443;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
