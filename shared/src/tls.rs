//! The certificate that a server presents, read by a handshake and judged as the control plane would judge it.

mod any_certificate;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, RootCertStore};
use serde::Serialize;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use x509_parser::extensions::{GeneralName, ParsedExtension};
use x509_parser::prelude::{FromDer, X509Certificate};

pub(crate) use any_certificate::AnyCertificate;

/// What a server presents in its handshake; public data only.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ServingCertificate {
    /// The DNS names and IP addresses of the subject alternative name extension (RFC 5280, 4.2.1.6), sorted.
    pub names: Vec<String>,
    /// The end of the validity period.
    pub not_after: Timestamp,
    /// The chain as presented, leaf first, in DER.
    #[serde(skip)]
    pub chain: Vec<Vec<u8>>,
}

/// How the control plane would judge a serving certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It is valid for the host and is signed by the authority.
    Valid,
    /// It does not name the host.
    WrongName,
    /// It is not signed by the authority.
    UnknownAuthority,
    /// Its validity has ended, or has not begun by this machine's clock.
    OutsideValidity,
    /// This library cannot judge it, although Karmada's might; why.
    Inconclusive(String),
}

impl ServingCertificate {
    /// Whether the certificate names this host: an IP address among its IP addresses, else a DNS name.
    pub fn covers(&self, host: &str) -> bool {
        let Ok(name) = ServerName::try_from(host.to_owned()) else {
            return false;
        };
        let Some(leaf) = self.chain.first() else {
            return false;
        };
        let leaf = CertificateDer::from(leaf.as_slice());
        rustls::server::ParsedCertificate::try_from(&leaf)
            .and_then(|leaf| rustls::client::verify_server_name(&leaf, &name))
            .is_ok()
    }

    /// The judgement against a bundle of authorities in PEM, for a host, at a time.
    pub fn verdict(&self, authorities: &[u8], host: &str, now: Timestamp) -> Verdict {
        let mut roots = RootCertStore::empty();
        let certificates: Vec<_> = CertificateDer::pem_slice_iter(authorities)
            .filter_map(Result::ok)
            .collect();
        if roots.add_parsable_certificates(certificates).0 == 0 {
            return Verdict::Inconclusive("the stored CA bundle holds no certificate".to_owned());
        }
        let verifier = match WebPkiServerVerifier::builder_with_provider(
            Arc::new(roots),
            Arc::new(ring::default_provider()),
        )
        .build()
        {
            Ok(verifier) => verifier,
            Err(error) => return Verdict::Inconclusive(error.to_string()),
        };
        let Some((leaf, intermediates)) = self.chain.split_first() else {
            return Verdict::Inconclusive("no certificate was presented".to_owned());
        };
        let Ok(name) = ServerName::try_from(host.to_owned()) else {
            return Verdict::WrongName;
        };
        let intermediates: Vec<CertificateDer<'_>> = intermediates
            .iter()
            .map(|der| CertificateDer::from(der.as_slice()))
            .collect();
        let since_epoch = Duration::from_secs(now.as_second().max(0).unsigned_abs());
        let judged = verifier.verify_server_cert(
            &CertificateDer::from(leaf.as_slice()),
            &intermediates,
            &name,
            &[],
            UnixTime::since_unix_epoch(since_epoch),
        );
        match judged {
            Ok(_) => Verdict::Valid,
            Err(rustls::Error::InvalidCertificate(error)) => match error {
                CertificateError::NotValidForName
                | CertificateError::NotValidForNameContext { .. } => Verdict::WrongName,
                // A rotated authority of the same name shows as a bad signature, not as an unknown issuer.
                CertificateError::UnknownIssuer | CertificateError::BadSignature => {
                    Verdict::UnknownAuthority
                }
                CertificateError::Expired
                | CertificateError::ExpiredContext { .. }
                | CertificateError::NotValidYet
                | CertificateError::NotValidYetContext { .. } => Verdict::OutsideValidity,
                other => Verdict::Inconclusive(format!("{other:?}")),
            },
            Err(other) => Verdict::Inconclusive(other.to_string()),
        }
    }

