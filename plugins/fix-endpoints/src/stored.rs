//! A Secret with its values kept out of sight, and the patches that replace some of them. Pure.

use std::collections::BTreeMap;

use json_patch::Patch;
use secrecy::{ExposeSecret, SecretString};
use serde::Serialize;
use serde_json::{Value, json};

use crate::secret_kubeconfig::decoded;

/// A Secret as an API server holds it.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StoredSecret {
    /// Its `metadata.resourceVersion`, which every change replaces.
    pub resource_version: String,
    /// The values in base64, by key; `None` = it has no `data` at all. Never shown.
    #[serde(skip)]
    values: Option<BTreeMap<String, SecretString>>,
}

impl StoredSecret {
    /// Reads the object; values that are no text are left out.
    pub fn read(object: &Value) -> StoredSecret {
        let values = object.get("data").and_then(Value::as_object).map(|data| {
            let texts = data.iter().filter_map(|(key, value)| {
                Some((key.clone(), SecretString::from(value.as_str()?)))
            });
            texts.collect()
        });
        StoredSecret {
            resource_version: object
                .pointer("/metadata/resourceVersion")
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned(),
            values,
        }
    }

    /// The value of a key in base64; `None` when it is missing or empty.
    pub fn value(&self, key: &str) -> Option<&str> {
        let value = self.values.as_ref()?.get(key)?.expose_secret();
        (!value.is_empty()).then_some(value)
    }

    /// The text behind a value; `None` when it is missing, empty, or no text.
    pub fn text(&self, key: &str) -> Option<String> {
        self.value(key).and_then(decoded)
    }

    /// Whether both hold the same under their keys, white space at the ends aside.
    pub fn agrees(&self, key: &str, other: &StoredSecret, other_key: &str) -> bool {
        match (self.text(key), other.text(other_key)) {
            (Some(one), Some(other)) => one.trim() == other.trim(),
            _ => false,
        }
    }

    /// The object as the API server would answer it.
    #[cfg(test)]
    pub(crate) fn object(&self) -> Value {
        let mut object = json!({"metadata": {"resourceVersion": self.resource_version}});
        if let Some(values) = &self.values {
            let data = values
                .iter()
                .map(|(key, value)| (key.clone(), Value::from(value.expose_secret())));
            object["data"] = Value::Object(data.collect());
        }
        object
    }

    /// The patch that sets these values (in base64), and its inverse. The precondition of a key that is there is its
    /// value, that of a missing one the object's resource version.
    pub fn replacing(&self, changes: &[(&str, &str)]) -> (Patch, Patch) {
        let mut tests = Vec::new();
        let mut writes = Vec::new();
        let mut unchanged_since = Vec::new();
        let mut undone = Vec::new();
        let is_new = json!({"op": "test", "path": "/metadata/resourceVersion", "value": self.resource_version});
        let none = BTreeMap::new();
        let values = self.values.as_ref().unwrap_or(&none);
        for (key, after) in changes {
            let path = format!("/data/{key}");
            unchanged_since.push(json!({"op": "test", "path": path, "value": after}));
            match values.get(*key) {
                Some(before) => {
                    let before = before.expose_secret();
                    tests.push(json!({"op": "test", "path": path, "value": before}));
                    writes.push(json!({"op": "replace", "path": path, "value": after}));
                    undone.push(json!({"op": "replace", "path": path, "value": before}));
                }
                None => {
                    if !tests.contains(&is_new) {
                        tests.push(is_new.clone());
                    }
                    if self.values.is_some() {
                        writes.push(json!({"op": "add", "path": path, "value": after}));
                    }
                    undone.push(json!({"op": "remove", "path": path}));
                }
            }
        }
        if self.values.is_none() {
            let data: BTreeMap<&str, &str> = changes.iter().copied().collect();
            writes.push(json!({"op": "add", "path": "/data", "value": data}));
        }
        (
            patch([tests, writes].concat()),
            patch([unchanged_since, undone].concat()),
        )
    }
}

fn patch(operations: Vec<Value>) -> Patch {
    serde_json::from_value(Value::Array(operations))
        .expect("operations made of op, path and value are a patch")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn replaced(data: Option<Value>, changes: &[(&str, &str)]) -> Value {
        let mut object = json!({"metadata": {"resourceVersion": "7"}});
        if let Some(data) = data {
            object["data"] = data;
        }
        let before = object.clone();
        let (patch, inverse) = StoredSecret::read(&object).replacing(changes);
        json_patch::patch(&mut object, &patch).expect("its preconditions hold");
        let after = object.clone();
        json_patch::patch(&mut object, &inverse).expect("it can be taken back");
        let data = |object: &Value| object.get("data").cloned().unwrap_or(json!({}));
        assert_eq!(data(&object), data(&before));
        after["data"].clone()
    }

    #[test]
    fn values_are_replaced_and_missing_ones_added() {
        let cases = [
            (
                Some(json!({"token": "b2xk", "caBundle": "Y2E="})),
                json!({"token": "bmV3", "caBundle": "Y2E="}),
            ),
            (Some(json!({"token": ""})), json!({"token": "bmV3"})),
            (Some(json!({})), json!({"token": "bmV3"})),
            (None, json!({"token": "bmV3"})),
        ];
        for (data, expected) in cases {
            assert_eq!(replaced(data, &[("token", "bmV3")]), expected);
        }
        assert_eq!(
            replaced(None, &[("token", "bmV3"), ("caBundle", "Y2E=")]),
            json!({"token": "bmV3", "caBundle": "Y2E="})
        );
    }

    #[test]
    fn somebody_elses_change_is_a_conflict() {
        let object = json!({"metadata": {"resourceVersion": "7"}, "data": {"token": "b2xk"}});
        let stored = StoredSecret::read(&object);
        let changed = [
            json!({"metadata": {"resourceVersion": "8"}, "data": {"token": "b2xkZXI="}}),
            json!({"metadata": {"resourceVersion": "8"}, "data": {"token": "b2xk", "caBundle": ""}}),
        ];
        let (patch, _) = stored.replacing(&[("token", "bmV3"), ("caBundle", "Y2E=")]);
        for mut object in changed {
            assert!(json_patch::patch(&mut object, &patch).is_err());
        }
    }

    #[test]
    fn values_are_not_shown() {
        let stored = StoredSecret::read(&json!({"data": {"token": "c2VjcmV0"}}));
        let shown = format!("{stored:?} {}", json!(stored));
        assert!(!shown.contains("c2VjcmV0"), "{shown}");
    }
}
