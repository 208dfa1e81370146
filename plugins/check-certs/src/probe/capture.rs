//! A handshake that ends once the server has shown its certificates.

use std::sync::{Arc, Mutex};

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, SignatureScheme};
use tokio_rustls::TlsConnector;

use crate::certificate::address_of;
use crate::probe::Shown;
use crate::probe::connect::Stream;

/// The certificates that the server at the other end shows to clients that ask for this host, in DER.
///
/// They are taken as soon as they are there: a server that then asks for a client certificate, or proves its key in a way that is
/// not known here, has shown them all the same.
pub(super) async fn certificates(stream: Box<dyn Stream>, host: &str) -> Shown {
    let seen = Arc::new(Seen::default());
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .dangerous()
        .with_custom_certificate_verifier(Arc::clone(&seen) as Arc<dyn ServerCertVerifier>)
        .with_no_client_auth();
    let ended = TlsConnector::from(Arc::new(config))
        .connect(name(host), stream)
        .await
        .map(|_| ());
    let shown = seen
        .chain
        .lock()
        .map(|mut chain| chain.take())
        .ok()
        .flatten();
    match (shown, ended) {
        (Some(chain), _) => Ok(chain),
        (None, Ok(())) => Err("it showed no certificate".to_owned()),
        (None, Err(error)) => Err(format!("no TLS handshake: {error}")),
    }
}

/// The name to ask for; one that cannot be sent is not.
fn name(host: &str) -> ServerName<'static> {
    let unspecified = ServerName::IpAddress(std::net::IpAddr::from([0, 0, 0, 0]).into());
    match address_of(host) {
        Some(address) => ServerName::IpAddress(address.into()),
        None => ServerName::try_from(host.trim_end_matches('.').to_owned()).unwrap_or(unspecified),
    }
}

/// Keeps what it is shown, and accepts it.
#[derive(Debug, Default)]
struct Seen {
    chain: Mutex<Option<Vec<Vec<u8>>>>,
}

impl ServerCertVerifier for Seen {
    fn verify_server_cert(
        &self,
        leaf: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let chain = [leaf].into_iter().chain(intermediates);
        if let Ok(mut seen) = self.chain.lock() {
            *seen = Some(chain.map(|certificate| certificate.to_vec()).collect());
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _leaf: &CertificateDer<'_>,
        _signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _message: &[u8],
        _leaf: &CertificateDer<'_>,
        _signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    /// Every scheme, so that a server with an unusual key shows its certificate too. Nothing is sent to it afterwards.
    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![
            SignatureScheme::ECDSA_NISTP256_SHA256,
            SignatureScheme::ECDSA_NISTP384_SHA384,
            SignatureScheme::ECDSA_NISTP521_SHA512,
            SignatureScheme::ED25519,
            SignatureScheme::ED448,
            SignatureScheme::RSA_PSS_SHA256,
            SignatureScheme::RSA_PSS_SHA384,
            SignatureScheme::RSA_PSS_SHA512,
            SignatureScheme::RSA_PKCS1_SHA256,
            SignatureScheme::RSA_PKCS1_SHA384,
            SignatureScheme::RSA_PKCS1_SHA512,
            SignatureScheme::RSA_PKCS1_SHA1,
            SignatureScheme::ECDSA_SHA1_Legacy,
        ]
    }
}
