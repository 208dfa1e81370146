//! Private keys: what their public half is. Pure; nothing of the private half is returned.

use ring::signature::KeyPair;
use serde::Serialize;
use x509_parser::num_bigint::BigUint;

use crate::certificate::{Curve, PublicKey};
use crate::der::{self, Element};
use crate::material::Key;

/// How a private key is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum KeyForm {
    /// It needs a password.
    Encrypted,
    /// `RSA PRIVATE KEY` (RFC 8017, A.1.2).
    Pkcs1,
    /// `PRIVATE KEY` (RFC 5958).
    Pkcs8,
    /// `EC PRIVATE KEY` (RFC 5915).
    Sec1,
    /// Another one.
    Other,
}

/// The key in DER under a label of PEM; `None` = the label is not that of a private key.
pub(super) fn labelled(label: &str, encrypted: bool, content: &[u8]) -> Option<Key> {
    if !label.ends_with("PRIVATE KEY") {
        return None;
    }
    if encrypted || label == "ENCRYPTED PRIVATE KEY" {
        return Some(Key {
            form: KeyForm::Encrypted,
            public: None,
            defect: None,
        });
    }
    // Go tries every form under every label, and so do the others.
    Some(in_der(content).unwrap_or(Key {
        form: match label {
            "RSA PRIVATE KEY" => KeyForm::Pkcs1,
            "EC PRIVATE KEY" => KeyForm::Sec1,
            "PRIVATE KEY" => KeyForm::Pkcs8,
            _ => KeyForm::Other,
        },
        public: None,
        defect: Some(match label {
            "OPENSSH PRIVATE KEY" | "DSA PRIVATE KEY" => {
                format!("is an {label}, which TLS does not use")
            }
            _ => "holds no private key that can be read".to_owned(),
        }),
    }))
}

/// The key that these bytes are in DER; `None` = none.
pub(super) fn in_der(bytes: &[u8]) -> Option<Key> {
    let outer = der::first(bytes)?.0;
    let fields = outer.of(der::SEQUENCE).map(|_| outer.children())?;
    let fields: Vec<Element<'_>> = fields.take(MOST_FIELDS).collect();
    match fields.as_slice() {
        [version, algorithm, key, ..]
            if version.tag == der::INTEGER
                && algorithm.tag == der::SEQUENCE
                && key.tag == der::OCTET_STRING =>
        {
            pkcs8(algorithm, key.content)
        }
        [version, scalar, rest @ ..]
            if version.content == [1] && scalar.tag == der::OCTET_STRING =>
        {
            let curve = rest
                .iter()
                .find(|field| field.tag == der::CONTEXT_0)
                .and_then(|field| curve(field.children().next()?));
            Some(ec(KeyForm::Sec1, curve, scalar.content))
        }
        [version, numbers @ ..] if version.tag == der::INTEGER && numbers.len() >= 5 => {
            rsa(KeyForm::Pkcs1, numbers)
        }
        _ => None,
    }
}

fn pkcs8(algorithm: &Element<'_>, key: &[u8]) -> Option<Key> {
    let mut parts = algorithm.children();
    let oid = parts.next()?.of(der::OBJECT_IDENTIFIER)?;
    match oid {
        RSA => {
            let numbers: Vec<Element<'_>> = der::first(key)?.0.children().skip(1).take(8).collect();
            rsa(KeyForm::Pkcs8, &numbers)
        }
        EC => {
            let curve = parts.next().and_then(curve);
            let inner = der::first(key)?.0;
            let scalar = inner.children().nth(1)?.of(der::OCTET_STRING)?;
            Some(ec(KeyForm::Pkcs8, curve, scalar))
        }
        ED25519 => {
            let seed = der::first(key)?.0.of(der::OCTET_STRING)?;
            let pair = ring::signature::Ed25519KeyPair::from_seed_unchecked(seed);
            Some(Key {
                form: KeyForm::Pkcs8,
                defect: pair
                    .is_err()
                    .then(|| "has a seed of the wrong length".to_owned()),
                public: pair
                    .ok()
                    .map(|pair| PublicKey::Ed25519(pair.public_key().as_ref().to_vec())),
            })
        }
        _ => Some(Key {
            form: KeyForm::Pkcs8,
            public: None,
            defect: Some("is of a kind that TLS in Go and Rust does not know".to_owned()),
        }),
    }
}

