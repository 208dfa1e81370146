//! Stands in for kubelets and the Deployment controller of the host cluster: nodes report their addresses, and a
//! Deployment whose template changed gets new pods, which restarts Karmada's processes.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use http::Method;
use serde_json::{Value, json};

use crate::cluster_contents::{self, CONTROLLER_MANAGER, Node, SYSTEM};
use crate::karmada::controller_manager::ControllerManager;
use crate::karmada::objects::{Acting, Objects};
use crate::lock::lock;
use crate::spec::ClusterSpec;
use crate::wiring::Wiring;

/// The kubelets of all clusters.
pub(crate) struct Kubelet {
    pub(crate) wiring: Arc<Wiring>,
    pub(crate) manager: Arc<ControllerManager>,
    /// The host cluster first.
    pub(crate) clusters: Vec<ClusterSpec>,
    /// How long a process takes to come back.
    pub(crate) restart: Duration,
}

/// What was reported already.
#[derive(Default)]
pub(crate) struct Reported {
    /// Addresses by cluster context and node.
    addresses: BTreeMap<(String, String), String>,
    /// Templates by Deployment.
    templates: BTreeMap<String, Value>,
}

impl Kubelet {
    /// Works until dropped.
    pub(crate) async fn run(self, mut reported: Reported) {
        loop {
            self.report_nodes(&mut reported).await;
            self.roll_out(&mut reported).await;
            tokio::time::sleep(TICK).await;
        }
    }

    /// Reports every node whose address changed.
    pub(crate) async fn report_nodes(&self, reported: &mut Reported) {
        for cluster in &self.clusters {
            let context = cluster.context();
            let servers = (0..cluster.servers).map(|index| (cluster.server(index), true));
            let agents = (0..cluster.agents).map(|index| (cluster.agent(index), false));
            for (name, control_plane) in servers.chain(agents) {
                let address = lock(&self.wiring.daemon)
                    .container(&name)
                    .ok()
                    .and_then(|node| node.address_on(&cluster.home_network()));
                let key = (context.clone(), name.clone());
                let address = address
                    .map(|address| address.to_string())
                    .or_else(|| reported.addresses.get(&key).cloned())
                    .unwrap_or_default();
                if reported.addresses.get(&key) != Some(&address) {
                    let node = Node {
                        name: &name,
                        address: address.clone(),
                        version: &cluster.version,
                        control_plane,
                    };
                    if cluster_contents::report_node(&self.acting(&context), &node)
                        .await
                        .is_ok()
                    {
                        reported.addresses.insert(key, address);
                    }
                }
            }
        }
    }

    /// Rolls out the Deployments of the host cluster whose generation was not observed yet.
    async fn roll_out(&self, reported: &mut Reported) {
        let host = self.acting(&self.clusters[0].context());
        let path = format!("/apis/apps/v1/namespaces/{SYSTEM}/deployments");
        let deployments = host
            .call(Method::GET, &path, Value::Null)
            .await
            .unwrap_or_default();
        for deployment in deployments["items"].as_array().into_iter().flatten() {
            if deployment["status"]["observedGeneration"] == deployment["metadata"]["generation"] {
                continue;
            }
            let name = deployment["metadata"]["name"].as_str().unwrap_or_default();
            let template = &deployment["spec"]["template"];
            let before = reported.templates.insert(name.to_owned(), template.clone());
            let replicas = deployment["spec"]["replicas"].as_u64().unwrap_or(1);
            if name == CONTROLLER_MANAGER {
                self.wiring.scheduled.store(replicas > 0, Ordering::SeqCst);
            }
            if before.is_some_and(|before| before != *template) {
                self.replace(&host, name).await;
            }
            // A port that cannot be bound again shows as a refused connection.
            let _ = self.wiring.settle();
            let _ = host
                .call(
                    Method::PATCH,
                    &format!("{path}/{name}/status"),
                    json!({"status": status(deployment, replicas)}),
                )
                .await;
        }
    }

    async fn replace(&self, host: &Acting, component: &str) {
        if component == CONTROLLER_MANAGER {
            self.manager.set_running(false);
        }
        tokio::time::sleep(self.restart).await;
        let place = lock(&self.wiring.place).clone();
        // Without its pod the component still runs: pods are for show.
        let _ = cluster_contents::replace_pod(host, component, &place).await;
    }

    fn acting(&self, context: &str) -> Acting {
        Acting {
            server: self.wiring.servers[context].api.clone(),
            manager: "k3s",
        }
    }
}

fn status(deployment: &Value, replicas: u64) -> Value {
    json!({
        "observedGeneration": deployment["metadata"]["generation"], "replicas": replicas, "updatedReplicas": replicas,
        "readyReplicas": replicas, "availableReplicas": replicas,
        "conditions": [
            {"type": "Available", "status": "True", "reason": "MinimumReplicasAvailable", "message": "Deployment has minimum availability."},
            {"type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable", "message": "ReplicaSet has successfully progressed."},
        ],
    })
}

const TICK: Duration = Duration::from_millis(25);
