//! What a federation looks like at its start.

use std::time::Duration;

use crate::api::identity::ImpersonationWording;
use crate::docker::daemon::Engine;

/// A federation to be started. The default is the one of the field report: `karmada-host`, `cluster-a` and
/// `cluster-b` on k3d, each on its own network, members joined at `https://0.0.0.0:PORT`, none of them Ready.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spec {
    /// The cluster that runs the Karmada control plane.
    pub host: ClusterSpec,
    /// The NodePort (or container port) at which the Karmada API server answers on the host cluster's nodes.
    pub karmada_port: u16,
    /// The member clusters, in the order in which they are made and joined.
    pub members: Vec<MemberSpec>,
    /// Which Docker Engine is played.
    pub engine: Engine,
    /// How fast Karmada's components act.
    pub timing: Timing,
    /// How members refuse impersonation.
    pub wording: ImpersonationWording,
    /// What becomes of Works that fail while their member is not Ready.
    pub works: Works,
}

/// One Kubernetes cluster made of containers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterSpec {
    /// The cluster's name without prefix, as in `cluster-a`.
    pub name: String,
    /// The tool that made it.
    pub flavour: Flavour,
    /// Its home network; `None` = the one that the tool makes. `host` and `none` are Docker's own modes.
    pub network: Option<String>,
    /// The subnet of the home network, if the cluster is the first on it.
    pub subnet: String,
    /// Whether the subnet was asked for by the user (`--subnet`), which pins the servers' addresses.
    pub user_subnet: bool,
    /// Whether a load balancer publishes the API port; without one the first server does.
    pub load_balancer: bool,
    /// How many servers (control-plane nodes).
    pub servers: usize,
    /// How many agents (workers).
    pub agents: usize,
    /// `gitVersion` of the cluster.
    pub version: String,
}

/// A member cluster and how it was joined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemberSpec {
    /// The cluster itself.
    pub cluster: ClusterSpec,
    /// The name under which Karmada knows it; `None` = the cluster's own.
    pub joined_as: Option<String>,
    /// `spec.apiEndpoint`.
    pub joined_at: Endpoint,
    /// Push or pull mode.
    pub mode: Mode,
    /// Whether the member is joined at all.
    pub joined: bool,
    /// The value of a `kubeconfig` key in the member's Secret; `None` = no such key. `{SERVER}` stands for the
    /// address at which the member was joined.
    pub secret_kubeconfig: Option<String>,
}

/// The tool that makes a cluster, which decides names, labels, networks and ports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flavour {
    /// k3d: containers `k3d-NAME-server-0`, network `k3d-NAME`, port 6443 published on 0.0.0.0.
    K3d,
    /// kind: container `NAME-control-plane`, the shared network `kind`, port 6443 published on 127.0.0.1.
    Kind,
    /// minikube: container `NAME`, network `NAME`, port 8443 published on 127.0.0.1.
    Minikube,
}

/// The address at which a member was joined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Endpoint {
    /// `https://0.0.0.0:PORT`, or the host that the flavour writes in kubeconfigs, with the published port.
    Published,
    /// The address of its first server on the home network, with the port it listens on: what works once connected.
    Internal,
    /// Anything; `{PORT}` stands for the published port.
    Url(String),
}

/// The mode in which a member takes part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// The control plane dials the member.
    Push,
    /// An agent in the member dials the control plane.
    Pull,
}

/// How fast Karmada's components act. The defaults are short; [`Timing::real`] has Karmada's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    /// `--cluster-status-update-frequency`.
    pub frequency: Duration,
    /// `--cluster-success-threshold`.
    pub success_threshold: Duration,
    /// `--cluster-failure-threshold`.
    pub failure_threshold: Duration,
    /// How long a packet to nowhere is waited for.
    pub dial_timeout: Duration,
    /// How long a request to a member may take.
    pub request_timeout: Duration,
    /// How long a restarted controller-manager needs to come back.
    pub restart: Duration,
    /// The first pause before a failed Work is tried again; it doubles up to 1000 s.
    pub work_backoff: Duration,
}

