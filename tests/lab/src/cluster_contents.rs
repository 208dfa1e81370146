//! What runs in the clusters: nodes, and on the host cluster what the Helm chart of Karmada installs. Data.

use http::Method;
use serde_json::{Value, json};

use crate::api::refusal::Refusal;
use crate::karmada::objects::Objects;

/// A node as its kubelet reports it.
pub(crate) struct Node<'a> {
    pub(crate) name: &'a str,
    /// Empty until the container had one.
    pub(crate) address: String,
    pub(crate) version: &'a str,
    pub(crate) control_plane: bool,
}

/// Creates the node, or updates its address.
pub(crate) async fn report_node(cluster: &dyn Objects, node: &Node<'_>) -> Result<(), Refusal> {
    let path = format!("/api/v1/nodes/{}", node.name);
    if cluster.call(Method::GET, &path, Value::Null).await.is_err() {
        let labels = if node.control_plane {
            json!({"node-role.kubernetes.io/control-plane": "true"})
        } else {
            json!({})
        };
        let object = json!({
            "metadata": {
                "name": node.name, "labels": labels,
                "annotations": {"k3s.io/hostname": node.name, "k3s.io/internal-ip": node.address},
            },
            "spec": {},
        });
        cluster.call(Method::POST, "/api/v1/nodes", object).await?;
    }
    let mut addresses = vec![json!({"type": "Hostname", "address": node.name})];
    if !node.address.is_empty() {
        addresses.insert(0, json!({"type": "InternalIP", "address": node.address}));
    }
    let status = json!({"status": {
        "addresses": addresses, "nodeInfo": {"kubeletVersion": node.version, "architecture": "amd64", "operatingSystem": "linux"},
        "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "kubelet is posting ready status"}],
    }});
    cluster
        .call(Method::PATCH, &format!("{path}/status"), status)
        .await
        .map(|_| ())
}

/// Installs Karmada's objects on the host cluster; its pods run on `node`.
pub(crate) async fn install_karmada(
    host: &dyn Objects,
    node: &str,
    port: u16,
) -> Result<(), Refusal> {
    let namespace =
        json!({"metadata": {"name": SYSTEM, "labels": {"kubernetes.io/metadata.name": SYSTEM}}});
    host.call(Method::POST, "/api/v1/namespaces", namespace)
        .await?;
    let service = json!({
        "metadata": {"name": "karmada-apiserver", "labels": labels("karmada-apiserver")},
        "spec": {
            "type": "NodePort", "selector": labels("karmada-apiserver"),
            "ports": [{"name": "karmada-apiserver-https", "port": 5443, "protocol": "TCP", "targetPort": 5443, "nodePort": port}],
        },
    });
    host.call(
        Method::POST,
        &format!("/api/v1/namespaces/{SYSTEM}/services"),
        service,
    )
    .await?;
    for (component, image) in COMPONENTS {
        let container = json!({"name": component, "image": image});
        let deployment = json!({
            "metadata": {"name": component, "labels": labels(component)},
            "spec": {
                "replicas": 1, "selector": {"matchLabels": labels(component)},
                "template": {"metadata": {"labels": labels(component)}, "spec": {"containers": [container]}},
            },
        });
        host.call(
            Method::POST,
            &format!("/apis/apps/v1/namespaces/{SYSTEM}/deployments"),
            deployment,
        )
        .await?;
        start_pod(host, component, image, node).await?;
    }
    Ok(())
}

/// Replaces the pods of a component by a new one on `node`.
pub(crate) async fn replace_pod(
    host: &dyn Objects,
    component: &str,
    node: &str,
) -> Result<(), Refusal> {
    let image = COMPONENTS
        .iter()
        .find(|(name, _)| *name == component)
        .map_or("", |(_, image)| image);
    let selector = format!(
        "/api/v1/namespaces/{SYSTEM}/pods?labelSelector=app%3D{component}&gracePeriodSeconds=0"
    );
    host.call(Method::DELETE, &selector, Value::Null).await?;
    start_pod(host, component, image, node).await
}

async fn start_pod(
    host: &dyn Objects,
    component: &str,
    image: &str,
    node: &str,
) -> Result<(), Refusal> {
    let name = format!(
        "{component}-{}-{}",
        crate::random::hexadecimal(9),
        crate::random::hexadecimal(5)
    );
    let path = format!("/api/v1/namespaces/{SYSTEM}/pods");
    let pod = json!({
        "metadata": {"name": name, "labels": labels(component)},
        "spec": {"nodeName": node, "containers": [{"name": component, "image": image}]},
    });
    host.call(Method::POST, &path, pod).await?;
    let status = json!({"status": {
        "phase": "Running", "conditions": [{"type": "Ready", "status": "True"}],
        "containerStatuses": [{"name": component, "image": image, "ready": true, "restartCount": 0}],
    }});
    host.call(Method::PATCH, &format!("{path}/{name}/status"), status)
        .await
        .map(|_| ())
}

/// The namespace of Karmada's components.
pub(crate) const SYSTEM: &str = "karmada-system";
/// The component that acts on members.
pub(crate) const CONTROLLER_MANAGER: &str = "karmada-controller-manager";

fn labels(component: &str) -> Value {
    json!({"app": component})
}

const COMPONENTS: &[(&str, &str)] = &[
    (
        "karmada-aggregated-apiserver",
        "karmada/karmada-aggregated-apiserver:v1.18.2",
    ),
    ("karmada-apiserver", "kube-apiserver:v1.31.3"),
    (
        CONTROLLER_MANAGER,
        "karmada/karmada-controller-manager:v1.18.2",
    ),
    (
        "karmada-kube-controller-manager",
        "kube-controller-manager:v1.31.3",
    ),
    ("karmada-scheduler", "karmada/karmada-scheduler:v1.18.2"),
    ("karmada-webhook", "karmada/karmada-webhook:v1.18.2"),
];
