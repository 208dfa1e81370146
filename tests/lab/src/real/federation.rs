//! Putting a real federation together.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use http::Method;
use serde_json::{Value, json};

use super::container;
use super::engine::Engine;
use super::folder::{Folder, KARMADA, KARMADA_DONE, NAMES};
use super::karmada::PORT;
use super::remote::Remote;
use super::{custom, entry, settings};
use crate::assembly::{self, Assembled};
use crate::certificates::{Authority, Leaf};
use crate::docker::daemon::{Container, Daemon, Engine as Version};
use crate::docker::network::Network;
use crate::federation::{CONTROL_PLANE, user_of};
use crate::karmada::join::Aggregation;
use crate::karmada::objects::Objects;
use crate::kubeconfig::{self, Context, Credentials};
use crate::runtime::Runtime;
use crate::spec::{ClusterSpec, Mode, Spec};

/// A federation of containers.
pub(super) struct RealFederation {
    pub(super) spec: Spec,
    pub(super) runtime: Runtime,
    pub(super) engine: Engine,
    pub(super) directory: PathBuf,
    /// By name, as in the embedded federation.
    pub(super) servers: BTreeMap<String, Server>,
    /// The containers as they are when nobody has changed anything.
    pub(super) model: Daemon,
    /// The addresses that the containers were given, by container and network.
    pub(super) addresses: BTreeMap<String, BTreeMap<String, Ipv4Addr>>,
    pub(super) life: u64,
    pub(super) secrets: Mutex<Vec<String>>,
}

/// One API server.
pub(super) struct Server {
    pub(super) port: u16,
    pub(super) remote: Remote,
    pub(super) authority: Authority,
    pub(super) administrator: Leaf,
    /// What its certificate, its keys and its wishes are in.
    pub(super) folder: Folder,
    /// The names in its certificate when nobody has changed anything.
    pub(super) names: Value,
}

impl RealFederation {
    /// Makes the containers of `spec` and waits until Karmada has looked at every member.
    pub(super) fn build(engine: Engine, runtime: Runtime, spec: Spec) -> Result<Self, String> {
        if let Some(reason) = unsupported(&spec) {
            return Err(reason.to_owned());
        }
        let directory = entry::scratch().join("federation");
        // The one before is gone.
        let _ = std::fs::remove_dir_all(&directory);
        let mut federation = Self {
            model: Daemon::new(Version::V20),
            servers: BTreeMap::new(),
            addresses: BTreeMap::new(),
            secrets: Mutex::default(),
            life: 0,
            spec,
            runtime,
            engine,
            directory,
        };
        federation
            .describe()
            .map_err(|error| format!("cannot write: {error}"))?;
        let engine = federation.engine.clone();
        let prepared = async {
            container::clear(&engine).await?;
            federation.run().await
        };
        let prepared = federation.runtime.handle().clone().block_on(prepared);
        prepared.map_err(|failure| failure.to_string())?;
        federation.remember_addresses()?;
        let control_plane = &federation.servers[CONTROL_PLANE].remote;
        let defined = federation.runtime.wait(custom::define(control_plane));
        defined.map_err(|refusal| refusal.to_string())?;
        federation.populate()?;
        Ok(federation)
    }

    /// Installs Karmada, joins the members, and starts Karmada's part.
    pub(super) fn populate(&mut self) -> Result<(), String> {
        let populated = self.runtime.wait(assembly::populate(&self.spec, self));
        populated.map_err(|refusal| refusal.to_string())?;
        self.direct_karmada(true)?;
        self.write_kubeconfigs()
            .map_err(|error| format!("cannot write: {error}"))?;
        let observed = poll(PATIENCE, || self.was_observed());
        observed
            .then_some(())
            .ok_or_else(|| "Karmada did not look at its members".to_owned())
    }

