//! What a person asks of a connection on the command line. Pure.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use secrecy::SecretString;

/// How to reach one cluster: which kubeconfig, which context of it, and what the command line overrides there.
///
/// Everything is `None`, empty or `false` when the command line does not mention it.
#[derive(Debug, Clone, Default)]
pub struct ConnectionOptions {
    /// The kubeconfig file; `None` = `$KUBECONFIG`, else `~/.kube/config`.
    pub kubeconfig: Option<PathBuf>,
    /// The context; `None` = the `current-context` of the kubeconfig.
    pub context: Option<String>,
    /// The name of a cluster entry that replaces the context's own.
    pub cluster: Option<String>,
    /// The name of a user entry that replaces the context's own.
    pub user: Option<String>,
    /// The URL of the API server, instead of the cluster entry's.
    pub server: Option<String>,
    /// The name that the server's certificate must carry, instead of the host of the URL.
    pub tls_server_name: Option<String>,
    /// A file of trusted authorities in PEM, instead of the cluster entry's.
    pub certificate_authority: Option<PathBuf>,
    /// Whether any server certificate is accepted.
    pub insecure_skip_tls_verify: bool,
    /// Whether answers travel uncompressed.
    pub disable_compression: bool,
    /// A bearer token, instead of the user entry's credentials.
    pub token: Option<SecretString>,
    /// The name for basic authentication.
    pub username: Option<String>,
    /// The password for basic authentication.
    pub password: Option<SecretString>,
    /// A file with the client certificate in PEM.
    pub client_certificate: Option<PathBuf>,
    /// A file with the client key in PEM.
    pub client_key: Option<PathBuf>,
    /// Whom to act as.
    pub impersonation: Impersonation,
    /// The deadline of one request, tries included; `None` = 30 seconds.
    pub request_timeout: Option<Duration>,
}

impl ConnectionOptions {
    /// Whether the command line itself says where the server is, rather than leaving it to the kubeconfig that is found.
    pub fn names_a_server(&self) -> bool {
        self.kubeconfig.is_some()
            || self.context.is_some()
            || self.cluster.is_some()
            || self.server.is_some()
    }

    /// Options for another cluster of the same run: its own context, nothing overridden but how requests travel.
    pub fn for_context(
        &self,
        kubeconfig: Option<PathBuf>,
        context: Option<String>,
    ) -> ConnectionOptions {
        ConnectionOptions {
            kubeconfig,
            context,
            disable_compression: self.disable_compression,
            request_timeout: self.request_timeout,
            ..ConnectionOptions::default()
        }
    }
}

/// The identity to act as, sent as `Impersonate-*` headers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Impersonation {
    /// `Impersonate-User`.
    pub user: Option<String>,
    /// `Impersonate-Uid`.
    pub uid: Option<String>,
    /// `Impersonate-Group`, once per group.
    pub groups: Vec<String>,
    /// `Impersonate-Extra-KEY`, once per value.
    pub extra: BTreeMap<String, Vec<String>>,
}
