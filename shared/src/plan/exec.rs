//! A command in a pod. Pure.

use serde::{Deserialize, Serialize};

use crate::cluster::object::ObjectReference;
use crate::plan::Server;
use crate::text::shell_word;

/// A command that is run in a container of a pod.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PodCommand {
    /// Where the pod is.
    pub server: Server,
    /// The Pod; or a Deployment, StatefulSet or DaemonSet, of which the newest ready pod at that time is meant.
    pub object: ObjectReference,
    /// The UID of that object.
    pub uid: String,
    /// The container; `None` = the one that kubectl takes by default.
    pub container: Option<String>,
    /// The program and its arguments. They are shown in reports and processes: no secret may be among them.
    pub argv: Vec<String>,
    /// How long it may take, > 0.
    pub timeout_seconds: u64,
}

impl PodCommand {
    /// Program and arguments as a shell takes them literally.
    pub(super) fn shell_words(&self) -> String {
        let words = self.argv.iter().map(|word| shell_word(word));
        words.collect::<Vec<_>>().join(" ")
    }

    pub(super) fn command(&self, kubectl: &str) -> String {
        let container = match &self.container {
            Some(container) => format!(" -c {}", shell_word(container)),
            None => String::new(),
        };
        format!(
            "{kubectl} exec {}/{}{container} -- {}",
            self.object.kind.to_lowercase(),
            shell_word(&self.object.name),
            self.shell_words()
        )
    }
}
