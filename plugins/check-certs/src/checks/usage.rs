//! Authorities that are shown as leaves, and leaves that are trusted as authorities. Pure.

use karmada_repair::finding::{Finding, Severity};

use crate::certificate::{Certificate, Purpose};
use crate::checks::issuer::purpose_of;
use crate::inventory::{Bundle, Role};
use crate::view::View;

pub(super) fn check(view: &View<'_>) -> Vec<Finding> {
    view.inventory()
        .bundles
        .iter()
        .flat_map(|bundle| match bundle.role {
            Role::Trust => trusted(view, bundle),
            Role::Identity => shown(view, bundle),
            Role::Between | Role::Served => Vec::new(),
        })
        .collect()
}

fn trusted(view: &View<'_>, bundle: &Bundle) -> Vec<Finding> {
    // A root of version 1 or 2 cannot say that it is a CA.
    let old_root =
        |certificate: &Certificate| certificate.is_self_issued() && certificate.version < 3;
    view.of(bundle)
        .filter(|certificate| !certificate.is_ca() && !old_root(certificate))
        .filter_map(|certificate| trusted_leaf(view, certificate))
        .collect()
}

/// A certificate that is no CA vouches for itself alone.
fn trusted_leaf(view: &View<'_>, certificate: &Certificate) -> Option<Finding> {
    let title = certificate.title();
    let (severity, message) = match certificate.is_self_issued() {
        // What clients of one self-signed server are given; it works everywhere.
        true => (
            Severity::Info,
            format!(
                "{title:?} is trusted as an authority and says that it is none: it vouches for itself alone"
            ),
        ),
        false => (
            Severity::Warning,
            format!(
                "{title:?} is trusted as an authority, but is a leaf: Go takes it for itself alone, OpenSSL and rustls refuse it"
            ),
        ),
    };
    Some(view.about(certificate, "leaf-as-ca", severity, message))
}

fn shown(view: &View<'_>, bundle: &Bundle) -> Vec<Finding> {
    let Some(leaf) = view.of(bundle).next() else {
        return Vec::new();
    };
    let mut findings = Vec::new();
    findings.extend(ca_as_leaf(view, leaf));
    if purpose_of(bundle) == Purpose::Client && !leaf.serves(Purpose::Client) {
        findings.push(wrong_usage(view, leaf, "client"));
    }
    findings
}

/// A CA that is shown as a leaf; `None` = it is no CA.
pub(super) fn ca_as_leaf(view: &View<'_>, leaf: &Certificate) -> Option<Finding> {
    let message = format!(
        "{:?} says that it is a CA and is shown as a leaf: Go and OpenSSL take it, Rust clients (rustls) refuse it (CaUsedAsEndEntity)",
        leaf.title()
    );
    leaf.is_ca()
        .then(|| view.about(leaf, "ca-as-leaf", Severity::Warning, message))
}

/// A certificate whose extended usages lack what it is used for.
pub(super) fn wrong_usage(view: &View<'_>, leaf: &Certificate, wanted: &str) -> Finding {
    let usages: Vec<String> = leaf
        .extended_usages
        .iter()
        .flatten()
        .map(ToString::to_string)
        .collect();
    let message = format!(
        "{:?} is shown by a {wanted}, and its extended key usage does not allow that: {}",
        leaf.title(),
        usages.join(", ")
    );
    view.about(leaf, "wrong-usage", Severity::Error, message)
        .expected(wanted)
        .actual(usages.join(", "))
}
