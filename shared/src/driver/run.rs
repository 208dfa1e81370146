//! The stages of one run, in order.

use std::path::PathBuf;

use crate::access::Access;
use crate::apply::{self, Outcome, StepResult};
use crate::backup::{self, Backup};
use crate::cli::run::RunOptions;
use crate::clock;
use crate::confirm::{DryRun, confirm};
use crate::driver::{Depth, ProofResult, Purpose, Repair, Shown};
use crate::error::{Explain, Failure};
use crate::exit::Exit;
use crate::finding::Finding;
use crate::interrupt::Interrupt;
use crate::io::{self, Io};
use crate::plan::Plan;
use crate::progress::Progress;
use crate::report::{self, Ending, Format, commands_text, plan_text};
use crate::text::harmless;

/// What the stages of one run share.
pub(crate) struct Run<'a> {
    pub(crate) access: &'a Access,
    pub(crate) options: &'a RunOptions,
    pub(crate) interrupt: Interrupt,
    pub(crate) progress: Progress,
}

/// What a confirmed plan came to.
pub(crate) struct Done {
    /// The results of its steps.
    pub(crate) outcome: Outcome,
    /// The backup; `None` for a plan without steps.
    pub(crate) backup: Option<PathBuf>,
}

impl Run<'_> {
    /// Ends the run on a signal as long as nothing was written; afterwards the stages themselves listen.
    pub(super) async fn interrupted_before_writing(&self) -> Exit {
        let exit = self.interrupt.wait().await;
        if self.progress.writing_begun() {
            std::future::pending::<()>().await;
        }
        self.progress.finish();
        io::say("interrupted: nothing was written");
        exit
    }

    /// Does what the command line asks for.
    pub(super) async fn asked_for<R: Repair>(&self, config: &R::Config) -> Result<Exit, Failure> {
        match R::instead(self.access, config, self.options).await {
            Some(ended) => ended,
            None => self.repair::<R>(config).await,
        }
    }

    async fn repair<R: Repair>(&self, config: &R::Config) -> Result<Exit, Failure> {
        self.progress.waiting_for("reading the federation");
        let observed = R::observe(self.access, config, Depth::Overview).await?;
        self.progress.finish();
        let time = clock::now();
        let findings = R::diagnose(&observed, config, time);
        if let Format::Own(format) = self.options.format {
            io::report(&R::rendering(format, &observed, &findings, config, time));
            return Ok(report::exit_of_diagnosis(&findings, self.options.fail_on));
        }
        let plan = R::plan(&observed, &findings, config, time);
        if self.options.print_commands {
            io::report(&commands_text(&plan));
            return Ok(report::exit_of_diagnosis(&findings, self.options.fail_on));
        }
        let mut shown = Shown::new(self, Purpose::Repair, time);
        shown.report.steps = report::steps(&plan, None);
        shown.report.proofs = report::proofs(&plan, &[]);
        shown.diagnosis(R::overview(&observed, &findings, config, time), &findings);
        if plan.is_empty() {
            return Ok(shown.end(report::exit_of_diagnosis(&findings, self.options.fail_on)));
        }
        shown.plan(&plan);
        if self.options.dry_run != DryRun::None {
            return Ok(self.dry_run(&plan, &findings, shown).await);
        }
        let done = match self.carry_out(plan.clone(), &shown).await {
            Ok(done) => done,
            Err(failure) => {
                shown.end(failure.exit());
                return Err(failure);
            }
        };
        shown.report.backup = done.backup;
        shown.report.steps = report::steps(&plan, Some(&done.outcome));
        let verified = self
            .verify::<R>(config, &plan, &done.outcome, &findings, observed)
            .await;
        let proofs = self
            .prove::<R>(config, &plan, &done.outcome, &verified)
            .await;
        let (observed, findings) = self
            .look_again::<R>(config, verified.observed, verified.findings, &proofs)
            .await;
        let ending = Ending {
            outcome: &done.outcome,
            verification: &verified.verification,
            proofs: &proofs,
        };
        let exit = report::exit_of_repair(&ending, &findings, self.options.fail_on);
        shown.nothing_written = !done.outcome.is_complete() && !done.outcome.touched_anything();
        shown.report.proofs = report::proofs(&plan, &proofs);
        shown.report.verification = verified.verification;
        shown.diagnosis(
            R::overview(&observed, &findings, config, clock::now()),
            &findings,
        );
        let exit = shown.end(exit);
        if exit == Exit::Incomplete {
            shown.way_back(&self.access.own_command());
        }
        Ok(exit)
    }

    /// A proof ends or leaves findings of its own, so the last word is a new observation.
    async fn look_again<R: Repair>(
        &self,
        config: &R::Config,
        observed: R::Observed,
        findings: Vec<Finding>,
        proofs: &[ProofResult],
    ) -> (R::Observed, Vec<Finding>) {
        let tried = proofs
            .iter()
            .any(|proof| matches!(proof, ProofResult::Passed(_) | ProofResult::Failed(_)));
        if !tried || self.interrupt.heard().is_some() {
            return (observed, findings);
        }
        match R::observe(self.access, config, Depth::Overview).await {
            Ok(again) => {
                let findings = R::diagnose(&again, config, clock::now());
                (again, findings)
            }
            Err(_) => (observed, findings),
        }
    }

    async fn dry_run(&self, plan: &Plan, findings: &[Finding], mut shown: Shown) -> Exit {
        let mut exit = report::exit_of_diagnosis(findings, self.options.fail_on);
        if self.options.dry_run == DryRun::Server {
            let outcome = apply::rehearse(plan, self.access).await;
            shown.report.steps = report::steps(plan, Some(&outcome));
            for (step, result) in plan.steps.iter().zip(&outcome.results) {
                io::say(&format!(
                    "{} {result} (server dry run)",
                    harmless(&step.action.target())
                ));
                if matches!(result, StepResult::Failed(_) | StepResult::Refused(_)) {
                    exit = Exit::Faults;
                }
            }
        }
        shown.end(exit)
    }

    /// Confirms, backs up and applies.
    pub(crate) async fn carry_out(&self, plan: Plan, shown: &Shown) -> Result<Done, Failure> {
        if !self.options.yes && !shown.is_for_a_person() {
            // The plan was not printed to stdout, which a program reads.
            io::say(plan_text(&plan, false).trim_end());
        }
        let mut io = Io::new(self.interrupt.clone());
        let planned = plan.clone();
        let confirmed = confirm(plan, self.options.yes, &mut io).await?;
        if planned.steps.is_empty() {
            self.progress.begin_writing();
            return Ok(Done {
                outcome: Outcome::default(),
                backup: None,
            });
        }
        let folder = backup::folder(self.options.backup_dir.as_deref(), self.access.env())?;
        let mut saved = Backup {
            schema_version: backup::SCHEMA_VERSION,
            plugin: self.access.plugin().to_owned(),
            time: clock::now(),
            server: self.access.server_name(),
            steps: apply::read_before(&planned, self.access)
                .await
                .map_err(CannotBackUp)?,
        };
        let path = saved.write(&folder)?;
        io::say(&format!("backup: {}", path.display()));
        self.progress.begin_writing();
        let patience = self.options.verify_within.unwrap_or(PATIENCE);
        let outcome = apply::apply(
            confirmed,
            self.access,
            &self.interrupt,
            patience,
            |step, result| {
                self.progress.finish();
                io::say(&format!("{}: {result}", harmless(&step.action.sentence())));
            },
        )
        .await;
        if let Err(error) = saved.record(&outcome, &path) {
            io::say_error(&error, None);
        }
        Ok(Done {
            outcome,
            backup: Some(path),
        })
    }
}

/// An object could not be read for the backup; nothing was written.
#[derive(Debug, thiserror::Error)]
#[error("cannot back up what the plan changes, so nothing was written: {0}")]
struct CannotBackUp(String);

impl Explain for CannotBackUp {
    fn exit(&self) -> Exit {
        Exit::Faults
    }
}

/// How long a roll-out may take where the verification is switched off.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(120);
