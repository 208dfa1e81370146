//! From an observation to findings, each with what to do. Pure.

use std::collections::BTreeMap;

use jiff::Timestamp;
use karmada_repair::finding::{Finding, FindingKey};

use crate::checks;
use crate::config::Config;
use crate::hints;
use crate::observed::Observed;
use crate::view::View;

/// What is wrong, sorted by subject and code.
pub fn diagnose(observed: &Observed, config: &Config, now: Timestamp) -> Vec<Finding> {
    let view = View::new(observed, config, now);
    let mut by_key: BTreeMap<FindingKey, Finding> = BTreeMap::new();
    for finding in checks::all(&view) {
        // The same fault, seen by two checks, is told once, by the one that says it worse.
        match by_key.get(&finding.key) {
            Some(other) if other.severity >= finding.severity => {}
            _ => {
                by_key.insert(finding.key.clone(), finding);
            }
        }
    }
    let mut findings: Vec<Finding> = by_key.into_values().collect();
    for finding in &mut findings {
        if finding.hint.is_none() {
            finding.hint = hints::of(observed, finding);
        }
    }
    findings
}
