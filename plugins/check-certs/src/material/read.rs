//! Recognises what bytes are, whatever they are called. Pure; bounded in size, depth and number.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::certificate::Certificate;
use crate::der;
use crate::material::pem::{self, Block};
use crate::material::{Expectation, Fault, Found, Material, document, key, token};

/// Everything that is found in a value.
pub fn read(bytes: &[u8], expectation: Expectation) -> Vec<Found> {
    let mut reading = Reading { found: Vec::new() };
    reading.value(bytes, "", expectation, 0);
    reading.found
}

/// What was found so far.
pub(super) struct Reading {
    found: Vec<Found>,
}

impl Reading {
    pub(super) fn push(&mut self, inside: &str, what: Material) {
        if self.found.len() < MOST_FOUND {
            self.found.push(Found {
                inside: inside.to_owned(),
                what,
            });
        }
    }

    pub(super) fn fault(&mut self, inside: &str, fault: Fault) {
        self.push(inside, Material::Fault(fault));
    }

    /// Reads a value at this way inside, which was taken out of `depth` others.
    pub(super) fn value(
        &mut self,
        bytes: &[u8],
        inside: &str,
        expectation: Expectation,
        depth: usize,
    ) {
        if bytes.len() > LARGEST {
            return self.fault(inside, Fault::TooLarge(bytes.len()));
        }
        if bytes.iter().all(u8::is_ascii_whitespace) {
            if expectation != Expectation::Nothing {
                self.fault(inside, Fault::Empty);
            }
            return;
        }
        if depth > DEEPEST {
            return;
        }
        if let Some(text) = utf16(bytes) {
            let before = self.found.len();
            self.value(text.as_bytes(), inside, expectation, depth + 1);
            if self.found.len() > before {
                let reason = "is text in UTF-16, which Go does not read".to_owned();
                self.fault(inside, Fault::Invisible(reason));
            }
            return;
        }
        let recognised = self.document(bytes, inside, expectation, depth)
            || self.pem(bytes, inside, expectation)
            || self.der(bytes, inside)
            || self.token(bytes, inside)
            || self.base64(bytes, inside, expectation, depth);
        if !recognised && let Some(fault) = unrecognised(bytes, expectation) {
            self.fault(inside, fault);
        }
    }

    fn document(
        &mut self,
        bytes: &[u8],
        inside: &str,
        expectation: Expectation,
        depth: usize,
    ) -> bool {
        let before = self.found.len();
        document::read(self, bytes, inside, expectation, depth);
        self.found.len() > before
    }

    fn pem(&mut self, bytes: &[u8], inside: &str, expectation: Expectation) -> bool {
        if !pem::looks_like_pem(bytes) {
            return false;
        }
        let mut certificates = Vec::new();
        let (mut keys, mut visible) = (0, 0);
        let mut others = Vec::new();
        let mut faults = Vec::new();
        let blocks = pem::blocks(bytes);
        for (index, block) in blocks.iter().enumerate() {
            let block_of = |reason: &str| format!("block {} ({}) {reason}", index + 1, block.label);
            let encrypted = block
                .headers
                .iter()
                .any(|(name, value)| name == "Proc-Type" && value.contains("ENCRYPTED"));
            if CERTIFICATES.contains(&block.label.as_str()) {
                match certificate(block) {
                    Ok(certificate) => {
                        visible += usize::from(is_visible(block));
                        certificates.push(certificate);
                        faults.extend(
                            passed_over(block)
                                .map(|why| block_of(&why))
                                .map(Fault::PassedOver),
                        );
                    }
                    Err(reason) => faults.push(Fault::Unparsable(block_of(&reason))),
                }
            } else if let Some(content) = &block.content
                && let Some(key) = key::labelled(&block.label, encrypted, content)
            {
                keys += 1;
                self.push(inside, Material::Key(key));
                faults.extend(block.passed_over.map(block_of).map(Fault::PassedOver));
            } else if block.label.ends_with("PRIVATE KEY") {
                let reason = block.passed_over.unwrap_or("holds no base64");
                faults.push(Fault::Unparsable(block_of(reason)));
            } else {
                others.push(block.label.as_str());
            }
        }
        let nothing = certificates.is_empty() && keys == 0 && faults.is_empty();
        if nothing && matches!(expectation, Expectation::Certificate | Expectation::Key) {
            others.dedup();
            faults.push(Fault::Unparsable(match others.is_empty() {
                true => "holds no whole block of PEM".to_owned(),
                false => format!("holds nothing but {}", others.join(", ")),
            }));
        }
        if visible == 0 && !certificates.is_empty() {
            for fault in &mut faults {
                if let Fault::PassedOver(reason) = fault {
                    *fault = Fault::Invisible(std::mem::take(reason));
                }
            }
        }
        if !certificates.is_empty() {
            self.push(inside, Material::Certificates(certificates));
        }
        for fault in faults.into_iter().take(MOST_FAULTS) {
            self.fault(inside, fault);
        }
        true
    }

