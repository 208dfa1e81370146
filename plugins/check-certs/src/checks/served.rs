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
        findings.extend(by_anybody(view, target, leaf, rest));
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

/// How clients that trust what is trusted somewhere take what a server shows; whose clients they are is not known.
fn by_anybody(
    view: &View<'_>,
    target: &Target,
    leaf: &Certificate,
    rest: &[&Certificate],
) -> Vec<Finding> {
    let judged = |pool: &Pool<'_>| view.judge.judge(leaf, pool, Purpose::Server, view.now);
    let shown = view.authorities().clone().with(rest.iter().copied());
    let judgement = judged(&shown);
    let finds_none = matches!(judgement.objections[..], [Objection::NoIssuer]);
    // Other files and Secrets may hold what leads there, but clients see only what the server sends.
    if finds_none && judged(view.everything()).objections.is_empty() {
        let message = format!(
            "{} shows {:?} without the certificate of {}, which leads to an authority: its clients do not find one",
            target.holder,
            leaf.title(),
            leaf.issuer
        );
        let subject = target.holder.at("").subject();
        let finding = finding("issuer-not-found", Severity::Error, subject, message);
        return vec![finding.expected(leaf.issuer.clone())];
    }
    let severity = match shown.trusts_nothing() {
        true => Severity::Info,
        false => Severity::Error,
    };
    issuer::told(view, leaf, &judgement, severity)
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

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;
    use karmada_repair::part::Part;
    use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};

    use super::*;
    use crate::config::Config;
    use crate::material::Expectation;
    use crate::observed::{Observed, Server, Way};
    use crate::threshold::{Threshold, Thresholds};

    fn parameters(name: &str, is_ca: bool) -> CertificateParams {
        let names = if is_ca { vec![] } else { vec![name.to_owned()] };
        let mut parameters = CertificateParams::new(names).expect("the name is one");
        parameters.distinguished_name.push(DnType::CommonName, name);
        if is_ca {
            parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        }
        parameters
    }

    fn key() -> KeyPair {
        KeyPair::generate().expect("a key can be made")
    }

    #[test]
    fn an_intermediate_that_is_not_sent_is_missed_although_a_file_has_it() {
        let root = CertifiedIssuer::self_signed(parameters("root", true), key());
        let root = root.expect("a root can be made");
        let between = CertifiedIssuer::signed_by(parameters("between", true), key(), &root);
        let between = between.expect("an intermediate can be made");
        let leaf = parameters("server.test", false).signed_by(&key(), &between);
        let leaf = leaf.expect("a leaf can be made");
        let (leaf, intermediate) = (leaf.der().to_vec(), between.der().to_vec());
        for (sent, expected) in [
            (vec![leaf.clone()], vec!["issuer-not-found"]),
            (vec![leaf, intermediate], vec![]),
        ] {
            let mut observed = Observed::default();
            for (file, pem) in [("root.crt", root.pem()), ("between.crt", between.pem())] {
                let holder = Holder::File(file.to_owned());
                let inventory = &mut observed.inventory;
                inventory.add(&holder, "", pem.as_bytes(), Expectation::Certificate);
            }
            let holder = Holder::Endpoint("server.test:443".to_owned());
            let shown = observed.inventory.add_served(&holder, &sent);
            observed.probes.push(Probe {
                target: Target {
                    holder,
                    way: Way::Direct,
                    host: "server.test".to_owned(),
                    dialled: "server.test".to_owned(),
                    port: 443,
                    trusted_by: Vec::new(),
                    verified: true,
                    named: true,
                    server: Server::Given,
                },
                shown: Part::Seen(shown),
            });
            let config = Config {
                paths: Vec::new(),
                endpoints: Vec::new(),
                clusters: Vec::new(),
                thresholds: Thresholds {
                    warn: None,
                    fail: Threshold::Duration(SignedDuration::ZERO),
                },
                concurrency: 1,
                probe_timeout: std::time::Duration::from_secs(1),
                probe: true,
            };
            let now = "2026-06-01T00:00:00Z".parse().expect("a time");
            let view = View::new(&observed, &config, now);
            let found = check(&view);
            let codes: Vec<&str> = found.iter().map(|found| found.key.code.as_str()).collect();
            assert_eq!(codes, expected);
        }
    }
}
