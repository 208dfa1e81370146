//! From workloads to instances of Airflow, and to what is to be read of them. Pure.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimeParser;
use karmada_repair::cluster::object::ObjectReference;
use serde_json::Value as Json;

use crate::airflow::KeyKind;
use crate::discovery::{SecretKey, Source, Template};
use crate::observed::{PodSeen, Workload};

/// An instance as its workloads tell of it, before a Secret was read.
#[derive(Debug, Clone)]
pub struct Found {
    /// Its namespace.
    pub namespace: String,
    /// Its release; empty = nothing names one.
    pub release: String,
    /// What runs it.
    pub workloads: Vec<Workload>,
    /// For each key the places, each with the workload and in the order in which they count there.
    pub places: BTreeMap<KeyKind, Vec<(String, Vec<Source>)>>,
    /// Variables that look like one of Airflow's and are none.
    pub wrong_variables: Vec<(&'static str, KeyKind)>,
}

/// What is to be read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wanted {
    /// The names of Secrets.
    pub secrets: BTreeSet<String>,
    /// The names of ConfigMaps.
    pub config_maps: BTreeSet<String>,
}

/// The instances that these workloads make up, by namespace and release.
pub fn group(workloads: &[Json]) -> Vec<Found> {
    let mut found: BTreeMap<(String, String), Found> = BTreeMap::new();
    for object in workloads {
        let template = Template::of(&object["spec"]["template"]);
        if !template.is_airflow() {
            continue;
        }
        let namespace = text(&object["metadata"]["namespace"]);
        let release = template
            .release()
            .or_else(|| object["metadata"]["annotations"]["meta.helm.sh/release-name"].as_str())
            .unwrap_or_default()
            .to_owned();
        let found = found
            .entry((namespace.clone(), release.clone()))
            .or_insert_with(|| Found {
                workloads: Vec::new(),
                places: BTreeMap::new(),
                wrong_variables: Vec::new(),
                namespace,
                release,
            });
        found.add(object, template);
    }
    found.into_values().collect()
}

impl Found {
    /// What charts would have made of this release; nothing is known to run.
    pub fn by_name(namespace: String, release: String) -> Found {
        let places = KeyKind::ALL.map(|kind| {
            let sources = kind.of_charts(&release).into_iter().map(|(secret, key)| {
                Source::SecretKey(SecretKey {
                    secret,
                    key: key.to_owned(),
                    optional: true,
                })
            });
            (kind, vec![(String::new(), sources.collect())])
        });
        Found {
            namespace,
            release,
            workloads: Vec::new(),
            places: places.into_iter().collect(),
            wrong_variables: Vec::new(),
        }
    }

    fn add(&mut self, object: &Json, template: Template<'_>) {
        let kind = text(&object["kind"]);
        let name = text(&object["metadata"]["name"]);
        let reader = format!("{}/{name}", kind.to_lowercase());
        for key in KeyKind::ALL {
            for (_, sources) in template.sources(key) {
                let places = self.places.entry(key).or_default();
                let known = places
                    .iter()
                    .any(|(other, known)| *other == reader && *known == sources);
                if !known {
                    places.push((reader.clone(), sources));
                }
            }
        }
        for wrong in template.wrong_variables() {
            if !self.wrong_variables.contains(&wrong) {
                self.wrong_variables.push(wrong);
            }
        }
        self.workloads.push(Workload {
            object: ObjectReference {
                api_version: "apps/v1".to_owned(),
                resource: format!("{}s", kind.to_lowercase()),
                kind,
                namespace: Some(self.namespace.clone()),
                name,
            },
            uid: text(&object["metadata"]["uid"]),
            component: template.component().map(str::to_owned),
            container: template.main_container().map(str::to_owned),
            launches_pods: template.launches_pods(),
            replicas: object["spec"]["replicas"].as_i64().unwrap_or(1),
            selector: labels(&object["spec"]["selector"]["matchLabels"]),
            reads: reads(template),
        });
    }

    /// The objects in which these keys may be.
    pub fn places(&self, kinds: &[KeyKind]) -> Wanted {
        let mut wanted = Wanted::default();
        let of_kinds = self.places.iter().filter(|(kind, _)| kinds.contains(kind));
        for source in of_kinds
            .flat_map(|(_, places)| places)
            .flat_map(|(_, sources)| sources)
        {
            match source {
                Source::SecretKey(key) => {
                    wanted.secrets.insert(key.secret.clone());
                }
                Source::ConfigMapKey { name, .. } => {
                    wanted.config_maps.insert(name.clone());
                }
                Source::Template { .. } | Source::Command { .. } | Source::Backend { .. } => {}
            }
        }
        wanted
    }

    /// The pods of this instance in a list of those of its namespace.
    pub fn pods(&self, list: &Json) -> Vec<PodSeen> {
        let items = list["items"].as_array().into_iter().flatten();
        items
            .filter(|pod| {
                let phase = pod["status"]["phase"].as_str();
                !matches!(phase, Some("Succeeded" | "Failed"))
            })
            .filter(|pod| {
                let template = Template::of(pod);
                template.is_airflow() && template.release().unwrap_or_default() == self.release
            })
            .map(pod_seen)
            .collect()
    }
}

