//! Stands in for kubelets and the Deployment controller of the host cluster: nodes report their addresses, and a
//! Deployment whose template changed gets new pods, which restarts Karmada's processes.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::cluster_contents::{self, Node};
use crate::federation::CONTROL_PLANE;
use crate::karmada::agent::Agents;
use crate::karmada::controller_manager::ControllerManager;
use crate::karmada::objects::Acting;
use crate::lock::lock;
use crate::roll_out::{Processes, RollOuts};
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
    pub(crate) agents: Agents,
    /// The members in pull mode, and the contexts of their clusters.
    pub(crate) pulled: Vec<(String, String)>,
}

/// What was reported already.
#[derive(Default)]
pub(crate) struct Reported {
    /// Addresses by cluster context and node.
    addresses: BTreeMap<(String, String), String>,
    roll_outs: RollOuts,
}

impl Processes for Kubelet {
    fn place(&self) -> String {
        lock(&self.wiring.place).clone()
    }

    fn restart(&self) -> Duration {
        self.restart
    }

    fn stop(&self) {
        self.manager.set_running(false);
    }

    fn schedule(&self, scheduled: bool) {
        self.wiring.scheduled.store(scheduled, Ordering::SeqCst);
    }

    fn settle(&self) {
        // A port that cannot be bound again shows as a refused connection.
        let _ = self.wiring.settle();
    }
}

impl Kubelet {
    /// Works until dropped.
    pub(crate) async fn run(self, mut reported: Reported) {
        loop {
            self.report_nodes(&mut reported).await;
            self.roll_out(&mut reported).await;
            self.tend_agents().await;
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

    /// Rolls out the Deployments of the host cluster.
    async fn roll_out(&self, reported: &mut Reported) {
        let host = self.acting(&self.clusters[0].context());
        reported.roll_outs.tend(&host, self).await;
    }

    async fn tend_agents(&self) {
        for (name, context) in &self.pulled {
            let control_plane = self.acting(CONTROL_PLANE);
            let member = self.acting(context);
            self.agents.tend(name, &member, &control_plane).await;
        }
    }

    fn acting(&self, context: &str) -> Acting {
        Acting {
            server: self.wiring.servers[context].api.clone(),
            manager: "k3s",
        }
    }
}

const TICK: Duration = Duration::from_millis(25);
