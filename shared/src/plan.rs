//! What a repair would do, as data. Pure: printed, confirmed, dry-run, applied, backed up and undone from this one value.

use std::net::Ipv4Addr;

use json_patch::{Patch, PatchOperation};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::cluster::object::ObjectReference;
use crate::finding::{FindingKey, Subject};
use crate::text::shell_word;

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

/// Which API server holds an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Server {
    /// The Karmada control plane.
    ControlPlane,
    /// The cluster that runs the control plane.
    Host,
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
}

impl Commands {
    fn of(&self, server: Server) -> &str {
        match server {
            Server::ControlPlane => &self.kubectl,
            Server::Host => &self.host,
        }
    }
}

/// A container's place on a Docker network.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NetworkAttachment {
    /// The container's ID.
    pub container_id: String,
    /// The container's name.
    pub container: String,
    /// The network's ID; names can stand for two networks on old daemons.
    pub network_id: String,
    /// The network's name.
    pub network: String,
    /// The fixed address; `None` = Docker chooses.
    pub address: Option<Ipv4Addr>,
    /// Whether Docker may choose where it refuses any fixed address, because it chose the network's subnet itself;
    /// nothing in its API tells that beforehand.
    pub address_may_yield: bool,
    /// `GwPriority`: below zero keeps the default route at home (Docker 28 and later; older daemons ignore it).
    pub gateway_priority: i64,
    /// The interface's name inside the container, so that `eth0` stays at home (Docker 28 and later).
    pub interface: String,
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
            Action::ConnectNetwork(attachment) => {
                let address = match (attachment.address, attachment.address_may_yield) {
                    (Some(address), true) => format!(" at {address} if Docker allows it"),
                    (Some(address), false) => format!(" at {address}"),
                    (None, _) => String::new(),
                };
                format!(
                    "connect container {} to network {}{address}",
                    attachment.container, attachment.network
                )
            }
            Action::DisconnectNetwork(attachment) => format!(
                "disconnect container {} from network {}",
                attachment.container, attachment.network
            ),
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
        let docker = &commands.docker;
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
            Action::ConnectNetwork(attachment) => {
                let place = format!(
                    "--gw-priority {} --driver-opt com.docker.network.endpoint.ifname={}",
                    attachment.gateway_priority, attachment.interface
                );
                let target = format!(
                    "{} {}",
                    shell_word(&attachment.network),
                    shell_word(&attachment.container)
                );
                // A docker command before 28 does not know the flag; what it asks for is unknown to such a daemon, too.
                let connect = |address: String| {
                    format!(
                        "{docker} network connect{address} {place} {target} || {docker} network connect{address} {target}"
                    )
                };
                match (attachment.address, attachment.address_may_yield) {
                    (None, _) => connect(String::new()),
                    (Some(address), false) => connect(format!(" --ip {address}")),
                    (Some(address), true) => format!(
                        "{} || {}",
                        connect(format!(" --ip {address}")),
                        connect(String::new())
                    ),
                }
            }
            Action::DisconnectNetwork(attachment) => format!(
                "{docker} network disconnect {} {}",
                shell_word(&attachment.network),
                shell_word(&attachment.container)
            ),
        }
    }
}

/// The patch that sets a value of the spec, with its precondition, and its inverse.
///
/// `path` is a JSON Pointer (RFC 6901). With `before` the precondition is that value; without, the value was not
/// there and the precondition is the object's `generation`, which every change of the spec raises.
pub fn set_value(path: &str, before: Option<&str>, generation: i64, after: &str) -> (Patch, Patch) {
    let set = |operation: &str, value: &str| json!({"op": operation, "path": path, "value": value});
    let test_after = set("test", after);
    let (forward, backward) = match before {
        Some(before) => (
            json!([set("test", before), set("replace", after)]),
            json!([test_after, set("replace", before)]),
        ),
        None => (
            json!([
                {"op": "test", "path": "/metadata/generation", "value": generation},
                set("add", after)
            ]),
            json!([test_after, {"op": "remove", "path": path}]),
        ),
    };
    (patch(forward), patch(backward))
}

/// Both patches as one: the operations of `second` follow those of `first`, and are taken back before them.
pub fn joined(first: (Patch, Patch), second: (Patch, Patch)) -> (Patch, Patch) {
    let chain = |one: Patch, other: Patch| Patch(one.0.into_iter().chain(other.0).collect());
    (chain(first.0, second.0), chain(second.1, first.1))
}

/// The patch that sets an annotation, and its inverse; `present` = the object has annotations, `before` = this one's
/// value.
pub fn set_annotation(
    name: &str,
    present: bool,
    before: Option<&str>,
    after: &str,
) -> (Patch, Patch) {
    let path = annotation_path(name);
    let test_after = json!({"op": "test", "path": path, "value": after});
    let (forward, backward) = match (present, before) {
        (false, _) => (
            // The API server takes a missing value for null, and so somebody else's first annotation for a conflict.
            json!([
                {"op": "test", "path": "/metadata/annotations", "value": null},
                {"op": "add", "path": "/metadata/annotations", "value": {name: after}}
            ]),
            json!([test_after, {"op": "remove", "path": path}]),
        ),
        (true, None) => (
            json!([{"op": "add", "path": path, "value": after}]),
            json!([test_after, {"op": "remove", "path": path}]),
        ),
        (true, Some(before)) => (
            json!([
                {"op": "test", "path": path, "value": before},
                {"op": "replace", "path": path, "value": after}
            ]),
            json!([test_after, {"op": "replace", "path": path, "value": before}]),
        ),
    };
    (patch(forward), patch(backward))
}

