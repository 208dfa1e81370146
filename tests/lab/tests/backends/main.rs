//! What every backend must do alike.

#![allow(clippy::unwrap_used)]

use std::process::ExitCode;

use karmada_lab::{Availability, Backend, Lab, Spec, backends};
use libtest_mimic::{Arguments, Trial};

mod docker;
mod karmada;
mod writes;

fn main() -> ExitCode {
    if let Some(code) = karmada_lab::enter() {
        return code;
    }
    let arguments = Arguments::from_args();
    let trials = backends()
        .iter()
        .flat_map(|backend| {
            karmada::SCENARIOS
                .iter()
                .chain(docker::SCENARIOS)
                .chain(writes::SCENARIOS)
                .map(|scenario| trial(backend, scenario))
        })
        .collect();
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// A scenario: its name, its federation, and what happens in it.
pub(crate) type Scenario = (&'static str, fn() -> Spec, fn(&dyn Lab));

fn trial(backend: &Backend, &(name, spec, run): &Scenario) -> Trial {
    let (reason, ignored) = match &backend.availability {
        Availability::Available => (None, false),
        Availability::Missing(reason) => (Some(reason.clone()), true),
        Availability::Demanded(reason) => (Some(reason.clone()), false),
    };
    let title = match &reason {
        Some(reason) if ignored => format!("{name} ({reason})"),
        _ => name.to_owned(),
    };
    let backend = backend.clone();
    Trial::test(title, {
        let backend = backend.clone();
        move || {
            if let Some(reason) = reason {
                return Err(reason.into());
            }
            let lab = backend.start(spec())?;
            run(&*lab);
            Ok(())
        }
    })
    .with_kind(backend.name)
    .with_ignored_flag(ignored)
}
