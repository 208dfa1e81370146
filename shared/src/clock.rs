//! The clock, read in this file only.

use std::time::{Duration, Instant};

use jiff::Timestamp;

/// The wall-clock time now.
#[expect(clippy::disallowed_methods, reason = "this is the clock")]
pub fn now() -> Timestamp {
    Timestamp::now()
}

/// A point in time by which something must have ended.
#[derive(Debug, Clone, Copy)]
pub struct Deadline {
    started: Instant,
    allowed: Duration,
}

impl Deadline {
    /// A deadline this long from now.
    pub fn after(allowed: Duration) -> Deadline {
        Deadline {
            started: Instant::now(),
            allowed,
        }
    }

    /// How long has been waited.
    pub fn waited(&self) -> Duration {
        self.started.elapsed()
    }

    /// How long the wait may take in all.
    pub fn allowed(&self) -> Duration {
        self.allowed
    }

    /// How long it is until then; zero when it has passed.
    pub fn left(&self) -> Duration {
        self.allowed.saturating_sub(self.waited())
    }

    /// Whether it has passed.
    pub fn passed(&self) -> bool {
        self.waited() >= self.allowed
    }
}
