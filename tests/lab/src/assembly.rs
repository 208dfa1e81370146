//! Putting a federation together: API servers on their ports, containers around them, Karmada and its members.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use crate::api::identity::ImpersonationWording;
use crate::api::kinds::Role;
use crate::api::refusal::Refusal;
use crate::api::server::{ApiServer, Config};
use crate::certificates::Authority;
use crate::cluster_contents;
use crate::docker::daemon::Daemon;
use crate::docker::fleet::{self, Publication};
use crate::faults::Faults;
use crate::federation::{CONTROL_PLANE, StartError};
use crate::karmada::join::{self, Aggregation, Joining};
use crate::karmada::objects::{Acting, Objects};
use crate::listener::{Port, Served};
use crate::lock::lock;
use crate::requests::Recorder;
use crate::runtime::Runtime;
use crate::spec::{ClusterSpec, Endpoint, Flavour, Mode, Spec};
use crate::wiring::{self, Serving, Wired, Wiring};

/// What is put together before anything can be shared.
pub(crate) struct Parts<'a> {
    pub(crate) runtime: &'a Runtime,
    pub(crate) recorder: Recorder,
    pub(crate) faults: Faults,
    pub(crate) daemon: Daemon,
    pub(crate) servers: BTreeMap<String, Wired>,
    pub(crate) secrets: Vec<String>,
    pub(crate) wording: ImpersonationWording,
}

impl Parts<'_> {
    /// The host cluster, whose nodes serve the Karmada API too.
    pub(crate) fn host(&mut self, spec: &Spec) -> Result<(), StartError> {
        let nodes: Vec<String> = (0..spec.host.servers)
            .map(|index| spec.host.server(index))
            .collect();
        let own = self.server(
            &spec.host.context(),
            Role::Cluster,
            &spec.host,
            cluster_names(&spec.host),
            nodes,
        )?;
        let karmada = self.server(
            CONTROL_PLANE,
            Role::ControlPlane,
            &spec.host,
            karmada_names(),
            Vec::new(),
        )?;
        let publications = [
            Publication {
                server: spec.host.context(),
                container_port: spec.host.api_port(),
                host_port: own,
            },
            Publication {
                server: CONTROL_PLANE.to_owned(),
                container_port: spec.karmada_port,
                host_port: karmada,
            },
        ];
        let token = self.token();
        Ok(fleet::build(
            &mut self.daemon,
            &spec.host,
            &publications,
            &token,
        )?)
    }

    pub(crate) fn cluster(&mut self, cluster: &ClusterSpec) -> Result<(), StartError> {
        let nodes: Vec<String> = (0..cluster.servers)
            .map(|index| cluster.server(index))
            .collect();
        let port = self.server(
            &cluster.context(),
            Role::Cluster,
            cluster,
            cluster_names(cluster),
            nodes,
        )?;
        let publication = Publication {
            server: cluster.context(),
            container_port: cluster.api_port(),
            host_port: port,
        };
        let token = self.token();
        Ok(fleet::build(
            &mut self.daemon,
            cluster,
            &[publication],
            &token,
        )?)
    }

    /// Starts an API server and returns its published port.
    fn server(
        &mut self,
        name: &str,
        role: Role,
        cluster: &ClusterSpec,
        names: Vec<String>,
        nodes: Vec<String>,
    ) -> Result<u16, StartError> {
        let hosts_karmada = self.servers.is_empty();
        let config = Config {
            role,
            version: if role == Role::ControlPlane {
                "v1.31.3".to_owned()
            } else {
                cluster.version.clone()
            },
            anonymous: role == Role::ControlPlane,
            wording: self.wording,
            // The kubelet of the host cluster does it, as processes hang on it.
            rolls_out: !hosts_karmada,
            behind_aggregator: false,
        };
        let name_of_authority = authority_name(role, cluster.flavour, self.servers.len());
        let authority = Arc::new(Authority::new(&name_of_authority));
        let api = Arc::new(ApiServer::new(name, config, authority));
        let served = Served {
            service: api.clone(),
            recorder: self.recorder.clone(),
            faults: self.faults.clone(),
        };
        let leaf = wiring::leaf(&api, &names);
        let tls = Arc::new(Mutex::new(wiring::configuration(&leaf)));
        let internal = Port::open(self.runtime.handle(), 0, served.clone(), tls.clone())?;
        let published = Port::open(self.runtime.handle(), 0, served, tls.clone())?;
        let port = published.number();
        let serving = Serving {
            tls,
            pem: Mutex::new(leaf.certificate_pem),
            names: Mutex::new(names),
            nodes: Mutex::new(nodes.into_iter().map(|node| (node, 0)).collect()),
            home: cluster.home_network(),
            frozen: Mutex::new(false),
        };
        self.servers.insert(
            name.to_owned(),
            Wired {
                api,
                internal,
                published,
                refusing: AtomicBool::new(false),
                serving,
            },
        );
        Ok(port)
    }

    fn token(&mut self) -> String {
        let token = format!("K10lab{}", crate::random::hexadecimal(32));
        self.secrets.push(token.clone());
        token
    }
}

