//! What a repair would do, as data. Pure: printed, confirmed, dry-run, applied, backed up and undone from this one value.

mod action;
mod docker;
mod docker_action;
mod exec;
mod local_file;
mod manifest;
mod patch;
mod visible;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::finding::{FindingKey, Subject};
use crate::karmada::proxy_path;
use crate::text::shell_word;

pub use action::Action;
pub use docker::NetworkAttachment;
pub use docker_action::{
    ContainerFile, ContainerName, ContainerRestart, DockerAction, Inside, Replacement, Rewiring,
};
pub use exec::PodCommand;
pub use local_file::LocalFile;
pub use manifest::{Applied, Lists, contains};
pub use patch::{
    Entry, annotation_path, holds_result, joined, on_object, remove_value, set_annotation,
    set_data, set_label, set_value, touches, unmet_precondition, without_notes,
};

/// The ordered steps of a repair.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Plan {
    /// The steps in the order in which they are done.
    pub steps: Vec<Step>,
    /// What is proven once the steps are done and verified.
    pub proofs: Vec<Proof>,
}

/// A proof that a member works, which writes objects of its own and removes them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Proof {
    /// What is proven to work.
    pub subject: Subject,
    /// What is written, seen and removed: one clause without a final period.
    pub summary: String,
    /// The findings that end with it.
    pub cures: Vec<FindingKey>,
    /// The findings that are about to end by themselves, and that it waits for.
    pub awaits: Vec<FindingKey>,
}

impl Plan {
    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty() && self.proofs.is_empty()
    }

    /// Whether this finding ends with the plan.
    pub fn cures(&self, key: &FindingKey) -> bool {
        self.steps.iter().any(|step| step.cures.contains(key))
            || self.proofs.iter().any(|proof| proof.awaits.contains(key))
            || self.proves(key)
    }

    /// Whether a proof, and not a step, ends this finding.
    pub fn proves(&self, key: &FindingKey) -> bool {
        self.proofs.iter().any(|proof| proof.cures.contains(key))
    }
}

/// One step: what is changed, why, and how it is taken back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Step {
    /// For whose sake it is done; when a step fails, the later steps of its subject are skipped.
    pub subject: Subject,
    /// What is done.
    pub action: Action,
    /// Why it is done: one clause without a final period.
    pub reason: String,
    /// What the person should weigh before saying yes; `None` when there is nothing.
    pub caution: Option<String>,
    /// The findings that end with this step.
    pub cures: Vec<FindingKey>,
    /// The command that does the same by hand.
    pub command: String,
}
/// Which API server holds an object.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Server {
    /// The Karmada control plane.
    ControlPlane,
    /// The cluster that runs the control plane.
    Host,
    /// The member cluster of this name.
    Member(String),
}

impl Server {
    /// Where a member's object is, to follow its name; empty for the other servers, whose objects have other kinds.
    fn place(&self) -> String {
        match self {
            Server::ControlPlane | Server::Host => String::new(),
            Server::Member(name) => format!(" in {name}"),
        }
    }
}

/// The commands that reach the same servers as a run does, each with its flags.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Commands {
    /// `kubectl` for the control plane.
    pub kubectl: String,
    /// `kubectl` for the cluster that runs the control plane; names a placeholder where no access was given.
    pub host: String,
    /// `docker` for the daemon.
    pub docker: String,
    /// `kubectl` for the members that are reached past the control plane, by their name.
    pub members: BTreeMap<String, String>,
    /// The URL of the control plane, below which its proxy serves the other members.
    pub control_plane: String,
    /// The field manager of server-side apply; empty = kubectl's own.
    pub field_manager: String,
}

impl Commands {
    /// `kubectl` for this server. Through the proxy it is that for the control plane with another `--server`: kubectl
    /// keeps the authority and the credentials of the context.
    pub fn of(&self, server: &Server) -> String {
        match server {
            Server::ControlPlane => self.kubectl.clone(),
            Server::Host => self.host.clone(),
            Server::Member(name) => match self.members.get(name) {
                Some(kubectl) => kubectl.clone(),
                None => {
                    let proxy = format!("{}{}", self.control_plane, proxy_path(name));
                    format!("{} --server {}", self.kubectl, shell_word(&proxy))
                }
            },
        }
    }
}
