//! Whether a path leads from each certificate to an authority. Pure.

use karmada_repair::finding::{Finding, Severity};

use crate::certificate::{Certificate, Purpose};
use crate::chain::{Judgement, Objection, Pool};
use crate::inventory::{Bundle, Role};
use crate::signature::Signed;
use crate::view::View;
use crate::words::{second, when};

pub(super) fn check(view: &View<'_>) -> Vec<Finding> {
    view.identities()
        .flat_map(|(bundle, leaf)| of_bundle(view, bundle, leaf))
        .collect()
}

fn of_bundle(view: &View<'_>, bundle: &Bundle, leaf: &Certificate) -> Vec<Finding> {
    let purpose = purpose_of(bundle);
    let is_client = purpose == Purpose::Client;
    // The authority in a kubeconfig is the server's; that of its user may be another one.
    let beside = match is_client {
        true => &[],
        false => view.beside(&bundle.place.holder),
    };
    let near: Vec<&Certificate> = beside
        .iter()
        .filter(|other| other.role == Role::Trust)
        .flat_map(|other| view.of(other))
        .collect();
    let judged = |pool: &Pool<'_>| view.judge.judge(leaf, pool, purpose, view.now);
    if !near.is_empty() {
        let presented = beside.iter().flat_map(|other| view.of(other));
        let pool = Pool::trusting(near).with(presented);
        let judgement = judged(&pool);
        if judgement.objections.is_empty() {
            return Vec::new();
        }
        let another = judgement
            .objections
            .iter()
            .any(|objection| matches!(objection, Objection::AnotherKey(_)));
        let whole = judgement
            .objections
            .iter()
            .all(|objection| !matches!(objection, Objection::NoIssuer | Objection::AnotherKey(_)));
        if another || whole {
            return told(view, leaf, &judgement, Severity::Error);
        }
        let anywhere = judged(view.everything());
        return match anywhere.objections.is_empty() {
            true => Vec::new(),
            false => told(view, leaf, &anywhere, Severity::Warning),
        };
    }
    let anywhere = judged(view.everything());
    match anywhere.objections.is_empty() {
        true => Vec::new(),
        false => told(view, leaf, &anywhere, Severity::Info),
    }
}

/// What a certificate is used for by its place.
pub(super) fn purpose_of(bundle: &Bundle) -> Purpose {
    match bundle.place.field.ends_with("client-certificate-data") {
        true => Purpose::Client,
        false => Purpose::Any,
    }
}

/// The findings of a judgement; `unknown_issuer` is how bad it is that no issuer was found.
pub(super) fn told(
    view: &View<'_>,
    leaf: &Certificate,
    judgement: &Judgement,
    unknown_issuer: Severity,
) -> Vec<Finding> {
    judgement
        .objections
        .iter()
        .map(|objection| one(view, leaf, judgement, objection, unknown_issuer))
        .collect()
}

