//! Reads a certificate from DER. Pure.

use std::collections::BTreeSet;

use jiff::Timestamp;
use sha2::{Digest, Sha256};
use x509_parser::certificate::X509Certificate;
use x509_parser::extensions::{GeneralName, ParsedExtension, X509Extension};
use x509_parser::prelude::FromDer;
use x509_parser::x509::{AttributeTypeAndValue, X509Name};

use crate::certificate::{
    AlternativeName, BasicConstraints, Certificate, Curve, Defect, ExtendedUsage, Fingerprint,
    KeyUsage, NameConstraints, PublicKey, SignatureAlgorithm, hexadecimal,
};
use crate::der;

/// These bytes are no certificate; why.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unparsable(pub String);

impl Certificate {
    /// Reads a certificate; what follows it is a defect of it.
    ///
    /// # Errors
    /// When the bytes are not those of a certificate.
    pub fn parse(bytes: &[u8]) -> Result<Certificate, Unparsable> {
        let (rest, parsed) = X509Certificate::from_der(bytes)
            .map_err(|error| Unparsable(format!("is no X.509 certificate: {}", short(&error))))?;
        let der = bytes[..bytes.len() - rest.len()].to_vec();
        let mut certificate = Certificate {
            fingerprint: Fingerprint(Sha256::digest(&der).into()),
            version: parsed.version.0.saturating_add(1),
            serial: hexadecimal(parsed.raw_serial()),
            subject: name_text(&parsed.subject),
            subject_der: parsed.subject.as_raw().to_vec(),
            issuer: name_text(&parsed.issuer),
            issuer_der: parsed.issuer.as_raw().to_vec(),
            common_names: texts(parsed.subject.iter_common_name()),
            organizations: texts(parsed.subject.iter_organization()),
            not_before: time(parsed.validity.not_before.timestamp()),
            not_after: time(parsed.validity.not_after.timestamp()),
            public_key: PublicKey::of(&parsed.subject_pki),
            signature_algorithm: SignatureAlgorithm::of(&parsed.signature_algorithm),
            names: None,
            basic_constraints: None,
            key_usage: None,
            extended_usages: None,
            subject_key_identifier: None,
            authority_key_identifier: None,
            authority_serial: None,
            name_constraints: None,
            defects: Vec::new(),
            der: Vec::new(),
        };
        certificate.look_at_form(&parsed, &der);
        if !rest.is_empty() {
            let count = rest.len();
            certificate.defects.push(Defect::TrailingBytes(count));
        }
        let mut seen = BTreeSet::new();
        for extension in parsed.extensions() {
            let oid = extension.oid.to_id_string();
            if !seen.insert(oid.clone()) {
                let name = extension_name(&oid);
                certificate.defects.push(Defect::DuplicateExtension(name));
                continue;
            }
            certificate.take(extension, &oid);
        }
        certificate.der = der;
        Ok(certificate)
    }

    fn look_at_form(&mut self, parsed: &X509Certificate<'_>, der: &[u8]) {
        if parsed
            .raw_serial()
            .first()
            .is_some_and(|first| first & 0x80 != 0)
        {
            self.defects.push(Defect::NegativeSerial);
        }
        if parsed.signature != parsed.signature_algorithm {
            self.defects.push(Defect::AlgorithmsDiffer);
        }
        let point: &[u8] = &parsed.subject_pki.subject_public_key.data;
        if let PublicKey::Ec { curve, .. } = &self.public_key
            && !matches!(curve, Curve::Other(_))
            && point.first() != Some(&4)
        {
            self.defects.push(Defect::CompressedPoint);
        }
        for element in validity_of(der) {
            let text = String::from_utf8_lossy(element.content).into_owned();
            match form_of_time(element.tag, element.content) {
                TimeForm::Plain => {}
                TimeForm::Odd => self.defects.push(Defect::OddTime(text)),
                TimeForm::Malformed => self.defects.push(Defect::MalformedTime(text)),
            }
        }
    }

