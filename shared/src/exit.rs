//! The exit codes that all plugins share. Pure.

use schemars::JsonSchema;
use serde::Serialize;

/// How a run ended, as its exit code says it to a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Exit {
    /// Healthy, or repaired and verified: 0.
    Healthy,
    /// Faults remain, found or declined: 1.
    Faults,
    /// The command line is wrong: 2.
    Usage,
    /// No fault was found, but something in scope could not be read: 3.
    Unknown,
    /// A repair was begun and was not completed or not proven: 4.
    Incomplete,
    /// Interrupted by SIGINT before the first write: 130.
    Interrupted,
    /// Ended by SIGTERM before the first write: 143.
    Terminated,
    /// The terminal went away (SIGHUP) before the first write: 129.
    HungUp,
}

impl Exit {
    /// The number that the process exits with.
    pub fn code(self) -> u8 {
        match self {
            Exit::Healthy => 0,
            Exit::Faults => 1,
            Exit::Usage => 2,
            Exit::Unknown => 3,
            Exit::Incomplete => 4,
            Exit::Interrupted => 130,
            Exit::Terminated => 143,
            Exit::HungUp => 129,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_the_published_one() {
        let codes = [
            Exit::Healthy,
            Exit::Faults,
            Exit::Usage,
            Exit::Unknown,
            Exit::Incomplete,
            Exit::Interrupted,
            Exit::Terminated,
            Exit::HungUp,
        ]
        .map(Exit::code);
        assert_eq!(codes, [0, 1, 2, 3, 4, 130, 143, 129]);
    }
}
