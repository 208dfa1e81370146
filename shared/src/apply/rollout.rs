//! A Deployment, StatefulSet or DaemonSet is restarted, and its roll-out waited for.

use std::time::Duration;

use serde_json::{Value, json};

use crate::access::ServerApi;
use crate::apply::StepResult;
use crate::clock::{self, Deadline};
use crate::cluster::client::{DryRun, PatchKind};
use crate::cluster::object::ObjectReference;
use crate::cluster::request_error::{RequestError, Sent};
use crate::interrupt::Interrupt;
use crate::text::seconds;

/// Sets the annotation that `kubectl rollout restart` sets, and waits until all replicas are new and available.
pub(super) async fn restart(
    api: &ServerApi,
    object: &ObjectReference,
    uid: &str,
    allowed: Duration,
    interrupt: &Interrupt,
) -> StepResult {
    if let Err(reason) = can_be_restarted(api, object).await {
        return StepResult::Refused(reason);
    }
    let body = patch(uid);
    let restarted: Value = match api
        .patch(&object.path(), PatchKind::Merge, &body, DryRun::Off)
        .await
    {
        Ok(restarted) => restarted,
        Err(error) if error.code().is_none() && error.was_sent() == Sent::Maybe => {
            return StepResult::Failed(error.to_string());
        }
        Err(error) => return StepResult::Refused(explained(object, &error)),
    };
    let generation = restarted["metadata"]["generation"]
        .as_i64()
        .unwrap_or_default();
    let deadline = Deadline::after(allowed);
    let mut state = "its roll-out has not begun".to_owned();
    while !deadline.passed() {
        match api.get::<Value>(&object.path()).await {
            Ok(now) => match unfinished(&now, generation) {
                None => return StepResult::Applied(None),
                Some(unfinished) => state = unfinished,
            },
            Err(error) => state = error.to_string(),
        }
        if interrupt.heard().is_some() {
            return StepResult::Failed(format!(
                "{object} was restarted, and the wait for it interrupted: {state}"
            ));
        }
        tokio::select! {
            () = tokio::time::sleep(BETWEEN_LOOKS) => {}
            _ = interrupt.wait() => {}
        }
    }
    StepResult::Failed(format!(
        "{object} was restarted, and its roll-out is not complete after {}: {state}",
        seconds(allowed)
    ))
}

/// Sends the same request with `dryRun=All`.
pub(super) async fn rehearse(api: &ServerApi, object: &ObjectReference, uid: &str) -> StepResult {
    if let Err(reason) = can_be_restarted(api, object).await {
        return StepResult::Refused(reason);
    }
    match api
        .patch(&object.path(), PatchKind::Merge, &patch(uid), DryRun::All)
        .await
    {
        Ok(_) => StepResult::Applied(None),
        Err(error) => StepResult::Refused(explained(object, &error)),
    }
}

/// A UID in a patch is a precondition: the server answers 409 when the object is another one by now.
fn patch(uid: &str) -> Value {
    json!({
        "metadata": {"uid": uid},
        "spec": {"template": {"metadata": {"annotations": {
            "kubectl.kubernetes.io/restartedAt": clock::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
        }}}}
    })
}

fn explained(object: &ObjectReference, error: &RequestError) -> String {
    if error.is_conflict() {
        format!("conflict: {object} is another object by now; run again to see it as it is")
    } else {
        error.to_string()
    }
}

async fn can_be_restarted(api: &ServerApi, object: &ObjectReference) -> Result<(), String> {
    match api.get::<Value>(&object.path()).await {
        Ok(now) => match obstacle(&now) {
            None => Ok(()),
            Some(obstacle) => Err(format!("{object} cannot be restarted: {obstacle}")),
        },
        Err(error) => Err(error.to_string()),
    }
}

/// Why a new pod template would start no new pod; `None` = it would.
fn obstacle(workload: &Value) -> Option<String> {
    if workload["spec"]["paused"] == true {
        return Some("its roll-out is paused; kubectl rollout resume ends that".to_owned());
    }
    (workload["spec"]["updateStrategy"]["type"] == "OnDelete").then(|| {
        "its update strategy is OnDelete, so its pods have to be deleted by hand".to_owned()
    })
}

/// What is missing for the roll-out of this generation, as `kubectl rollout status` judges it; `None` = nothing.
fn unfinished(workload: &Value, generation: i64) -> Option<String> {
    if count(workload, "observedGeneration") < generation {
        return Some("its controller has not seen the restart".to_owned());
    }
    match workload["kind"].as_str() {
        Some("StatefulSet") => unfinished_stateful_set(workload),
        Some("DaemonSet") => unfinished_daemon_set(workload),
        _ => unfinished_deployment(workload),
    }
}