    fn take(&mut self, extension: &X509Extension<'_>, oid: &str) {
        match extension.parsed_extension() {
            ParsedExtension::SubjectAlternativeName(names) => {
                let read: Vec<_> = names.general_names.iter().map(alternative_name).collect();
                self.names = Some(
                    read.iter()
                        .filter_map(|name| name.as_ref().ok().cloned())
                        .collect(),
                );
                let bad = read.into_iter().filter_map(Result::err);
                self.defects.extend(bad.map(Defect::BadName));
            }
            ParsedExtension::BasicConstraints(constraints) => {
                self.basic_constraints = Some(BasicConstraints {
                    ca: constraints.ca,
                    path_length: constraints.path_len_constraint,
                });
            }
            ParsedExtension::KeyUsage(usage) => {
                self.key_usage = Some(KeyUsage {
                    digital_signature: usage.digital_signature(),
                    key_encipherment: usage.key_encipherment(),
                    certificate_sign: usage.key_cert_sign(),
                });
            }
            ParsedExtension::ExtendedKeyUsage(usage) => {
                let known = [
                    (usage.any, ExtendedUsage::Any),
                    (usage.server_auth, ExtendedUsage::ServerAuth),
                    (usage.client_auth, ExtendedUsage::ClientAuth),
                    (
                        usage.code_signing,
                        ExtendedUsage::Other("code-signing".into()),
                    ),
                    (usage.email_protection, ExtendedUsage::Other("email".into())),
                    (
                        usage.time_stamping,
                        ExtendedUsage::Other("time-stamping".into()),
                    ),
                    (
                        usage.ocsp_signing,
                        ExtendedUsage::Other("ocsp-signing".into()),
                    ),
                ];
                let others = usage
                    .other
                    .iter()
                    .map(|oid| ExtendedUsage::Other(oid.to_id_string()));
                self.extended_usages = Some(
                    known
                        .into_iter()
                        .filter_map(|(set, usage)| set.then_some(usage))
                        .chain(others)
                        .collect(),
                );
            }
            ParsedExtension::SubjectKeyIdentifier(identifier) => {
                self.subject_key_identifier = Some(hexadecimal(identifier.0));
            }
            ParsedExtension::AuthorityKeyIdentifier(authority) => {
                self.authority_key_identifier = authority
                    .key_identifier
                    .as_ref()
                    .map(|id| hexadecimal(id.0));
                self.authority_serial = authority.authority_cert_serial.map(hexadecimal);
            }
            ParsedExtension::NameConstraints(constraints) => {
                let mut read = NameConstraints::default();
                let mut understood = true;
                for subtree in constraints.permitted_subtrees.iter().flatten() {
                    understood &= constrain(
                        &subtree.base,
                        &mut read.permitted_dns,
                        &mut read.permitted_ip,
                    );
                }
                for subtree in constraints.excluded_subtrees.iter().flatten() {
                    understood &=
                        constrain(&subtree.base, &mut read.excluded_dns, &mut read.excluded_ip);
                }
                self.name_constraints = Some(read);
                if extension.critical && !understood {
                    let name = "nameConstraints of a kind that Go does not know".to_owned();
                    self.defects.push(Defect::UnknownCritical(name));
                }
            }
            ParsedExtension::ParseError { .. } => {
                self.defects.push(Defect::BadExtension(extension_name(oid)));
            }
            _ if extension.critical && !KNOWN_TO_GO_IF_CRITICAL.contains(&oid) => {
                self.defects
                    .push(Defect::UnknownCritical(extension_name(oid)));
            }
            _ => {}
        }
    }
}

fn alternative_name(name: &GeneralName<'_>) -> Result<AlternativeName, String> {
    match name {
        GeneralName::DNSName(name) if name.is_ascii() => Ok(AlternativeName::Dns((*name).into())),
        GeneralName::DNSName(name) => Err((*name).to_owned()),
        GeneralName::IPAddress(octets) => {
            let four =
                <[u8; 4]>::try_from(*octets).map(|octets| AlternativeName::Ip(octets.into()));
            let sixteen =
                || <[u8; 16]>::try_from(*octets).map(|octets| AlternativeName::Ip(octets.into()));
            four.or_else(|_| sixteen())
                .map_err(|_| format!("IP address of {} octets", octets.len()))
        }
        GeneralName::RFC822Name(name) => Ok(AlternativeName::Other(format!("email:{name}"))),
        GeneralName::URI(uri) => Ok(AlternativeName::Other(format!("URI:{uri}"))),
        GeneralName::DirectoryName(name) => Ok(AlternativeName::Other(format!(
            "directory:{}",
            name_text(name)
        ))),
        GeneralName::Invalid(tag, bytes) if tag.0 <= 7 => {
            Err(String::from_utf8_lossy(bytes).into_owned())
        }
        GeneralName::OtherName(..)
        | GeneralName::X400Address(_)
        | GeneralName::EDIPartyName(_)
        | GeneralName::RegisteredID(_)
        | GeneralName::Invalid(..) => Ok(AlternativeName::Other("other name".to_owned())),
    }
}

