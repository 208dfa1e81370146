//! The changes of the control plane's records that bring them to what the member holds. Pure.

use jiff::Timestamp;
use karmada_repair::cluster::object::ObjectReference;
use karmada_repair::plan::{Action, Server, set_value};

use crate::credentials::makings::made;
use crate::credentials::{
    IMPERSONATOR, Renewal, account_object, impersonator_object, namespace, renewals,
};
use crate::diagnose::CLUSTER_ID_STALE;
use crate::direct::Kin;
use crate::observed::Member;
use crate::stored::StoredSecret;

/// A change of the control plane's records, with why it is made and the codes that it cures.
pub struct Rewrite {
    /// What is done.
    pub action: Action,
    /// Why.
    pub reason: String,
    /// The codes of the findings that end with it.
    pub cures: Vec<&'static str>,
}

/// The steps that bring what is stored to what the member holds.
pub fn rewrites(member: &Member, now: Timestamp) -> Vec<Rewrite> {
    let mut rewrites = made(member, now);
    let Some(view) = member.direct.seen() else {
        return rewrites;
    };
    let renewals = renewals(member, now);
    let changes: Vec<(Renewal, &str, &str)> = renewals
        .iter()
        .filter_map(|renewal| {
            let account = view.account.seen()?;
            match renewal {
                Renewal::Authority => Some((*renewal, "caBundle", account.value("ca.crt")?)),
                Renewal::Token => Some((*renewal, "token", account.value("token")?)),
                Renewal::Impersonator => None,
            }
        })
        .collect();
    if let (Some(secret), Some(reference), [_, ..]) = (
        member.secret.seen(),
        &member.cluster.spec.secret_ref,
        changes.as_slice(),
    ) {
        let values: Vec<(&str, &str)> = changes
            .iter()
            .map(|(_, key, value)| (*key, *value))
            .collect();
        rewrites.push(Rewrite {
            action: of_secret(
                ObjectReference::secret(reference.namespace.clone(), reference.name.clone()),
                &secret.stored,
                &values,
            ),
            reason: format!(
                "{} of the member holds it, read with the context {}",
                account_object(member),
                view.context
            ),
            cures: changes.iter().map(|(renewal, ..)| renewal.code()).collect(),
        });
    }
    if renewals.contains(&Renewal::Impersonator)
        && let (Some(stored), Some(token)) = (
            member.impersonator.seen(),
            view.impersonator
                .seen()
                .and_then(|account| account.value("token")),
        )
    {
        rewrites.push(Rewrite {
            action: of_secret(impersonator_object(member), stored, &[("token", token)]),
            reason: format!(
                "{} of the member holds it, read with the context {}",
                ObjectReference::secret(namespace(member), IMPERSONATOR),
                view.context
            ),
            cures: vec![Renewal::Impersonator.code()],
        });
    }
    if view.kin == Kin::Rebuilt
        && let Some(recorded) = &member.cluster.spec.id
    {
        let (patch, inverse) = set_value("/spec/id", Some(recorded), 0, &view.uid);
        rewrites.push(Rewrite {
            action: Action::PatchObject {
                server: Server::ControlPlane,
                object: member.cluster.reference(),
                patch,
                inverse,
            },
            reason: format!(
                "the context {}, given for it, leads to its rebuilt successor",
                view.context
            ),
            cures: vec![CLUSTER_ID_STALE],
        });
    }
    rewrites
}

fn of_secret(object: ObjectReference, stored: &StoredSecret, values: &[(&str, &str)]) -> Action {
    let (patch, inverse) = stored.replacing(values);
    Action::PatchObject {
        server: Server::ControlPlane,
        object,
        patch,
        inverse,
    }
}
