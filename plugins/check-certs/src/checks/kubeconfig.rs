//! Kubeconfigs: their client certificates against the Secrets, their servers against what is shown. Pure.

use std::collections::HashMap;

use karmada_repair::finding::{Finding, Severity};
use karmada_repair::part::Part;

use crate::certificate::{Certificate, Purpose};
use crate::chain::{Objection, Pool};
use crate::checks::names;
use crate::inventory::ContextAt;
use crate::material::Reference;
use crate::observed::Server;
use crate::place::{Holder, Place};
use crate::view::{View, finding};
use crate::words::second;

pub(super) fn check(view: &View<'_>) -> Vec<Finding> {
    let mut findings: Vec<Finding> = Vec::new();
    let newest = newest_by_subject(view);
    for (bundle, certificate) in view.identities() {
        if bundle.place.field.ends_with("client-certificate-data") {
            findings.extend(replaced(&newest, &bundle.place, certificate));
        }
    }
    for context in &view.inventory().contexts {
        for finding in server(view, context) {
            if !findings.iter().any(|other| other.key == finding.key) {
                findings.push(finding);
            }
        }
    }
    findings
}

/// A certificate and where it is.
type Found<'a> = (&'a Certificate, &'a Place);

/// The certificates in Secrets and files outside of kubeconfigs that live longest, by subject.
fn newest_by_subject<'a>(view: &View<'a>) -> HashMap<&'a [u8], Found<'a>> {
    let mut newest: HashMap<&'a [u8], Found<'a>> = HashMap::new();
    for (bundle, certificate) in view.identities() {
        let place = &bundle.place;
        if !matches!(place.holder, Holder::Secret { .. } | Holder::File(_))
            || place.field.ends_with("client-certificate-data")
        {
            continue;
        }
        let found = newest
            .entry(certificate.subject_der.as_slice())
            .or_insert((certificate, place));
        if certificate.not_after > found.0.not_after {
            *found = (certificate, place);
        }
    }
    newest
}

/// A client certificate of which a Secret or file outside of kubeconfigs holds a newer version.
fn replaced(
    newest: &HashMap<&[u8], Found<'_>>,
    place: &Place,
    certificate: &Certificate,
) -> Option<Finding> {
    let (newer, at) = newest.get(certificate.subject_der.as_slice())?;
    if newer.not_after <= certificate.not_after {
        return None;
    }
    let message = format!(
        "the client certificate {:?} here ends at {}; {at} holds a newer one of the same name, valid until {}",
        certificate.title(),
        second(certificate.not_after),
        second(newer.not_after)
    );
    Some(
        finding(
            "kubeconfig-certificate-differs",
            Severity::Warning,
            place.subject(),
            message,
        )
        .expected(newer.fingerprint.to_string())
        .actual(certificate.fingerprint.to_string()),
    )
}

/// Whether a kubeconfig of a component leads to a server whose certificate names it, and which its authorities vouch for.
fn server(view: &View<'_>, at: &ContextAt) -> Vec<Finding> {
    let Some(host) = at.context.server.as_deref().and_then(host_of) else {
        return Vec::new();
    };
    if at.context.insecure || !is_control_plane_service(&host) {
        return Vec::new();
    }
    let Some((leaf, rest)) = shown_by_control_plane(view) else {
        return Vec::new();
    };
    let asked = at.context.server_name.as_deref().unwrap_or(&host);
    let mut findings: Vec<Finding> = names::of(leaf, asked, at.place.subject())
        .into_iter()
        .collect();
    if let Some(Reference::Inside(inside)) = &at.context.authorities {
        let place = at.place.holder.at(match at.place.field.is_empty() {
            true => inside.clone(),
            false => format!("{}/{inside}", at.place.field),
        });
        let trusted = view.at(&place);
        if !trusted.is_empty() {
            let pool = Pool::trusting(trusted).with(rest);
            let judgement = view.judge.judge(leaf, &pool, Purpose::Server, view.now);
            let stale = judgement.objections.iter().any(|objection| {
                matches!(objection, Objection::NoIssuer | Objection::AnotherKey(_))
            });
            if stale {
                let message = format!(
                    "the authorities here do not vouch for {:?}, which karmada-apiserver shows: its issuer is {}",
                    leaf.title(),
                    leaf.issuer
                );
                findings.push(
                    finding("stale-ca", Severity::Error, place.subject(), message)
                        .expected(leaf.issuer.clone()),
                );
            }
        }
    }
    findings
}

fn shown_by_control_plane<'a>(view: &View<'a>) -> Option<(&'a Certificate, Vec<&'a Certificate>)> {
    view.observed
        .probes
        .iter()
        .filter(|probe| probe.target.server == Server::ControlPlane)
        .find_map(|probe| match &probe.shown {
            Part::Seen(shown) => {
                let mut chain = shown
                    .iter()
                    .filter_map(|fingerprint| view.inventory().certificate(fingerprint));
                Some((chain.next()?, chain.collect()))
            }
            _ => None,
        })
}

/// Whether a host is the Service of karmada-apiserver, as components inside the host cluster ask for it.
fn is_control_plane_service(host: &str) -> bool {
    let mut labels = host.split('.');
    let service = labels.next().unwrap_or_default();
    service.ends_with("karmada-apiserver") && labels.nth(1) == Some("svc")
}

/// The host of a URL, without brackets.
pub(crate) fn host_of(url: &str) -> Option<String> {
    let url = url::Url::parse(url).ok()?;
    let host = url.host_str().filter(|host| !host.is_empty())?;
    Some(host.trim_matches(['[', ']']).to_owned())
}
