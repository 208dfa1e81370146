//! What a read of one thing can end in. Pure.

use schemars::JsonSchema;
use serde::Serialize;

/// One observed part of the world; what could not be read is never taken for healthy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "state", content = "value", rename_all = "kebab-case")]
pub enum Part<T> {
    /// It was read.
    Seen(T),
    /// It was looked for and is not there.
    Absent,
    /// It could not be read, and this is why.
    Unreadable(String),
}

impl<T> Part<T> {
    /// The value when it was read.
    pub fn seen(&self) -> Option<&T> {
        match self {
            Part::Seen(value) => Some(value),
            Part::Absent | Part::Unreadable(_) => None,
        }
    }

    /// Why it could not be read; `None` when it was read or is absent.
    pub fn unreadable(&self) -> Option<&str> {
        match self {
            Part::Unreadable(reason) => Some(reason),
            Part::Seen(_) | Part::Absent => None,
        }
    }
}
