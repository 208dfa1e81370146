//! A command at a terminal, with somebody who types.

use std::io::Write;
use std::process::Child;
use std::time::Duration;

use pty_process::Size;
use pty_process::blocking::{Command, Pty};

use crate::background::{Heard, ended, until};
use crate::plugin::Started;
use crate::said::Said;

/// A command at a terminal of its own, where stdout and stderr come together.
pub struct Session {
    child: Child,
    terminal: Pty,
    screen: Heard,
    started: Started,
}

impl Session {
    pub(crate) fn open(command: Command, started: Started) -> Session {
        let (terminal, side) = pty_process::blocking::open().unwrap();
        terminal.resize(Size::new(50, 160)).unwrap();
        let child = command.spawn(side).unwrap();
        let descriptor = std::os::fd::AsFd::as_fd(&terminal)
            .try_clone_to_owned()
            .unwrap();
        Session {
            child,
            terminal,
            screen: Heard::new(std::fs::File::from(descriptor)),
            started,
        }
    }

    /// Waits until the screen shows this.
    #[track_caller]
    pub fn wait_for(&self, text: &str) {
        let shown = until(PATIENCE, || self.screen.text().contains(text).then_some(()));
        assert!(
            shown.is_some(),
            "{text:?} on the screen of {}:\n{}",
            self.started.command,
            self.screen.text()
        );
    }

    /// Types this; Ctrl-C is `\x03`, Ctrl-D is `\x04`.
    pub fn type_in(&mut self, keys: &str) {
        self.terminal.write_all(keys.as_bytes()).unwrap();
    }

    /// Waits until it ends; [`Said::stdout`] is the whole screen.
    #[track_caller]
    pub fn finish(mut self) -> Said {
        let status = ended(&mut self.child);
        let screen = self.screen.all();
        let Some(status) = status else {
            panic!("{} did not end:\n{screen}", self.started.command);
        };
        Said::take_down(self.started, status, (screen, String::new()))
    }
}

const PATIENCE: Duration = Duration::from_secs(30);
