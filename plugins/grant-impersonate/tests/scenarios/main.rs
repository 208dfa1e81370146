//! The plugin as a user runs it, one fact per scenario.

#![allow(clippy::unwrap_used, reason = "a failed step fails the scenario")]

mod themes;
mod world;

use std::process::ExitCode;

use karmada_scenarios::{UnderTest, under_test};

fn main() -> ExitCode {
    let plugin = UnderTest {
        diagnosis: &["--user", "jane"],
        no_codes: &[
            "cluster-proxy-admin",
            "control-plane",
            "fix-endpoints",
            "grant-impersonate",
            "karmada-controller-manager",
            "karmada-system",
        ],
        ..under_test!("kubectl-karmada_grant_impersonate")
    };
    karmada_scenarios::main(plugin, themes::all())
}
