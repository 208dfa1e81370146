//! Taking turns in the order of asking, so that scenarios of equal specifications that are listed together run together.

use std::sync::{Condvar, Mutex, PoisonError};

use crate::lock::lock;

/// Somebody's turn; it ends when dropped.
pub(super) struct Turn(());

impl Turn {
    /// Waits until everybody who asked before is done.
    pub(super) fn wait() -> Self {
        let mut turns = lock(&TURNS);
        let own = turns.asked;
        turns.asked += 1;
        let waiting = ENDED.wait_while(turns, |turns| turns.done != own);
        drop(waiting.unwrap_or_else(PoisonError::into_inner));
        Self(())
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        lock(&TURNS).done += 1;
        ENDED.notify_all();
    }
}

/// How often somebody asked for a turn, and how many turns ended.
struct Turns {
    asked: u64,
    done: u64,
}

static TURNS: Mutex<Turns> = Mutex::new(Turns { asked: 0, done: 0 });
static ENDED: Condvar = Condvar::new();
