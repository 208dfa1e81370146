//! What a run says in the end, as one versioned value and in each output format. Pure.

mod table;

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::ValueEnum;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::apply::{Outcome, StepResult};
use crate::driver::ProofResult;
use crate::exit::Exit;
use crate::finding::{FailOn, Finding, Severity, Subject};
use crate::plan::{Plan, Proof};

pub use table::{commands_text, findings_text, outcome_text, overview_text, plan_text, undo_text};

/// The output formats (`-o`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// A table, findings and plan for a person.
    Table,
    /// The table with more columns.
    Wide,
    /// One JSON document.
    Json,
    /// The same document in YAML.
    Yaml,
    /// The faulty subjects, one `kind/name` a line.
    Name,
    /// A format of one plugin ([`crate::driver::Repair::OWN_FORMATS`]): a picture of the diagnosis; nothing is repaired.
    #[value(skip)]
    Own(&'static str),
}

impl Format {
    /// The format of this name, among those of all plugins and these of one; `None` = there is none.
    pub fn named(name: &str, own: &[&'static str]) -> Option<Format> {
        Format::from_str(name, false).ok().or_else(|| {
            own.iter()
                .find(|format| **format == name)
                .map(|format| Format::Own(format))
        })
    }
}

/// A line per subject, as the table shows it first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Overview {
    /// The columns from left to right.
    pub columns: Vec<Column>,
    /// The lines from top to bottom.
    pub rows: Vec<Row>,
}

/// A column of the overview.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column {
    /// The key in JSON and YAML, in camel case.
    pub key: &'static str,
    /// The heading, in upper case.
    pub title: &'static str,
    /// Whether only `-o wide` shows it.
    pub wide: bool,
}

/// A line of the overview.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// What the line is about.
    pub subject: Subject,
    /// One value per column; `None` shows as `<none>`.
    pub cells: Vec<Option<String>>,
}

/// In one word, what came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Nothing is wrong.
    Healthy,
    /// Faults were found; nothing was written.
    Faulty,
    /// No fault was found, but something could not be read.
    Unknown,
    /// The repair was done and proven.
    Repaired,
    /// A former run was taken back, or there was nothing to take back.
    Undone,
    /// The repair was done; its proof was switched off.
    NotVerified,
    /// What could be repaired was, and faults remain that this plugin cannot repair.
    PartlyRepaired,
    /// A repair was tried, and the servers took nothing of it.
    NothingWritten,
    /// The repair was begun and not completed, or not proven.
    Incomplete,
}

/// Whether the repair was proven.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "state", rename_all = "kebab-case")]
pub enum Verification {
    /// Nothing was repaired, so there is nothing to prove.
    NotNeeded,
    /// The proof was switched off with `--wait=false`.
    SwitchedOff,
    /// A new observation found the faults gone.
    Passed {
        /// How long that took, in seconds.
        seconds: u64,
    },
    /// The faults were still there at the deadline.
    NotProven {
        /// What was waited for.
        waiting_for: String,
        /// How long was waited, in seconds.
        seconds: u64,
    },
    /// The wait was interrupted.
    Interrupted {
        /// What was waited for.
        waiting_for: String,
        /// How long was waited, in seconds.
        seconds: u64,
    },
}

/// The whole report of a run; `docs/report.schema.json` is its published schema.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// The version of this schema.
    pub schema_version: u32,
    /// The plugin, such as `fix-endpoints`.
    pub plugin: String,
    /// The plugin's version.
    pub plugin_version: String,
    /// When the observation was made (RFC 3339, UTC).
    #[schemars(with = "String")]
    pub time: Timestamp,
    /// The URL of the control plane's API server; absent when the run had none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control_plane: Option<String>,
    /// What came out.
    pub verdict: Verdict,
    /// The exit code of the run.
    pub exit_code: u8,
    /// The examined subjects with the columns of the wide table.
    pub subjects: Vec<SubjectReport>,
    /// What the diagnosis found; after a repair, what was found by the last observation.
    pub findings: Vec<Finding>,
    /// The steps of the plan with their results.
    pub steps: Vec<StepReport>,
    /// The backup that `--undo` takes; absent when nothing was about to be written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backup: Option<PathBuf>,
    /// Whether the faults were seen to be gone.
    pub verification: Verification,
    /// What was tried beyond that, to prove that the subjects work.
    pub proofs: Vec<ProofReport>,
}

/// One proof.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProofReport {
    /// What is proven, and how.
    #[serde(flatten)]
    pub proof: Proof,
    /// How it ended; absent when it was only planned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<ProofResult>,
}

/// One examined subject.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SubjectReport {
    /// What it is.
    #[serde(flatten)]
    pub subject: Subject,
    /// The columns of the wide table by key; a value that is not there is null.
    pub columns: BTreeMap<String, Option<String>>,
}

/// One step of the plan.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StepReport {
    /// For whose sake it is done.
    pub subject: Subject,
    /// The object that it changes.
    pub target: String,
    /// What it does, as a sentence.
    pub summary: String,
    /// What it does, as data; values of secrets are masked.
    pub action: Value,
    /// Why.
    pub reason: String,
    /// What should be weighed first; absent when nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub caution: Option<String>,
    /// The command that does the same.
    pub command: String,
    /// How it ended; absent when it was only planned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<StepResult>,
}

/// The version of the report's schema.
pub const SCHEMA_VERSION: u32 = 1;

