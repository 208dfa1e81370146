//! Requests to the daemon, each with a deadline. Sends them.

use std::collections::HashMap;
use std::net::Ipv4Addr;
use std::time::Duration;

use bollard::errors::Error;
use bollard::models::{
    EndpointIpamConfig, EndpointSettings, NetworkConnectRequest, NetworkDisconnectRequest,
};
use bollard::query_parameters::{
    InspectContainerOptions, ListContainersOptionsBuilder, ListNetworksOptions,
};

use crate::docker::decode;
use crate::docker::endpoint::Located;
use crate::docker::error::DockerError;
use crate::docker::failure;
use crate::docker::model::{Container, Network};
use crate::docker::wire::Wire;

/// A Docker daemon.
#[derive(Debug, Clone)]
pub struct Docker {
    client: bollard::Docker,
    at: Located,
    deadline: Duration,
}

impl Docker {
    /// Prepares to talk to a daemon. No request is sent; each one later has 10 s to be answered.
    ///
    /// # Errors
    /// TLS files that cannot be used.
    pub fn connect(at: &Located) -> Result<Docker, DockerError> {
        Ok(Docker::over(Wire::to(&at.endpoint)?, at))
    }

    pub(crate) fn over(wire: Wire, at: &Located) -> Docker {
        let transport = move |request| wire.clone().send(request);
        let client = bollard::Docker::connect_with_custom_transport(
            transport,
            Some("http://docker"),
            // The deadline below counts, and ends before this one.
            u64::from(u32::MAX),
            bollard::API_DEFAULT_VERSION,
        )
        .expect("a transport of one's own is taken as it is");
        Docker {
            client,
            at: at.clone(),
            deadline: DEADLINE,
        }
    }

    /// The same daemon with another deadline for each request.
    pub fn with_deadline(mut self, deadline: Duration) -> Docker {
        self.deadline = deadline;
        self
    }

    /// Where the daemon is and how it was found.
    pub fn located(&self) -> &Located {
        &self.at
    }

    /// What the daemon is (`GET /version`).
    ///
    /// # Errors
    /// As [`DockerError`] tells.
    pub async fn version(&self) -> Result<Version, DockerError> {
        let version = self
            .answer("read Docker's version", self.client.version())
            .await?;
        let components = version.components.unwrap_or_default();
        let podman = components
            .iter()
            .any(|component| component.name.starts_with("Podman"));
        Ok(Version {
            product: if podman {
                Product::Podman
            } else {
                Product::Docker
            },
            server: version.version.unwrap_or_default(),
            api: version.api_version.unwrap_or_default(),
        })
    }

    /// All containers, stopped ones included, sorted by name (`GET /containers/json?all=true`, one request).
    ///
    /// # Errors
    /// As [`DockerError`] tells.
    pub async fn containers(&self) -> Result<Vec<Container>, DockerError> {
        let options = ListContainersOptionsBuilder::default().all(true).build();
        let request = self.client.list_containers(Some(options));
        let summaries = self.answer("list containers", request).await?;
        let mut containers: Vec<Container> = summaries
            .into_iter()
            .map(decode::listed_container)
            .collect();
        containers.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(containers)
    }

    /// All networks, sorted by name (`GET /networks`, one request).
    ///
    /// # Errors
    /// As [`DockerError`] tells.
    pub async fn networks(&self) -> Result<Vec<Network>, DockerError> {
        let request = self.client.list_networks(None::<ListNetworksOptions>);
        let listed = self.answer("list networks", request).await?;
        let mut networks: Vec<Network> = listed.into_iter().map(decode::listed_network).collect();
        networks.sort_by(|one, other| one.name.cmp(&other.name).then(one.id.cmp(&other.id)));
        Ok(networks)
    }

    /// One container by id or name, with the port bindings of its configuration, which a stopped container has too
    /// (`GET /containers/{id}/json`).
    ///
    /// # Errors
    /// As [`DockerError`] tells; [`Refusal::NoSuchContainer`](crate::docker::refusal::Refusal) when it is gone.
    pub async fn inspect(&self, container: &str) -> Result<Container, DockerError> {
        let action = format!("inspect container {}", named(container));
        let request = self
            .client
            .inspect_container(container, None::<InspectContainerOptions>);
        self.answer(&action, request)
            .await
            .map(decode::inspected_container)
    }