    /// Starts or stops Karmada's part, as one that never ran before.
    pub(super) fn direct_karmada(&mut self, running: bool) -> Result<(), String> {
        self.life += 1;
        let node = self.node(&self.spec.host.first_server());
        let timing = settings::of_timing(&settings::sustainable(&self.spec.timing));
        let works = settings::of_works(self.spec.works);
        let wish = json!({"life": self.life, "running": running, "timing": timing, "works": works});
        node.write(KARMADA, &wish.to_string())
            .map_err(|error| error.to_string())?;
        let done = poll(PATIENCE, || node.number(KARMADA_DONE) == self.life);
        done.then_some(())
            .ok_or_else(|| "Karmada's part does not answer".to_owned())
    }

    /// What a container shares with the lab.
    pub(super) fn node(&self, container: &str) -> Folder {
        Folder::new(self.directory.join("nodes").join(container))
    }

    pub(super) fn kubeconfig_context<'a>(
        &'a self,
        server: &'a str,
        user: &'a str,
        host: &str,
    ) -> Context<'a> {
        let found = &self.servers[server];
        Context {
            name: server,
            cluster: server,
            user,
            server: format!("https://{host}:{}", found.port),
            authority: found.authority.pem(),
            credentials: Credentials::Certificate(&found.administrator),
        }
    }

    /// Makes networks and containers, and waits for the API servers.
    async fn run(&self) -> Result<(), crate::Failure> {
        let own = self.model.networks.iter();
        let mut own: Vec<&Network> = own.filter(|network| !network.is_predefined()).collect();
        // Where the daemon chooses a subnet, it must know those that are not its choice.
        own.sort_by_key(|network| !network.user_subnet);
        for network in own {
            container::make_network(&self.engine, network).await?;
        }
        // The order decides about addresses on each network, and only there.
        let by_network = self.model.networks.iter().map(|network| async {
            let on_it = |container: &&Container| container.network_mode == network.name;
            for container in self.model.containers.iter().filter(on_it) {
                let folder = self.node(&container.name);
                container::run_node(&self.engine, container, folder.path()).await?;
            }
            Ok::<(), crate::Failure>(())
        });
        futures::future::try_join_all(by_network).await?;
        let ready = self
            .servers
            .iter()
            .map(|(name, server)| self.ready(name, server));
        futures::future::try_join_all(ready).await.map(|_| ())
    }

    /// Forgets all open connections.
    pub(super) fn forget_connections(&self) {
        for server in self.servers.values() {
            server.remote.forget_connections();
        }
    }

    /// Waits until an API server has everything it makes for itself.
    pub(super) async fn ready(&self, name: &str, server: &Server) -> Result<(), crate::Failure> {
        let deadline = Instant::now() + START;
        for path in [
            "/readyz",
            "/api/v1/namespaces/kube-system",
            "/api/v1/namespaces/default",
        ] {
            while let Err(refusal) = server.remote.call(Method::GET, path, Value::Null).await {
                if Instant::now() >= deadline {
                    let text = format!("{name} is not ready within {START:?}: {path}: {refusal}");
                    return Err(crate::Failure::new(504, text));
                }
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
        Ok(())
    }

    fn remember_addresses(&mut self) -> Result<(), String> {
        let mut addresses = BTreeMap::new();
        for container in &self.model.containers {
            let seen = self
                .addresses_of(&container.name)
                .map_err(|failure| failure.to_string())?;
            addresses.insert(container.name.clone(), seen);
        }
        self.addresses = addresses;
        for server in self.servers.values_mut() {
            server.names = server.folder.json(NAMES);
        }
        Ok(())
    }

    /// The networks a container is configured on, with the addresses it holds there.
    pub(super) fn addresses_of(
        &self,
        container: &str,
    ) -> Result<BTreeMap<String, Ipv4Addr>, crate::Failure> {
        let path = format!("/containers/{container}/json");
        let seen = self.runtime.wait(self.engine.get(&path))?;
        let networks = seen["NetworkSettings"]["Networks"].as_object();
        let addresses = networks.into_iter().flatten().map(|(name, endpoint)| {
            let address = endpoint["IPAddress"]
                .as_str()
                .and_then(|text| text.parse().ok());
            (name.clone(), address.unwrap_or(Ipv4Addr::UNSPECIFIED))
        });
        Ok(addresses.collect())
    }

    fn was_observed(&self) -> bool {
        let clusters = self.read(CONTROL_PLANE, CLUSTERS);
        let observed = |name: &str| {
            let found = clusters["items"].as_array().into_iter().flatten();
            let mut conditions = found
                .filter(|cluster| cluster["metadata"]["name"] == name)
                .flat_map(|cluster| {
                    cluster["status"]["conditions"]
                        .as_array()
                        .into_iter()
                        .flatten()
                });
            conditions.any(|condition| condition["type"] == "Ready")
        };
        let dialled = |member: &&crate::MemberSpec| member.joined && member.mode == Mode::Push;
        let mut members = self.spec.members.iter().filter(dialled);
        members.all(|member| observed(member.name()))
    }

    /// An object or a list; null when it cannot be read.
    pub(super) fn read(&self, server: &str, path: &str) -> Value {
        let remote = &self.servers[server].remote;
        let read = self
            .runtime
            .wait(remote.call(Method::GET, path, Value::Null));
        read.unwrap_or_default()
    }

    fn write_kubeconfigs(&self) -> std::io::Result<()> {
        for name in ["home", "state"] {
            let path = self.directory.join(name);
            // What somebody left in them belongs to the federation before.
            let _ = std::fs::remove_dir_all(&path);
            std::fs::create_dir_all(&path)?;
        }
        let names: Vec<(String, String)> = self
            .spec
            .clusters()
            .map(|cluster| (cluster.context(), user_of(cluster)))
            .collect();
        let mut contexts =
            vec![self.kubeconfig_context(CONTROL_PLANE, "karmada-admin", "127.0.0.1")];
        for ((context, user), cluster) in names.iter().zip(self.spec.clusters()) {
            contexts.push(self.kubeconfig_context(context, user, cluster.published_host()));
        }
        kubeconfig::write(
            &self.directory.join("config"),
            &kubeconfig::render(&contexts),
        )?;
        kubeconfig::write(
            &self.directory.join("karmada-apiserver.config"),
            &kubeconfig::render(&contexts[..1]),
        )
    }
}

impl Assembled for RealFederation {
    fn acting(&self, server: &str, manager: &'static str) -> Box<dyn Objects> {
        Box::new(super::reset::Repeatable(
            self.servers[server].remote.named(manager),
        ))
    }

    fn published(&self, context: &str) -> u16 {
        self.servers[context].port
    }

    fn address(&self, cluster: &ClusterSpec) -> Option<Ipv4Addr> {
        self.addresses
            .get(&cluster.first_server())?
            .get(&cluster.home_network())
            .copied()
    }

    fn aggregation(&self) -> Aggregation {
        Aggregation {
            external_name: "127.0.0.1".to_owned(),
            port: PORT,
            authority: Some(self.servers[CONTROL_PLANE].authority.pem().to_owned()),
            is_probed: true,
        }
    }
}

/// Waits until `holds` does; whether it did within `timeout`.
pub(super) fn poll(timeout: Duration, mut holds: impl FnMut() -> bool) -> bool {
    let deadline = Instant::now() + timeout;
    loop {
        if holds() {
            return true;
        }
        if Instant::now() >= deadline {
            return false;
        }
        std::thread::park_timeout(Duration::from_millis(25));
    }
}

fn unsupported(spec: &Spec) -> Option<&'static str> {
    let mut modes = spec
        .clusters()
        .filter_map(|cluster| cluster.network.as_deref());
    if modes.any(|network| network == "host" || network == "none") {
        return Some("the real backend has no clusters in the modes host and none");
    }
    None
}

/// What somebody does by themselves may take this long.
pub(super) const PATIENCE: Duration = Duration::from_secs(45);
/// Four API servers at once, on a busy machine.
const START: Duration = Duration::from_secs(120);
pub(super) const CLUSTERS: &str = "/apis/cluster.karmada.io/v1alpha1/clusters";