/// What [`populate`] needs to know of running API servers and containers.
pub(crate) trait Assembled: Sync {
    /// An API server, written to by one of Karmada's programs.
    fn acting(&self, server: &str, manager: &'static str) -> Box<dyn Objects>;
    /// The port on the docker host at which a cluster's API server is published.
    fn published(&self, context: &str) -> u16;
    /// The address of a cluster's first server on its home network; `None` where it has none.
    fn address(&self, cluster: &ClusterSpec) -> Option<Ipv4Addr>;
    fn aggregation(&self) -> Aggregation;
}

impl Assembled for Wiring {
    fn acting(&self, server: &str, manager: &'static str) -> Box<dyn Objects> {
        let server = self.servers[server].api.clone();
        Box::new(Acting { server, manager })
    }

    fn published(&self, context: &str) -> u16 {
        self.servers[context].published.number()
    }

    fn address(&self, cluster: &ClusterSpec) -> Option<Ipv4Addr> {
        let daemon = lock(&self.daemon);
        let server = daemon.container(&cluster.first_server()).ok()?;
        server.address_on(&cluster.home_network())
    }

    fn aggregation(&self) -> Aggregation {
        Aggregation::default()
    }
}

/// Installs Karmada and joins the members.
pub(crate) async fn populate(spec: &Spec, assembled: &dyn Assembled) -> Result<(), Refusal> {
    let host = assembled.acting(&spec.host.context(), "helm");
    cluster_contents::install_karmada(&*host, &spec.host.first_server(), spec.karmada_port).await?;
    let control_plane = assembled.acting(CONTROL_PLANE, "karmadactl");
    join::prepare_control_plane(&*control_plane, &assembled.aggregation()).await?;
    for member in spec.members.iter().filter(|member| member.joined) {
        let port = assembled.published(&member.cluster.context());
        let endpoint = match &member.joined_at {
            Endpoint::Published => format!("https://{}:{port}", member.cluster.published_host()),
            Endpoint::Internal => {
                let address = assembled.address(&member.cluster).map_or_else(
                    || member.cluster.first_server(),
                    |address| address.to_string(),
                );
                format!("https://{address}:{}", member.cluster.api_port())
            }
            Endpoint::Url(url) => url.replace("{PORT}", &port.to_string()),
        };
        let kubeconfig = member
            .secret_kubeconfig
            .as_ref()
            .map(|text| text.replace("{SERVER}", &endpoint));
        let joining = Joining {
            name: member.name(),
            endpoint: &endpoint,
            mode: if member.mode == Mode::Push {
                "Push"
            } else {
                "Pull"
            },
            kubeconfig: kubeconfig.as_deref(),
        };
        let member = assembled.acting(&member.cluster.context(), "karmadactl");
        join::join(&joining, &*member, &*control_plane).await?;
    }
    Ok(())
}

/// k3s names its authority by the second of its creation; kind and minikube always use the same name.
pub(crate) fn authority_name(role: Role, flavour: Flavour, index: usize) -> String {
    match (role, flavour) {
        (Role::ControlPlane, _) => "karmada".to_owned(),
        (_, Flavour::K3d) => format!("k3s-server-ca@{}", 1_772_100_000 + 37 * index),
        (_, Flavour::Kind) => "kubernetes".to_owned(),
        (_, Flavour::Minikube) => "minikubeCA".to_owned(),
    }
}

/// The names in a cluster's serving certificate before its nodes have addresses.
pub(crate) fn cluster_names(cluster: &ClusterSpec) -> Vec<String> {
    let mut names: Vec<String> = match cluster.flavour {
        Flavour::K3d => vec!["0.0.0.0", "127.0.0.1", "::1", "10.43.0.1"],
        Flavour::Kind => vec!["127.0.0.1", "10.96.0.1"],
        Flavour::Minikube => vec!["127.0.0.1", "10.96.0.1", "10.0.0.1"],
    }
    .into_iter()
    .map(str::to_owned)
    .collect();
    let own = [
        "localhost",
        "kubernetes",
        "kubernetes.default",
        "kubernetes.default.svc",
        "kubernetes.default.svc.cluster.local",
    ];
    names.extend(own.map(str::to_owned));
    names.extend((0..cluster.servers).map(|index| cluster.server(index)));
    match cluster.flavour {
        Flavour::K3d => names.push(cluster.balancer()),
        Flavour::Kind => {}
        Flavour::Minikube => {
            names.extend(["minikubeCA", "control-plane.minikube.internal"].map(str::to_owned))
        }
    }
    names
}

/// The names that the Helm chart puts into the certificate of karmada-apiserver.
pub(crate) fn karmada_names() -> Vec<String> {
    [
        "kubernetes.default.svc",
        "*.etcd.karmada-system.svc.cluster.local",
        "*.karmada-system.svc.cluster.local",
        "*.karmada-system.svc",
        "localhost",
        "127.0.0.1",
    ]
    .map(str::to_owned)
    .to_vec()
}
