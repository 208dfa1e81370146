//! A Secret as the API server answers it: what surrounds its values, and its values, apart. Pure.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde_json::Value as Json;
use zeroize::Zeroize;

use crate::key::Opaque;
use crate::observed::SecretSeen;
use crate::rotation::{ANNOTATION, Note};

/// A Secret and its values.
#[derive(Debug, Clone)]
pub struct Secret {
    /// All but the values.
    pub seen: SecretSeen,
    values: BTreeMap<String, Opaque>,
}

impl Secret {
    /// Takes the values out of an answer; what is left of it in memory is overwritten.
    pub fn of(mut object: Json) -> Secret {
        let mut values = BTreeMap::new();
        if let Some(data) = object.get_mut("data").and_then(Json::as_object_mut) {
            for (key, value) in data.iter_mut() {
                if let Json::String(text) = value {
                    // What is no base64 cannot come from an API server.
                    if let Ok(bytes) = STANDARD.decode(&*text) {
                        values.insert(key.clone(), Opaque::new(bytes));
                    }
                    text.zeroize();
                }
            }
        }
        let seen = surroundings(&object, &values);
        overwrite(&mut object);
        Secret { seen, values }
    }

    /// The value of a key.
    pub fn value(&self, key: &str) -> Option<&Opaque> {
        self.values.get(key)
    }
}

fn surroundings(object: &Json, values: &BTreeMap<String, Opaque>) -> SecretSeen {
    let metadata = &object["metadata"];
    let text = |value: &Json| value.as_str().unwrap_or_default().to_owned();
    let label = |name: &str| metadata["labels"][name].as_str();
    let annotation = |name: &str| metadata["annotations"][name].as_str();
    SecretSeen {
        name: text(&metadata["name"]),
        uid: text(&metadata["uid"]),
        resource_version: text(&metadata["resourceVersion"]),
        kind: text(&object["type"]),
        immutable: object["immutable"] == true,
        karmada_managed: label("karmada.io/managed") == Some("true"),
        helm_hook: annotation("helm.sh/hook").is_some(),
        helm_release: annotation("meta.helm.sh/release-name")
            .or(label("app.kubernetes.io/managed-by")
                .filter(|by| *by == "Helm")
                .and(label("app.kubernetes.io/instance")))
            .or(label("heritage")
                .filter(|by| *by == "Helm")
                .and(label("release")))
            .map(str::to_owned),
        argo_cd: annotation("argocd.argoproj.io/tracking-id").is_some()
            || label("argocd.argoproj.io/instance").is_some(),
        last_applied: annotation(LAST_APPLIED).is_some_and(holds_data),
        annotated: metadata["annotations"].is_object(),
        note: annotation(ANNOTATION).and_then(Note::parse),
        keys: values.keys().cloned().collect(),
        written: written(&metadata["managedFields"]),
        created: time(&metadata["creationTimestamp"]),
    }
}

/// When each key of the data was last written, by the newest of its field managers.
fn written(managed_fields: &Json) -> BTreeMap<String, Timestamp> {
    let mut written: BTreeMap<String, Timestamp> = BTreeMap::new();
    for entry in managed_fields.as_array().into_iter().flatten() {
        let Some(at) = time(&entry["time"]) else {
            continue;
        };
        let data = entry["fieldsV1"]["f:data"].as_object();
        for name in data.into_iter().flatten().map(|(name, _)| name) {
            if let Some(key) = name.strip_prefix("f:") {
                let latest = written.entry(key.to_owned()).or_insert(at);
                *latest = at.max(*latest);
            }
        }
    }
    written
}

fn time(value: &Json) -> Option<Timestamp> {
    value.as_str()?.parse().ok()
}

fn holds_data(last_applied: &str) -> bool {
    let object: Json = serde_json::from_str(last_applied).unwrap_or_default();
    ["data", "stringData"].iter().any(|field| {
        object[field]
            .as_object()
            .is_some_and(|data| !data.is_empty())
    })
}

/// Annotations can hold the values, too.
fn overwrite(value: &mut Json) {
    match value {
        Json::String(text) => text.zeroize(),
        Json::Array(items) => items.iter_mut().for_each(overwrite),
        Json::Object(fields) => fields.values_mut().for_each(overwrite),
        Json::Null | Json::Bool(_) | Json::Number(_) => {}
    }
}

/// The annotation of `kubectl apply`.
pub const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_answer_is_taken_apart() {
        let secret = Secret::of(json!({
            "metadata": {
                "name": "airflow-fernet-key", "uid": "u", "resourceVersion": "7",
                "creationTimestamp": "2026-01-01T00:00:00Z",
                "labels": {"heritage": "Helm", "release": "airflow", "karmada.io/managed": "true"},
                "annotations": {
                    "helm.sh/hook": "pre-install",
                    "karmada-repair/fernet-rotation": "r1.added",
                    "kubectl.kubernetes.io/last-applied-configuration": "{\"stringData\":{\"a\":\"b\"}}",
                },
                "managedFields": [
                    {"time": "2026-01-02T00:00:00Z", "fieldsV1": {"f:data": {"f:fernet-key": {}}}},
                    {"time": "2026-01-03T00:00:00Z", "fieldsV1": {"f:metadata": {}}},
                    {"time": "2026-01-01T00:00:00Z", "fieldsV1": {"f:data": {".": {}, "f:fernet-key": {}}}},
                ],
            },
            "type": "Opaque", "immutable": true,
            "data": {"fernet-key": "YWJj", "other": ""},
        }));
        let seen = &secret.seen;
        assert!(seen.immutable && seen.karmada_managed && seen.helm_hook && seen.last_applied);
        assert_eq!(seen.helm_release.as_deref(), Some("airflow"));
        assert_eq!(seen.keys, ["fernet-key", "other"]);
        assert_eq!(seen.note, Note::parse("r1.added"));
        let at = |text: &str| text.parse::<Timestamp>().ok();
        assert_eq!(seen.written_at("fernet-key"), at("2026-01-02T00:00:00Z"));
        assert_eq!(seen.written_at("other"), at("2026-01-01T00:00:00Z"));
        assert_eq!(
            secret.value("fernet-key").map(Opaque::bytes),
            Some(b"abc".as_slice())
        );
        assert_eq!(
            secret.value("other").map(Opaque::bytes),
            Some(b"".as_slice())
        );
        assert!(secret.value("missing").is_none());
    }

    #[test]
    fn nothing_is_made_up_for_a_bare_secret() {
        let secret = Secret::of(json!({"metadata": {"name": "x"}}));
        let expected = SecretSeen {
            name: "x".to_owned(),
            ..SecretSeen::default()
        };
        assert_eq!(secret.seen, expected);
    }
}
