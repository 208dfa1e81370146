//! What a plugin could have changed, and how scenarios change it themselves.

use std::collections::{BTreeMap, BTreeSet};

use karmada_lab::Lab;
use serde_json::Value;

use crate::said::Said;

/// What a plugin may write, by the name of the object.
pub type State = BTreeMap<String, Value>;

/// Everything that a plugin may write; equal before and after means that nothing was written.
pub fn of(lab: &dyn Lab) -> State {
    lab.state()
}

/// What an undo restores: all of that but the traces of writing, and restarts, which cannot be taken back.
pub fn restorable(lab: &dyn Lab) -> State {
    let mut state = of(lab);
    state.retain(|name, _| !name.contains("/deployments/"));
    for object in state.values_mut() {
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.remove("managers");
        }
    }
    state
}

/// Both states are equal.
#[track_caller]
pub fn is_same(now: &State, before: &State, said: &Said) {
    let names: BTreeSet<&String> = now.keys().chain(before.keys()).collect();
    for name in names {
        assert_eq!(now.get(name), before.get(name), "{name} after {said}");
    }
}

/// What an undo restores becomes equal to what it was, once Karmada's own controllers have followed.
#[track_caller]
pub fn returns_to(lab: &dyn Lab, before: &State, said: &Said) {
    lab.wait_for(lab.patience(), || restorable(lab) == *before);
    is_same(&restorable(lab), before, said);
}

/// A Cluster as it stands.
pub fn cluster(lab: &dyn Lab, cluster: &str) -> Value {
    lab.control_plane().read(&cluster_path(cluster)).unwrap()
}

/// The annotations of a Cluster.
pub fn annotations(lab: &dyn Lab, cluster: &str) -> Value {
    self::cluster(lab, cluster)["metadata"]["annotations"].clone()
}

/// Whether the condition `Ready` of a Cluster is `True`.
pub fn is_ready(lab: &dyn Lab, cluster: &str) -> bool {
    lab.readiness(cluster)
        .is_some_and(|ready| ready["status"] == "True")
}

/// Waits until the condition `Ready` of a Cluster is no longer `True`.
#[track_caller]
pub fn wait_unready(lab: &dyn Lab, cluster: &str) {
    assert!(
        lab.wait_for(lab.patience(), || !is_ready(lab, cluster)),
        "{cluster} stays Ready"
    );
}

/// Changes a Cluster by a merge patch.
pub fn patch_cluster(lab: &dyn Lab, cluster: &str, patch: &Value) {
    lab.control_plane()
        .patch(&cluster_path(cluster), patch)
        .unwrap();
}

/// The path of a Cluster in the API.
pub fn cluster_path(cluster: &str) -> String {
    format!("/apis/cluster.karmada.io/v1alpha1/clusters/{cluster}")
}

/// The path of a secret of a member.
pub fn secret_path(name: &str) -> String {
    format!("/api/v1/namespaces/karmada-cluster/secrets/{name}")
}
