//! TLS to member clusters, with failures told in the words of Go's `crypto/x509`.

use std::sync::{Arc, Mutex};

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::{FromDer, X509Certificate};

use crate::certificates::{Leaf, provider};
use crate::lock::lock;

/// What a client of a member cluster trusts.
#[derive(Debug, Clone)]
pub(crate) struct Trust {
    /// PEM; `None` = no authority, which trusts nobody.
    pub(crate) authority: Option<Vec<u8>>,
    pub(crate) insecure: bool,
    /// The cluster proxy speaks nothing older than TLS 1.3.
    pub(crate) tls13_only: bool,
}

/// Completes a TLS handshake for `host`.
///
/// # Errors
/// The text that a Go client logs.
pub(crate) async fn handshake(
    stream: TcpStream,
    host: &str,
    trust: &Trust,
) -> Result<TlsStream<TcpStream>, String> {
    let name = ServerName::try_from(host.to_owned())
        .map_err(|_| format!("tls: invalid server name {host}"))?;
    let verifier = Arc::new(Verifier::new(trust));
    let versions: &[&rustls::SupportedProtocolVersion] = if trust.tls13_only {
        &[&rustls::version::TLS13]
    } else {
        &[&rustls::version::TLS12, &rustls::version::TLS13]
    };
    let config = ClientConfig::builder_with_provider(provider())
        .with_protocol_versions(versions)
        .map_err(|error| error.to_string())?
        .dangerous()
        .with_custom_certificate_verifier(verifier.clone())
        .with_no_client_auth();
    TlsConnector::from(Arc::new(config))
        .connect(name, stream)
        .await
        .map_err(|error| {
            let judged = lock(&verifier.failure).take();
            judged.map_or_else(
                || {
                    if error.kind() == std::io::ErrorKind::UnexpectedEof {
                        "EOF".to_owned()
                    } else {
                        error.to_string()
                    }
                },
                |reason| format!("tls: failed to verify certificate: {reason}"),
            )
        })
}

/// The TLS configuration of a client that shows this certificate and believes every server.
pub(crate) fn blind(client: &Leaf) -> Arc<ClientConfig> {
    let anybody = Trust {
        authority: None,
        insecure: true,
        tls13_only: false,
    };
    let config = ClientConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS12, &rustls::version::TLS13])
        .expect("ring knows both versions")
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Verifier::new(&anybody)))
        .with_client_auth_cert(vec![client.certificate.clone()], client.key())
        .expect("the key belongs to the certificate");
    Arc::new(config)
}

/// Verifies as webpki does, and remembers why it refused.
#[derive(Debug)]
struct Verifier {
    /// `None` = there is no authority to verify with.
    webpki: Option<Arc<WebPkiServerVerifier>>,
    insecure: bool,
    failure: Mutex<Option<String>>,
}

impl Verifier {
    fn new(trust: &Trust) -> Self {
        let mut roots = RootCertStore::empty();
        let pem = trust.authority.as_deref().unwrap_or_default();
        roots.add_parsable_certificates(CertificateDer::pem_slice_iter(pem).flatten());
        let webpki = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider())
            .build()
            .ok();
        Self {
            webpki,
            insecure: trust.insecure,
            failure: Mutex::new(None),
        }
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        leaf: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if self.insecure {
            return Ok(ServerCertVerified::assertion());
        }
        let verified = match &self.webpki {
            Some(webpki) => webpki.verify_server_cert(leaf, intermediates, name, ocsp, now),
            None => Err(Error::InvalidCertificate(CertificateError::UnknownIssuer)),
        };
        verified.inspect_err(|error| *lock(&self.failure) = Some(describe(leaf, name, error)))
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        rustls::crypto::verify_tls12_signature(
            message,
            certificate,
            signed,
            &provider().signature_verification_algorithms,
        )
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        rustls::crypto::verify_tls13_signature(
            message,
            certificate,
            signed,
            &provider().signature_verification_algorithms,
        )
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        provider()
            .signature_verification_algorithms
            .supported_schemes()
    }
}

/// Go judges dates first, then the name, then the chain.
fn describe(leaf: &CertificateDer, name: &ServerName, error: &Error) -> String {
    let Ok((_, certificate)) = X509Certificate::from_der(leaf) else {
        return "x509: malformed certificate".to_owned();
    };
    if let Error::InvalidCertificate(
        CertificateError::ExpiredContext { .. } | CertificateError::Expired,
    ) = error
    {
        return "x509: certificate has expired or is not yet valid".to_owned();
    }
    let (names, addresses) = subject_alternative_names(&certificate);
    let host = name.to_str();
    let valid = if matches!(name, ServerName::IpAddress(_)) {
        &addresses
    } else {
        &names
    };
    if !valid.iter().any(|valid| valid.eq_ignore_ascii_case(&host)) {
        return match (name, valid.is_empty()) {
            (ServerName::IpAddress(_), true) => {
                format!(
                    "x509: cannot validate certificate for {host} because it doesn't contain any IP SANs"
                )
            }
            (_, true) => {
                format!("x509: certificate is not valid for any names, but wanted to match {host}")
            }
            _ => format!(
                "x509: certificate is valid for {}, not {host}",
                valid.join(", ")
            ),
        };
    }
    match error {
        Error::InvalidCertificate(CertificateError::UnknownIssuer) => UNKNOWN_AUTHORITY.to_owned(),
        // An authority of the same name with another key.
        Error::InvalidCertificate(CertificateError::BadSignature) => {
            let issuer = certificate
                .issuer()
                .iter_common_name()
                .next()
                .and_then(|name| name.as_str().ok())
                .unwrap_or_default();
            format!(
                "{UNKNOWN_AUTHORITY} (possibly because of \"x509: ECDSA verification failure\" while trying to verify candidate authority certificate \"{issuer}\")"
            )
        }
        other => format!("x509: {other}"),
    }
}

const UNKNOWN_AUTHORITY: &str = "x509: certificate signed by unknown authority";

fn subject_alternative_names(certificate: &X509Certificate) -> (Vec<String>, Vec<String>) {
    let (mut names, mut addresses) = (Vec::new(), Vec::new());
    let extension = certificate.subject_alternative_name().ok().flatten();
    for name in extension
        .iter()
        .flat_map(|extension| &extension.value.general_names)
    {
        match name {
            GeneralName::DNSName(name) => names.push((*name).to_owned()),
            GeneralName::IPAddress([a, b, c, d]) => addresses.push(format!("{a}.{b}.{c}.{d}")),
            GeneralName::IPAddress(bytes) => {
                if let Ok(bytes) = <[u8; 16]>::try_from(*bytes) {
                    addresses.push(std::net::Ipv6Addr::from(bytes).to_string());
                }
            }
            _ => {}
        }
    }
    (names, addresses)
}
