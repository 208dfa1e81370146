//! From findings to steps. Pure.

mod draft;
mod rotate;
mod sync;

use karmada_repair::finding::Finding;
use karmada_repair::plan::Plan;

use crate::config::{Config, Operation};
use crate::group::groups;
use crate::observed::Observed;

/// The steps of a sync or a rotation; a comparison has none.
pub fn plan(observed: &Observed, findings: &[Finding], config: &Config) -> Plan {
    let groups = groups(observed);
    let [group] = groups.as_slice() else {
        return Plan::default();
    };
    let steps = match &config.operation {
        Operation::Sync(options) => sync::steps(group, observed, findings, options),
        Operation::Rotate(options) => rotate::steps(group, observed, findings, options),
        Operation::Compare | Operation::Generate(_) | Operation::Verify => Vec::new(),
    };
    Plan {
        steps,
        proofs: Vec::new(),
    }
}

#[cfg(test)]
mod tests;