fn unfinished_deployment(deployment: &Value) -> Option<String> {
    let wanted = wanted_replicas(deployment);
    let (updated, all, available) = (
        count(deployment, "updatedReplicas"),
        count(deployment, "replicas"),
        count(deployment, "availableReplicas"),
    );
    if updated < wanted {
        Some(format!("{updated} of {wanted} replicas are new"))
    } else if all > updated {
        Some(format!("{} old replicas are still there", all - updated))
    } else if available < updated {
        Some(format!(
            "{available} of {updated} new replicas are available"
        ))
    } else {
        None
    }
}

/// Pods below the partition keep their old template.
fn unfinished_stateful_set(set: &Value) -> Option<String> {
    let replicas = wanted_replicas(set);
    let partition = set["spec"]["updateStrategy"]["rollingUpdate"]["partition"]
        .as_i64()
        .unwrap_or_default();
    let wanted = (replicas - partition).max(0);
    let (updated, ready) = (count(set, "updatedReplicas"), count(set, "readyReplicas"));
    if ready < replicas {
        Some(format!("{ready} of {replicas} replicas are ready"))
    } else if updated < wanted {
        Some(format!("{updated} of {wanted} replicas are new"))
    } else {
        None
    }
}

fn unfinished_daemon_set(set: &Value) -> Option<String> {
    let wanted = count(set, "desiredNumberScheduled");
    let (updated, available) = (
        count(set, "updatedNumberScheduled"),
        count(set, "numberAvailable"),
    );
    if updated < wanted {
        Some(format!("{updated} of {wanted} pods are new"))
    } else if available < wanted {
        Some(format!("{available} of {wanted} pods are available"))
    } else {
        None
    }
}

fn wanted_replicas(workload: &Value) -> i64 {
    workload["spec"]["replicas"].as_i64().unwrap_or(1)
}

fn count(workload: &Value, field: &str) -> i64 {
    workload["status"][field].as_i64().unwrap_or_default()
}

const BETWEEN_LOOKS: Duration = Duration::from_millis(250);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_roll_out_is_complete_when_all_replicas_are_new_and_available() {
        let deployment = |observed: i64, updated: i64, all: i64, available: i64| {
            json!({
                "spec": {"replicas": 2},
                "status": {
                    "observedGeneration": observed,
                    "updatedReplicas": updated,
                    "replicas": all,
                    "availableReplicas": available
                }
            })
        };
        let cases = [
            (
                deployment(6, 2, 2, 2),
                Some("its controller has not seen the restart"),
            ),
            (deployment(7, 1, 3, 2), Some("1 of 2 replicas are new")),
            (
                deployment(7, 2, 3, 3),
                Some("1 old replicas are still there"),
            ),
            (
                deployment(7, 2, 2, 1),
                Some("1 of 2 new replicas are available"),
            ),
            (deployment(7, 2, 2, 2), None),
        ];
        for (deployment, expected) in cases {
            assert_eq!(
                unfinished(&deployment, 7).as_deref(),
                expected,
                "{deployment}"
            );
        }
    }

    #[test]
    fn stateful_and_daemon_sets_are_rolled_out_by_their_own_counts() {
        let stateful = |ready: i64, updated: i64, partition: i64| {
            json!({
                "kind": "StatefulSet",
                "spec": {"replicas": 3, "updateStrategy": {"rollingUpdate": {"partition": partition}}},
                "status": {"observedGeneration": 7, "readyReplicas": ready, "updatedReplicas": updated}
            })
        };
        let daemon = |updated: i64, available: i64| {
            json!({
                "kind": "DaemonSet",
                "status": {
                    "observedGeneration": 7, "desiredNumberScheduled": 2,
                    "updatedNumberScheduled": updated, "numberAvailable": available
                }
            })
        };
        let cases = [
            (stateful(2, 3, 0), Some("2 of 3 replicas are ready")),
            (stateful(3, 2, 0), Some("2 of 3 replicas are new")),
            (stateful(3, 2, 1), None),
            (stateful(3, 0, 9), None),
            (stateful(3, 3, 0), None),
            (daemon(1, 2), Some("1 of 2 pods are new")),
            (daemon(2, 1), Some("1 of 2 pods are available")),
            (daemon(2, 2), None),
        ];
        for (workload, expected) in cases {
            assert_eq!(unfinished(&workload, 7).as_deref(), expected, "{workload}");
        }
        let unseen = json!({"kind": "DaemonSet", "status": {"observedGeneration": 6}});
        assert!(unfinished(&unseen, 7).is_some());
    }

    #[test]
    fn what_would_start_no_new_pod_is_not_restarted() {
        let cases = [
            (json!({"spec": {}}), false),
            (json!({"spec": {"paused": true}}), true),
            (
                json!({"spec": {"updateStrategy": {"type": "OnDelete"}}}),
                true,
            ),
            (
                json!({"spec": {"updateStrategy": {"type": "RollingUpdate"}}}),
                false,
            ),
        ];
        for (workload, expected) in cases {
            assert_eq!(obstacle(&workload).is_some(), expected, "{workload}");
        }
    }
}
