//! The steps that remove what stands in everybody's way to a member. Pure.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use json_patch::Patch;
use karmada_repair::cluster::object::ObjectReference;
use karmada_repair::finding::{FindingKey, Subject};
use karmada_repair::part::Part;
use karmada_repair::plan::{Action, Entry, Server, joined, on_object, set_data, set_label};
use karmada_repair::text::shell_word;
use secrecy::ExposeSecret;
use serde_json::json;

use crate::diagnose::UNDELIVERED;
use crate::examine::{Obstacle, expected_reference};
use crate::grant::{binding, role};
use crate::observed::{Copy, Delivered, Member};
use crate::plan::Draft;

/// Plans the removal of an obstacle; whether it can be removed.
pub(super) fn remove(draft: &mut Draft<'_>, member: &Member, obstacle: &Obstacle) -> bool {
    match obstacle {
        Obstacle::NoReference => name_the_secret(draft, member),
        Obstacle::SecretMissing => create_secret(draft, member, "impersonator-secret-missing"),
        Obstacle::SecretEmpty => renew_token(draft, member, "impersonator-secret-empty"),
        Obstacle::TokenRejected if !member.token_is_the_members_own() => {
            renew_token(draft, member, "impersonator-token-rejected")
        }
        Obstacle::Frozen { by_hand, .. } => thaw(draft, member, by_hand),
        Obstacle::Undelivered(_) => wake(draft, member),
        Obstacle::BeingDeleted
        | Obstacle::TokenRejected
        | Obstacle::Unreachable(_)
        | Obstacle::NotReady { .. } => false,
    }
}

fn thaw(draft: &mut Draft<'_>, member: &Member, by_hand: &[String]) -> bool {
    let Part::Seen(Copy {
        role: cluster_role,
        binding: cluster_role_binding,
        way,
    }) = &member.copy
    else {
        return false;
    };
    let mut frozen = false;
    for (object, delivered) in [
        (role(IMPERSONATOR), cluster_role),
        (binding(IMPERSONATOR), cluster_role_binding),
    ] {
        let Some(delivered) = delivered.seen().filter(|delivered| delivered.is_frozen()) else {
            continue;
        };
        frozen = true;
        let caution = (object.kind == "ClusterRole" && !by_hand.is_empty()).then(|| {
            format!(
                "Karmada then overwrites what was written by hand, and the member no longer accepts {}; to keep it, grant it in the control plane: {}",
                by_hand.join(", "),
                grants(draft, member, by_hand)
            )
        });
        let (patch, inverse) = label(delivered);
        draft.push(
            Subject::cluster(member.name()),
            Action::PatchObject {
                server: Server::Member(member.name().to_owned()),
                object,
                patch,
                inverse,
            },
            format!(
                "Karmada keeps only objects with this label, and this one lost it (seen {way})"
            ),
            caution,
            vec![key("role-frozen", member)],
        );
    }
    frozen
}

/// The label that Karmada looks for. Taking it back takes nothing back: without the label the object would be abandoned
/// again.
fn label(delivered: &Delivered) -> (Patch, Patch) {
    let before = match (&delivered.managed, delivered.has_labels) {
        (Some(value), _) => Entry::Is(value),
        (None, true) => Entry::Missing,
        (None, false) => Entry::NoMap,
    };
    let (patch, _) = set_label("karmada.io/managed", before, Some("true"));
    let (same, _) = on_object(&delivered.uid);
    joined((same.clone(), same), (patch, Patch(Vec::new())))
}

/// The commands that grant in the control plane what was written by hand.
fn grants(draft: &Draft<'_>, member: &Member, by_hand: &[String]) -> String {
    let flags: Vec<String> = by_hand
        .iter()
        .filter_map(|entry| {
            let (kind, name) = entry.split_once(" \"")?;
            let name = name.strip_suffix('"')?;
            match kind {
                "user" => Some(format!("--user {}", shell_word(name))),
                "group" => Some(format!("--group {}", shell_word(name))),
                // The namespace is not written there.
                _ => Some(format!("--serviceaccount NAMESPACE:{}", shell_word(name))),
            }
        })
        .collect();
    format!(
        "{} {} {}",
        draft.observed.control_plane.own_command,
        shell_word(member.name()),
        flags.join(" ")
    )
}