fn pod_seen(pod: &Json) -> PodSeen {
    let template = Template::of(pod);
    let readers: Vec<&str> = KeyKind::ALL
        .into_iter()
        .flat_map(|kind| template.sources(kind))
        .map(|(container, _)| container)
        .collect();
    let statuses = pod["status"]["containerStatuses"].as_array();
    let started = statuses
        .into_iter()
        .flatten()
        .filter(|status| readers.contains(&status["name"].as_str().unwrap_or_default()))
        .filter_map(|status| time(&status["state"]["running"]["startedAt"]))
        .min();
    PodSeen {
        name: text(&pod["metadata"]["name"]),
        labels: labels(&pod["metadata"]["labels"]),
        started,
        restarted_at: time(&pod["metadata"]["annotations"]["kubectl.kubernetes.io/restartedAt"]),
        reads: reads(template),
    }
}

/// The keys of Secrets that a template reads.
fn reads(template: Template<'_>) -> Vec<SecretKey> {
    let mut reads: Vec<SecretKey> = KeyKind::ALL
        .into_iter()
        .flat_map(|kind| template.sources(kind))
        .flat_map(|(_, sources)| sources)
        .filter_map(|source| match source {
            Source::SecretKey(key) => Some(key),
            _ => None,
        })
        .collect();
    reads.sort();
    reads.dedup();
    reads
}

/// A clock minus ours, in seconds, by the date (RFC 9110 5.6.7) of an answer that came between two moments; 0 where it may
/// agree.
pub fn clock_offset(date: &str, before: Timestamp, after: Timestamp) -> Option<i64> {
    let there = DateTimeParser::new()
        .parse_timestamp(date)
        .ok()?
        .as_second();
    // Dates have no fractions.
    let (earliest, latest) = (before.as_second() - 1, after.as_second() + 1);
    Some(match there {
        there if there < earliest => there - earliest,
        there if there > latest => there - latest,
        _ => 0,
    })
}

fn time(value: &Json) -> Option<Timestamp> {
    value.as_str()?.parse().ok()
}

fn text(value: &Json) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn labels(value: &Json) -> BTreeMap<String, String> {
    let labels = value.as_object().into_iter().flatten();
    labels
        .map(|(name, value)| (name.clone(), text(value)))
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn workload(kind: &str, release: &str, name: &str, secret: &str) -> Json {
        json!({
            "kind": kind,
            "metadata": {"name": name, "namespace": "airflow", "uid": name},
            "spec": {
                "replicas": 2,
                "selector": {"matchLabels": {"component": name}},
                "template": {
                    "metadata": {"labels": {"tier": "airflow", "component": name, "release": release}},
                    "spec": {"containers": [{"name": name, "env": [{
                        "name": "AIRFLOW__CORE__FERNET_KEY",
                        "valueFrom": {"secretKeyRef": {"name": secret, "key": "fernet-key"}},
                    }]}]},
                },
            },
        })
    }

    #[test]
    fn releases_of_one_namespace_are_told_apart() {
        let found = group(&[
            workload("Deployment", "one", "scheduler", "one-fernet-key"),
            workload("StatefulSet", "one", "worker", "one-fernet-key"),
            workload("Deployment", "two", "scheduler", "two-fernet-key"),
            json!({"kind": "Deployment", "metadata": {"name": "web", "namespace": "airflow"}}),
        ]);
        let names: Vec<_> = found
            .iter()
            .map(|found| (found.release.as_str(), found.workloads.len()))
            .collect();
        assert_eq!(names, [("one", 2), ("two", 1)]);
        let wanted = found[0].places(&KeyKind::ALL);
        assert_eq!(
            wanted.secrets.into_iter().collect::<Vec<_>>(),
            ["one-fernet-key"]
        );
        let stateful = &found[0].workloads[1];
        assert_eq!(
            stateful.object.path(),
            "/apis/apps/v1/namespaces/airflow/statefulsets/worker"
        );
        assert_eq!(
            (stateful.replicas, stateful.container.as_deref()),
            (2, Some("worker"))
        );
    }

    #[test]
    fn pods_that_have_ended_or_are_others_do_not_count() {
        let found = group(&[workload("Deployment", "one", "scheduler", "key")]);
        let pod = |name: &str, release: &str, phase: &str| {
            let mut pod = workload("Pod", release, "scheduler", "key")["spec"]["template"].clone();
            pod["metadata"]["name"] = json!(name);
            pod["status"] = json!({"phase": phase, "containerStatuses": [
                {"name": "scheduler", "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}}},
                {"name": "log-groomer", "state": {"running": {"startedAt": "2025-01-01T00:00:00Z"}}},
            ]});
            pod
        };
        let list = json!({"items": [
            pod("runs", "one", "Running"), pod("ended", "one", "Succeeded"), pod("other", "two", "Running"),
        ]});
        let pods = found[0].pods(&list);
        assert_eq!(pods.len(), 1);
        assert_eq!(pods[0].name, "runs");
        assert_eq!(pods[0].started, "2026-01-01T00:00:00Z".parse().ok());
        assert_eq!(pods[0].reads.len(), 1);
    }

    #[test]
    fn clocks_agree_within_what_a_date_can_tell() {
        let at = |text: &str| text.parse().expect("it is RFC 3339");
        let (before, after) = (at("2026-11-30T10:00:00.9Z"), at("2026-11-30T10:00:02Z"));
        let table = [
            ("Mon, 30 Nov 2026 10:00:00 GMT", Some(0)),
            ("Mon, 30 Nov 2026 10:00:03 GMT", Some(0)),
            ("Mon, 30 Nov 2026 10:05:03 GMT", Some(300)),
            ("Mon, 30 Nov 2026 09:59:29 GMT", Some(-30)),
            ("yesterday", None),
        ];
        for (date, expected) in table {
            assert_eq!(clock_offset(date, before, after), expected, "{date}");
        }
    }
}
