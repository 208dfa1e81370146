//! Stands in for the controllers and kubelets behind workloads: new pods for a new template, and a status.

use std::time::Duration;

use http::Method;
use serde_json::{Value, json};

use super::remote::Remote;
use crate::api::refusal::Refusal;
use crate::api::workloads;
use crate::cluster_contents::SYSTEM;
use crate::karmada::objects::Objects;

/// Rolls workloads out until dropped; Karmada's own Deployments are somebody else's.
pub(super) async fn run(server: Remote, node: String) {
    loop {
        for (kind, resource) in KINDS {
            let path = format!("/apis/apps/v1/{resource}");
            let list = server.call(Method::GET, &path, Value::Null).await;
            let list = list.unwrap_or_default();
            for workload in list["items"].as_array().into_iter().flatten() {
                let mut workload = workload.clone();
                // Lists leave out what all their items are.
                workload["kind"] = json!(kind);
                workload["apiVersion"] = json!("apps/v1");
                let metadata = &workload["metadata"];
                let of_karmada = *kind == "Deployment" && metadata["namespace"] == SYSTEM;
                if !of_karmada && workload["status"]["observedGeneration"] != metadata["generation"]
                {
                    // What fails is tried again at the next look.
                    let _ = roll_out(&server, resource, &workload, &node).await;
                }
            }
        }
        tokio::time::sleep(TICK).await;
    }
}

async fn roll_out(
    server: &Remote,
    resource: &str,
    workload: &Value,
    node: &str,
) -> Result<(), Refusal> {
    let text = |field: &str| workload["metadata"][field].as_str().unwrap_or_default();
    let pods = format!("/api/v1/namespaces/{}/pods", text("namespace"));
    if workload["spec"]["paused"] != true {
        let list = server.call(Method::GET, &pods, Value::Null).await?;
        let all = list["items"].as_array().cloned().unwrap_or_default();
        let change = workloads::change(workload, all, node);
        for pod in &change.gone {
            let name = pod["metadata"]["name"].as_str().unwrap_or_default();
            let path = format!("{pods}/{name}?gracePeriodSeconds=0");
            server.call(Method::DELETE, &path, Value::Null).await?;
        }
        for pod in change.new {
            let status = json!({"status": pod["status"]});
            let name = pod["metadata"]["name"].as_str().unwrap_or_default();
            let path = format!("{pods}/{name}/status");
            server.call(Method::POST, &pods, pod.clone()).await?;
            server.call(Method::PATCH, &path, status).await?;
        }
    }
    let path = format!(
        "/apis/apps/v1/namespaces/{}/{resource}/{}/status",
        text("namespace"),
        text("name")
    );
    let status = json!({"status": workloads::status(workload)});
    server.call(Method::PATCH, &path, status).await.map(|_| ())
}

const KINDS: &[(&str, &str)] = &[
    ("Deployment", "deployments"),
    ("StatefulSet", "statefulsets"),
    ("DaemonSet", "daemonsets"),
];
const TICK: Duration = Duration::from_millis(200);
