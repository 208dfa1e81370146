//! How far a sync or a rotation has come. Pure.

use karmada_repair::finding::{Finding, Severity, Subject};

use crate::config::{Config, Operation};
use crate::diagnose::finding;
use crate::group::Group;
use crate::observed::Observed;
use crate::{rotate, sync};

/// What is left to do of what the command line asks for, or of a rotation that was begun.
pub fn diagnose(groups: &[Group<'_>], observed: &Observed, config: &Config) -> Vec<Finding> {
    match (&config.operation, groups) {
        (Operation::Sync(options), [group]) => sync::progress(group, observed, options),
        (Operation::Sync(options), _) => vec![finding(
            "source-unusable",
            Severity::Error,
            sync::subject(options),
            format!(
                "no Airflow was found in {} that keys could be taken from",
                options.from
            ),
        )],
        (Operation::Rotate(_), [_]) if observed.goal.is_none() => {
            vec![finding(
                "rotation-none",
                Severity::Info,
                Subject::new("rotation", "none"),
                "no rotation was begun that could be gone on with",
            )]
        }
        (_, [group]) => rotate::progress(group, observed, config)
            .into_iter()
            .collect(),
        (_, _) => Vec::new(),
    }
}
