//! What a command said, and what must hold whatever it was.

use std::process::ExitStatus;

use serde_json::Value;

use crate::page;
use crate::plugin::Started;
use crate::schema;
use crate::secrets::Secrets;
use crate::under_test::UnderTest;

/// A command that has ended.
#[derive(Debug)]
pub struct Said {
    command: String,
    /// The exit code; `None` = ended by a signal.
    pub code: Option<i32>,
    /// Everything it printed; of a session at a terminal, the whole screen.
    pub stdout: String,
    /// Everything it told.
    pub stderr: String,
}

impl Said {
    /// Takes down what a command said, and checks what holds for every run: no secret is shown in any encoding, nothing panics, what is
    /// said of the end agrees with the exit code, and every finding is explained.
    #[track_caller]
    pub(crate) fn take_down(
        started: Started,
        status: ExitStatus,
        (stdout, stderr): (String, String),
    ) -> Said {
        let said = Said {
            command: started.command,
            code: status.code(),
            stdout,
            stderr,
        };
        said.keeps_secrets(&started.secrets);
        said.agrees_with_itself();
        said.finds_what_is_explained();
        said
    }

    /// It ended with this exit code.
    #[track_caller]
    pub fn exits(&self, code: i32) -> &Said {
        assert_eq!(self.code, Some(code), "the exit code of {self}");
        self
    }

    /// stdout holds this.
    #[track_caller]
    pub fn reports(&self, text: &str) -> &Said {
        assert!(
            self.stdout.contains(text),
            "{text:?} in the report of {self}"
        );
        self
    }

    /// stdout does not hold this.
    #[track_caller]
    pub fn does_not_report(&self, text: &str) -> &Said {
        assert!(
            !self.stdout.contains(text),
            "no {text:?} in the report of {self}"
        );
        self
    }

    /// stderr holds this.
    #[track_caller]
    pub fn tells(&self, text: &str) -> &Said {
        assert!(self.stderr.contains(text), "{text:?} on stderr of {self}");
        self
    }

    /// stderr does not hold this.
    #[track_caller]
    pub fn does_not_tell(&self, text: &str) -> &Said {
        assert!(
            !self.stderr.contains(text),
            "no {text:?} on stderr of {self}"
        );
        self
    }

    /// The first line of stdout or stderr that begins with this, spaces aside.
    #[track_caller]
    pub fn line_with(&self, beginning: &str) -> &str {
        let mut lines = self.stdout.lines().chain(self.stderr.lines());
        lines
            .find(|line| line.trim_start().starts_with(beginning))
            .unwrap_or_else(|| panic!("no line that begins with {beginning:?} in {self}"))
            .trim()
    }

    /// stdout as JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("{error} in the report of {self}"))
    }

    /// stdout as a JSON report, which fits the published schema.
    #[track_caller]
    pub fn report(&self) -> Value {
        let report = self.json();
        schema::fits(&report);
        report
    }

    /// The codes of the findings in the JSON report, each as `SUBJECT CODE`, in order.
    #[track_caller]
    pub fn findings(&self) -> Vec<String> {
        let report = self.json();
        let findings = report["findings"].as_array().unwrap();
        findings
            .iter()
            .map(|finding| {
                let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
                format!(
                    "{} {}",
                    text(&finding["subject"]["name"]),
                    text(&finding["code"])
                )
            })
            .collect()
    }

    #[track_caller]
    fn keeps_secrets(&self, secrets: &Secrets) {
        for (stream, text) in [("stdout", &self.stdout), ("stderr", &self.stderr)] {
            // The secret itself is not shown here either.
            if let Some(encoding) = secrets.encoding_in(text) {
                panic!(
                    "a secret is shown as {encoding} on {stream} of {}",
                    self.command
                );
            }
        }
    }

    /// Every finding that is shown has its section in the documentation.
    #[track_caller]
    fn finds_what_is_explained(&self) {
        let explained = page::explained();
        let shown = self.stdout.lines().filter_map(|line| {
            let (severity, _) = line.split_once(": ")?;
            let is_finding = ["error", "warning", "unknown", "info"].contains(&severity);
            let (_, code) = line.trim_end().strip_suffix(']')?.rsplit_once('[')?;
            is_finding.then_some(code)
        });
        for code in shown {
            assert!(explained.contains(code), "{code} is not explained: {self}");
        }
    }

    #[track_caller]
    fn agrees_with_itself(&self) {
        assert!(!self.stderr.contains("panicked"), "{self}");
        let claims = CLAIMS.iter().chain(UnderTest::of_this_process().claims);
        for (claim, codes) in claims {
            let holds = self.code.is_none_or(|code| codes.contains(&code));
            assert!(
                holds || !self.stdout.contains(claim),
                "{claim:?} does not go with the exit code of {self}"
            );
        }
    }
}

impl std::fmt::Display for Said {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Said {
            command,
            code,
            stdout,
            stderr,
        } = self;
        write!(
            f,
            "{command}\nexit code: {code:?}\nstdout:\n{stdout}\nstderr:\n{stderr}"
        )
    }
}

/// What plugins say of how a run ended, each with the exit codes that this goes with.
const CLAIMS: &[(&str, &[i32])] = &[
    ("Nothing to repair.", &[0]),
    ("Repaired, and verified", &[0]),
    ("Repaired, and proven", &[0]),
    ("The repair is not complete", &[4]),
    ("the answer is unknown", &[3]),
];
