//! The one file of the demo that writes to the terminal.

use std::error::Error;
use std::io::{self, Write};

use tokio::signal::unix::{SignalKind, signal};

/// Where the demo talks.
pub(crate) struct Screen;

impl Screen {
    pub(crate) fn new() -> Self {
        Self
    }

    pub(crate) fn line(&self, text: &str) {
        // Nobody is left to tell when the reader of the demo has gone.
        let _ = writeln!(io::stdout().lock(), "{text}");
    }

    pub(crate) fn error(&self, reason: &str) {
        let _ = writeln!(io::stderr().lock(), "error: {reason}");
    }

    /// Returns at Ctrl-C, or when somebody asks the process to end.
    pub(crate) fn wait_for_interrupt(&self) -> io::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        runtime.block_on(async {
            let mut end = signal(SignalKind::terminate())?;
            tokio::select! {
                interrupted = tokio::signal::ctrl_c() => interrupted,
                _ = end.recv() => Ok(()),
            }
        })
    }
}

/// An error with its causes.
pub(crate) fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(&format!(": {cause}"));
        source = cause.source();
    }
    text
}
