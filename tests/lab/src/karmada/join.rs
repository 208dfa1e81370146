//! What `karmadactl join` leaves behind in a member and in the control plane.

use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::Method;
use serde_json::{Value, json};

use super::objects::{CLUSTERS, Objects};
use crate::api::refusal::Refusal;

/// A member about to be joined.
pub(crate) struct Joining<'a> {
    pub(crate) name: &'a str,
    pub(crate) endpoint: &'a str,
    /// `Push` or `Pull`.
    pub(crate) mode: &'static str,
    /// The value of an additional `kubeconfig` key of the Secret.
    pub(crate) kubeconfig: Option<&'a str>,
}

/// Joins the member behind `member` to the control plane behind `control_plane`.
pub(crate) async fn join(
    joining: &Joining<'_>,
    member: &dyn Objects,
    control_plane: &dyn Objects,
) -> Result<(), Refusal> {
    let credentials = prepare_member(joining, member).await?;
    if joining.mode == "Pull" {
        deploy_agent(joining, member).await?;
    }
    let kube_system = member
        .call(Method::GET, "/api/v1/namespaces/kube-system", Value::Null)
        .await?;
    register(
        joining,
        &credentials,
        &kube_system["metadata"]["uid"],
        control_plane,
    )
    .await
}

/// How the control plane finds Karmada's aggregated API server.
pub(crate) struct Aggregation {
    /// What the Service stands for.
    pub(crate) external_name: String,
    pub(crate) port: u16,
    /// PEM; `None` = nobody looks.
    pub(crate) authority: Option<String>,
    /// Whether the API server finds out by itself that the aggregated one answers.
    pub(crate) is_probed: bool,
}

impl Default for Aggregation {
    fn default() -> Self {
        Self {
            external_name: "karmada-aggregated-apiserver.karmada-system.svc.cluster.local"
                .to_owned(),
            port: 443,
            authority: None,
            is_probed: false,
        }
    }
}

/// Creates what the control plane keeps for its members.
pub(crate) async fn prepare_control_plane(
    control_plane: &dyn Objects,
    aggregation: &Aggregation,
) -> Result<(), Refusal> {
    for name in [NAMESPACE, "karmada-system"] {
        let namespace = json!({"metadata": {"name": name, "labels": system_labels()}});
        control_plane
            .call(Method::POST, "/api/v1/namespaces", namespace)
            .await?;
    }
    let admin = json!({
        "metadata": {"name": "karmada-cluster-proxy-admin"},
        "rules": [{"apiGroups": ["cluster.karmada.io"], "resources": ["clusters/proxy"], "verbs": ["*"]}],
    });
    control_plane
        .call(Method::POST, &format!("{RBAC}/clusterroles"), admin)
        .await?;
    let binding = json!({
        "metadata": {"name": "karmada-cluster-proxy-admin"},
        "roleRef": {"kind": "ClusterRole", "name": "karmada-cluster-proxy-admin"},
        "subjects": [{"kind": "User", "name": "system:admin"}],
    });
    control_plane
        .call(
            Method::POST,
            &format!("{RBAC}/clusterrolebindings"),
            binding,
        )
        .await?;
    register_aggregated(control_plane, aggregation).await
}

async fn register_aggregated(
    control_plane: &dyn Objects,
    aggregation: &Aggregation,
) -> Result<(), Refusal> {
    let service = json!({
        "metadata": {"name": "karmada-aggregated-apiserver"},
        "spec": {"type": "ExternalName", "externalName": aggregation.external_name},
    });
    control_plane
        .call(
            Method::POST,
            "/api/v1/namespaces/karmada-system/services",
            service,
        )
        .await?;
    let mut service = json!({
        "metadata": {"name": "v1alpha1.cluster.karmada.io"},
        "spec": {
            "group": "cluster.karmada.io", "version": "v1alpha1", "groupPriorityMinimum": 2000, "versionPriority": 10,
            "service": {"name": "karmada-aggregated-apiserver", "namespace": "karmada-system", "port": aggregation.port},
        },
    });
    if let Some(authority) = &aggregation.authority {
        service["spec"]["caBundle"] = json!(STANDARD.encode(authority));
    }
    let path = "/apis/apiregistration.k8s.io/v1/apiservices";
    control_plane.call(Method::POST, path, service).await?;
    if aggregation.is_probed {
        return served(control_plane).await;
    }
    let available = json!({"status": {"conditions": [{
        "type": "Available", "status": "True", "reason": "Passed", "message": "all checks passed",
    }]}});
    control_plane
        .call(
            Method::PATCH,
            &format!("{path}/v1alpha1.cluster.karmada.io/status"),
            available,
        )
        .await?;
    Ok(())
}

