//! Whole objects as they are sent: what a server made of them, and which part of an object one manager applied. Pure.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// An object that was there before a server-side apply, and what the same field manager had applied of it.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct Applied {
    /// The object's UID.
    pub uid: String,
    /// The fields that the manager had applied, with `apiVersion`, `kind` and `metadata.name`; no others when it had
    /// applied none. To apply it again takes back what was applied since.
    pub manifest: Value,
}

impl Applied {
    /// What this field manager has applied of an object, by the object's `metadata.managedFields`; `None` when the value
    /// is no object with a UID.
    ///
    /// `manager`: as `kubectl-karmada-PLUGIN`.
    pub fn of(object: &Value, manager: &str) -> Option<Applied> {
        let uid = object["metadata"]["uid"].as_str()?.to_owned();
        let mut manifest = json!({});
        let entries = object["metadata"]["managedFields"].as_array();
        let own = entries.into_iter().flatten().filter(|entry| {
            entry["manager"] == manager
                && entry["operation"] == "Apply"
                && entry["subresource"].as_str().unwrap_or_default().is_empty()
        });
        for entry in own {
            manifest = owned(object, &entry["fieldsV1"]).unwrap_or(json!({}));
        }
        for field in ["apiVersion", "kind"] {
            manifest[field] = object[field].clone();
        }
        if !manifest["metadata"].is_object() {
            manifest["metadata"] = json!({});
        }
        for field in ["name", "namespace"] {
            if let Some(value) = object["metadata"].get(field) {
                manifest["metadata"][field] = value.clone();
            }
        }
        Some(Applied { uid, manifest })
    }
}

/// Without the manifest, which may be that of a Secret.
impl std::fmt::Debug for Applied {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Applied")
            .field("uid", &self.uid)
            .finish_non_exhaustive()
    }
}

/// How the lists of an object are compared with those of a manifest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lists {
    /// They have the same items in the same order, to which a server may have added fields.
    Whole,
    /// They may have got more items since.
    Merged,
}

/// Whether an object has all that the manifest says, and possibly more fields: a server adds defaults and a status.
///
/// Null and empty values of the manifest say nothing, as servers leave them out; `stringData` of a Secret is its `data`.
pub fn contains(object: &Value, manifest: &Value, lists: Lists) -> bool {
    match (object, manifest) {
        (_, wanted) if is_empty(wanted) => true,
        (Value::Object(found), Value::Object(wanted)) => wanted.iter().all(|(name, wanted)| {
            if name == "stringData" && manifest["kind"] == "Secret" {
                return contains(&object["data"], &encoded(wanted), lists);
            }
            contains(found.get(name).unwrap_or(&Value::Null), wanted, lists)
        }),
        (Value::Array(found), Value::Array(wanted)) => match lists {
            Lists::Whole => {
                found.len() == wanted.len()
                    && found
                        .iter()
                        .zip(wanted)
                        .all(|(found, wanted)| contains(found, wanted, lists))
            }
            Lists::Merged => wanted
                .iter()
                .all(|wanted| found.iter().any(|found| contains(found, wanted, lists))),
        },
        (found, wanted) => found == wanted,
    }
}

/// The object as it can be created again: without what only a server sets; `None` when the value is no object.
pub(super) fn recreated(object: &Value) -> Option<Value> {
    let mut manifest = object.clone();
    let fields = manifest.as_object_mut()?;
    fields.remove("status");
    let metadata = fields.get_mut("metadata")?.as_object_mut()?;
    metadata.retain(|field, _| {
        let of_the_user = [
            "name",
            "namespace",
            "labels",
            "annotations",
            "finalizers",
            "ownerReferences",
        ];
        of_the_user.contains(&field.as_str())
    });
    Some(manifest)
}

/// The fields that a manifest sets, as a sentence names them: those at the top, labels and annotations.
pub(super) fn fields(manifest: &Value) -> Vec<String> {
    let Some(all) = manifest.as_object() else {
        return Vec::new();
    };
    let of_metadata = ["labels", "annotations"]
        .into_iter()
        .filter(|field| !is_empty(&manifest["metadata"][*field]))
        .map(str::to_owned);
    all.keys()
        .filter(|field| !["apiVersion", "kind", "metadata"].contains(&field.as_str()))
        .cloned()
        .chain(of_metadata)
        .collect()
}

/// The part of a value that a set of fields names (`FieldsV1` of
/// <https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/object-meta/>, as
/// `sigs.k8s.io/structured-merge-diff` writes it); `None` = nothing of it is there.
fn owned(value: &Value, fields: &Value) -> Option<Value> {
    let fields = fields.as_object()?;
    let children: Vec<(&str, &Value)> = fields
        .iter()
        .filter(|(name, _)| *name != ".")
        .map(|(name, fields)| (name.as_str(), fields))
        .collect();
    if children.is_empty() {
        return Some(value.clone());
    }
    match value {
        Value::Object(found) => {
            let mut part = Map::new();
            for (name, fields) in children {
                let Some(name) = name.strip_prefix("f:") else {
                    continue;
                };
                if let Some(owned) = found.get(name).and_then(|value| owned(value, fields)) {
                    part.insert(name.to_owned(), owned);
                }
            }
            Some(Value::Object(part))
        }
        Value::Array(items) => {
            let part = items.iter().filter_map(|item| {
                let (name, fields) = children.iter().find(|(name, _)| names(name, item))?;
                let mut part = owned(item, fields)?;
                // An item that is owned without its key could not be told from others.
                if let (Some(part), Some(keys)) = (part.as_object_mut(), keys(name)) {
                    part.extend(keys);
                }
                Some(part)
            });
            Some(Value::Array(part.collect()))
        }
        _ => None,
    }
}

/// Whether a path element names this item of a list: by its keys (`k:`) or as a whole (`v:`).
fn names(element: &str, item: &Value) -> bool {
    if let Some(keys) = keys(element) {
        return keys.iter().all(|(key, value)| item.get(key) == Some(value));
    }
    element
        .strip_prefix("v:")
        .and_then(|value| serde_json::from_str::<Value>(value).ok())
        .is_some_and(|value| value == *item)
}

fn keys(element: &str) -> Option<Map<String, Value>> {
    serde_json::from_str(element.strip_prefix("k:")?).ok()
}

/// `stringData` as the `data` that a server makes of it.
fn encoded(string_data: &Value) -> Value {
    let entries = string_data.as_object().into_iter().flatten();
    let encoded = entries.map(|(key, value)| {
        let value = value.as_str().unwrap_or_default();
        (key.clone(), Value::String(STANDARD.encode(value)))
    });
    Value::Object(encoded.collect())
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(fields) => fields.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
