//! What a change looks like on a screen: the values of secrets are masked. Pure.

use json_patch::Patch;
use serde_json::{Value, json};

use crate::cluster::object::ObjectReference;

/// The patch holds a value that is masked where it is shown.
pub(super) fn carries_secret(object: &ObjectReference, patch: &Patch) -> bool {
    visible_operations(object, patch) != operations(patch)
}

fn operations(patch: &Patch) -> Vec<Value> {
    patch
        .0
        .iter()
        .map(|operation| serde_json::to_value(operation).unwrap_or_default())
        .collect()
}

/// The operations with every non-empty value of a Secret masked, as `kubectl diff` masks them; so are the values inside
/// the manifests of a Work, which may be those of a Secret.
pub(super) fn visible_operations(object: &ObjectReference, patch: &Patch) -> Vec<Value> {
    let mut visible = operations(patch);
    for operation in &mut visible {
        let path = operation["path"].as_str().unwrap_or_default().to_owned();
        let secret = match object.kind.as_str() {
            "Secret" => !is_public(&path, &operation["value"]),
            "Work" => path.starts_with(MANIFESTS) && is_data(&path),
            _ => false,
        };
        if let Some(value) = operation.get_mut("value")
            && value.as_str() != Some("")
        {
            *value = match secret {
                true => json!(MASK),
                false => masked_manifest(value),
            };
        }
    }
    visible
}

/// The value with the `data` and `stringData` of every Secret in it masked, at any depth, and with the copy of them that
/// `kubectl apply` keeps in an annotation.
pub(super) fn masked_manifest(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(masked_manifest).collect(),
        Value::Object(fields) => {
            let is_secret = fields.get("kind").and_then(Value::as_str) == Some("Secret");
            let masked = fields.iter().map(|(name, value)| {
                let value = match (is_secret, name.as_str()) {
                    (true, "data" | "stringData") => masked_values(value),
                    (true, "metadata") => without_last_applied(value),
                    _ => masked_manifest(value),
                };
                (name.clone(), value)
            });
            Value::Object(masked.collect())
        }
        plain => plain.clone(),
    }
}

/// Whether a Secret with values is in it, at any depth.
pub(super) fn with_secret(manifest: &Value) -> bool {
    masked_manifest(manifest) != *manifest
}

fn masked_values(data: &Value) -> Value {
    match data {
        Value::Object(entries) => {
            let masked = entries.iter().map(|(key, value)| {
                let shown = match value.as_str() {
                    Some("") => value.clone(),
                    _ => json!(MASK),
                };
                (key.clone(), shown)
            });
            Value::Object(masked.collect())
        }
        Value::Null => Value::Null,
        _ => json!(MASK),
    }
}

fn without_last_applied(metadata: &Value) -> Value {
    let mut metadata = metadata.clone();
    if let Some(copy) = metadata
        .get_mut("annotations")
        .and_then(|annotations| annotations.get_mut(LAST_APPLIED))
    {
        *copy = json!(MASK);
    }
    metadata
}

/// Whether a value in a patch of a Secret is no secret: what identifies and labels it.
fn is_public(path: &str, value: &Value) -> bool {
    let names = ["/metadata/labels", "/metadata/annotations"];
    let identity = [
        "/metadata/uid",
        "/metadata/resourceVersion",
        "/metadata/generation",
    ];
    let of_names = names.iter().any(|map| {
        path == *map
            || path
                .strip_prefix(map)
                .is_some_and(|rest| rest.starts_with('/'))
    });
    let copy_of_data =
        path.contains("last-applied-configuration") || value.get(LAST_APPLIED).is_some();
    identity.contains(&path) || (of_names && !copy_of_data)
}

fn is_data(path: &str) -> bool {
    path.split('/')
        .any(|field| matches!(field, "data" | "stringData"))
}

pub(super) fn change(operation: &Value) -> Option<String> {
    let path = operation["path"].as_str()?.trim_start_matches('/');
    if let Some(annotations) = annotations(operation, path) {
        return Some(annotations);
    }
    let field = path.replace('/', ".");
    match operation["op"].as_str()? {
        "add" | "replace" => {
            let value = &operation["value"];
            let value = value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned);
            Some(format!("set {field} to {value}"))
        }
        "remove" => Some(format!("remove {field}")),
        _ => None,
    }
}

/// The change when it is one of annotations, as `kubectl annotate` writes them.
fn annotations(operation: &Value, path: &str) -> Option<String> {
    let rest = path.strip_prefix("metadata/annotations")?;
    let name = rest
        .trim_start_matches('/')
        .replace("~1", "/")
        .replace("~0", "~");
    let value = &operation["value"];
    match (operation["op"].as_str()?, value) {
        ("add" | "replace", Value::String(value)) => Some(format!("annotate {name}={value}")),
        ("add", Value::Object(all)) => {
            let all = all
                .iter()
                .map(|(name, value)| format!("{name}={}", value.as_str().unwrap_or_default()));
            Some(format!("annotate {}", all.collect::<Vec<_>>().join(" ")))
        }
        ("remove", _) => Some(format!("annotate {name}-")),
        _ => None,
    }
}

const MASK: &str = "***";
const MANIFESTS: &str = "/spec/workload/manifests";
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
