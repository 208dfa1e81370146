//! A running federation and what tests do with it.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;
use tokio::task::JoinHandle;

use crate::administrator::Administrator;
use crate::api::refusal::Refusal;
use crate::assembly::{self, Parts};
use crate::certificates::Leaf;
use crate::docker::api::DockerApi;
use crate::docker::daemon::Daemon;
use crate::docker::failure::Failure;
use crate::faults::{Fault, Faults};
use crate::karmada::agent::Agents;
use crate::karmada::controller_manager::{ControllerManager, Surroundings, TICK};
use crate::karmada::log::Log;
use crate::karmada::objects::Acting;
use crate::karmada::proxy::ClusterProxy;
use crate::kubeconfig::{self, Context, Credentials};
use crate::kubelet::{Kubelet, Reported};
use crate::listener::{self, Served};
use crate::lock::lock;
use crate::operations::Docker;
use crate::requests::{Recorder, Request};
use crate::runtime::Runtime;
use crate::spec::{ClusterSpec, Flavour, Mode, Spec};
use crate::wiring::{VirtualNetwork, Wired, Wiring};

/// A running federation; dropping it stops everything and removes its directory.
pub struct Federation {
    spec: Spec,
    pub(crate) wiring: Arc<Wiring>,
    manager: Arc<ControllerManager>,
    agents: Agents,
    recorder: Recorder,
    faults: Faults,
    administrators: BTreeMap<String, Leaf>,
    tasks: Vec<JoinHandle<()>>,
    pub(crate) secrets: Mutex<Vec<String>>,
    directory: TempDir,
    // Dropped last: the ports above are closed on it.
    _runtime: Runtime,
}

