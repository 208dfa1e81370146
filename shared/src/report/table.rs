//! The report for a person: a table in kubectl's style, then findings, plan and outcome. Pure.

use tabled::builder::Builder;
use tabled::settings::{Alignment, Padding, Style};

use crate::apply::StepResult;
use crate::driver::ProofResult;
use crate::exit::Exit;
use crate::finding::Finding;
use crate::io::severity_word;
use crate::plan::Plan;
use crate::report::{Overview, Report, Verdict, Verification};
use crate::text::{escaped, harmless};

/// The overview as a table with upper-case headings and three spaces between the columns; empty without rows.
pub fn overview_text(overview: &Overview, wide: bool) -> String {
    if overview.rows.is_empty() {
        return String::new();
    }
    let shown: Vec<usize> = (0..overview.columns.len())
        .filter(|&index| wide || !overview.columns[index].wide)
        .collect();
    let mut builder = Builder::default();
    builder.push_record(shown.iter().map(|&index| overview.columns[index].title));
    for row in &overview.rows {
        builder.push_record(shown.iter().map(|&index| match &row.cells[index] {
            Some(cell) => harmless(cell),
            None => "<none>".to_owned(),
        }));
    }
    let mut table = builder.build();
    table
        .with(Style::empty())
        .with(Alignment::left())
        .with(Padding::new(0, 3, 0, 0));
    let mut text = String::new();
    for line in table.to_string().lines() {
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// The findings, worst first, each with its hint.
pub fn findings_text(findings: &[Finding]) -> String {
    let mut sorted: Vec<&Finding> = findings.iter().collect();
    sorted.sort_by(|a, b| {
        b.severity
            .cmp(&a.severity)
            .then_with(|| a.key.subject.cmp(&b.key.subject))
    });
    let mut text = String::new();
    for finding in sorted {
        text.push_str(&format!(
            "{}: {}: {} [{}]\n",
            severity_word(finding.severity),
            harmless(&finding.key.subject.to_string()),
            harmless(&finding.message),
            finding.key.code
        ));
        if let Some(hint) = &finding.hint {
            text.push_str(&format!("  hint: {}\n", harmless(hint)));
        }
    }
    text
}

/// The plan, each step with its reason, its caution and with `commands` the command that does the same, then the
/// proofs.
pub fn plan_text(plan: &Plan, commands: bool) -> String {
    let mut text = match plan.steps.len() {
        0 => "Plan:\n".to_owned(),
        1 => "Plan, 1 step:\n".to_owned(),
        count => format!("Plan, {count} steps:\n"),
    };
    for (index, step) in plan.steps.iter().enumerate() {
        text.push_str(&format!(
            "  {}. {}\n     because {}\n",
            index + 1,
            harmless(&step.action.sentence()),
            harmless(&step.reason)
        ));
        if let Some(caution) = &step.caution {
            text.push_str(&format!("     caution: {}\n", harmless(caution)));
        }
        if commands {
            text.push_str(&format!("     same as: {}\n", escaped(&step.command)));
        }
    }
    for proof in &plan.proofs {
        text.push_str(&format!("  prove: {}\n", harmless(&proof.summary)));
    }
    text
}

/// The commands of the plan as a shell script that ends at the first failure; empty without steps.
pub fn commands_text(plan: &Plan) -> String {
    let mut text = String::new();
    for step in &plan.steps {
        if text.is_empty() {
            text.push_str("set -e\n");
        }
        text.push_str(&format!("{}\n", escaped(&step.command)));
    }
    text
}

/// The end of an undo in one line.
pub fn undo_text(exit: Exit, verification: &Verification) -> String {
    match (exit, verification) {
        (Exit::Healthy, Verification::Passed { .. }) => {
            "Taken back: everything is as it was before that run.\n".to_owned()
        }
        (Exit::Healthy, _) => {
            "Nothing to take back: everything is as it was before that run.\n".to_owned()
        }
        (_, Verification::NotProven { waiting_for, .. }) => {
            format!("Not taken back: {}.\n", harmless(waiting_for))
        }
        (Exit::Incomplete, _) => "Not everything was taken back.\n".to_owned(),
        (_, _) => "Nothing was taken back.\n".to_owned(),
    }
}

/// The proofs with their results, and the end of a repair in one line; `remaining` errors are left.
pub fn outcome_text(report: &Report, remaining: usize) -> String {
    let mut text = String::new();
    for proof in &report.proofs {
        if let Some(outcome) = &proof.outcome {
            let subject = harmless(&proof.proof.subject.to_string());
            text.push_str(&format!("{subject}: {}\n", proof_text(outcome)));
        }
    }
    let faults = match remaining {
        1 => "1 fault remains".to_owned(),
        count => format!("{count} faults remain"),
    };
    let done = report
        .steps
        .iter()
        .filter(|step| {
            matches!(
                step.outcome,
                Some(StepResult::Applied(_) | StepResult::Unchanged)
            )
        })
        .count();
    let of_all = format!("{done} of {} steps are done", report.steps.len());
    if report.steps.is_empty() && !report.proofs.is_empty() {
        text.push_str(match report.exit_code {
            0 => "Proven.\n",
            _ => "Not proven.\n",
        });
        return text;
    }
    text.push_str(&match (report.verdict, &report.verification) {
        (Verdict::Healthy, _) => "Nothing to repair.\n".to_owned(),
        (Verdict::Unknown, _) => {
            "No fault was found, but not everything could be read: the answer is unknown.\n"
                .to_owned()
        }
        (Verdict::Repaired, Verification::Passed { seconds }) => {
            let proven = if report.proofs.is_empty() {
                "verified"
            } else {
                "proven"
            };
            format!("Repaired, and {proven} within {} s.\n", seconds + 1)
        }
        (Verdict::PartlyRepaired, _) => {
            format!("The plan was carried out and verified; {faults} that it does not cure.\n")
        }
        (Verdict::NotVerified, _) => "Repaired, not verified (--wait=false).\n".to_owned(),
        (
            Verdict::Incomplete,
            Verification::NotProven {
                waiting_for,
                seconds,
            },
        ) => format!(
            "Not proven, {of_all}: after {seconds} s still waiting for {}.\n",
            harmless(waiting_for)
        ),
        (Verdict::Incomplete, Verification::Interrupted { waiting_for, .. }) => format!(
            "Interrupted, {of_all}: what was not seen yet: {}.\n",
            harmless(waiting_for)
        ),
        (Verdict::NothingWritten, _) => "Nothing was written.\n".to_owned(),
        (Verdict::Incomplete, _) if done < report.steps.len() => {
            format!("The repair is not complete: {of_all}.\n")
        }
        (Verdict::Incomplete, _) => "Repaired, and not proven to work.\n".to_owned(),
        (Verdict::Undone, _) => String::new(),
        (Verdict::Faulty | Verdict::Repaired, _) => match remaining {
            1 => "1 fault found.\n".to_owned(),
            count => format!("{count} faults found.\n"),
        },
    });
    text
}

fn proof_text(outcome: &ProofResult) -> String {
    match outcome {
        ProofResult::Passed(seen) => format!("proven: {}", harmless(seen)),
        ProofResult::Failed(seen) => format!("not proven: {}", harmless(seen)),
        ProofResult::Impossible(why) => format!("could not be proven: {}", harmless(why)),
        ProofResult::Skipped(why) => format!("not proven: {}", harmless(why)),
    }
}

impl std::fmt::Display for StepResult {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            StepResult::Applied(None) => f.write_str("applied"),
            StepResult::Applied(Some(note)) => write!(f, "applied, {}", harmless(note)),
            StepResult::Unchanged => f.write_str("unchanged"),
            StepResult::Refused(reason) => write!(f, "refused: {}", harmless(reason)),
            StepResult::Failed(reason) => write!(f, "failed: {}", harmless(reason)),
            StepResult::Skipped(reason) => write!(f, "skipped: {}", harmless(reason)),
        }
    }
}
