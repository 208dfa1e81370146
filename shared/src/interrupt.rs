//! SIGINT, SIGTERM and SIGHUP, heard in this file only.

use std::sync::Arc;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;

use crate::exit::Exit;

/// Whether the run was asked to end; clones share the answer.
#[derive(Debug, Clone)]
pub struct Interrupt {
    heard: watch::Receiver<Option<Exit>>,
    // Keeps the channel open for an interrupt that nobody sends to.
    _source: Arc<watch::Sender<Option<Exit>>>,
}

impl Interrupt {
    /// Listens for SIGINT, SIGTERM and SIGHUP from now on; SIGHUP only where it is not ignored, as `nohup` has it.
    ///
    /// # Errors
    /// When the operating system lets no handler be installed.
    #[expect(clippy::disallowed_methods, reason = "this is where signals are heard")]
    pub fn listen() -> std::io::Result<Interrupt> {
        let (sender, heard) = watch::channel(None);
        let source = Arc::new(sender);
        let mut interrupted = signal(SignalKind::interrupt())?;
        let mut terminated = signal(SignalKind::terminate())?;
        let mut hung_up = match ignores_hangup() {
            true => None,
            false => Some(signal(SignalKind::hangup())?),
        };
        let announce = Arc::clone(&source);
        tokio::spawn(async move {
            let exit = tokio::select! {
                _ = interrupted.recv() => Exit::Interrupted,
                _ = terminated.recv() => Exit::Terminated,
                () = heard_hangup(&mut hung_up) => Exit::HungUp,
            };
            announce.send_replace(Some(exit));
        });
        Ok(Interrupt {
            heard,
            _source: source,
        })
    }

    /// One that never hears anything.
    #[cfg(test)]
    pub(crate) fn never() -> Interrupt {
        let (sender, heard) = watch::channel(None);
        Interrupt {
            heard,
            _source: Arc::new(sender),
        }
    }

    /// The exit code of the signal that was heard; `None` when there was none.
    pub fn heard(&self) -> Option<Exit> {
        *self.heard.borrow()
    }

    /// Waits until a signal is heard.
    pub async fn wait(&self) -> Exit {
        let mut heard = self.heard.clone();
        loop {
            if let Some(exit) = *heard.borrow_and_update() {
                return exit;
            }
            if heard.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }
}

async fn heard_hangup(signal: &mut Option<Signal>) {
    match signal {
        Some(signal) => {
            signal.recv().await;
        }
        None => std::future::pending().await,
    }
}

/// Whether this process was started with SIGHUP ignored (proc(5), `SigIgn`); told on Linux only.
fn ignores_hangup() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .is_some_and(|mask| mask & 1 == 1)
}
