//! What servers show, against what their clients trust and what the Secrets hold. Pure.

use karmada_repair::finding::{Finding, Severity};

use crate::certificate::{Certificate, Purpose};
use crate::chain::{Objection, Pool};
use crate::checks::usage::{ca_as_leaf, wrong_usage};
use crate::checks::{issuer, names};
use crate::inventory::Role;
use crate::observed::{Probe, Target};
use crate::place::Holder;
use crate::view::{View, finding};
use crate::words::{second, some};

pub(super) fn check(view: &View<'_>) -> Vec<Finding> {
    let mut findings: Vec<Finding> = Vec::new();
    for probe in &view.observed.probes {
        let shown = chain_of(view, probe);
        let Some((leaf, rest)) = shown.split_first() else {
            continue;
        };
        let found = of(view, &probe.target, leaf, rest);
        for finding in found.into_iter().chain(old(view, &probe.target, leaf)) {
            if !findings
                .iter()
                .any(|other| other.key == finding.key && other.message == finding.message)
            {
                findings.push(finding);
            }
        }
    }
    findings
}

fn chain_of<'a>(view: &View<'a>, probe: &Probe) -> Vec<&'a Certificate> {
    probe
        .shown
        .seen()
        .into_iter()
        .flatten()
        .filter_map(|fingerprint| view.inventory().certificate(fingerprint))
        .collect()
}

fn of(view: &View<'_>, target: &Target, leaf: &Certificate, rest: &[&Certificate]) -> Vec<Finding> {
    let endpoint = target.holder.at("").subject();
    let mut findings = Vec::new();
    findings.extend(ca_as_leaf(view, leaf));
    if !leaf.serves(Purpose::Server) {
        findings.push(wrong_usage(view, leaf, "server"));
    }
    if !target.verified {
        return findings;
    }
    if target.named {
        findings.extend(names::of(leaf, &target.host, endpoint));
    }
    if target.trusted_by.is_empty() {
        let pool = view.everything();
        let judgement = view.judge.judge(leaf, pool, Purpose::Server, view.now);
        let severity = match pool.trusts_nothing() {
            true => Severity::Info,
            false => Severity::Error,
        };
        findings.extend(issuer::told(view, leaf, &judgement, severity));
    }
    for place in &target.trusted_by {
        let trusted = view.at(place);
        if trusted.is_empty() {
            continue;
        }
        let pool = Pool::trusting(trusted).with(rest.iter().copied());
        let judgement = view.judge.judge(leaf, &pool, Purpose::Server, view.now);
        let stale = judgement
            .objections
            .iter()
            .any(|objection| matches!(objection, Objection::NoIssuer | Objection::AnotherKey(_)));
        match stale {
            true => {
                let message = format!(
                    "the authorities here do not vouch for {:?}, which {} shows: its issuer is {}",
                    leaf.title(),
                    target.holder,
                    leaf.issuer
                );
                findings.push(
                    finding("stale-ca", Severity::Error, place.subject(), message)
                        .expected(leaf.issuer.clone())
                        .actual(subjects(view, place)),
                );
            }
            false => findings.extend(issuer::told(view, leaf, &judgement, Severity::Error)),
        }
    }
    findings
}

fn subjects(view: &View<'_>, place: &crate::place::Place) -> String {
    let subjects: Vec<&str> = view
        .at(place)
        .iter()
        .map(|found| found.subject.as_str())
        .collect();
    some(&subjects, 5)
}

/// A server that goes on showing a certificate of which the Secrets or files hold a newer version.
fn old(view: &View<'_>, target: &Target, leaf: &Certificate) -> Option<Finding> {
    let is_stored = |holder: &Holder| matches!(holder, Holder::Secret { .. } | Holder::File(_));
    if view
        .places(&leaf.fingerprint)
        .iter()
        .any(|place| is_stored(&place.holder))
    {
        return None;
    }
    let newer = view
        .inventory()
        .bundles
        .iter()
        .filter(|bundle| bundle.role == Role::Identity && is_stored(&bundle.place.holder))
        .filter_map(|bundle| Some((bundle, view.of(bundle).next()?)))
        .filter(|(_, stored)| is_renewal(leaf, stored))
        .max_by_key(|(_, stored)| stored.not_after)?;
    let (bundle, stored) = newer;
    let message = format!(
        "{} still shows {:?} valid until {}, while {} holds its renewal valid until {}: the server was not restarted since",
        target.holder,
        leaf.title(),
        second(leaf.not_after),
        bundle.place,
        second(stored.not_after)
    );
    Some(
        finding(
            "old-certificate-served",
            Severity::Warning,
            target.holder.at("").subject(),
            message,
        )
        .expected(stored.fingerprint.to_string())
        .actual(leaf.fingerprint.to_string()),
    )
}

/// Whether one certificate is a later version of another: for the same subject, and for the same key or the same names.
fn is_renewal(old: &Certificate, new: &Certificate) -> bool {
    new.subject_der == old.subject_der
        && new.not_after > old.not_after
        && (new.public_key == old.public_key
            || (new.names == old.names && new.issuer_der == old.issuer_der && new.names.is_some()))
}