    fn der(&mut self, bytes: &[u8], inside: &str) -> bool {
        if let Some(name) = unopened(bytes) {
            self.fault(inside, Fault::Unopened(name));
            return true;
        }
        if bytes.first() != Some(&der::SEQUENCE) {
            return false;
        }
        let what = match Certificate::parse(bytes) {
            Ok(certificate) => Material::Certificates(vec![certificate]),
            Err(_) => match key::in_der(bytes) {
                Some(key) => Material::Key(key),
                None => return false,
            },
        };
        self.push(inside, what);
        self.fault(inside, Fault::Der);
        true
    }

    fn token(&mut self, bytes: &[u8], inside: &str) -> bool {
        let token = std::str::from_utf8(bytes).ok().and_then(token::token);
        let is_token = token.is_some();
        if let Some(token) = token {
            self.push(inside, Material::Token(token));
        }
        is_token
    }

    fn base64(
        &mut self,
        bytes: &[u8],
        inside: &str,
        expectation: Expectation,
        depth: usize,
    ) -> bool {
        let Some(decoded) = from_base64(bytes) else {
            return false;
        };
        let mut inner = Reading { found: Vec::new() };
        inner.value(&decoded, inside, Expectation::Nothing, depth + 1);
        let again = inner
            .found
            .iter()
            .find_map(|found| match found.what {
                Material::Fault(Fault::DoubleEncoded(times)) => Some(times),
                _ => None,
            })
            .unwrap_or(0);
        inner
            .found
            .retain(|found| !matches!(found.what, Material::Fault(Fault::DoubleEncoded(_))));
        if inner.found.is_empty() {
            return false;
        }
        // A setting may well be base64 of DER; only what was to be read as it is counts as encoded once too often.
        let meant =
            expectation != Expectation::Nothing || inner.found.iter().any(Found::is_material);
        for found in inner.found {
            if !matches!(found.what, Material::Fault(Fault::Der)) {
                self.push(inside, found.what);
            }
        }
        if meant {
            self.fault(inside, Fault::DoubleEncoded(again + 1));
        }
        true
    }
}

impl Found {
    fn is_material(&self) -> bool {
        !matches!(self.what, Material::Fault(_))
    }
}

/// The bytes that a text in base64 stands for, whatever its line breaks; `None` = it is not base64, or too short to be one.
pub(super) fn from_base64(bytes: &[u8]) -> Option<Vec<u8>> {
    let plausible = bytes
        .iter()
        .all(|byte| byte.is_ascii_alphanumeric() || b"+/=\r\n \t".contains(byte));
    if !plausible {
        return None;
    }
    let compact: Vec<u8> = bytes
        .iter()
        .copied()
        .filter(|byte| !byte.is_ascii_whitespace())
        .collect();
    if compact.len() < SHORTEST_BASE64 {
        return None;
    }
    STANDARD.decode(compact).ok()
}

