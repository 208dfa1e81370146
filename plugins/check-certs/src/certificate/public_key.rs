//! Public keys, comparable whatever they were read from. Pure.

use serde::Serialize;
use x509_parser::x509::SubjectPublicKeyInfo;

use crate::der;

/// A public key.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum PublicKey {
    /// RSA; big-endian without leading zeros.
    Rsa {
        /// The modulus.
        #[serde(skip)]
        modulus: Vec<u8>,
        /// The public exponent.
        #[serde(skip)]
        exponent: Vec<u8>,
    },
    /// A point on an elliptic curve, with both coordinates where the curve is known.
    Ec {
        /// The curve.
        curve: Curve,
        /// The point (SEC 1, 2.3.3).
        #[serde(skip)]
        point: Vec<u8>,
    },
    /// Ed25519 (RFC 8410).
    Ed25519(#[serde(skip)] Vec<u8>),
    /// Something else, by its object identifier.
    Other {
        /// The object identifier with dots.
        oid: String,
        /// The key's bits.
        #[serde(skip)]
        bits: Vec<u8>,
    },
}

/// An elliptic curve.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Curve {
    /// NIST P-224, secp224r1.
    P224,
    /// NIST P-256, prime256v1.
    P256,
    /// NIST P-384, secp384r1.
    P384,
    /// NIST P-521, secp521r1.
    P521,
    /// Another one, by its object identifier, or by its parameters.
    Other(String),
}

impl Curve {
    /// The curve of an object identifier with dots.
    pub fn of(oid: &str) -> Curve {
        match oid {
            "1.3.132.0.33" => Curve::P224,
            "1.2.840.10045.3.1.7" => Curve::P256,
            "1.3.132.0.34" => Curve::P384,
            "1.3.132.0.35" => Curve::P521,
            "1.3.132.0.10" => Curve::Other("secp256k1".to_owned()),
            "1.3.36.3.3.2.8.1.1.7" => Curve::Other("brainpoolP256r1".to_owned()),
            "1.3.36.3.3.2.8.1.1.11" => Curve::Other("brainpoolP384r1".to_owned()),
            other => Curve::Other(other.to_owned()),
        }
    }
}

impl PublicKey {
    /// The key of a certificate.
    pub fn of(info: &SubjectPublicKeyInfo<'_>) -> PublicKey {
        let oid = info.algorithm.algorithm.to_id_string();
        let bits: &[u8] = &info.subject_public_key.data;
        let parameters = info.algorithm.parameters.as_ref();
        match oid.as_str() {
            // id-RSASSA-PSS keys have the form of RSA keys, but neither Go nor rustls takes them.
            RSA => rsa(bits),
            EC => {
                let curve = parameters
                    .and_then(|parameters| parameters.clone().oid().ok())
                    .map_or(Curve::Other("explicit parameters".to_owned()), |oid| {
                        Curve::of(&oid.to_id_string())
                    });
                let point = whole_point(&curve, bits).unwrap_or_else(|| bits.to_vec());
                Some(PublicKey::Ec { curve, point })
            }
            ED25519 => Some(PublicKey::Ed25519(bits.to_vec())),
            _ => None,
        }
        .unwrap_or_else(|| PublicKey::Other {
            oid,
            bits: bits.to_vec(),
        })
    }

    /// Whether Go can verify signatures with it.
    pub fn is_known_to_go(&self) -> bool {
        !matches!(
            self,
            PublicKey::Other { .. }
                | PublicKey::Ec {
                    curve: Curve::Other(_),
                    ..
                }
        )
    }

    /// How people call it, as `RSA 2048` or `ECDSA P-256`.
    pub fn name(&self) -> String {
        match self {
            PublicKey::Rsa { modulus, .. } => format!("RSA {}", bit_length(modulus)),
            PublicKey::Ec { curve, .. } => match curve {
                Curve::P224 => "ECDSA P-224".to_owned(),
                Curve::P256 => "ECDSA P-256".to_owned(),
                Curve::P384 => "ECDSA P-384".to_owned(),
                Curve::P521 => "ECDSA P-521".to_owned(),
                Curve::Other(name) => format!("ECDSA {name}"),
            },
            PublicKey::Ed25519(_) => "Ed25519".to_owned(),
            PublicKey::Other { oid, .. } => match oid.as_str() {
                "1.3.101.113" => "Ed448".to_owned(),
                "1.2.840.10040.4.1" => "DSA".to_owned(),
                "1.2.840.113549.1.1.10" => "RSA-PSS".to_owned(),
                other => other.to_owned(),
            },
        }
    }
}

/// A compressed point with both its coordinates; `None` = it is not compressed, or the curve is not known here.
fn whole_point(curve: &Curve, point: &[u8]) -> Option<Vec<u8>> {
    if !matches!(point.first(), Some(2 | 3)) {
        return None;
    }
    match curve {
        Curve::P256 => {
            use p256::elliptic_curve::sec1::ToEncodedPoint;
            let key = p256::PublicKey::from_sec1_bytes(point).ok()?;
            Some(key.to_encoded_point(false).as_bytes().to_vec())
        }
        Curve::P384 => {
            use p384::elliptic_curve::sec1::ToEncodedPoint;
            let key = p384::PublicKey::from_sec1_bytes(point).ok()?;
            Some(key.to_encoded_point(false).as_bytes().to_vec())
        }
        Curve::P521 => {
            use p521::elliptic_curve::sec1::ToEncodedPoint;
            let key = p521::PublicKey::from_sec1_bytes(point).ok()?;
            Some(key.to_encoded_point(false).as_bytes().to_vec())
        }
        Curve::P224 | Curve::Other(_) => None,
    }
}

/// How many bits a big-endian number without leading zeros has.
pub fn bit_length(number: &[u8]) -> usize {
    match number.first() {
        Some(first) => number.len() * 8 - first.leading_zeros() as usize,
        None => 0,
    }
}

/// An `RSAPublicKey` (RFC 8017, A.1.1).
pub fn rsa(bits: &[u8]) -> Option<PublicKey> {
    let mut numbers = der::only(bits)?.children();
    let modulus = numbers.next()?.of(der::INTEGER)?;
    let exponent = numbers.next()?.of(der::INTEGER)?;
    Some(PublicKey::Rsa {
        modulus: der::unsigned(modulus).to_vec(),
        exponent: der::unsigned(exponent).to_vec(),
    })
}

const RSA: &str = "1.2.840.113549.1.1.1";
const EC: &str = "1.2.840.10045.2.1";
const ED25519: &str = "1.3.101.112";
