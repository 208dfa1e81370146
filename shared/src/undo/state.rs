//! Where the objects of a backup stand now: as a step left them, as they were before it, or neither.

use std::path::Path;

use serde_json::Value;

use crate::access::Access;
use crate::apply::{Standing, StepResult, file_text, is_applied, standing};
use crate::backup::SavedStep;
use crate::cli::docker::DockerChoice;
use crate::docker::refusal::Refusal;
use crate::error::{Explain, Failure};
use crate::exit::Exit;
use crate::plan::{
    Action, DockerAction, Lists, LocalFile, NetworkAttachment, contains, holds_result,
    unmet_precondition, without_notes,
};

/// Where an object stands between before and after a step.
#[derive(Debug)]
pub(super) enum State {
    /// As the step left it; this takes it back.
    After(Box<Action>),
    /// As it was before, or the step never reached it.
    Before,
    /// As the step left it, and nothing takes that back; what was done and why it stays.
    Stays(String),
    /// Neither.
    Changed(String),
}

/// An object of the backup cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("cannot undo, nothing was written: {target} cannot be read: {reason}")]
struct CannotRead {
    target: String,
    reason: String,
}

impl Explain for CannotRead {
    fn exit(&self) -> Exit {
        Exit::Unknown
    }
}

/// Reads the object of a step and compares.
pub(super) async fn state(
    saved: &SavedStep,
    access: &Access,
    docker: &DockerChoice,
) -> Result<State, Failure> {
    let action = &saved.step.action;
    match action {
        Action::Restart { .. } => return Ok(State::Before),
        Action::ConnectNetwork(attachment) | Action::DisconnectNetwork(attachment) => {
            return attachment_state(saved, attachment, access, docker).await;
        }
        _ if was_left_alone(saved) => return Ok(State::Before),
        Action::Docker(action) => return docker_state(saved, action, access, docker).await,
        Action::File(file) => return Ok(file_state(saved, file)?),
        Action::Exec(_) => {
            return Ok(State::Stays(format!(
                "{}: a command has no opposite",
                action.sentence()
            )));
        }
        _ => {}
    }
    let now = read(action, access).await.map_err(|reason| CannotRead {
        target: action.target(),
        reason,
    })?;
    Ok(judged(saved, now.as_ref(), &access.field_manager()))
}

/// The object as it is now; `None` = there is none.
async fn read(action: &Action, access: &Access) -> Result<Option<Value>, String> {
    let (Some(server), Some(object)) = (action.server(), action.object()) else {
        return Ok(None);
    };
    match access.server(server).await?.get(&object.path()).await {
        Ok(now) => Ok(Some(now)),
        Err(error) if error.is_not_found() && !matches!(action, Action::PatchObject { .. }) => {
            Ok(None)
        }
        Err(error) => Err(error.to_string()),
    }
}

/// Where the object of a step stands; `now` is `None` where there is none. Pure.
fn judged(saved: &SavedStep, now: Option<&Value>, manager: &str) -> State {
    let action = &saved.step.action;
    match (action, now) {
        (Action::PatchObject { .. }, Some(now)) => of_patch(saved, now),
        (Action::CreateObject { manifest, .. }, Some(now)) => of_creation(saved, manifest, now),
        (
            Action::ApplyObject {
                manifest,
                before: None,
                ..
            },
            Some(now),
        ) => of_creation(saved, manifest, now),
        (
            Action::ApplyObject {
                manifest,
                before: Some(before),
                ..
            },
            Some(now),
        ) => {
            if now["metadata"]["uid"] != *before.uid {
                return another(action);
            }
            let is = |manifest: &Value| is_applied(now, manifest, manager);
            match (is(manifest), is(&before.manifest)) {
                (true, false) => back(saved, now),
                (_, true) => State::Before,
                (false, false) if !was_done(saved) => State::Before,
                (false, false) => {
                    State::Changed(format!("what was applied to {}", action.target()))
                }
            }
        }
        (Action::DeleteObject { uid, .. }, Some(now)) if now["metadata"]["uid"] != **uid => {
            match back_of(saved, &Value::Null) {
                Some(Action::CreateObject { manifest, .. })
                    if contains(now, &manifest, Lists::Whole) =>
                {
                    State::Before
                }
                _ => another(action),
            }
        }
        (Action::DeleteObject { .. }, Some(now)) => {
            match now["metadata"]["deletionTimestamp"].is_string() {
                true => State::Changed(format!(
                    "{} is still being deleted; its finalizers hold it",
                    action.target()
                )),
                false => State::Before,
            }
        }
        (Action::DeleteObject { .. }, None) => match back_of(saved, &Value::Null) {
            Some(action) => State::After(Box::new(action)),
            None => State::Before,
        },
        (
            Action::ApplyObject {
                before: Some(_), ..
            },
            None,
        ) => State::Changed(format!("{} is gone", action.target())),
        _ => State::Before,
    }
}

