//! A world of clusters as their API servers show it, for tests: what runs with which keys, and what steps make of it.

use std::collections::BTreeMap;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use json_patch::PatchOperation;
use karmada_repair::part::Part;
use karmada_repair::plan::{Action, Commands, Server, Step};
use serde_json::{Value as Json, json};
use zeroize::Zeroizing;

use crate::config::{Config, Operation, Rotate, Sync};
use crate::digest::Digester;
use crate::instances;
use crate::keyring::tests::{key, ring};
use crate::keyring::{Keyring, Reading};
use crate::keys::{self, Contents};
use crate::observed::{ClusterSeen, Observed};
use crate::rotate;
use crate::rotation::Goal;
use crate::secret::Secret;

/// A world.
#[derive(Debug, Clone)]
pub(crate) struct World {
    /// The clusters by name.
    pub(crate) clusters: BTreeMap<String, ClusterWorld>,
    clock: i64,
}

/// What one API server holds.
#[derive(Debug, Clone, Default)]
pub(crate) struct ClusterWorld {
    pub(crate) secrets: BTreeMap<String, Json>,
    pub(crate) workloads: Vec<Json>,
    pub(crate) pods: Vec<Json>,
    /// The values that the variables of each pod have, by its name.
    running: BTreeMap<String, BTreeMap<String, Vec<u8>>>,
    /// How often the command of a rotation has run.
    pub(crate) commands: usize,
}

impl World {
    /// Clusters in which the official chart installed release `airflow`, each with this list of keys.
    pub(crate) fn of(lists: &[(&str, &[u8])]) -> World {
        let mut world = World {
            clusters: BTreeMap::new(),
            clock: 1_000_000_000,
        };
        for (name, list) in lists {
            world.install(name, list);
        }
        world
    }

    /// Installs the chart in a cluster; an empty list means that no key is in the Secret.
    pub(crate) fn install(&mut self, name: &str, list: &[u8]) {
        let cluster = self.clusters.entry((*name).to_owned()).or_default();
        let mut secret = json!({
            "metadata": {"name": "airflow-fernet-key", "namespace": "airflow", "uid": format!("{name}-secret"), "resourceVersion": "1"},
            "type": "Opaque",
        });
        if !list.is_empty() {
            secret["data"]["fernet-key"] = json!(STANDARD.encode(ring(list).value().bytes()));
        }
        cluster
            .secrets
            .insert("airflow-fernet-key".to_owned(), secret);
        self.touch(name, "airflow-fernet-key");
        let cluster = self.clusters.entry((*name).to_owned()).or_default();
        for component in ["scheduler", "webserver"] {
            cluster.workloads.push(workload(name, component));
        }
        self.roll_out(name, "scheduler");
        self.roll_out(name, "webserver");
    }

    /// Sets a value of a Secret as somebody else would.
    pub(crate) fn set(&mut self, cluster: &str, secret: &str, key: &str, value: &str) {
        let object = self.secret(cluster, secret);
        object["data"][key] = json!(STANDARD.encode(value));
        self.touch(cluster, secret);
    }

    /// A Secret.
    pub(crate) fn secret(&mut self, cluster: &str, secret: &str) -> &mut Json {
        let cluster = self.clusters.get_mut(cluster).expect("it is a cluster");
        cluster.secrets.get_mut(secret).expect("it is a secret")
    }

    /// The list in the Secret of a cluster.
    pub(crate) fn list(&self, cluster: &str) -> Keyring {
        let secret = Secret::of(self.clusters[cluster].secrets["airflow-fernet-key"].clone());
        let value = secret.value("fernet-key").expect("there is a key");
        Reading::of(value).keyring().expect("it is usable").clone()
    }

    /// The lists that the pods of a cluster run with.
    pub(crate) fn running(&self, cluster: &str) -> Vec<Keyring> {
        self.clusters[cluster]
            .running
            .values()
            .filter_map(|variables| variables.get("AIRFLOW__CORE__FERNET_KEY"))
            .filter_map(|value| {
                let value = crate::key::Opaque::new(value.clone());
                Reading::of(&value).keyring().cloned()
            })
            .collect()
    }

    /// What the plugin would see.
    pub(crate) fn observed(&self, config: &Config) -> Observed {
        let digester = Digester::new(Zeroizing::new(vec![7; 32]));
        let clusters: Vec<ClusterSeen> = self
            .clusters
            .iter()
            .map(|(name, cluster)| {
                let contents = Contents {
                    secrets: cluster
                        .secrets
                        .iter()
                        .map(|(name, secret)| {
                            let secret = Arc::new(Secret::of(secret.clone()));
                            (name.clone(), Part::Seen(secret))
                        })
                        .collect(),
                    ..Contents::default()
                };
                let found = instances::group(&cluster.workloads);
                let pods = json!({"items": cluster.pods});
                let instances = found.into_iter().map(|found| {
                    let pods = Part::Seen(found.pods(&pods));
                    keys::instance(found, pods, &contents, config.kinds(), &digester)
                });
                ClusterSeen {
                    name: name.clone(),
                    instances: Part::Seen(instances.collect()),
                    unlisted: None,
                    clock_offset: None,
                }
            })
            .collect();
        let goal = match (rotate::begun(&clusters), &config.operation) {
            (Ok(None), Operation::Rotate(rotate)) if !rotate.resume => Some(Ok(Goal {
                rotation: "r1".to_owned(),
                key: key(9),
                begun: false,
            })),
            (begun, _) => begun.transpose(),
        };
        let goal = match &config.operation {
            Operation::Rotate(_) => config.goal.get_or_init(|| goal).clone(),
            _ => goal,
        };
        Observed {
            clusters,
            own_command: "kubectl karmada-shared-fernet".to_owned(),
            commands: Commands::default(),
            goal,
            tokens: None,
            templates: BTreeMap::new(),
        }
    }

