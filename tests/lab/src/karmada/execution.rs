//! Karmada's execution and work status controllers: Works delivered to members, kept as they should be, and retried.
//!
//! Writes go through a client made afresh from the Cluster. What is in the member is known from an informer whose
//! client is made once, when the member is first Ready: after a change of address it sees nothing any more, until the
//! process restarts.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::Method;
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::controller_manager::Surroundings;
use super::delivery::{self, Delivery};
use super::member::Member;
use super::objects::CLUSTERS;
use crate::api::registry::now;
use crate::lock::lock;
use crate::spec::Works;

/// The controllers of Works.
pub(crate) struct Execution {
    surroundings: Surroundings,
    works_fail: Works,
    works: Mutex<BTreeMap<String, Memory>>,
    informers: Mutex<BTreeMap<String, Arc<Informer>>>,
}

/// What is remembered of one Work.
#[derive(Debug, Clone)]
struct Memory {
    generation: u64,
    deleting: bool,
    busy: bool,
    failures: u32,
    due: Instant,
    /// When the member's copy of a failed Work is looked at again.
    look: Instant,
    /// Whether the last sync succeeded; then only drift is looked for.
    settled: bool,
}

/// Why a Work is synced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cause {
    /// Its time has come.
    Due,
    /// It failed, and sleeps; an event about the member's copy wakes it.
    Look,
}

/// What is seen of a member.
pub(crate) struct Informer {
    client: Member,
    /// Objects by the path of their resource, as last seen; `None` = seen to be absent.
    cache: Mutex<BTreeMap<String, Option<Value>>>,
}

impl Execution {
    pub(crate) fn new(surroundings: Surroundings, works_fail: Works) -> Self {
        Self {
            surroundings,
            works_fail,
            works: Mutex::default(),
            informers: Mutex::default(),
        }
    }

    /// Starts the syncs that are due.
    pub(crate) async fn start_due_syncs(self: &Arc<Self>, tasks: &mut JoinSet<()>) {
        for (work, cause) in self.due().await {
            let execution = self.clone();
            tasks.spawn(async move { execution.sync(work, cause).await });
        }
    }

    async fn due(&self) -> Vec<(Value, Cause)> {
        let works = self
            .surroundings
            .objects
            .call(
                Method::GET,
                "/apis/work.karmada.io/v1alpha1/works",
                Value::Null,
            )
            .await;
        let works = works.unwrap_or_default();
        let observed = self.observed().await;
        let mut memory = lock(&self.works);
        let now = Instant::now();
        let mut due = Vec::new();
        for work in works["items"].as_array().into_iter().flatten() {
            let generation = work["metadata"]["generation"].as_u64().unwrap_or_default();
            let deleting = !work["metadata"]["deletionTimestamp"].is_null();
            // Before the member was looked at for the first time nothing is known, and nothing fails.
            if !observed.contains(&cluster_of(work)) {
                continue;
            }
            let fresh = Memory {
                generation,
                deleting,
                busy: false,
                failures: 0,
                due: now,
                look: now,
                settled: false,
            };
            let known = memory.entry(key(work)).or_insert(fresh);
            let changed = known.generation != generation || known.deleting != deleting;
            if !known.busy && (known.due <= now || changed) {
                known.settled &= !changed;
                known.busy = true;
                known.generation = generation;
                known.deleting = deleting;
                due.push((work.clone(), Cause::Due));
            } else if !known.busy && !known.settled && known.failures > 0 && known.look <= now {
                known.busy = true;
                due.push((work.clone(), Cause::Look));
            }
        }
        due
    }

    /// The clusters that have a condition `Ready`.
    async fn observed(&self) -> BTreeSet<String> {
        let clusters = self
            .surroundings
            .objects
            .call(Method::GET, CLUSTERS, Value::Null)
            .await
            .unwrap_or_default();
        let observed = clusters["items"]
            .as_array()
            .into_iter()
            .flatten()
            .filter(|cluster| readiness(cluster).is_some());
        observed
            .filter_map(|cluster| cluster["metadata"]["name"].as_str().map(str::to_owned))
            .collect()
    }

