//! From the Engine API's answers to the models of the repairs. Pure.

use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, Ipv4Addr};

use bollard::models::{
    ContainerInspectResponse, ContainerStateStatusEnum, ContainerSummary,
    ContainerSummaryStateEnum, EndpointSettings, PortMap, PortSummaryTypeEnum,
};
use ipnet::Ipv4Net;

use crate::docker::model::{
    Attachment, Container, ContainerState, Labels, Network, PublishedPort, Subnet,
};

/// A container of the list (`GET /containers/json`).
pub(crate) fn listed_container(summary: ContainerSummary) -> Container {
    let id = summary.id.unwrap_or_default();
    let names = summary.names.unwrap_or_default();
    let ports = summary.ports.unwrap_or_default();
    let ports = ports.into_iter().filter_map(|port| {
        let tcp = matches!(port.typ, None | Some(PortSummaryTypeEnum::TCP));
        Some(PublishedPort {
            host_port: port.public_port.filter(|public| tcp && *public != 0)?,
            container_port: port.private_port,
            host_ip: address(port.ip.as_deref()),
        })
    });
    let name = own_name(&names).unwrap_or_else(|| short_id(&id));
    let networks = summary
        .network_settings
        .and_then(|settings| settings.networks);
    Container {
        attachments: attachments(networks, &id, &name),
        name,
        id,
        state: listed_state(summary.state),
        network_mode: summary
            .host_config
            .and_then(|config| config.network_mode)
            .unwrap_or_default(),
        labels: Labels::of(summary.labels.unwrap_or_default()),
        ports: sorted(ports.collect()),
    }
}

/// An inspected container (`GET /containers/{id}/json`).
pub(crate) fn inspected_container(response: ContainerInspectResponse) -> Container {
    let id = response.id.unwrap_or_default();
    let host = response.host_config.unwrap_or_default();
    let settings = response.network_settings.unwrap_or_default();
    let mut ports = published(host.port_bindings);
    ports.extend(published(settings.ports));
    let name = response.name.and_then(|name| own_name(&[name]));
    let name = name.unwrap_or_else(|| short_id(&id));
    Container {
        attachments: attachments(settings.networks, &id, &name),
        name,
        id,
        state: inspected_state(response.state),
        network_mode: host.network_mode.unwrap_or_default(),
        labels: Labels::of(
            response
                .config
                .and_then(|config| config.labels)
                .unwrap_or_default(),
        ),
        ports: sorted(ports),
    }
}

/// A network of the list (`GET /networks`).
pub(crate) fn listed_network(network: bollard::models::Network) -> Network {
    let config = network
        .ipam
        .and_then(|ipam| ipam.config)
        .unwrap_or_default();
    let subnets = config.into_iter().filter_map(|config| {
        let reserved = config.auxiliary_addresses.unwrap_or_default();
        let mut reserved: Vec<Ipv4Addr> = reserved
            .into_values()
            .filter_map(|value| ipv4(Some(&value)))
            .collect();
        reserved.sort();
        Some(Subnet {
            subnet: subnet(config.subnet.as_deref())?,
            gateway: ipv4(config.gateway.as_deref()),
            ip_range: subnet(config.ip_range.as_deref()),
            reserved,
        })
    });
    Network {
        id: network.id.unwrap_or_default(),
        name: network.name.unwrap_or_default(),
        driver: network.driver.unwrap_or_default(),
        internal: network.internal.unwrap_or_default(),
        subnets: subnets.collect(),
        labels: Labels::of(network.labels.unwrap_or_default()),
    }
}

/// The 12 digits by which the docker command names a container or network.
pub(crate) fn short_id(id: &str) -> String {
    id.chars().take(12).collect()
}

/// The container's own name: legacy links add names of the form `/other/alias`.
fn own_name(names: &[String]) -> Option<String> {
    names
        .iter()
        .map(|name| name.strip_prefix('/').unwrap_or(name))
        .find(|name| !name.is_empty() && !name.contains('/'))
        .map(str::to_owned)
}

fn listed_state(state: Option<ContainerSummaryStateEnum>) -> ContainerState {
    use ContainerSummaryStateEnum as Listed;
    match state {
        Some(Listed::CREATED) => ContainerState::Created,
        Some(Listed::RUNNING) => ContainerState::Running,
        Some(Listed::PAUSED) => ContainerState::Paused,
        Some(Listed::RESTARTING) => ContainerState::Restarting,
        Some(Listed::EXITED) => ContainerState::Exited,
        Some(Listed::REMOVING) => ContainerState::Removing,
        Some(Listed::DEAD) => ContainerState::Dead,
        Some(Listed::EMPTY | Listed::STOPPING) | None => ContainerState::Unknown,
    }
}

