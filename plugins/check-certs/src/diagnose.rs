//! From an observation to findings, each with what to do. Pure.

use jiff::Timestamp;
use karmada_repair::finding::Finding;

use crate::checks;
use crate::config::Config;
use crate::hints;
use crate::observed::Observed;
use crate::view::View;

/// What is wrong, sorted by subject and code.
pub fn diagnose(observed: &Observed, config: &Config, now: Timestamp) -> Vec<Finding> {
    let view = View::new(observed, config, now);
    let mut findings: Vec<Finding> = Vec::new();
    for finding in checks::all(&view) {
        // The same fault, seen by two checks, is told once, by the one that says it worse.
        match findings.iter_mut().find(|other| other.key == finding.key) {
            Some(other) if other.severity < finding.severity => *other = finding,
            Some(_) => {}
            None => findings.push(finding),
        }
    }
    for finding in &mut findings {
        if finding.hint.is_none() {
            finding.hint = hints::of(observed, finding);
        }
    }
    findings.sort_by(|a, b| a.key.cmp(&b.key));
    findings
}
