//! Takes back what a run did, from its backup: a plan like any other, refused where something changed since.

use std::path::Path;

use serde_json::Value;

use crate::access::Access;
use crate::apply::{Outcome, StepResult};
use crate::backup::{Backup, SavedStep};
use crate::cli::docker::DockerChoice;
use crate::clock;
use crate::confirm::DryRun;
use crate::docker::refusal::Refusal;
use crate::driver::{Purpose, Run, Shown};
use crate::error::{Explain, Failure, UsageError};
use crate::exit::Exit;
use crate::plan::{Action, Plan, Server, Step, holds_result, unmet_precondition, without_notes};
use crate::report::{self, Verification};

/// Reads the backup, plans its way back, and carries that out as any plan.
pub(crate) async fn run(
    file: &Path,
    run: &Run<'_>,
    docker: &DockerChoice,
) -> Result<Exit, Failure> {
    let backup = Backup::read(file)?;
    let access = run.access;
    if backup.plugin != access.plugin() {
        return Err(UsageError::new(format!(
            "the backup {} was written by karmada-{}",
            file.display(),
            backup.plugin
        ))
        .with_hint(format!(
            "kubectl karmada-{} --undo {}",
            backup.plugin,
            file.display()
        ))
        .into());
    }
    if backup.server != access.control_plane().server() {
        return Err(UsageError::new(format!(
            "the backup is of the control plane {}, and this is {}",
            backup.server,
            access.control_plane().server()
        ))
        .with_hint("choose the other one with --context or --kubeconfig")
        .into());
    }
    let plan = way_back(&backup, access, docker).await?;
    let needs_host = |step: &Step| {
        matches!(
            step.action,
            Action::Restart { .. }
                | Action::PatchObject {
                    server: Server::Host,
                    ..
                }
        )
    };
    if access.host().is_none() && plan.steps.iter().any(needs_host) {
        return Err(UsageError::new(
            "the backup holds changes of the host cluster, and no access to it was given",
        )
        .with_hint("add --host-context CONTEXT, or --host-kubeconfig FILE")
        .into());
    }
    let mut shown = Shown::new(run, Purpose::Undo, clock::now());
    shown.report.steps = report::steps(&plan, None);
    if plan.is_empty() {
        return Ok(shown.end(Exit::Healthy));
    }
    shown.plan(&plan);
    if run.options.dry_run != DryRun::None || run.options.print_commands {
        return Ok(shown.end(Exit::Faults));
    }
    let done = match run.carry_out(plan.clone(), &shown).await {
        Ok(done) => done,
        Err(failure) => {
            shown.end(failure.exit());
            return Err(failure);
        }
    };
    shown.report.backup = done.backup;
    shown.report.steps = report::steps(&plan, Some(&done.outcome));
    let (verification, exit) = verified(&done.outcome, &backup, access, docker).await;
    shown.report.verification = verification;
    Ok(shown.end(exit))
}

/// The state of the world was changed by somebody else since the backup.
#[derive(Debug, thiserror::Error)]
#[error("cannot undo, nothing was written: changed by others since that run: {}", .0.join("; "))]
struct ChangedSince(Vec<String>);

impl Explain for ChangedSince {
    fn exit(&self) -> Exit {
        Exit::Faults
    }

