use super::*;
use crate::apply::{Outcome, StepResult};
use crate::finding::{FailOn, Finding, Severity, Subject};

fn findings(severities: &[Severity]) -> Vec<Finding> {
    severities
        .iter()
        .map(|severity| Finding::new("page", "code", *severity, Subject::cluster("a"), "message"))
        .collect()
}

#[test]
fn a_diagnosis_exits_as_its_worst_finding_says() {
    use Severity::{Error, Info, Unknown, Warning};
    let cases: [(&[Severity], FailOn, Exit); 8] = [
        (&[], FailOn::Error, Exit::Healthy),
        (&[Info], FailOn::Warning, Exit::Healthy),
        (&[Warning], FailOn::Error, Exit::Healthy),
        (&[Warning], FailOn::Warning, Exit::Faults),
        (&[Unknown], FailOn::Error, Exit::Unknown),
        (&[Unknown, Warning], FailOn::Error, Exit::Unknown),
        (&[Unknown, Warning], FailOn::Warning, Exit::Faults),
        (&[Unknown, Error], FailOn::Error, Exit::Faults),
    ];
    for (severities, fail_on, expected) in cases {
        let exit = exit_of_diagnosis(&findings(severities), fail_on);
        assert_eq!(exit, expected, "{severities:?} {fail_on:?}");
    }
}

#[test]
fn a_repair_that_is_not_complete_or_not_proven_exits_with_4() {
    let outcome = |result: StepResult| Outcome {
        results: vec![StepResult::Applied(None), result],
        ..Outcome::default()
    };
    let passed = Verification::Passed { seconds: 1 };
    let open = Verification::NotProven {
        waiting_for: "x".to_owned(),
        seconds: 1,
    };
    let exit = |outcome: &Outcome, verification: &Verification, severities: &[Severity]| {
        let ending = Ending {
            outcome,
            verification,
            proofs: &[],
        };
        exit_of_repair(&ending, &findings(severities), FailOn::Error)
    };
    let done = outcome(StepResult::Unchanged);
    assert_eq!(exit(&done, &passed, &[]), Exit::Healthy);
    assert_eq!(exit(&done, &passed, &[Severity::Error]), Exit::Faults);
    assert_eq!(exit(&done, &open, &[]), Exit::Incomplete);
    assert_eq!(exit(&done, &Verification::SwitchedOff, &[]), Exit::Healthy);
    let failed = outcome(StepResult::Failed("x".to_owned()));
    assert_eq!(exit(&failed, &passed, &[]), Exit::Incomplete);
    let skipped = outcome(StepResult::Skipped("x".to_owned()));
    assert_eq!(exit(&skipped, &passed, &[]), Exit::Incomplete);
}

#[test]
fn a_proof_that_did_not_pass_is_an_incomplete_repair_unless_it_was_switched_off() {
    let outcome = Outcome {
        results: vec![StepResult::Applied(None)],
        ..Outcome::default()
    };
    let exit = |verification: &Verification, proof: ProofResult| {
        let ending = Ending {
            outcome: &outcome,
            verification,
            proofs: &[ProofResult::Passed(String::new()), proof],
        };
        exit_of_repair(&ending, &[], FailOn::Error)
    };
    let text = String::new;
    let passed = Verification::Passed { seconds: 1 };
    assert_eq!(exit(&passed, ProofResult::Passed(text())), Exit::Healthy);
    assert_eq!(exit(&passed, ProofResult::Failed(text())), Exit::Incomplete);
    assert_eq!(
        exit(&passed, ProofResult::Impossible(text())),
        Exit::Incomplete
    );
    assert_eq!(
        exit(&passed, ProofResult::Skipped(text())),
        Exit::Incomplete
    );
    let off = Verification::SwitchedOff;
    assert_eq!(exit(&off, ProofResult::Skipped(text())), Exit::Healthy);
}

/// `UPDATE=1 cargo test -p karmada-repair schema` writes the file anew.
#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "a test may be asked by the environment to update"
)]
fn the_published_schema_is_the_one_that_reports_follow() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/report.schema.json");
    let mut schema =
        serde_json::to_string_pretty(&schemars::schema_for!(Report)).expect("a schema is JSON");
    schema.push('\n');
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &schema).expect("the folder docs is there");
    }
    let published = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        published == schema,
        "docs/report.schema.json is out of date; run UPDATE=1 cargo test -p karmada-repair schema"
    );
}

#[test]
fn the_overview_is_a_table_in_kubectls_style() {
    let overview = Overview {
        columns: vec![
            Column {
                key: "cluster",
                title: "CLUSTER",
                wide: false,
            },
            Column {
                key: "reason",
                title: "REASON",
                wide: true,
            },
            Column {
                key: "ready",
                title: "READY",
                wide: false,
            },
        ],
        rows: vec![Row {
            subject: Subject::cluster("a-long-name"),
            cells: vec![
                Some("a-long-name".to_owned()),
                Some("x\u{1b}[31m".to_owned()),
                None,
            ],
        }],
    };
    assert_eq!(
        overview_text(&overview, false),
        "CLUSTER       READY\na-long-name   <none>\n"
    );
    assert_eq!(
        overview_text(&overview, true),
        "CLUSTER       REASON        READY\na-long-name   x\\u{1b}[31m   <none>\n"
    );
}
