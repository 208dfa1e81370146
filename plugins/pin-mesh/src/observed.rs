//! Everything that the plugin reads, as plain data. Pure.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use karmada_repair::docker::machine::Machine;
use karmada_repair::docker::model::{Container, Network};
use karmada_repair::docker::network_draft::NetworkDraft;
use karmada_repair::docker::routes::Routes;
use karmada_repair::part::Part;
use karmada_repair::plan::Commands;
use serde::Serialize;

use crate::config::Config;
use crate::mesh_file::MeshFile;

/// What was read.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Observed {
    /// The Docker daemon.
    pub docker: Daemon,
    /// The members that the control plane knows; absent without a control plane.
    pub members: Part<Vec<Member>>,
    /// The URL of the control plane's API server; `None` = there is none.
    pub control_plane: Option<String>,
    /// What the mesh file says; absent = there is no such file yet, or none was named.
    pub file: Part<MeshFile>,
    /// The text of the mesh file; `None` = there is none.
    pub file_text: Option<String>,
    /// The commands that reach the same servers.
    pub commands: Commands,
}

impl Observed {
    /// The flags with what the mesh file adds; an observation is not made where both contradict each other.
    pub fn settled(&self, config: &Config) -> Config {
        match self.file.seen() {
            Some(file) => config.with_file(file).unwrap_or_else(|_| config.clone()),
            None => config.clone(),
        }
    }
}

/// A member, as far as it helps to find its containers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Member {
    /// The name.
    pub name: String,
    /// `spec.apiEndpoint`; `None` = not set.
    pub endpoint: Option<String>,
}

/// What the Docker daemon and its containers say.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Daemon {
    /// Its address, as `DOCKER_HOST` would hold it.
    pub at: String,
    /// The machine's name when it is another machine (ssh, tcp); `None` = it is reached by a socket here.
    pub elsewhere: Option<String>,
    /// The version, such as `28.5.2`.
    pub version: String,
    /// Whether it is Podman.
    pub is_podman: bool,
    /// Whether interface names and gateway priorities take effect (Docker 28 and later).
    pub orders_interfaces: bool,
    /// What it says about itself.
    pub machine: Machine,
    /// All containers, sorted by name; those that matter here as inspections show them.
    pub containers: Vec<Container>,
    /// All networks, sorted by name.
    pub networks: Vec<Network>,
    /// What the networks of the mesh's name are made of, by ID.
    pub drafts: BTreeMap<String, NetworkDraft>,
    /// The routes inside each running node, by container name.
    pub routes: BTreeMap<String, Part<Routes>>,
    /// The names in the serving certificate of each running server, by container name; absent = nobody listens there.
    pub certificates: BTreeMap<String, Part<Vec<String>>>,
    /// The text of the file in which k3s is told of the pinned address, by container name; absent = there is none.
    pub san_files: BTreeMap<String, Part<String>>,
}

impl Daemon {
    /// The container of this name.
    pub fn container(&self, name: &str) -> Option<&Container> {
        self.containers
            .iter()
            .find(|container| container.name == name)
    }

    /// Who is on a network at this address, or has it pinned there: the container, and whether it is its fixed one.
    pub fn holder(&self, network: &Network, address: Ipv4Addr) -> Option<(&Container, bool)> {
        self.containers.iter().find_map(|container| {
            let place = container.attachment_to(network)?;
            if place.pinned == Some(address) {
                Some((container, true))
            } else {
                (place.address == Some(address)).then_some((container, false))
            }
        })
    }
}
