//! What can be wrong with the form of a certificate, and who refuses it for that. Pure.

use std::fmt;

use serde::Serialize;

/// A deviation from RFC 5280 that some client refuses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Defect {
    /// The algorithm inside the signed part is not the one outside.
    AlgorithmsDiffer,
    /// An extension cannot be read.
    BadExtension(String),
    /// An alternative name cannot be read.
    BadName(String),
    /// The public key's point is compressed.
    CompressedPoint,
    /// An extension is there twice.
    DuplicateExtension(String),
    /// A time in a form that DER does not allow, as it is written.
    OddTime(String),
    /// A time in a form that no client reads, as it is written.
    MalformedTime(String),
    /// The serial number is negative.
    NegativeSerial,
    /// Something follows the certificate.
    TrailingBytes(usize),
    /// An extension that must be understood, and that nobody here understands.
    UnknownCritical(String),
}

/// Who refuses a certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Refusal {
    /// OpenSSL or rustls does; Go, and with it Karmada and kubectl, does not.
    Others,
    /// Go does, and with it Karmada and kubectl.
    Go,
}

impl Defect {
    /// Who refuses the certificate for this.
    pub fn refused_by(&self) -> Refusal {
        match self {
            Defect::OddTime(_) => Refusal::Others,
            _ => Refusal::Go,
        }
    }
}

impl fmt::Display for Defect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Defect::AlgorithmsDiffer => f.write_str(
                "the signature algorithm in its signed part is not the one beside the signature; every client refuses that",
            ),
            Defect::BadExtension(name) => {
                write!(f, "its extension {name} cannot be read; Go refuses that")
            }
            Defect::BadName(name) => write!(
                f,
                "its alternative name {name} is malformed; Go refuses the whole certificate for that"
            ),
            Defect::CompressedPoint => {
                f.write_str("its public key is a compressed point, which Go does not read")
            }
            Defect::DuplicateExtension(name) => {
                write!(f, "its extension {name} is there twice; every client refuses that")
            }
            Defect::OddTime(text) => write!(
                f,
                "its time {text:?} is not in the form of DER; OpenSSL refuses that, Go does not"
            ),
            Defect::MalformedTime(text) => {
                write!(f, "its time {text:?} is malformed; Go refuses that")
            }
            Defect::NegativeSerial => {
                f.write_str("its serial number is negative; Go 1.23 and newer refuse that")
            }
            Defect::TrailingBytes(count) => {
                write!(f, "{count} bytes follow it; Go refuses that")
            }
            Defect::UnknownCritical(name) => write!(
                f,
                "its extension {name} is critical and unknown; every client refuses that"
            ),
        }
    }
}
