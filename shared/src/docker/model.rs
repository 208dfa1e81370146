//! Containers and networks as the repairs see them. Pure.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

use ipnet::Ipv4Net;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A container with the networks that it is configured on, running or not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Container {
    /// The full id, 64 hexadecimal digits.
    pub id: String,
    /// The name, without the slash of the API.
    pub name: String,
    /// What the daemon says it is doing.
    pub state: ContainerState,
    /// `HostConfig.NetworkMode`: a network's name, `default`, `bridge`, `host`, `none` or `container:ID`; empty when
    /// the daemon does not tell.
    pub network_mode: String,
    /// The labels that tell which cluster it belongs to.
    pub labels: Labels,
    /// TCP ports published on the host, sorted. From the list these are the open ones, so a stopped container has none;
    /// from an inspection the configured ones as well.
    pub ports: Vec<PublishedPort>,
    /// Attachments by network name (`NetworkSettings.Networks`).
    pub attachments: BTreeMap<String, Attachment>,
}

impl Container {
    /// The attachment to a network; `None` when the container is not configured on it.
    ///
    /// Found by the network's id; by its name where no id is recorded, and for a container that does not run, since
    /// Docker looks the name up again at the next start, whatever id is recorded.
    pub fn attachment_to(&self, network: &Network) -> Option<&Attachment> {
        self.attachments.iter().find_map(|(name, attachment)| {
            let recorded = attachment.network_id.as_deref();
            let by_id = recorded == Some(&network.id);
            let by_name = (recorded.is_none() || !self.is_up())
                && (*name == network.name || *name == network.id);
            (by_id || by_name).then_some(attachment)
        })
    }

    /// The address that it holds on each network, by the network's name, sorted.
    pub fn addresses(&self) -> Vec<(String, Ipv4Addr)> {
        self.attachments
            .iter()
            .filter_map(|(name, place)| Some((name.clone(), place.address?)))
            .collect()
    }

    /// Why the container can join no further network, in words; `None` when it can.
    ///
    /// Docker refuses a container with the network mode `host`, `none` or `container:ID`, and one that is between two
    /// restarts loses what is connected.
    pub fn joins_no_network(&self) -> Option<&'static str> {
        if self.network_mode == "host" {
            return Some("is on the host's network");
        }
        if self.network_mode == "none" {
            return Some("has no network");
        }
        if self.network_mode.starts_with("container:") {
            return Some("shares the network of another container");
        }
        match self.state {
            ContainerState::Restarting => Some("is restarting over and over"),
            ContainerState::Removing | ContainerState::Dead => Some("is being removed"),
            _ => None,
        }
    }

    /// Whether the container's processes run, so that its addresses answer; a paused one's do not.
    pub fn is_running(&self) -> bool {
        self.state == ContainerState::Running
    }

    /// Whether the container holds its addresses: it runs or is paused.
    pub fn is_up(&self) -> bool {
        matches!(self.state, ContainerState::Running | ContainerState::Paused)
    }

    /// Whether an attachment is what a failed connection left behind: recorded, but without an address although the
    /// container runs. The next start of the container fails because of it.
    pub fn is_ghost(&self, attachment: &Attachment) -> bool {
        self.is_up() && attachment.address.is_none() && self.network_mode != "host"
    }
}

/// What a container is doing (`State.Status`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ContainerState {
    /// Made, never started.
    Created,
    /// Running.
    Running,
    /// Frozen: it holds its addresses and answers nothing.
    Paused,
    /// Between two attempts to run, `State.Running` notwithstanding.
    Restarting,
    /// Stopped: it holds no address.
    Exited,
    /// On its way out.
    Removing,
    /// Half removed.
    Dead,
    /// A state that this version does not know, or none was told.
    Unknown,
}

impl std::fmt::Display for ContainerState {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            ContainerState::Created => "created",
            ContainerState::Running => "running",
            ContainerState::Paused => "paused",
            ContainerState::Restarting => "restarting",
            ContainerState::Exited => "exited",
            ContainerState::Removing => "removing",
            ContainerState::Dead => "dead",
            ContainerState::Unknown => "unknown",
        })
    }
}

