//! What is wrong with a TLS connection, in the words of Go's crypto/x509. Pure.

use std::fmt;

use jiff::Timestamp;
use rustls::{AlertDescription, CertificateError};

/// Why a TLS connection did not come about.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum TlsFault {
    /// The server's certificate is not signed by a trusted authority.
    UnknownAuthority,
    /// The server's certificate does not carry the name or address that was dialled.
    Name {
        /// The name or address.
        expected: String,
        /// What the certificate carries instead; empty = nothing, or not known.
        presented: Vec<String>,
    },
    /// The server's certificate has expired.
    Expired {
        /// Its notAfter; `None` = not known.
        not_after: Option<Timestamp>,
    },
    /// The server's certificate is not valid yet: often a clock that is behind.
    NotYetValid {
        /// Its notBefore; `None` = not known.
        not_before: Option<Timestamp>,
    },
    /// The server does not take our client certificate.
    ClientCertificate {
        /// The alert, as `CertificateExpired`.
        alert: String,
    },
    /// The server does not speak TLS.
    NotTls,
    /// Anything else, in rustls' words.
    Other(String),
}

impl TlsFault {
    /// Tells the faults of the server's certificate, of the client's and of the connection apart.
    pub fn of(error: &rustls::Error) -> TlsFault {
        match error {
            rustls::Error::InvalidCertificate(fault) => certificate_fault(fault),
            rustls::Error::InvalidMessage(rustls::InvalidMessage::InvalidContentType) => {
                TlsFault::NotTls
            }
            rustls::Error::AlertReceived(alert) if is_about_a_certificate(alert) => {
                TlsFault::ClientCertificate {
                    alert: format!("{alert:?}"),
                }
            }
            other => TlsFault::Other(other.to_string()),
        }
    }
}

impl fmt::Display for TlsFault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        const PREFIX: &str = "tls: failed to verify certificate: x509:";
        match self {
            TlsFault::UnknownAuthority => write!(
                formatter,
                "{PREFIX} certificate signed by unknown authority"
            ),
            TlsFault::Name {
                expected,
                presented,
            } if presented.is_empty() => {
                write!(
                    formatter,
                    "{PREFIX} certificate is not valid for {expected}"
                )
            }
            TlsFault::Name {
                expected,
                presented,
            } => {
                write!(
                    formatter,
                    "{PREFIX} certificate is valid for {}, not {expected}",
                    presented.join(", ")
                )
            }
            TlsFault::Expired { not_after } => {
                write!(
                    formatter,
                    "{PREFIX} certificate has expired{}",
                    since(not_after)
                )
            }
            TlsFault::NotYetValid { not_before } => match not_before {
                Some(time) => write!(
                    formatter,
                    "{PREFIX} certificate is not yet valid: valid from {time}"
                ),
                None => write!(formatter, "{PREFIX} certificate is not yet valid"),
            },
            TlsFault::ClientCertificate { alert } => {
                write!(
                    formatter,
                    "tls: the server rejected the client certificate ({alert})"
                )
            }
            TlsFault::NotTls => {
                formatter.write_str("the server gave HTTP response to HTTPS client")
            }
            TlsFault::Other(text) => write!(formatter, "tls: {text}"),
        }
    }
}

fn since(not_after: &Option<Timestamp>) -> String {
    not_after
        .map(|time| format!(": valid until {time}"))
        .unwrap_or_default()
}

fn certificate_fault(fault: &CertificateError) -> TlsFault {
    let time = |time: &rustls::pki_types::UnixTime| {
        Timestamp::from_second(i64::try_from(time.as_secs()).ok()?).ok()
    };
    match fault {
        // A rotated authority keeps its name, so that its signatures only turn out wrong.
        CertificateError::UnknownIssuer | CertificateError::BadSignature => {
            TlsFault::UnknownAuthority
        }
        CertificateError::NotValidForName => TlsFault::Name {
            expected: "the name of the server".to_owned(),
            presented: Vec::new(),
        },
        CertificateError::NotValidForNameContext {
            expected,
            presented,
        } => TlsFault::Name {
            expected: expected.to_str().into_owned(),
            presented: presented.iter().map(|name| bare_name(name)).collect(),
        },
        CertificateError::Expired => TlsFault::Expired { not_after: None },
        CertificateError::ExpiredContext { not_after, .. } => TlsFault::Expired {
            not_after: time(not_after),
        },
        CertificateError::NotValidYet => TlsFault::NotYetValid { not_before: None },
        CertificateError::NotValidYetContext { not_before, .. } => TlsFault::NotYetValid {
            not_before: time(not_before),
        },
        other => TlsFault::Other(rustls::Error::InvalidCertificate(other.clone()).to_string()),
    }
}

/// rustls shows a name as `DnsName("localhost")` or `IpAddress(127.0.0.1)`.
fn bare_name(shown: &str) -> String {
    let inner = shown
        .split_once('(')
        .and_then(|(_, rest)| rest.strip_suffix(')'));
    inner.unwrap_or(shown).trim_matches('"').to_owned()
}

fn is_about_a_certificate(alert: &AlertDescription) -> bool {
    matches!(
        alert,
        AlertDescription::BadCertificate
            | AlertDescription::UnsupportedCertificate
            | AlertDescription::CertificateRevoked
            | AlertDescription::CertificateExpired
            | AlertDescription::CertificateUnknown
            | AlertDescription::CertificateRequired
            | AlertDescription::UnknownCA
            | AlertDescription::NoCertificate
    )
}
