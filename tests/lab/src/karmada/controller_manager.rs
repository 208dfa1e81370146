//! The process karmada-controller-manager: its controllers share a clock, and a restart makes all of them forget.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinSet;

use super::dial::Dialer;
use super::execution::Execution;
use super::health::Health;
use super::log::Log;
use super::objects::Objects;
use super::unified_auth::UnifiedAuth;
use crate::spec::{Timing, Works};

/// The running or stopped process.
pub(crate) struct ControllerManager {
    process: watch::Sender<Process>,
    surroundings: Surroundings,
}

/// What every controller works with.
#[derive(Clone)]
pub(crate) struct Surroundings {
    pub(crate) objects: Arc<dyn Objects>,
    pub(crate) dialer: Arc<dyn Dialer>,
    pub(crate) timing: Timing,
    pub(crate) log: Log,
    /// How often the controllers look for something to do.
    pub(crate) tick: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Process {
    running: bool,
    /// How often it was started.
    start: u64,
}

impl ControllerManager {
    pub(crate) fn new(surroundings: Surroundings) -> Self {
        Self {
            process: watch::Sender::new(Process {
                running: true,
                start: 0,
            }),
            surroundings,
        }
    }

    /// Acts until dropped; in its first life, Works that fail are treated as `works` says.
    pub(crate) async fn run(self: Arc<Self>, works: Works) {
        let mut process = self.process.subscribe();
        loop {
            let now = *process.borrow_and_update();
            if now.running {
                tokio::select! {
                    () = live(self.surroundings.clone(), if now.start == 0 { works } else { Works::Backoff }) => {}
                    _ = process.changed() => {}
                }
            } else if process.changed().await.is_err() {
                return;
            }
        }
    }

    /// Starts or stops the process.
    pub(crate) fn set_running(&self, running: bool) {
        self.process.send_if_modified(|process| {
            let changed = process.running != running;
            if changed {
                *process = Process {
                    running,
                    start: process.start + u64::from(running),
                };
            }
            changed
        });
    }

    /// Stops the process and starts it again, with nothing remembered.
    pub(crate) fn restart(&self) {
        self.process.send_modify(|process| {
            *process = Process {
                running: true,
                start: process.start + 1,
            }
        });
    }

    /// What it logged, oldest first.
    pub(crate) fn log(&self) -> Vec<String> {
        self.surroundings.log.lines()
    }
}

/// One life of the process; the tasks end with it.
async fn live(surroundings: Surroundings, works: Works) {
    let health = Arc::new(Health::new(surroundings.clone()));
    let execution = Arc::new(Execution::new(surroundings.clone(), works));
    let mut unified_auth = UnifiedAuth::default();
    let mut tasks = JoinSet::new();
    for turn in 0_u64.. {
        if turn % UNIFIED_AUTH == 0 {
            unified_auth.reconcile(&*surroundings.objects).await;
        }
        health.start_due_checks(&mut tasks).await;
        execution.start_due_syncs(&mut tasks).await;
        while tasks.try_join_next().is_some() {}
        tokio::time::sleep(surroundings.tick).await;
    }
}

/// Every how many ticks the impersonators' rules are looked at.
const UNIFIED_AUTH: u64 = 4;
/// How often the controllers of an embedded control plane look for something to do.
pub(crate) const TICK: Duration = Duration::from_millis(25);
