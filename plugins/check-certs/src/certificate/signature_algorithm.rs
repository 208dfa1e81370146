//! How certificates are signed. Pure.

use std::fmt;

use serde::{Serialize, Serializer};
use x509_parser::x509::AlgorithmIdentifier;

use crate::der;

/// The algorithm of a signature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SignatureAlgorithm {
    /// ECDSA (RFC 5758).
    Ecdsa(Hash),
    /// Ed25519 (RFC 8410).
    Ed25519,
    /// RSA PKCS #1 v1.5.
    Rsa(Hash),
    /// RSA-PSS with mask and salt as long as the hash (RFC 4055).
    RsaPss(Hash),
    /// Another one, by its object identifier.
    Other(String),
}

/// A hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hash {
    /// MD5.
    Md5,
    /// SHA-1.
    Sha1,
    /// SHA-224.
    Sha224,
    /// SHA-256.
    Sha256,
    /// SHA-384.
    Sha384,
    /// SHA-512.
    Sha512,
}

impl SignatureAlgorithm {
    /// The algorithm that an identifier names.
    pub fn of(identifier: &AlgorithmIdentifier<'_>) -> SignatureAlgorithm {
        let oid = identifier.algorithm.to_id_string();
        match oid.as_str() {
            "1.2.840.113549.1.1.4" => SignatureAlgorithm::Rsa(Hash::Md5),
            "1.2.840.113549.1.1.5" | "1.3.14.3.2.29" => SignatureAlgorithm::Rsa(Hash::Sha1),
            "1.2.840.113549.1.1.11" => SignatureAlgorithm::Rsa(Hash::Sha256),
            "1.2.840.113549.1.1.12" => SignatureAlgorithm::Rsa(Hash::Sha384),
            "1.2.840.113549.1.1.13" => SignatureAlgorithm::Rsa(Hash::Sha512),
            "1.2.840.113549.1.1.14" => SignatureAlgorithm::Rsa(Hash::Sha224),
            "1.2.840.113549.1.1.10" => match pss_hash(identifier) {
                Some(hash) => SignatureAlgorithm::RsaPss(hash),
                None => SignatureAlgorithm::Other("RSA-PSS with odd parameters".to_owned()),
            },
            "1.2.840.10045.4.1" => SignatureAlgorithm::Ecdsa(Hash::Sha1),
            "1.2.840.10045.4.3.1" => SignatureAlgorithm::Ecdsa(Hash::Sha224),
            "1.2.840.10045.4.3.2" => SignatureAlgorithm::Ecdsa(Hash::Sha256),
            "1.2.840.10045.4.3.3" => SignatureAlgorithm::Ecdsa(Hash::Sha384),
            "1.2.840.10045.4.3.4" => SignatureAlgorithm::Ecdsa(Hash::Sha512),
            "1.3.101.112" => SignatureAlgorithm::Ed25519,
            "1.3.101.113" => SignatureAlgorithm::Other("Ed448".to_owned()),
            _ => SignatureAlgorithm::Other(oid),
        }
    }

    /// The hash, where the algorithm has one of its own.
    pub fn hash(&self) -> Option<Hash> {
        match self {
            SignatureAlgorithm::Ecdsa(hash)
            | SignatureAlgorithm::Rsa(hash)
            | SignatureAlgorithm::RsaPss(hash) => Some(*hash),
            SignatureAlgorithm::Ed25519 | SignatureAlgorithm::Other(_) => None,
        }
    }

    /// Whether Go refuses it as insecure: MD5, and since Go 1.18 SHA-1.
    pub fn is_weak(&self) -> bool {
        matches!(self.hash(), Some(Hash::Md5 | Hash::Sha1))
    }

    /// Whether Go knows it, weak or not.
    pub fn is_known_to_go(&self) -> bool {
        !matches!(
            self,
            SignatureAlgorithm::Other(_)
                | SignatureAlgorithm::Rsa(Hash::Sha224)
                | SignatureAlgorithm::Ecdsa(Hash::Sha224 | Hash::Md5)
                | SignatureAlgorithm::RsaPss(Hash::Sha224 | Hash::Sha1 | Hash::Md5)
        )
    }
}

/// The hash of RSASSA-PSS parameters where mask and salt follow it, as Go and rustls want it.
fn pss_hash(identifier: &AlgorithmIdentifier<'_>) -> Option<Hash> {
    let parameters = identifier.parameters.as_ref()?;
    let mut hash = None;
    let mut mask = None;
    let mut salt = None;
    for element in (der::Elements::of(parameters.data)).take(4) {
        let inner = der::first(element.content)?.0;
        match element.tag {
            der::CONTEXT_0 => hash = hash_of(inner.children().next()?.content),
            der::CONTEXT_1 => {
                let mut parts = inner.children();
                let _mask_function = parts.next()?;
                mask = hash_of(parts.next()?.children().next()?.content);
            }
            0xa2 => salt = Some(der::unsigned(inner.content).to_vec()),
            _ => {}
        }
    }
    let hash = hash?;
    let length = match hash {
        Hash::Sha256 => 32,
        Hash::Sha384 => 48,
        Hash::Sha512 => 64,
        _ => return None,
    };
    (mask == Some(hash) && salt.as_deref() == Some(&[length])).then_some(hash)
}

/// The hash of an object identifier's content octets: `2.16.840.1.101.3.4.2.N`.
fn hash_of(oid: &[u8]) -> Option<Hash> {
    match oid {
        [0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, last] => match last {
            1 => Some(Hash::Sha256),
            2 => Some(Hash::Sha384),
            3 => Some(Hash::Sha512),
            4 => Some(Hash::Sha224),
            _ => None,
        },
        _ => None,
    }
}

impl fmt::Display for SignatureAlgorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SignatureAlgorithm::Ecdsa(hash) => write!(f, "ECDSA with {hash}"),
            SignatureAlgorithm::Ed25519 => f.write_str("Ed25519"),
            SignatureAlgorithm::Rsa(hash) => write!(f, "RSA with {hash}"),
            SignatureAlgorithm::RsaPss(hash) => write!(f, "RSA-PSS with {hash}"),
            SignatureAlgorithm::Other(name) => f.write_str(name),
        }
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Hash::Md5 => "MD5",
            Hash::Sha1 => "SHA-1",
            Hash::Sha224 => "SHA-224",
            Hash::Sha256 => "SHA-256",
            Hash::Sha384 => "SHA-384",
            Hash::Sha512 => "SHA-512",
        })
    }
}

impl Serialize for SignatureAlgorithm {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
