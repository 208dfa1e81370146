//! What rustls, the TLS library of Rust clients, says of a certificate; it differs from what Go says. Pure.

use std::sync::Arc;
use std::time::Duration;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier;
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, RootCertStore};

use crate::certificate::{AlternativeName, Certificate};
use crate::inventory::Role;
use crate::view::View;

/// `accepts`, or why it refuses the certificate as that of a server of its own first name, against all authorities that were
/// found; `None` = it is an authority, or no authority was found to judge it by.
pub fn of(view: &View<'_>, certificate: &Certificate) -> Option<String> {
    let is_shown = view.holding(&certificate.fingerprint).iter().any(|bundle| {
        bundle.role != Role::Trust && bundle.certificates.first() == Some(&certificate.fingerprint)
    });
    if !is_shown {
        return None;
    }
    let mut roots = RootCertStore::empty();
    let mut intermediates = Vec::new();
    let mut wanted = certificate;
    // Only those that may be on the path: a federation has many authorities.
    for _ in 0..MOST_AUTHORITIES {
        let issuers = view.everything().named(&wanted.issuer_der);
        let Some(first) = issuers.first() else {
            break;
        };
        for issuer in &issuers {
            let der = CertificateDer::from(issuer.der.as_slice());
            if view.everything().trusts(&issuer.fingerprint) {
                // One that it cannot use as an anchor is none.
                let _ = roots.add(der.clone());
            }
            intermediates.push(der);
        }
        if first.is_self_issued() {
            break;
        }
        wanted = first;
    }
    if roots.is_empty() {
        return None;
    }
    let verifier = WebPkiServerVerifier::builder_with_provider(
        Arc::new(roots),
        Arc::new(ring::default_provider()),
    )
    .build()
    .ok()?;
    let since_epoch = Duration::from_secs(view.now.as_second().max(0).unsigned_abs());
    let judged = verifier.verify_server_cert(
        &CertificateDer::from(certificate.der.as_slice()),
        &intermediates,
        &name_of(certificate),
        &[],
        UnixTime::since_unix_epoch(since_epoch),
    );
    Some(match judged {
        Ok(_) => "accepts".to_owned(),
        Err(rustls::Error::InvalidCertificate(error)) => refusal(&error),
        Err(other) => other.to_string(),
    })
}

/// The name by which a server with this certificate would be asked for.
fn name_of(certificate: &Certificate) -> ServerName<'static> {
    let names = certificate.names.iter().flatten();
    names
        .filter_map(|name| match name {
            AlternativeName::Dns(name) => {
                ServerName::try_from(name.replacen('*', "wildcard", 1)).ok()
            }
            AlternativeName::Ip(address) => Some(ServerName::IpAddress((*address).into())),
            AlternativeName::Other(_) => None,
        })
        .next()
        .unwrap_or_else(|| ServerName::try_from("localhost").expect("a literal name"))
}

/// The library's own word for a refusal, without its details.
fn refusal(error: &CertificateError) -> String {
    match error {
        CertificateError::ExpiredContext { .. } => "Expired".to_owned(),
        CertificateError::NotValidYetContext { .. } => "NotValidYet".to_owned(),
        CertificateError::NotValidForNameContext { .. } => "NotValidForName".to_owned(),
        CertificateError::InvalidPurposeContext { .. } => "InvalidPurpose".to_owned(),
        CertificateError::UnsupportedSignatureAlgorithmContext { .. } => {
            "UnsupportedSignatureAlgorithm".to_owned()
        }
        CertificateError::Other(other) => {
            let text = format!("{other:?}");
            text.trim_start_matches("OtherError(")
                .trim_end_matches(')')
                .to_owned()
        }
        other => format!("{other:?}"),
    }
}

const MOST_AUTHORITIES: usize = 8;
