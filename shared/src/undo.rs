//! Takes back what a run did, from its backup: a plan like any other, refused where something changed since.

use std::path::Path;

use serde_json::Value;

use crate::access::Access;
use crate::apply::Outcome;
use crate::backup::Backup;
use crate::clock;
use crate::confirm::DryRun;
use crate::driver::{Purpose, Run, Shown, VERSION};
use crate::error::{Explain, Failure, UsageError};
use crate::exit::Exit;
use crate::plan::{Action, Plan, Step, holds_result, unmet_precondition};
use crate::report::{self, Report, SCHEMA_VERSION, Verdict, Verification};

/// Reads the backup, plans its way back, and carries that out as any plan.
pub(crate) async fn run(file: &Path, run: &Run<'_>) -> Result<Exit, Failure> {
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
    let plan = way_back(&backup, access).await?;
    let mut shown = Shown {
        format: run.options.format,
        report: Report {
            schema_version: SCHEMA_VERSION,
            plugin: access.plugin().to_owned(),
            plugin_version: VERSION.to_owned(),
            time: clock::now(),
            control_plane: access.control_plane().server().to_owned(),
            verdict: Verdict::Healthy,
            exit_code: 0,
            subjects: Vec::new(),
            findings: Vec::new(),
            steps: report::steps(&plan, None),
            backup: None,
            verification: Verification::NotNeeded,
        },
        purpose: Purpose::Undo,
    };
    if plan.is_empty() {
        return Ok(shown.end(Exit::Healthy));
    }
    shown.plan(&plan);
    if run.options.dry_run != DryRun::None || run.options.print_commands {
        return Ok(shown.end(Exit::Faults));
    }
    let (outcome, path) = match run.carry_out(plan.clone(), &shown).await {
        Ok(done) => done,
        Err(failure) => {
            shown.end(failure.exit());
            return Err(failure);
        }
    };
    shown.report.backup = Some(path);
    shown.report.steps = report::steps(&plan, Some(&outcome));
    let (verification, exit) = verified(&outcome, &backup, access).await;
    shown.report.verification = verification;
    Ok(shown.end(exit))
}

/// The state of the world was changed by somebody else since the backup.
#[derive(Debug, thiserror::Error)]
#[error("cannot undo: {target} was changed since: {what}")]
struct ChangedSince {
    target: String,
    what: String,
}

impl Explain for ChangedSince {
    fn exit(&self) -> Exit {
        Exit::Faults
    }
}

/// An object of the backup cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("cannot undo: {target} cannot be read: {reason}")]
struct CannotRead {
    target: String,
    reason: String,
}

impl Explain for CannotRead {
    fn exit(&self) -> Exit {
        Exit::Unknown
    }
}

/// The inverse of each step that is in effect, last one first.
async fn way_back(backup: &Backup, access: &Access) -> Result<Plan, Failure> {
    let mut plan = Plan::default();
    for saved in backup.steps.iter().rev() {
        let step = &saved.step;
        if is_in_effect(step, access).await? {
            let action = step.action.inverse();
            plan.steps.push(Step {
                subject: step.subject.clone(),
                command: action.command(&access.kubectl(), "docker"),
                action,
                reason: format!("the run of {} did the opposite", backup.time),
                caution: None,
                cures: Vec::new(),
            });
        }
    }
    Ok(plan)
}

async fn is_in_effect(step: &Step, access: &Access) -> Result<bool, Failure> {
    let target = step.action.target();
    match &step.action {
        Action::PatchObject {
            object,
            patch,
            inverse,
        } => {
            let now: Value = access
                .control_plane()
                .get(&object.path())
                .await
                .map_err(|error| CannotRead {
                    target: target.clone(),
                    reason: error.to_string(),
                })?;
            if holds_result(&now, patch) {
                return Ok(true);
            }
            match unmet_precondition(&now, patch) {
                None => Ok(false),
                Some(_) if holds_result(&now, inverse) => Ok(false),
                Some(path) => Err(ChangedSince { target, what: path }.into()),
            }
        }
        Action::ConnectNetwork(attachment) | Action::DisconnectNetwork(attachment) => {
            let docker = access.docker(&Default::default())?;
            let on = match docker.inspect(&attachment.container_id).await {
                Ok(container) => container.attachments.contains_key(&attachment.network),
                Err(error) => {
                    return Err(CannotRead {
                        target,
                        reason: error.to_string(),
                    }
                    .into());
                }
            };
            Ok(on == matches!(step.action, Action::ConnectNetwork(_)))
        }
    }
}

async fn verified(outcome: &Outcome, backup: &Backup, access: &Access) -> (Verification, Exit) {
    if !outcome.is_complete() {
        return (Verification::NotNeeded, Exit::Incomplete);
    }
    match way_back(backup, access).await {
        Ok(plan) if plan.is_empty() => (Verification::Passed { seconds: 0 }, Exit::Healthy),
        Ok(plan) => {
            let waiting_for = plan
                .steps
                .iter()
                .map(|step| step.action.sentence())
                .collect::<Vec<_>>()
                .join("; ");
            (
                Verification::NotProven {
                    waiting_for,
                    seconds: 0,
                },
                Exit::Incomplete,
            )
        }
        Err(failure) => (
            Verification::NotProven {
                waiting_for: failure.to_string(),
                seconds: 0,
            },
            Exit::Incomplete,
        ),
    }
}
