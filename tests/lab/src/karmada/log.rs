//! What karmada-controller-manager logs.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use crate::lock::lock;

/// A log that its writers share.
#[derive(Debug, Clone, Default)]
pub(crate) struct Log(Arc<Mutex<VecDeque<String>>>);

impl Log {
    /// Adds a line, unless it repeats the last one; the oldest lines are forgotten in the end.
    pub(crate) fn add(&self, line: String) {
        let mut lines = lock(&self.0);
        if lines.back() != Some(&line) {
            if lines.len() == KEPT {
                lines.pop_front();
            }
            lines.push_back(line);
        }
    }

    /// All lines, oldest first.
    pub(crate) fn lines(&self) -> Vec<String> {
        lock(&self.0).iter().cloned().collect()
    }
}

const KEPT: usize = 4096;
