//! From what was read to what Airflow gets: each place resolved, each value understood. Pure.

use std::collections::BTreeMap;
use std::sync::Arc;

use karmada_repair::part::Part;
use serde_json::Value as Json;

use crate::airflow::KeyKind;
use crate::digest::Digester;
use crate::discovery::Source;
use crate::instances::Found;
use crate::key::Opaque;
use crate::keyring::Reading;
use crate::observed::{Instance, KeyUse, PodSeen, Value};
use crate::secret::Secret;

/// What was read of a namespace, by name.
#[derive(Debug, Default)]
pub struct Contents {
    /// Secrets.
    pub secrets: BTreeMap<String, Part<Arc<Secret>>>,
    /// ConfigMaps.
    pub config_maps: BTreeMap<String, Part<Json>>,
}

/// The instance with the values of its keys.
pub fn instance(
    found: Found,
    pods: Part<Vec<PodSeen>>,
    contents: &Contents,
    kinds: &[KeyKind],
    digester: &Digester,
) -> Instance {
    let mut keys: BTreeMap<KeyKind, Vec<KeyUse>> = BTreeMap::new();
    for (&kind, places) in found.places.iter().filter(|(kind, _)| kinds.contains(kind)) {
        for (reader, sources) in places {
            let Some((source, raw)) = resolve(sources, contents) else {
                continue;
            };
            let uses = keys.entry(kind).or_default();
            match uses.iter_mut().find(|one| one.source == *source) {
                Some(one) if one.readers.contains(reader) || reader.is_empty() => {}
                Some(one) => one.readers.push(reader.clone()),
                None => uses.push(KeyUse {
                    source: source.clone(),
                    readers: match reader.as_str() {
                        "" => Vec::new(),
                        reader => vec![reader.to_owned()],
                    },
                    value: match raw {
                        Part::Seen(raw) => Part::Seen(understood(kind, raw, digester)),
                        Part::Absent => Part::Absent,
                        Part::Unreadable(reason) => Part::Unreadable(reason),
                    },
                }),
            }
        }
    }
    let secrets = contents
        .secrets
        .iter()
        .map(|(name, secret)| {
            let seen = match secret {
                Part::Seen(secret) => Part::Seen(secret.seen.clone()),
                Part::Absent => Part::Absent,
                Part::Unreadable(reason) => Part::Unreadable(reason.clone()),
            };
            (name.clone(), seen)
        })
        .collect();
    Instance {
        namespace: found.namespace,
        release: found.release,
        workloads: found.workloads,
        pods,
        keys,
        secrets,
        wrong_variables: found.wrong_variables,
    }
}

/// The place that counts, and what is there; `None` = all are optional and absent.
fn resolve<'a>(sources: &'a [Source], contents: &Contents) -> Option<(&'a Source, Part<Opaque>)> {
    for source in sources {
        let part = read(source, contents);
        if !(source.is_optional() && part == Part::Absent) {
            return Some((source, part));
        }
    }
    None
}

fn read(source: &Source, contents: &Contents) -> Part<Opaque> {
    match source {
        Source::SecretKey(key) => match contents.secrets.get(&key.secret) {
            Some(Part::Seen(secret)) => match secret.value(&key.key) {
                Some(value) => Part::Seen(value.clone()),
                None => Part::Absent,
            },
            Some(Part::Unreadable(reason)) => Part::Unreadable(reason.clone()),
            Some(Part::Absent) | None => Part::Absent,
        },
        Source::ConfigMapKey { name, key, .. } => match contents.config_maps.get(name) {
            Some(Part::Seen(map)) => match map["data"][key].as_str() {
                Some(value) => Part::Seen(Opaque::new(value.as_bytes().to_vec())),
                None => Part::Absent,
            },
            Some(Part::Unreadable(reason)) => Part::Unreadable(reason.clone()),
            Some(Part::Absent) | None => Part::Absent,
        },
        Source::Template { value } => Part::Seen(value.clone()),
        Source::Command { variable } => {
            Part::Unreadable(format!("it is what the command of {variable} prints"))
        }
        Source::Backend { variable } => Part::Unreadable(format!(
            "it is in Airflow's secrets backend, as {variable} says"
        )),
    }
}

