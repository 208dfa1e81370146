//! Authorities that were replaced elsewhere, seen without asking any server. Pure.

use karmada_repair::finding::{Finding, Severity};

use crate::certificate::Certificate;
use crate::inventory::{Bundle, Role};
use crate::place::Holder;
use crate::signature::Signed;
use crate::view::{View, finding};

pub(super) fn check(view: &View<'_>) -> Vec<Finding> {
    view.inventory()
        .bundles
        .iter()
        .filter(|bundle| bundle.role == Role::Trust)
        .filter(|bundle| {
            matches!(
                bundle.place.holder,
                Holder::Object { .. } | Holder::Kubeconfig(_)
            ) || bundle.place.field.ends_with("-data")
        })
        .filter_map(|bundle| of(view, bundle))
        .collect()
}

/// A bundle none of whose authorities signed anything that is stored, while others of their names did.
fn of(view: &View<'_>, bundle: &Bundle) -> Option<Finding> {
    let authorities: Vec<&Certificate> = view.of(bundle).collect();
    let stored = || {
        view.identities()
            .filter(|(other, _)| {
                matches!(other.place.holder, Holder::Secret { .. } | Holder::File(_))
            })
            .map(|(_, leaf)| leaf)
    };
    let named = |leaf: &&Certificate| {
        authorities
            .iter()
            .any(|authority| authority.subject_der == leaf.issuer_der)
    };
    let signed_here = |leaf: &Certificate| {
        authorities
            .iter()
            .any(|authority| view.judge.signed(leaf, authority) != Signed::No)
    };
    let mut of_these_names = stored().filter(named).peekable();
    of_these_names.peek()?;
    let example = *of_these_names.peek()?;
    if of_these_names.any(signed_here) {
        return None;
    }
    let successor = view
        .everything()
        .named(&example.issuer_der)
        .into_iter()
        .find(|authority| view.judge.signed(example, authority) == Signed::Yes)?;
    let message = format!(
        "the authority here has the name of the one that signs now, {:?}, and another key: it vouches for nothing that Karmada shows",
        successor.title()
    );
    Some(
        finding("stale-ca", Severity::Error, bundle.place.subject(), message)
            .expected(successor.fingerprint.to_string())
            .actual(
                bundle
                    .certificates
                    .first()
                    .map(ToString::to_string)
                    .unwrap_or_default(),
            ),
    )
}
