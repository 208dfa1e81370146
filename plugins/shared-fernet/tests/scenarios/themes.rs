//! The scenarios, a file per theme.

mod bad_input;
mod compare;
mod generate;
mod python;
mod rights;
mod rotate;
mod sync;
mod verify;

use karmada_scenarios::scenario::Scenario;

pub(crate) fn all() -> Vec<Scenario> {
    [
        compare::scenarios(),
        sync::scenarios(),
        rotate::scenarios(),
        verify::scenarios(),
        generate::scenarios(),
        bad_input::scenarios(),
        python::scenarios(),
        rights::scenarios(),
    ]
    .into_iter()
    .flatten()
    .collect()
}
