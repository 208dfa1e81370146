//! What every plugin must do alike; the scenarios of each are run for each plugin.

mod arguments;
mod connection;
mod output;
mod promises;

use karmada_lab::{Lab, backends};

use crate::plugin::Plugin;
use crate::scenario::{EMBEDDED, Scenario};
use crate::under_test::{Need, UnderTest};

/// The scenarios that this plugin must pass.
pub(crate) fn scenarios(under_test: &UnderTest) -> Vec<Scenario> {
    let mut scenarios = arguments::scenarios();
    scenarios.extend(output::scenarios());
    scenarios.extend(promises::scenarios());
    if under_test.control_plane == Need::Required {
        scenarios.extend(connection::scenarios());
    }
    scenarios
}

/// The federation with the plugin's fault, on the embedded backend.
fn faulty() -> Box<dyn Lab> {
    let embedded = backends()
        .into_iter()
        .find(|backend| backend.name == EMBEDDED)
        .unwrap();
    (UnderTest::of_this_process().federation)(&embedded)
}

/// The plugin as it diagnoses and does not write.
fn diagnosis(lab: &dyn Lab) -> Plugin {
    Plugin::on(lab).args(UnderTest::of_this_process().diagnosis)
}