/// What becomes of Works that fail, until the controller-manager restarts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Works {
    /// They sleep for 1000 s, as after a long time of failures: a member that becomes Ready still lacks them, the
    /// rules of the impersonator included.
    Asleep,
    /// They are tried again soon.
    Awake,
    /// They are tried again after a pause that doubles every time.
    Backoff,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            frequency: Duration::from_millis(100),
            success_threshold: Duration::from_millis(300),
            failure_threshold: Duration::from_millis(300),
            dial_timeout: Duration::from_millis(200),
            request_timeout: Duration::from_secs(8),
            restart: Duration::from_millis(100),
            work_backoff: Duration::from_millis(100),
        }
    }
}

impl Timing {
    /// Karmada's defaults.
    pub fn real() -> Self {
        Self {
            frequency: Duration::from_secs(10),
            success_threshold: Duration::from_secs(30),
            failure_threshold: Duration::from_secs(30),
            dial_timeout: Duration::from_secs(30),
            request_timeout: Duration::from_secs(32),
            restart: Duration::from_secs(3),
            work_backoff: Duration::from_millis(5),
        }
    }
}

impl Default for Spec {
    fn default() -> Self {
        Self {
            host: ClusterSpec {
                subnet: "172.19.0.0/16".to_owned(),
                ..ClusterSpec::k3d("karmada-host")
            },
            karmada_port: 30443,
            members: vec![
                MemberSpec::k3d("cluster-a").subnet("172.20.0.0/16"),
                MemberSpec::k3d("cluster-b").subnet("172.21.0.0/16"),
            ],
            engine: Engine::default(),
            timing: Timing::default(),
            wording: ImpersonationWording::default(),
            works: Works::Asleep,
        }
    }
}

impl Spec {
    /// The default with other members.
    pub fn with_members(members: impl IntoIterator<Item = MemberSpec>) -> Self {
        Self {
            members: members.into_iter().collect(),
            ..Self::default()
        }
    }

    /// The cluster of the member that Karmada knows by this name.
    ///
    /// # Panics
    /// If there is no such member.
    pub fn member(&self, name: &str) -> &ClusterSpec {
        let member = self.members.iter().find(|member| member.name() == name);
        &member
            .unwrap_or_else(|| panic!("the lab has no member {name}"))
            .cluster
    }

    /// The host cluster, then the members.
    pub fn clusters(&self) -> impl Iterator<Item = &ClusterSpec> {
        std::iter::once(&self.host).chain(self.members.iter().map(|member| &member.cluster))
    }

    /// The default with everything repaired by hand: members joined at their internal addresses. The control
    /// plane still has to be connected to their networks.
    #[must_use]
    pub fn joined_internally(mut self) -> Self {
        for member in &mut self.members {
            member.joined_at = Endpoint::Internal;
        }
        self
    }
}

