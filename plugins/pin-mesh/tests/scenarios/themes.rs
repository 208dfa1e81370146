//! The facts, a file per theme.

mod certificates;
mod input;
mod pins;
mod set_up;

use karmada_scenarios::Scenario;

pub(crate) fn all() -> Vec<Scenario> {
    [
        pins::scenarios(),
        certificates::scenarios(),
        set_up::scenarios(),
        input::scenarios(),
    ]
    .into_iter()
    .flatten()
    .collect()
}
