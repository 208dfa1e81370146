//! The diagnosis as metrics and as pictures. Pure.

mod html;
mod markup;
mod prometheus;
mod scale;
mod svg;

#[cfg(test)]
mod tests;

use jiff::Timestamp;
use karmada_repair::finding::{Finding, Severity, Subject};

use crate::config::Config;
use crate::observed::Observed;
use crate::rows::{Row, rows};
use crate::view::View;

/// The values of `--output` that this makes.
pub const FORMATS: &[&str] = &["prometheus", "svg", "html"];

/// The diagnosis in one of [`FORMATS`].
pub fn render(
    format: &str,
    observed: &Observed,
    findings: &[Finding],
    config: &Config,
    now: Timestamp,
) -> String {
    let view = View::new(observed, config, now);
    let picture = Picture {
        rows: &rows(&view, findings),
        findings,
        member_of: &|subject| observed.member_of(subject),
        now,
    };
    match format {
        "prometheus" => prometheus::text(&picture),
        "svg" => svg::document(&picture),
        _ => html::document(&picture),
    }
}

/// What is to be shown.
struct Picture<'a> {
    rows: &'a [Row<'a>],
    findings: &'a [Finding],
    /// The member that something belongs to.
    member_of: &'a dyn Fn(&Subject) -> Option<String>,
    now: Timestamp,
}

impl Picture<'_> {
    /// How many findings there are of a severity.
    fn count(&self, severity: Severity) -> usize {
        let findings = self.findings.iter();
        findings
            .filter(|finding| finding.severity == severity)
            .count()
    }

    /// What it all comes to, in one line.
    fn summary(&self) -> String {
        let examined = self
            .rows
            .iter()
            .filter(|row| !row.places.is_empty())
            .count();
        let counts = [Severity::Error, Severity::Warning, Severity::Unknown].map(|severity| {
            let count = self.count(severity);
            match (severity, count) {
                (Severity::Unknown, _) => format!("{count} unknown"),
                (_, 1) => format!("1 {}", severity.word()),
                _ => format!("{count} {}s", severity.word()),
            }
        });
        format!("{examined} examined: {}", counts.join(", "))
    }
}

/// What a line is marked with: a class of the style sheet, and a sign for whoever sees no colours.
fn mark(severity: Option<Severity>) -> (&'static str, &'static str) {
    match severity {
        Some(Severity::Error) => ("error", "✕"),
        Some(Severity::Warning) => ("warning", "!"),
        Some(Severity::Unknown) => ("unknown", "?"),
        Some(Severity::Info) | None => ("fine", "✓"),
    }
}

/// The status of a line in words.
fn status(row: &Row<'_>) -> String {
    match row.is_fine() {
        true => "fine".to_owned(),
        false => row.codes.join(", "),
    }
}