impl ClusterSpec {
    /// A k3d cluster of one server behind a load balancer.
    pub fn k3d(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            flavour: Flavour::K3d,
            network: None,
            subnet: String::new(),
            user_subnet: false,
            load_balancer: true,
            servers: 1,
            agents: 0,
            version: "v1.33.6+k3s1".to_owned(),
        }
    }

    /// A kind cluster of one node.
    pub fn kind(name: &str) -> Self {
        Self {
            flavour: Flavour::Kind,
            load_balancer: false,
            version: "v1.33.4".to_owned(),
            ..Self::k3d(name)
        }
    }

    /// A minikube cluster of one node.
    pub fn minikube(name: &str) -> Self {
        Self {
            flavour: Flavour::Minikube,
            load_balancer: false,
            user_subnet: true,
            version: "v1.33.1".to_owned(),
            ..Self::k3d(name)
        }
    }

    /// The name of the context that the tool writes.
    pub fn context(&self) -> String {
        match self.flavour {
            Flavour::K3d => format!("k3d-{}", self.name),
            Flavour::Kind => format!("kind-{}", self.name),
            Flavour::Minikube => self.name.clone(),
        }
    }

    /// The name of the home network.
    pub fn home_network(&self) -> String {
        self.network.clone().unwrap_or_else(|| match self.flavour {
            Flavour::K3d => format!("k3d-{}", self.name),
            Flavour::Kind => "kind".to_owned(),
            Flavour::Minikube => self.name.clone(),
        })
    }

    /// The port on which its API server listens in the container.
    pub fn api_port(&self) -> u16 {
        if self.flavour == Flavour::Minikube {
            8443
        } else {
            6443
        }
    }

    /// The container of its first server.
    pub fn first_server(&self) -> String {
        self.server(0)
    }

    /// The names of its containers: servers, agents, load balancer.
    pub fn containers(&self) -> Vec<String> {
        let servers = (0..self.servers).map(|index| self.server(index));
        let agents = (0..self.agents).map(|index| self.agent(index));
        let balancer = self.load_balancer.then(|| self.balancer());
        servers.chain(agents).chain(balancer).collect()
    }

    pub(crate) fn server(&self, index: usize) -> String {
        match self.flavour {
            Flavour::K3d => format!("k3d-{}-server-{index}", self.name),
            Flavour::Kind if index == 0 => format!("{}-control-plane", self.name),
            Flavour::Kind => format!("{}-control-plane{}", self.name, index + 1),
            Flavour::Minikube if index == 0 => self.name.clone(),
            Flavour::Minikube => format!("{}-m{:02}", self.name, index + 1),
        }
    }

    pub(crate) fn agent(&self, index: usize) -> String {
        match self.flavour {
            Flavour::K3d => format!("k3d-{}-agent-{index}", self.name),
            Flavour::Kind if index == 0 => format!("{}-worker", self.name),
            Flavour::Kind => format!("{}-worker{}", self.name, index + 1),
            Flavour::Minikube => format!("{}-m{:02}", self.name, self.servers + index + 1),
        }
    }

    pub(crate) fn balancer(&self) -> String {
        match self.flavour {
            Flavour::K3d => format!("k3d-{}-serverlb", self.name),
            _ => format!("{}-external-load-balancer", self.name),
        }
    }

    /// The host that the tool writes in kubeconfigs.
    pub(crate) fn published_host(&self) -> &'static str {
        if self.flavour == Flavour::K3d {
            "0.0.0.0"
        } else {
            "127.0.0.1"
        }
    }
}

impl MemberSpec {
    /// A k3d member joined in push mode at `https://0.0.0.0:PORT`.
    pub fn k3d(name: &str) -> Self {
        Self::of(ClusterSpec::k3d(name))
    }

    /// A kind member joined in push mode at `https://127.0.0.1:PORT`.
    pub fn kind(name: &str) -> Self {
        Self::of(ClusterSpec::kind(name))
    }

    /// A minikube member joined in push mode at `https://127.0.0.1:PORT`.
    pub fn minikube(name: &str) -> Self {
        Self::of(ClusterSpec::minikube(name)).subnet("192.168.49.0/24")
    }

    /// Any cluster, joined in push mode at its published address.
    pub fn of(cluster: ClusterSpec) -> Self {
        Self {
            cluster,
            joined_as: None,
            joined_at: Endpoint::Published,
            mode: Mode::Push,
            joined: true,
            secret_kubeconfig: None,
        }
    }

    /// On a network of this subnet.
    #[must_use]
    pub fn subnet(mut self, subnet: &str) -> Self {
        self.cluster.subnet = subnet.to_owned();
        self
    }

    /// With the subnet asked for by the user, so that static addresses are possible.
    #[must_use]
    pub fn user_subnet(mut self) -> Self {
        self.cluster.user_subnet = true;
        self
    }

    /// On this network instead of its own.
    #[must_use]
    pub fn network(mut self, network: &str) -> Self {
        self.cluster.network = Some(network.to_owned());
        self
    }

    /// Without a load balancer: the first server publishes the port.
    #[must_use]
    pub fn no_load_balancer(mut self) -> Self {
        self.cluster.load_balancer = false;
        self
    }

    /// Joined at this endpoint.
    #[must_use]
    pub fn joined_at(mut self, endpoint: Endpoint) -> Self {
        self.joined_at = endpoint;
        self
    }

    /// Known to Karmada by this name.
    #[must_use]
    pub fn joined_as(mut self, name: &str) -> Self {
        self.joined_as = Some(name.to_owned());
        self
    }

    /// The name under which Karmada knows the member.
    pub fn name(&self) -> &str {
        self.joined_as.as_deref().unwrap_or(&self.cluster.name)
    }
}
