//! All that was found in a federation, each certificate once. Pure.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::certificate::{Certificate, Fingerprint};
use crate::material::{Context, Expectation, Fault, Found, Key, Material, Token, read};
use crate::place::{Holder, Place};

/// All that was found.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Inventory {
    /// The certificates by fingerprint.
    pub certificates: BTreeMap<Fingerprint, Certificate>,
    /// Where they were found, in which order.
    pub bundles: Vec<Bundle>,
    /// The private keys, by what they tell.
    pub keys: Vec<KeyAt>,
    /// The tokens, by what they tell.
    pub tokens: Vec<TokenAt>,
    /// The contexts of kubeconfigs.
    pub contexts: Vec<ContextAt>,
    /// What is not as it should be.
    pub faults: Vec<FaultAt>,
}

/// Certificates that stand together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Bundle {
    /// Where the first one is.
    pub place: Place,
    /// What they are for.
    pub role: Role,
    /// The certificates in order.
    pub certificates: Vec<Fingerprint>,
}

/// What the certificates of a bundle are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// They lead from others to an authority, and are not trusted themselves.
    Between,
    /// The first one is shown to others by whoever holds its key; the rest lead to its authority.
    Identity,
    /// A server showed them, the first one as its own.
    Served,
    /// They are trusted as authorities.
    Trust,
}

/// A private key and its place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct KeyAt {
    /// Where it is.
    pub place: Place,
    /// What it tells.
    pub key: Key,
}

/// A token and its place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TokenAt {
    /// Where it is.
    pub place: Place,
    /// What it tells.
    pub token: Token,
}

/// A context of a kubeconfig and its place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ContextAt {
    /// Where the kubeconfig is.
    pub place: Place,
    /// What it tells.
    pub context: Context,
}

/// A fault and its place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FaultAt {
    /// Where it is.
    pub place: Place,
    /// What the value was expected to be.
    #[serde(skip)]
    pub expectation: Expectation,
    /// What it is instead.
    pub fault: Fault,
}

impl Inventory {
    /// Reads a value and keeps what it tells; the value itself is not kept.
    pub fn add(&mut self, holder: &Holder, field: &str, bytes: &[u8], expectation: Expectation) {
        for Found { inside, what } in read(bytes, expectation) {
            let place = holder.at(match (field.is_empty(), inside.is_empty()) {
                (true, _) => inside,
                (_, true) => field.to_owned(),
                _ => format!("{field}/{inside}"),
            });
            match what {
                Material::Certificates(certificates) => self.add_certificates(place, certificates),
                Material::Key(key) => self.keys.push(KeyAt { place, key }),
                Material::Token(token) => self.tokens.push(TokenAt { place, token }),
                Material::Context(context) => self.contexts.push(ContextAt { place, context }),
                Material::Fault(fault) => self.faults.push(FaultAt {
                    place,
                    expectation,
                    fault,
                }),
            }
        }
    }

    /// Keeps what a server showed, leaf first.
    pub fn add_served(&mut self, holder: &Holder, chain: &[Vec<u8>]) -> Vec<Fingerprint> {
        let mut certificates = Vec::new();
        for (index, der) in chain.iter().enumerate() {
            match Certificate::parse(der) {
                Ok(certificate) => certificates.push(certificate),
                Err(error) => self.faults.push(FaultAt {
                    place: holder.at("").nth(index),
                    expectation: Expectation::Certificate,
                    fault: Fault::Unparsable(error.to_string()),
                }),
            }
        }
        let fingerprints = certificates.iter().map(|found| found.fingerprint).collect();
        if !certificates.is_empty() {
            self.keep(holder.at(""), Role::Served, certificates);
        }
        fingerprints
    }

    /// Keeps authorities in DER, as a client was made with.
    pub fn add_trusted(&mut self, holder: &Holder, field: &str, authorities: &[Vec<u8>]) {
        let parsed = authorities
            .iter()
            .filter_map(|der| Certificate::parse(der).ok());
        let certificates: Vec<Certificate> = parsed.collect();
        if !certificates.is_empty() {
            self.keep(holder.at(field), Role::Trust, certificates);
        }
    }

    fn add_certificates(&mut self, place: Place, certificates: Vec<Certificate>) {
        let role = role_of(&place, &certificates);
        self.keep(place, role, certificates);
    }

    fn keep(&mut self, place: Place, role: Role, certificates: Vec<Certificate>) {
        self.bundles.push(Bundle {
            place,
            role,
            certificates: certificates.iter().map(|found| found.fingerprint).collect(),
        });
        for certificate in certificates {
            self.certificates
                .entry(certificate.fingerprint)
                .or_insert(certificate);
        }
    }

    /// The places of each certificate, in the order of places.
    pub fn places(&self) -> BTreeMap<Fingerprint, Vec<Place>> {
        let mut places: BTreeMap<Fingerprint, Vec<Place>> = BTreeMap::new();
        for bundle in &self.bundles {
            for (index, fingerprint) in bundle.certificates.iter().enumerate() {
                places
                    .entry(*fingerprint)
                    .or_default()
                    .push(bundle.place.nth(index));
            }
        }
        for places in places.values_mut() {
            places.sort();
            places.dedup();
        }
        places
    }

    /// The certificate of a fingerprint.
    pub fn certificate(&self, fingerprint: &Fingerprint) -> Option<&Certificate> {
        self.certificates.get(fingerprint)
    }

    /// The first certificate at a place.
    pub fn first_at(&self, place: &Place) -> Option<&Certificate> {
        let bundle = self.bundles.iter().find(|bundle| bundle.place == *place)?;
        self.certificate(bundle.certificates.first()?)
    }
}

/// What a bundle is for: by its name, else by what stands in it.
fn role_of(place: &Place, certificates: &[Certificate]) -> Role {
    let name = match &place.holder {
        Holder::File(path) if place.field.is_empty() => path.as_str(),
        _ => place.field.as_str(),
    };
    let name = name.rsplit('/').next().unwrap_or(name).to_ascii_lowercase();
    if name == "client-certificate-data" {
        return Role::Identity;
    }
    if name == "certificate-authority-data" || names_authorities(&name) {
        return Role::Trust;
    }
    match certificates.first() {
        // One that names servers is meant to be shown, although it says that it is a CA.
        Some(first) if first.is_ca() && first.names.as_ref().is_none_or(Vec::is_empty) => {
            match certificates.iter().any(Certificate::is_self_issued) {
                true => Role::Trust,
                false => Role::Between,
            }
        }
        _ => Role::Identity,
    }
}

/// Whether a key or a file is named as authorities are: `ca.crt`, `etcd-ca.crt`, `server-ca.crt`, `caBundle`, `root.pem`.
fn names_authorities(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or(name);
    let words: Vec<&str> = stem.split(['-', '_']).collect();
    stem == "cabundle"
        || stem == "cacert"
        || stem == "cacerts"
        || stem == "trust"
        || words.contains(&"ca")
            && !words.iter().any(|word| {
                matches!(*word, "leaf" | "server" | "client") && words.last() == Some(word)
            })
        || words.contains(&"root")
}