    /// Whether both leaves name the same issuer, and the same key of it as far as both tell.
    pub fn has_issuer_of(&self, other: &ServingCertificate) -> bool {
        match (self.issuer(), other.issuer()) {
            (Some((name, key)), Some((other_name, other_key))) => {
                let same_key = key.is_none() || other_key.is_none() || key == other_key;
                name == other_name && same_key
            }
            _ => false,
        }
    }

    /// The issuer's name in DER, and the identifier of its key.
    fn issuer(&self) -> Option<(Vec<u8>, Option<Vec<u8>>)> {
        let (_, leaf) = X509Certificate::from_der(self.chain.first()?).ok()?;
        let key =
            leaf.extensions()
                .iter()
                .find_map(|extension| match extension.parsed_extension() {
                    ParsedExtension::AuthorityKeyIdentifier(of) => of.key_identifier.clone(),
                    _ => None,
                });
        let key = key.map(|key| key.0.to_vec());
        Some((leaf.issuer().as_raw().to_vec(), key))
    }

    /// Reads a chain of certificates in PEM, leaf first.
    ///
    /// # Errors
    /// When there is no leaf, or it cannot be parsed.
    pub fn from_pem(pem: &[u8]) -> Result<ServingCertificate, HandshakeError> {
        let chain = CertificateDer::pem_slice_iter(pem)
            .filter_map(Result::ok)
            .map(|certificate| certificate.to_vec())
            .collect();
        ServingCertificate::from_chain(chain)
    }

    /// Reads a chain of certificates in DER, leaf first.
    ///
    /// # Errors
    /// When there is no leaf, or it cannot be parsed.
    pub fn from_chain(chain: Vec<Vec<u8>>) -> Result<ServingCertificate, HandshakeError> {
        let leaf = chain.first().ok_or(HandshakeError::NoCertificate)?;
        let (_, parsed) =
            X509Certificate::from_der(leaf).map_err(|_| HandshakeError::NoCertificate)?;
        let mut names: Vec<String> = parsed
            .subject_alternative_name()
            .ok()
            .flatten()
            .map(|extension| {
                extension
                    .value
                    .general_names
                    .iter()
                    .filter_map(shown)
                    .collect()
            })
            .unwrap_or_default();
        names.sort();
        names.dedup();
        let not_after = Timestamp::from_second(parsed.validity().not_after.timestamp())
            .unwrap_or(Timestamp::MAX);
        Ok(ServingCertificate {
            names,
            not_after,
            chain,
        })
    }
}

/// Reads the certificate that is served at an address, without trusting it.
///
/// # Errors
/// When no handshake comes about within `allowed`.
pub async fn serving_certificate(
    host: &str,
    port: u16,
    allowed: Duration,
) -> Result<ServingCertificate, HandshakeError> {
    tokio::time::timeout(allowed, handshake(host, port))
        .await
        .unwrap_or(Err(HandshakeError::Timeout(allowed)))
}

/// Why no certificate was read.
#[derive(Debug, thiserror::Error)]
pub enum HandshakeError {
    /// The address does not accept a connection.
    #[error("cannot connect")]
    Connect(#[source] std::io::Error),
    /// Something answers, but not with TLS.
    #[error("no TLS handshake")]
    Handshake(#[source] std::io::Error),
    /// The handshake brought no certificate that can be parsed.
    #[error("no readable certificate was presented")]
    NoCertificate,
    /// Nothing came in time.
    #[error("no answer within {}", crate::text::seconds(*.0))]
    Timeout(Duration),
}

async fn handshake(host: &str, port: u16) -> Result<ServingCertificate, HandshakeError> {
    let stream = TcpStream::connect((host, port))
        .await
        .map_err(HandshakeError::Connect)?;
    let provider = Arc::new(ring::default_provider());
    let config = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| HandshakeError::Handshake(std::io::Error::other(error)))?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(AnyCertificate(provider)))
        .with_no_client_auth();
    let name = host
        .parse::<IpAddr>()
        .map(|address| ServerName::IpAddress(address.into()))
        .or_else(|_| ServerName::try_from(host.to_owned()))
        .map_err(|error| HandshakeError::Handshake(std::io::Error::other(error)))?;
    let stream = TlsConnector::from(Arc::new(config))
        .connect(name, stream)
        .await
        .map_err(HandshakeError::Handshake)?;
    let (_, session) = stream.get_ref();
    let chain = session
        .peer_certificates()
        .unwrap_or_default()
        .iter()
        .map(|certificate| certificate.to_vec())
        .collect();
    ServingCertificate::from_chain(chain)
}

