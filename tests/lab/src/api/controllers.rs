//! What kube-controller-manager does in a cluster, done at once: token Secrets, garbage collection, emptied
//! namespaces, the pods and status of workloads. Pure over the store.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::{Value, json};

use super::kinds::{self, Kind};
use super::store::{Key, Store};
use super::workloads;
use crate::cluster_contents::SYSTEM;
use crate::karmada::join::AGENT;

/// What the controllers know about their cluster.
#[derive(Debug, Clone)]
pub(crate) struct Surroundings {
    /// PEM of the authority of the cluster, which goes into token Secrets.
    pub(crate) authority: String,
    /// Whether the Deployments of Karmada itself are rolled out at once; elsewhere somebody else does it.
    pub(crate) rolls_out: bool,
    /// Whether workloads get pods; a Karmada control plane has workloads that are templates alone.
    pub(crate) runs_pods: bool,
}

impl Surroundings {
    /// Whether somebody else rolls the workload out.
    fn leaves_alone(&self, resource: &str, workload: &Value) -> bool {
        let metadata = &workload["metadata"];
        let is_of_karmada = resource == "deployments" && metadata["namespace"] == SYSTEM;
        is_of_karmada && (!self.rolls_out || metadata["name"] == AGENT)
    }
}

/// Reacts to an object that was created or changed.
pub(crate) fn after_write(
    store: &mut Store,
    surroundings: &Surroundings,
    kind: &'static Kind,
    object: &Value,
) {
    match (kind.group, kind.resource) {
        ("", "secrets") if object["type"] == SERVICE_ACCOUNT_TOKEN => {
            fill_token(store, surroundings, kind, object)
        }
        ("apps", resource) if !surroundings.leaves_alone(resource, object) => {
            workloads::roll_out(store, kind, object, surroundings.runs_pods);
        }
        ("", "serviceaccounts") => fill_waiting_tokens(store, surroundings, object),
        _ => {}
    }
}

/// Reacts to an object that is gone.
pub(crate) fn after_delete(store: &mut Store, kind: &'static Kind, object: &Value) {
    let uid = &object["metadata"]["uid"];
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    let namespace = object["metadata"]["namespace"].as_str().unwrap_or_default();
    let doomed: Vec<Key> = store
        .all()
        .filter(|(key, other)| {
            let owners = other["metadata"]["ownerReferences"].as_array();
            let orphan = owners.is_some_and(|owners| owners.len() == 1 && owners[0]["uid"] == *uid);
            let emptied = kind.resource == "namespaces" && key.namespace == name;
            let token = kind.resource == "serviceaccounts"
                && key.namespace == namespace
                && other["type"] == SERVICE_ACCOUNT_TOKEN
                && other["metadata"]["annotations"]["kubernetes.io/service-account.name"] == name;
            orphan || emptied || token
        })
        .map(|(key, _)| key.clone())
        .collect();
    for key in doomed {
        let Some(kind) = kinds::of(kinds::Role::ControlPlane).find(|kind| key.is_of(kind)) else {
            continue;
        };
        if let Some(object) = store.remove(kind, &key) {
            after_delete(store, kind, &object);
        }
    }
}

/// The claims of a service-account token as issued by this lab's clusters, signed by nobody.
pub(crate) fn token(namespace: &str, account: &str, secret: &str) -> String {
    let part = |value: Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let header = json!({"alg": "RS256", "kid": "lab"});
    let claims = json!({
        "iss": "kubernetes/serviceaccount",
        "kubernetes.io/serviceaccount/namespace": namespace,
        "kubernetes.io/serviceaccount/secret.name": secret,
        "kubernetes.io/serviceaccount/service-account.name": account,
        "sub": format!("system:serviceaccount:{namespace}:{account}"),
    });
    format!(
        "{}.{}.{}",
        part(header),
        part(claims),
        URL_SAFE_NO_PAD.encode(crate::random::hexadecimal(64))
    )
}

/// The type of Secrets that the token controller fills.
pub(crate) const SERVICE_ACCOUNT_TOKEN: &str = "kubernetes.io/service-account-token";

fn fill_token(store: &mut Store, surroundings: &Surroundings, kind: &'static Kind, secret: &Value) {
    let text = |path: &str| {
        secret
            .pointer(path)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let (namespace, name) = (text("/metadata/namespace"), text("/metadata/name"));
    let account = text("/metadata/annotations/kubernetes.io~1service-account.name");
    let exists = store
        .read(&Key::new(
            kinds::known("", "serviceaccounts"),
            &namespace,
            &account,
        ))
        .is_some();
    if !exists || !secret["data"]["token"].is_null() {
        return;
    }
    let mut filled = secret.clone();
    filled["data"] = json!({
        "ca.crt": STANDARD.encode(&surroundings.authority),
        "namespace": STANDARD.encode(&namespace),
        "token": STANDARD.encode(token(&namespace, &account, &name)),
    });
    store.write(kind, Key::new(kind, &namespace, &name), filled);
}

fn fill_waiting_tokens(store: &mut Store, surroundings: &Surroundings, account: &Value) {
    let namespace = account["metadata"]["namespace"]
        .as_str()
        .unwrap_or_default();
    let secrets = kinds::known("", "secrets");
    let waiting: Vec<Value> = store
        .list(secrets, Some(namespace))
        .filter(|secret| {
            secret["type"] == SERVICE_ACCOUNT_TOKEN
                && secret["metadata"]["annotations"]["kubernetes.io/service-account.name"]
                    == account["metadata"]["name"]
        })
        .cloned()
        .collect();
    for secret in waiting {
        fill_token(store, surroundings, secrets, &secret);
    }
}
