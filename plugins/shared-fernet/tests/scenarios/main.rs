//! The plugin as a user runs it, one fact per scenario.

#![allow(clippy::unwrap_used, reason = "a failed step fails the scenario")]
#![allow(
    clippy::disallowed_methods,
    reason = "the plugin's rules: scenarios start python and look for it"
)]

mod airflow;
mod themes;

use std::process::ExitCode;

use karmada_scenarios::{Need, UnderTest, under_test};

fn main() -> ExitCode {
    let plugin = UnderTest {
        control_plane: Need::Optional,
        federation: airflow::with_chart_made_keys,
        no_codes: &[
            "shared-fernet",
            "fernet-key",
            "webserver-secret-key",
            "api-secret-key",
            "jwt-secret",
            "airflow-fernet-key",
            "airflow-secret-key",
            "config-envs",
            "kebab-case",
            "control-plane",
            "api-server",
            "dag-processor",
            "rotate-fernet-key",
        ],
        ..under_test!("kubectl-karmada_shared_fernet")
    };
    karmada_scenarios::main(plugin, themes::all())
}