fn shown(name: &GeneralName<'_>) -> Option<String> {
    match name {
        GeneralName::DNSName(name) => Some((*name).to_owned()),
        GeneralName::IPAddress(bytes) => match bytes.len() {
            4 => <[u8; 4]>::try_from(*bytes)
                .ok()
                .map(|octets| IpAddr::from(octets).to_string()),
            16 => <[u8; 16]>::try_from(*bytes)
                .ok()
                .map(|octets| IpAddr::from(octets).to_string()),
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};

    use super::*;

    struct Served {
        certificate: ServingCertificate,
        authority: String,
        other_authority: String,
    }

    fn served(names: &[&str]) -> Served {
        let authority = |name: &str| {
            let mut params = CertificateParams::new(Vec::new()).expect("no names are valid names");
            params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
            params
                .distinguished_name
                .push(rcgen::DnType::CommonName, name);
            let key = KeyPair::generate().expect("the provider makes keys");
            CertifiedIssuer::self_signed(params, key).expect("an authority signs itself")
        };
        let (issuer, other) = (authority("ca"), authority("ca"));
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let key = KeyPair::generate().expect("the provider makes keys");
        let leaf = CertificateParams::new(names)
            .expect("the names of the test are valid")
            .signed_by(&key, &issuer)
            .expect("an authority signs");
        Served {
            certificate: ServingCertificate::from_chain(vec![leaf.der().to_vec()])
                .expect("a made certificate parses"),
            authority: issuer.pem(),
            other_authority: other.pem(),
        }
    }

    fn verdict(served: &Served, authority: &str, host: &str) -> Verdict {
        let now: Timestamp = "2026-11-30T12:00:00Z".parse().expect("a literal time");
        served.certificate.verdict(authority.as_bytes(), host, now)
    }

    #[test]
    fn judges_name_and_authority_apart() {
        let served = served(&["172.20.0.3", "k3d-a-server-0"]);
        assert_eq!(
            verdict(&served, &served.authority, "172.20.0.3"),
            Verdict::Valid
        );
        assert_eq!(
            verdict(&served, &served.authority, "k3d-a-server-0"),
            Verdict::Valid
        );
        assert_eq!(
            verdict(&served, &served.authority, "172.20.0.4"),
            Verdict::WrongName
        );
        assert_eq!(
            verdict(&served, &served.other_authority, "172.20.0.3"),
            Verdict::UnknownAuthority
        );
        assert!(matches!(
            verdict(&served, "", "172.20.0.3"),
            Verdict::Inconclusive(_)
        ));
    }

    #[test]
    fn tells_expired_from_wrong() {
        let served = served(&["172.20.0.3"]);
        let late: Timestamp = "5000-01-01T00:00:00Z".parse().expect("a literal time");
        assert_eq!(
            served
                .certificate
                .verdict(served.authority.as_bytes(), "172.20.0.3", late),
            Verdict::OutsideValidity
        );
    }

    #[test]
    fn an_address_is_covered_only_by_an_ip_name() {
        let served = served(&["172.20.0.3", "localhost"]);
        assert!(served.certificate.covers("172.20.0.3"));
        assert!(served.certificate.covers("localhost"));
        assert!(!served.certificate.covers("172.20.0.30"));
        assert_eq!(served.certificate.names, ["172.20.0.3", "localhost"]);
    }
}