/// Whether Go knows such a constraint.
fn constrain(base: &GeneralName<'_>, dns: &mut Vec<String>, ip: &mut Vec<Vec<u8>>) -> bool {
    match base {
        GeneralName::DNSName(domain) => dns.push((*domain).to_owned()),
        GeneralName::IPAddress(network) => ip.push(network.to_vec()),
        GeneralName::RFC822Name(_) | GeneralName::URI(_) => {}
        _ => return false,
    }
    true
}

/// The two times of a certificate, as elements.
fn validity_of(der: &[u8]) -> Vec<der::Element<'_>> {
    let validity = || {
        let signed = der::first(der)?.0.children().next()?;
        let mut fields = signed
            .children()
            .filter(|field| field.tag != der::CONTEXT_0);
        // After the version: serial number, signature, issuer, validity.
        fields.nth(3)
    };
    validity().map_or(Vec::new(), |validity| validity.children().take(2).collect())
}

enum TimeForm {
    Plain,
    Odd,
    Malformed,
}

/// How a time is written: as RFC 5280, 4.1.2.5 has it; as Go still reads it; otherwise.
fn form_of_time(tag: u8, content: &[u8]) -> TimeForm {
    let digits = content
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    let zone = &content[digits..];
    let offset = matches!(zone, [b'+' | b'-', rest @ ..] if rest.len() == 4 && rest.iter().all(u8::is_ascii_digit));
    match (tag, digits, zone) {
        (der::UTC_TIME, 12, b"Z") | (der::GENERALIZED_TIME, 14, b"Z") => TimeForm::Plain,
        (der::UTC_TIME, 10, b"Z") => TimeForm::Odd,
        (der::UTC_TIME, 10 | 12, _) | (der::GENERALIZED_TIME, 14, _) if offset => TimeForm::Odd,
        _ => TimeForm::Malformed,
    }
}

/// A time that fits; the end of time (RFC 5280, 4.1.2.5) is beyond what can be held and becomes the latest that can.
fn time(seconds: i64) -> Timestamp {
    Timestamp::from_second(seconds).unwrap_or(if seconds < 0 {
        Timestamp::MIN
    } else {
        Timestamp::MAX
    })
}

fn texts<'a, 'b: 'a>(
    attributes: impl Iterator<Item = &'a AttributeTypeAndValue<'b>>,
) -> Vec<String> {
    attributes
        .map(|attribute| String::from_utf8_lossy(attribute.as_slice()).into_owned())
        .collect()
}

fn name_text(name: &X509Name<'_>) -> String {
    name.to_string()
}

fn short(error: &impl std::fmt::Display) -> String {
    error.to_string().chars().take(120).collect()
}

fn extension_name(oid: &str) -> String {
    match oid {
        "2.5.29.14" => "subjectKeyIdentifier",
        "2.5.29.15" => "keyUsage",
        "2.5.29.17" => "subjectAltName",
        "2.5.29.19" => "basicConstraints",
        "2.5.29.30" => "nameConstraints",
        "2.5.29.35" => "authorityKeyIdentifier",
        "2.5.29.37" => "extKeyUsage",
        other => other,
    }
    .to_owned()
}

/// The extensions that Go accepts as critical, beside those that are read here (`crypto/x509`, `parseExtensions`).
const KNOWN_TO_GO_IF_CRITICAL: [&str; 5] = [
    "2.5.29.31",
    "2.5.29.32",
    "2.5.29.33",
    "2.5.29.36",
    "2.5.29.54",
];
