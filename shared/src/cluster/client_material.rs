//! What a client shows and trusts: for looking at, not for use. Pure.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use kube::Config;
use secrecy::{ExposeSecret, SecretString};

/// The certificates and credentials that a client was made with.
#[derive(Clone, Default)]
pub struct ClientMaterial {
    /// The host of the server's URL, without brackets.
    pub host: String,
    /// The port of the server; the scheme's where its URL has none.
    pub port: u16,
    /// Whether the server speaks TLS.
    pub tls: bool,
    /// The name that the server's certificate must carry, where that is not the host.
    pub server_name: Option<String>,
    /// The URL of the proxy in between, with whatever credentials it has; `None` = there is none.
    pub proxy: Option<SecretString>,
    /// Whether any certificate of the server is accepted.
    pub insecure: bool,
    /// The trusted authorities in DER; `None` = those of the system.
    pub authorities: Option<Vec<Vec<u8>>>,
    /// The client certificate in PEM; `None` = it has none, or a credential plugin makes one.
    pub certificate: Option<Vec<u8>>,
    /// The key of the client certificate in PEM.
    pub key: Option<SecretString>,
    /// The bearer token; `None` = it has none, or a credential plugin makes one.
    pub token: Option<SecretString>,
}

impl ClientMaterial {
    pub(crate) fn of(config: &Config) -> ClientMaterial {
        let url = &config.cluster_url;
        let auth = &config.auth_info;
        let decoded = |text: &str| STANDARD.decode(text).ok();
        let insecure = config.accept_invalid_certs;
        ClientMaterial {
            host: url
                .host()
                .unwrap_or_default()
                .trim_matches(['[', ']'])
                .to_owned(),
            port: crate::cluster::proxy::effective_port(url),
            tls: url.scheme_str() == Some("https"),
            server_name: config.tls_server_name.clone(),
            proxy: config
                .proxy_url
                .as_ref()
                .map(|proxy| SecretString::from(proxy.to_string())),
            insecure,
            authorities: config.root_cert.clone().filter(|_| !insecure),
            certificate: auth.client_certificate_data.as_deref().and_then(decoded),
            key: auth
                .client_key_data
                .as_ref()
                .and_then(|key| decoded(key.expose_secret()))
                .and_then(|key| String::from_utf8(key).ok())
                .map(SecretString::from),
            token: auth.token.clone(),
        }
    }
}

/// Shows where it leads only.
impl fmt::Debug for ClientMaterial {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ClientMaterial")
            .field("host", &self.host)
            .field("port", &self.port)
            .finish_non_exhaustive()
    }
}
