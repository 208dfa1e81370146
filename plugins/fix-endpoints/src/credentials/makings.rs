//! What the control plane lacks of a member's credentials, and can be made as `karmadactl join` makes it. Pure.

use jiff::Timestamp;
use karmada_repair::cluster::object::ObjectReference;
use karmada_repair::part::Part;
use karmada_repair::plan::{Action, Server};
use serde_json::{Value, json};

use crate::credentials::rewrites::Rewrite;
use crate::credentials::{
    account_object, fits, impersonator_account_object, impersonator_object, needs_authority,
    stored_object,
};
use crate::diagnose::{
    IMPERSONATOR_MISSING, IMPERSONATOR_NOT_REFERENCED, SECRET_MISSING, SECRET_NOT_REFERENCED,
};
use crate::observed::Member;

/// Something that the control plane lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Making {
    /// The secret with the member's token and CA.
    Secret,
    /// `spec.secretRef`.
    SecretReference,
    /// The secret with the impersonator's token.
    Impersonator,
    /// `spec.impersonatorSecretRef`.
    ImpersonatorReference,
}

/// What can be made: secrets from those of the member, and references to secrets that are there or made.
pub fn makings(member: &Member, now: Timestamp) -> Vec<Making> {
    let spec = &member.cluster.spec;
    let makes_secret = matches!(member.secret, Part::Absent) && account_data(member, now).is_some();
    let has_secret = member.secret.seen().is_some_and(|secret| {
        secret.has_token && (secret.ca_bundle.is_some() || !needs_authority(member))
    });
    let makes_impersonator =
        matches!(member.impersonator, Part::Absent) && impersonator_data(member).is_some();
    let has_impersonator = member
        .impersonator
        .seen()
        .is_some_and(|secret| secret.value("token").is_some());
    let possible = [
        (Making::Secret, makes_secret),
        (
            Making::SecretReference,
            spec.secret_ref.is_none() && (makes_secret || has_secret),
        ),
        (Making::Impersonator, makes_impersonator),
        (
            Making::ImpersonatorReference,
            spec.impersonator_secret_ref.is_none() && (makes_impersonator || has_impersonator),
        ),
    ];
    possible
        .into_iter()
        .filter_map(|(making, is_possible)| is_possible.then_some(making))
        .collect()
}

/// The steps that make what can be made.
pub(super) fn made(member: &Member, now: Timestamp) -> Vec<Rewrite> {
    let makings = makings(member, now);
    let is_referenced = member.cluster.spec.secret_ref.is_some();
    makings
        .iter()
        .filter_map(|making| match making {
            Making::Secret => Some(Rewrite {
                action: created(member, stored_object(member), account_data(member, now)?),
                reason: taken_from(member, &account_object(member)),
                cures: match is_referenced {
                    true => vec![SECRET_MISSING],
                    false => Vec::new(),
                },
            }),
            Making::SecretReference => Some(Rewrite {
                action: referenced(member, "/spec/secretRef", &stored_object(member)),
                reason: "the control plane takes token and CA from the secret that is named there"
                    .to_owned(),
                cures: vec![SECRET_NOT_REFERENCED],
            }),
            Making::Impersonator => Some(Rewrite {
                action: created(
                    member,
                    impersonator_object(member),
                    impersonator_data(member)?,
                ),
                reason: taken_from(member, &impersonator_account_object(member)),
                cures: vec![IMPERSONATOR_MISSING],
            }),
            Making::ImpersonatorReference => Some(Rewrite {
                action: referenced(
                    member,
                    "/spec/impersonatorSecretRef",
                    &impersonator_object(member),
                ),
                reason:
                    "the proxy takes the impersonator's token from the secret that is named there"
                        .to_owned(),
                cures: vec![IMPERSONATOR_NOT_REFERENCED],
            }),
        })
        .collect()
}

fn taken_from(member: &Member, account: &ObjectReference) -> String {
    let context = member
        .direct
        .seen()
        .map_or("", |view| view.context.as_str());
    format!("{account} of the member holds it, read with the context {context}")
}

/// `token` and `caBundle` as the member has them; `None` = it lacks one, or its CA did not sign what it serves.
fn account_data(member: &Member, now: Timestamp) -> Option<Value> {
    let view = member.direct.seen().filter(|view| fits(view, now))?;
    let account = view.account.seen()?;
    let token = account.value("token")?;
    Some(json!({"token": token, "caBundle": account.value("ca.crt")?}))
}

fn impersonator_data(member: &Member) -> Option<Value> {
    let account = member.direct.seen()?.impersonator.seen()?;
    Some(json!({"token": account.value("token")?}))
}

/// The secret as `karmadactl join` makes it (`RegisterClusterInControllerPlane` of Karmada): it goes with its `Cluster`.
fn created(member: &Member, object: ObjectReference, data: Value) -> Action {
    let metadata = &member.cluster.metadata;
    let mut manifest = json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": object.name,
            "namespace": object.namespace,
            "labels": {"karmada.io/system": "true"},
        },
        "type": "Opaque",
        "data": data,
    });
    if !metadata.uid.is_empty() {
        manifest["metadata"]["ownerReferences"] = json!([{
            "apiVersion": "cluster.karmada.io/v1alpha1",
            "kind": "Cluster",
            "name": metadata.name,
            "uid": metadata.uid,
            "controller": true,
            "blockOwnerDeletion": true,
        }]);
    }
    Action::CreateObject {
        server: Server::ControlPlane,
        object,
        manifest,
    }
}

fn referenced(member: &Member, path: &str, secret: &ObjectReference) -> Action {
    let value = json!({"namespace": secret.namespace, "name": secret.name});
    let patch = |operations: Value| {
        serde_json::from_value(operations)
            .expect("operations made of op, path and value are a patch")
    };
    Action::PatchObject {
        server: Server::ControlPlane,
        object: member.cluster.reference(),
        // The API server takes a missing value for null.
        patch: patch(json!([
            {"op": "test", "path": path, "value": null},
            {"op": "add", "path": path, "value": value},
        ])),
        inverse: patch(json!([
            {"op": "test", "path": path, "value": value},
            {"op": "remove", "path": path},
        ])),
    }
}