    fn hint(&self) -> Option<String> {
        Some(
            "see what is there now, and change it by hand; the backup holds what was there before"
                .to_owned(),
        )
    }
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

/// Where an object stands between before and after a step.
enum State {
    /// As the step left it; this takes it back.
    After(Action),
    /// As it was before, or the step never reached it.
    Before,
    /// Neither.
    Changed(String),
}

/// The inverse of each step that is in effect, last one first; what was restarted is restarted again, at the end.
async fn way_back(
    backup: &Backup,
    access: &Access,
    docker: &DockerChoice,
) -> Result<Plan, Failure> {
    let commands = access.commands(docker);
    let time = backup.time.strftime("%Y-%m-%dT%H:%M:%SZ");
    let step_back = |step: &Step, action: Action| Step {
        subject: step.subject.clone(),
        command: action.command(&commands),
        action,
        reason: format!("the run of {time} did the opposite"),
        caution: None,
        cures: Vec::new(),
    };
    let mut plan = Plan::default();
    let mut changed = Vec::new();
    for saved in backup.steps.iter().rev() {
        match state(saved, access, docker).await? {
            State::After(action) => plan.steps.push(step_back(&saved.step, action)),
            State::Before => {}
            State::Changed(what) => changed.push(what),
        }
    }
    if !changed.is_empty() {
        return Err(ChangedSince(changed).into());
    }
    if !plan.steps.is_empty() {
        let restarts = backup.steps.iter().filter(|saved| {
            matches!(saved.step.action, Action::Restart { .. })
                && !matches!(saved.result, Some(StepResult::Skipped(_)))
        });
        plan.steps.extend(restarts.map(|saved| Step {
            reason: "it keeps connections to the addresses that are taken back".to_owned(),
            ..step_back(&saved.step, saved.step.action.clone())
        }));
    }
    Ok(plan)
}

async fn state(
    saved: &SavedStep,
    access: &Access,
    docker: &DockerChoice,
) -> Result<State, Failure> {
    let step = &saved.step;
    let target = step.action.target();
    let cannot_read = |reason: String| CannotRead {
        target: target.clone(),
        reason,
    };
    match &step.action {
        Action::Restart { .. } => Ok(State::Before),
        Action::PatchObject {
            server,
            object,
            patch,
            ..
        } => {
            let now: Value = access
                .server(*server)
                .map_err(cannot_read)?
                .get(&object.path())
                .await
                .map_err(|error| cannot_read(error.to_string()))?;
            let uid = |object: &Value| object.pointer("/metadata/uid").cloned();
            if uid(&now) != uid(&saved.before) {
                return Ok(State::Changed(format!(
                    "{target} is another object by now (metadata.uid)"
                )));
            }
            let was_done = matches!(saved.result, None | Some(StepResult::Applied(_)));
            let by_others = matches!(
                saved.result,
                Some(StepResult::Unchanged | StepResult::Refused(_) | StepResult::Skipped(_))
            );
            Ok(if by_others {
                State::Before
            } else if holds_result(&now, &without_notes(patch)) {
                State::After(way_back_of(&step.action, &now))
            } else if !was_done {
                State::Before
            } else {
                match unmet_precondition(&now, &without_notes(patch)) {
                    None => State::Before,
                    Some(path) => State::Changed(format!("{target} {path}")),
                }
            })
        }
        Action::ConnectNetwork(attachment) | Action::DisconnectNetwork(attachment) => {
            let inspected = access
                .docker(docker)?
                .inspect(&attachment.container_id)
                .await;
            let container = match inspected {
                Ok(container) => container,
                Err(error) if error.refusal() == Some(Refusal::NoSuchContainer) => {
                    return Ok(State::Before);
                }
                Err(error) => return Err(cannot_read(error.to_string()).into()),
            };
            let on = container.attachments.contains_key(&attachment.network);
            let by_others = matches!(
                saved.result,
                Some(StepResult::Unchanged | StepResult::Refused(_) | StepResult::Skipped(_))
            );
            let in_effect = on == matches!(step.action, Action::ConnectNetwork(_)) && !by_others;
            Ok(if in_effect {
                State::After(step.action.inverse())
            } else {
                State::Before
            })
        }
    }
}

/// The inverse of a patch; a note that was taken off or changed since stays as it is now.
fn way_back_of(action: &Action, now: &Value) -> Action {
    let mut back = action.inverse();
    if let Action::PatchObject { patch, inverse, .. } = &mut back
        && unmet_precondition(now, patch).is_some()
    {
        *patch = without_notes(patch);
        *inverse = without_notes(inverse);
    }
    back
}

async fn verified(
    outcome: &Outcome,
    backup: &Backup,
    access: &Access,
    docker: &DockerChoice,
) -> (Verification, Exit) {
    if !outcome.is_complete() {
        return (Verification::NotNeeded, Exit::Incomplete);
    }
    let left = match way_back(backup, access, docker).await {
        Ok(plan) if plan.is_empty() => return (Verification::Passed { seconds: 0 }, Exit::Healthy),
        Ok(plan) => plan
            .steps
            .iter()
            .map(|step| step.action.sentence())
            .collect::<Vec<_>>()
            .join("; "),
        Err(failure) => failure.to_string(),
    };
    let not_proven = Verification::NotProven {
        waiting_for: left,
        seconds: 0,
    };
    (not_proven, Exit::Incomplete)
}
