//! Karmada's cluster status controller for push-mode members: a real health check, conditions and thresholds.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use http::Method;
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::controller_manager::Surroundings;
use super::member::Member;
use super::objects::CLUSTERS;
use crate::api::registry::now;
use crate::lock::lock;

/// The cluster status controller.
pub(crate) struct Health {
    surroundings: Surroundings,
    memory: Mutex<BTreeMap<String, Memory>>,
}

/// What the controller remembers of one cluster.
#[derive(Debug, Clone)]
struct Memory {
    generation: u64,
    due: Instant,
    busy: bool,
    /// The last observation and since when it stands; `None` = nothing was observed yet.
    observed: Option<(&'static str, Instant)>,
}

/// One observation of a member.
struct Observation {
    status: &'static str,
    reason: &'static str,
    message: String,
    /// The version of a healthy member.
    version: Option<String>,
}

impl Health {
    pub(crate) fn new(surroundings: Surroundings) -> Self {
        Self {
            surroundings,
            memory: Mutex::default(),
        }
    }

    /// Starts the checks that are due.
    pub(crate) async fn start_due_checks(self: &Arc<Self>, tasks: &mut JoinSet<()>) {
        for cluster in self.due().await {
            let health = self.clone();
            tasks.spawn(async move { health.check(cluster).await });
        }
    }

    /// The clusters whose check is due: the interval passed, or the spec changed.
    async fn due(&self) -> Vec<Value> {
        let clusters = self
            .surroundings
            .objects
            .call(Method::GET, CLUSTERS, Value::Null)
            .await
            .unwrap_or_default();
        let mut memory = lock(&self.memory);
        let now = Instant::now();
        let mut due = Vec::new();
        for cluster in clusters["items"]
            .as_array()
            .into_iter()
            .flatten()
            .filter(|cluster| cluster["spec"]["syncMode"] == "Push")
        {
            let name = cluster["metadata"]["name"].as_str().unwrap_or_default();
            let generation = cluster["metadata"]["generation"]
                .as_u64()
                .unwrap_or_default();
            let fresh = Memory {
                generation,
                due: now,
                busy: false,
                observed: None,
            };
            let known = memory.entry(name.to_owned()).or_insert(fresh);
            if !known.busy && (known.due <= now || known.generation != generation) {
                known.busy = true;
                known.generation = generation;
                due.push(cluster.clone());
            }
        }
        due
    }

