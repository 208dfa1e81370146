//! A command that runs while the scenario goes on.

use std::io::Read;
use std::process::{Child, ExitStatus};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::plugin::Started;
use crate::said::Said;

/// A command that was started.
pub struct Running {
    child: Child,
    started: Started,
    stdout: Option<Heard>,
    stderr: Option<Heard>,
}

impl Running {
    pub(crate) fn new(mut child: Child, started: Started) -> Running {
        Running {
            stdout: child.stdout.take().map(Heard::new),
            stderr: child.stderr.take().map(Heard::new),
            child,
            started,
        }
    }

    /// Waits until stderr holds this.
    #[track_caller]
    pub fn wait_for(&mut self, text: &str) {
        let heard = |running: &Running| running.stderr.as_ref().map_or(String::new(), Heard::text);
        let told = until(PATIENCE, || heard(self).contains(text).then_some(()));
        assert!(
            told.is_some(),
            "{text:?} on stderr of {}:\n{}",
            self.started.command,
            heard(self)
        );
    }

    /// Sends a signal.
    pub fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.child.id()).unwrap();
        kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
    }

    /// Waits until it ends.
    #[track_caller]
    pub fn finish(mut self) -> Said {
        let status = ended(&mut self.child);
        let stdout = self.stdout.map(Heard::all).unwrap_or_default();
        let stderr = self.stderr.map(Heard::all).unwrap_or_default();
        let Some(status) = status else {
            panic!("{} did not end; stderr:\n{stderr}", self.started.command);
        };
        Said::take_down(self.started, status, (stdout, stderr))
    }
}

/// A stream that is read as it comes.
pub(crate) struct Heard {
    text: Arc<Mutex<Vec<u8>>>,
    reader: JoinHandle<()>,
}

impl Heard {
    pub(crate) fn new(mut stream: impl Read + Send + 'static) -> Heard {
        let text = Arc::new(Mutex::new(Vec::new()));
        let written = Arc::clone(&text);
        let reader = std::thread::spawn(move || {
            let mut part = [0; 4096];
            // A terminal ends with an error when its last process does.
            while let Ok(count @ 1..) = stream.read(&mut part) {
                written.lock().unwrap().extend_from_slice(&part[..count]);
            }
        });
        Heard { text, reader }
    }

    /// What came so far.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.text.lock().unwrap()).into_owned()
    }

    /// Everything, once the stream has ended.
    pub(crate) fn all(self) -> String {
        let text = Arc::clone(&self.text);
        self.reader.join().unwrap();
        String::from_utf8_lossy(&text.lock().unwrap()).into_owned()
    }
}

/// Asks until there is an answer, for at most `patience`.
pub fn until<T>(patience: Duration, mut ask: impl FnMut() -> Option<T>) -> Option<T> {
    let deadline = Instant::now() + patience;
    loop {
        if let Some(answer) = ask() {
            return Some(answer);
        }
        if Instant::now() >= deadline {
            return None;
        }
        std::thread::park_timeout(Duration::from_millis(5));
    }
}

/// The end of a process, which is killed when it takes too long.
pub(crate) fn ended(child: &mut Child) -> Option<ExitStatus> {
    let status = until(PATIENCE, || child.try_wait().unwrap());
    if status.is_none() {
        child.kill().unwrap();
        child.wait().unwrap();
    }
    status
}

/// Longer than any run here takes, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(100);
