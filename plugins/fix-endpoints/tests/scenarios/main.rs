//! The plugin as a user runs it, one fact per scenario.

#![allow(clippy::unwrap_used, reason = "a failed step fails the scenario")]

mod endpoints;
mod themes;

use std::process::ExitCode;

use karmada_scenarios::{UnderTest, under_test};

fn main() -> ExitCode {
    let plugin = UnderTest {
        claims: &[("not proven to work.", &[4])],
        no_codes: &[
            "fix-endpoints",
            "grant-impersonate",
            "karmada-cluster",
            "karmada-impersonator",
            "karmada-system",
            "kebab-case",
        ],
        ..under_test!("kubectl-karmada_fix_endpoints")
    };
    karmada_scenarios::main(plugin, themes::all())
}
