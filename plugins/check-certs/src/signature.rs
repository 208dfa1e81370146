//! Whether a key made a signature. Pure.

use p256::ecdsa::signature::hazmat::PrehashVerifier;
use ring::digest;
use ring::signature::{self, UnparsedPublicKey};
use x509_parser::certificate::X509Certificate;
use x509_parser::num_bigint::BigUint;
use x509_parser::prelude::FromDer;

use crate::certificate::{Certificate, Curve, Hash, PublicKey, SignatureAlgorithm, bit_length};

/// Whether a certificate was signed with a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Signed {
    /// It was.
    Yes,
    /// It was not.
    No,
    /// That cannot be told here; why.
    Unknown(String),
}

/// Whether this certificate was signed with that key.
pub fn signed_with(certificate: &Certificate, key: &PublicKey) -> Signed {
    let Ok((_, parsed)) = X509Certificate::from_der(&certificate.der) else {
        return Signed::Unknown("the certificate cannot be read again".to_owned());
    };
    let message: &[u8] = parsed.tbs_certificate.as_ref();
    let signature: &[u8] = &parsed.signature_value.data;
    let algorithm = &certificate.signature_algorithm;
    match (algorithm, key) {
        (SignatureAlgorithm::Rsa(hash), PublicKey::Rsa { modulus, exponent }) => {
            rsa(*hash, modulus, exponent, message, signature)
        }
        (SignatureAlgorithm::RsaPss(hash), PublicKey::Rsa { modulus, exponent }) => {
            rsa_pss(*hash, modulus, exponent, message, signature)
        }
        (SignatureAlgorithm::Ecdsa(hash), PublicKey::Ec { curve, point }) => {
            ecdsa(*hash, curve, point, message, signature)
        }
        (SignatureAlgorithm::Ed25519, PublicKey::Ed25519(key)) => {
            judged(UnparsedPublicKey::new(&signature::ED25519, key).verify(message, signature))
        }
        (SignatureAlgorithm::Other(name), _) => Signed::Unknown(format!("signed by {name}")),
        (_, PublicKey::Other { .. }) => Signed::Unknown(format!("the key is {}", key.name())),
        // An RSA signature is not made with an ECDSA key, nor the other way round.
        _ => Signed::No,
    }
}

/// RSASSA-PKCS1-v1_5 (RFC 8017, 8.2.2) for keys of any length, which no library here has.
fn rsa(hash: Hash, modulus: &[u8], exponent: &[u8], message: &[u8], signature: &[u8]) -> Signed {
    let Some((prefix, digest)) = digest_info(hash, message) else {
        return Signed::Unknown(format!("signed with {hash}"));
    };
    if bit_length(modulus) > LONGEST_MODULUS || exponent.len() > LONGEST_EXPONENT {
        return Signed::Unknown("the key is too long to be used".to_owned());
    }
    let length = modulus.len();
    if signature.len() != length || modulus.is_empty() {
        return Signed::No;
    }
    let modulus = BigUint::from_bytes_be(modulus);
    let opened = BigUint::from_bytes_be(signature)
        .modpow(&BigUint::from_bytes_be(exponent), &modulus)
        .to_bytes_be();
    let content = [prefix, &digest].concat();
    let Some(filling) = length
        .checked_sub(content.len() + 3)
        .filter(|length| *length >= 8)
    else {
        return Signed::No;
    };
    let mut expected = vec![0x01];
    expected.extend(std::iter::repeat_n(0xff, filling));
    expected.push(0x00);
    expected.extend(content);
    // The leading zero octet is not part of the number.
    match opened == expected {
        true => Signed::Yes,
        false => Signed::No,
    }
}

fn rsa_pss(
    hash: Hash,
    modulus: &[u8],
    exponent: &[u8],
    message: &[u8],
    signature: &[u8],
) -> Signed {
    let algorithm = match hash {
        Hash::Sha256 => &signature::RSA_PSS_2048_8192_SHA256,
        Hash::Sha384 => &signature::RSA_PSS_2048_8192_SHA384,
        Hash::Sha512 => &signature::RSA_PSS_2048_8192_SHA512,
        Hash::Md5 | Hash::Sha1 | Hash::Sha224 => {
            return Signed::Unknown(format!("signed by RSA-PSS with {hash}"));
        }
    };
    if !(2048..=8192).contains(&bit_length(modulus)) {
        return Signed::Unknown("RSA-PSS with a key of this length".to_owned());
    }
    let key = signature::RsaPublicKeyComponents {
        n: modulus,
        e: exponent,
    };
    judged(key.verify(algorithm, message, signature))
}

