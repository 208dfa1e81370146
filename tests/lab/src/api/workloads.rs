//! What the controllers and kubelets behind Deployments, StatefulSets and DaemonSets do, done at once: new pods for a new
//! template, and a status. Pure.

use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::{Value, json};

use super::kinds::{self, Kind};
use super::registry::now;
use super::store::{Key, Store};

/// Rolls the workload out if its generation was not observed yet.
pub(crate) fn roll_out(store: &mut Store, kind: &'static Kind, workload: &Value, with_pods: bool) {
    if workload["status"]["observedGeneration"] == workload["metadata"]["generation"] {
        return;
    }
    let node = store
        .list(kinds::known("", "nodes"), None)
        .find_map(|node| node["metadata"]["name"].as_str().map(str::to_owned))
        .unwrap_or_default();
    if with_pods && workload["spec"]["paused"] != true {
        replace_pods(store, workload, &node);
    }
    let mut rolled = workload.clone();
    rolled["status"] = status(workload);
    store.write(kind, key(kind, workload), rolled);
}

/// How many pods the workload is to have; a DaemonSet has one, as there is one node.
fn replicas(workload: &Value) -> u64 {
    match workload["kind"].as_str() {
        Some("DaemonSet") => 1,
        _ => workload["spec"]["replicas"].as_u64().unwrap_or(1),
    }
}

/// The status of a workload that is rolled out.
pub(crate) fn status(workload: &Value) -> Value {
    let replicas = replicas(workload);
    let generation = &workload["metadata"]["generation"];
    match workload["kind"].as_str() {
        Some("StatefulSet") => json!({
            "observedGeneration": generation, "replicas": replicas, "updatedReplicas": replicas,
            "readyReplicas": replicas, "availableReplicas": replicas, "currentReplicas": replicas,
            "currentRevision": revision(workload), "updateRevision": revision(workload), "collisionCount": 0,
        }),
        Some("DaemonSet") => json!({
            "observedGeneration": generation, "currentNumberScheduled": replicas, "desiredNumberScheduled": replicas,
            "updatedNumberScheduled": replicas, "numberAvailable": replicas, "numberReady": replicas,
            "numberMisscheduled": 0,
        }),
        _ => json!({
            "observedGeneration": generation, "replicas": replicas, "updatedReplicas": replicas,
            "readyReplicas": replicas, "availableReplicas": replicas,
            "conditions": [
                {"type": "Available", "status": "True", "reason": "MinimumReplicasAvailable", "message": "Deployment has minimum availability."},
                {"type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable", "message": "ReplicaSet has successfully progressed."},
            ],
        }),
    }
}

/// The pods that have another template go, and those that are missing come.
fn replace_pods(store: &mut Store, workload: &Value, node: &str) {
    let pods = kinds::known("", "pods");
    let all = store.list(pods, Some(text(workload, "namespace")));
    let change = change(workload, all.cloned(), node);
    for pod in &change.gone {
        store.remove(pods, &key(pods, pod));
    }
    for pod in change.new {
        store.write(pods, key(pods, &pod), pod);
    }
}

/// Which pods go and which come.
pub(crate) struct Change {
    pub(crate) gone: Vec<Value>,
    pub(crate) new: Vec<Value>,
}

/// What a roll-out does to the pods of the workload's namespace; `node` is the node of new ones.
pub(crate) fn change(
    workload: &Value,
    pods: impl IntoIterator<Item = Value>,
    node: &str,
) -> Change {
    let revision = revision(workload);
    let keeps_old_ones = workload["spec"]["updateStrategy"]["type"] == "OnDelete";
    let (mut kept, mut gone): (Vec<_>, Vec<_>) = pods
        .into_iter()
        .filter(|pod| pod["metadata"]["ownerReferences"][0]["uid"] == workload["metadata"]["uid"])
        .partition(|pod| keeps_old_ones || pod["metadata"]["labels"][REVISION] == *revision);
    let wanted = usize::try_from(replicas(workload)).unwrap_or_default();
    gone.extend(kept.split_off(wanted.min(kept.len())));
    Change {
        gone,
        new: (kept.len()..wanted)
            .map(|index| pod(workload, index, node))
            .collect(),
    }
}

/// A pod of the workload, ready.
fn pod(workload: &Value, index: usize, node: &str) -> Value {
    let (name, template) = (text(workload, "name"), &workload["spec"]["template"]);
    let name = match workload["kind"].as_str() {
        Some("StatefulSet") => format!("{name}-{index}"),
        Some("DaemonSet") => format!("{name}-{}", crate::random::hexadecimal(5)),
        _ => format!(
            "{name}-{}-{}",
            revision(workload),
            crate::random::hexadecimal(5)
        ),
    };
    let mut labels = template["metadata"]["labels"].clone();
    labels[REVISION] = json!(revision(workload));
    let mut spec = template["spec"].clone();
    spec["nodeName"] = json!(node);
    let containers = spec["containers"].as_array().into_iter().flatten();
    let ready: Vec<Value> = containers
        .map(|container| {
            json!({
                "name": container["name"], "image": container["image"], "ready": true, "restartCount": 0,
                "state": {"running": {"startedAt": now()}},
            })
        })
        .collect();
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": name, "namespace": workload["metadata"]["namespace"], "uid": crate::random::uuid(),
            "creationTimestamp": now(), "labels": labels, "annotations": template["metadata"]["annotations"],
            "ownerReferences": [{
                "apiVersion": workload["apiVersion"], "kind": workload["kind"], "name": workload["metadata"]["name"],
                "uid": workload["metadata"]["uid"], "controller": true,
            }],
        },
        "spec": spec,
        "status": {
            "phase": "Running", "conditions": [{"type": "Ready", "status": "True"}], "containerStatuses": ready,
        },
    })
}

/// What tells pods of one template from those of another.
fn revision(workload: &Value) -> String {
    let mut hasher = DefaultHasher::new();
    workload["spec"]["template"].to_string().hash(&mut hasher);
    format!("{:010x}", hasher.finish() & 0xff_ffff_ffff)
}

fn key(kind: &'static Kind, object: &Value) -> Key {
    Key::new(kind, text(object, "namespace"), text(object, "name"))
}

fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    object["metadata"][field].as_str().unwrap_or_default()
}

const REVISION: &str = "pod-template-hash";
