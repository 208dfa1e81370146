//! What a run is waiting for, on stderr: in place on a terminal, a line per change elsewhere.

use std::cell::{Cell, RefCell};

use indicatif::{ProgressBar, ProgressStyle};

use crate::clock::Deadline;
use crate::io;
use crate::text::{harmless, seconds};

/// The progress of one run.
#[derive(Debug)]
pub struct Progress {
    spinner: Option<ProgressBar>,
    said: RefCell<String>,
    writing: Cell<bool>,
}

impl Progress {
    /// A progress that shows nothing yet.
    pub fn new() -> Progress {
        let spinner = io::stderr_is_terminal().then(|| {
            let spinner = ProgressBar::new_spinner();
            if let Ok(style) = ProgressStyle::with_template("{spinner} {wide_msg}") {
                spinner.set_style(style);
            }
            spinner
        });
        Progress {
            spinner,
            said: RefCell::default(),
            writing: Cell::new(false),
        }
    }

    /// Shows a short wait; only on a terminal.
    pub fn waiting_for(&self, what: &str) {
        if let Some(spinner) = &self.spinner {
            spinner.set_message(what.to_owned());
            spinner.tick();
        }
    }

    /// Shows a wait of some seconds; a line where there is no terminal.
    pub fn announce(&self, what: &str) {
        match &self.spinner {
            Some(_) => self.waiting_for(what),
            None => io::say(&harmless(what)),
        }
    }

    /// Shows what a long wait waits for, and how long it may still take.
    pub fn waiting(&self, what: &str, deadline: &Deadline) {
        match &self.spinner {
            Some(spinner) => {
                let (waited, allowed) = (seconds(deadline.waited()), seconds(deadline.allowed()));
                spinner.set_message(format!(
                    "waiting ({waited} of {allowed}) for {}",
                    harmless(what)
                ));
                spinner.tick();
            }
            None => {
                let mut said = self.said.borrow_mut();
                if *said != what {
                    what.clone_into(&mut said);
                    io::say(&format!(
                        "waiting up to {} for {}",
                        seconds(deadline.allowed()),
                        harmless(what)
                    ));
                }
            }
        }
    }

    /// Takes what is shown in place off the terminal.
    pub fn finish(&self) {
        if let Some(spinner) = &self.spinner {
            spinner.finish_and_clear();
        }
    }

    /// Notes that from now on something may have been written.
    pub fn begin_writing(&self) {
        self.writing.set(true);
    }

    /// Whether something may have been written.
    pub fn writing_begun(&self) -> bool {
        self.writing.get()
    }
}

impl Default for Progress {
    fn default() -> Progress {
        Progress::new()
    }
}
