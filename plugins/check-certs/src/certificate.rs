//! The facts of one certificate (RFC 5280). Pure.

mod defect;
mod name;
mod parse;
mod public_key;
mod signature_algorithm;

use std::fmt;

use jiff::Timestamp;
use serde::{Serialize, Serializer};

pub use defect::{Defect, Refusal};
pub use name::{AlternativeName, address_of, covers};
pub use parse::Unparsable;
pub use public_key::{Curve, PublicKey, bit_length, rsa};
pub use signature_algorithm::{Hash, SignatureAlgorithm};

/// One certificate; public data only.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Certificate {
    /// The SHA-256 of its DER.
    pub fingerprint: Fingerprint,
    /// Its DER.
    #[serde(skip)]
    pub der: Vec<u8>,
    /// The X.509 version, from 1.
    pub version: u32,
    /// The serial number's content octets as they are, in hexadecimal.
    pub serial: String,
    /// The subject, as people read it.
    pub subject: String,
    /// The subject's DER, by which issuers are found.
    #[serde(skip)]
    pub subject_der: Vec<u8>,
    /// The issuer, as people read it.
    pub issuer: String,
    /// The issuer's DER.
    #[serde(skip)]
    pub issuer_der: Vec<u8>,
    /// The common names of the subject.
    pub common_names: Vec<String>,
    /// The organizations of the subject.
    pub organizations: Vec<String>,
    /// The first second in which it is valid.
    pub not_before: Timestamp,
    /// The last second in which it is valid.
    pub not_after: Timestamp,
    /// The subject's public key.
    pub public_key: PublicKey,
    /// How it is signed.
    pub signature_algorithm: SignatureAlgorithm,
    /// The names of the extension subjectAltName; `None` = it has no such extension.
    pub names: Option<Vec<AlternativeName>>,
    /// The extension basicConstraints; `None` = it has none.
    pub basic_constraints: Option<BasicConstraints>,
    /// The extension keyUsage; `None` = it has none.
    pub key_usage: Option<KeyUsage>,
    /// The extension extKeyUsage; `None` = it has none, and serves any purpose.
    pub extended_usages: Option<Vec<ExtendedUsage>>,
    /// The extension subjectKeyIdentifier, in hexadecimal.
    pub subject_key_identifier: Option<String>,
    /// The key identifier of the extension authorityKeyIdentifier, in hexadecimal.
    pub authority_key_identifier: Option<String>,
    /// The serial number in the extension authorityKeyIdentifier, in hexadecimal, which pins one certificate of the issuer.
    pub authority_serial: Option<String>,
    /// The extension nameConstraints; `None` = it has none.
    pub name_constraints: Option<NameConstraints>,
    /// What is wrong with its form, and who refuses it for that.
    pub defects: Vec<Defect>,
}

/// The SHA-256 of a certificate's DER.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint(pub [u8; 32]);

/// The extension basicConstraints (RFC 5280, 4.2.1.9).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BasicConstraints {
    /// Whether it is a CA.
    pub ca: bool,
    /// How many intermediates may follow; `None` = any number.
    pub path_length: Option<u32>,
}

/// The extension keyUsage, as far as TLS needs it (RFC 5280, 4.2.1.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct KeyUsage {
    /// Signatures, as handshakes have them.
    pub digital_signature: bool,
    /// Encryption of keys, as old handshakes with RSA have it.
    pub key_encipherment: bool,
    /// Signatures of certificates.
    pub certificate_sign: bool,
}

/// A purpose of the extension extKeyUsage (RFC 5280, 4.2.1.12).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum ExtendedUsage {
    /// anyExtendedKeyUsage.
    Any,
    /// Another one, by its name or object identifier.
    Other(String),
    /// id-kp-clientAuth.
    ClientAuth,
    /// id-kp-serverAuth.
    ServerAuth,
}

/// The extension nameConstraints, as far as it concerns names of TLS servers (RFC 5280, 4.2.1.10).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NameConstraints {
    /// Domains that DNS names must be in; empty = no such constraint.
    pub permitted_dns: Vec<String>,
    /// Domains that DNS names must not be in.
    pub excluded_dns: Vec<String>,
    /// Networks that addresses must be in, as address and mask octets; empty = no such constraint.
    pub permitted_ip: Vec<Vec<u8>>,
    /// Networks that addresses must not be in.
    pub excluded_ip: Vec<Vec<u8>>,
}

impl Certificate {
    /// Whether it says that it is a CA.
    pub fn is_ca(&self) -> bool {
        self.basic_constraints
            .as_ref()
            .is_some_and(|constraints| constraints.ca)
    }

    /// Whether it names itself as its issuer.
    pub fn is_self_issued(&self) -> bool {
        self.subject_der == self.issuer_der
    }

    /// Whether it may act as a root: a self-issued one that is a CA, or that is too old to say whether it is.
    pub fn is_root(&self) -> bool {
        self.is_self_issued() && (self.is_ca() || self.version < 3)
    }

    /// What it is called in sentences: its common name, else its first alternative name, else its whole subject.
    pub fn title(&self) -> String {
        if let Some(name) = self.common_names.first() {
            return name.clone();
        }
        match self.names.as_deref().and_then(<[_]>::first) {
            Some(name) => name.to_string(),
            None if self.subject.is_empty() => "no subject".to_owned(),
            None => self.subject.clone(),
        }
    }

    /// Whether it serves a purpose by its own extended usages.
    pub fn serves(&self, purpose: Purpose) -> bool {
        let wanted = match purpose {
            Purpose::Server => ExtendedUsage::ServerAuth,
            Purpose::Client => ExtendedUsage::ClientAuth,
            Purpose::Any => return true,
        };
        match &self.extended_usages {
            None => true,
            Some(usages) => usages.contains(&wanted) || usages.contains(&ExtendedUsage::Any),
        }
    }
}

/// What a certificate is used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Purpose {
    /// To be shown by a server.
    Server,
    /// To be shown by a client.
    Client,
    /// Not known.
    Any,
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hexadecimal(&self.0))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fingerprint({self})")
    }
}

impl Serialize for Fingerprint {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl fmt::Display for ExtendedUsage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ExtendedUsage::Any => "any",
            ExtendedUsage::ClientAuth => "client",
            ExtendedUsage::Other(name) => name,
            ExtendedUsage::ServerAuth => "server",
        })
    }
}

/// Bytes in lower-case hexadecimal.
pub fn hexadecimal(bytes: &[u8]) -> String {
    use fmt::Write;
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests;