fn create_secret(draft: &mut Draft<'_>, member: &Member, code: &str) -> bool {
    let Part::Seen(token) = &member.true_token else {
        return false;
    };
    if !matches!(member.secret, Part::Absent) {
        return false;
    }
    let reference = expected_reference(&member.cluster);
    let object = ObjectReference::secret(&reference.namespace, &reference.name);
    let owner = &member.cluster_uid;
    let mut metadata = json!({
        "name": reference.name,
        "namespace": reference.namespace,
        "labels": {"karmada.io/system": "true"},
    });
    if let Some(uid) = owner {
        // As Karmada makes it: the secret goes with the cluster.
        metadata["ownerReferences"] = json!([{
            "apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "name": member.name(), "uid": uid,
            "controller": true, "blockOwnerDeletion": true,
        }]);
    }
    let manifest = json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": metadata,
        "type": "Opaque",
        "data": {"token": STANDARD.encode(token.expose_secret())},
    });
    draft.push(
        Subject::cluster(member.name()),
        Action::CreateObject {
            server: Server::ControlPlane,
            object,
            manifest,
        },
        "the token is the one that the member holds for its service account karmada-impersonator"
            .to_owned(),
        None,
        vec![key(code, member)],
    );
    true
}

fn renew_token(draft: &mut Draft<'_>, member: &Member, code: &str) -> bool {
    let (Part::Seen(token), Part::Seen(secret)) = (&member.true_token, &member.secret) else {
        return false;
    };
    let reference = expected_reference(&member.cluster);
    let before = match (&secret.encoded, secret.has_data) {
        (Some(encoded), _) => Entry::Is(&encoded.0),
        (None, true) => Entry::Missing,
        (None, false) => Entry::NoMap,
    };
    let set = set_data("token", before, &STANDARD.encode(token.expose_secret()));
    let (patch, inverse) = joined(on_object(&secret.uid), set);
    draft.push(
        Subject::cluster(member.name()),
        Action::PatchObject {
            server: Server::ControlPlane,
            object: ObjectReference::secret(&reference.namespace, &reference.name),
            patch,
            inverse,
        },
        "the token is the one that the member holds for its service account karmada-impersonator"
            .to_owned(),
        None,
        vec![key(code, member)],
    );
    true
}

fn name_the_secret(draft: &mut Draft<'_>, member: &Member) -> bool {
    let has_token = member.secret.seen().is_some_and(|secret| secret.has_token);
    let provided = match &member.secret {
        Part::Seen(_) if has_token => true,
        Part::Seen(_) => renew_token(draft, member, "impersonator-not-named"),
        Part::Absent => create_secret(draft, member, "impersonator-not-named"),
        Part::Unreadable(_) => false,
    };
    if !provided {
        return false;
    }
    let reference = expected_reference(&member.cluster);
    let value = json!({"namespace": reference.namespace, "name": reference.name});
    let path = "/spec/impersonatorSecretRef";
    let operations = json!([
        {"op": "test", "path": "/metadata/generation", "value": member.cluster.metadata.generation},
        {"op": "add", "path": path, "value": value},
    ]);
    let backward = json!([
        {"op": "test", "path": path, "value": value},
        {"op": "remove", "path": path},
    ]);
    let patch = |value| {
        serde_json::from_value(value).expect("operations made of op, path and value are a patch")
    };
    draft.push(
        Subject::cluster(member.name()),
        Action::PatchObject {
            server: Server::ControlPlane,
            object: member.cluster.reference(),
            patch: patch(operations),
            inverse: patch(backward),
        },
        "the control plane passes nobody on without it".to_owned(),
        Some(
            "Karmada makes the rules of such a member when a role or binding that leads there changes, or when it restarts, and not before"
                .to_owned(),
        ),
        vec![key("impersonator-not-named", member)],
    );
    true
}

/// A restart is the one thing that wakes what sleeps in the controller's backoff.
fn wake(draft: &mut Draft<'_>, member: &Member) -> bool {
    let Part::Seen(workload) = &draft.observed.controller_manager else {
        return false;
    };
    let action = Action::Restart {
        server: Server::Host,
        object: workload.object.clone(),
        uid: workload.uid.clone(),
    };
    let cure = key(UNDELIVERED, member);
    if let Some(step) = draft.steps.iter_mut().find(|step| step.action == action) {
        step.cures.push(cure);
        return true;
    }
    draft.push(
        Subject::cluster(member.name()),
        action,
        "Works that failed sleep for up to 1000 seconds, and connections of before may be blind; a restart ends both".to_owned(),
        None,
        vec![cure],
    );
    true
}

fn key(code: &str, member: &Member) -> FindingKey {
    FindingKey {
        code: code.to_owned(),
        subject: Subject::cluster(member.name()),
    }
}

/// The name of the role and the binding in members.
const IMPERSONATOR: &str = "karmada-impersonator";
