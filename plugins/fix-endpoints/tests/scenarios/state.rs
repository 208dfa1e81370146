//! What a plugin could have changed, and how scenarios change it themselves.

use std::collections::{BTreeMap, BTreeSet};

use karmada_lab::Lab;
use serde_json::{Value, json};

use crate::said::Said;

/// What a plugin may write, by the name of the object.
pub(crate) type State = BTreeMap<String, Value>;

/// Everything that a plugin may write; equal before and after means that nothing was written.
pub(crate) fn of(lab: &dyn Lab) -> State {
    lab.state()
}

/// What an undo restores: all of that but the traces of writing, and restarts, which cannot be taken back.
pub(crate) fn restorable(lab: &dyn Lab) -> State {
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
pub(crate) fn is_same(now: &State, before: &State, said: &Said) {
    let names: BTreeSet<&String> = now.keys().chain(before.keys()).collect();
    for name in names {
        assert_eq!(now.get(name), before.get(name), "{name} after {said}");
    }
}

/// The endpoint of a Cluster.
pub(crate) fn endpoint(lab: &dyn Lab, cluster: &str) -> String {
    let cluster = cluster_of(lab, cluster);
    cluster["spec"]["apiEndpoint"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

/// The endpoint at which the first server of a member is dialled over its home network.
pub(crate) fn home_endpoint(lab: &dyn Lab, member: &str) -> String {
    let cluster = lab.spec().member(member);
    let (server, network) = (cluster.first_server(), cluster.home_network());
    let address = lab.docker().address(&server, &network).unwrap();
    format!("https://{address}:{}", cluster.api_port())
}

/// The annotations of a Cluster.
pub(crate) fn annotations(lab: &dyn Lab, cluster: &str) -> Value {
    cluster_of(lab, cluster)["metadata"]["annotations"].clone()
}

/// The note on a Cluster that delivery was never proven.
pub(crate) fn unproven(lab: &dyn Lab, cluster: &str) -> bool {
    annotations(lab, cluster)["karmada-repair/delivery-unproven"].is_string()
}

/// Whether the condition `Ready` of a Cluster is `True`.
pub(crate) fn is_ready(lab: &dyn Lab, cluster: &str) -> bool {
    lab.readiness(cluster)
        .is_some_and(|ready| ready["status"] == "True")
}

/// Waits until the condition `Ready` of a Cluster is no longer `True`.
#[track_caller]
pub(crate) fn wait_unready(lab: &dyn Lab, cluster: &str) {
    assert!(
        lab.wait_for(lab.patience(), || !is_ready(lab, cluster)),
        "{cluster} stays Ready"
    );
}

/// Changes a Cluster by a merge patch.
pub(crate) fn patch_cluster(lab: &dyn Lab, cluster: &str, patch: &Value) {
    lab.control_plane()
        .patch(&cluster_path(cluster), patch)
        .unwrap();
}

/// Changes the endpoint of a Cluster.
pub(crate) fn set_endpoint(lab: &dyn Lab, cluster: &str, endpoint: &str) {
    patch_cluster(lab, cluster, &json!({"spec": {"apiEndpoint": endpoint}}));
}

/// The path of a Cluster in the API.
pub(crate) fn cluster_path(cluster: &str) -> String {
    format!("/apis/cluster.karmada.io/v1alpha1/clusters/{cluster}")
}

/// The path of a secret of a member.
pub(crate) fn secret_path(name: &str) -> String {
    format!("/api/v1/namespaces/karmada-cluster/secrets/{name}")
}

fn cluster_of(lab: &dyn Lab, cluster: &str) -> Value {
    lab.control_plane().read(&cluster_path(cluster)).unwrap()
}