/// The JSON Pointer (RFC 6901) of an annotation.
pub fn annotation_path(name: &str) -> String {
    format!(
        "/metadata/annotations/{}",
        name.replace('~', "~0").replace('/', "~1")
    )
}

/// The patch `[test path = before, remove path]` and its inverse.
pub fn remove_value(path: &str, before: &str) -> (Patch, Patch) {
    (
        patch(json!([
            {"op": "test", "path": path, "value": before},
            {"op": "remove", "path": path}
        ])),
        patch(json!([{"op": "add", "path": path, "value": before}])),
    )
}

fn patch(operations: Value) -> Patch {
    serde_json::from_value(operations).expect("operations made of op, path and value are a patch")
}

fn carries_secret(object: &ObjectReference, patch: &Patch) -> bool {
    object.kind == "Secret" && visible_operations(object, patch) != operations(patch)
}

fn operations(patch: &Patch) -> Vec<Value> {
    patch
        .0
        .iter()
        .map(|operation| serde_json::to_value(operation).unwrap_or_default())
        .collect()
}

/// The operations with every non-empty value of a Secret masked, as `kubectl diff` masks them.
fn visible_operations(object: &ObjectReference, patch: &Patch) -> Vec<Value> {
    let mut visible = operations(patch);
    if object.kind == "Secret" {
        for operation in &mut visible {
            if let Some(value) = operation.get_mut("value")
                && value.as_str() != Some("")
            {
                *value = json!("***");
            }
        }
    }
    visible
}

fn change(operation: &Value) -> Option<String> {
    let path = operation["path"].as_str()?.trim_start_matches('/');
    if let Some(annotations) = annotations(operation, path) {
        return Some(annotations);
    }
    let field = path.replace('/', ".");
    match operation["op"].as_str()? {
        "add" | "replace" => {
            let value = &operation["value"];
            let value = value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned);
            Some(format!("set {field} to {value}"))
        }
        "remove" => Some(format!("remove {field}")),
        _ => None,
    }
}

/// The change when it is one of annotations, as `kubectl annotate` writes them.
fn annotations(operation: &Value, path: &str) -> Option<String> {
    let rest = path.strip_prefix("metadata/annotations")?;
    let name = rest
        .trim_start_matches('/')
        .replace("~1", "/")
        .replace("~0", "~");
    let value = &operation["value"];
    match (operation["op"].as_str()?, value) {
        ("add" | "replace", Value::String(value)) => Some(format!("annotate {name}={value}")),
        ("add", Value::Object(all)) => {
            let all = all
                .iter()
                .map(|(name, value)| format!("{name}={}", value.as_str().unwrap_or_default()));
            Some(format!("annotate {}", all.collect::<Vec<_>>().join(" ")))
        }
        ("remove", _) => Some(format!("annotate {name}-")),
        _ => None,
    }
}

/// Whether the object is as these operations leave it: each value set is there, each value removed is gone.
pub fn holds_result(object: &Value, patch: &Patch) -> bool {
    patch.0.iter().all(|operation| match operation {
        PatchOperation::Add(add) => {
            let found = object.pointer(add.path.as_str());
            // An object that was added as a whole may have got more since.
            match (found, &add.value) {
                (Some(Value::Object(found)), Value::Object(added)) => added
                    .iter()
                    .all(|(key, value)| found.get(key) == Some(value)),
                (found, added) => found == Some(added),
            }
        }
        PatchOperation::Replace(replace) => {
            object.pointer(replace.path.as_str()) == Some(&replace.value)
        }
        PatchOperation::Remove(remove) => object.pointer(remove.path.as_str()).is_none(),
        PatchOperation::Test(_) => true,
        PatchOperation::Move(_) | PatchOperation::Copy(_) => false,
    })
}

/// Whether one of the operations is about this path (a JSON Pointer without escapes).
pub fn touches(patch: &Patch, path: &str) -> bool {
    patch
        .0
        .iter()
        .any(|operation| operation.path().as_str() == path)
}

/// The patch without what it does to annotations, unless it does nothing else: annotations are notes that come and go.
pub fn without_notes(patch: &Patch) -> Patch {
    let is_note = |operation: &&PatchOperation| {
        operation
            .path()
            .as_str()
            .starts_with("/metadata/annotations")
    };
    if patch.0.iter().all(|operation| is_note(&operation)) {
        return patch.clone();
    }
    Patch(
        patch
            .0
            .iter()
            .filter(|operation| !is_note(operation))
            .cloned()
            .collect(),
    )
}

/// The first precondition of the patch that the object does not meet, as its path; `None` when all are met.
pub fn unmet_precondition(object: &Value, patch: &Patch) -> Option<String> {
    patch.0.iter().find_map(|operation| match operation {
        PatchOperation::Test(test) => {
            let found = object.pointer(test.path.as_str()).unwrap_or(&Value::Null);
            (found != &test.value).then(|| test.path.to_string())
        }
        _ => None,
    })
}
