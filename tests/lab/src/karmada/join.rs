//! What `karmadactl join` leaves behind in a member and in the control plane.

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

/// Creates the namespaces that the control plane keeps for its members.
pub(crate) async fn prepare_control_plane(control_plane: &dyn Objects) -> Result<(), Refusal> {
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
    let service = json!({
        "metadata": {"name": "v1alpha1.cluster.karmada.io"},
        "spec": {
            "group": "cluster.karmada.io", "version": "v1alpha1", "groupPriorityMinimum": 2000, "versionPriority": 10,
            "service": {"name": "karmada-aggregated-apiserver", "namespace": "karmada-system", "port": 443},
        },
    });
    let path = "/apis/apiregistration.k8s.io/v1/apiservices";
    control_plane.call(Method::POST, path, service).await?;
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
        secrets.push(
            member
                .call(
                    Method::POST,
                    &format!("/api/v1/namespaces/{NAMESPACE}/secrets"),
                    secret,
                )
                .await?,
        );
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

const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";
