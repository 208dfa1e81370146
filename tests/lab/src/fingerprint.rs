//! What somebody might have changed in a federation, in a form that can be compared.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::{Map, Value, json};

use crate::lab::{Cluster, Lab};

/// The fingerprint of everything a plugin may write.
pub(crate) fn of(lab: &dyn Lab) -> BTreeMap<String, Value> {
    let mut found = BTreeMap::new();
    let control_plane = lab.control_plane();
    collect(&mut found, &*control_plane, CONTROL_PLANE);
    for name in joined(lab) {
        let works = format!("/apis/work.karmada.io/v1alpha1/namespaces/karmada-es-{name}/works");
        collect(&mut found, &*control_plane, &[works.as_str()]);
    }
    collect(&mut found, &*lab.host(), HOST);
    for member in &lab.spec().members {
        collect(&mut found, &*lab.member(member.name()), MEMBER);
    }
    let docker = lab.docker();
    for container in docker.names() {
        let networks: BTreeMap<String, String> = docker
            .networks(&container)
            .into_iter()
            .map(|network| {
                let address = docker.address(&container, &network);
                let address = address.map_or_else(String::new, |address| address.to_string());
                (network, address)
            })
            .collect();
        let state = docker
            .state(&container)
            .map_or("gone", |state| state.word());
        found.insert(
            format!("docker container {container}"),
            json!({"state": state, "networks": networks}),
        );
    }
    found
}

fn joined(lab: &dyn Lab) -> impl Iterator<Item = &str> {
    let members = lab.spec().members.iter();
    members
        .filter(|member| member.joined)
        .map(|member| member.name())
}

fn collect(found: &mut BTreeMap<String, Value>, cluster: &dyn Cluster, paths: &[&str]) {
    for path in paths {
        let list = match cluster.read(path) {
            Ok(list) => list,
            Err(refusal) => {
                found.insert(format!("{} {path}", cluster.name()), json!(refusal.code));
                continue;
            }
        };
        for object in list["items"].as_array().into_iter().flatten() {
            let metadata = &object["metadata"];
            if delivered(metadata) {
                continue;
            }
            let name = metadata["name"].as_str().unwrap_or_default();
            found.insert(
                format!("{} {path}/{name}", cluster.name()),
                distinctive(object),
            );
        }
    }
}

/// Whether Karmada delivered the object, at a time of its own.
fn delivered(metadata: &Value) -> bool {
    metadata["labels"]["karmada.io/managed"] == "true"
}

fn distinctive(object: &Value) -> Value {
    let mut kept = Map::new();
    for (name, value) in object.as_object().into_iter().flatten() {
        let value = match name.as_str() {
            "apiVersion" | "kind" | "status" => continue,
            "metadata" => json!({
                "uid": value["uid"], "labels": value["labels"], "annotations": annotations(value),
                "ownerReferences": value["ownerReferences"], "finalizers": value["finalizers"],
                "deleting": value["deletionTimestamp"].is_string(), "managers": managers(value),
            }),
            "data" => json!(digests(value)),
            "spec" => {
                let mut spec = value.clone();
                if let Some(fields) = spec.as_object_mut() {
                    fields.remove("taints");
                }
                spec
            }
            _ => value.clone(),
        };
        kept.insert(name.clone(), value);
    }
    Value::Object(kept)
}

/// The annotations without those that the Deployment controller keeps.
fn annotations(metadata: &Value) -> Value {
    let mut annotations = metadata["annotations"].clone();
    if let Some(fields) = annotations.as_object_mut() {
        fields.remove("deployment.kubernetes.io/revision");
    }
    annotations
}

/// Who wrote the object, without Karmada's own components and with the time of their last write.
fn managers(metadata: &Value) -> Vec<Value> {
    let entries = metadata["managedFields"].as_array().into_iter().flatten();
    let foreign = entries.filter(|entry| {
        let manager = entry["manager"].as_str().unwrap_or_default();
        !OWN_MANAGERS.contains(&manager)
    });
    foreign
        .map(|entry| json!([entry["manager"], entry["operation"], entry["time"]]))
        .collect()
}

fn digests(data: &Value) -> BTreeMap<&str, String> {
    let entries = data.as_object().into_iter().flatten();
    entries
        .map(|(key, value)| {
            let mut hasher = DefaultHasher::new();
            value.to_string().hash(&mut hasher);
            (key.as_str(), format!("{:016x}", hasher.finish()))
        })
        .collect()
}

const OWN_MANAGERS: &[&str] = &["controller-manager", "k3s"];
const CONTROL_PLANE: &[&str] = &[
    "/apis/cluster.karmada.io/v1alpha1/clusters",
    "/api/v1/namespaces/karmada-cluster/secrets",
    "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
    "/apis/apiregistration.k8s.io/v1/apiservices",
];
const HOST: &[&str] = &[
    "/apis/apps/v1/namespaces/karmada-system/deployments",
    "/api/v1/namespaces/karmada-system/secrets",
    "/api/v1/namespaces/karmada-system/services",
];
const MEMBER: &[&str] = &[
    "/api/v1/namespaces/karmada-cluster/secrets",
    "/api/v1/namespaces/karmada-cluster/serviceaccounts",
    "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
];
