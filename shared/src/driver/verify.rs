//! The proof of a repair: observed and diagnosed again until clean, then tried.

use std::time::Duration;

use futures::future::join_all;

use crate::apply::{Outcome, StepResult};
use crate::clock::{self, Deadline};
use crate::driver::{Depth, ProofResult, Repair, Run, Until};
use crate::finding::{Finding, FindingKey, Severity, Subject};
use crate::plan::{Action, Plan, Proof};
use crate::report::Verification;

/// The end of a verification.
pub(super) struct Verified<O> {
    pub(super) findings: Vec<Finding>,
    pub(super) verification: Verification,
    pub(super) observed: O,
    deadline: Deadline,
}

impl Run<'_> {
    /// Observes and diagnoses again until what the plan cures is gone, or the deadline has passed.
    ///
    /// Subjects with a step that failed or was skipped are not waited for: nothing is on its way there.
    pub(super) async fn verify<R: Repair>(
        &self,
        config: &R::Config,
        plan: &Plan,
        outcome: &Outcome,
        before: &[Finding],
        observed: R::Observed,
    ) -> Verified<R::Observed> {
        let mut last = Verified {
            findings: before.to_vec(),
            verification: Verification::NotNeeded,
            observed,
            deadline: Deadline::after(self.options.verify_within.unwrap_or_default()),
        };
        let Some(allowed) = self.options.verify_within else {
            last.findings.retain(|finding| !plan.cures(&finding.key));
            last.verification = Verification::SwitchedOff;
            return last;
        };
        let subjects = repaired(plan, outcome);
        if subjects.is_empty() {
            return last;
        }
        let left_alone: Vec<&FindingKey> = before
            .iter()
            .map(|finding| &finding.key)
            .filter(|key| !plan.cures(key))
            .collect();
        let deadline = Deadline::after(allowed);
        last.deadline = deadline;
        let mut waiting_for;
        loop {
            match R::observe(self.access, config, Depth::Proof(subjects.clone())).await {
                Ok(seen) => {
                    last.findings = R::diagnose(&seen, config, clock::now());
                    last.observed = seen;
                    let open: Vec<&Finding> = last
                        .findings
                        .iter()
                        .filter(|finding| finding.severity >= Severity::Unknown)
                        .filter(|finding| subjects.contains(&finding.key.subject))
                        .filter(|finding| !left_alone.contains(&&finding.key))
                        .filter(|finding| !plan.proves(&finding.key))
                        .collect();
                    if open.is_empty() {
                        last.verification = Verification::Passed {
                            seconds: deadline.waited().as_secs(),
                        };
                        self.progress.finish();
                        return last;
                    }
                    waiting_for = named(&open);
                }
                // The control plane may restart just then; the deadline ends this.
                Err(failure) => waiting_for = failure.to_string(),
            }
            if deadline.passed() || self.interrupt.heard().is_some() {
                break;
            }
            self.progress.waiting(&waiting_for, &deadline);
            tokio::select! {
                () = tokio::time::sleep(BETWEEN_OBSERVATIONS) => {}
                _ = self.interrupt.wait() => {}
            }
        }
        self.progress.finish();
        let seconds = deadline.waited().as_secs();
        last.verification = match self.interrupt.heard() {
            Some(_) => Verification::Interrupted {
                waiting_for,
                seconds,
            },
            None => Verification::NotProven {
                waiting_for,
                seconds,
            },
        };
        last
    }

    /// Carries out the proofs of the plan, together, each of a subject that was verified.
    pub(super) async fn prove<R: Repair>(
        &self,
        config: &R::Config,
        plan: &Plan,
        outcome: &Outcome,
        verified: &Verified<R::Observed>,
    ) -> Vec<ProofResult> {
        let repaired = repaired(plan, outcome);
        let why_not = |proof: &Proof| match &verified.verification {
            _ if self.interrupt.heard().is_some() => Some("interrupted".to_owned()),
            Verification::SwitchedOff => Some("switched off with --wait=false".to_owned()),
            Verification::NotProven { .. } | Verification::Interrupted { .. } => {
                Some("the repair is not verified".to_owned())
            }
            _ if !repaired.contains(&proof.subject) => {
                Some(format!("not all steps of {} were done", proof.subject))
            }
            _ => None,
        };
        let tried: Vec<String> = plan
            .proofs
            .iter()
            .filter(|proof| why_not(proof).is_none())
            .map(|proof| proof.subject.to_string())
            .collect();
        if !tried.is_empty() {
            self.progress.announce(&match tried.len() {
                ..=SHOWN => format!("proving that it works: {}", tried.join(", ")),
                count => format!("proving that it works: {count} of them"),
            });
        }
        let restarted = plan
            .steps
            .iter()
            .zip(&outcome.results)
            .any(|(step, result)| {
                matches!(step.action, Action::Restart { .. })
                    && matches!(result, StepResult::Applied(_))
            });
        // A restart takes its time, also after the roll-out: leases run out, caches fill.
        let patience = match verified.deadline.left() {
            left if restarted => left.max(AT_LEAST),
            _ => AT_LEAST,
        };
        let until = Until {
            deadline: Deadline::after(patience),
            interrupt: &self.interrupt,
        };
        let proofs = plan.proofs.iter().map(|proof| async {
            match why_not(proof) {
                Some(why) => ProofResult::Skipped(why),
                None => R::prove(self.access, &verified.observed, proof, config, until).await,
            }
        });
        let results = join_all(proofs).await;
        self.progress.finish();
        results
    }
}

/// The subjects whose steps are all done, and those of proofs without steps.
fn repaired(plan: &Plan, outcome: &Outcome) -> Vec<Subject> {
    let undone: Vec<&Subject> = plan
        .steps
        .iter()
        .zip(&outcome.results)
        .filter(|(_, result)| {
            matches!(
                result,
                StepResult::Failed(_) | StepResult::Refused(_) | StepResult::Skipped(_)
            )
        })
        .map(|(step, _)| &step.subject)
        .collect();
    let steps = plan.steps.iter().map(|step| &step.subject);
    let proofs = plan.proofs.iter().map(|proof| &proof.subject);
    let mut subjects: Vec<Subject> = steps
        .chain(proofs)
        .filter(|subject| !undone.contains(subject))
        .cloned()
        .collect();
    subjects.sort();
    subjects.dedup();
    subjects
}

fn named(open: &[&Finding]) -> String {
    open.iter()
        .map(|finding| format!("{}: {}", finding.key.subject, finding.message))
        .collect::<Vec<_>>()
        .join("; ")
}

/// A working control plane delivers within a second.
const AT_LEAST: Duration = Duration::from_secs(20);

/// How many subjects are named while they are proven.
const SHOWN: usize = 10;

const BETWEEN_OBSERVATIONS: Duration = Duration::from_millis(500);
