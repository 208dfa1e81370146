//! The backends a scenario can run on, and whether they can run here.

use std::process::ExitCode;

use crate::federation::{Federation, StartError};
use crate::lab::Lab;
use crate::real;
use crate::spec::Spec;

/// Something that plays a federation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Backend {
    /// `embedded` or `real`, as in the names of tests.
    pub name: &'static str,
    /// Whether it can run on this machine.
    pub availability: Availability,
    kind: Kind,
}

/// Whether a backend can run on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Availability {
    /// It can.
    Available,
    /// It cannot; tests on it are to be shown as ignored, with this reason.
    Missing(String),
    /// It cannot, and that is a failure of every test on it, because `CI=true` demands it.
    Demanded(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Embedded,
    Real,
}

/// All backends.
pub fn backends() -> Vec<Backend> {
    let demanded = std::env::var("CI").is_ok_and(|value| value == "true");
    let availability = match real::missing() {
        None => Availability::Available,
        Some(reason) if demanded => Availability::Demanded(reason),
        Some(reason) => Availability::Missing(reason),
    };
    vec![
        Backend {
            name: "embedded",
            availability: Availability::Available,
            kind: Kind::Embedded,
        },
        Backend {
            name: "real",
            availability,
            kind: Kind::Real,
        },
    ]
}

/// Prepares this program for the real backend; the first line of `main` of every program that uses it.
///
/// The program is started again in network, mount and process namespaces of its own, where this returns `None`; so it
/// does where the real backend is missing. With an exit code the program is to end: it was the program of a container.
pub fn enter() -> Option<ExitCode> {
    real::enter()
}

impl Backend {
    /// Starts a federation. On the real backend this waits for the federation before it to be dropped, and takes that
    /// one again, as good as new, if its specification is equal.
    ///
    /// # Errors
    /// When the system refuses what it needs, or the specification contradicts itself.
    pub fn start(&self, spec: Spec) -> Result<Box<dyn Lab>, StartError> {
        match self.kind {
            Kind::Embedded => Ok(Box::new(Federation::start(spec)?)),
            Kind::Real => real::start(spec).map_err(StartError::Real),
        }
    }
}