    /// Joins a container to a network (`POST /networks/{id}/connect`).
    ///
    /// A refusal may leave an attachment without address behind: inspect the container again, see
    /// [`Container::is_ghost`]. A stopped container that is on the network already keeps its old address, and no
    /// error tells.
    ///
    /// # Errors
    /// As [`DockerError`] tells.
    pub async fn connect_network(&self, request: &ConnectRequest) -> Result<(), DockerError> {
        let action = format!(
            "connect container {} to network {}",
            named(&request.container_id),
            named(&request.network_id)
        );
        let sent = self
            .client
            .connect_network(&request.network_id, request.body());
        self.answer(&action, sent).await
    }

    /// Takes a container off a network (`POST /networks/{id}/disconnect`).
    ///
    /// `force` also removes what a crash of the daemon left behind, for which `container_id` has to be the name.
    ///
    /// # Errors
    /// As [`DockerError`] tells.
    pub async fn disconnect_network(
        &self,
        network_id: &str,
        container_id: &str,
        force: bool,
    ) -> Result<(), DockerError> {
        let action = format!(
            "disconnect container {} from network {}",
            named(container_id),
            named(network_id)
        );
        let body = NetworkDisconnectRequest {
            container: container_id.to_owned(),
            force: Some(force),
        };
        let request = self.client.disconnect_network(network_id, body);
        self.answer(&action, request).await
    }

    pub(super) fn client(&self) -> &bollard::Docker {
        &self.client
    }

    pub(super) async fn answer<T>(
        &self,
        action: &str,
        request: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, DockerError> {
        match tokio::time::timeout(self.deadline, request).await {
            Ok(answer) => answer.map_err(|error| failure::of(&self.at, action, error)),
            Err(_) => Err(DockerError::Timeout {
                at: Box::new(self.at.clone()),
                action: action.to_owned(),
                after: self.deadline,
            }),
        }
    }
}

/// A daemon's product and version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    /// Who made it.
    pub product: Product,
    /// The version of the daemon, such as `28.5.2`; empty when it does not tell.
    pub server: String,
    /// The newest version of the Engine API that it speaks, such as `1.51`; empty when it does not tell.
    pub api: String,
}

impl Version {
    /// Whether an interface name and a gateway priority take effect: since Docker 28. Older daemons accept them and
    /// go by the networks' names.
    pub fn orders_interfaces(&self) -> bool {
        let mut numbers = self.api.split('.').map(str::parse::<u32>);
        match (numbers.next(), numbers.next()) {
            (Some(Ok(major)), Some(Ok(minor))) => (major, minor) >= (1, 48),
            _ => false,
        }
    }
}

/// Who made a daemon that speaks the Engine API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Product {
    /// Docker, or something that does not say otherwise.
    Docker,
    /// Podman, which tells less about addresses, and none at all without root.
    Podman,
}

/// How a container is to join a network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectRequest {
    /// The network's id; a name may be ambiguous.
    pub network_id: String,
    /// The container's id.
    pub container_id: String,
    /// The address to hold; `None` = Docker chooses, and may choose another at every start.
    pub address: Option<Ipv4Addr>,
    /// Below 0, the default route stays with the networks that have 0. Docker before 28 drops it.
    pub gateway_priority: i64,
    /// The interface's name in the container; `None` = Docker chooses. Docker before 28 stores and ignores it.
    pub interface: Option<String>,
    /// Names of the container on this network, beside its own.
    pub aliases: Vec<String>,
}

impl ConnectRequest {
    fn body(&self) -> NetworkConnectRequest {
        let ipam_config = self.address.map(|address| EndpointIpamConfig {
            ipv4_address: Some(address.to_string()),
            ..EndpointIpamConfig::default()
        });
        let driver_opts = self
            .interface
            .as_ref()
            .map(|name| HashMap::from([(decode::INTERFACE_OPTION.to_owned(), name.clone())]));
        NetworkConnectRequest {
            container: self.container_id.clone(),
            endpoint_config: Some(EndpointSettings {
                ipam_config,
                aliases: Some(self.aliases.clone()),
                driver_opts,
                gw_priority: Some(self.gateway_priority),
                ..EndpointSettings::default()
            }),
        }
    }
}

/// An id as the docker command shows it, a name as it is.
pub(super) fn named(container: &str) -> String {
    let is_id = container.len() == 64 && container.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_id {
        decode::short_id(container)
    } else {
        container.to_owned()
    }
}

const DEADLINE: Duration = Duration::from_secs(10);

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
