//! The plugin as a user runs it: the real binary against a whole federation, one fact per scenario.
//!
//! Each scenario starts a federation of its own. Those of [`scenario::Scenario::anywhere`] know nothing of the backend that plays it;
//! those that need faults or the record of requests run on the embedded one only.

#![allow(clippy::unwrap_used, reason = "a failed step fails the scenario")]
#![allow(
    clippy::disallowed_methods,
    reason = "the plugin's rules: scenarios start it and look for programs"
)]

mod background;
mod page;
mod plugin;
mod said;
mod scenario;
mod state;
mod terminal;

mod themes;

use std::process::ExitCode;

use libtest_mimic::Arguments;

fn main() -> ExitCode {
    if let Some(ended) = karmada_lab::enter() {
        return ended;
    }
    let mut arguments = Arguments::from_args();
    // Scenarios mostly wait for the federation.
    arguments.test_threads.get_or_insert(THREADS);
    libtest_mimic::run(&arguments, scenario::trials(&themes::all())).exit_code()
}

const THREADS: usize = 8;
