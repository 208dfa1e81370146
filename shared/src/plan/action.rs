//! A change to one object: what it is called, how it is taken back, shown and done by hand. Pure.

use json_patch::Patch;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::cluster::object::ObjectReference;
use crate::plan::docker::NetworkAttachment;
use crate::plan::visible::{carries_secret, change, visible_operations};
use crate::plan::{Commands, Server};
use crate::text::shell_word;

/// A change to one object.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "action", rename_all = "kebab-case")]
pub enum Action {
    /// A JSON Patch (RFC 6902) on an object; its `test` operations are the precondition.
    PatchObject {
        /// Where the object is.
        server: Server,
        /// The object.
        object: ObjectReference,
        /// The operations, `test` first.
        patch: Patch,
        /// The operations that take the change back, preceded by tests of what was written.
        inverse: Patch,
    },
    /// `POST /networks/{id}/connect` of the Docker Engine API; precondition: the container is not on the network.
    ConnectNetwork(NetworkAttachment),
    /// `POST /networks/{id}/disconnect` of the Docker Engine API; precondition: the container is on the network as it was connected.
    DisconnectNetwork(NetworkAttachment),
    /// A roll-out restart of a Deployment on the host cluster, as `kubectl rollout restart` does it, waited for;
    /// precondition: the Deployment is the same object (`metadata.uid`).
    Restart {
        /// The Deployment.
        object: ObjectReference,
        /// Its UID.
        uid: String,
    },
}

impl Action {
    /// The object or container that is changed, as reports name it.
    pub fn target(&self) -> String {
        match self {
            Action::PatchObject { object, .. } | Action::Restart { object, .. } => {
                object.to_string()
            }
            Action::ConnectNetwork(attachment) | Action::DisconnectNetwork(attachment) => {
                format!("container/{}", attachment.container)
            }
        }
    }

    /// What is done, in one clause.
    pub fn sentence(&self) -> String {
        match self {
            Action::PatchObject { object, patch, .. } => {
                let changes: Vec<String> = visible_operations(object, patch)
                    .iter()
                    .filter_map(change)
                    .collect();
                format!("patch {object}: {}", changes.join(", "))
            }
            Action::ConnectNetwork(attachment) => attachment.connect_sentence(),
            Action::DisconnectNetwork(attachment) => attachment.disconnect_sentence(),
            Action::Restart { object, .. } => format!("restart {object} and wait for its roll-out"),
        }
    }

    /// The action that takes this one back.
    pub fn inverse(&self) -> Action {
        match self.clone() {
            Action::PatchObject {
                server,
                object,
                patch,
                inverse,
            } => Action::PatchObject {
                server,
                object,
                patch: inverse,
                inverse: patch,
            },
            restart @ Action::Restart { .. } => restart,
            Action::ConnectNetwork(attachment) => Action::DisconnectNetwork(attachment),
            Action::DisconnectNetwork(attachment) => Action::ConnectNetwork(attachment),
        }
    }

    /// The action as reports show it: the values of secrets are masked.
    pub fn masked(&self) -> Value {
        match self {
            Action::PatchObject {
                server,
                object,
                patch,
                ..
            } => json!({
                "action": "patch-object",
                "server": server,
                "object": object,
                "patch": visible_operations(object, patch),
            }),
            Action::ConnectNetwork(_) | Action::DisconnectNetwork(_) | Action::Restart { .. } => {
                serde_json::to_value(self).unwrap_or_default()
            }
        }
    }

    /// The command that does this by hand. Values of secrets are left out: such a patch is read from a file.
    pub fn command(&self, commands: &Commands) -> String {
        match self {
            Action::Restart { object, .. } => {
                let namespace = object.namespace.as_deref().unwrap_or("default");
                format!(
                    "{kubectl} -n {namespace} rollout restart deployment {name} && {kubectl} -n {namespace} rollout status deployment {name}",
                    kubectl = commands.host,
                    namespace = shell_word(namespace),
                    name = shell_word(&object.name)
                )
            }
            Action::PatchObject {
                server,
                object,
                patch,
                ..
            } => {
                let kubectl = commands.of(*server);
                let namespace = match &object.namespace {
                    Some(namespace) => format!(" -n {}", shell_word(namespace)),
                    None => String::new(),
                };
                let body = if carries_secret(object, patch) {
                    "--patch-file=FILE".to_owned()
                } else {
                    let operations = serde_json::to_string(patch).unwrap_or_default();
                    format!("-p {}", shell_word(&operations))
                };
                format!(
                    "{kubectl}{namespace} patch {} {} --type=json {body}",
                    object.resource_and_group(),
                    shell_word(&object.name)
                )
            }
            Action::ConnectNetwork(attachment) => attachment.connect_command(&commands.docker),
            Action::DisconnectNetwork(attachment) => {
                attachment.disconnect_command(&commands.docker)
            }
        }
    }
}