fn certificate(block: &Block) -> Result<Certificate, String> {
    let Some(content) = &block.content else {
        return Err(block.passed_over.unwrap_or("holds no base64").to_owned());
    };
    let content = match block.label.as_str() {
        // What OpenSSL appends to a certificate that it trusts.
        "TRUSTED CERTIFICATE" => {
            der::first(content).map_or(content.as_slice(), |(first, _)| first.whole)
        }
        _ => content,
    };
    Certificate::parse(content).map_err(|error| error.to_string())
}

fn passed_over(block: &Block) -> Option<String> {
    if let Some(reason) = block.passed_over {
        return Some(format!("{reason}; Go passes over it"));
    }
    match block.label.as_str() {
        "CERTIFICATE" if block.headers.is_empty() => None,
        "CERTIFICATE" => {
            Some("has header lines; Go passes over it in a bundle of authorities".to_owned())
        }
        _ => Some("does not say CERTIFICATE; Go and rustls pass over it".to_owned()),
    }
}

/// Whether Go sees a certificate: one with header lines as that of a server or client, though not as an authority.
fn is_visible(block: &Block) -> bool {
    block.passed_over.is_none() && block.label == "CERTIFICATE"
}

/// What is said of bytes that were not recognised.
fn unrecognised(bytes: &[u8], expectation: Expectation) -> Option<Fault> {
    let what = match expectation {
        Expectation::Certificate => "certificate",
        Expectation::Key => "private key",
        Expectation::Kubeconfig => "kubeconfig",
        // Tokens need not be JWTs.
        Expectation::Token | Expectation::Nothing => return None,
    };
    Some(Fault::Unparsable(match bytes {
        [der::SEQUENCE, 0x81..=0x84, ..] => {
            format!("looks like DER, but is no {what} that can be read")
        }
        _ => format!("is no {what}: neither PEM, DER nor base64 of them"),
    }))
}

fn unopened(bytes: &[u8]) -> Option<&'static str> {
    if bytes.starts_with(&[0xfe, 0xed, 0xfe, 0xed]) {
        return Some("a Java keystore");
    }
    let outer = der::only(bytes)?;
    let first = outer
        .of(der::SEQUENCE)
        .and_then(|_| outer.children().next())?;
    match (first.tag, first.content) {
        (der::INTEGER, [3]) if outer.children().nth(1)?.tag == der::SEQUENCE => {
            let inner = outer.children().nth(1)?;
            let oid = inner.children().next()?.of(der::OBJECT_IDENTIFIER)?;
            oid.starts_with(PKCS7).then_some("a PKCS #12 keystore")
        }
        (der::OBJECT_IDENTIFIER, oid) if oid.starts_with(PKCS7) => Some("a PKCS #7 bundle"),
        _ => None,
    }
}

/// Text in UTF-16 with a byte order mark, as PowerShell writes it.
fn utf16(bytes: &[u8]) -> Option<String> {
    let (unit, rest): (fn([u8; 2]) -> u16, _) = match bytes {
        [0xff, 0xfe, rest @ ..] => (u16::from_le_bytes, rest),
        [0xfe, 0xff, rest @ ..] => (u16::from_be_bytes, rest),
        _ => return None,
    };
    let (pairs, _) = rest.as_chunks::<2>();
    let units: Vec<u16> = pairs.iter().map(|pair| unit(*pair)).collect();
    String::from_utf16(&units).ok()
}

const CERTIFICATES: [&str; 3] = ["CERTIFICATE", "X509 CERTIFICATE", "TRUSTED CERTIFICATE"];
const PKCS7: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x07];

const LARGEST: usize = 32 * 1024 * 1024;
const DEEPEST: usize = 4;
const MOST_FOUND: usize = 20_000;
const MOST_FAULTS: usize = 20;
const SHORTEST_BASE64: usize = 16;
