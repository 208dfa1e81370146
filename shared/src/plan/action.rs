//! A change to one object: what it is called, how it is taken back, shown and done by hand. Pure.

use std::fmt;

use json_patch::Patch;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::cluster::object::ObjectReference;
use crate::plan::docker::NetworkAttachment;
use crate::plan::docker_action::DockerAction;
use crate::plan::exec::PodCommand;
use crate::plan::local_file::LocalFile;
use crate::plan::manifest::{Applied, fields, recreated};
use crate::plan::visible::{
    carries_secret, change, masked_manifest, visible_operations, with_secret,
};
use crate::plan::{Commands, Server};
use crate::text::shell_word;

/// A change to one object.
///
/// Its `Debug` form is [`Action::masked`]; only the serialised form, which goes to backups, holds values of secrets.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
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
        /// The operations that take the change back, preceded by tests of what was written. Tests alone = it is not taken
        /// back, because what was written since may need it.
        inverse: Patch,
    },
    /// A POST of a new object; precondition: there is none of that name. Taken back by deleting it as long as it is what
    /// was created, except a namespace and a CustomResourceDefinition, which others may have filled by then.
    CreateObject {
        /// Where the object is to be.
        server: Server,
        /// The object.
        object: ObjectReference,
        /// The whole object as it is sent.
        manifest: Value,
    },
    /// A server-side apply, never forced, as the field manager `kubectl-karmada-PLUGIN`
    /// (<https://kubernetes.io/docs/reference/using-api/server-side-apply/>); precondition: the object that was there is
    /// the same (`metadata.uid`), or there still is none, and no other manager has set a field to another value.
    ApplyObject {
        /// Where the object is.
        server: Server,
        /// The object.
        object: ObjectReference,
        /// The fields that are applied, with `apiVersion`, `kind` and `metadata.name`; of a Secret `data`, as a server
        /// does not remember who applied `stringData`.
        manifest: Value,
        /// The object that was there; `None` = there was none. [`Applied::of`] makes it.
        before: Option<Applied>,
    },
    /// A DELETE; precondition: the object is the same (`metadata.uid`, and `metadata.resourceVersion` where given).
    /// Taken back by creating it again from the backup.
    DeleteObject {
        /// Where the object is.
        server: Server,
        /// The object.
        object: ObjectReference,
        /// Its UID.
        uid: String,
        /// The version that was diagnosed; `None` = any, for objects whose status changes all the time.
        resource_version: Option<String>,
    },
    /// A roll-out restart of a Deployment, StatefulSet or DaemonSet, as `kubectl rollout restart` does it, waited for;
    /// precondition: the workload is the same object (`metadata.uid`).
    Restart {
        /// Where the workload is.
        server: Server,
        /// The workload.
        object: ObjectReference,
        /// Its UID.
        uid: String,
    },
    /// A command run in a pod through the Kubernetes API (`pods/exec`); it cannot be taken back.
    Exec(PodCommand),
    /// `POST /networks/{id}/connect` of the Docker Engine API; precondition: the container is not on the network.
    ConnectNetwork(NetworkAttachment),
    /// `POST /networks/{id}/disconnect` of the Docker Engine API; precondition: the container is on the network as it was connected.
    DisconnectNetwork(NetworkAttachment),
    /// Another change to a network or container of the Docker daemon.
    Docker(Box<DockerAction>),
    /// A file of the user's; precondition: it is as told.
    File(LocalFile),
}

impl Action {
    /// The object or container that is changed, as reports name it.
    pub fn target(&self) -> String {
        match self {
            Action::ConnectNetwork(attachment) | Action::DisconnectNetwork(attachment) => {
                format!("container/{}", attachment.container)
            }
            Action::Docker(action) => action.target(),
            Action::File(file) => format!("file/{}", file.path),
            api => match (api.server(), api.object()) {
                (Some(server), Some(object)) => format!("{object}{}", server.place()),
                _ => String::new(),
            },
        }
    }

    /// The API server that takes the request; `None` for the Docker daemon and files.
    pub fn server(&self) -> Option<&Server> {
        match self {
            Action::PatchObject { server, .. }
            | Action::CreateObject { server, .. }
            | Action::ApplyObject { server, .. }
            | Action::DeleteObject { server, .. }
            | Action::Restart { server, .. } => Some(server),
            Action::Exec(command) => Some(&command.server),
            Action::ConnectNetwork(_)
            | Action::DisconnectNetwork(_)
            | Action::Docker(_)
            | Action::File(_) => None,
        }
    }

    /// The object of the Kubernetes API that it is about; `None` for the Docker daemon and files.
    pub fn object(&self) -> Option<&ObjectReference> {
        match self {
            Action::PatchObject { object, .. }
            | Action::CreateObject { object, .. }
            | Action::ApplyObject { object, .. }
            | Action::DeleteObject { object, .. }
            | Action::Restart { object, .. } => Some(object),
            Action::Exec(command) => Some(&command.object),
            Action::ConnectNetwork(_)
            | Action::DisconnectNetwork(_)
            | Action::Docker(_)
            | Action::File(_) => None,
        }
    }