    async fn sync(&self, work: Value, cause: Cause) {
        let key = key(&work);
        if cause == Cause::Look && !self.is_managed_again(&work).await {
            if let Some(known) = lock(&self.works).get_mut(&key) {
                known.busy = false;
                known.look = Instant::now() + self.surroundings.tick * LOOK_FOR_DRIFT;
            }
            return;
        }
        let settled = lock(&self.works)
            .get(&key)
            .is_some_and(|known| known.settled);
        let done = if settled {
            self.look_for_drift(&work).await
        } else {
            self.deliver(&work).await
        };
        let mut works = lock(&self.works);
        let Some(known) = works.get_mut(&key) else {
            return;
        };
        known.busy = false;
        match done {
            Ok(()) => {
                known.failures = 0;
                known.settled = true;
                known.due = Instant::now() + self.surroundings.tick * LOOK_FOR_DRIFT;
            }
            Err(reason) => {
                self.surroundings.log.add(format!("\"Reconciler error\" err=\"{reason}\" controller=\"execution-controller\" Work=\"{key}\""));
                known.settled = false;
                known.failures += 1;
                known.due = Instant::now() + self.pause(known.failures);
            }
        }
    }

    /// How long a failed Work waits; Karmada's own work queue doubles the pause every time.
    fn pause(&self, failures: u32) -> Duration {
        let shortest = self.surroundings.timing.work_backoff;
        match self.works_fail {
            Works::Asleep => LONGEST_PAUSE,
            Works::Awake => shortest,
            Works::Backoff => shortest
                .saturating_mul(2_u32.saturating_pow(failures - 1))
                .min(LONGEST_PAUSE),
        }
    }

    async fn deliver(&self, work: &Value) -> Result<(), String> {
        let name = cluster_of(work);
        let path = format!("{CLUSTERS}/{name}");
        let cluster = self
            .surroundings
            .objects
            .call(Method::GET, &path, Value::Null)
            .await
            .map_err(|refusal| refusal.message)?;
        if readiness(&cluster).is_none_or(|ready| ready != "True") {
            self.report(work, dispatching(), None).await;
            return Err(format!("cluster({name}) not ready"));
        }
        let client = Member::of(&cluster, &self.surroundings).await?;
        let informer = self.informer(&name, &client);
        let delivery = Delivery {
            client: &client,
            informer: &informer,
            cluster: &name,
        };
        let manifests: Vec<&Value> = work["spec"]["workload"]["manifests"]
            .as_array()
            .into_iter()
            .flatten()
            .collect();
        if !work["metadata"]["deletionTimestamp"].is_null() {
            for manifest in manifests {
                delivery.remove(manifest).await?;
            }
            return self.release(work).await;
        }
        for manifest in &manifests {
            if let Err(reason) = delivery.apply(manifest).await {
                self.report(work, applied(Err(&reason)), None).await;
                return Err(reason);
            }
        }
        let statuses = manifests
            .iter()
            .enumerate()
            .map(|(ordinal, manifest)| delivery::status(ordinal, manifest))
            .collect();
        self.report(work, applied(Ok(())), Some(statuses)).await;
        Ok(())
    }

    /// Whether somebody gave back the label without which Karmada left the member's copy alone; a blind informer hears of
    /// nothing.
    async fn is_managed_again(&self, work: &Value) -> bool {
        let Some(informer) = lock(&self.informers).get(&cluster_of(work)).cloned() else {
            return false;
        };
        let manifests = work["spec"]["workload"]["manifests"].as_array();
        for manifest in manifests.into_iter().flatten() {
            let was_left_alone = informer
                .seen(manifest)
                .is_some_and(|object| !delivery::is_managed(&object));
            if let Ok(Some(object)) = informer.refresh(manifest).await
                && was_left_alone
                && delivery::is_managed(&object)
            {
                return true;
            }
        }
        false
    }

    /// Compares what the informer sees with what should be; what it cannot see did not happen.
    async fn look_for_drift(&self, work: &Value) -> Result<(), String> {
        let informer = lock(&self.informers).get(&cluster_of(work)).cloned();
        let Some(informer) = informer else {
            return Ok(());
        };
        for manifest in work["spec"]["workload"]["manifests"]
            .as_array()
            .into_iter()
            .flatten()
        {
            match informer.refresh(manifest).await {
                Ok(seen) if !delivery::is_as_desired(seen.as_ref(), manifest) => {
                    return self.deliver(work).await;
                }
                Ok(_) => {}
                Err(reason) => {
                    let kind = manifest["kind"].as_str().unwrap_or_default();
                    self.surroundings.log.add(format!(
                        "\"Failed to watch\" err=\"failed to list {kind}: {reason}\""
                    ));
                }
            }
        }
        Ok(())
    }