fn rsa(form: KeyForm, numbers: &[Element<'_>]) -> Option<Key> {
    let number = |index: usize| {
        let number: &Element<'_> = numbers.get(index)?;
        number.of(der::INTEGER).map(der::unsigned)
    };
    let (modulus, exponent) = (number(0)?, number(1)?);
    Some(Key {
        form,
        public: Some(PublicKey::Rsa {
            modulus: modulus.to_vec(),
            exponent: exponent.to_vec(),
        }),
        defect: rsa_defect(modulus, [2, 3, 4, 5, 6, 7].map(number)),
    })
}

/// What is wrong with the numbers of an RSA key; the exponents of its factors and their coefficient may be absent in no form.
fn rsa_defect(modulus: &[u8], numbers: [Option<&[u8]>; 6]) -> Option<String> {
    let [Some(_), Some(p), Some(q), Some(dp), Some(dq), Some(_)] = numbers else {
        return Some("lacks numbers of an RSA key".to_owned());
    };
    if modulus.len() > LONGEST_MODULUS || p.len() > LONGEST_MODULUS || q.len() > LONGEST_MODULUS {
        return Some("is longer than any RSA key in use".to_owned());
    }
    let number = BigUint::from_bytes_be;
    let one = BigUint::from(1u32);
    let (p, q) = (number(p), number(q));
    if &p * &q != number(modulus) {
        return Some(
            "has factors whose product is not its modulus: it is damaged, and Go and Rust refuse it"
                .to_owned(),
        );
    }
    let d = numbers[0].map(number)?;
    let right =
        p > one && q > one && number(dp) == &d % (&p - &one) && number(dq) == &d % (&q - &one);
    (!right).then(|| {
        "has exponents that do not go with its factors: Go takes it, Rust clients (ring) do not"
            .to_owned()
    })
}

fn ec(form: KeyForm, curve: Option<Curve>, scalar: &[u8]) -> Key {
    let point = match &curve {
        Some(Curve::P256) => p256::SecretKey::from_slice(&sized(scalar, 32))
            .ok()
            .map(|key| {
                use p256::elliptic_curve::sec1::ToEncodedPoint;
                key.public_key().to_encoded_point(false).as_bytes().to_vec()
            }),
        Some(Curve::P384) => p384::SecretKey::from_slice(&sized(scalar, 48))
            .ok()
            .map(|key| {
                use p384::elliptic_curve::sec1::ToEncodedPoint;
                key.public_key().to_encoded_point(false).as_bytes().to_vec()
            }),
        Some(Curve::P521) => p521::SecretKey::from_slice(&sized(scalar, 66))
            .ok()
            .map(|key| {
                use p521::elliptic_curve::sec1::ToEncodedPoint;
                key.public_key().to_encoded_point(false).as_bytes().to_vec()
            }),
        Some(Curve::P224 | Curve::Other(_)) | None => None,
    };
    let known = matches!(curve, Some(Curve::P256 | Curve::P384 | Curve::P521));
    let defect = match (&curve, &point) {
        (None, _) => Some("does not say on which curve it is".to_owned()),
        (Some(_), None) if known => Some("has no valid scalar".to_owned()),
        (Some(Curve::Other(name)), _) => Some(format!("is on {name}, which Go does not know")),
        _ => None,
    };
    Key {
        form,
        public: curve
            .zip(point)
            .map(|(curve, point)| PublicKey::Ec { curve, point }),
        defect,
    }
}

/// The scalar in this many octets: leading zeros are added or taken away.
fn sized(scalar: &[u8], octets: usize) -> Vec<u8> {
    let scalar = der::unsigned(scalar);
    let zeros = octets.saturating_sub(scalar.len());
    [vec![0; zeros], scalar.to_vec()].concat()
}

fn curve(parameters: Element<'_>) -> Option<Curve> {
    let Some(content) = parameters.of(der::OBJECT_IDENTIFIER) else {
        return Some(Curve::Other("explicit parameters".to_owned()));
    };
    let oid = x509_parser::der_parser::oid::Oid::new(content.into());
    Some(Curve::of(&oid.to_id_string()))
}

const RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01];
const EC: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01];
const ED25519: &[u8] = &[0x2b, 0x65, 0x70];
const MOST_FIELDS: usize = 16;
const LONGEST_MODULUS: usize = 2048;
