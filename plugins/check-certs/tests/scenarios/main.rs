//! The plugin as a user runs it, one fact per scenario.
#![allow(clippy::unwrap_used, reason = "a failed step fails the scenario")]

mod karmada_cert;
mod themes;

use std::process::ExitCode;

use karmada_lab::{Backend, Lab, Spec};
use karmada_scenarios::{Need, UnderTest, under_test};

fn main() -> ExitCode {
    let plugin = UnderTest {
        control_plane: Need::Optional,
        federation: |backend| {
            let lab = backend.start(Spec::default()).unwrap();
            karmada_cert::store(&*lab.host(), 10);
            lab
        },
        repairs: false,
        more_codes: &[
            "der-encoded",
            "double-encoded",
            "empty-value",
            "expired",
            "expiring",
            "malformed",
            "passed-over",
            "too-large",
            "unopened",
            "unparsable",
        ],
        no_codes: &["client-certificate-data", "karmada-apiserver"],
        diagnosis: &["--host-context", "k3d-karmada-host", "--no-probe"],
        ..under_test!("kubectl-karmada_check_certs")
    };
    karmada_scenarios::main(plugin, themes::all())
}

/// A federation whose certificate in the host cluster ends in so many days.
fn ending_in(backend: &Backend, days: i64) -> Box<dyn Lab> {
    let lab = backend.start(Spec::default()).unwrap();
    karmada_cert::store(&*lab.host(), days);
    lab
}
