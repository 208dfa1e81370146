//! The form of certificates: versions, defects, algorithms and keys that some clients refuse. Pure.

use karmada_repair::finding::{Finding, Severity};

use crate::certificate::{Certificate, Curve, PublicKey, Refusal, bit_length};
use crate::signature::Signed;
use crate::view::View;

pub(super) fn check(view: &View<'_>) -> Vec<Finding> {
    view.certificates()
        .flat_map(|certificate| {
            defects(view, certificate)
                .into_iter()
                .chain(version(view, certificate))
                .chain(key(view, certificate))
                .chain(signature(view, certificate))
                .chain(authority_identifier(view, certificate))
        })
        .collect()
}

fn defects(view: &View<'_>, certificate: &Certificate) -> Vec<Finding> {
    certificate
        .defects
        .iter()
        .map(|defect| {
            let severity = match defect.refused_by() {
                Refusal::Go => Severity::Error,
                Refusal::Others => Severity::Warning,
            };
            let message = format!("{:?}: {defect}", certificate.title());
            view.about(certificate, "malformed", severity, message)
        })
        .take(1)
        .collect()
}

fn version(view: &View<'_>, certificate: &Certificate) -> Option<Finding> {
    // Nobody asks a root for its version.
    if certificate.version == 3 || certificate.is_self_issued() {
        return None;
    }
    let message = format!(
        "{:?} is an X.509 version {} certificate: Go and OpenSSL take it where no name is asked for, Rust clients (rustls) refuse it",
        certificate.title(),
        certificate.version
    );
    Some(
        view.about(certificate, "old-version", Severity::Warning, message)
            .expected("version 3")
            .actual(format!("version {}", certificate.version)),
    )
}

fn key(view: &View<'_>, certificate: &Certificate) -> Option<Finding> {
    let title = certificate.title();
    let name = certificate.public_key.name();
    let found = |code, severity, what: &str| {
        Some(
            view.about(
                certificate,
                code,
                severity,
                format!("the key of {title:?} is {name}, {what}"),
            )
            .actual(name.clone()),
        )
    };
    match &certificate.public_key {
        PublicKey::Rsa { modulus, .. } => match bit_length(modulus) {
            0..1024 => found(
                "weak-key",
                Severity::Error,
                "too short for Go 1.24 and newer and for rustls, and broken within hours",
            ),
            1024..2048 => found(
                "weak-key",
                Severity::Warning,
                "which Go still takes and rustls refuses",
            ),
            2048..=8192 => None,
            _ => found(
                "unsupported-key",
                Severity::Error,
                "longer than 8192 bits, which TLS in Go and rustls refuse",
            ),
        },
        PublicKey::Ec { curve, .. } => match curve {
            Curve::P256 | Curve::P384 => None,
            Curve::P521 => found(
                "unsupported-key",
                Severity::Info,
                "which Go takes and Rust clients with ring refuse",
            ),
            Curve::P224 if certificate.is_ca() => found(
                "unsupported-key",
                Severity::Info,
                "which Go takes as that of an authority and rustls does not know",
            ),
            Curve::P224 => found(
                "unsupported-key",
                Severity::Error,
                "a curve that TLS 1.3 and rustls do not know",
            ),
            Curve::Other(_) => found(
                "unsupported-key",
                Severity::Error,
                "a curve that neither Go nor rustls knows",
            ),
        },
        PublicKey::Ed25519(_) => None,
        PublicKey::Other { .. } => found(
            "unsupported-key",
            Severity::Error,
            "which neither Go nor rustls can use",
        ),
    }
}

/// The signature of a root is not looked at by anybody; that of others is judged with their path, and here where no path
/// was found.
fn signature(view: &View<'_>, certificate: &Certificate) -> Option<Finding> {
    let algorithm = &certificate.signature_algorithm;
    if certificate.is_self_issued() || (!algorithm.is_weak() && algorithm.is_known_to_go()) {
        return None;
    }
    let title = certificate.title();
    Some(match algorithm.is_weak() {
        true => view.about(
            certificate,
            "weak-signature",
            Severity::Error,
            format!("{title:?} is signed by {algorithm}, which Go (and with it Karmada and kubectl) and rustls refuse as insecure"),
        ),
        false => view.about(
            certificate,
            "unsupported-signature",
            Severity::Error,
            format!("{title:?} is signed by {algorithm}, which Go (and with it Karmada and kubectl) does not know"),
        ),
    })
}

/// An authority key identifier that names another certificate than the one that signed. Go and rustls do not look at it.
fn authority_identifier(view: &View<'_>, certificate: &Certificate) -> Option<Finding> {
    if certificate.is_self_issued()
        || (certificate.authority_key_identifier.is_none()
            && certificate.authority_serial.is_none())
    {
        return None;
    }
    let fits = |issuer: &Certificate| {
        let same = |wanted: &Option<String>, there: Option<&String>| match (wanted, there) {
            (Some(wanted), Some(there)) => wanted == there,
            _ => true,
        };
        same(
            &certificate.authority_key_identifier,
            issuer.subject_key_identifier.as_ref(),
        ) && same(&certificate.authority_serial, Some(&issuer.serial))
    };
    let issuers = view.everything().named(&certificate.issuer_der);
    let signers: Vec<&Certificate> = issuers
        .into_iter()
        .filter(|issuer| view.judge.signed(certificate, issuer) == Signed::Yes)
        .collect();
    let signer = signers.first()?;
    if signers.iter().any(|signer| fits(signer)) {
        return None;
    }
    let message = format!(
        "the authority key identifier of {:?} names another certificate than {:?}, which signed it: OpenSSL refuses that, Go and rustls do not look",
        certificate.title(),
        signer.title()
    );
    Some(view.about(
        certificate,
        "authority-identifier-differs",
        Severity::Warning,
        message,
    ))
}
