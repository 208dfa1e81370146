//! Carries out a confirmed plan, step by step; the only file that sends writes, with those below it.

mod attachment;
mod rollout;

use std::time::Duration;

use json_patch::Patch;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::access::Access;
use crate::backup::SavedStep;
use crate::cluster::client::{ClusterClient, DryRun, PatchKind};
use crate::cluster::object::ObjectReference;
use crate::cluster::request_error::{RequestError, Sent};
use crate::confirm::ConfirmedPlan;
use crate::docker::client::Docker;
use crate::interrupt::Interrupt;
use crate::plan::{Action, Plan, Server, Step, holds_result, touches, unmet_precondition};

/// How one step ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "result", content = "detail", rename_all = "kebab-case")]
pub enum StepResult {
    /// It was done; with a note where it was not done quite as planned.
    Applied(Option<String>),
    /// What it wanted was there already; nothing was written.
    Unchanged,
    /// It was tried, and the server took nothing; why.
    Refused(String),
    /// It was tried, and is not done or cannot be told to be done; why.
    Failed(String),
    /// It was not tried; why.
    Skipped(String),
}

/// What became of a plan: one result per step, in order.
#[derive(Debug, Clone, Default)]
pub struct Outcome {
    /// The results, as many as the plan has steps.
    pub results: Vec<StepResult>,
}

impl Outcome {
    /// Whether every step is done.
    pub fn is_complete(&self) -> bool {
        self.results
            .iter()
            .all(|result| matches!(result, StepResult::Applied(_) | StepResult::Unchanged))
    }

    /// Whether something was, or may have been, written.
    pub fn touched_anything(&self) -> bool {
        self.results
            .iter()
            .any(|result| matches!(result, StepResult::Applied(_) | StepResult::Failed(_)))
    }
}

/// Reads each object that the plan changes, as the backup keeps it.
///
/// # Errors
/// The reason, when one cannot be read: a plan whose objects cannot be backed up is not begun.
pub async fn read_before(plan: &Plan, access: &Access) -> Result<Vec<SavedStep>, String> {
    let mut saved = Vec::with_capacity(plan.steps.len());
    for step in &plan.steps {
        saved.push(SavedStep {
            step: step.clone(),
            before: before(&step.action, access).await?,
            result: None,
        });
    }
    Ok(saved)
}

/// Carries out the plan; `ended` is told of each step with its result. A roll-out may take as long as `patience`.
///
/// A step that fails ends the steps of its subject, not those of others. A restart is skipped when every change before
/// it failed. A signal lets the running step finish and skips the rest.
pub async fn apply(
    plan: ConfirmedPlan,
    access: &Access,
    interrupt: &Interrupt,
    patience: Duration,
    mut ended: impl FnMut(&Step, &StepResult),
) -> Outcome {
    let mut outcome = Outcome::default();
    let mut failed = Vec::new();
    for step in plan.into_steps() {
        let changed_nothing = !outcome.results.is_empty()
            && !outcome
                .results
                .iter()
                .any(|result| matches!(result, StepResult::Applied(_) | StepResult::Unchanged));
        let result = if interrupt.heard().is_some() {
            StepResult::Skipped("interrupted".to_owned())
        } else if failed.contains(&step.subject) {
            StepResult::Skipped(format!("an earlier step of {} failed", step.subject))
        } else if changed_nothing && matches!(step.action, Action::Restart { .. }) {
            StepResult::Skipped("no change that needs it was made".to_owned())
        } else {
            carry_out(&step.action, access, interrupt, patience).await
        };
        if matches!(result, StepResult::Failed(_) | StepResult::Refused(_)) {
            failed.push(step.subject.clone());
        }
        ended(&step, &result);
        outcome.results.push(result);
    }
    outcome
}

/// Sends each API write of the plan with `dryRun=All` (Kubernetes API conventions, dry-run); Docker steps are skipped.
pub async fn rehearse(plan: &Plan, access: &Access) -> Outcome {
    let mut outcome = Outcome::default();
    for step in &plan.steps {
        let result = match &step.action {
            Action::PatchObject {
                server,
                object,
                patch,
                ..
            } => match access.server(*server) {
                Ok(client) => sent_dry(client, object, patch).await,
                Err(reason) => StepResult::Refused(reason),
            },
            Action::Restart { object, uid } => match access.server(Server::Host) {
                Ok(client) => rollout::rehearse(client, object, uid).await,
                Err(reason) => StepResult::Refused(reason),
            },
            Action::ConnectNetwork(_) | Action::DisconnectNetwork(_) => {
                StepResult::Skipped("Docker has no dry run".to_owned())
            }
        };
        outcome.results.push(result);
    }
    outcome
}