/// What Airflow makes of a value of this kind.
pub fn understood(kind: KeyKind, raw: Opaque, digester: &Digester) -> Value {
    let trimmed = digester.digest(raw.bytes().trim_ascii());
    let reading = (kind == KeyKind::Fernet).then(|| Reading::of(&raw));
    let digests = match &reading {
        Some(reading) => reading
            .keyring()
            .map(|keyring| {
                let keys = keyring.keys().iter();
                keys.map(|key| digester.digest(key.bytes())).collect()
            })
            .unwrap_or_default(),
        None if raw.bytes().is_empty() => Vec::new(),
        None => vec![digester.digest(raw.bytes())],
    };
    Value {
        raw,
        reading,
        digests,
        trimmed,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use zeroize::Zeroizing;

    use super::*;
    use crate::instances;

    fn digester() -> Digester {
        Digester::new(Zeroizing::new(vec![1; 32]))
    }

    fn secret(key: &str) -> Part<Arc<Secret>> {
        Part::Seen(Arc::new(Secret::of(json!({
            "metadata": {"name": "s"}, "data": {key: "eA=="},
        }))))
    }

    fn found(container: Json) -> Found {
        let workload = json!({
            "kind": "Deployment", "metadata": {"name": "scheduler", "namespace": "airflow"},
            "spec": {"template": {"metadata": {"labels": {"tier": "airflow"}}, "spec": {"containers": [container]}}},
        });
        instances::group(&[workload]).remove(0)
    }

    #[test]
    fn an_optional_place_that_is_absent_yields_to_the_next() {
        let found = found(json!({"name": "scheduler", "envFrom": [
            {"secretRef": {"name": "full"}}, {"secretRef": {"name": "empty"}},
        ]}));
        let contents = Contents {
            secrets: BTreeMap::from([
                ("empty".to_owned(), secret("other")),
                ("full".to_owned(), secret("AIRFLOW__API__SECRET_KEY")),
            ]),
            ..Contents::default()
        };
        let instance = instance(found, Part::Absent, &contents, &KeyKind::ALL, &digester());
        let used = instance
            .main_use(KeyKind::Api)
            .expect("it is in one of them");
        assert_eq!(
            used.source.place("ns"),
            "secret/ns/full key AIRFLOW__API__SECRET_KEY"
        );
        assert_eq!(used.readers, ["deployment/scheduler"]);
        assert_eq!(
            instance
                .value(KeyKind::Api)
                .map(|value| value.digests.len()),
            Some(1)
        );
        assert!(!instance.keys.contains_key(&KeyKind::Fernet));
    }

    #[test]
    fn a_required_place_that_is_absent_stays_absent() {
        let found = found(json!({"name": "scheduler", "env": [
            {"name": "AIRFLOW__CORE__FERNET_KEY", "valueFrom": {"secretKeyRef": {"name": "gone", "key": "k"}}},
        ]}));
        let instance = instance(
            found,
            Part::Absent,
            &Contents::default(),
            &KeyKind::ALL,
            &digester(),
        );
        let used = instance
            .main_use(KeyKind::Fernet)
            .expect("it is referred to");
        assert!(matches!(used.value, Part::Absent));
    }

    #[test]
    fn an_opaque_value_counts_byte_by_byte() {
        let value = |text: &str| {
            understood(
                KeyKind::Jwt,
                Opaque::new(text.as_bytes().to_vec()),
                &digester(),
            )
        };
        assert_ne!(value("a\n").digests, value("a").digests);
        assert_eq!(value("a\n").trimmed, value("a").trimmed);
        assert!(value("").digests.is_empty());
    }
}
