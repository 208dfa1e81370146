//! What a change looks like on a screen: the values of secrets are masked. Pure.

use json_patch::Patch;
use serde_json::{Value, json};

use crate::cluster::object::ObjectReference;

pub(super) fn carries_secret(object: &ObjectReference, patch: &Patch) -> bool {
    object.kind == "Secret" && visible_operations(object, patch) != operations(patch)
}

fn operations(patch: &Patch) -> Vec<Value> {
    patch
        .0
        .iter()
        .map(|operation| serde_json::to_value(operation).unwrap_or_default())
        .collect()
}

/// The operations with every non-empty value of a Secret masked, as `kubectl diff` masks them.
pub(super) fn visible_operations(object: &ObjectReference, patch: &Patch) -> Vec<Value> {
    let mut visible = operations(patch);
    if object.kind == "Secret" {
        for operation in &mut visible {
            if let Some(value) = operation.get_mut("value")
                && value.as_str() != Some("")
            {
                *value = json!("***");
            }
        }
    }
    visible
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