    /// The informer of a member: made once, and kept whatever becomes of the Cluster.
    fn informer(&self, cluster: &str, client: &Member) -> Arc<Informer> {
        let fresh = || {
            Arc::new(Informer {
                client: client.clone(),
                cache: Mutex::default(),
            })
        };
        lock(&self.informers)
            .entry(cluster.to_owned())
            .or_insert_with(fresh)
            .clone()
    }

    async fn release(&self, work: &Value) -> Result<(), String> {
        let patch = json!({"metadata": {"finalizers": null}});
        let released = self
            .surroundings
            .objects
            .call(Method::PATCH, &path(work), patch)
            .await;
        released.map(|_| ()).map_err(|refusal| refusal.message)
    }

    async fn report(&self, work: &Value, mut condition: Value, statuses: Option<Vec<Value>>) {
        let Ok(current) = self
            .surroundings
            .objects
            .call(Method::GET, &path(work), Value::Null)
            .await
        else {
            return;
        };
        let mut conditions: Vec<Value> = current["status"]["conditions"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        let known = conditions
            .iter()
            .position(|known| known["type"] == condition["type"]);
        condition["lastTransitionTime"] = match known.map(|index| &conditions[index]) {
            Some(known) if known["status"] == condition["status"] => {
                known["lastTransitionTime"].clone()
            }
            _ => json!(now()),
        };
        match known {
            Some(index) => conditions[index] = condition,
            None => conditions.push(condition),
        }
        let mut status = json!({"conditions": conditions});
        if let Some(statuses) = statuses {
            status["manifestStatuses"] = json!(statuses);
        }
        let _ = self
            .surroundings
            .objects
            .call(
                Method::PATCH,
                &format!("{}/status", path(work)),
                json!({"status": status}),
            )
            .await;
    }
}

impl Informer {
    /// The object as last seen; `None` = not in the cache.
    pub(crate) fn seen(&self, manifest: &Value) -> Option<Value> {
        lock(&self.cache)
            .get(&delivery::path(manifest))
            .cloned()
            .flatten()
    }

    pub(crate) fn remember(&self, manifest: &Value, object: Option<Value>) {
        lock(&self.cache).insert(delivery::path(manifest), object);
    }

    /// Looks again, with the client of old.
    async fn refresh(&self, manifest: &Value) -> Result<Option<Value>, String> {
        let (status, object) = self
            .client
            .call(
                Method::GET,
                &delivery::path(manifest),
                "application/json",
                &Value::Null,
            )
            .await?;
        match status {
            200 => self.remember(manifest, Some(object.clone())),
            404 => self.remember(manifest, None),
            _ => {
                return Err(object["message"]
                    .as_str()
                    .unwrap_or("an error on the server")
                    .to_owned());
            }
        }
        Ok((status == 200).then_some(object))
    }
}

fn readiness(cluster: &Value) -> Option<&Value> {
    let conditions = cluster["status"]["conditions"].as_array()?;
    conditions
        .iter()
        .find(|condition| condition["type"] == "Ready")
        .map(|condition| &condition["status"])
}

fn key(work: &Value) -> String {
    let text = |field: &str| work["metadata"][field].as_str().unwrap_or_default();
    format!("{}/{}", text("namespace"), text("name"))
}

fn path(work: &Value) -> String {
    let text = |field: &str| work["metadata"][field].as_str().unwrap_or_default();
    format!(
        "/apis/work.karmada.io/v1alpha1/namespaces/{}/works/{}",
        text("namespace"),
        text("name")
    )
}

fn cluster_of(work: &Value) -> String {
    let namespace = work["metadata"]["namespace"].as_str().unwrap_or_default();
    namespace
        .strip_prefix("karmada-es-")
        .unwrap_or(namespace)
        .to_owned()
}

fn dispatching() -> Value {
    json!({"type": "Dispatching", "status": "True", "reason": "Dispatching", "message": "Work is being dispatched to member clusters."})
}

fn applied(result: Result<(), &str>) -> Value {
    match result {
        Ok(()) => {
            json!({"type": "Applied", "status": "True", "reason": "AppliedSuccessful", "message": "Manifest has been successfully applied"})
        }
        Err(reason) => {
            json!({"type": "Applied", "status": "False", "reason": "AppliedFailed", "message": format!("Failed to apply all manifests (0/1): {reason}")})
        }
    }
}

/// After how many ticks a delivered Work is looked at again.
const LOOK_FOR_DRIFT: u32 = 8;
/// `--rate-limiter-max-delay`.
const LONGEST_PAUSE: Duration = Duration::from_secs(1000);
