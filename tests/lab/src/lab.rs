//! What every backend of the lab offers, so that one scenario runs on all of them.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::api::identity::User;
use crate::api::refusal::Refusal;
use crate::docker::daemon::{Engine, State};
use crate::docker::failure::Failure;
use crate::federation::Federation;
use crate::fingerprint;
use crate::spec::{ClusterSpec, Spec};

/// A running federation on some backend; dropping it stops everything.
pub trait Lab {
    /// The specification it was started with.
    fn spec(&self) -> &Spec;

    /// The version of the Docker Engine behind [`Lab::docker_host`].
    fn engine(&self) -> Engine;

    /// A directory that lives as long as the federation; `home` and `state` in it are those of [`Lab::environment`].
    fn directory(&self) -> &Path;

    /// The kubeconfig with a context for every cluster; `karmada-apiserver` is current.
    fn kubeconfig(&self) -> PathBuf {
        self.directory().join("config")
    }

    /// The kubeconfig of the Karmada control plane alone.
    fn karmada_kubeconfig(&self) -> PathBuf {
        self.directory().join("karmada-apiserver.config")
    }

    /// The value of `DOCKER_HOST`.
    fn docker_host(&self) -> String;

    /// The complete environment for a subprocess that is to see this federation and nothing else.
    fn environment(&self) -> BTreeMap<String, String> {
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
    fn control_plane(&self) -> Box<dyn Cluster + '_>;

    /// The cluster that runs the control plane.
    fn host(&self) -> Box<dyn Cluster + '_>;

    /// A member by the name under which Karmada knows it.
    ///
    /// # Panics
    /// If there is no such member.
    fn member(&self, name: &str) -> Box<dyn Cluster + '_>;

    /// The Docker daemon.
    fn docker(&self) -> Box<dyn Containers + '_>;

    /// Moves the first server of a member to another network, home address and all, and returns its address there.
    ///
    /// # Errors
    /// What the daemon answers.
    ///
    /// # Panics
    /// If there is no such member.
    fn move_member(
        &self,
        name: &str,
        network: &str,
        address: Option<Ipv4Addr>,
        certificate: Certificate,
    ) -> Result<Ipv4Addr, Failure>;

    /// How long at most something takes here that Karmada does by itself: becoming Ready, a restart, a delivery.
    fn patience(&self) -> Duration;

    /// Values that must never be seen in the output of a plugin: tokens, keys, the label `k3d.cluster.token`.
    fn secrets(&self) -> Vec<String>;

    /// The embedded federation, for what only it offers: faults, the record of requests, crash loops.
    fn embedded(&self) -> Option<&Federation>;
}

/// What becomes of the serving certificate when a server moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Certificate {
    /// The new address is added to its names.
    Follows,
    /// It stays valid for the old addresses only, whatever restarts.
    Stays,
}

impl dyn Lab + '_ {
    /// A command that sees this federation and nothing else, in its directory, without standard input.
    pub fn command(&self, program: impl AsRef<Path>) -> Command {
        let mut command = Command::new(program.as_ref());
        command
            .env_clear()
            .envs(self.environment())
            .current_dir(self.directory())
            .stdin(Stdio::null());
        command
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

    /// Waits until the cluster's condition `Ready` is `True`; whether it became so within `timeout`.
    pub fn wait_ready(&self, cluster: &str, timeout: Duration) -> bool {
        self.wait_for(timeout, || {
            self.readiness(cluster)
                .is_some_and(|ready| ready["status"] == "True")
        })
    }

    /// Waits until `holds` does; whether it did within `timeout`.
    pub fn wait_for(&self, timeout: Duration, mut holds: impl FnMut() -> bool) -> bool {
        let deadline = Instant::now() + timeout;
        loop {
            if holds() {
                return true;
            }
            if Instant::now() >= deadline {
                return false;
            }
            std::thread::park_timeout(Duration::from_millis(20));
        }
    }

    /// What somebody might have changed, by the name of the object; equal before and after = nothing was written.
    ///
    /// What Karmada's components write by themselves is left out: status, taints, delivered objects. Secrets stand as
    /// digests.
    pub fn state(&self) -> BTreeMap<String, Value> {
        fingerprint::of(self)
    }

    /// What is different from a state of before, one line for each object: its name, then both states.
    pub fn changes_since(&self, before: &BTreeMap<String, Value>) -> Vec<String> {
        let now = self.state();
        let names: BTreeSet<&String> = before.keys().chain(now.keys()).collect();
        let shown = |state: Option<&Value>| state.map_or("nothing".to_owned(), Value::to_string);
        names
            .into_iter()
            .map(|name| (name, before.get(name), now.get(name)))
            .filter(|(_, before, now)| before != now)
            .map(|(name, before, now)| format!("{name}: {} -> {}", shown(before), shown(now)))
            .collect()
    }

    /// The containers of all clusters, load balancers included.
    pub fn containers(&self) -> Vec<String> {
        self.clusters().flat_map(ClusterSpec::containers).collect()
    }

    /// The host cluster, then the members.
    pub fn clusters(&self) -> impl Iterator<Item = &ClusterSpec> {
        self.spec().clusters()
    }
}

