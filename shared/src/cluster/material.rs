//! Turns chosen kubeconfig entries into a client configuration; reads the files that they name.

use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderValue, Uri};
use kube::Config;
use kube::config::{AuthInfo, Cluster};
use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use secrecy::{ExposeSecret, SecretString};

use crate::cluster::error::ClusterError;
use crate::cluster::kubeconfig::without_userinfo;
use crate::cluster::proxy::{ProxyRules, known_scheme};
use crate::cluster::selection::{Selection, is_set};

/// A client configuration with all files read and no credential plugin in it.
///
/// # Errors
/// Everything that is wrong with the entries, before kube would say it less clearly or panic.
pub(crate) fn config(selection: &Selection, proxies: &ProxyRules) -> Result<Config, ClusterError> {
    let cluster = &selection.cluster;
    let server = server(cluster, &selection.user, &selection.cluster_label)?;
    let proxy = proxy(cluster, &server, proxies, &selection.cluster_label)?;
    let mut config = Config::new(server);
    config.default_retry = false;
    config.proxy_url = proxy;
    config.tls_server_name = cluster
        .tls_server_name
        .clone()
        .filter(|name| !name.is_empty());
    config.disable_compression = cluster.disable_compression == Some(true);
    config.accept_invalid_certs = cluster.insecure_skip_tls_verify == Some(true);
    config.root_cert = authorities(cluster, &selection.cluster_label)?;
    config.auth_info = credentials(&selection.user, &selection.user_label)?;
    Ok(config)
}

/// The certificates of a PEM bundle that can serve as trust anchors; text around the blocks is ignored (RFC 7468 2).
///
/// # Errors
/// What is wrong with the bundle, as the end of a sentence about it.
pub(crate) fn trust_anchors(pem: &[u8]) -> Result<Vec<Vec<u8>>, String> {
    let usable = |der: &CertificateDer<'_>| RootCertStore::empty().add(der.clone()).is_ok();
    let certificates: Vec<_> = CertificateDer::pem_slice_iter(pem)
        .filter_map(Result::ok)
        .collect();
    let anchors: Vec<Vec<u8>> = certificates
        .iter()
        .filter(|der| usable(der))
        .map(|der| der.to_vec())
        .collect();
    match (anchors.is_empty(), certificates.len()) {
        (false, _) => Ok(anchors),
        (true, 0) => Err(no_certificate(pem).to_owned()),
        (true, _) => Err("holds no certificate that can be trusted as an authority".to_owned()),
    }
}

fn no_certificate(pem: &[u8]) -> &'static str {
    match pem {
        [] => "is empty",
        [0x30, 0x81 | 0x82, ..] => "is in DER, not PEM",
        _ => "holds no certificate in PEM",
    }
}

/// The URL of the server; `host:port` alone is https where TLS is configured, else http, as client-go has it.
fn server(cluster: &Cluster, user: &AuthInfo, label: &str) -> Result<Uri, ClusterError> {
    let text = cluster.server.as_deref().unwrap_or_default().trim();
    let speaks_tls = cluster.insecure_skip_tls_verify == Some(true)
        || is_set(&cluster.certificate_authority)
        || is_set(&cluster.certificate_authority_data)
        || is_set(&user.client_certificate)
        || is_set(&user.client_certificate_data);
    let url = match text.contains("://") {
        true => text.to_owned(),
        false if speaks_tls => format!("https://{text}"),
        false => format!("http://{text}"),
    };
    let invalid = || ClusterError::InvalidServer {
        server: without_userinfo(text),
        of: label.to_owned(),
    };
    let url = url::Url::parse(&url).map_err(|_| invalid())?;
    let is_server = matches!(url.scheme(), "http" | "https")
        && url.host_str().is_some_and(|host| !host.is_empty())
        && url.query().is_none()
        && url.fragment().is_none();
    match is_server {
        true => url.as_str().parse().map_err(|_| invalid()),
        false => Err(invalid()),
    }
}

fn proxy(
    cluster: &Cluster,
    server: &Uri,
    rules: &ProxyRules,
    label: &str,
) -> Result<Option<Uri>, ClusterError> {
    let invalid = |of: String| ClusterError::InvalidProxy { of };
    match cluster.proxy_url.as_deref().filter(|url| !url.is_empty()) {
        // A proxy of the kubeconfig is meant for this server: NO_PROXY does not undo it.
        Some(url) => known_scheme(url)
            .map(Some)
            .ok_or_else(|| invalid(format!("proxy-url of {label}"))),
        None => rules
            .proxy_for(server)
            .map_err(|variable| invalid(variable.to_owned())),
    }
}

fn authorities(cluster: &Cluster, label: &str) -> Result<Option<Vec<Vec<u8>>>, ClusterError> {
    const DATA: &str = "certificate-authority-data";
    const FILE: &str = "certificate-authority";
    // An empty list keeps kube from asking the system for authorities that are not going to be used.
    if cluster.insecure_skip_tls_verify == Some(true) {
        return Ok(Some(Vec::new()));
    }
    let (data, file) = (
        &cluster.certificate_authority_data,
        &cluster.certificate_authority,
    );
    let Some((what, pem)) = bytes(data.as_deref(), file.as_deref(), [DATA, FILE], label)? else {
        return Ok(None);
    };
    trust_anchors(&pem)
        .map(Some)
        .map_err(|problem| unusable(what, label, problem))
}

