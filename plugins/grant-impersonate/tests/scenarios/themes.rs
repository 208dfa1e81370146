//! The scenarios, by theme.

mod audit;
mod bad_input;
mod grants;
mod obstacles;
mod promises;
mod revocation;
mod rights;

use karmada_scenarios::scenario::Scenario;

pub(crate) fn all() -> Vec<Scenario> {
    [
        grants::scenarios(),
        obstacles::scenarios(),
        rights::scenarios(),
        revocation::scenarios(),
        audit::scenarios(),
        bad_input::scenarios(),
        promises::scenarios(),
    ]
    .into_iter()
    .flatten()
    .collect()
}
