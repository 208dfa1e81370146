//! Errors in the Docker Engine's words, which differ between its versions. Pure.

use serde_json::{Value, json};

use super::daemon::Engine;

/// A refused request: HTTP status and message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message} ({status})")]
pub struct Failure {
    /// HTTP status code.
    pub status: u16,
    /// The daemon's text.
    pub message: String,
}

impl Failure {
    pub(crate) fn new(status: u16, message: impl Into<String>) -> Self {
        Self {
            status,
            message: message.into(),
        }
    }

    pub(crate) fn body(&self) -> Value {
        json!({"message": self.message})
    }

    pub(crate) fn no_such_container(name: &str) -> Self {
        Self::new(404, format!("No such container: {name}"))
    }

    pub(crate) fn no_such_network(name: &str) -> Self {
        Self::new(404, format!("network {name} not found"))
    }

    pub(crate) fn address_in_use() -> Self {
        Self::new(403, "Address already in use")
    }

    pub(crate) fn range_full(network: &str, id: &str) -> Self {
        Self::new(
            500,
            format!(
                "no available IPv4 addresses on this network's address pools: {network} ({id})"
            ),
        )
    }

    pub(crate) fn needs_user_subnet(engine: Engine) -> Self {
        Self::new(
            400,
            settings(
                engine,
                "user specified IP address is supported only when connecting to networks with user configured subnets",
            ),
        )
    }

    pub(crate) fn needs_user_network(engine: Engine) -> Self {
        Self::new(
            400,
            settings(
                engine,
                "user specified IP address is supported on user defined networks only",
            ),
        )
    }

    pub(crate) fn outside_subnet(engine: Engine, address: &str) -> Self {
        match engine {
            Engine::V20 => Self::new(
                500,
                format!(
                    "Invalid address {address}: It does not belong to any of this network's subnets"
                ),
            ),
            _ => Self::new(
                400,
                format!(
                    "invalid endpoint settings:\nno configured subnet or ip-range contain the IP address {address}"
                ),
            ),
        }
    }

    pub(crate) fn no_address(engine: Engine, text: &str) -> Self {
        match engine {
            Engine::V20 => Self::new(500, format!("Invalid IPv4 address: {text})")),
            _ => Self::new(
                400,
                format!(
                    "invalid endpoint settings:\n* invalid IPv4 address: {text}\n* no configured subnet or ip-range contain the IP address {text}"
                ),
            ),
        }
    }

    pub(crate) fn already_connected(container: &str, network: &str) -> Self {
        Self::new(
            403,
            format!("endpoint with name {container} already exists in network {network}"),
        )
    }

    pub(crate) fn not_connected(id: &str, network: &str) -> Self {
        Self::new(
            500,
            format!("container {id} is not connected to network {network}"),
        )
    }

    pub(crate) fn private_network() -> Self {
        Self::new(
            400,
            "container cannot be connected to multiple networks with one of the networks in private (none) mode",
        )
    }

    pub(crate) fn host_network() -> Self {
        Self::new(
            400,
            "container cannot be disconnected from host network or connected to host network",
        )
    }

    /// A container in a state that the request does not fit: `id` is its ID, `state` as in `is not running`.
    pub(crate) fn wrong_state(engine: Engine, status: u16, id: &str, state: &str) -> Self {
        let container = if engine == Engine::V20 {
            "Container"
        } else {
            "container"
        };
        Self::new(status, format!("{container} {id} {state}"))
    }

    pub(crate) fn name_in_use(name: &str, id: &str) -> Self {
        Self::new(
            409,
            format!(
                "Conflict. The container name \"/{name}\" is already in use by container \"{id}\". You have to remove (or rename) that container to be able to reuse that name."
            ),
        )
    }

    pub(crate) fn port_in_use(container: &str, address: &str, port: u16) -> Self {
        let endpoint = crate::random::hexadecimal(64);
        Self::new(
            500,
            format!(
                "driver failed programming external connectivity on endpoint {container} ({endpoint}): Bind for {address}:{port} failed: port is already allocated"
            ),
        )
    }

    pub(crate) fn shared_namespace() -> Self {
        Self::new(
            400,
            "container sharing network namespace with another container or host cannot be connected to any other network",
        )
    }

    pub(crate) fn no_sandbox(id: &str) -> Self {
        Self::new(404, format!("network sandbox for container {id} not found"))
    }

    /// A failure while a container starts.
    pub(crate) fn at_start(self, engine: Engine) -> Self {
        match engine {
            Engine::V28 => Self::new(
                self.status,
                format!("failed to set up container networking: {}", self.message),
            ),
            _ => self,
        }
    }
}

fn settings(engine: Engine, text: &str) -> String {
    if engine == Engine::V20 {
        text.to_owned()
    } else {
        format!("invalid endpoint settings:\n{text}")
    }
}