/// Waits until the Clusters are served: the aggregator takes its time.
async fn served(control_plane: &dyn Objects) -> Result<(), Refusal> {
    let deadline = Instant::now() + AGGREGATION;
    loop {
        match control_plane.call(Method::GET, CLUSTERS, Value::Null).await {
            Ok(_) => return Ok(()),
            Err(refusal) if Instant::now() >= deadline => return Err(refusal),
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
}

/// The namespace of the credentials, in members and in the control plane.
pub(crate) const NAMESPACE: &str = "karmada-cluster";

struct Credentials {
    /// Base64 as in Secrets.
    authority: Value,
    token: Value,
    impersonator: Value,
}

async fn prepare_member(
    joining: &Joining<'_>,
    member: &dyn Objects,
) -> Result<Credentials, Refusal> {
    let name = joining.name;
    let account = format!("karmada-{name}");
    let namespace = json!({"metadata": {"name": NAMESPACE, "labels": system_labels()}});
    member
        .call(Method::POST, "/api/v1/namespaces", namespace)
        .await?;
    let mut secrets = Vec::new();
    for account in ["karmada-impersonator", account.as_str()] {
        let object = json!({"metadata": {"name": account, "labels": system_labels()}});
        member
            .call(
                Method::POST,
                &format!("/api/v1/namespaces/{NAMESPACE}/serviceaccounts"),
                object,
            )
            .await?;
        let secret = json!({
            "metadata": {"name": account, "annotations": {"kubernetes.io/service-account.name": account}},
            "type": "kubernetes.io/service-account-token",
        });
        let path = format!("/api/v1/namespaces/{NAMESPACE}/secrets");
        member.call(Method::POST, &path, secret).await?;
        secrets.push(filled(member, &format!("{path}/{account}")).await?);
    }
    let role = format!("karmada-controller-manager:karmada-{name}");
    let everything = json!([
        {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]},
        {"nonResourceURLs": ["*"], "verbs": ["get"]},
    ]);
    grant(member, &role, everything, &account).await?;
    let data = |secret: &Value, key: &str| secret["data"][key].clone();
    Ok(Credentials {
        authority: data(&secrets[1], "ca.crt"),
        token: data(&secrets[1], "token"),
        impersonator: data(&secrets[0], "token"),
    })
}

/// The Secret, once a token was put into it.
async fn filled(member: &dyn Objects, path: &str) -> Result<Value, Refusal> {
    let deadline = Instant::now() + TOKEN;
    loop {
        let secret = member.call(Method::GET, path, Value::Null).await?;
        if secret["data"]["token"].is_string() {
            return Ok(secret);
        }
        if Instant::now() >= deadline {
            let message = format!("no token came into {path} within {TOKEN:?}");
            return Err(Refusal::new(504, "Timeout", message));
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

async fn grant(
    member: &dyn Objects,
    role: &str,
    rules: Value,
    account: &str,
) -> Result<(), Refusal> {
    let object = json!({"metadata": {"name": role, "labels": system_labels()}, "rules": rules});
    member
        .call(Method::POST, &format!("{RBAC}/clusterroles"), object)
        .await?;
    let binding = json!({
        "metadata": {"name": role, "labels": system_labels()},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
        "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": NAMESPACE}],
    });
    member
        .call(
            Method::POST,
            &format!("{RBAC}/clusterrolebindings"),
            binding,
        )
        .await
        .map(|_| ())
}

/// The Deployment of `karmadactl register`.
async fn deploy_agent(joining: &Joining<'_>, member: &dyn Objects) -> Result<(), Refusal> {
    let namespace = json!({"metadata": {"name": "karmada-system", "labels": system_labels()}});
    member
        .call(Method::POST, "/api/v1/namespaces", namespace)
        .await?;
    let labels = json!({"app": AGENT});
    let container = json!({
        "name": AGENT, "image": "karmada/karmada-agent:v1.18.2",
        "command": [
            "/bin/karmada-agent", "--karmada-kubeconfig=/etc/kubeconfig/karmada-kubeconfig",
            format!("--cluster-name={}", joining.name), format!("--cluster-api-endpoint={}", joining.endpoint),
            "--controllers=*", "--cluster-status-update-frequency=10s", "--v=4",
        ],
    });
    let deployment = json!({
        "metadata": {"name": AGENT, "labels": labels},
        "spec": {
            "replicas": 1, "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    });
    let path = "/apis/apps/v1/namespaces/karmada-system/deployments";
    member.call(Method::POST, path, deployment).await?;
    Ok(())
}

/// The name of an agent's Deployment and container.
pub(crate) const AGENT: &str = "karmada-agent";

async fn register(
    joining: &Joining<'_>,
    credentials: &Credentials,
    id: &Value,
    control_plane: &dyn Objects,
) -> Result<(), Refusal> {
    let name = joining.name;
    let impersonator = format!("{name}-impersonator");
    let cluster = json!({
        "metadata": {"name": name},
        "spec": {
            "syncMode": joining.mode, "apiEndpoint": joining.endpoint, "id": id,
            "secretRef": {"namespace": NAMESPACE, "name": name},
            "impersonatorSecretRef": {"namespace": NAMESPACE, "name": impersonator},
        },
    });
    let cluster = control_plane.call(Method::POST, CLUSTERS, cluster).await?;
    let owner = json!([{
        "apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "name": name, "uid": cluster["metadata"]["uid"],
        "controller": true, "blockOwnerDeletion": true,
    }]);
    let metadata =
        |name: &str| json!({"name": name, "labels": system_labels(), "ownerReferences": owner});
    let mut secret = json!({"metadata": metadata(name), "data": {"caBundle": credentials.authority, "token": credentials.token}});
    if let Some(kubeconfig) = joining.kubeconfig {
        secret["stringData"] = json!({"kubeconfig": kubeconfig});
    }
    let path = format!("/api/v1/namespaces/{NAMESPACE}/secrets");
    control_plane.call(Method::POST, &path, secret).await?;
    let secret =
        json!({"metadata": metadata(&impersonator), "data": {"token": credentials.impersonator}});
    control_plane.call(Method::POST, &path, secret).await?;
    let space =
        json!({"metadata": {"name": format!("karmada-es-{name}"), "labels": system_labels()}});
    control_plane
        .call(Method::POST, "/api/v1/namespaces", space)
        .await
        .map(|_| ())
}

fn system_labels() -> Value {
    json!({"karmada.io/system": "true"})
}

/// How long a token may take to come into its Secret.
const TOKEN: Duration = Duration::from_secs(20);
/// How long the aggregator may take to serve a group.
const AGGREGATION: Duration = Duration::from_secs(30);
const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";
