//! The patch formats of the Kubernetes API other than apply. Pure.

use json_patch::{AddOperation, PatchOperation};
use serde_json::{Value, json};

use super::refusal::Refusal;

/// A patch as sent.
#[derive(Debug, Clone)]
pub(crate) enum Patch {
    /// RFC 6902.
    Json(Vec<PatchOperation>),
    /// RFC 7386.
    Merge(Value),
    /// The strategic merge patch of built-in kinds.
    Strategic(Value),
    /// An applied configuration.
    Apply(Value),
}

impl Patch {
    /// Reads a patch by its content type.
    pub(crate) fn parse(content_type: &str, body: &[u8]) -> Result<Self, Refusal> {
        let malformed = |error: &dyn std::fmt::Display| {
            Refusal::bad_request(format!("error decoding patch: {error}"))
        };
        let kind = content_type.split(';').next().unwrap_or_default().trim();
        match kind {
            "application/json-patch+json" => serde_json::from_slice(body)
                .map(Self::Json)
                .map_err(|error| malformed(&error)),
            "application/merge-patch+json" => serde_json::from_slice(body)
                .map(Self::Merge)
                .map_err(|error| malformed(&error)),
            "application/strategic-merge-patch+json" => serde_json::from_slice(body)
                .map(Self::Strategic)
                .map_err(|error| malformed(&error)),
            // JSON is YAML too; the plugins and kubectl send JSON.
            "application/apply-patch+yaml" => serde_json::from_slice(body)
                .map(Self::Apply)
                .map_err(|error| malformed(&error)),
            other => Err(Refusal::unsupported_media_type(&format!(
                "the body of the request was in an unknown format - accepted media types include: \
                 application/json-patch+json, application/merge-patch+json, application/strategic-merge-patch+json, \
                 application/apply-patch+yaml (got {other})"
            ))),
        }
    }
}

/// Applies RFC 6902 operations as the API server does.
///
/// # Errors
/// 422 `Invalid`, whichever operation failed.
pub(crate) fn json(object: &Value, operations: &[PatchOperation]) -> Result<Value, Refusal> {
    let mut patched = object.clone();
    for operation in operations {
        if tests_absence(&patched, operation) {
            continue;
        }
        let operation = lenient(&patched, operation);
        json_patch::patch(&mut patched, std::slice::from_ref(&operation))
            .map_err(|_| Refusal::patch_rejected())?;
    }
    Ok(patched)
}

/// Applies RFC 7386.
pub(crate) fn merge(object: &Value, patch: &Value) -> Value {
    let mut patched = object.clone();
    json_patch::merge(&mut patched, patch);
    patched
}

/// Applies a strategic merge patch: like a merge patch, save for lists whose items have a merge key.
pub(crate) fn strategic(object: &Value, patch: &Value) -> Value {
    let mut patched = object.clone();
    merge_strategically(&mut patched, patch, "");
    patched
}

/// The API server's JSON Patch library takes a missing value for null.
fn tests_absence(object: &Value, operation: &PatchOperation) -> bool {
    match operation {
        PatchOperation::Test(test) => {
            test.value.is_null() && object.pointer(test.path.as_str()).is_none()
        }
        _ => false,
    }
}

/// The API server's JSON Patch library treats `replace` of a missing map key as `add`.
fn lenient(object: &Value, operation: &PatchOperation) -> PatchOperation {
    if let PatchOperation::Replace(replace) = operation {
        let path = replace.path.to_string();
        let parent = path.rsplit_once('/').map_or("", |(parent, _)| parent);
        if object.pointer(&path).is_none() && object.pointer(parent).is_some_and(Value::is_object) {
            return PatchOperation::Add(AddOperation {
                path: replace.path.clone(),
                value: replace.value.clone(),
            });
        }
    }
    operation.clone()
}

fn merge_strategically(object: &mut Value, patch: &Value, name: &str) {
    match patch {
        Value::Object(changes) => {
            if !object.is_object() {
                *object = json!({});
            }
            let Some(fields) = object.as_object_mut() else {
                return;
            };
            for (name, change) in changes.iter().filter(|(name, _)| !name.starts_with('$')) {
                if change.is_null() {
                    fields.remove(name);
                } else {
                    merge_strategically(
                        fields.entry(name.clone()).or_insert(Value::Null),
                        change,
                        name,
                    );
                }
            }
        }
        Value::Array(changes) => {
            let key = MERGE_KEYS
                .iter()
                .find(|(list, _)| *list == name)
                .map(|(_, key)| *key);
            let (Some(key), Some(items)) = (key, object.as_array_mut()) else {
                *object = patch.clone();
                return;
            };
            for change in changes {
                let at = items.iter().position(|item| item[key] == change[key]);
                match (at, change["$patch"] == "delete") {
                    (Some(index), true) => {
                        items.remove(index);
                    }
                    (Some(index), false) => merge_strategically(&mut items[index], change, ""),
                    (None, true) => {}
                    (None, false) => items.push(change.clone()),
                }
            }
        }
        _ => *object = patch.clone(),
    }
}

const MERGE_KEYS: &[(&str, &str)] = &[
    ("containers", "name"),
    ("initContainers", "name"),
    ("env", "name"),
    ("volumes", "name"),
    ("conditions", "type"),
    ("ownerReferences", "uid"),
];