/// Why a federation could not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// No directory, socket or thread.
    #[error("cannot start the lab")]
    System(#[from] io::Error),
    /// The specification asks Docker for something impossible.
    #[error("the specified containers cannot be made")]
    Docker(#[from] Failure),
    /// The specification asks Karmada for something impossible.
    #[error("the specified members cannot be joined")]
    Join(#[from] Refusal),
    /// The real backend did not come up; the text says what of it.
    #[error("the real parts do not start: {0}")]
    Real(String),
}

impl Federation {
    /// Starts a federation.
    ///
    /// # Errors
    /// When the system refuses sockets or threads, or the specification contradicts itself.
    pub fn start(spec: Spec) -> Result<Self, StartError> {
        let runtime = Runtime::start()?;
        let directory = tempfile::Builder::new().prefix("kl").tempdir()?;
        let mut parts = Parts {
            runtime: &runtime,
            recorder: Recorder::default(),
            faults: Faults::default(),
            daemon: Daemon::new(spec.engine),
            servers: BTreeMap::new(),
            secrets: Vec::new(),
            wording: spec.wording,
        };
        parts.host(&spec)?;
        for member in &spec.members {
            parts.cluster(&member.cluster)?;
        }
        let Parts {
            recorder,
            faults,
            daemon,
            servers,
            secrets,
            ..
        } = parts;
        let wiring = Arc::new(Wiring::new(daemon, servers, spec.host.first_server()));
        wiring.settle()?;

        let control_plane = wiring.servers[CONTROL_PLANE].api.clone();
        let dialer = Arc::new(VirtualNetwork {
            wiring: Arc::downgrade(&wiring),
            timeout: spec.timing.dial_timeout,
        });
        let objects = Arc::new(Acting {
            server: control_plane.clone(),
            manager: "controller-manager",
        });
        control_plane.set_proxy(Some(Arc::new(ClusterProxy {
            objects: objects.clone(),
            dialer: dialer.clone(),
            timeout: spec.timing.request_timeout,
        })));
        let manager = Arc::new(ControllerManager::new(Surroundings {
            objects,
            dialer,
            timing: spec.timing,
            log: Log::default(),
            tick: TICK,
        }));
        *lock(&wiring.manager) = Some(manager.clone());
        let agents = Agents::default();
        let kubelet = Kubelet {
            wiring: wiring.clone(),
            manager: manager.clone(),
            clusters: spec.clusters().cloned().collect(),
            restart: spec.timing.restart,
            agents: agents.clone(),
            pulled: spec
                .members
                .iter()
                .filter(|member| member.joined && member.mode == Mode::Pull)
                .map(|member| (member.name().to_owned(), member.cluster.context()))
                .collect(),
        };
        let mut reported = Reported::default();
        runtime.wait(async {
            kubelet.report_nodes(&mut reported).await;
            assembly::populate(&spec, &*wiring).await
        })?;
        wiring.settle()?;

        let docker = DockerApi {
            daemon: wiring.daemon.clone(),
            certificate: Box::new({
                let wiring = wiring.clone();
                move |server| {
                    let wired = wiring.servers.get(server)?;
                    Some(lock(&wired.serving.pem).clone())
                }
            }),
            changed: Box::new({
                let wiring = wiring.clone();
                move || {
                    // A port that cannot be bound again shows as a refused connection.
                    let _ = wiring.settle();
                }
            }),
        };
        let served = Served {
            service: Arc::new(docker),
            recorder: recorder.clone(),
            faults: faults.clone(),
        };
        let tasks = vec![
            runtime.handle().spawn(manager.clone().run(spec.works)),
            runtime.handle().spawn(kubelet.run(reported)),
            listener::unix(
                runtime.handle(),
                &directory.path().join("docker.sock"),
                served,
            )?,
        ];
        let administrators = administrators(&spec, &wiring);
        let federation = Self {
            spec,
            wiring,
            manager,
            agents,
            recorder,
            faults,
            administrators,
            tasks,
            secrets: Mutex::new(secrets),
            directory,
            _runtime: runtime,
        };
        federation.write_kubeconfigs()?;
        federation.wait_for(FIRST_OBSERVATION, Self::was_observed);
        Ok(federation)
    }

    /// The specification it was started with.
    pub fn spec(&self) -> &Spec {
        &self.spec
    }

    /// A directory that lives as long as the federation.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// The kubeconfig with a context for every cluster; `karmada-apiserver` is current.
    pub fn kubeconfig(&self) -> PathBuf {
        self.directory().join("config")
    }

    /// The kubeconfig of the Karmada control plane alone.
    pub fn karmada_kubeconfig(&self) -> PathBuf {
        self.directory().join("karmada-apiserver.config")
    }

    /// The value of `DOCKER_HOST`.
    pub fn docker_host(&self) -> String {
        format!("unix://{}", self.directory().join("docker.sock").display())
    }

    /// The complete environment for a subprocess that is to see this federation and nothing else.
    pub fn environment(&self) -> BTreeMap<String, String> {
        let path = |name: &str| self.directory().join(name).display().to_string();
        BTreeMap::from([
            ("COLUMNS".to_owned(), "160".to_owned()),
            ("DOCKER_HOST".to_owned(), self.docker_host()),
            ("HOME".to_owned(), path("home")),
            ("KUBECONFIG".to_owned(), path("config")),
            ("LC_ALL".to_owned(), "C".to_owned()),
            ("NO_COLOR".to_owned(), "1".to_owned()),
            ("PATH".to_owned(), std::env::var("PATH").unwrap_or_default()),
            ("XDG_STATE_HOME".to_owned(), path("state")),
        ])
    }

    /// The Karmada API server.
    pub fn control_plane(&self) -> Administrator<'_> {
        self.administrator(CONTROL_PLANE)
    }

    /// The cluster that runs the control plane.
    pub fn host(&self) -> Administrator<'_> {
        let context = self.spec.host.context();
        let name = self.wiring.servers.keys().find(|name| **name == context);
        self.administrator(name.expect("the host cluster was started"))
    }

    /// A member by the name under which Karmada knows it.
    ///
    /// # Panics
    /// If there is no such member.
    pub fn member(&self, name: &str) -> Administrator<'_> {
        let context = self.spec.member(name).context();
        let name = self
            .wiring
            .servers
            .keys()
            .find(|server| **server == context);
        self.administrator(name.expect("every member was started"))
    }

    /// The Docker daemon.
    pub fn docker(&self) -> Docker<'_> {
        Docker {
            wiring: &self.wiring,
        }
    }

    /// All requests so far, in the order of arrival.
    pub fn requests(&self) -> Vec<Request> {
        self.recorder.all()
    }

    /// The requests that asked for a change, without those of the lab's own Karmada components.
    pub fn writes(&self) -> Vec<Request> {
        self.requests()
            .into_iter()
            .filter(|request| !request.own && request.is_write())
            .collect()
    }

    /// Forgets the requests so far.
    pub fn forget_requests(&self) {
        self.recorder.clear();
    }

    /// Lets something go wrong from now on.
    pub fn inject(&self, fault: Fault) {
        self.faults.inject(fault);
    }

    /// Ends all faults.
    pub fn heal(&self) {
        self.faults.clear();
    }

    /// Waits until the cluster's condition `Ready` is `True`; whether it became so.
    pub fn wait_ready(&self, cluster: &str, timeout: Duration) -> bool {
        self.wait_for(timeout, |federation| {
            federation
                .readiness(cluster)
                .is_some_and(|ready| ready["status"] == "True")
        })
    }

    /// Waits until `holds` does; whether it did within `timeout`.
    pub fn wait_for(&self, timeout: Duration, mut holds: impl FnMut(&Self) -> bool) -> bool {
        let deadline = Instant::now() + timeout;
        loop {
            if holds(self) {
                return true;
            }
            if Instant::now() >= deadline {
                return false;
            }
            std::thread::park_timeout(Duration::from_millis(10));
        }
    }

    /// The condition `Ready` of a cluster, if it has one.
    pub fn readiness(&self, cluster: &str) -> Option<Value> {
        let path = format!("/apis/cluster.karmada.io/v1alpha1/clusters/{cluster}");
        let cluster = self.control_plane().read(&path).ok()?;
        let conditions = cluster["status"]["conditions"].as_array()?;
        conditions
            .iter()
            .find(|condition| condition["type"] == "Ready")
            .cloned()
    }

    /// The Clusters as `kubectl get clusters` prints them, for where there is no kubectl.
    pub fn cluster_table(&self) -> String {
        self.control_plane()
            .wired()
            .api
            .printed("cluster.karmada.io", "clusters")
    }

    /// How often the agent of a member in pull mode ended, because it may not write its `Cluster`.
    pub fn agent_crashes(&self, member: &str) -> usize {
        self.agents.crashes(member)
    }

    /// What the controller-manager logged, oldest first.
    pub fn controller_log(&self) -> Vec<String> {
        self.manager.log()
    }

    /// Moves Karmada's components to another container of the host cluster.
    pub fn move_karmada_to(&self, container: &str) {
        container.clone_into(&mut lock(&self.wiring.place));
        self.settle();
    }

    /// Values that must never be seen in the output of a plugin: tokens, keys, the label `k3d.cluster.token`.
    pub fn secrets(&self) -> Vec<String> {
        let mut found = lock(&self.secrets).clone();
        for leaf in self.administrators.values() {
            found.extend(leaf.key_lines());
        }
        for wired in self.wiring.servers.values() {
            found.extend(wired.api.registry.with_store(|store| {
                let secrets = store.list(crate::api::kinds::known("", "secrets"), None);
                let tokens = secrets.filter_map(|secret| secret["data"]["token"].as_str());
                tokens
                    .flat_map(|token| [Some(token.to_owned()), decoded(token)])
                    .flatten()
                    .collect::<Vec<_>>()
            }));
        }
        found
    }

    pub(crate) fn settle(&self) {
        let _ = self.wiring.settle();
    }

    /// Whether the controller-manager has looked at every member that it is to look at.
    fn was_observed(&self) -> bool {
        let mut dialled = self
            .spec
            .members
            .iter()
            .filter(|member| member.joined && member.mode == Mode::Push);
        dialled.all(|member| self.readiness(member.name()).is_some())
    }

    fn administrator<'a>(&'a self, name: &'a str) -> Administrator<'a> {
        Administrator {
            federation: self,
            name,
        }
    }

    fn write_kubeconfigs(&self) -> io::Result<()> {
        std::fs::create_dir_all(self.directory().join("home"))?;
        std::fs::create_dir_all(self.directory().join("state"))?;
        let names: Vec<(String, String)> = self
            .spec
            .clusters()
            .map(|cluster| (cluster.context(), user_of(cluster)))
            .collect();
        let mut contexts =
            vec![self.context(CONTROL_PLANE, CONTROL_PLANE, "karmada-admin", "127.0.0.1")];
        for ((context, user), cluster) in names.iter().zip(self.spec.clusters()) {
            contexts.push(self.context(context, context, user, cluster.published_host()));
        }
        kubeconfig::write(&self.kubeconfig(), &kubeconfig::render(&contexts))?;
        kubeconfig::write(
            &self.karmada_kubeconfig(),
            &kubeconfig::render(&contexts[..1]),
        )
    }

    pub(crate) fn context<'a>(
        &'a self,
        server: &'a str,
        name: &'a str,
        user: &'a str,
        host: &str,
    ) -> Context<'a> {
        let wired = &self.wiring.servers[server];
        Context {
            name,
            cluster: name,
            user,
            server: format!("https://{host}:{}", wired.published.number()),
            authority: wired.api.authority().pem(),
            credentials: Credentials::Certificate(&self.administrators[server]),
        }
    }
}

impl Drop for Federation {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
        self.wiring.dismantle();
    }
}

/// The name of the Karmada API server in the record of requests, and of its context.
pub(crate) const CONTROL_PLANE: &str = "karmada-apiserver";
/// How long a start waits for the first look at the members.
const FIRST_OBSERVATION: Duration = Duration::from_secs(1);

fn administrators(spec: &Spec, wiring: &Wiring) -> BTreeMap<String, Leaf> {
    let issue = |(name, wired): (&String, &Wired)| {
        let user = if spec.clusters().any(|cluster| cluster.context() == *name) {
            "kubernetes-admin"
        } else {
            "system:admin"
        };
        (
            name.clone(),
            wired.api.authority().client(user, Some("system:masters")),
        )
    };
    wiring.servers.iter().map(issue).collect()
}

pub(crate) fn user_of(cluster: &ClusterSpec) -> String {
    match cluster.flavour {
        Flavour::K3d => format!("admin@{}", cluster.context()),
        _ => cluster.context(),
    }
}

fn decoded(token: &str) -> Option<String> {
    use base64::Engine as _;
    String::from_utf8(
        base64::engine::general_purpose::STANDARD
            .decode(token)
            .ok()?,
    )
    .ok()
}