fn one(
    view: &View<'_>,
    leaf: &Certificate,
    judgement: &Judgement,
    objection: &Objection,
    unknown_issuer: Severity,
) -> Finding {
    let title = leaf.title();
    let named = |fingerprint| {
        let certificate = view.inventory().certificate(fingerprint);
        certificate.map_or(String::new(), |certificate| {
            format!("{:?}", certificate.title())
        })
    };
    let ends = |fingerprint| {
        let certificate = view.inventory().certificate(fingerprint);
        certificate.map(|certificate| (certificate.not_before, certificate.not_after))
    };
    let error = |code: &str, message: String| view.about(leaf, code, Severity::Error, message);
    let signer = match objection {
        Objection::NoIssuer => signer_of_another_name(view, judgement),
        _ => None,
    };
    match objection {
        Objection::NoIssuer if signer.is_some() => error(
            "issuer-name-differs",
            format!(
                "{title:?} was signed with the key of {:?}, but the name of its issuer is not, byte for byte, the subject there: Go and rustls refuse that; OpenSSL does if the text differs, not if only its encoding does",
                signer.map_or(String::new(), Certificate::title)
            ),
        )
        .expected(signer.map_or(String::new(), |signer| signer.subject.clone()))
        .actual(leaf.issuer.clone()),
        Objection::NoIssuer => {
            let last = judgement
                .path
                .last()
                .and_then(|last| view.inventory().certificate(last));
            let issuer = last.map_or(leaf.issuer.as_str(), |last| last.issuer.as_str());
            let message = match unknown_issuer {
                Severity::Info => format!(
                    "who signed {title:?} was not among what was examined, so its chain was not verified: {issuer}"
                ),
                _ => format!(
                    "no certificate that was examined is the authority that signed {title:?}: {issuer}"
                ),
            };
            view.about(leaf, "issuer-not-found", unknown_issuer, message)
                .expected(issuer)
        }
        Objection::AnotherKey(issuer) => error(
            "issuer-key-differs",
            format!(
                "{title:?} was not signed by the authority {} that it names: either by one of the same name with another key, as after a new CA was made, or its signature is damaged",
                named(issuer)
            ),
        ),
        Objection::Unverified(reason) => view.about(
            leaf,
            "signature-unverified",
            Severity::Unknown,
            format!("the signature of {title:?} cannot be verified here: {reason}"),
        ),
        Objection::WeakSignature(signed) => error(
            "weak-signature",
            format!(
                "{} is signed by {}, which Go (and with it Karmada and kubectl) and rustls refuse as insecure",
                named(signed),
                algorithm(view, signed)
            ),
        ),
        Objection::UnknownSignature(signed) => error(
            "unsupported-signature",
            format!(
                "{} is signed by {}, which Go (and with it Karmada and kubectl) does not know",
                named(signed),
                algorithm(view, signed)
            ),
        ),
        Objection::Expired(authority) => {
            let until = ends(authority).map_or(String::new(), |(_, until)| when(until, view.now));
            error(
                "ca-expired",
                format!(
                    "the authority {} of {title:?} expired at {until}, and with it every certificate below it",
                    named(authority)
                ),
            )
        }
        Objection::NotYetValid(authority) => {
            let since = ends(authority).map_or(String::new(), |(since, _)| when(since, view.now));
            error(
                "ca-not-yet-valid",
                format!(
                    "the authority {} of {title:?} is not valid before {since}; this machine's clock says {}",
                    named(authority),
                    second(view.now)
                ),
            )
        }
        Objection::NotAuthority(authority) => error(
            "leaf-as-ca",
            format!(
                "{title:?} is signed by {}, which does not say that it is a CA: Go, OpenSSL and rustls refuse that",
                named(authority)
            ),
        ),
        Objection::MayNotSign(authority) => error(
            "ca-may-not-sign",
            format!(
                "the authority {} of {title:?} may not sign certificates by its key usage: Go and OpenSSL refuse that, rustls does not look",
                named(authority)
            ),
        ),
        Objection::TooLong(authority) => error(
            "path-too-long",
            format!(
                "the authority {} of {title:?} allows fewer authorities below itself than there are",
                named(authority)
            ),
        ),
        Objection::NameNotAllowed(authority, name) => error(
            "name-not-allowed",
            format!(
                "the authority {} of {title:?} may not vouch for the name {name} by its name constraints",
                named(authority)
            ),
        ),
        Objection::PurposeNotAllowed(authority) => error(
            "wrong-usage",
            format!(
                "the authority {} of {title:?} may not vouch for this purpose by its extended key usage",
                named(authority)
            ),
        ),
        Objection::UnusableKey(authority) => error(
            "unsupported-key",
            format!(
                "the key of the authority {} of {title:?} is of a kind that Go (and with it Karmada and kubectl) cannot use",
                named(authority)
            ),
        ),
        Objection::Malformed(authority, defect) => error(
            "malformed",
            format!(
                "the authority {} of {title:?} is refused: {defect}",
                named(authority)
            ),
        ),
    }
}

/// The authority whose key signed the last certificate of a path under another name; `None` = there is none.
fn signer_of_another_name<'a>(view: &View<'a>, judgement: &Judgement) -> Option<&'a Certificate> {
    let last = view.inventory().certificate(judgement.path.last()?)?;
    view.certificates()
        .filter(|other| other.is_ca() && other.fingerprint != last.fingerprint)
        .take(MOST_SIGNERS)
        .find(|other| view.judge.signed(last, other) == Signed::Yes)
}

fn algorithm(view: &View<'_>, fingerprint: &crate::certificate::Fingerprint) -> String {
    view.inventory()
        .certificate(fingerprint)
        .map_or(String::new(), |certificate| {
            certificate.signature_algorithm.to_string()
        })
}

/// A federation has few authorities; among more, a name that differs is not looked for.
const MOST_SIGNERS: usize = 64;