    /// What is done, in one clause.
    pub fn sentence(&self) -> String {
        let target = self.target();
        match self {
            Action::PatchObject { object, patch, .. } => {
                let changes: Vec<String> = visible_operations(object, patch)
                    .iter()
                    .filter_map(change)
                    .collect();
                format!("patch {target}: {}", changes.join(", "))
            }
            Action::CreateObject { .. } => format!("create {target}"),
            Action::ApplyObject { manifest, .. } => match fields(manifest).as_slice() {
                [] => format!("apply nothing to {target}"),
                fields => format!("apply {target}: {}", fields.join(", ")),
            },
            Action::DeleteObject { .. } => format!("delete {target}"),
            Action::Restart { .. } => format!("restart {target} and wait for its roll-out"),
            Action::Exec(command) => format!("run {} in {target}", command.shell_words()),
            Action::ConnectNetwork(attachment) => attachment.connect_sentence(),
            Action::DisconnectNetwork(attachment) => attachment.disconnect_sentence(),
            Action::Docker(action) => action.sentence(),
            Action::File(file) => file.sentence(),
        }
    }

    /// The action that takes this one back; `None` = there is none.
    ///
    /// `before` is the object as it was before this action, `now` as it is after it; both are null where there was, or
    /// is, no object, and for the Docker daemon.
    pub fn inverse(&self, before: &Value, now: &Value) -> Option<Action> {
        Some(match self.clone() {
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
            Action::CreateObject { server, object, .. } => deletion(server, object, now)?,
            Action::ApplyObject {
                server,
                object,
                before: None,
                ..
            } => deletion(server, object, now)?,
            Action::ApplyObject {
                server,
                object,
                manifest,
                before: Some(applied),
            } => Action::ApplyObject {
                server,
                object,
                manifest: applied.manifest,
                before: Some(Applied {
                    uid: applied.uid,
                    manifest,
                }),
            },
            Action::DeleteObject { server, object, .. } => Action::CreateObject {
                server,
                object,
                manifest: recreated(before)?,
            },
            restart @ Action::Restart { .. } => restart,
            Action::Exec(_) => return None,
            Action::ConnectNetwork(attachment) => Action::DisconnectNetwork(attachment),
            Action::DisconnectNetwork(attachment) => Action::ConnectNetwork(attachment),
            Action::Docker(action) => Action::Docker(Box::new(action.inverse())),
            Action::File(file) => Action::File(file.inverse()),
        })
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
            action => masked_manifest(&serde_json::to_value(action).unwrap_or_default()),
        }
    }

    /// The command that does this by hand. Values of secrets are left out: such an object or patch is read from a file.
    pub fn command(&self, commands: &Commands) -> String {
        let kubectl = self.kubectl(commands);
        match self {
            Action::PatchObject { object, patch, .. } => {
                let body = if carries_secret(object, patch) {
                    "--patch-file=FILE".to_owned()
                } else {
                    let operations = serde_json::to_string(patch).unwrap_or_default();
                    format!("-p {}", shell_word(&operations))
                };
                format!(
                    "{kubectl} patch {} {} --type=json {body}",
                    object.resource_and_group(),
                    shell_word(&object.name)
                )
            }
            Action::CreateObject { manifest, .. } => {
                from_file(&format!("{kubectl} create"), manifest)
            }
            Action::ApplyObject { manifest, .. } => {
                let manager = match commands.field_manager.as_str() {
                    "" => String::new(),
                    manager => format!(" --field-manager={}", shell_word(manager)),
                };
                from_file(&format!("{kubectl} apply --server-side{manager}"), manifest)
            }
            Action::DeleteObject { object, .. } => format!(
                "{kubectl} delete {} {}",
                object.resource_and_group(),
                shell_word(&object.name)
            ),
            Action::Restart { object, .. } => {
                let workload = format!(
                    "{} {}",
                    object.kind.to_lowercase(),
                    shell_word(&object.name)
                );
                format!(
                    "{kubectl} rollout restart {workload} && {kubectl} rollout status {workload}"
                )
            }
            Action::Exec(command) => command.command(&kubectl),
            Action::ConnectNetwork(attachment) => attachment.connect_command(&commands.docker),
            Action::DisconnectNetwork(attachment) => {
                attachment.disconnect_command(&commands.docker)
            }
            Action::Docker(action) => action.command(&commands.docker),
            Action::File(file) => file.command(),
        }
    }

    /// kubectl for the server and namespace of the object.
    fn kubectl(&self, commands: &Commands) -> String {
        let kubectl = self.server().map(|server| commands.of(server));
        let namespace = self.object().and_then(|object| object.namespace.as_deref());
        match namespace {
            Some(namespace) => {
                format!(
                    "{} -n {}",
                    kubectl.unwrap_or_default(),
                    shell_word(namespace)
                )
            }
            None => kubectl.unwrap_or_default(),
        }
    }
}

/// Shows what [`Action::masked`] shows.
impl fmt::Debug for Action {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.masked())
    }
}

/// The deletion of exactly this object; `None` = it has no UID, so there is none.
fn deletion(server: Server, object: ObjectReference, now: &Value) -> Option<Action> {
    let metadata = |field: &str| now["metadata"][field].as_str().map(str::to_owned);
    Some(Action::DeleteObject {
        server,
        object,
        uid: metadata("uid")?,
        resource_version: metadata("resourceVersion"),
    })
}

/// The command with the manifest on its standard input, or a placeholder for one that holds a secret.
fn from_file(command: &str, manifest: &Value) -> String {
    if with_secret(manifest) {
        return format!("{command} -f FILE");
    }
    format!(
        "printf %s {} | {command} -f -",
        shell_word(&manifest.to_string())
    )
}

#[cfg(test)]
mod tests;