/// The user entry with all files read and no credential plugin in it.
///
/// # Errors
/// Everything that is wrong with it.
pub(crate) fn credentials(user: &AuthInfo, label: &str) -> Result<AuthInfo, ClusterError> {
    let mut user = user.clone();
    user.exec = None;
    refuse_removed_providers(&user, label)?;
    identity(&mut user, label)?;
    user.token = token(&user, label)?;
    user.token_file = None;
    Ok(user)
}

fn refuse_removed_providers(user: &AuthInfo, label: &str) -> Result<(), ClusterError> {
    match &user.auth_provider {
        Some(provider) if provider.name != "oidc" => Err(ClusterError::UnknownAuthProvider {
            name: provider.name.clone(),
            of: label.to_owned(),
        }),
        _ => Ok(()),
    }
}

/// Replaces the client certificate and key by their content.
fn identity(user: &mut AuthInfo, label: &str) -> Result<(), ClusterError> {
    let certificate = bytes(
        user.client_certificate_data.as_deref(),
        user.client_certificate.as_deref(),
        ["client-certificate-data", "client-certificate"],
        label,
    )?;
    let key = bytes(
        user.client_key_data
            .as_ref()
            .map(|data| data.expose_secret()),
        user.client_key.as_deref(),
        ["client-key-data", "client-key"],
        label,
    )?;
    user.client_certificate = None;
    user.client_key = None;
    user.client_certificate_data = None;
    user.client_key_data = None;
    let of = label.to_owned();
    match (certificate, key) {
        (None, None) => Ok(()),
        (Some(_), None) => Err(ClusterError::MissingClientKey { of }),
        (None, Some(_)) => Err(ClusterError::MissingClientCertificate { of }),
        (Some((what, certificate)), Some((_, key))) => {
            let chain: Vec<_> = CertificateDer::pem_slice_iter(&certificate)
                .filter_map(Result::ok)
                .collect();
            if chain.is_empty() {
                return Err(unusable(what, label, no_certificate(&certificate)));
            }
            user.client_certificate_data = Some(STANDARD.encode(certificate));
            user.client_key_data = Some(SecretString::from(STANDARD.encode(key)));
            Ok(())
        }
    }
}

/// The bearer token, read from its file when it is in one.
fn token(user: &AuthInfo, label: &str) -> Result<Option<SecretString>, ClusterError> {
    let inline = user
        .token
        .as_ref()
        .filter(|token| !token.expose_secret().is_empty());
    let (what, token) = match (
        inline,
        user.token_file.as_deref().filter(|path| !path.is_empty()),
    ) {
        (Some(token), _) => ("token", token.expose_secret().to_owned()),
        (None, Some(path)) => {
            let content = read(path.as_ref(), "tokenFile", label)?;
            (
                "tokenFile",
                String::from_utf8_lossy(&content).trim().to_owned(),
            )
        }
        (None, None) => return Ok(None),
    };
    if token.is_empty() {
        return Err(unusable(what, label, "is empty"));
    }
    // kube panics on a token that cannot be a header.
    match HeaderValue::try_from(format!("Bearer {token}")) {
        Ok(_) => Ok(Some(SecretString::from(token))),
        Err(_) => Err(unusable(
            what,
            label,
            "has characters that cannot be sent in a header",
        )),
    }
}

/// The content of a field that is either inline base64 or a file, with the name of the one that was used; inline wins.
fn bytes(
    data: Option<&str>,
    file: Option<&str>,
    [data_name, file_name]: [&'static str; 2],
    label: &str,
) -> Result<Option<(&'static str, Vec<u8>)>, ClusterError> {
    if let Some(data) = data.filter(|data| !data.trim().is_empty()) {
        let compact: String = data.split_whitespace().collect();
        return match STANDARD.decode(compact) {
            Ok(bytes) => Ok(Some((data_name, bytes))),
            Err(_) => Err(unusable(data_name, label, "is not base64")),
        };
    }
    match file.filter(|file| !file.is_empty()) {
        Some(file) => Ok(Some((file_name, read(file.as_ref(), file_name, label)?))),
        None => Ok(None),
    }
}

fn read(path: &Path, what: &'static str, label: &str) -> Result<Vec<u8>, ClusterError> {
    std::fs::read(path).map_err(|source| ClusterError::UnreadableMaterial {
        what,
        path: PathBuf::from(path),
        of: label.to_owned(),
        source,
    })
}

fn unusable(what: &'static str, label: &str, problem: impl Into<String>) -> ClusterError {
    ClusterError::UnusableMaterial {
        what,
        of: label.to_owned(),
        problem: problem.into(),
    }
}
