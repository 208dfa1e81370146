//! Runs a plugin from its command line to its exit code: the pipeline, in order, once for all plugins.

use std::future::Future;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, CommandFactory, FromArgMatches, Parser};
use jiff::Timestamp;
use serde::Serialize;

use crate::access::{Access, AccessOptions};
use crate::apply::{self, Outcome};
use crate::backup::{self, Backup};
use crate::cli::connection::{ConnectionFlags, HostFlags, MemberFlags};
use crate::cli::run::{RunFlags, RunOptions};
use crate::clock::{self, Deadline};
use crate::confirm::{DryRun, confirm};
use crate::env::Env;
use crate::error::{Failure, UsageError};
use crate::exit::Exit;
use crate::finding::{Finding, FindingKey, Severity, Subject};
use crate::interrupt::Interrupt;
use crate::io::{self, Io};
use crate::plan::Plan;
use crate::progress::Progress;
use crate::report::{
    self, Format, Overview, Report, SCHEMA_VERSION, Verdict, Verification, commands_text,
    findings_text, outcome_text, overview_text, plan_text, undo_text,
};
use crate::undo;

/// A plugin: the knowledge of one documented fault of a federation.
pub trait Repair: Sized {
    /// The name after `karmada-`, such as `fix-endpoints`.
    const NAME: &'static str;
    /// What it does, in one line of help.
    const ABOUT: &'static str;
    /// Examples and exit codes, shown at the end of the help.
    const AFTER_HELP: &'static str;
    /// Its own flags.
    type Args: Args;
    /// Its own flags, as meant.
    type Config;
    /// Everything that it reads; secrets serialise as masks.
    type Observed: Serialize;

    /// What the flags mean. Pure.
    ///
    /// # Errors
    /// When the command line cannot be followed.
    fn config(args: Self::Args) -> Result<Self::Config, UsageError>;

    /// Does all reads, concurrently.
    ///
    /// # Errors
    /// Only when nothing can be said at all, such as an unreachable control plane; a part that cannot be read is
    /// part of the observation.
    fn observe(
        access: &Access,
        config: &Self::Config,
        depth: Depth,
    ) -> impl Future<Output = Result<Self::Observed, Failure>>;

    /// What is wrong. Pure.
    fn diagnose(observed: &Self::Observed, config: &Self::Config, now: Timestamp) -> Vec<Finding>;

    /// What would cure it. Pure.
    fn plan(
        observed: &Self::Observed,
        findings: &[Finding],
        config: &Self::Config,
        now: Timestamp,
    ) -> Plan;

    /// The lines of the overview. Pure.
    fn overview(
        observed: &Self::Observed,
        findings: &[Finding],
        config: &Self::Config,
        now: Timestamp,
    ) -> Overview;

    /// What the person must know after this plan was carried out, beyond what an observation shows. Pure.
    fn aftermath(_plan: &Plan) -> Vec<Finding> {
        Vec::new()
    }
}

/// How much an observation reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Depth {
    /// What the diagnosis needs.
    Overview,
    /// That, and the proof that these subjects work.
    Proof(Vec<Subject>),
}

/// Runs the plugin as the process's main function does.
pub fn main<R: Repair>() -> ExitCode {
    ExitCode::from(run::<R>().code())
}

#[derive(Parser)]
struct CommandLine<A: Args> {
    #[command(flatten)]
    plugin: A,
    #[command(flatten)]
    run: RunFlags,
    #[command(flatten)]
    connection: ConnectionFlags,
    #[command(flatten)]
    members: MemberFlags,
    #[command(flatten)]
    host: HostFlags,
}

fn run<R: Repair>() -> Exit {
    let matches = match command::<R>().try_get_matches() {
        Ok(matches) => matches,
        Err(error) => {
            // Help and version are no errors; a closed pipe is not one either.
            let _ = error.print();
            return if error.use_stderr() {
                Exit::Usage
            } else {
                Exit::Healthy
            };
        }
    };
    let resolved = CommandLine::<R::Args>::from_arg_matches(&matches)
        .map_err(|error| UsageError::new(error.to_string()))
        .and_then(|line| {
            Ok((
                R::config(line.plugin)?,
                line.run.resolve()?,
                AccessOptions {
                    connection: line.connection.resolve()?,
                    members: line.members.resolve()?,
                    host: line.host.resolve()?,
                },
            ))
        });
    let (config, options, access) = match resolved {
        Ok(resolved) => resolved,
        Err(error) => {
            let failure = Failure::from(match error_hint(&error) {
                Some(hint) => error.with_hint(hint),
                None => error.with_hint(format!("see kubectl karmada-{} --help", R::NAME)),
            });
            return fail(&failure);
        }
    };
    if rustls::crypto::ring::default_provider()
        .install_default()
        .is_err()
    {
        return fail(&UsageError::new("another TLS provider is installed in this process").into());
    }
    let runtime = match tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => {
            return fail(&UsageError::new(format!("cannot start the runtime: {error}")).into());
        }
    };
    let ended = runtime.block_on(pipeline::<R>(&config, &options, access));
    // A name look-up in a thread of its own must not hold up the end.
    runtime.shutdown_background();
    match ended {
        Ok(exit) => exit,
        Err(failure) => fail(&failure),
    }
}