fn ecdsa(hash: Hash, curve: &Curve, point: &[u8], message: &[u8], signature: &[u8]) -> Signed {
    let fast = match (curve, hash) {
        (Curve::P256, Hash::Sha256) => Some(&signature::ECDSA_P256_SHA256_ASN1),
        (Curve::P256, Hash::Sha384) => Some(&signature::ECDSA_P256_SHA384_ASN1),
        (Curve::P384, Hash::Sha256) => Some(&signature::ECDSA_P384_SHA256_ASN1),
        (Curve::P384, Hash::Sha384) => Some(&signature::ECDSA_P384_SHA384_ASN1),
        _ => None,
    };
    if let Some(algorithm) = fast
        && point.first() == Some(&4)
    {
        return judged(UnparsedPublicKey::new(algorithm, point).verify(message, signature));
    }
    let Some((_, digest)) = digest_info(hash, message) else {
        return Signed::Unknown(format!("signed with {hash}"));
    };
    match curve {
        Curve::P256 => {
            use p256::ecdsa::{Signature, VerifyingKey};
            let key = VerifyingKey::from_sec1_bytes(point);
            let signature = Signature::from_der(signature);
            verified(key, signature, |key, signature| {
                // Shorter digests than the curve are filled up, which this library wants done beforehand.
                key.verify_prehash(&at_least(&digest, 32), signature)
            })
        }
        Curve::P384 => {
            use p384::ecdsa::{Signature, VerifyingKey};
            let key = VerifyingKey::from_sec1_bytes(point);
            let signature = Signature::from_der(signature);
            verified(key, signature, |key, signature| {
                key.verify_prehash(&at_least(&digest, 48), signature)
            })
        }
        Curve::P521 => {
            use p521::ecdsa::{Signature, VerifyingKey};
            let key = VerifyingKey::from_sec1_bytes(point);
            let signature = Signature::from_der(signature);
            verified(key, signature, |key, signature| {
                key.verify_prehash(&at_least(&digest, 66), signature)
            })
        }
        Curve::P224 | Curve::Other(_) => {
            Signed::Unknown("signed with a key on a curve that is not known here".to_owned())
        }
    }
}

fn verified<K, S, E>(
    key: Result<K, E>,
    signature: Result<S, E>,
    verify: impl Fn(&K, &S) -> Result<(), E>,
) -> Signed {
    match (key, signature) {
        (Ok(key), Ok(signature)) => judged(verify(&key, &signature)),
        (Err(_), _) => Signed::Unknown("the key is no point of its curve".to_owned()),
        (_, Err(_)) => Signed::No,
    }
}

/// The digest as a number of at least this many octets.
fn at_least(digest: &[u8], octets: usize) -> Vec<u8> {
    let zeros = octets.saturating_sub(digest.len());
    [vec![0; zeros], digest.to_vec()].concat()
}

fn judged<E>(result: Result<(), E>) -> Signed {
    match result {
        Ok(()) => Signed::Yes,
        Err(_) => Signed::No,
    }
}

/// The start of a `DigestInfo` (RFC 8017, 9.2) and the digest; `None` = the hash is not computed here.
fn digest_info(hash: Hash, message: &[u8]) -> Option<(&'static [u8], Vec<u8>)> {
    let (prefix, algorithm): (&[u8], _) = match hash {
        Hash::Sha1 => (SHA1, &digest::SHA1_FOR_LEGACY_USE_ONLY),
        Hash::Sha256 => (SHA256, &digest::SHA256),
        Hash::Sha384 => (SHA384, &digest::SHA384),
        Hash::Sha512 => (SHA512, &digest::SHA512),
        Hash::Sha224 => return Some((SHA224, sha224(message))),
        Hash::Md5 => return None,
    };
    Some((prefix, digest::digest(algorithm, message).as_ref().to_vec()))
}

fn sha224(message: &[u8]) -> Vec<u8> {
    use sha2::Digest;
    sha2::Sha224::digest(message).to_vec()
}

/// Longer keys cost more time than any answer is worth; OpenSSL's limit.
const LONGEST_MODULUS: usize = 16_384;
const LONGEST_EXPONENT: usize = 8;

const SHA1: &[u8] = &[
    0x30, 0x21, 0x30, 0x09, 0x06, 0x05, 0x2b, 0x0e, 0x03, 0x02, 0x1a, 0x05, 0x00, 0x04, 0x14,
];
const SHA224: &[u8] = &[
    0x30, 0x2d, 0x30, 0x0d, 0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x04, 0x05,
    0x00, 0x04, 0x1c,
];
const SHA256: &[u8] = &[
    0x30, 0x31, 0x30, 0x0d, 0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01, 0x05,
    0x00, 0x04, 0x20,
];
const SHA384: &[u8] = &[
    0x30, 0x41, 0x30, 0x0d, 0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x02, 0x05,
    0x00, 0x04, 0x30,
];
const SHA512: &[u8] = &[
    0x30, 0x51, 0x30, 0x0d, 0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x03, 0x05,
    0x00, 0x04, 0x40,
];
