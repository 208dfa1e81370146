//! The backends a scenario can run on, and whether they can run here.

use crate::federation::{Federation, StartError};
use crate::lab::Lab;
use crate::spec::Spec;

/// Something that plays a federation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Backend {
    /// `embedded` or `real`, as in the names of tests.
    pub name: &'static str,
    /// Whether it can run on this machine.
    pub availability: Availability,
}

/// Whether a backend can run on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Availability {
    /// It can.
    Available,
    /// It cannot; tests on it are to be shown as ignored.
    Missing(String),
    /// It cannot, and that is a failure: `CI=true` demands it.
    Demanded(String),
}

/// All backends.
pub fn backends() -> Vec<Backend> {
    let reason = "no real parts yet".to_owned();
    let real = if std::env::var("CI").is_ok_and(|value| value == "true") {
        Availability::Demanded(reason)
    } else {
        Availability::Missing(reason)
    };
    vec![
        Backend {
            name: "embedded",
            availability: Availability::Available,
        },
        Backend {
            name: "real",
            availability: real,
        },
    ]
}

impl Backend {
    /// Starts a federation.
    ///
    /// # Errors
    /// When the system refuses what it needs, or the specification contradicts itself.
    pub fn start(&self, spec: Spec) -> Result<Box<dyn Lab>, StartError> {
        Ok(Box::new(Federation::start(spec)?))
    }
}
