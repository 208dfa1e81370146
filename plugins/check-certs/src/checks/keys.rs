//! Private keys beside certificates. Pure.

use karmada_repair::finding::{Finding, Severity};

use crate::certificate::Certificate;
use crate::inventory::{Bundle, KeyAt, Role};
use crate::material::KeyForm;
use crate::place::{Holder, Place};
use crate::view::{View, beside, finding};

pub(super) fn check(view: &View<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for key in &view.inventory().keys {
        findings.extend(condition(key));
        findings.extend(mismatch(view, key));
    }
    findings
}

fn condition(at: &KeyAt) -> Option<Finding> {
    if at.key.form == KeyForm::Encrypted {
        let message = "the private key is encrypted: Kubernetes and Karmada cannot use it, and whether it matches a certificate cannot be told";
        return Some(
            finding(
                "key-encrypted",
                Severity::Unknown,
                at.place.subject(),
                message,
            )
            .hint("openssl pkey -in KEY -out PLAIN-KEY"),
        );
    }
    let defect = at.key.defect.as_ref()?;
    // Where Go takes the key, and with it Karmada, nothing fails.
    let severity = match defect.contains("Go takes it") {
        true => Severity::Warning,
        false => Severity::Error,
    };
    let message = format!("the private key {defect}");
    Some(finding(
        "key-damaged",
        severity,
        at.place.subject(),
        message,
    ))
}

/// The certificate that stands beside a key under its name must be the key's.
fn mismatch(view: &View<'_>, at: &KeyAt) -> Option<Finding> {
    let public = at.key.public.as_ref()?;
    let (bundle, certificate) = partner(view, &at.place)?;
    let matches_any = view
        .of(bundle)
        .any(|certificate| certificate.public_key == *public);
    if certificate.public_key == *public {
        return None;
    }
    let message = match matches_any {
        true => format!(
            "the private key matches a later certificate of the bundle, not its first, {:?}: servers and clients show the first",
            certificate.title()
        ),
        false => format!(
            "the private key does not match the certificate {:?} beside it ({})",
            certificate.title(),
            bundle.place
        ),
    };
    Some(
        finding("key-mismatch", Severity::Error, at.place.subject(), message)
            .expected(certificate.public_key.name())
            .actual(public.name()),
    )
}

/// The certificate that a key is for: the one of the same name in the same place, else the only one there.
fn partner<'a>(view: &View<'a>, key: &Place) -> Option<(&'a Bundle, &'a Certificate)> {
    let near: Vec<&'a Bundle> = view
        .beside(&key.holder)
        .iter()
        .filter(|bundle| bundle.role != Role::Served)
        .copied()
        .collect();
    let same_name = near
        .iter()
        .find(|bundle| stem(&bundle.place) == stem(key))
        .copied();
    let bundle = same_name.or_else(|| {
        // Counting the keys there is worth it only where there is one certificate.
        if near.len() > MOST_BESIDE_ONE_KEY {
            return None;
        }
        let keys = view.inventory().keys.iter();
        let keys_there = keys
            .filter(|other| beside(&other.place.holder, &key.holder))
            .count();
        let mut identities = near.iter().filter(|bundle| bundle.role == Role::Identity);
        match (identities.next(), identities.next(), keys_there) {
            (Some(only), None, 1) => Some(*only),
            _ => None,
        }
    })?;
    let certificate = view.of(bundle).next()?;
    Some((bundle, certificate))
}

/// What a certificate and its key have in common in their names: `apiserver` of `apiserver.crt` and `apiserver.key`.
fn stem(place: &Place) -> (String, String) {
    let path = match &place.holder {
        Holder::File(path) if place.field.is_empty() => path.clone(),
        Holder::File(path) => format!("{path}/{}", place.field),
        _ => place.field.clone(),
    };
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path.as_str()));
    let mut stem = name.to_ascii_lowercase();
    if stem.starts_with("client-") && stem.ends_with("-data") {
        return (folder.to_owned(), "client".to_owned());
    }
    for ending in [".der", ".pem", ".crt", ".cert", ".cer", ".key"] {
        if let Some(rest) = stem.strip_suffix(ending) {
            stem = rest.to_owned();
        }
    }
    for word in ["key", "crt", "cert", "certificate"] {
        if stem == word {
            stem.clear();
        }
        for separator in ["-", "_", "."] {
            if let Some(rest) = stem.strip_suffix(&format!("{separator}{word}")) {
                stem = rest.to_owned();
            }
        }
    }
    (folder.to_owned(), stem)
}

const MOST_BESIDE_ONE_KEY: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_and_its_key_share_a_stem() {
        let secret = |field: &str| Holder::File("a".to_owned()).at(field);
        for (certificate, key) in [
            ("tls.crt", "tls.key"),
            ("apiserver.crt", "apiserver.key"),
            ("leaf.pem", "leaf-key.pem"),
            ("cert.pem", "key.pem"),
            ("server-cert.pem", "server-key.pem"),
            ("server.crt.pem", "server.key.pem"),
            (
                "users[a]/client-certificate-data",
                "users[a]/client-key-data",
            ),
        ] {
            assert_eq!(
                stem(&secret(certificate)),
                stem(&secret(key)),
                "{certificate} {key}"
            );
        }
        assert_ne!(stem(&secret("ca.crt")), stem(&secret("tls.key")));
        assert_ne!(
            stem(&secret("users[a]/client-certificate-data")),
            stem(&secret("users[b]/client-key-data"))
        );
    }
}
