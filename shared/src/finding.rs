//! What a diagnosis says, with its evidence. Pure.

use std::fmt;

use clap::ValueEnum;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How bad a finding is; ordered from harmless to broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// Worth knowing; nothing is wrong.
    Info,
    /// Wrong, but nothing fails because of it yet.
    Warning,
    /// It could not be told whether something is wrong.
    Unknown,
    /// Broken.
    Error,
}

impl Severity {
    /// The word that reports print.
    pub fn word(self) -> &'static str {
        match self {
            Severity::Info => "info",
            Severity::Warning => "warning",
            Severity::Unknown => "unknown",
            Severity::Error => "error",
        }
    }
}

/// From which severity on a finding makes the run fail (`--fail-on`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FailOn {
    /// Warnings fail too.
    Warning,
    /// Only errors fail.
    Error,
    /// No finding fails; what could not be read still makes the answer unknown.
    Never,
}

/// What a finding or a step is about, such as `cluster/member1`.
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub struct Subject {
    /// The kind in lower case: `cluster`, `secret`, `container`, `docker`, `control-plane`.
    pub kind: String,
    /// The name; `namespace/name` for things that live in a namespace.
    pub name: String,
}

impl Subject {
    /// A subject of this kind and name.
    pub fn new(kind: impl Into<String>, name: impl Into<String>) -> Subject {
        Subject {
            kind: kind.into(),
            name: name.into(),
        }
    }

    /// The Karmada `Cluster` of this name.
    pub fn cluster(name: impl Into<String>) -> Subject {
        Subject::new("cluster", name)
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.kind, self.name)
    }
}

/// Which finding is meant: the same code on the same subject is the same finding.
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub struct FindingKey {
    /// The stable code, in kebab case.
    pub code: String,
    /// What the finding is about.
    pub subject: Subject,
}

/// One thing that a diagnosis found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// Which finding this is.
    #[serde(flatten)]
    pub key: FindingKey,
    /// How bad it is.
    pub severity: Severity,
    /// What should be there; absent when that cannot be said in one value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected: Option<String>,
    /// What is there; absent when that cannot be said in one value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actual: Option<String>,
    /// One sentence for a person, without a final period.
    pub message: String,
    /// What to type or do next; absent when nothing is known to help.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Where the documentation explains this finding, relative to the project.
    pub docs: String,
}

impl Finding {
    /// A finding without evidence or hint; `page` is the documentation page that explains its code.
    pub fn new(
        page: &str,
        code: &str,
        severity: Severity,
        subject: Subject,
        message: impl Into<String>,
    ) -> Finding {
        Finding {
            docs: format!("docs/{page}.md#{code}"),
            key: FindingKey {
                code: code.to_owned(),
                subject,
            },
            severity,
            expected: None,
            actual: None,
            message: message.into(),
            hint: None,
        }
    }

    /// The same finding with what should be there.
    pub fn expected(mut self, value: impl Into<String>) -> Finding {
        self.expected = Some(value.into());
        self
    }

    /// The same finding with what is there.
    pub fn actual(mut self, value: impl Into<String>) -> Finding {
        self.actual = Some(value.into());
        self
    }

    /// The same finding with what to type or do next.
    pub fn hint(mut self, hint: impl Into<String>) -> Finding {
        self.hint = Some(hint.into());
        self
    }
}

/// The worst severity among these findings; `None` when there are none.
pub fn worst(findings: &[Finding]) -> Option<Severity> {
    findings.iter().map(|finding| finding.severity).max()
}