async fn before(action: &Action, access: &Access) -> Result<Value, String> {
    match action {
        Action::PatchObject {
            server,
            object,
            patch,
            ..
        } => access
            .server(*server)?
            .get::<Value>(&object.path())
            .await
            .map(|now| without_untouched_secrets(now, object, patch))
            .map_err(|error| error.to_string()),
        Action::Restart { object, .. } => access
            .server(Server::Host)?
            .get::<Value>(&object.path())
            .await
            .map_err(|error| error.to_string()),
        Action::ConnectNetwork(attachment) | Action::DisconnectNetwork(attachment) => {
            let container = docker(access)?
                .inspect(&attachment.container_id)
                .await
                .map_err(|error| error.to_string())?;
            Ok(json!({ "container": container.name, "attachments": container.attachments }))
        }
    }
}

/// A Secret without the values that the patch does not touch: a backup holds no more secrets than it needs.
fn without_untouched_secrets(mut now: Value, object: &ObjectReference, patch: &Patch) -> Value {
    if object.kind == "Secret"
        && let Some(data) = now.get_mut("data").and_then(Value::as_object_mut)
    {
        data.retain(|key, _| touches(patch, &format!("/data/{key}")));
    }
    now
}

async fn carry_out(
    action: &Action,
    access: &Access,
    interrupt: &Interrupt,
    patience: Duration,
) -> StepResult {
    let carried_out = match action {
        Action::PatchObject {
            server,
            object,
            patch,
            ..
        } => match access.server(*server) {
            Ok(client) => Ok(patch_object(object, patch, client).await),
            Err(reason) => Err(reason),
        },
        Action::Restart { object, uid } => match access.server(Server::Host) {
            Ok(host) => Ok(rollout::restart(host, object, uid, patience, interrupt).await),
            Err(reason) => Err(reason),
        },
        Action::ConnectNetwork(attachment) => match docker(access) {
            Ok(docker) => Ok(attachment::connect(docker, attachment).await),
            Err(reason) => Err(reason),
        },
        Action::DisconnectNetwork(attachment) => match docker(access) {
            Ok(docker) => Ok(attachment::disconnect(docker, attachment).await),
            Err(reason) => Err(reason),
        },
    };
    carried_out.unwrap_or_else(StepResult::Refused)
}

async fn sent_dry(client: &ClusterClient, object: &ObjectReference, patch: &Patch) -> StepResult {
    let body = serde_json::to_value(patch).unwrap_or_default();
    match client
        .patch(&object.path(), PatchKind::Json, &body, DryRun::All)
        .await
    {
        Ok(_) => StepResult::Applied(None),
        Err(error) => StepResult::Refused(error.to_string()),
    }
}

async fn patch_object(
    object: &ObjectReference,
    patch: &Patch,
    client: &ClusterClient,
) -> StepResult {
    let body = serde_json::to_value(patch).unwrap_or_default();
    let error = match client
        .patch(&object.path(), PatchKind::Json, &body, DryRun::Off)
        .await
    {
        Ok(_) => return StepResult::Applied(None),
        Err(error) => error,
    };
    if !may_have_been_decided_by_state(&error) {
        return StepResult::Refused(error.to_string());
    }
    // Whether the write was refused for a changed object, or done and its answer lost, only the object tells.
    match client.get::<Value>(&object.path()).await {
        Ok(now) if holds_result(&now, patch) && error.code().is_some_and(|code| code < 500) => {
            StepResult::Unchanged
        }
        Ok(now) if holds_result(&now, patch) => StepResult::Applied(Some(
            "the answer was lost; the object was read again".to_owned(),
        )),
        Ok(now) => match unmet_precondition(&now, patch) {
            Some(path) => StepResult::Refused(format!(
                "conflict: {} of {object} is no longer what was diagnosed; run again to see it as it is now",
                path.trim_start_matches('/').replace('/', ".")
            )),
            None => {
                StepResult::Refused(format!("{error}; {object} was read again and is unchanged"))
            }
        },
        Err(reading) => StepResult::Failed(format!(
            "{error}; whether {object} was changed cannot be told: {reading}"
        )),
    }
}

fn may_have_been_decided_by_state(error: &RequestError) -> bool {
    match error.code() {
        Some(code) => matches!(code, 409 | 422) || code >= 500,
        None => error.was_sent() == Sent::Maybe,
    }
}

fn docker(access: &Access) -> Result<&Docker, String> {
    access
        .docker_in_use()
        .ok_or_else(|| "the Docker daemon was not reached when the plan was made".to_owned())
}
