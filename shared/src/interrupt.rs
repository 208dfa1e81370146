//! SIGINT and SIGTERM, heard in this file only.

use std::sync::Arc;

use tokio::signal::unix::{SignalKind, signal};
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
    /// Listens for SIGINT and SIGTERM from now on.
    ///
    /// # Errors
    /// When the operating system lets no handler be installed.
    pub fn listen() -> std::io::Result<Interrupt> {
        let (sender, heard) = watch::channel(None);
        let source = Arc::new(sender);
        let mut interrupted = signal(SignalKind::interrupt())?;
        let mut terminated = signal(SignalKind::terminate())?;
        let announce = Arc::clone(&source);
        tokio::spawn(async move {
            let exit = tokio::select! {
                _ = interrupted.recv() => Exit::Interrupted,
                _ = terminated.recv() => Exit::Terminated,
            };
            announce.send_replace(Some(exit));
        });
        Ok(Interrupt {
            heard,
            _source: source,
        })
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