/// A container's place on one network (`NetworkSettings.Networks[NAME]`).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Attachment {
    /// The network's id; `None` before the first start. It may name a network that is gone.
    pub network_id: Option<String>,
    /// The IPv4 address held now; `None` when the container is stopped, or the attachment is a ghost.
    pub address: Option<Ipv4Addr>,
    /// The IPv4 address asked for (`IPAMConfig.IPv4Address`); `None` when Docker chooses.
    pub pinned: Option<Ipv4Addr>,
    /// The interface name asked for inside the container; `None` when Docker chooses, or from a list of Docker
    /// before 28.
    pub interface: Option<String>,
    /// Names on this network given by the user, sorted, which a new connection has to be told again; only an
    /// inspection has them.
    pub aliases: Vec<String>,
    /// `GwPriority`; 0 also where the daemon knows none (before Docker 28).
    pub gateway_priority: i64,
}

/// A TCP port of a container, published on the host.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PublishedPort {
    /// The host port.
    pub host_port: u16,
    /// The port inside the container.
    pub container_port: u16,
    /// The host address that is bound; `None` when none is named, which means all.
    pub host_ip: Option<IpAddr>,
}

/// A network of the daemon.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Network {
    /// The full id, 64 hexadecimal digits.
    pub id: String,
    /// The name; not unique on Docker before 25.
    pub name: String,
    /// `bridge`, `host`, `null`, `overlay`, ...
    pub driver: String,
    /// Whether the network leads nowhere else.
    pub internal: bool,
    /// The IPv4 subnets, in the order of the daemon; IPv6 ones are left out.
    pub subnets: Vec<Subnet>,
    /// The labels that tell what made it.
    pub labels: Labels,
}

/// An IPv4 subnet of a network (`IPAM.Config`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Subnet {
    /// The addresses of the network.
    #[schemars(with = "String")]
    pub subnet: Ipv4Net,
    /// The bridge's address; `None` when the daemon does not tell, and then it is the first of the range or subnet.
    pub gateway: Option<Ipv4Addr>,
    /// The part from which Docker takes addresses by itself; `None` = all of it.
    #[schemars(with = "Option<String>")]
    pub ip_range: Option<Ipv4Net>,
    /// Addresses that nobody may hold (`AuxiliaryAddresses`), sorted.
    pub reserved: Vec<Ipv4Addr>,
}

/// The labels that the repairs read, of all those on a container or network.
///
/// Others are dropped at the door: k3d keeps its cluster's token in one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "BTreeMap<String, String>")]
pub struct Labels(BTreeMap<String, String>);

impl Labels {
    /// Keeps the labels that the repairs read.
    pub fn of<K, V>(labels: impl IntoIterator<Item = (K, V)>) -> Labels
    where
        K: Into<String>,
        V: Into<String>,
    {
        let kept = labels
            .into_iter()
            .map(|(key, value)| (key.into(), value.into()))
            .filter(|(key, _)| READ_LABELS.contains(&key.as_str()))
            .collect();
        Labels(kept)
    }

    /// A label's value; `None` when it is unset or empty.
    pub fn value(&self, key: &str) -> Option<&str> {
        self.0
            .get(key)
            .map(String::as_str)
            .filter(|value| !value.is_empty())
    }
}

impl From<BTreeMap<String, String>> for Labels {
    fn from(labels: BTreeMap<String, String>) -> Labels {
        Labels::of(labels)
    }
}

const READ_LABELS: &[&str] = &[
    "app",
    "created_by.minikube.sigs.k8s.io",
    "desktop.docker.io/ports/6443/tcp",
    "desktop.docker.io/ports/8443/tcp",
    "io.x-k8s.kind.cluster",
    "io.x-k8s.kind.role",
    "k3d.cluster",
    "k3d.cluster.network",
    "k3d.cluster.network.external",
    "k3d.cluster.network.id",
    "k3d.cluster.network.iprange",
    "k3d.node.staticIP",
    "k3d.role",
    "k3d.server.api.host",
    "k3d.server.api.hostIP",
    "k3d.server.api.port",
    "k3d.server.init",
    "k3d.server.loadbalancer",
    "k3d.version",
    "karmada-repair/owner",
    "mode.minikube.sigs.k8s.io",
    "name.minikube.sigs.k8s.io",
    "role.minikube.sigs.k8s.io",
];