fn of_patch(saved: &SavedStep, now: &Value) -> State {
    let action = &saved.step.action;
    let Action::PatchObject { patch, .. } = action else {
        return State::Before;
    };
    let uid = |object: &Value| object.pointer("/metadata/uid").cloned();
    if uid(now) != uid(&saved.before) {
        return another(action);
    }
    if holds_result(now, &without_notes(patch)) {
        return match back_of(saved, now) {
            Some(back) => State::After(Box::new(without_lost_notes(back, now))),
            None => State::Before,
        };
    }
    if !was_done(saved) {
        return State::Before;
    }
    match unmet_precondition(now, &without_notes(patch)) {
        None => State::Before,
        Some(path) => State::Changed(format!("{} {path}", action.target())),
    }
}

/// An object that was not there before; what others may have filled stays.
fn of_creation(saved: &SavedStep, manifest: &Value, now: &Value) -> State {
    let action = &saved.step.action;
    let target = action.target();
    // It was there before, so the step did not create it.
    if !saved.before.is_null() {
        return State::Before;
    }
    let deleted = now["metadata"]["deletionTimestamp"].is_string();
    let same = match &saved.written {
        Some(written) => now["metadata"]["uid"] == *written.uid,
        None => true,
    };
    match (deleted, same, contains(now, manifest, Lists::Whole)) {
        (true, _, _) => State::Before,
        (false, false, _) => another(action),
        (false, true, false) => State::Changed(format!("{target} is not as it was created")),
        (false, true, true) if holds_others(action) => State::Stays(format!(
            "create {target}: others may have filled it since; delete it by hand if nobody needs it"
        )),
        (false, true, true) => back(saved, now),
    }
}

fn holds_others(action: &Action) -> bool {
    action.object().is_some_and(|object| {
        matches!(
            object.kind.as_str(),
            "Namespace" | "CustomResourceDefinition"
        )
    })
}

fn back(saved: &SavedStep, now: &Value) -> State {
    match back_of(saved, now) {
        Some(action) => State::After(Box::new(action)),
        None => State::Before,
    }
}

fn back_of(saved: &SavedStep, now: &Value) -> Option<Action> {
    saved.step.action.inverse(&saved.before, now)
}

fn another(action: &Action) -> State {
    State::Changed(format!(
        "{} is another object by now (metadata.uid)",
        action.target()
    ))
}

/// Whether the step certainly wrote; a run that was killed, and a lost answer, leave that open.
fn was_done(saved: &SavedStep) -> bool {
    matches!(saved.result, None | Some(StepResult::Applied(_)))
}

/// Whether the step certainly wrote nothing.
fn was_left_alone(saved: &SavedStep) -> bool {
    matches!(
        saved.result,
        Some(StepResult::Unchanged | StepResult::Refused(_) | StepResult::Skipped(_))
    )
}

async fn attachment_state(
    saved: &SavedStep,
    attachment: &NetworkAttachment,
    access: &Access,
    docker: &DockerChoice,
) -> Result<State, Failure> {
    let action = &saved.step.action;
    let inspected = access
        .docker(docker)?
        .inspect(&attachment.container_id)
        .await;
    let container = match inspected {
        Ok(container) => container,
        Err(error) if error.refusal() == Some(Refusal::NoSuchContainer) => {
            return Ok(State::Before);
        }
        Err(error) => {
            return Err(CannotRead {
                target: action.target(),
                reason: error.to_string(),
            }
            .into());
        }
    };
    let on = container.attachments.contains_key(&attachment.network);
    let in_effect = on == matches!(action, Action::ConnectNetwork(_)) && !was_left_alone(saved);
    Ok(match in_effect {
        true => back(saved, &Value::Null),
        false => State::Before,
    })
}

async fn docker_state(
    saved: &SavedStep,
    action: &DockerAction,
    access: &Access,
    docker: &DockerChoice,
) -> Result<State, Failure> {
    // What was started or restarted runs, and is left to.
    if let DockerAction::StartContainer(_) | DockerAction::RestartContainer(_) = action {
        return Ok(State::Before);
    }
    match standing(access.docker(docker)?, action).await {
        Ok(Standing::After) => Ok(back(saved, &Value::Null)),
        Ok(Standing::Before | Standing::Gone) => Ok(State::Before),
        Ok(Standing::Neither(what)) => Ok(State::Changed(what)),
        Err(error) => Err(CannotRead {
            target: action.target(),
            reason: error.to_string(),
        }
        .into()),
    }
}

fn file_state(saved: &SavedStep, file: &LocalFile) -> Result<State, CannotRead> {
    let now = file_text(Path::new(&file.path)).map_err(|error| CannotRead {
        target: saved.step.action.target(),
        reason: error.to_string(),
    })?;
    Ok(if now == file.after {
        back(saved, &Value::Null)
    } else if now == file.before {
        State::Before
    } else {
        State::Changed(format!("the file {} is another one by now", file.path))
    })
}

/// The inverse of a patch; a note that was taken off or changed since stays as it is now.
fn without_lost_notes(mut back: Action, now: &Value) -> Action {
    if let Action::PatchObject { patch, inverse, .. } = &mut back
        && unmet_precondition(now, patch).is_some()
    {
        *patch = without_notes(patch);
        *inverse = without_notes(inverse);
    }
    back
}
