//! Changes to containers and networks of the Docker daemon. Pure.

use std::net::Ipv4Addr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::text::shell_word;

/// A container's place on a Docker network.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NetworkAttachment {
    /// The container's ID.
    pub container_id: String,
    /// The container's name.
    pub container: String,
    /// The network's ID; names can stand for two networks on old daemons.
    pub network_id: String,
    /// The network's name.
    pub network: String,
    /// The fixed address; `None` = Docker chooses.
    pub address: Option<Ipv4Addr>,
    /// Whether Docker may choose where it refuses any fixed address, because it chose the network's subnet itself;
    /// nothing in its API tells that beforehand.
    pub address_may_yield: bool,
    /// `GwPriority`: below zero keeps the default route at home (Docker 28 and later; older daemons ignore it).
    pub gateway_priority: i64,
    /// The interface's name inside the container, so that `eth0` stays at home (Docker 28 and later).
    pub interface: String,
}

impl NetworkAttachment {
    pub(super) fn connect_sentence(&self) -> String {
        let address = match (self.address, self.address_may_yield) {
            (Some(address), true) => format!(" at {address} if Docker allows it"),
            (Some(address), false) => format!(" at {address}"),
            (None, _) => String::new(),
        };
        format!(
            "connect container {} to network {}{address}",
            self.container, self.network
        )
    }

    pub(super) fn disconnect_sentence(&self) -> String {
        format!(
            "disconnect container {} from network {}",
            self.container, self.network
        )
    }

    pub(super) fn connect_command(&self, docker: &str) -> String {
        let place = format!(
            "--gw-priority {} --driver-opt com.docker.network.endpoint.ifname={}",
            self.gateway_priority, self.interface
        );
        let target = format!(
            "{} {}",
            shell_word(&self.network),
            shell_word(&self.container)
        );
        // A docker command before 28 does not know the flag; what it asks for is unknown to such a daemon, too.
        let connect = |address: String| {
            format!(
                "{docker} network connect{address} {place} {target} || {docker} network connect{address} {target}"
            )
        };
        match (self.address, self.address_may_yield) {
            (None, _) => connect(String::new()),
            (Some(address), false) => connect(format!(" --ip {address}")),
            (Some(address), true) => format!(
                "{} || {}",
                connect(format!(" --ip {address}")),
                connect(String::new())
            ),
        }
    }

    pub(super) fn disconnect_command(&self, docker: &str) -> String {
        format!(
            "{docker} network disconnect {} {}",
            shell_word(&self.network),
            shell_word(&self.container)
        )
    }
}
