//! Carries out a confirmed plan, step by step; the only file that sends writes, with those below it.

mod attachment;
mod docker_action;
mod exec;
mod local_file;
mod object;
mod rollout;

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::access::{Access, ServerApi};
use crate::apply::object::Applying;
use crate::backup::SavedStep;
use crate::cluster::client::Preconditions;
use crate::cluster::object::ObjectReference;
use crate::confirm::ConfirmedPlan;
use crate::docker::client::Docker;
use crate::interrupt::Interrupt;
use crate::plan::{Action, Plan, Step, touches};

pub(crate) use docker_action::{Standing, standing};
pub(crate) use local_file::text as file_text;
pub(crate) use object::is_manifest;

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
    /// The objects that the steps left, as many as there are results; `None` = a step wrote none, or its answer was lost.
    pub written: Vec<Option<Written>>,
}

/// The identity of an object as a step left it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Written {
    /// Its `metadata.uid`.
    pub uid: String,
    /// Its `metadata.resourceVersion`; empty when the server sent none.
    pub resource_version: String,
}

impl Written {
    /// Of an object as a server answers it; `None` = it has no UID.
    fn of(object: &Value) -> Option<Written> {
        let metadata = |field: &str| object["metadata"][field].as_str().map(str::to_owned);
        Some(Written {
            uid: metadata("uid")?,
            resource_version: metadata("resourceVersion").unwrap_or_default(),
        })
    }
}

/// How a step ended, and what it left.
struct Done {
    result: StepResult,
    written: Option<Written>,
}

impl Done {
    fn applied(note: Option<String>, object: &Value) -> Done {
        Done {
            result: StepResult::Applied(note),
            written: Written::of(object),
        }
    }
}

