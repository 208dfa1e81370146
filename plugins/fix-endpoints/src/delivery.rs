//! The proof that the control plane delivers to a member: a ConfigMap carried there, edited there, and put right.
//!
//! Readiness proves less: controllers that keep a connection to an old address report a cluster as ready, and bindings
//! as applied, while nothing arrives. A new object may arrive even then, so an edit has to be seen reverted; and Works
//! that were made while the member was away sleep in a backoff that new ones do not share, so they are counted.

use std::time::Duration;

use karmada_repair::access::{Access, MemberApi, Way};
use karmada_repair::clock::{self, Deadline};
use karmada_repair::cluster::client::{ClusterClient, DryRun, List, PatchKind, Preconditions};
use karmada_repair::cluster::request_error::RequestError;
use karmada_repair::driver::{ProofResult, Until};
use karmada_repair::karmada::Cluster;
use karmada_repair::plan::{annotation_path, set_annotation};
use karmada_repair::text::seconds;
use serde_json::{Value, json};

use crate::observed::{Member, Observed, UNPROVEN};

/// Proves delivery to a member. The note that it is unproven is taken off when the proof passed, and set when it failed.
pub async fn prove_member(
    access: &Access,
    observed: &Observed,
    name: &str,
    until: Until<'_>,
) -> ProofResult {
    let Some(member) = observed.members.iter().find(|member| member.name() == name) else {
        return ProofResult::Impossible(format!("cluster/{name} was not observed"));
    };
    let selected: Vec<&str> = observed.members.iter().map(Member::name).collect();
    let result = prove(access, &member.cluster, &selected, until).await;
    let change = match (&result, member.unproven_since()) {
        (ProofResult::Passed(_), Some(since)) => json!([
            {"op": "test", "path": annotation_path(UNPROVEN), "value": since},
            {"op": "remove", "path": annotation_path(UNPROVEN)}
        ]),
        (ProofResult::Failed(_), None) => noted(member),
        _ => return result,
    };
    let object = member.cluster.reference().path();
    match (
        access
            .control_plane()
            .patch(&object, PatchKind::Json, &change, DryRun::Off)
            .await,
        result,
    ) {
        (Ok(_), result) => result,
        (Err(error), ProofResult::Failed(why)) => ProofResult::Failed(format!(
            "{why}; the annotation {UNPROVEN}, by which later runs would know, could not be set: {error}"
        )),
        (Err(error), _) => ProofResult::Failed(format!(
            "workloads are delivered, but the annotation {UNPROVEN} could not be removed: {error}"
        )),
    }
}

/// The patch by which later runs know that a member did not get what it should.
fn noted(member: &Member) -> Value {
    let now = clock::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let present = !member.cluster.metadata.annotations.is_empty();
    let (patch, _) = set_annotation(UNPROVEN, present, None, &now);
    serde_json::to_value(patch).unwrap_or_default()
}

/// Delivers to a member and looks. Whatever was written is removed on both sides, also when a signal is heard.
pub async fn prove(
    access: &Access,
    cluster: &Cluster,
    selected: &[&str],
    until: Until<'_>,
) -> ProofResult {
    let member = match access.member(cluster, selected).await {
        Ok(member) => member,
        Err(why) => {
            return ProofResult::Impossible(format!(
                "the member cannot be read through the control plane's proxy, nor with a loaded context of it \
                 (--cluster-context {}=CONTEXT names one): {why}",
                cluster.metadata.name
            ));
        }
    };
    let probe = Probe::new(
        access.control_plane(),
        &member,
        &cluster.metadata.name,
        until.deadline,
    );
    let seen = tokio::select! {
        seen = probe.deliver() => seen,
        _ = until.interrupt.wait() => ProofResult::Skipped("interrupted".to_owned()),
    };
    match (probe.remove().await, seen) {
        (Ok(()), seen) => seen,
        (Err(left), ProofResult::Passed(_)) => ProofResult::Failed(left),
        (Err(left), ProofResult::Failed(why)) => ProofResult::Failed(format!("{why}; {left}")),
        (Err(left), ProofResult::Impossible(why)) => {
            ProofResult::Impossible(format!("{why}; {left}"))
        }
        (Err(left), ProofResult::Skipped(why)) => ProofResult::Skipped(format!("{why}; {left}")),
    }
}

/// One attempt, with names of its own.
struct Probe<'a> {
    control_plane: &'a ClusterClient,
    member: &'a MemberApi,
    namespace: String,
    name: String,
    deadline: Deadline,
}

