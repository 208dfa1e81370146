//! The terminal: the only file that prints and asks.

use std::io::{self, BufRead, IsTerminal, Read, Write};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use anstream::AutoStream;
use anstyle::{AnsiColor, Style};
use tokio::sync::oneshot;

use crate::exit::Exit;
use crate::finding::Severity;
use crate::interrupt::Interrupt;
use crate::text::harmless;

/// Where a run talks: the report on stdout; progress, prompts, warnings and errors on stderr.
#[derive(Debug)]
pub struct Io {
    interactive: bool,
    interrupt: Interrupt,
}

/// What came back from a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// `y` or `yes`.
    Yes,
    /// Anything else.
    No,
    /// End of input.
    Closed,
    /// SIGINT or SIGTERM came first.
    Interrupted(Exit),
}

impl Io {
    /// The terminal of this process; prompts end when `interrupt` is heard.
    pub fn new(interrupt: Interrupt) -> Io {
        Io {
            interactive: io::stdin().is_terminal() && io::stderr().is_terminal(),
            interrupt,
        }
    }

    /// Whether a person can be asked.
    pub fn can_ask(&self) -> bool {
        self.interactive
    }

    /// Asks a yes-or-no question on stderr; anything but `y` or `yes` is a no.
    pub async fn ask(&self, question: &str) -> Answer {
        write_to(Stream::Stderr, question);
        // A thread of its own: a read of stdin cannot be cancelled, and must not hold up the end of the process.
        let (sender, answer) = oneshot::channel();
        std::thread::spawn(move || {
            let mut line = String::new();
            let read = io::stdin().lock().read_line(&mut line);
            let answer = match (read, line.trim().to_ascii_lowercase().as_str()) {
                (Ok(0) | Err(_), _) => Answer::Closed,
                (Ok(_), "y" | "yes") => Answer::Yes,
                (Ok(_), _) => Answer::No,
            };
            // The receiver is gone when a signal came first.
            let _ = sender.send(answer);
        });
        let answer = tokio::select! {
            answer = answer => answer.unwrap_or(Answer::Closed),
            exit = self.interrupt.wait() => Answer::Interrupted(exit),
        };
        if matches!(answer, Answer::Closed | Answer::Interrupted(_)) {
            write_to(Stream::Stderr, "\n");
        }
        answer
    }
}

/// Prints a part of the report to stdout. A closed pipe is not an error: the reader has seen enough.
pub fn report(text: &str) {
    write_to(Stream::Stdout, text);
}

/// Prints a line of talk to stderr.
pub fn say(line: &str) {
    write_to(Stream::Stderr, &format!("{line}\n"));
}

/// Prints an error in kubectl's voice: `error: ...`, one `caused by: ...` line per cause, then `hint: ...`.
pub fn say_error(error: &dyn std::error::Error, hint: Option<&str>) {
    let mut text = format!("{} {}\n", painted("error:", RED), lines(&error.to_string()));
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(&format!("caused by: {}\n", lines(&error.to_string())));
        cause = error.source();
    }
    if let Some(hint) = hint {
        text.push_str(&format!("\nhint: {}\n", lines(hint)));
    }
    write_to(Stream::Stderr, &text);
}

/// Prints a warning that a server sent, once per text.
pub fn say_server_warning(text: &str) {
    static SEEN: Mutex<Vec<String>> = Mutex::new(Vec::new());
    let mut seen = SEEN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if !seen.iter().any(|earlier| earlier == text) {
        seen.push(text.to_owned());
        say(&format!(
            "{} {}",
            painted("Warning:", YELLOW),
            harmless(text)
        ));
    }
}

/// The word of a severity in its colour; the colour is dropped where the stream is no terminal.
pub fn severity_word(severity: Severity) -> String {
    let style = match severity {
        Severity::Info => Style::new(),
        Severity::Warning => YELLOW,
        Severity::Unknown => Style::new().fg_color(Some(anstyle::Color::Ansi(AnsiColor::Magenta))),
        Severity::Error => RED,
    };
    painted(severity.word(), style)
}

/// Everything on stdin, which a person ends with Ctrl-D.
///
/// # Errors
/// When it cannot be read, or holds more than `most` bytes.
pub fn read_stdin(most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    io::stdin().lock().take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            format!("stdin holds more than {most} bytes"),
        ));
    }
    Ok(bytes)
}

/// Whether stdin is a terminal, at which a credential plugin may ask.
pub fn stdin_is_terminal() -> bool {
    io::stdin().is_terminal()
}

/// Whether stderr is a terminal that can show progress in place.
pub fn stderr_is_terminal() -> bool {
    io::stderr().is_terminal()
}

#[derive(Clone, Copy)]
enum Stream {
    Stdout,
    Stderr,
}

fn write_to(stream: Stream, text: &str) {
    let written = match stream {
        Stream::Stdout => write_all(&mut AutoStream::auto(io::stdout()), text),
        Stream::Stderr => write_all(&mut AutoStream::auto(io::stderr()), text),
    };
    // A reader that has gone has seen enough; nobody is left to tell what stderr does not take.
    if let (Err(error), Stream::Stdout) = (written, stream)
        && error.kind() != io::ErrorKind::BrokenPipe
    {
        REPORT_LOST.store(true, Ordering::Relaxed);
        say(&format!("error: the report cannot be written: {error}"));
    }
}

/// Whether a part of the report could not be written, although somebody wanted to read it.
pub fn report_was_lost() -> bool {
    REPORT_LOST.load(Ordering::Relaxed)
}

static REPORT_LOST: AtomicBool = AtomicBool::new(false);

fn write_all(out: &mut impl Write, text: &str) -> io::Result<()> {
    out.write_all(text.as_bytes())?;
    out.flush()
}

fn painted(word: &str, style: Style) -> String {
    format!("{style}{word}{style:#}")
}

fn lines(text: &str) -> String {
    text.lines().map(harmless).collect::<Vec<_>>().join("\n")
}

const RED: Style = Style::new().fg_color(Some(anstyle::Color::Ansi(AnsiColor::Red)));
const YELLOW: Style = Style::new().fg_color(Some(anstyle::Color::Ansi(AnsiColor::Yellow)));
