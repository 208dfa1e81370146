//! What the API server does to objects of each kind before it stores them. Pure.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::kinds::Kind;
use super::refusal::Refusal;
use crate::karmada::validation;

/// Fills what the server fills on creation.
pub(crate) fn prepare_create(kind: &Kind, object: &mut Value) {
    leave_out_what_is_empty(object);
    match (kind.group, kind.resource) {
        ("", "secrets") => default_secret(object),
        ("", "namespaces") => {
            object["spec"] = json!({"finalizers": ["kubernetes"]});
            object["status"] = json!({"phase": "Active"});
        }
        ("", "services") => default_service(object),
        ("cluster.karmada.io", "clusters") => default_cluster(object),
        ("apps", resource) => default_workload(resource, &mut object["spec"]),
        ("rbac.authorization.k8s.io", "clusterrolebindings" | "rolebindings") => {
            default_subjects(object)
        }
        _ => {}
    }
    if kind.has_status() && kind.resource != "namespaces" && !kind.group.is_empty() {
        // Status is written through its own subresource alone.
        object.as_object_mut().map(|fields| fields.remove("status"));
    }
}

/// Fills what the server fills on update.
pub(crate) fn prepare_update(kind: &Kind, object: &mut Value) {
    leave_out_what_is_empty(object);
    match (kind.group, kind.resource) {
        ("", "secrets") => default_secret(object),
        ("rbac.authorization.k8s.io", "clusterrolebindings" | "rolebindings") => {
            default_subjects(object)
        }
        _ => {}
    }
}

/// Judges an object about to be stored.
pub(crate) fn validate(kind: &Kind, object: &Value) -> Result<(), Refusal> {
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    let causes = match (kind.group, kind.resource) {
        ("cluster.karmada.io", "clusters") => validation::cluster(object),
        ("", "secrets" | "configmaps") => data(object),
        _ => Vec::new(),
    };
    if causes.is_empty() {
        Ok(())
    } else {
        Err(Refusal::invalid(kind, name, &causes))
    }
}

/// Judges the change from `before` to `after`.
pub(crate) fn validate_update(kind: &Kind, before: &Value, after: &Value) -> Result<(), Refusal> {
    let name = before["metadata"]["name"].as_str().unwrap_or_default();
    let mut causes = Vec::new();
    for (field, text) in [
        ("name", "metadata.name"),
        ("namespace", "metadata.namespace"),
        ("uid", "metadata.uid"),
    ] {
        let (old, new) = (&before["metadata"][field], &after["metadata"][field]);
        if old != new {
            causes.push((
                text.to_owned(),
                format!("Invalid value: {new}: field is immutable"),
            ));
        }
    }
    match (kind.group, kind.resource) {
        ("rbac.authorization.k8s.io", "clusterrolebindings" | "rolebindings")
            if before["roleRef"] != after["roleRef"] =>
        {
            causes.push((
                "roleRef".to_owned(),
                format!("Invalid value: {}: cannot change roleRef", after["roleRef"]),
            ));
        }
        ("", "secrets") if before["type"] != after["type"] => {
            causes.push((
                "type".to_owned(),
                format!("Invalid value: {}: field is immutable", after["type"]),
            ));
        }
        ("", "secrets" | "configmaps")
            if before["immutable"] == true && before["data"] != after["data"] =>
        {
            causes.push((
                "data".to_owned(),
                "Forbidden: field is immutable when `immutable` is set".to_owned(),
            ));
        }
        _ => {}
    }
    if causes.is_empty() {
        validate(kind, after)
    } else {
        Err(Refusal::invalid(kind, name, &causes))
    }
}

/// Objects go through Go's types, whose `omitempty` drops empty maps and lists.
fn leave_out_what_is_empty(object: &mut Value) {
    let is_empty = |value: &Value| {
        value.as_object().is_some_and(serde_json::Map::is_empty)
            || value.as_array().is_some_and(Vec::is_empty)
    };
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.retain(|_, value| !is_empty(value));
    }
    if let Some(fields) = object.as_object_mut() {
        for name in ["data", "stringData"] {
            if fields.get(name).is_some_and(is_empty) {
                fields.remove(name);
            }
        }
    }
}

fn default_workload(resource: &str, spec: &mut Value) {
    let (field, strategy) = match resource {
        "deployments" => (
            "strategy",
            json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}}),
        ),
        "statefulsets" => (
            "updateStrategy",
            json!({"type": "RollingUpdate", "rollingUpdate": {"partition": 0}}),
        ),
        _ => (
            "updateStrategy",
            json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}),
        ),
    };
    if spec[field].is_null() {
        spec[field] = strategy;
    }
    if resource != "daemonsets" && spec["replicas"].is_null() {
        spec["replicas"] = json!(1);
    }
}

fn default_secret(object: &mut Value) {
    if object["type"].is_null() {
        object["type"] = json!("Opaque");
    }
    let plain = object
        .as_object_mut()
        .and_then(|fields| fields.remove("stringData"));
    for (key, value) in plain.iter().filter_map(Value::as_object).flatten() {
        object["data"][key.as_str()] = json!(STANDARD.encode(value.as_str().unwrap_or_default()));
    }
}

fn default_service(object: &mut Value) {
    let spec = &mut object["spec"];
    if spec["type"].is_null() {
        spec["type"] = json!("ClusterIP");
    }
    if spec["type"] != "ExternalName" && spec["clusterIP"].is_null() {
        let low = crate::random::number() % 250 + 2;
        spec["clusterIP"] = json!(format!("10.43.7.{low}"));
    }
}

fn default_cluster(object: &mut Value) {
    object["metadata"]["finalizers"] = json!(["karmada.io/cluster-controller"]);
}

fn default_subjects(object: &mut Value) {
    for subject in object["subjects"].as_array_mut().into_iter().flatten() {
        if subject["apiGroup"].is_null() && subject["kind"] != "ServiceAccount" {
            subject["apiGroup"] = json!("rbac.authorization.k8s.io");
        }
    }
    if object["roleRef"]["apiGroup"].is_null() {
        object["roleRef"]["apiGroup"] = json!("rbac.authorization.k8s.io");
    }
}

fn data(object: &Value) -> Vec<(String, String)> {
    let keys = object["data"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(key, _)| key);
    keys.filter(|key| {
        key.is_empty()
            || !key
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
    })
    .map(|key| {
        let text = "a valid config key must consist of alphanumeric characters, '-', '_' or '.'";
        (
            format!("data[{key}]"),
            format!("Invalid value: \"{key}\": {text}"),
        )
    })
    .collect()
}