/// The command as `--help`, completion and documents see it.
pub fn command<R: Repair>() -> clap::Command {
    CommandLine::<R::Args>::command()
        .name(format!("kubectl-karmada-{}", R::NAME))
        .bin_name(format!("kubectl karmada-{}", R::NAME))
        .display_name(format!("kubectl-karmada-{}", R::NAME))
        .about(R::ABOUT)
        .after_help(R::AFTER_HELP)
        .version(VERSION)
}

async fn pipeline<R: Repair>(
    config: &R::Config,
    options: &RunOptions,
    access: AccessOptions,
) -> Result<Exit, Failure> {
    let interrupt = Interrupt::listen()
        .map_err(|error| UsageError::new(format!("cannot listen for signals: {error}")))?;
    let access = Access::open(R::NAME, access, Env::from_process())?;
    let run = Run {
        access: &access,
        options,
        interrupt,
        progress: Progress::new(),
    };
    let ended = match &options.undo {
        Some(file) => tokio::select! {
            ended = undo::run(file, &run) => ended,
            exit = run.interrupted_before_writing() => Ok(exit),
        },
        None => tokio::select! {
            ended = run.repair::<R>(config) => ended,
            exit = run.interrupted_before_writing() => Ok(exit),
        },
    };
    run.progress.finish();
    ended
}

/// What the stages of one run share.
pub(crate) struct Run<'a> {
    pub(crate) access: &'a Access,
    pub(crate) options: &'a RunOptions,
    pub(crate) interrupt: Interrupt,
    pub(crate) progress: Progress,
}

