//! What a Docker daemon knows. Pure.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use super::exec::Exec;
use super::failure::Failure;
use super::network::Network;

/// All containers and networks.
#[derive(Debug)]
pub(crate) struct Daemon {
    pub(crate) engine: Engine,
    pub(crate) containers: Vec<Container>,
    pub(crate) networks: Vec<Network>,
    pub(crate) execs: Vec<Exec>,
}

/// The version of the Docker Engine that is played.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Engine {
    /// 20.10.24, API 1.41.
    V20,
    /// 26.1.5, API 1.45.
    V26,
    /// 28.5.2, API 1.51.
    #[default]
    V28,
}

/// One container.
#[derive(Debug, Clone)]
pub(crate) struct Container {
    /// 64 hexadecimal digits.
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) image: String,
    pub(crate) command: String,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) environment: Vec<String>,
    pub(crate) state: State,
    /// How often it was started.
    pub(crate) starts: u64,
    /// The last error of a start, empty if there was none.
    pub(crate) error: String,
    /// The name of the network it was created on, `host` or `none`.
    pub(crate) network_mode: String,
    pub(crate) bindings: Vec<Binding>,
    /// By network name.
    pub(crate) endpoints: BTreeMap<String, Endpoint>,
    /// Which API server answers at which of its ports.
    pub(crate) serves: BTreeMap<u16, String>,
    pub(crate) created: String,
    pub(crate) started: String,
    pub(crate) restart_policy: String,
    /// The files that somebody put into it, by absolute path.
    pub(crate) files: BTreeMap<String, String>,
}

/// A published port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Binding {
    pub(crate) container_port: u16,
    pub(crate) host_address: String,
    pub(crate) host_port: u16,
}

/// A container's attachment to a network.
#[derive(Debug, Clone, Default)]
pub(crate) struct Endpoint {
    pub(crate) network_id: String,
    /// `IPAMConfig.IPv4Address`.
    pub(crate) configured: Option<Ipv4Addr>,
    /// The address held now; `None` for stopped containers and ghosts.
    pub(crate) address: Option<Ipv4Addr>,
    pub(crate) endpoint_id: String,
    pub(crate) aliases: Vec<String>,
    pub(crate) driver_options: BTreeMap<String, String>,
    pub(crate) gateway_priority: i64,
}

/// The state of a container.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Made, never started.
    Created,
    /// Running.
    Running,
    /// Frozen.
    Paused,
    /// Crash-looping: between two starts.
    Restarting,
    /// Stopped.
    Exited,
}

impl Engine {
    pub(crate) fn version(self) -> &'static str {
        match self {
            Self::V20 => "20.10.24",
            Self::V26 => "26.1.5",
            Self::V28 => "28.5.2",
        }
    }

    /// The newest API version and the oldest.
    pub(crate) fn api(self) -> (&'static str, &'static str) {
        match self {
            Self::V20 => ("1.41", "1.12"),
            Self::V26 => ("1.45", "1.24"),
            Self::V28 => ("1.51", "1.24"),
        }
    }
}

impl State {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Running => "running",
            Self::Paused => "paused",
            Self::Restarting => "restarting",
            Self::Exited => "exited",
        }
    }

    /// Whether the container has a network namespace with addresses in it.
    pub(crate) fn has_addresses(self) -> bool {
        matches!(self, Self::Running | Self::Paused)
    }
}

impl Container {
    /// Its address on a network, if it holds one.
    pub(crate) fn address_on(&self, network: &str) -> Option<Ipv4Addr> {
        self.endpoints
            .get(network)
            .and_then(|endpoint| endpoint.address)
    }
}

impl Daemon {
    pub(crate) fn new(engine: Engine) -> Self {
        Self {
            engine,
            containers: Vec::new(),
            networks: Network::predefined(),
            execs: Vec::new(),
        }
    }

    /// The container of that name, ID or unambiguous beginning of an ID.
    pub(crate) fn container(&self, reference: &str) -> Result<&Container, Failure> {
        self.container_index(reference)
            .map(|index| &self.containers[index])
    }

    pub(crate) fn container_mut(&mut self, reference: &str) -> Result<&mut Container, Failure> {
        self.container_index(reference)
            .map(|index| &mut self.containers[index])
    }

    /// The network of that ID, name, or beginning of an ID.
    pub(crate) fn network(&self, reference: &str) -> Result<&Network, Failure> {
        let found = self
            .networks
            .iter()
            .find(|network| network.id == reference)
            .or_else(|| {
                self.networks
                    .iter()
                    .find(|network| network.name == reference)
            })
            .or_else(|| {
                self.networks
                    .iter()
                    .find(|network| reference.len() >= 4 && network.id.starts_with(reference))
            });
        found.ok_or_else(|| Failure::no_such_network(reference))
    }

    /// The addresses held on a network, with their holders.
    pub(crate) fn held<'a>(
        &'a self,
        network: &'a str,
    ) -> impl Iterator<Item = (Ipv4Addr, &'a Container)> {
        self.containers.iter().filter_map(move |container| {
            container
                .address_on(network)
                .map(|address| (address, container))
        })
    }

    fn container_index(&self, reference: &str) -> Result<usize, Failure> {
        let reference = reference.trim_start_matches('/');
        let position =
            |matches: &dyn Fn(&Container) -> bool| self.containers.iter().position(matches);
        position(&|container| container.id == reference || container.name == reference)
            .or_else(|| {
                position(&|container| reference.len() >= 4 && container.id.starts_with(reference))
            })
            .ok_or_else(|| Failure::no_such_container(reference))
    }
}