fn inspected_state(state: Option<bollard::models::ContainerState>) -> ContainerState {
    use ContainerStateStatusEnum as Status;
    let state = state.unwrap_or_default();
    match state.status {
        Some(Status::CREATED) => ContainerState::Created,
        Some(Status::RUNNING) => ContainerState::Running,
        Some(Status::PAUSED) => ContainerState::Paused,
        Some(Status::RESTARTING) => ContainerState::Restarting,
        Some(Status::EXITED) => ContainerState::Exited,
        Some(Status::REMOVING) => ContainerState::Removing,
        Some(Status::DEAD) => ContainerState::Dead,
        Some(Status::STOPPING) => ContainerState::Unknown,
        // Old daemons tell the flags alone, and `Running` is also true while restarting or paused.
        Some(Status::EMPTY) | None if state.restarting == Some(true) => ContainerState::Restarting,
        Some(Status::EMPTY) | None if state.paused == Some(true) => ContainerState::Paused,
        Some(Status::EMPTY) | None if state.running == Some(true) => ContainerState::Running,
        Some(Status::EMPTY) | None => ContainerState::Unknown,
    }
}

/// The fixed ports of a map: a binding may also leave the port to Docker (empty or 0) or give it a range to choose from.
fn published(ports: Option<PortMap>) -> Vec<PublishedPort> {
    let ports = ports.unwrap_or_default();
    let of_port = |(key, bindings): (String, Option<Vec<_>>)| {
        let (port, protocol) = key.split_once('/').unwrap_or((&key, "tcp"));
        let container_port: u16 = port.parse().ok().filter(|_| protocol == "tcp")?;
        Some((container_port, bindings.unwrap_or_default()))
    };
    ports
        .into_iter()
        .filter_map(of_port)
        .flat_map(|(container_port, bindings)| {
            bindings
                .into_iter()
                .filter_map(move |binding: bollard::models::PortBinding| {
                    let host_port = binding.host_port?.parse().ok().filter(|port| *port != 0)?;
                    Some(PublishedPort {
                        host_port,
                        container_port,
                        host_ip: address(binding.host_ip.as_deref()),
                    })
                })
        })
        .collect()
}

fn sorted(mut ports: Vec<PublishedPort>) -> Vec<PublishedPort> {
    ports.sort();
    ports.dedup();
    ports
}

fn attachments(
    networks: Option<HashMap<String, EndpointSettings>>,
    id: &str,
    name: &str,
) -> BTreeMap<String, Attachment> {
    let networks = networks.unwrap_or_default();
    networks
        .into_iter()
        .map(|(network, settings)| (network, attachment(settings, id, name)))
        .collect()
}

fn attachment(settings: EndpointSettings, id: &str, name: &str) -> Attachment {
    let pinned = settings.ipam_config.and_then(|config| config.ipv4_address);
    let mut aliases = settings.aliases.unwrap_or_default();
    // Docker before 26 lists the names that it gives by itself among the user's.
    aliases.retain(|alias| alias != name && !id.starts_with(alias.as_str()));
    aliases.sort();
    Attachment {
        network_id: settings.network_id.filter(|id| !id.is_empty()),
        address: ipv4(settings.ip_address.as_deref()),
        pinned: ipv4(pinned.as_deref()),
        interface: settings
            .driver_opts
            .and_then(|mut options| options.remove(INTERFACE_OPTION)),
        aliases,
        gateway_priority: settings.gw_priority.unwrap_or_default(),
    }
}

fn address(text: Option<&str>) -> Option<IpAddr> {
    text?.parse().ok()
}

/// An IPv4 address, with or without the length of a prefix behind it; `None` also for the empty text of a stopped
/// container.
fn ipv4(text: Option<&str>) -> Option<Ipv4Addr> {
    let text = text?;
    let (address, _) = text.split_once('/').unwrap_or((text, ""));
    address
        .parse()
        .ok()
        .filter(|address: &Ipv4Addr| !address.is_unspecified())
}

fn subnet(text: Option<&str>) -> Option<Ipv4Net> {
    text?.parse().ok().map(|net: Ipv4Net| net.trunc())
}

/// The driver option that names the interface inside the container, since Docker 28.
pub(crate) const INTERFACE_OPTION: &str = "com.docker.network.endpoint.ifname";

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