impl From<StepResult> for Done {
    fn from(result: StepResult) -> Done {
        Done {
            result,
            written: None,
        }
    }
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
    for (index, step) in plan.steps.iter().enumerate() {
        let before = match is_deleted_by(&plan.steps[..index], &step.action) {
            true => Value::Null,
            false => before(&step.action, access).await?,
        };
        saved.push(SavedStep {
            step: step.clone(),
            before,
            result: None,
            written: None,
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
        let done = if interrupt.heard().is_some() {
            StepResult::Skipped("interrupted".to_owned()).into()
        } else if failed.contains(&step.subject) {
            StepResult::Skipped(format!("an earlier step of {} failed", step.subject)).into()
        } else if changed_nothing && matches!(step.action, Action::Restart { .. }) {
            StepResult::Skipped("no change that needs it was made".to_owned()).into()
        } else {
            carry_out(&step.action, access, interrupt, patience)
                .await
                .unwrap_or_else(|reason| StepResult::Refused(reason).into())
        };
        if matches!(done.result, StepResult::Failed(_) | StepResult::Refused(_)) {
            failed.push(step.subject.clone());
        }
        ended(&step, &done.result);
        outcome.results.push(done.result);
        outcome.written.push(done.written);
    }
    outcome
}

/// Sends each API write of the plan with `dryRun=All` (Kubernetes API conventions, dry-run); commands and Docker steps,
/// which have no dry run, are skipped.
pub async fn rehearse(plan: &Plan, access: &Access) -> Outcome {
    let mut outcome = Outcome::default();
    for (index, step) in plan.steps.iter().enumerate() {
        let result = rehearse_step(&step.action, &plan.steps[..index], access).await;
        outcome
            .results
            .push(result.unwrap_or_else(StepResult::Refused));
        outcome.written.push(None);
    }
    outcome
}

async fn rehearse_step(
    action: &Action,
    earlier: &[Step],
    access: &Access,
) -> Result<StepResult, String> {
    let result = match action {
        Action::PatchObject { object, patch, .. } => {
            object::rehearse_patch(&api(action, access).await?, object, patch).await
        }
        Action::CreateObject { object, .. } | Action::ApplyObject { object, .. }
            if earlier.iter().any(|step| makes_room_for(step, action)) =>
        {
            let namespace = object.namespace.as_deref().unwrap_or_default();
            StepResult::Skipped(format!(
                "its namespace {namespace} is made by an earlier step of this plan"
            ))
        }
        Action::CreateObject { .. } | Action::ApplyObject { .. }
            if is_deleted_by(earlier, action) =>
        {
            StepResult::Skipped("an earlier step of this plan makes room for it".to_owned())
        }
        Action::CreateObject {
            object, manifest, ..
        } => object::rehearse_creation(&api(action, access).await?, object, manifest).await,
        Action::ApplyObject {
            object,
            manifest,
            before,
            ..
        } => {
            let applying = Applying {
                object,
                manifest,
                before: before.as_ref(),
            };
            applying.rehearse(&api(action, access).await?).await
        }
        Action::DeleteObject {
            object,
            uid,
            resource_version,
            ..
        } => {
            let only_if = preconditions(uid, resource_version.as_deref());
            object::rehearse_deletion(&api(action, access).await?, object, &only_if).await
        }
        Action::Restart { object, uid, .. } => {
            rollout::rehearse(&api(action, access).await?, object, uid).await
        }
        Action::Exec(_) => StepResult::Skipped("a command has no dry run".to_owned()),
        Action::ConnectNetwork(_) | Action::DisconnectNetwork(_) | Action::Docker(_) => {
            StepResult::Skipped("Docker has no dry run".to_owned())
        }
        Action::File(_) => StepResult::Skipped("a file has no dry run".to_owned()),
    };
    Ok(result)
}

/// Whether one of the steps deletes the object that the action is about.
fn is_deleted_by(earlier: &[Step], action: &Action) -> bool {
    earlier.iter().any(|step| {
        matches!(step.action, Action::DeleteObject { .. })
            && step.action.server() == action.server()
            && step.action.object() == action.object()
    })
}

/// Whether the step creates the namespace that the action writes in.
fn makes_room_for(step: &Step, action: &Action) -> bool {
    let created = match &step.action {
        Action::CreateObject { object, .. } | Action::ApplyObject { object, .. } => object,
        _ => return false,
    };
    let namespace = action.object().and_then(|object| object.namespace.as_ref());
    created.kind == "Namespace"
        && namespace == Some(&created.name)
        && step.action.server() == action.server()
}

async fn before(action: &Action, access: &Access) -> Result<Value, String> {
    if let Action::ConnectNetwork(attachment) | Action::DisconnectNetwork(attachment) = action {
        let container = docker(access)?
            .inspect(&attachment.container_id)
            .await
            .map_err(|error| error.to_string())?;
        return Ok(json!({ "container": container.name, "attachments": container.attachments }));
    }
    if let Action::Docker(action) = action {
        return docker_action::before(docker(access)?, action)
            .await
            .map_err(|error| error.to_string());
    }
    if let Action::File(file) = action {
        return Ok(json!({ "path": file.path, "text": file.before }));
    }
    let (api, object) = (api(action, access).await?, action.object());
    let path = object.map(ObjectReference::path).unwrap_or_default();
    let now = match api.get::<Value>(&path).await {
        Ok(now) => now,
        Err(error) if error.is_not_found() && may_be_absent(action) => return Ok(Value::Null),
        Err(error) => return Err(error.to_string()),
    };
    Ok(as_kept(action, now))
}

/// Whether the object need not be there before the action.
fn may_be_absent(action: &Action) -> bool {
    matches!(
        action,
        Action::CreateObject { .. } | Action::ApplyObject { .. } | Action::DeleteObject { .. }
    )
}

/// The object as the backup keeps it: with no more secrets than it needs.
fn as_kept(action: &Action, mut now: Value) -> Value {
    match action {
        Action::PatchObject { object, patch, .. } if object.kind == "Secret" => {
            retain_data(&mut now, |key| touches(patch, &format!("/data/{key}")));
            now
        }
        Action::ApplyObject {
            object, manifest, ..
        } if object.kind == "Secret" => {
            let applied = |map: &str, key: &str| manifest[map].get(key).is_some();
            retain_data(&mut now, |key| {
                applied("data", key) || applied("stringData", key)
            });
            now
        }
        Action::CreateObject { .. } | Action::Exec(_) => {
            json!({ "metadata": { "uid": now["metadata"]["uid"] } })
        }
        _ => now,
    }
}

fn retain_data(secret: &mut Value, keep: impl Fn(&str) -> bool) {
    if let Some(data) = secret.get_mut("data").and_then(Value::as_object_mut) {
        data.retain(|key, _| keep(key));
    }
}

async fn carry_out(
    action: &Action,
    access: &Access,
    interrupt: &Interrupt,
    patience: Duration,
) -> Result<Done, String> {
    let done = match action {
        Action::PatchObject { object, patch, .. } => {
            object::patch(&api(action, access).await?, object, patch).await
        }
        Action::CreateObject {
            object, manifest, ..
        } => object::create(&api(action, access).await?, object, manifest).await,
        Action::ApplyObject {
            object,
            manifest,
            before,
            ..
        } => {
            let applying = Applying {
                object,
                manifest,
                before: before.as_ref(),
            };
            applying.carry_out(&api(action, access).await?).await
        }
        Action::DeleteObject {
            object,
            uid,
            resource_version,
            ..
        } => {
            let only_if = preconditions(uid, resource_version.as_deref());
            object::delete(&api(action, access).await?, object, &only_if).await
        }
        Action::Restart { object, uid, .. } => {
            let api = api(action, access).await?;
            rollout::restart(&api, object, uid, patience, interrupt)
                .await
                .into()
        }
        Action::Exec(command) => exec::run(&api(action, access).await?, command, interrupt)
            .await
            .into(),
        Action::ConnectNetwork(attachment) => attachment::connect(docker(access)?, attachment)
            .await
            .into(),
        Action::DisconnectNetwork(attachment) => {
            attachment::disconnect(docker(access)?, attachment)
                .await
                .into()
        }
        Action::Docker(action) => docker_action::carry_out(docker(access)?, action)
            .await
            .into(),
        Action::File(file) => local_file::write(file).into(),
    };
    Ok(done)
}

fn preconditions(uid: &str, resource_version: Option<&str>) -> Preconditions {
    Preconditions {
        uid: Some(uid.to_owned()),
        resource_version: resource_version.map(str::to_owned),
    }
}

async fn api(action: &Action, access: &Access) -> Result<ServerApi, String> {
    match action.server() {
        Some(server) => access.server(server).await,
        None => Err("no API server is meant".to_owned()),
    }
}

fn docker(access: &Access) -> Result<&Docker, String> {
    access
        .docker_in_use()
        .ok_or_else(|| "the Docker daemon was not reached when the plan was made".to_owned())
}
