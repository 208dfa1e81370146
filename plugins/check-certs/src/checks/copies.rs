//! Older copies of certificates that were renewed elsewhere. Pure.

use karmada_repair::finding::{Finding, Severity};

use crate::certificate::Certificate;
use crate::inventory::Role;
use crate::place::{Holder, Place};
use crate::view::{View, finding};
use crate::words::second;

pub(super) fn check(view: &View<'_>) -> Vec<Finding> {
    let stored: Vec<(Place, Role, &Certificate)> = view
        .inventory()
        .bundles
        .iter()
        .filter(|bundle| !matches!(bundle.place.holder, Holder::Endpoint(_)))
        // kubeconfig.rs speaks of client certificates.
        .filter(|bundle| !bundle.place.field.ends_with("client-certificate-data"))
        .flat_map(|bundle| {
            view.of(bundle)
                .enumerate()
                .map(|(index, certificate)| (bundle.place.nth(index), bundle.role, certificate))
        })
        .collect();
    let mut newest: std::collections::BTreeMap<
        (&[u8], &crate::certificate::PublicKey),
        (&Place, &Certificate),
    > = std::collections::BTreeMap::new();
    for (place, _, certificate) in &stored {
        let key = (certificate.subject_der.as_slice(), &certificate.public_key);
        let entry = newest.entry(key).or_insert((place, certificate));
        if certificate.not_after > entry.1.not_after {
            *entry = (place, certificate);
        }
    }
    stored
        .iter()
        .filter_map(|(place, role, certificate)| {
            let key = (certificate.subject_der.as_slice(), &certificate.public_key);
            let (newest_place, newest) = newest.get(&key)?;
            if newest.fingerprint == certificate.fingerprint
                || newest.not_after <= certificate.not_after
                || (*role == Role::Trust && stands_with(view, place, newest))
            {
                return None;
            }
            let message = format!(
                "{:?} here ends at {} and is an older copy: {newest_place} holds the one with the same key that ends at {}",
                certificate.title(),
                second(certificate.not_after),
                second(newest.not_after)
            );
            Some(
                finding("copies-differ", Severity::Warning, place.subject(), message)
                    .expected(newest.fingerprint.to_string())
                    .actual(certificate.fingerprint.to_string()),
            )
        })
        .collect()
}

/// Whether the newest one stands in the same bundle.
fn stands_with(view: &View<'_>, place: &Place, newest: &Certificate) -> bool {
    view.at(&place.nth(0))
        .iter()
        .any(|other| other.fingerprint == newest.fingerprint)
}