impl Run<'_> {
    /// Ends the run on a signal as long as nothing was written; afterwards the stages themselves listen.
    async fn interrupted_before_writing(&self) -> Exit {
        let exit = self.interrupt.wait().await;
        if self.progress.writing_begun() {
            std::future::pending::<()>().await;
        }
        self.progress.finish();
        io::say("interrupted: nothing was written");
        exit
    }

    async fn repair<R: Repair>(&self, config: &R::Config) -> Result<Exit, Failure> {
        self.progress.waiting_for("reading the federation");
        let observed = R::observe(self.access, config, Depth::Overview).await?;
        self.progress.finish();
        let time = clock::now();
        let findings = R::diagnose(&observed, config, time);
        let plan = R::plan(&observed, &findings, config, time);
        let mut shown = Shown {
            format: self.options.format,
            report: Report {
                schema_version: SCHEMA_VERSION,
                plugin: R::NAME.to_owned(),
                plugin_version: VERSION.to_owned(),
                time,
                control_plane: self.access.control_plane().server().to_owned(),
                verdict: Verdict::Healthy,
                exit_code: 0,
                subjects: Vec::new(),
                findings: findings.clone(),
                steps: report::steps(&plan, None),
                backup: None,
                verification: Verification::NotNeeded,
            },
            purpose: Purpose::Repair,
        };
        if self.options.print_commands {
            io::report(&commands_text(&plan));
            return Ok(report::exit_of_diagnosis(&findings, self.options.fail_on));
        }
        shown.diagnosis(R::overview(&observed, &findings, config, time), &findings);
        if plan.is_empty() {
            let exit = report::exit_of_diagnosis(&findings, self.options.fail_on);
            return Ok(shown.end(exit));
        }
        shown.plan(&plan);
        if self.options.dry_run != DryRun::None {
            return Ok(self.dry_run(&plan, &findings, shown).await);
        }
        let (outcome, backup) = match self.carry_out(plan.clone(), &shown).await {
            Ok(done) => done,
            Err(failure) => {
                shown.end(failure.exit());
                return Err(failure);
            }
        };
        shown.report.backup = Some(backup);
        shown.report.steps = report::steps(&plan, Some(&outcome));
        let verified = self
            .verify::<R>(config, &plan, &outcome, &findings, observed)
            .await;
        let mut findings = verified.findings;
        if outcome.touched_anything() {
            findings.extend(R::aftermath(&plan));
        }
        let exit = report::exit_of_repair(
            &outcome,
            &verified.verification,
            &findings,
            self.options.fail_on,
        );
        shown.report.verification = verified.verification;
        shown.diagnosis(
            R::overview(&verified.observed, &findings, config, clock::now()),
            &findings,
        );
        let exit = shown.end(exit);
        if exit == Exit::Incomplete {
            shown.way_back(R::NAME);
        }
        Ok(exit)
    }

    async fn dry_run(&self, plan: &Plan, findings: &[Finding], mut shown: Shown) -> Exit {
        let mut exit = report::exit_of_diagnosis(findings, self.options.fail_on);
        if self.options.dry_run == DryRun::Server {
            let outcome = apply::rehearse(plan, self.access).await;
            shown.report.steps = report::steps(plan, Some(&outcome));
            for (step, result) in plan.steps.iter().zip(&outcome.results) {
                io::say(&format!(
                    "{} {result} (server dry run)",
                    step.action.target()
                ));
                if matches!(result, apply::StepResult::Failed(_)) {
                    exit = Exit::Faults;
                }
            }
        }
        shown.end(exit)
    }

    /// Confirms, backs up and applies.
    pub(crate) async fn carry_out(
        &self,
        plan: Plan,
        shown: &Shown,
    ) -> Result<(Outcome, std::path::PathBuf), Failure> {
        if !self.options.yes && !shown.is_for_a_person() {
            // The plan was not printed to stdout, which a program reads.
            io::say(plan_text(&plan).trim_end());
        }
        let mut io = Io::new(self.interrupt.clone());
        let saved_plan = plan.clone();
        let confirmed = confirm(plan, self.options.yes, &mut io).await?;
        let folder = backup::folder(self.options.backup_dir.as_deref(), self.access.env())?;
        let steps = apply::read_before(&saved_plan, self.access)
            .await
            .map_err(CannotBackUp)?;
        let path = Backup {
            schema_version: backup::SCHEMA_VERSION,
            plugin: self.access.plugin().to_owned(),
            time: clock::now(),
            server: self.access.control_plane().server().to_owned(),
            steps,
        }
        .write(&folder)?;
        io::say(&format!("backup: {}", path.display()));
        self.progress.begin_writing();
        let outcome = apply::apply(confirmed, self.access, &self.interrupt, |step, result| {
            io::say(&format!(
                "{}: {result}",
                crate::text::harmless(&step.action.sentence())
            ));
        })
        .await;
        Ok((outcome, path))
    }

    /// Observes and diagnoses again until what the plan cures is gone, or the deadline has passed.
    async fn verify<R: Repair>(
        &self,
        config: &R::Config,
        plan: &Plan,
        outcome: &Outcome,
        before: &[Finding],
        observed: R::Observed,
    ) -> Verified<R::Observed> {
        let Some(allowed) = self.options.verify_within else {
            return Verified {
                findings: before
                    .iter()
                    .filter(|finding| !plan.cures(&finding.key))
                    .cloned()
                    .collect(),
                verification: Verification::SwitchedOff,
                observed,
            };
        };
        let subjects = repaired_subjects(plan, outcome);
        let left_alone: Vec<&FindingKey> = before
            .iter()
            .map(|finding| &finding.key)
            .filter(|key| !plan.cures(key))
            .collect();
        let deadline = Deadline::after(allowed);
        let mut last = Verified {
            findings: before.to_vec(),
            verification: Verification::NotNeeded,
            observed,
        };
        let mut waiting_for;
        loop {
            match R::observe(self.access, config, Depth::Proof(subjects.clone())).await {
                Ok(seen) => {
                    last.findings = R::diagnose(&seen, config, clock::now());
                    last.observed = seen;
                    let open: Vec<&Finding> = last
                        .findings
                        .iter()
                        .filter(|finding| finding.severity >= Severity::Unknown)
                        .filter(|finding| subjects.contains(&finding.key.subject))
                        .filter(|finding| !left_alone.contains(&&finding.key))
                        .collect();
                    if open.is_empty() {
                        last.verification = Verification::Passed {
                            seconds: deadline.waited().as_secs(),
                        };
                        return last;
                    }
                    waiting_for = named(&open);
                }
                // The control plane may restart just then; the deadline ends this.
                Err(failure) => waiting_for = failure.to_string(),
            }
            if deadline.passed() || self.interrupt.heard().is_some() {
                break;
            }
            self.progress.waiting(&waiting_for, &deadline);
            tokio::select! {
                () = tokio::time::sleep(BETWEEN_OBSERVATIONS) => {}
                _ = self.interrupt.wait() => {}
            }
        }
        self.progress.finish();
        last.verification = Verification::NotProven {
            waiting_for,
            seconds: deadline.waited().as_secs(),
        };
        last
    }
}

