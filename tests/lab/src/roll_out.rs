//! Stands in for the Deployment controller of the host cluster: a Deployment whose template changed gets new pods, which
//! restarts Karmada's processes.

use std::collections::BTreeMap;
use std::time::Duration;

use http::Method;
use serde_json::{Value, json};

use crate::api::workloads;
use crate::cluster_contents::{self, CONTROLLER_MANAGER, SYSTEM};
use crate::karmada::objects::Objects;

/// The roll-outs so far.
#[derive(Default)]
pub(crate) struct RollOuts {
    /// Templates by Deployment.
    templates: BTreeMap<String, Value>,
}

/// The process that the Deployment karmada-controller-manager stands for.
pub(crate) trait Processes: Sync {
    /// The node of new pods.
    fn place(&self) -> String;
    /// How long the process takes to come back.
    fn restart(&self) -> Duration;
    /// Ends the process, until [`Processes::settle`].
    fn stop(&self);
    /// Whether there is to be a process at all, from [`Processes::settle`] on.
    fn schedule(&self, scheduled: bool);
    /// Starts what was stopped and is scheduled.
    fn settle(&self);
}

impl RollOuts {
    /// Rolls out the Deployments whose generation was not observed yet.
    pub(crate) async fn tend(&mut self, host: &dyn Objects, processes: &dyn Processes) {
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
            let before = self.templates.insert(name.to_owned(), template.clone());
            let replicas = deployment["spec"]["replicas"].as_u64().unwrap_or(1);
            if name == CONTROLLER_MANAGER {
                processes.schedule(replicas > 0);
            }
            if before.is_some_and(|before| before != *template) {
                replace(host, processes, name).await;
            }
            processes.settle();
            let _ = host
                .call(
                    Method::PATCH,
                    &format!("{path}/{name}/status"),
                    json!({"status": workloads::status(deployment)}),
                )
                .await;
        }
    }
}

async fn replace(host: &dyn Objects, processes: &dyn Processes, component: &str) {
    if component == CONTROLLER_MANAGER {
        processes.stop();
    }
    tokio::time::sleep(processes.restart()).await;
    // Without its pod the component still runs: pods are for show.
    let _ = cluster_contents::replace_pod(host, component, &processes.place()).await;
}