    async fn check(&self, cluster: Value) {
        let name = cluster["metadata"]["name"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        let observation = self.observe(&name, &cluster).await;
        self.publish(&name, observation).await;
        if let Some(known) = lock(&self.memory).get_mut(&name) {
            known.busy = false;
            known.due = Instant::now() + self.surroundings.timing.frequency;
        }
    }

    async fn observe(&self, name: &str, cluster: &Value) -> Observation {
        let client = Member::of(cluster, &self.surroundings).await;
        let member = match client {
            Ok(member) => member,
            Err(reason) => {
                let message = format!("failed to create a ClusterClient: {reason}");
                return Observation {
                    status: "False",
                    reason: "StatusCollectionFailed",
                    message,
                    version: None,
                };
            }
        };
        match self.probe(&member).await {
            Ok(true) => Observation {
                status: "True",
                reason: "ClusterReady",
                message: "cluster is healthy and ready to accept workloads".to_owned(),
                version: match cluster["status"]["kubernetesVersion"].as_str() {
                    Some(known) => Some(known.to_owned()),
                    None => version(&member).await,
                },
            },
            Ok(false) => Observation {
                status: "False",
                reason: "ClusterNotReady",
                message: "cluster is reachable but health endpoint responded without ok".to_owned(),
                version: None,
            },
            Err(reason) => {
                self.surroundings.log.add(format!("\"Failed to do cluster health check for cluster\" err=\"{}\" cluster=\"{name}\"", reason.replace('"', "\\\"")));
                let message = "cluster is not reachable".to_owned();
                Observation {
                    status: "False",
                    reason: "ClusterNotReachable",
                    message,
                    version: None,
                }
            }
        }
    }

    /// `GET /readyz`, and `/healthz` where that is unknown.
    async fn probe(&self, member: &Member) -> Result<bool, String> {
        let endpoint = member.endpoint.as_str().trim_end_matches('/');
        for path in ["/readyz", "/healthz"] {
            let failed = |reason: String| format!("Get \"{endpoint}{path}?timeout=32s\": {reason}");
            let (status, body) = member
                .call(Method::GET, path, "application/json", &Value::Null)
                .await
                .map_err(failed)?;
            match status {
                200 => return Ok(true),
                404 => {}
                401 => return Err("Unauthorized".to_owned()),
                400.. => {
                    return Err(body["message"]
                        .as_str()
                        .unwrap_or("an error on the server")
                        .to_owned());
                }
                _ => return Ok(false),
            }
        }
        Err("the server could not find the requested resource".to_owned())
    }

    /// Writes the condition, unless the change has not lasted for its threshold yet.
    async fn publish(&self, name: &str, observation: Observation) {
        let path = format!("{CLUSTERS}/{name}");
        let Ok(mut cluster) = self
            .surroundings
            .objects
            .call(Method::GET, &path, Value::Null)
            .await
        else {
            return;
        };
        let conditions: Vec<Value> = cluster["status"]["conditions"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        let current = conditions
            .iter()
            .find(|condition| condition["type"] == "Ready")
            .cloned();
        // What cannot even be tried is told at once.
        let at_once = observation.reason == "StatusCollectionFailed";
        if !at_once && !self.is_stable(name, observation.status, current.as_ref()) {
            return;
        }
        let mut status = cluster["status"].clone();
        let changed = current
            .as_ref()
            .is_none_or(|current| current["status"] != observation.status);
        let since = current.as_ref().filter(|_| !changed).map_or_else(
            || json!(now()),
            |current| current["lastTransitionTime"].clone(),
        );
        let ready = json!({
            "type": "Ready", "status": observation.status, "reason": observation.reason, "message": observation.message,
            "lastTransitionTime": since,
        });
        let mut conditions: Vec<Value> = conditions
            .into_iter()
            .filter(|condition| condition["type"] != "Ready")
            .collect();
        conditions.insert(0, ready);
        if let Some(version) = &observation.version {
            status["kubernetesVersion"] = json!(version);
            if !conditions
                .iter()
                .any(|condition| condition["type"] == "CompleteAPIEnablements")
            {
                conditions.push(json!({
                    "type": "CompleteAPIEnablements", "status": "True", "reason": "Complete",
                    "message": "collected complete APIEnablements from the cluster", "lastTransitionTime": now(),
                }));
            }
        }
        status["conditions"] = json!(conditions);
        if status != cluster["status"] {
            let patch = json!({"metadata": {"resourceVersion": cluster["metadata"]["resourceVersion"]}, "status": status});
            // A conflict means that somebody wrote meanwhile; the next check sees what.
            let written = self
                .surroundings
                .objects
                .call(Method::PATCH, &format!("{path}/status"), patch)
                .await;
            cluster = written.unwrap_or(cluster);
        }
        self.taint(&path, &cluster, observation.status == "True")
            .await;
    }

    /// A cluster that is not Ready carries a taint, which is part of its spec.
    async fn taint(&self, path: &str, cluster: &Value, ready: bool) {
        let taints: Vec<Value> = cluster["spec"]["taints"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        let (not_ready, mut others): (Vec<Value>, Vec<Value>) = taints
            .into_iter()
            .partition(|taint| taint["key"] == NOT_READY);
        if not_ready.is_empty() != ready {
            if !ready {
                others.push(json!({"key": NOT_READY, "effect": "NoSchedule", "timeAdded": now()}));
            }
            let taints = if others.is_empty() {
                Value::Null
            } else {
                json!(others)
            };
            let patch = json!({"metadata": {"resourceVersion": cluster["metadata"]["resourceVersion"]}, "spec": {"taints": taints}});
            let _ = self
                .surroundings
                .objects
                .call(Method::PATCH, path, patch)
                .await;
        }
    }

    fn is_stable(&self, name: &str, observed: &'static str, current: Option<&Value>) -> bool {
        let mut memory = lock(&self.memory);
        let Some(known) = memory.get_mut(name) else {
            return false;
        };
        let now = Instant::now();
        let first = known.observed.is_none();
        let since = match known.observed {
            Some((status, since)) if status == observed => since,
            _ => now,
        };
        known.observed = Some((observed, since));
        let Some(current) = current.filter(|_| !first) else {
            return true;
        };
        let flips = (observed == "True") != (current["status"] == "True");
        let threshold = if observed == "True" {
            self.surroundings.timing.success_threshold
        } else {
            self.surroundings.timing.failure_threshold
        };
        !flips || now >= since + threshold
    }
}

async fn version(member: &Member) -> Option<String> {
    let (status, version) = member
        .call(Method::GET, "/version", "application/json", &Value::Null)
        .await
        .ok()?;
    (status == 200)
        .then(|| version["gitVersion"].as_str().map(str::to_owned))
        .flatten()
}

const NOT_READY: &str = "cluster.karmada.io/not-ready";
