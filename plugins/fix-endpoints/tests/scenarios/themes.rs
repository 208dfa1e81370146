//! The scenarios, a file per theme.

mod agents;
mod bad_input;
mod consent;
mod credentials;
mod delivery;
mod elsewhere;
mod faults;
mod field_report;
mod flavours;
mod identity;
mod interruption;
mod names;
mod output;
mod promises;
mod proxies;
mod states;
mod undo;
mod vantage;

use karmada_scenarios::Scenario;

pub(crate) fn all() -> Vec<Scenario> {
    [
        field_report::scenarios(),
        states::scenarios(),
        identity::scenarios(),
        consent::scenarios(),
        credentials::scenarios(),
        output::scenarios(),
        bad_input::scenarios(),
        faults::scenarios(),
        interruption::scenarios(),
        undo::scenarios(),
        promises::scenarios(),
        agents::scenarios(),
        elsewhere::scenarios(),
        names::scenarios(),
        proxies::scenarios(),
        vantage::scenarios(),
        // Those with federations of their own last: a backend may take equal ones again.
        delivery::scenarios(),
        flavours::scenarios(),
    ]
    .into_iter()
    .flatten()
    .collect()
}
