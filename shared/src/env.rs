//! The process environment, read in this file only.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The environment variables that a run sees.
#[derive(Debug, Clone, Default)]
pub struct Env {
    variables: BTreeMap<String, String>,
}

impl Env {
    /// Reads the environment of this process; variables that are not Unicode are left out.
    #[expect(clippy::disallowed_methods, reason = "this is where it is read")]
    pub fn from_process() -> Env {
        let variables = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect();
        Env { variables }
    }

    /// An environment of just these variables.
    pub fn of<const N: usize>(variables: [(&str, &str); N]) -> Env {
        let variables = variables
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        Env { variables }
    }

    /// The value of a variable; `None` when it is unset or empty.
    pub fn var(&self, name: &str) -> Option<&str> {
        self.variables
            .get(name)
            .map(String::as_str)
            .filter(|value| !value.is_empty())
    }

    /// The home folder (`HOME`); `None` when it is not set.
    pub fn home(&self) -> Option<&Path> {
        self.var("HOME").map(Path::new)
    }

    /// Where state that outlives a run is kept: `$XDG_STATE_HOME`, else `~/.local/state`
    /// (XDG Base Directory Specification); `None` without a home folder.
    pub fn state_home(&self) -> Option<PathBuf> {
        match self.var("XDG_STATE_HOME") {
            Some(folder) if Path::new(folder).is_absolute() => Some(PathBuf::from(folder)),
            _ => self.home().map(|home| home.join(".local/state")),
        }
    }
}
