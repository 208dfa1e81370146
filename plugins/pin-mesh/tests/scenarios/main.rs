//! The plugin as a user runs it, one fact per scenario.

#![allow(clippy::unwrap_used, reason = "a failed step fails the scenario")]

mod themes;

use std::process::ExitCode;

use karmada_lab::{Backend, Lab, Spec};
use karmada_scenarios::{Need, UnderTest, under_test};

fn main() -> ExitCode {
    let plugin = UnderTest {
        control_plane: Need::Optional,
        federation,
        no_codes: &["control-plane", "link-local", "pin-mesh"],
        ..under_test!("kubectl-karmada_pin_mesh")
    };
    karmada_scenarios::main(plugin, themes::all())
}

/// Clusters that share no network.
fn federation(backend: &Backend) -> Box<dyn Lab> {
    backend.start(Spec::default()).unwrap()
}
