//! What an error owes the person at the terminal: an exit code and something to type next.

use crate::exit::Exit;

/// An error that knows how the run ends because of it.
pub trait Explain: std::error::Error + Send + Sync + 'static {
    /// The exit code that this error leads to.
    fn exit(&self) -> Exit;

    /// What to type next, as a command or an action that starts with a verb; `None` when nothing is known to help.
    fn hint(&self) -> Option<String> {
        None
    }
}

/// A boxed error that ends a run.
pub type Failure = Box<dyn Explain>;

impl<E: Explain> From<E> for Failure {
    fn from(error: E) -> Failure {
        Box::new(error)
    }
}

/// The error with its causes in one line, from the outermost to the innermost.
pub fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(&format!(": {error}"));
        cause = error.source();
    }
    text
}

/// A command line that cannot be followed.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct UsageError {
    message: String,
    hint: Option<String>,
}

impl UsageError {
    /// A usage error with its text: lower case, without a final period.
    pub fn new(message: impl Into<String>) -> UsageError {
        UsageError {
            message: message.into(),
            hint: None,
        }
    }

    /// The same error with something to type next.
    pub fn with_hint(mut self, hint: impl Into<String>) -> UsageError {
        self.hint = Some(hint.into());
        self
    }
}

impl Explain for UsageError {
    fn exit(&self) -> Exit {
        Exit::Usage
    }

    fn hint(&self) -> Option<String> {
        self.hint.clone()
    }
}