/// Reads and writes the objects of one cluster with full rights, past record and faults.
///
/// Paths are those of the Kubernetes API, query included. Every call fails with what the API server refuses, or with
/// code 0 where none answers.
pub trait Cluster {
    /// The server's name: `karmada-apiserver`, or a context as in `k3d-cluster-a`.
    fn name(&self) -> &str;

    /// `GET` of an object or a list.
    ///
    /// # Errors
    /// 404 when there is no such object.
    fn read(&self, path: &str) -> Result<Value, Refusal>;

    /// `POST` to a collection; `apiVersion` and `kind` may be left out.
    ///
    /// # Errors
    /// What the API server refuses.
    fn create(&self, path: &str, object: &Value) -> Result<Value, Refusal>;

    /// `PATCH` with a merge patch (RFC 7386).
    ///
    /// # Errors
    /// What the API server refuses.
    fn patch(&self, path: &str, patch: &Value) -> Result<Value, Refusal>;

    /// `PATCH` with a JSON Patch (RFC 6902).
    ///
    /// # Errors
    /// What the API server refuses.
    fn json_patch(&self, path: &str, patch: &Value) -> Result<Value, Refusal>;

    /// `PUT` of an object.
    ///
    /// # Errors
    /// What the API server refuses.
    fn replace(&self, path: &str, object: &Value) -> Result<Value, Refusal>;

    /// `DELETE` of an object.
    ///
    /// # Errors
    /// What the API server refuses.
    fn delete(&self, path: &str) -> Result<Value, Refusal>;

    /// The port on 127.0.0.1 at which the API server is published.
    fn port(&self) -> u16;

    /// PEM of the authority that signed the serving certificate.
    fn authority(&self) -> String;

    /// The subject alternative names of the serving certificate.
    fn names(&self) -> Vec<String>;

    /// Serves a new certificate with these names, and returns when it does.
    fn set_names(&self, names: &[String]);

    /// Serves a certificate of another authority than the one clients were given, and returns when it does.
    fn set_foreign_authority(&self);

    /// A kubeconfig of its own for some user of this cluster.
    ///
    /// # Errors
    /// When the file cannot be written.
    fn kubeconfig_for(&self, user: User) -> io::Result<PathBuf>;
}

/// The Docker daemon of a federation; containers are named by name or ID. Every call fails with what the daemon answers.
pub trait Containers {
    /// Starts a container.
    ///
    /// # Errors
    /// A taken address included.
    fn start(&self, container: &str) -> Result<(), Failure>;

    /// Stops a container.
    ///
    /// # Errors
    /// What the daemon answers.
    fn stop(&self, container: &str) -> Result<(), Failure>;

    /// Restarts a container; it takes the lowest free addresses unless pinned.
    ///
    /// # Errors
    /// A taken address included.
    fn restart(&self, container: &str) -> Result<(), Failure>;

    /// Freezes a container.
    ///
    /// # Errors
    /// What the daemon answers.
    fn pause(&self, container: &str) -> Result<(), Failure>;

    /// Thaws a container.
    ///
    /// # Errors
    /// What the daemon answers.
    fn unpause(&self, container: &str) -> Result<(), Failure>;

    /// Connects a container to a network, at this address or at the lowest free one.
    ///
    /// # Errors
    /// What the daemon answers.
    fn connect(
        &self,
        network: &str,
        container: &str,
        address: Option<Ipv4Addr>,
    ) -> Result<(), Failure>;

    /// Connects a container with the fields of an `EndpointSettings` object of the Docker API.
    ///
    /// # Errors
    /// What the daemon answers.
    fn connect_with(&self, network: &str, container: &str, settings: &Value)
    -> Result<(), Failure>;

    /// Disconnects a container from a network.
    ///
    /// # Errors
    /// What the daemon answers.
    fn disconnect(&self, network: &str, container: &str) -> Result<(), Failure>;

    /// Creates a bridge network; `None` leaves the subnet to the daemon.
    ///
    /// # Errors
    /// What the daemon answers.
    fn create_network(&self, name: &str, subnet: Option<&str>) -> Result<(), Failure>;

    /// Removes a network that no running container uses.
    ///
    /// # Errors
    /// What the daemon answers.
    fn remove_network(&self, name: &str) -> Result<(), Failure>;

    /// Starts a container that belongs to no cluster and does nothing; `published` = its port 6443 is published there on
    /// 0.0.0.0, with nobody behind it.
    ///
    /// # Errors
    /// What the daemon answers.
    fn run(&self, name: &str, network: &str, published: Option<u16>) -> Result<(), Failure>;

    /// Removes a container, running or not, as `docker rm -f` does.
    ///
    /// # Errors
    /// When there is no such container.
    fn remove(&self, container: &str) -> Result<(), Failure>;

    /// The names of all containers, running or not, sorted.
    fn names(&self) -> Vec<String>;

    /// The address a container holds on a network now.
    fn address(&self, container: &str, network: &str) -> Option<Ipv4Addr>;

    /// The networks a container is configured on, sorted.
    fn networks(&self, container: &str) -> Vec<String>;

    /// The state of a container, if it exists.
    fn state(&self, container: &str) -> Option<State>;

    /// `GET /containers/{id}/json`.
    fn inspect(&self, container: &str) -> Option<Value>;

    /// `GET /networks/{id}`.
    fn inspect_network(&self, network: &str) -> Option<Value>;
}
