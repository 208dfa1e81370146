//! Takes back what a run did, from its backup: a plan like any other, refused where something changed since.

mod judge;
mod state;

use std::path::Path;

use crate::access::Access;
use crate::apply::{Outcome, StepResult};
use crate::backup::{Backup, SavedStep};
use crate::cli::docker::DockerChoice;
use crate::clock;
use crate::confirm::DryRun;
use crate::driver::{Purpose, Run, Shown};
use crate::error::{Explain, Failure, UsageError};
use crate::exit::Exit;
use crate::io;
use crate::plan::{Action, Plan, Server, Step};
use crate::report::{self, Verification};
use crate::text::harmless;
use crate::undo::judge::explains;
use crate::undo::state::{Objects, State};

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
    let here = access.server_name();
    if backup.server.is_some() && backup.server != here {
        let name = |server: Option<String>| server.unwrap_or_else(|| "none".to_owned());
        return Err(UsageError::new(format!(
            "the backup is of the control plane {}, and this is {}",
            name(backup.server),
            name(here)
        ))
        .with_hint("choose the other one with --context or --kubeconfig")
        .into());
    }
    let WayBack { plan, stays } = way_back(&backup, access, docker).await?;
    for what in &stays {
        io::say(&format!("not taken back: {}", harmless(what)));
    }
    let needs_host = |step: &Step| step.action.server() == Some(&Server::Host);
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

/// The inverse of each step that is in effect, last one first; what was restarted is restarted again, at the end.
async fn way_back(
    backup: &Backup,
    access: &Access,
    docker: &DockerChoice,
) -> Result<WayBack, Failure> {
    let mut objects = Objects::new(access, docker);
    let (mut undone, mut stays) = (Vec::new(), Vec::new());
    let mut changed: Vec<(&SavedStep, String)> = Vec::new();
    for saved in backup.steps.iter().rev() {
        let state = objects.state(saved).await?;
        changed.retain(|(later, _)| !explains(saved, &state, later));
        match state {
            State::After(action) => undone.push((&saved.step, *action)),
            State::Before => {}
            State::Stays(what) => stays.push(what),
            State::Changed(what) => changed.push((saved, what)),
        }
    }
    if !changed.is_empty() {
        let what = changed.into_iter().map(|(_, what)| what).collect();
        return Err(ChangedSince(what).into());
    }
    // The ways to members are known only now.
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
    let undone = undone.into_iter();
    plan.steps
        .extend(undone.map(|(step, action)| step_back(step, action)));
    if !plan.steps.is_empty() {
        let mut restarts: Vec<&SavedStep> = Vec::new();
        for saved in &backup.steps {
            let was_done = matches!(saved.step.action, Action::Restart { .. })
                && !matches!(saved.result, Some(StepResult::Skipped(_)));
            let is_first = restarts
                .iter()
                .all(|other| other.step.action != saved.step.action);
            if was_done && is_first {
                restarts.push(saved);
            }
        }
        plan.steps.extend(restarts.into_iter().map(|saved| Step {
            reason: "it goes on with what is taken back until it starts anew".to_owned(),
            ..step_back(&saved.step, saved.step.action.clone())
        }));
    }
    Ok(WayBack { plan, stays })
}

/// The way back from a run.
struct WayBack {
    plan: Plan,
    /// What that run did and nothing takes back: one clause each.
    stays: Vec<String>,
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
        Ok(back) if back.plan.is_empty() => {
            return (Verification::Passed { seconds: 0 }, Exit::Healthy);
        }
        Ok(back) => back
            .plan
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
