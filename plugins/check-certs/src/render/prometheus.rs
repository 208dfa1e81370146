//! Metrics for a textfile collector or a Pushgateway, in the Prometheus text format 0.0.4
//! (<https://prometheus.io/docs/instrumenting/exposition_formats/>). Pure.

use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter, Write};

use jiff::Timestamp;
use karmada_repair::finding::Severity;

use super::Picture;
use crate::rows::Row;

/// All metrics; gauges without times of their own.
pub(super) fn text(picture: &Picture<'_>) -> String {
    let mut text = String::new();
    let of_rows = |time: fn(&Row<'_>) -> Option<Timestamp>| {
        let rows = picture.rows.iter();
        rows.filter_map(|row| Some((labels_of(picture, row), time(row)?.as_second())))
            .collect()
    };
    Family {
        name: "not_before_timestamp_seconds",
        help: "When the certificate or token becomes valid, in seconds since 1970.",
        samples: of_rows(|row| row.since),
    }
    .write(&mut text);
    Family {
        name: "not_after_timestamp_seconds",
        help: "When the certificate or token ends, in seconds since 1970; one that does not end is left out.",
        samples: of_rows(|row| row.until),
    }
    .write(&mut text);
    Family {
        name: "finding",
        help: "1 for everything that was found, by its code, its severity (info, warning, unknown, error) and what it is about.",
        samples: of_findings(picture),
    }
    .write(&mut text);
    Family {
        name: "findings",
        help: "How many findings there are of a severity.",
        samples: SEVERITIES
            .map(|severity| {
                let count = i64::try_from(picture.count(severity)).unwrap_or(i64::MAX);
                (Labels::default().with("severity", severity.word()), count)
            })
            .into(),
    }
    .write(&mut text);
    Family {
        name: "run_timestamp_seconds",
        help: "When this was examined, in seconds since 1970.",
        samples: [(Labels::default(), picture.now.as_second())].into(),
    }
    .write(&mut text);
    text
}

fn labels_of(picture: &Picture<'_>, row: &Row<'_>) -> Labels {
    let labels = Labels::default()
        .with("kind", row.kind.word())
        .with("name", &row.title)
        .with("subject", &row.subject.to_string());
    match (picture.member_of)(&row.subject) {
        Some(member) => labels.with("member", &member),
        None => labels,
    }
}

fn of_findings(picture: &Picture<'_>) -> BTreeMap<Labels, i64> {
    let findings = picture.findings.iter();
    findings
        .map(|finding| {
            let labels = Labels::default()
                .with("code", &finding.key.code)
                .with("severity", finding.severity.word())
                .with("subject", &finding.key.subject.to_string());
            (labels, 1)
        })
        .collect()
}

/// The samples of one metric. That they are a map makes each set of labels unique, as the format demands.
struct Family {
    /// The name after the common part.
    name: &'static str,
    help: &'static str,
    samples: BTreeMap<Labels, i64>,
}

impl Family {
    fn write(&self, text: &mut String) {
        let Family {
            name,
            help,
            samples,
        } = self;
        let _ = writeln!(text, "# HELP {PREFIX}{name} {help}");
        let _ = writeln!(text, "# TYPE {PREFIX}{name} gauge");
        for (labels, value) in samples {
            let _ = writeln!(text, "{PREFIX}{name}{labels} {value}");
        }
    }
}

/// Labels by name.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Labels(BTreeMap<&'static str, String>);

impl Labels {
    fn with(mut self, name: &'static str, value: &str) -> Labels {
        self.0.insert(name, value.to_owned());
        self
    }
}

impl Display for Labels {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (index, (name, value)) in self.0.iter().enumerate() {
            f.write_str(if index == 0 { "{" } else { "," })?;
            write!(f, "{name}=\"")?;
            for character in value.chars() {
                match character {
                    '\\' => f.write_str("\\\\")?,
                    '"' => f.write_str("\\\"")?,
                    '\n' => f.write_str("\\n")?,
                    // Allowed by the format, but of no use to anybody who sees the label.
                    other if other.is_control() => f.write_char('\u{fffd}')?,
                    other => f.write_char(other)?,
                }
            }
            f.write_char('"')?;
        }
        f.write_str(if self.0.is_empty() { "" } else { "}" })
    }
}

const PREFIX: &str = "karmada_check_certs_";
const SEVERITIES: [Severity; 4] = [
    Severity::Info,
    Severity::Warning,
    Severity::Unknown,
    Severity::Error,
];
