//! The report as it grows: printed at once for a person, at the end for a program.

use jiff::Timestamp;

use crate::apply::StepResult;
use crate::driver::{Run, VERSION};
use crate::exit::Exit;
use crate::finding::{Finding, Severity};
use crate::io;
use crate::plan::Plan;
use crate::report::{
    self, Format, Overview, Report, SCHEMA_VERSION, StepReport, Verdict, Verification,
    findings_text, outcome_text, overview_text, plan_text, undo_text,
};
use crate::text::shell_word;

/// The report of a run and how it is shown.
pub(crate) struct Shown {
    pub(crate) report: Report,
    format: Format,
    purpose: Purpose,
    /// Whether a plan was tried of which nothing was taken.
    pub(crate) nothing_written: bool,
}

/// What a run is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// To repair.
    Repair,
    /// To take back a former run.
    Undo,
}

impl Shown {
    pub(crate) fn new(run: &Run<'_>, purpose: Purpose, time: Timestamp) -> Shown {
        Shown {
            format: run.options.format,
            purpose,
            nothing_written: false,
            report: Report {
                schema_version: SCHEMA_VERSION,
                plugin: run.access.plugin().to_owned(),
                plugin_version: VERSION.to_owned(),
                time,
                control_plane: run.access.server_name(),
                verdict: Verdict::Healthy,
                exit_code: 0,
                subjects: Vec::new(),
                findings: Vec::new(),
                steps: Vec::new(),
                backup: None,
                verification: Verification::NotNeeded,
                proofs: Vec::new(),
            },
        }
    }

    pub(crate) fn is_for_a_person(&self) -> bool {
        matches!(self.format, Format::Table | Format::Wide)
    }

    pub(crate) fn diagnosis(&mut self, overview: Overview, findings: &[Finding]) {
        let before = if self.report.subjects.is_empty() {
            ""
        } else {
            "\n"
        };
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
            io::report(&format!("{before}{table}{between}{findings}"));
        }
    }

    pub(crate) fn plan(&self, plan: &Plan) {
        if self.is_for_a_person() {
            let gap = if self.report.subjects.is_empty() {
                ""
            } else {
                "\n"
            };
            io::report(&format!(
                "{gap}{}",
                plan_text(plan, self.format == Format::Wide)
            ));
        }
    }

    /// Prints the end of the report and returns the exit code.
    pub(crate) fn end(&mut self, exit: Exit) -> Exit {
        self.report.exit_code = exit.code();
        self.report.verdict = match (self.purpose, exit) {
            (Purpose::Undo, Exit::Healthy) => Verdict::Undone,
            (Purpose::Repair, _) if self.nothing_written => Verdict::NothingWritten,
            (_, exit) => report::verdict(exit, &self.report.verification),
        };
        match (self.report.document(self.format), self.purpose) {
            (Some(document), _) => io::report(&document),
            (None, Purpose::Undo) => io::report(&undo_text(exit, &self.report.verification)),
            (None, Purpose::Repair) => {
                let remaining = self
                    .report
                    .findings
                    .iter()
                    .filter(|finding| finding.severity == Severity::Error)
                    .count();
                io::report(&format!("\n{}", outcome_text(&self.report, remaining)));
            }
        }
        exit
    }

    /// Says how a repair that is not complete goes on, or is taken back.
    pub(crate) fn way_back(&self, command: &str) {
        if let Some(backup) = &self.report.backup {
            let backup = shell_word(&backup.display().to_string());
            let go_on = match self.report.steps.iter().all(is_done) {
                true => "",
                false => "run again to go on, or ",
            };
            io::say(&format!(
                "hint: {go_on}take it back with: {command} --undo {backup}"
            ));
        }
    }
}

fn is_done(step: &StepReport) -> bool {
    matches!(
        step.outcome,
        Some(StepResult::Applied(_) | StepResult::Unchanged)
    )
}