/// The subjects of an overview, as reports carry them.
pub fn subjects(overview: &Overview) -> Vec<SubjectReport> {
    overview
        .rows
        .iter()
        .map(|row| SubjectReport {
            subject: row.subject.clone(),
            columns: overview
                .columns
                .iter()
                .zip(&row.cells)
                .map(|(column, cell)| (column.key.to_owned(), cell.clone()))
                .collect(),
        })
        .collect()
}

/// The steps of a plan with what became of them; `None` when the plan was only made.
pub fn steps(plan: &Plan, outcome: Option<&Outcome>) -> Vec<StepReport> {
    plan.steps
        .iter()
        .enumerate()
        .map(|(index, step)| StepReport {
            subject: step.subject.clone(),
            target: step.action.target(),
            summary: step.action.sentence(),
            action: step.action.masked(),
            reason: step.reason.clone(),
            caution: step.caution.clone(),
            command: step.command.clone(),
            outcome: outcome.and_then(|outcome| outcome.results.get(index).cloned()),
        })
        .collect()
}

/// The proofs of a plan with what became of them; no results when they were only planned.
pub fn proofs(plan: &Plan, results: &[ProofResult]) -> Vec<ProofReport> {
    plan.proofs
        .iter()
        .enumerate()
        .map(|(index, proof)| ProofReport {
            proof: proof.clone(),
            outcome: results.get(index).cloned(),
        })
        .collect()
}

/// What a confirmed plan came to.
#[derive(Debug, Clone, Copy)]
pub struct Ending<'a> {
    /// The results of its steps.
    pub outcome: &'a Outcome,
    /// Whether the faults were seen to be gone.
    pub verification: &'a Verification,
    /// The results of its proofs.
    pub proofs: &'a [ProofResult],
}

/// The exit code of a run that wrote nothing.
pub fn exit_of_diagnosis(findings: &[Finding], fail_on: FailOn) -> Exit {
    let any = |severity| findings.iter().any(|finding| finding.severity == severity);
    let fails = match fail_on {
        FailOn::Warning => any(Severity::Error) || any(Severity::Warning),
        FailOn::Error => any(Severity::Error),
        FailOn::Never => false,
    };
    if fails {
        Exit::Faults
    } else if any(Severity::Unknown) {
        Exit::Unknown
    } else {
        Exit::Healthy
    }
}

/// The exit code of a run that carried out a plan; `findings` are those of the last observation.
pub fn exit_of_repair(ending: &Ending<'_>, findings: &[Finding], fail_on: FailOn) -> Exit {
    let proven = ending.proofs.iter().all(|proof| match proof {
        ProofResult::Passed(_) => true,
        ProofResult::Failed(_) | ProofResult::Impossible(_) => false,
        ProofResult::Skipped(_) => *ending.verification == Verification::SwitchedOff,
    });
    if ending.outcome.results.is_empty() && !proven {
        return exit_of_proofs(ending.proofs);
    }
    if !ending.outcome.is_complete() && !ending.outcome.touched_anything() {
        return Exit::Faults;
    }
    if !ending.outcome.is_complete() || !proven {
        return Exit::Incomplete;
    }
    match ending.verification {
        Verification::NotProven { .. } | Verification::Interrupted { .. } => Exit::Incomplete,
        Verification::SwitchedOff => Exit::Healthy,
        Verification::NotNeeded | Verification::Passed { .. } => {
            exit_of_diagnosis(findings, fail_on)
        }
    }
}

/// The exit code of a run that only tried to prove, where not every proof passed.
fn exit_of_proofs(proofs: &[ProofResult]) -> Exit {
    let any = |wanted: fn(&ProofResult) -> bool| proofs.iter().any(wanted);
    if any(|proof| matches!(proof, ProofResult::Skipped(_))) {
        Exit::Incomplete
    } else if any(|proof| matches!(proof, ProofResult::Failed(_))) {
        Exit::Faults
    } else {
        Exit::Unknown
    }
}

/// The verdict that goes with an exit code.
pub fn verdict(exit: Exit, verification: &Verification) -> Verdict {
    match (exit, verification) {
        (Exit::Incomplete, _) => Verdict::Incomplete,
        (Exit::Unknown, _) => Verdict::Unknown,
        (Exit::Healthy, Verification::SwitchedOff) => Verdict::NotVerified,
        (Exit::Healthy, Verification::Passed { .. }) => Verdict::Repaired,
        (Exit::Healthy, _) => Verdict::Healthy,
        (_, Verification::Passed { .. }) => Verdict::PartlyRepaired,
        (Exit::Faults | Exit::Usage | Exit::Interrupted | Exit::Terminated | Exit::HungUp, _) => {
            Verdict::Faulty
        }
    }
}

impl Report {
    /// The report in a machine format; `None` for the formats of a person, which are printed as the run goes on.
    pub fn document(&self, format: Format) -> Option<String> {
        match format {
            Format::Json => {
                let mut text = serde_json::to_string_pretty(self)
                    .expect("a report has string keys and no value that JSON lacks");
                text.push('\n');
                Some(text)
            }
            Format::Yaml => Some(
                serde_saphyr::to_string(self)
                    .expect("a report has string keys and no value that YAML lacks"),
            ),
            Format::Name => {
                let mut names: Vec<String> = self
                    .findings
                    .iter()
                    .filter(|finding| finding.severity > Severity::Info)
                    .map(|finding| format!("{}\n", finding.key.subject))
                    .collect();
                names.sort();
                names.dedup();
                Some(names.concat())
            }
            Format::Table | Format::Wide | Format::Own(_) => None,
        }
    }
}

#[cfg(test)]
mod tests;
