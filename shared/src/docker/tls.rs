//! The TLS configuration for a daemon behind a TCP port. Reads the files that it is made of.

use std::path::Path;
use std::sync::Arc;

use rustls::ClientConfig;
use rustls::client::danger::ServerCertVerifier;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls_platform_verifier::Verifier;

use crate::docker::endpoint::{ServerCheck, TlsFiles};
use crate::docker::error::DockerError;
use crate::tls::AnyCertificate;

/// Builds the configuration.
///
/// # Errors
/// A file that cannot be read or holds no certificate or key.
pub(crate) fn config(files: &TlsFiles) -> Result<Arc<ClientConfig>, DockerError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = verifier(files, &provider)?;
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("ring supports the default versions of TLS")
        .dangerous()
        .with_custom_certificate_verifier(verifier);
    let Some(client) = &files.client else {
        return Ok(Arc::new(builder.with_no_client_auth()));
    };
    let chain = certificates(&client.certificate)?;
    let key = PrivateKeyDer::from_pem_file(&client.key)
        .map_err(|error| unusable(&client.key, error, "it holds no private key in PEM"))?;
    builder
        .with_client_auth_cert(chain, key)
        .map(Arc::new)
        .map_err(|error| DockerError::TlsFile {
            path: client.key.clone(),
            problem: error.to_string(),
        })
}

fn verifier(
    files: &TlsFiles,
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<dyn ServerCertVerifier>, DockerError> {
    if files.server == ServerCheck::Skip {
        return Ok(Arc::new(AnyCertificate(provider.clone())));
    }
    let extra = match &files.ca {
        Some(path) => certificates(path)?,
        None => Vec::new(),
    };
    let verifier = Verifier::new_with_extra_roots(extra, provider.clone()).map_err(|error| {
        DockerError::TlsFile {
            path: files.ca.clone().unwrap_or_default(),
            problem: error.to_string(),
        }
    })?;
    Ok(Arc::new(verifier))
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, DockerError> {
    let certificates = CertificateDer::pem_file_iter(path)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| unusable(path, error, "it is not PEM"))?;
    if certificates.is_empty() {
        return Err(DockerError::TlsFile {
            path: path.to_owned(),
            problem: "it holds no certificate in PEM".to_owned(),
        });
    }
    Ok(certificates)
}

/// The parser's own words are not passed on: they may quote the file.
fn unusable(path: &Path, error: pem::Error, problem: &str) -> DockerError {
    match error {
        pem::Error::Io(source) => DockerError::Unreadable {
            path: path.to_owned(),
            source,
        },
        _ => DockerError::TlsFile {
            path: path.to_owned(),
            problem: problem.to_owned(),
        },
    }
}
