//! Consent to a plan: a confirmed plan can be made in this file only.

use clap::ValueEnum;

use crate::error::Explain;
use crate::exit::Exit;
use crate::io::{Answer, Io};
use crate::plan::{Plan, Step};

/// What `--dry-run` asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum DryRun {
    /// Nothing is dry: the plan is carried out once it is confirmed.
    None,
    /// Everything is read, nothing is written.
    Client,
    /// Each API write is also sent with `dryRun=All`; Docker steps are never sent.
    Server,
}

/// A plan that a person, or `--yes`, has agreed to.
#[derive(Debug)]
pub struct ConfirmedPlan {
    plan: Plan,
}

impl ConfirmedPlan {
    /// The steps to carry out.
    pub fn into_steps(self) -> Vec<Step> {
        self.plan.steps
    }
}

/// Why a plan was not confirmed.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The person said no.
    #[error("the repair was declined: nothing was written")]
    Declined,
    /// The terminal was closed at the prompt.
    #[error("the terminal was closed before an answer: nothing was written")]
    Closed,
    /// There is no terminal to ask at, and no `--yes`.
    #[error(
        "the repair needs a confirmation, and there is no terminal to ask at: nothing was written"
    )]
    NoTerminal,
    /// The run was interrupted at the prompt.
    #[error("interrupted: nothing was written")]
    Interrupted(Exit),
}

impl Explain for Refusal {
    fn exit(&self) -> Exit {
        match self {
            Refusal::Declined | Refusal::Closed | Refusal::NoTerminal => Exit::Faults,
            Refusal::Interrupted(exit) => *exit,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Refusal::NoTerminal => {
                Some("add --yes to carry the plan out, or --dry-run to only see it".to_owned())
            }
            Refusal::Declined | Refusal::Closed | Refusal::Interrupted(_) => None,
        }
    }
}

/// Asks for consent to the plan, which has been shown by now.
///
/// # Errors
/// The refusal, which leaves nothing written.
pub async fn confirm(plan: Plan, yes: bool, io: &mut Io) -> Result<ConfirmedPlan, Refusal> {
    if yes {
        return Ok(ConfirmedPlan { plan });
    }
    if !io.can_ask() {
        return Err(Refusal::NoTerminal);
    }
    match io.ask("Carry out this plan? (y/n): ").await {
        Answer::Yes => Ok(ConfirmedPlan { plan }),
        Answer::No => Err(Refusal::Declined),
        Answer::Closed => Err(Refusal::Closed),
        Answer::Interrupted(exit) => Err(Refusal::Interrupted(exit)),
    }
}
