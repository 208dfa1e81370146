//! Rights in members, bound by Works: a ClusterRoleBinding that Karmada delivers and keeps. Pure.
//!
//! A ClusterRoleBinding in the control plane would take effect there.

use karmada_repair::cluster::object::ObjectReference;
use serde::Serialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::account::{Account, RBAC_GROUP};
use crate::grant::slug;
use crate::observed::Applied;
use crate::rbac::{GRANTED_TO, MANAGED_BY, OWN, granted_to};

/// A Work of this plugin.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RoleWork {
    /// Its name.
    pub name: String,
    /// Its UID.
    pub uid: String,
    /// For whom it was made, as [`granted_to`] writes it.
    pub granted_to: String,
    /// Its condition `Applied`.
    pub applied: Applied,
    /// Whether it is on its way out.
    pub is_being_deleted: bool,
    /// The whole object.
    #[serde(skip)]
    pub object: Value,
}

/// The Work that binds a role to an account in one member.
pub fn work(cluster: &str, account: &Account, role: &str) -> (ObjectReference, Value) {
    let name = name(account, role);
    let namespace = namespace(cluster);
    let binding = json!({
        "apiVersion": format!("{RBAC_GROUP}/v1"),
        "kind": "ClusterRoleBinding",
        "metadata": {
            "name": name,
            // Without label and annotations Karmada would neither keep the object nor remove it.
            "labels": {"karmada.io/managed": "true", MANAGED_BY: OWN},
            "annotations": {"work.karmada.io/name": name, "work.karmada.io/namespace": namespace},
        },
        "roleRef": {"apiGroup": RBAC_GROUP, "kind": "ClusterRole", "name": role},
        "subjects": [account.bound_in_member()],
    });
    let manifest = json!({
        "apiVersion": WORK_VERSION,
        "kind": "Work",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": {MANAGED_BY: OWN},
            "annotations": {GRANTED_TO: granted_to(account)},
            // With it Karmada removes the object from the member before the Work goes.
            "finalizers": ["karmada.io/execution-controller"],
        },
        "spec": {"workload": {"manifests": [binding]}},
    });
    (reference(&namespace, &name), manifest)
}

/// The Work of this name.
pub fn reference(namespace: &str, name: &str) -> ObjectReference {
    ObjectReference {
        api_version: WORK_VERSION.to_owned(),
        kind: "Work".to_owned(),
        resource: "works".to_owned(),
        namespace: Some(namespace.to_owned()),
        name: name.to_owned(),
    }
}

/// The namespace of a member's Works.
pub fn namespace(cluster: &str) -> String {
    format!("karmada-es-{cluster}")
}

/// The name of the Work and of the binding that it carries.
pub fn name(account: &Account, role: &str) -> String {
    let subject = account.subject();
    let text = json!([account, role]).to_string();
    let hash = Sha256::digest(text.as_bytes());
    let digest: String = hash
        .iter()
        .take(4)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let parts = [
        "karmada-grant",
        &subject.kind,
        &slug(&subject.name),
        &slug(role),
        &digest,
    ];
    let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join("-").replace(['.', ':'], "-")
}

const WORK_VERSION: &str = "work.karmada.io/v1alpha1";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_account_of_the_control_plane_is_a_user_in_members() {
        let bot = Account::of_user_name("system:serviceaccount:ci:bot");
        let (object, manifest) = work("member1", &bot, "view");
        assert_eq!(object.namespace.as_deref(), Some("karmada-es-member1"));
        let binding = &manifest["spec"]["workload"]["manifests"][0];
        assert_eq!(
            binding["subjects"],
            json!([{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "system:serviceaccount:ci:bot"}])
        );
        assert_eq!(binding["metadata"]["labels"]["karmada.io/managed"], "true");
        assert_eq!(
            binding["metadata"]["annotations"]["work.karmada.io/name"],
            object.name
        );
    }

    #[test]
    fn names_are_those_of_namespaced_objects_and_differ() {
        let accounts = ["jane", "JANE", "日本", "a/b:c d", "system:admin"];
        let mut names = std::collections::BTreeSet::new();
        for account in accounts {
            for role in ["view", "edit", "system:node-reader"] {
                let name = name(&Account::of_user_name(account), role);
                let plain = |letter: char| {
                    letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-'
                };
                assert!(name.chars().all(plain) && name.len() < 200, "{name}");
                assert!(names.insert(name));
            }
        }
    }
}