impl<'a> Probe<'a> {
    fn new(
        control_plane: &'a ClusterClient,
        member: &'a MemberApi,
        cluster: &str,
        deadline: Deadline,
    ) -> Probe<'a> {
        Probe {
            control_plane,
            member,
            namespace: format!("karmada-es-{cluster}"),
            name: format!("{PREFIX}{:x}", clock::now().as_nanosecond()),
            deadline,
        }
    }

    async fn deliver(&self) -> ProofResult {
        self.remove_what_killed_runs_left().await;
        let asleep = match self.wait_for_works().await {
            Ok(asleep) => asleep,
            Err(error) => {
                return ProofResult::Impossible(format!("its Works cannot be listed: {error}"));
            }
        };
        let created = self
            .control_plane
            .create(&self.works(), &self.work(), DryRun::Off)
            .await;
        if let Err(error) = created {
            return ProofResult::Impossible(format!(
                "no Work can be made in {}: {error}",
                self.namespace
            ));
        }
        if let Err(why) = self.wait_for(DELIVERED, "it was not delivered").await {
            return why;
        }
        let edit = json!({"data": {KEY: EDITED}});
        if let Err(error) = self.member.merge(&self.copy(), &edit).await {
            return ProofResult::Impossible(format!(
                "what was delivered cannot be edited there: {error}"
            ));
        }
        let blind = "an edit there was not reverted, so the controllers do not watch the member: they keep a connection \
                     to an old address until karmada-controller-manager restarts";
        if let Err(why) = self.wait_for(DELIVERED, blind).await {
            return why;
        }
        if asleep > 0 {
            return ProofResult::Failed(format!(
                "a new object is delivered, but {asleep} older ones are not: Works in {} without an Applied condition \
                 sleep for up to 1000 s, or until karmada-controller-manager restarts",
                self.namespace
            ));
        }
        ProofResult::Passed(format!(
            "a ConfigMap was delivered and an edit of it reverted, seen {}",
            match self.member.way() {
                Way::Proxy => "through the proxy".to_owned(),
                Way::Given(context) | Way::Same(context) => format!("with the context {context}"),
            }
        ))
    }

    /// Removes the Works of proofs that were killed; younger ones may be of a proof that runs.
    async fn remove_what_killed_runs_left(&self) {
        let Ok(List { items, .. }) = self.control_plane.list::<Value>(&self.works()).await else {
            // The proof itself lists them again, and says why it cannot.
            return;
        };
        let now = clock::now().as_nanosecond();
        let old = items
            .iter()
            .filter_map(|work| work["metadata"]["name"].as_str())
            .filter(|name| {
                let made = name
                    .strip_prefix(PREFIX)
                    .and_then(|hex| i128::from_str_radix(hex, 16).ok());
                made.is_some_and(|made| now - made > ABANDONED_AFTER)
            });
        for name in old {
            let path = format!("{}/{name}", self.works());
            // One that cannot be removed shows among the Works that sleep.
            let _ = self
                .control_plane
                .delete(&path, &Preconditions::default(), DryRun::Off)
                .await;
        }
    }

    /// The member's own Works that lack an Applied condition, once they are none or the wait is over.
    async fn wait_for_works(&self) -> Result<usize, RequestError> {
        loop {
            let List { items, .. } = self.control_plane.list::<Value>(&self.works()).await?;
            let asleep = items.iter().filter(|work| !is_applied(work)).count();
            if asleep == 0 || self.deadline.passed() {
                return Ok(asleep);
            }
            tokio::time::sleep(BETWEEN_LOOKS).await;
        }
    }

    /// Waits until the member's copy has this value.
    async fn wait_for(&self, value: &str, otherwise: &str) -> Result<(), ProofResult> {
        // Each stage gets a fair share, also when the ones before it took long.
        let stage = Deadline::after(STAGE);
        let mut last = None;
        while !(self.deadline.passed() && stage.passed()) {
            match self.member.get::<Value>(&self.copy()).await {
                Ok(copy) if copy["data"][KEY] == value => return Ok(()),
                Ok(_) => {}
                Err(error) if error.is_not_found() => {}
                Err(error) if error.is_forbidden() || error.is_unauthorized() => {
                    return Err(ProofResult::Impossible(format!(
                        "ConfigMaps cannot be read there: {error}"
                    )));
                }
                Err(error) => last = Some(error),
            }
            tokio::time::sleep(BETWEEN_LOOKS).await;
        }
        let last = last.map(|error| format!(": {error}")).unwrap_or_default();
        Err(ProofResult::Failed(format!(
            "{otherwise} (seen for {}){last}",
            seconds(stage.waited())
        )))
    }

    /// Removes the Work and the member's copy; Karmada does the second, where it still works.
    async fn remove(&self) -> Result<(), String> {
        let work = self.work_path();
        match self
            .control_plane
            .delete(&work, &Preconditions::default(), DryRun::Off)
            .await
        {
            Ok(_) => {}
            // Never made, and so nothing was delivered.
            Err(error) if error.is_not_found() => return Ok(()),
            Err(error) => return Err(self.left_behind(&error)),
        }
        if self.are_both_gone().await {
            return Ok(());
        }
        // Karmada did not do its part: the copy first, then what holds the Work.
        match self.member.delete(&self.copy()).await {
            Ok(_) => {}
            Err(error) if error.is_not_found() => {}
            Err(error) => return Err(self.left_behind(&error)),
        }
        let without = json!({"metadata": {"finalizers": null}});
        match self
            .control_plane
            .patch(&work, PatchKind::Merge, &without, DryRun::Off)
            .await
        {
            Ok(_) => Ok(()),
            Err(error) if error.is_not_found() => Ok(()),
            Err(error) => Err(self.left_behind(&error)),
        }
    }

    async fn are_both_gone(&self) -> bool {
        let deadline = Deadline::after(GONE);
        let gone =
            |read: Result<Value, RequestError>| read.is_err_and(|error| error.is_not_found());
        while !deadline.passed() {
            let work = gone(self.control_plane.get(&self.work_path()).await);
            if work && gone(self.member.get(&self.copy()).await) {
                return true;
            }
            tokio::time::sleep(BETWEEN_LOOKS).await;
        }
        false
    }

    fn left_behind(&self, error: &RequestError) -> String {
        format!(
            "left behind, to be deleted by hand: work {name} in {namespace} of the control plane and configmap {name} in \
             the namespace default of the member ({error})",
            name = self.name,
            namespace = self.namespace
        )
    }

    fn works(&self) -> String {
        format!(
            "/apis/work.karmada.io/v1alpha1/namespaces/{}/works",
            self.namespace
        )
    }

    fn work_path(&self) -> String {
        format!("{}/{}", self.works(), self.name)
    }

    fn copy(&self) -> String {
        format!("/api/v1/namespaces/default/configmaps/{}", self.name)
    }

    /// The shape that Karmada's own controllers give a Work: without the finalizer the copy stays behind, without the
    /// label and the annotations edits are not reverted.
    fn work(&self) -> Value {
        json!({
            "apiVersion": "work.karmada.io/v1alpha1",
            "kind": "Work",
            "metadata": {
                "name": self.name,
                "namespace": self.namespace,
                "finalizers": ["karmada.io/execution-controller"]
            },
            "spec": {"workload": {"manifests": [{
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {
                    "name": self.name,
                    "namespace": "default",
                    "labels": {"karmada.io/managed": "true"},
                    "annotations": {
                        "work.karmada.io/name": self.name,
                        "work.karmada.io/namespace": self.namespace
                    }
                },
                "data": {KEY: DELIVERED}
            }]}}
        })
    }
}

fn is_applied(work: &Value) -> bool {
    let deleted = !work["metadata"]["deletionTimestamp"].is_null();
    let suspended = work["spec"]["suspendDispatching"] == true;
    let applied = work["status"]["conditions"]
        .as_array()
        .is_some_and(|conditions| {
            conditions
                .iter()
                .any(|condition| condition["type"] == "Applied")
        });
    deleted || suspended || applied
}

/// What the names of the objects of a proof begin with; the time of the proof follows, in nanoseconds since 1970.
const PREFIX: &str = "karmada-repair-delivery-";
const KEY: &str = "delivery";
const DELIVERED: &str = "as delivered";
const EDITED: &str = "edited by hand";

/// A working control plane takes half a second for each stage.
const STAGE: Duration = Duration::from_secs(10);
/// Ten minutes, in nanoseconds.
const ABANDONED_AFTER: i128 = 600_000_000_000;
const GONE: Duration = Duration::from_secs(15);
const BETWEEN_LOOKS: Duration = Duration::from_millis(200);