    /// Carries out a step as an API server would; whether it took it.
    pub(crate) fn carry_out(&mut self, step: &Step) -> bool {
        self.clock += 10;
        match &step.action {
            Action::PatchObject {
                server: Server::Member(cluster),
                object,
                patch,
                ..
            } => {
                let secret = self.secret(cluster, &object.name);
                let mut changed = secret.clone();
                let mut patch = patch.clone();
                // An API server takes what is not there for null.
                patch.0.retain(|operation| match operation {
                    PatchOperation::Test(test) if test.value.is_null() => {
                        secret.pointer(test.path.as_str()).is_some()
                    }
                    _ => true,
                });
                if json_patch::patch(&mut changed, &patch).is_err() {
                    return false;
                }
                *secret = changed;
                self.touch(cluster, &object.name);
                true
            }
            Action::CreateObject {
                server: Server::Member(cluster),
                object,
                manifest,
            } => {
                let world = self.clusters.get_mut(cluster).expect("it is a cluster");
                let mut manifest = manifest.clone();
                manifest["metadata"]["uid"] = json!("created");
                manifest["metadata"]["resourceVersion"] = json!("1");
                world.secrets.insert(object.name.clone(), manifest);
                self.touch(cluster, &object.name);
                true
            }
            Action::Restart {
                server: Server::Member(cluster),
                object,
                ..
            } => {
                self.roll_out(cluster, &object.name);
                true
            }
            Action::Exec(command) => {
                let Server::Member(cluster) = &command.server else {
                    return false;
                };
                let lists = self.running(cluster);
                let cluster = self.clusters.get_mut(cluster).expect("it is a cluster");
                cluster.commands += 1;
                // It reads every row, whoever wrote it.
                lists
                    .iter()
                    .all(|list| list.reads(&key(9)) && list.primary() == &key(9))
            }
            _ => false,
        }
    }

    /// The next second, and a Secret that was written in it.
    fn touch(&mut self, cluster: &str, secret: &str) {
        self.clock += 1;
        let time = self.time();
        let version = self.clock.to_string();
        let object = self.secret(cluster, secret);
        let keys: serde_json::Map<String, Json> = object["data"]
            .as_object()
            .into_iter()
            .flatten()
            .map(|(key, _)| (format!("f:{key}"), json!({})))
            .collect();
        object["metadata"]["resourceVersion"] = json!(version);
        object["metadata"]["managedFields"] =
            json!([{"manager": "somebody", "time": time, "fieldsV1": {"f:data": keys}}]);
    }

    /// The pod of a workload is replaced by one that reads its Secrets now.
    fn roll_out(&mut self, cluster: &str, name: &str) {
        self.clock += 1;
        let time = self.time();
        let cluster = self.clusters.get_mut(cluster).expect("it is a cluster");
        let workload = cluster
            .workloads
            .iter()
            .find(|workload| workload["metadata"]["name"] == *name)
            .expect("it is a workload");
        let mut pod = workload["spec"]["template"].clone();
        pod["metadata"]["name"] = json!(name);
        pod["status"] = json!({"phase": "Running", "containerStatuses": [
            {"name": name, "state": {"running": {"startedAt": time}}},
        ]});
        let mut variables = BTreeMap::new();
        for entry in pod["spec"]["containers"][0]["env"]
            .as_array()
            .into_iter()
            .flatten()
        {
            let reference = &entry["valueFrom"]["secretKeyRef"];
            let text = |value: &Json| value.as_str().unwrap_or_default().to_owned();
            let secret = cluster.secrets.get(&text(&reference["name"]));
            let value = secret.and_then(|secret| {
                Secret::of(secret.clone())
                    .value(&text(&reference["key"]))
                    .map(|value| value.bytes().to_vec())
            });
            if let Some(value) = value {
                variables.insert(text(&entry["name"]), value);
            }
        }
        cluster.running.insert(name.to_owned(), variables);
        cluster.pods.retain(|pod| pod["metadata"]["name"] != *name);
        cluster.pods.push(pod);
    }

    fn time(&self) -> String {
        Timestamp::from_second(self.clock)
            .expect("it is in range")
            .to_string()
    }
}

/// A Deployment of the official chart.
pub(crate) fn workload(cluster: &str, component: &str) -> Json {
    let labels = json!({"tier": "airflow", "component": component, "release": "airflow"});
    let variable = |name: &str, secret: &str, key: &str| json!({"name": name, "valueFrom": {"secretKeyRef": {"name": secret, "key": key}}});
    json!({
        "kind": "Deployment",
        "metadata": {"name": component, "namespace": "airflow", "uid": format!("{cluster}-{component}")},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": component, "env": [
                    variable("AIRFLOW__CORE__FERNET_KEY", "airflow-fernet-key", "fernet-key"),
                ]}]},
            },
        },
    })
}

/// A comparison.
pub(crate) fn compare() -> Config {
    Config::default()
}

/// A rotation.
pub(crate) fn rotation(resume: bool) -> Config {
    Config {
        operation: Operation::Rotate(Rotate {
            resume,
            rotated: false,
        }),
        ..Config::default()
    }
}

/// A sync from `a`.
pub(crate) fn sync(replace: bool) -> Config {
    Config {
        operation: Operation::Sync(Sync {
            from: "a".to_owned(),
            replace,
        }),
        ..Config::default()
    }
}