struct Verified<O> {
    findings: Vec<Finding>,
    verification: Verification,
    observed: O,
}

/// The report as it grows: printed at once for a person, at the end for a program.
pub(crate) struct Shown {
    pub(crate) format: Format,
    pub(crate) report: Report,
    pub(crate) purpose: Purpose,
}

/// What a run is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    Repair,
    Undo,
}

impl Shown {
    fn is_for_a_person(&self) -> bool {
        matches!(self.format, Format::Table | Format::Wide)
    }

    fn diagnosis(&mut self, overview: Overview, findings: &[Finding]) {
        self.report.findings = findings.to_vec();
        self.report.subjects = report::subjects(&overview);
        if self.is_for_a_person() {
            let table = overview_text(&overview, self.format == Format::Wide);
            let findings = findings_text(findings);
            let between = if table.is_empty() || findings.is_empty() {
                ""
            } else {
                "\n"
            };
            io::report(&format!("{table}{between}{findings}"));
        }
    }

    pub(crate) fn plan(&self, plan: &Plan) {
        if self.is_for_a_person() {
            let gap = if self.report.subjects.is_empty() {
                ""
            } else {
                "\n"
            };
            io::report(&format!("{gap}{}", plan_text(plan)));
        }
    }

    /// Prints the end of the report and returns the exit code.
    pub(crate) fn end(&mut self, exit: Exit) -> Exit {
        self.report.exit_code = exit.code();
        self.report.verdict = match (self.purpose, exit) {
            (Purpose::Undo, Exit::Healthy) => Verdict::Undone,
            (_, exit) => report::verdict(exit, &self.report.verification),
        };
        match (self.report.document(self.format), self.purpose) {
            (Some(document), _) => io::report(&document),
            (None, Purpose::Undo) => {
                io::report(&undo_text(exit, &self.report.verification));
            }
            (None, Purpose::Repair) => {
                let remaining = self
                    .report
                    .findings
                    .iter()
                    .filter(|finding| finding.severity == Severity::Error)
                    .count();
                let line = outcome_text(self.report.verdict, &self.report.verification, remaining);
                io::report(&format!("\n{line}"));
            }
        }
        exit
    }

    fn way_back(&self, plugin: &str) {
        if let Some(backup) = &self.report.backup {
            io::say(&format!(
                "hint: run again to go on, or take it back with: kubectl karmada-{plugin} --undo {}",
                crate::text::shell_word(&backup.display().to_string())
            ));
        }
    }
}

/// An object could not be read for the backup; nothing was written.
#[derive(Debug, thiserror::Error)]
#[error("cannot back up what the plan changes, so nothing was written: {0}")]
struct CannotBackUp(String);

impl crate::error::Explain for CannotBackUp {
    fn exit(&self) -> Exit {
        Exit::Faults
    }
}

fn repaired_subjects(plan: &Plan, outcome: &Outcome) -> Vec<Subject> {
    let mut subjects: Vec<Subject> = plan
        .steps
        .iter()
        .zip(&outcome.results)
        .filter(|(_, result)| {
            matches!(
                result,
                apply::StepResult::Applied(_) | apply::StepResult::Unchanged
            )
        })
        .map(|(step, _)| step.subject.clone())
        .collect();
    subjects.sort();
    subjects.dedup();
    subjects
}

fn named(open: &[&Finding]) -> String {
    open.iter()
        .map(|finding| format!("{}: {}", finding.key.subject, finding.message))
        .collect::<Vec<_>>()
        .join("; ")
}

fn error_hint(error: &UsageError) -> Option<String> {
    crate::error::Explain::hint(error)
}

fn fail(failure: &Failure) -> Exit {
    io::say_error(failure.as_ref(), failure.hint().as_deref());
    failure.exit()
}

pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

const BETWEEN_OBSERVATIONS: Duration = Duration::from_millis(500);
