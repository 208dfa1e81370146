//! A plugin as a user runs it: the real binary against a whole federation, one fact per scenario.
//!
//! Each scenario starts a federation of its own. Those of [`Scenario::anywhere`] know nothing of the backend that plays it;
//! those that need faults or the record of requests run on the embedded one only.
//!
//! A plugin's scenarios are a test without a harness of its own: `tests/scenarios/main.rs` says which plugin it is and calls
//! [`main`], `themes/` holds the facts, a file per theme.

#![allow(clippy::unwrap_used, reason = "a failed step fails the scenario")]
#![allow(
    clippy::missing_panics_doc,
    reason = "a failed step fails the scenario, by a panic"
)]

pub mod background;
mod conformance;
pub mod page;
pub mod plugin;
pub mod refusal;
pub mod said;
pub mod scenario;
mod schema;
mod secrets;
pub mod state;
pub mod terminal;
mod under_test;

use std::process::ExitCode;

use libtest_mimic::Arguments;

pub use plugin::Plugin;
pub use said::Said;
pub use scenario::{Program, Scenario};
pub use under_test::{Need, UnderTest, default_federation};

/// Runs what every plugin must pass, and these scenarios of a plugin's own, as the process's main function does.
///
/// # Panics
/// If two scenarios have one name.
pub fn main(under_test: UnderTest, own: Vec<Scenario>) -> ExitCode {
    if let Some(ended) = karmada_lab::enter() {
        return ended;
    }
    under_test.enter();
    let mut scenarios = conformance::scenarios(&under_test);
    scenarios.extend(own);
    let mut arguments = Arguments::from_args();
    // Scenarios mostly wait for the federation.
    arguments.test_threads.get_or_insert(THREADS);
    libtest_mimic::run(&arguments, scenario::trials(&scenarios)).exit_code()
}

const THREADS: usize = 8;
