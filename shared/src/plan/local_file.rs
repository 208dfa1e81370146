//! A file of the user's that a run writes. Pure.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::text::shell_word;

/// A text file of the user's on this machine; it holds no secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LocalFile {
    /// Its path.
    pub path: String,
    /// What it holds; `None` = there is none.
    pub before: Option<String>,
    /// What it is to hold; `None` = it is removed.
    pub after: Option<String>,
}

impl LocalFile {
    pub(super) fn sentence(&self) -> String {
        match (&self.before, &self.after) {
            (_, None) => format!("remove the file {}", self.path),
            (None, Some(_)) => format!("write the file {}", self.path),
            (Some(_), Some(_)) => format!("change the file {}", self.path),
        }
    }

    pub(super) fn inverse(self) -> LocalFile {
        LocalFile {
            path: self.path,
            before: self.after,
            after: self.before,
        }
    }

    pub(super) fn command(&self) -> String {
        let path = shell_word(&self.path);
        match &self.after {
            Some(text) => format!("printf %s {} > {path}", shell_word(text)),
            None => format!("rm {path}"),
        }
    }
}
