//! Where what a backup is about stands now: as a step left it, as it was before it, or neither.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use crate::access::Access;
use crate::apply::{Standing, file_text, standing};
use crate::backup::SavedStep;
use crate::cli::docker::DockerChoice;
use crate::cluster::object::ObjectReference;
use crate::docker::refusal::Refusal;
use crate::error::{Explain, Failure};
use crate::exit::Exit;
use crate::plan::{Action, DockerAction, LocalFile, NetworkAttachment, Server};
use crate::undo::judge::{Now, back, foreseen, judged, was_left_alone};

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

/// The objects of a backup, each read once; what the way back changes shows in them as if it were done.
pub(super) struct Objects<'a> {
    access: &'a Access,
    docker: &'a DockerChoice,
    seen: BTreeMap<(Server, ObjectReference), Now>,
}

impl<'a> Objects<'a> {
    pub(super) fn new(access: &'a Access, docker: &'a DockerChoice) -> Objects<'a> {
        Objects {
            access,
            docker,
            seen: BTreeMap::new(),
        }
    }

    /// Where the step stands, after all later steps that are in effect were taken back.
    pub(super) async fn state(&mut self, saved: &SavedStep) -> Result<State, Failure> {
        let (access, docker) = (self.access, self.docker);
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
            Action::PatchObject { .. }
            | Action::CreateObject { .. }
            | Action::ApplyObject { .. }
            | Action::DeleteObject { .. } => {}
        }
        let (Some(server), Some(object)) = (action.server(), action.object()) else {
            return Ok(State::Before);
        };
        let place = (server.clone(), object.clone());
        let now = match self.seen.remove(&place) {
            Some(now) => now,
            None => read(action, access).await.map_err(|reason| CannotRead {
                target: action.target(),
                reason,
            })?,
        };
        let state = judged(saved, &now);
        let then = match &state {
            State::After(action) => foreseen(now, action),
            State::Before | State::Stays(_) | State::Changed(_) => now,
        };
        self.seen.insert(place, then);
        Ok(state)
    }
}

/// The object as it is now.
async fn read(action: &Action, access: &Access) -> Result<Now, String> {
    let (Some(server), Some(object)) = (action.server(), action.object()) else {
        return Ok(Now::of(None, ""));
    };
    let now = match access.server(server).await?.get(&object.path()).await {
        Ok(now) => Some(now),
        Err(error) if error.is_not_found() && !matches!(action, Action::PatchObject { .. }) => None,
        Err(error) => return Err(error.to_string()),
    };
    Ok(Now::of(now, &access.field_manager()))
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
