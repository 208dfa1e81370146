//! Carries out a confirmed plan, step by step; the only file that sends writes.

use std::net::Ipv4Addr;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use crate::access::Access;
use crate::backup::SavedStep;
use crate::cluster::client::{DryRun as ServerDryRun, PatchKind};
use crate::cluster::object::ObjectReference;
use crate::cluster::request_error::{RequestError, Sent};
use crate::confirm::ConfirmedPlan;
use crate::docker::client::{ConnectRequest, Docker};
use crate::docker::error::DockerError;
use crate::docker::model::ContainerState;
use crate::docker::refusal::Refusal;
use crate::interrupt::Interrupt;
use crate::plan::{Action, NetworkAttachment, Plan, Step, holds_result, unmet_precondition};

/// How one step ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "result", content = "detail", rename_all = "kebab-case")]
pub enum StepResult {
    /// It was done.
    Applied,
    /// What it wanted was there already; nothing was written.
    Unchanged,
    /// It was tried and is not done, or cannot be told to be done; why.
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
            .all(|result| matches!(result, StepResult::Applied | StepResult::Unchanged))
    }

    /// Whether something was, or may have been, written.
    pub fn touched_anything(&self) -> bool {
        self.results
            .iter()
            .any(|result| matches!(result, StepResult::Applied | StepResult::Failed(_)))
    }
}

/// Reads each object that the plan changes, as the backup keeps it.
///
/// # Errors
/// The reason, when one cannot be read: a plan whose objects cannot be backed up is not begun.
pub async fn read_before(plan: &Plan, access: &Access) -> Result<Vec<SavedStep>, String> {
    let mut saved = Vec::with_capacity(plan.steps.len());
    for step in &plan.steps {
        let before = match &step.action {
            Action::PatchObject { object, .. } => access
                .control_plane()
                .get::<Value>(&object.path())
                .await
                .map_err(|error| error.to_string())?,
            Action::ConnectNetwork(attachment) | Action::DisconnectNetwork(attachment) => {
                let container = docker(access)?
                    .inspect(&attachment.container_id)
                    .await
                    .map_err(|error| error.to_string())?;
                json!({ "container": container.name, "attachments": container.attachments })
            }
        };
        saved.push(SavedStep {
            step: step.clone(),
            before,
        });
    }
    Ok(saved)
}

