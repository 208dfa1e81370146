//! The scenarios by theme.

mod every_day;
mod formats;
mod rights;

use karmada_scenarios::scenario::Scenario;

pub(crate) fn all() -> Vec<Scenario> {
    [
        every_day::scenarios(),
        formats::scenarios(),
        rights::scenarios(),
    ]
    .into_iter()
    .flatten()
    .collect()
}
