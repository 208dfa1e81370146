//! Karmada's unified authentication: who may use the cluster proxy in the control plane may be impersonated in members.

use std::collections::BTreeSet;

use http::Method;
use serde_json::{Value, json};

use super::join::NAMESPACE;
use super::objects::{CLUSTERS, Objects};

/// The controller, with what it has acted on. It hears of new clusters and of every change of roles and bindings, and not
/// of changes of a cluster.
#[derive(Default)]
pub(crate) struct UnifiedAuth {
    /// The UIDs of the clusters that were dealt with.
    clusters: BTreeSet<String>,
    /// The roles and bindings that were dealt with.
    seen: Vec<Value>,
}

impl UnifiedAuth {
    /// Makes or updates the two Works that carry the impersonator's rules, of every cluster that an event concerns.
    pub(crate) async fn reconcile(&mut self, objects: &dyn Objects) {
        let list = async |path: &str| -> Vec<Value> {
            let mut list = objects
                .call(Method::GET, path, Value::Null)
                .await
                .unwrap_or_default();
            list["items"]
                .as_array_mut()
                .map(std::mem::take)
                .unwrap_or_default()
        };
        let clusters = list(CLUSTERS).await;
        if clusters.is_empty() {
            return;
        }
        let roles = list("/apis/rbac.authorization.k8s.io/v1/clusterroles").await;
        let bindings = list("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings").await;
        let seen: Vec<Value> = roles.iter().chain(&bindings).map(substance).collect();
        if seen != self.seen {
            self.clusters.clear();
            self.seen = seen;
        }
        for cluster in &clusters {
            let uid = cluster["metadata"]["uid"].as_str().unwrap_or_default();
            if self.clusters.contains(uid) {
                continue;
            }
            // What cannot be written now is tried again at the next tick.
            if deal_with(objects, cluster, &roles, &bindings).await {
                self.clusters.insert(uid.to_owned());
            }
        }
    }
}

/// What of a role or binding makes a difference.
fn substance(object: &Value) -> Value {
    json!([
        object["metadata"]["name"],
        object["rules"],
        object["roleRef"],
        object["subjects"]
    ])
}

/// Writes the Works of one cluster; whether there is nothing left to do.
async fn deal_with(
    objects: &dyn Objects,
    cluster: &Value,
    roles: &[Value],
    bindings: &[Value],
) -> bool {
    if !cluster["spec"]["impersonatorSecretRef"].is_object() {
        return true;
    }
    let name = cluster["metadata"]["name"].as_str().unwrap_or_default();
    let rules = rules(name, roles, bindings);
    let mut done = true;
    for (name, manifest) in [(ROLE_WORK, role(rules)), (BINDING_WORK, binding(cluster))] {
        done &= apply(objects, cluster, name, manifest).await;
    }
    done
}

/// The rules of the impersonator in one member.
pub(crate) fn rules(cluster: &str, roles: &[Value], bindings: &[Value]) -> Value {
    let granting: BTreeSet<&str> = roles
        .iter()
        .filter(|role| {
            role["rules"]
                .as_array()
                .into_iter()
                .flatten()
                .any(|rule| grants_proxy(rule, cluster))
        })
        .filter_map(|role| role["metadata"]["name"].as_str())
        .collect();
    let subjects: Vec<&Value> = bindings
        .iter()
        .filter(|binding| {
            let reference = &binding["roleRef"];
            reference["kind"] == "ClusterRole"
                && reference["name"]
                    .as_str()
                    .is_some_and(|name| granting.contains(name))
        })
        .flat_map(|binding| binding["subjects"].as_array().into_iter().flatten())
        .collect();
    let rules: Vec<Value> = [("User", "users"), ("ServiceAccount", "serviceaccounts"), ("Group", "groups")]
        .into_iter()
        .filter_map(|(kind, resource)| {
            let names = subjects.iter().filter(|subject| subject["kind"] == kind).filter_map(|subject| subject["name"].as_str());
            let names: BTreeSet<&str> = names.collect();
            (!names.is_empty())
                .then(|| json!({"apiGroups": [""], "resources": [resource], "verbs": ["impersonate"], "resourceNames": names}))
        })
        .collect();
    json!(rules)
}

/// The Work of the ClusterRole; Karmada derives the name by a hash.
const ROLE_WORK: &str = "karmada-impersonator-7cbb6bd5c9";
/// The Work of the ClusterRoleBinding.
const BINDING_WORK: &str = "karmada-impersonator-84f8c8f8c6";

/// Verbs do not matter to Karmada.
fn grants_proxy(rule: &Value, cluster: &str) -> bool {
    let has = |field: &str, wanted: &str| {
        rule[field]
            .as_array()
            .into_iter()
            .flatten()
            .any(|value| value == "*" || value == wanted)
    };
    let named = rule["resourceNames"]
        .as_array()
        .filter(|names| !names.is_empty());
    let proxy = has("apiGroups", "cluster.karmada.io") && has("resources", "clusters/proxy");
    let search = has("apiGroups", "search.karmada.io") && has("resources", "proxying/proxy");
    (proxy && named.is_none_or(|names| names.iter().any(|name| name == cluster))) || search
}

fn role(rules: Value) -> Value {
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": {"name": "karmada-impersonator"}, "rules": rules,
    })
}

fn binding(cluster: &Value) -> Value {
    let namespace = cluster["spec"]["impersonatorSecretRef"]["namespace"]
        .as_str()
        .unwrap_or(NAMESPACE);
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
        "metadata": {"name": "karmada-impersonator"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "karmada-impersonator"},
        "subjects": [{"kind": "ServiceAccount", "name": "karmada-impersonator", "namespace": namespace}],
    })
}

/// Whether the Work is as it should be.
async fn apply(objects: &dyn Objects, cluster: &Value, name: &str, mut manifest: Value) -> bool {
    let owner = &cluster["metadata"];
    let namespace = format!("karmada-es-{}", owner["name"].as_str().unwrap_or_default());
    manifest["metadata"]["labels"] =
        json!({"karmada.io/managed": "true", "karmada.io/system": "true"});
    manifest["metadata"]["annotations"] = json!({
        "resourcetemplate.karmada.io/managed-annotations": "resourcetemplate.karmada.io/managed-annotations,resourcetemplate.karmada.io/managed-labels,resourcetemplate.karmada.io/uid,work.karmada.io/name,work.karmada.io/namespace",
        "resourcetemplate.karmada.io/managed-labels": "karmada.io/managed,karmada.io/system",
        "resourcetemplate.karmada.io/uid": "",
        "work.karmada.io/name": name,
        "work.karmada.io/namespace": namespace,
    });
    let collection = format!("/apis/work.karmada.io/v1alpha1/namespaces/{namespace}/works");
    let path = format!("{collection}/{name}");
    let spec = json!({"workload": {"manifests": [manifest]}});
    let written = match objects.call(Method::GET, &path, Value::Null).await {
        Ok(work) if work["spec"] == spec => return true,
        Ok(_) => {
            objects
                .call(Method::PATCH, &path, json!({"spec": spec}))
                .await
        }
        Err(_) => {
            let reference = json!({
                "apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "name": owner["name"], "uid": owner["uid"],
                "controller": true, "blockOwnerDeletion": true,
            });
            let metadata = json!({
                "name": name, "finalizers": ["karmada.io/execution-controller"], "ownerReferences": [reference],
            });
            objects
                .call(
                    Method::POST,
                    &collection,
                    json!({"metadata": metadata, "spec": spec}),
                )
                .await
        }
    };
    written.is_ok()
}