/// Carries out the plan. `begun` is told of each step before it is sent, `ended` of its result.
///
/// A step that fails ends the steps of its subject, not those of others. A signal lets the running step finish and
/// skips the rest.
pub async fn apply(
    plan: ConfirmedPlan,
    access: &Access,
    interrupt: &Interrupt,
    mut ended: impl FnMut(&Step, &StepResult),
) -> Outcome {
    let mut outcome = Outcome::default();
    let mut failed = Vec::new();
    for step in plan.into_steps() {
        let result = if interrupt.heard().is_some() {
            StepResult::Skipped("interrupted".to_owned())
        } else if failed.contains(&step.subject) {
            StepResult::Skipped(format!("an earlier step of {} failed", step.subject))
        } else {
            carry_out(&step.action, access).await
        };
        if matches!(result, StepResult::Failed(_)) {
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
        outcome.results.push(match &step.action {
            Action::PatchObject { object, patch, .. } => {
                let body = serde_json::to_value(patch).unwrap_or_default();
                let sent = access
                    .control_plane()
                    .patch(&object.path(), PatchKind::Json, &body, ServerDryRun::All)
                    .await;
                match sent {
                    Ok(_) => StepResult::Applied,
                    Err(error) => StepResult::Failed(error.to_string()),
                }
            }
            Action::ConnectNetwork(_) | Action::DisconnectNetwork(_) => {
                StepResult::Skipped("Docker has no dry run".to_owned())
            }
        });
    }
    outcome
}

async fn carry_out(action: &Action, access: &Access) -> StepResult {
    match action {
        Action::PatchObject { object, patch, .. } => patch_object(object, patch, access).await,
        Action::ConnectNetwork(attachment) => match docker(access) {
            Ok(docker) => connect(docker, attachment).await,
            Err(reason) => StepResult::Failed(reason),
        },
        Action::DisconnectNetwork(attachment) => match docker(access) {
            Ok(docker) => disconnect(docker, attachment).await,
            Err(reason) => StepResult::Failed(reason),
        },
    }
}

async fn patch_object(
    object: &ObjectReference,
    patch: &json_patch::Patch,
    access: &Access,
) -> StepResult {
    let body = serde_json::to_value(patch).unwrap_or_default();
    let client = access.control_plane();
    let error = match client
        .patch(&object.path(), PatchKind::Json, &body, ServerDryRun::Off)
        .await
    {
        Ok(_) => return StepResult::Applied,
        Err(error) => error,
    };
    if !may_have_been_decided_by_state(&error) {
        return StepResult::Failed(error.to_string());
    }
    // Whether the write was refused for a changed object, or done and its answer lost, only the object tells.
    match client.get::<Value>(&object.path()).await {
        Ok(now) if holds_result(&now, patch) && error.code().is_some() => StepResult::Unchanged,
        Ok(now) if holds_result(&now, patch) => StepResult::Applied,
        Ok(now) => match unmet_precondition(&now, patch) {
            Some(path) => StepResult::Failed(format!(
                "conflict: {} of {object} is no longer what was diagnosed; run again to see it as it is now",
                path.trim_start_matches('/').replace('/', ".")
            )),
            None => {
                StepResult::Failed(format!("{error}; {object} was read again and is unchanged"))
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

async fn connect(docker: &Docker, wanted: &NetworkAttachment) -> StepResult {
    match attachment_now(docker, wanted).await {
        Ok(Now::On(address))
            if wanted.address.is_none_or(|wanted| wanted == address)
                || wanted.address_may_yield =>
        {
            return StepResult::Unchanged;
        }
        Ok(Now::On(address)) => {
            return StepResult::Failed(format!(
                "conflict: {} is on {} at {address} by now; run again to see it as it is now",
                wanted.container, wanted.network
            ));
        }
        Ok(Now::Ghost) => {
            return StepResult::Failed(format!(
                "{} has a broken entry for {} from a connect that failed; `docker restart {}` would not start it: \
                 stop it, disconnect it from that network, and start it",
                wanted.container, wanted.network, wanted.container
            ));
        }
        Ok(Now::Off) => {}
        Err(error) => return StepResult::Failed(error.to_string()),
    }
    let mut request = ConnectRequest {
        network_id: wanted.network_id.clone(),
        container_id: wanted.container_id.clone(),
        address: wanted.address,
        gateway_priority: wanted.gateway_priority,
        interface: Some(wanted.interface.clone()),
        aliases: Vec::new(),
    };
    let mut sent = docker.connect_network(&request).await;
    let refused = sent.as_ref().err().and_then(DockerError::refusal);
    if wanted.address_may_yield && refused == Some(Refusal::NoUserSubnet) {
        request.address = None;
        sent = docker.connect_network(&request).await;
    }
    let error = match sent {
        Ok(()) => return StepResult::Applied,
        Err(error) => error,
    };
    match attachment_now(docker, wanted).await {
        Ok(Now::On(_)) => StepResult::Applied,
        Ok(Now::Ghost) => StepResult::Failed(format!(
            "{error}; Docker kept a broken entry for {} in {}: before its next start, stop it, disconnect it from \
             that network, and start it",
            wanted.network, wanted.container
        )),
        Ok(Now::Off) => StepResult::Failed(error.to_string()),
        Err(reading) => StepResult::Failed(format!(
            "{error}; whether {} is connected cannot be told: {reading}",
            wanted.container
        )),
    }
}

async fn disconnect(docker: &Docker, wanted: &NetworkAttachment) -> StepResult {
    match attachment_now(docker, wanted).await {
        Ok(Now::Off) => return StepResult::Unchanged,
        Ok(Now::On(_) | Now::Ghost) => {}
        Err(error) => return StepResult::Failed(error.to_string()),
    }
    match docker
        .disconnect_network(&wanted.network_id, &wanted.container_id, false)
        .await
    {
        Ok(()) => StepResult::Applied,
        Err(error) => StepResult::Failed(error.to_string()),
    }
}

enum Now {
    Off,
    On(Ipv4Addr),
    /// An entry without an address in a running container, left by a failed connect; it breaks the next start.
    Ghost,
}

async fn attachment_now(docker: &Docker, wanted: &NetworkAttachment) -> Result<Now, DockerError> {
    let container = docker.inspect(&wanted.container_id).await?;
    let attachment = container
        .attachments
        .get(&wanted.network)
        .filter(|attachment| {
            attachment
                .network_id
                .as_ref()
                .is_none_or(|id| *id == wanted.network_id)
        });
    Ok(match attachment {
        None => Now::Off,
        Some(attachment) => match attachment.address {
            Some(address) => Now::On(address),
            None if matches!(
                container.state,
                ContainerState::Running | ContainerState::Paused
            ) =>
            {
                Now::Ghost
            }
            // A stopped container holds no address; its entry is its place on the network.
            None => Now::On(attachment.pinned.unwrap_or(Ipv4Addr::UNSPECIFIED)),
        },
    })
}

fn docker(access: &Access) -> Result<&Docker, String> {
    access
        .docker_in_use()
        .ok_or_else(|| "the Docker daemon was not reached when the plan was made".to_owned())
}
