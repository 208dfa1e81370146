//! From an observation to findings. Pure.

mod clusters;
mod compared;
mod surroundings;
mod tokens;
mod value;

use karmada_repair::finding::{Finding, Severity, Subject};

use crate::airflow::KeyKind;
use crate::config::{Config, Operation};
use crate::group::{Chosen, Group, groups};
use crate::observed::Observed;
use crate::progress;

/// What is wrong with the keys of the selected members.
pub fn diagnose(observed: &Observed, config: &Config) -> Vec<Finding> {
    let mut findings = clusters::diagnose(observed);
    let groups = groups(observed);
    for group in &groups {
        if groups.len() > 1 && group.members.len() == 1 && observed.clusters.len() > 1 {
            findings.push(unpaired(group.members[0]));
        }
        for &kind in config.kinds() {
            for chosen in &group.members {
                findings.extend(value::diagnose(*chosen, kind, group, observed));
            }
            findings.extend(compared::diagnose(group, kind, observed, config));
        }
        for chosen in &group.members {
            findings.extend(surroundings::diagnose(*chosen, observed));
        }
    }
    findings.extend(tokens::diagnose(&groups, observed));
    match &config.operation {
        Operation::Sync(_) | Operation::Rotate(_) if groups.len() > 1 => {
            findings.push(ambiguous(&groups));
        }
        _ => findings.extend(progress::diagnose(&groups, observed, config)),
    }
    findings
}

/// What a finding about one key is about.
pub fn key_subject(chosen: Chosen<'_>, kind: KeyKind) -> Subject {
    Subject::new(kind.name(), chosen.name())
}

/// What a finding about an instance is about.
pub fn instance_subject(chosen: Chosen<'_>) -> Subject {
    Subject::new("airflow", chosen.name())
}

/// A finding of this plugin.
pub fn finding(
    code: &str,
    severity: Severity,
    subject: Subject,
    message: impl Into<String>,
) -> Finding {
    Finding::new(PAGE, code, severity, subject, message)
}

/// The page that explains the codes.
pub const PAGE: &str = "shared-fernet";

fn unpaired(chosen: Chosen<'_>) -> Finding {
    let place = match chosen.instance.release.as_str() {
        "" => format!("namespace {}", chosen.instance.namespace),
        release => format!(
            "release {release} in namespace {}",
            chosen.instance.namespace
        ),
    };
    finding(
        "release-unpaired",
        Severity::Warning,
        instance_subject(chosen),
        format!("no other cluster has {place}, so it is compared with nothing"),
    )
    .hint(format!(
        "say which Airflow of each cluster belongs together: --map {}={}/RELEASE",
        chosen.cluster.name, chosen.instance.namespace
    ))
}

fn ambiguous(groups: &[Group<'_>]) -> Finding {
    let names: Vec<String> = groups
        .iter()
        .filter_map(|group| group.members.first())
        .map(|chosen| format!("{}/{}", chosen.instance.namespace, chosen.instance.release))
        .collect();
    finding(
        "release-ambiguous",
        Severity::Error,
        Subject::new("airflow", "release"),
        format!(
            "there is more than one Airflow, and keys of different ones are not mixed: {}",
            names.join(", ")
        ),
    )
    .hint("choose one with --namespace and --release, or say what is meant in each cluster with --map CLUSTER=NAMESPACE/RELEASE")
}
