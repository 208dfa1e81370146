//! Everything that one observation brings. Plain data; secrets are held masked.

use std::collections::BTreeMap;

use karmada_repair::docker::model::{Container, Network};
use karmada_repair::karmada::{Cluster, SyncMode};
use karmada_repair::part::Part;
use karmada_repair::plan::Commands;
use karmada_repair::tls::ServingCertificate;
use secrecy::SecretString;
use serde::Serialize;

use crate::agent::Agent;
use crate::direct::Direct;
use crate::endpoint::Endpoint;
use crate::host::Host;
use crate::place::Home;
use crate::proxy_answer::ProxyAnswer;
use crate::stored::StoredSecret;
use crate::vantage::Tried;

/// A federation, as far as addresses go.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Observed {
    /// How the control plane was reached.
    pub control_plane: ControlPlane,
    /// All clusters that were selected, by name.
    pub members: Vec<Member>,
    /// All other clusters, by name; those that may not be listed are left out.
    pub others: Vec<Cluster>,
    /// What keeps connections to members on the host cluster; absent without access to it.
    pub host: Part<Host>,
    /// The containers and networks of the Docker daemon; absent when nobody needed to look.
    pub docker: Part<DockerSeen>,
}

/// How the control plane was reached.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ControlPlane {
    /// The URL of its API server.
    pub server: String,
    /// The context that names the cluster on which the control plane runs; `None` when none was given.
    pub host_context: Option<String>,
    /// The commands that reach the same servers.
    pub commands: Commands,
    /// This plugin with the flags that reach the same servers.
    pub own_command: String,
}

/// One member cluster.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Member {
    /// The object in the control plane.
    pub cluster: Cluster,
    /// The secret that `spec.secretRef` names, else the one that a join would have named.
    pub secret: Part<MemberSecret>,
    /// The secret with the impersonator's token (`spec.impersonatorSecretRef`, else the name that Karmada gives it).
    pub impersonator: Part<StoredSecret>,
    /// What is served at the API port of each place where the member may run, by the name of its first container.
    pub served: BTreeMap<String, Part<Served>>,
    /// What the control plane's proxy answers for the member; `None` when it was not asked.
    pub proxy: Option<ProxyAnswer>,
    /// What the member's own API tells.
    pub direct: Direct,
    /// The agent that dials the control plane for it (pull mode); absent when nobody looked.
    pub agent: Part<Agent>,
    /// What came of attempts to reach addresses from where the control plane dials, by URL.
    pub tried: BTreeMap<String, Tried>,
}

/// The serving certificate of a container.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Served {
    /// The certificate.
    pub certificate: ServingCertificate,
    /// Where it was read.
    pub source: Source,
}

/// Where a serving certificate was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// In a handshake at a published port.
    Handshake,
    /// In a file of the container, `NAME:PATH`. What is presented may name more.
    File(String),
}

/// What the secret of a member holds.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MemberSecret {
    /// Whether `token` is there and not empty.
    pub has_token: bool,
    /// The CA certificates in PEM (`caBundle`), which are public; `None` when missing or empty.
    pub ca_bundle: Option<String>,
    /// The key `kubeconfig`, which no version of Karmada reads or writes.
    pub kubeconfig: SecretKubeconfig,
    /// The whole secret; its values are never shown.
    pub stored: StoredSecret,
}

/// The key `kubeconfig` of a member's secret.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "state", rename_all = "kebab-case")]
pub enum SecretKubeconfig {
    /// The key is not there, as Karmada leaves it.
    Absent,
    /// The key is there and empty.
    Empty,
    /// It holds a kubeconfig.
    Kubeconfig {
        /// The `server` of each of its clusters, in order.
        servers: Vec<String>,
        /// The value as the API has it (base64); never shown.
        #[serde(skip)]
        encoded: SecretString,
    },
    /// It holds something else.
    Other,
}

/// What the Docker daemon tells.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DockerSeen {
    /// The daemon's address and how it was found.
    pub daemon: String,
    /// All containers, by name.
    pub containers: Vec<Container>,
    /// All networks, by name.
    pub networks: Vec<Network>,
}

impl Member {
    /// The cluster's name.
    pub fn name(&self) -> &str {
        &self.cluster.metadata.name
    }

    /// When its address was changed without proof, since then, that workloads are delivered; `None` = no such repair.
    pub fn unproven_since(&self) -> Option<&str> {
        self.cluster
            .metadata
            .annotations
            .get(UNPROVEN)
            .map(String::as_str)
    }

    /// Whether the controllers report the member as ready, and the proxy does not refute them: they notice a change of
    /// the way with a delay. Of a member with an agent, whether the proxy gets there: its readiness is the agent's word.
    pub fn is_reached(&self) -> bool {
        if !self.is_dialled() {
            return self
                .proxy
                .as_ref()
                .is_some_and(ProxyAnswer::proves_the_address);
        }
        let refuted = self
            .proxy
            .as_ref()
            .is_some_and(ProxyAnswer::refutes_the_address);
        self.cluster.is_ready() && !refuted
    }

    /// The endpoint at which the control plane dials it; `None` = there is none that can be read.
    pub fn endpoint(&self) -> Option<Endpoint> {
        Endpoint::parse(self.cluster.spec.api_endpoint.as_deref()?).ok()
    }

    /// What came of the attempt to reach an endpoint from where the control plane dials; `None` = it was not tried.
    pub fn tried_at(&self, endpoint: &Endpoint) -> Option<&Tried> {
        self.tried.get(&endpoint.to_string())
    }

    /// What is served at the API port of a place where the member may run.
    pub fn served_by(&self, home: &Home<'_>) -> &Part<Served> {
        home.servers
            .first()
            .and_then(|server| self.served.get(&server.name))
            .unwrap_or(&Part::Absent)
    }

    /// The serving certificate of a place where the member may run; `None` = it was not read.
    pub fn certificate_of(&self, home: &Home<'_>) -> Option<&ServingCertificate> {
        self.served_by(home)
            .seen()
            .map(|served| &served.certificate)
    }

    /// Whether the control plane reaches the member again, and the controllers have not noticed yet.
    pub fn is_about_to_be_ready(&self) -> bool {
        let proven = self
            .proxy
            .as_ref()
            .is_some_and(ProxyAnswer::proves_the_address);
        !self.cluster.is_ready() && proven
    }

    /// Whether the control plane dials this member; an agent's control plane does not.
    pub fn is_dialled(&self) -> bool {
        self.cluster.spec.sync_mode == SyncMode::Push
    }
}

impl Served {
    /// What a handshake brought.
    pub fn by_handshake(certificate: ServingCertificate) -> Served {
        Served {
            certificate,
            source: Source::Handshake,
        }
    }

    /// Where it was read, as the end of `its certificate`; empty for what is presented.
    pub fn words(&self) -> String {
        match &self.source {
            Source::Handshake => String::new(),
            Source::File(file) => format!(" ({file})"),
        }
    }
}

/// The annotation of a `Cluster` whose address was changed without proof that workloads are delivered; its value is the
/// time of that (RFC 3339).
pub const UNPROVEN: &str = "karmada-repair/delivery-unproven";
