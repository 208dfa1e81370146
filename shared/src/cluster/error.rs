//! What can be wrong with a connection before a request is sent.

use std::path::PathBuf;

use crate::cluster::credential_plugin::CredentialPluginError;
use crate::error::Explain;
use crate::exit::Exit;
use crate::text::shell_word;

/// Why no connection to a cluster can be set up.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClusterError {
    /// `--kubeconfig` names a file that does not exist.
    #[error("stat {}: no such file or directory", path.display())]
    MissingFile {
        /// The path as it was given.
        path: PathBuf,
    },
    /// A kubeconfig that the system does not let us read.
    #[error("cannot read kubeconfig {}", path.display())]
    UnreadableFile {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// A kubeconfig that is neither UTF-8 nor UTF-16 with a byte order mark.
    #[error("kubeconfig {} is not text in UTF-8", path.display())]
    NotText {
        /// The file.
        path: PathBuf,
    },
    /// A kubeconfig that is not YAML.
    #[error("kubeconfig {} is not valid YAML{}", path.display(), at(line))]
    NotYaml {
        /// The file.
        path: PathBuf,
        /// The line of the first fault, from 1; `None` = not known.
        line: Option<u64>,
    },
    /// YAML whose fields are not those of a kubeconfig.
    #[error("kubeconfig {} does not have the fields of a kubeconfig{}", path.display(), at(line))]
    OddShape {
        /// The file.
        path: PathBuf,
        /// The line of the first fault, from 1; `None` = not known.
        line: Option<u64>,
    },
    /// YAML that is something else.
    #[error("{} is {}, not a kubeconfig", path.display(), kind.as_deref().map_or("other YAML".to_owned(), |kind| format!("a {kind}")))]
    NotKubeconfig {
        /// The file.
        path: PathBuf,
        /// Its `kind`; `None` = it has none.
        kind: Option<String>,
    },
    /// Two entries of one file have the same name.
    #[error("kubeconfig {}: two {list} are named \"{name}\"", path.display())]
    DuplicateName {
        /// The file.
        path: PathBuf,
        /// `contexts`, `clusters` or `users`.
        list: &'static str,
        /// The name that is there twice.
        name: String,
    },
    /// There is nothing to connect to: no entries in any kubeconfig, and not inside a pod.
    #[error("no configuration has been provided: {places}")]
    NoConfiguration {
        /// Where was looked.
        places: String,
    },
    /// The cluster of this pod was asked for outside any pod.
    #[error(
        "this runs in no pod of a cluster: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not both set"
    )]
    NoPod,
    /// No context was asked for and the kubeconfig has no `current-context`.
    #[error("current-context is not set in {places}")]
    NoCurrentContext {
        /// The files.
        places: String,
        /// The contexts to choose from.
        known: Vec<String>,
    },
    /// The context does not exist.
    #[error("context \"{name}\" does not exist in {places}")]
    UnknownContext {
        /// The name asked for.
        name: String,
        /// Whether the command line asked for it; else it is the `current-context`.
        asked: bool,
        /// The files.
        places: String,
        /// The contexts to choose from, the likeliest first.
        known: Vec<String>,
    },
    /// The cluster entry does not exist or has no server.
    #[error("no server found for cluster \"{name}\"{}", of(context))]
    UnknownCluster {
        /// The name of the cluster entry.
        name: String,
        /// The context that names it; `None` = `--cluster` does.
        context: Option<String>,
    },
    /// The user entry that `--user` names does not exist.
    #[error("auth info \"{name}\" does not exist")]
    UnknownUser {
        /// The name asked for.
        name: String,
    },
    /// The server is not an http or https URL.
    #[error("server \"{server}\" of {of} is not the URL of an API server")]
    InvalidServer {
        /// What was given, without userinfo.
        server: String,
        /// Where it was found, as `cluster "x"` or `--server`.
        of: String,
    },
    /// A trusted authority was given together with the wish not to check it.
    #[error("specifying a root certificates file with the insecure flag is not allowed ({of})")]
    InsecureWithAuthority {
        /// Where both were found, as `cluster "x"`.
        of: String,
    },
    /// A file that the kubeconfig or a flag names cannot be read.
    #[error("unable to read {what} {} of {of}", path.display())]
    UnreadableMaterial {
        /// `certificate-authority`, `client-certificate`, `client-key` or `tokenFile`.
        what: &'static str,
        /// The absolute path that was tried.
        path: PathBuf,
        /// The entry that names it, as `cluster "x"` or `user "x"`.
        of: String,
        /// What the system says.
        source: std::io::Error,
    },
    /// A certificate, key or token that is not what it must be.
    #[error("{what} of {of} {problem}")]
    UnusableMaterial {
        /// The field.
        what: &'static str,
        /// The entry that holds it, as `cluster "x"` or `user "x"`.
        of: String,
        /// What is wrong with it, never its content.
        problem: String,
    },
    /// A client certificate without a key.
    #[error(
        "client-key-data or client-key must be specified for {of} to use the clientCert authentication method"
    )]
    MissingClientKey {
        /// The user entry, as `user "x"`.
        of: String,
    },
    /// A client key without a certificate.
    #[error(
        "client-certificate-data or client-certificate must be specified for {of} to use its client key"
    )]
    MissingClientCertificate {
        /// The user entry, as `user "x"`.
        of: String,
    },
    /// A group, uid or extra to impersonate, but nobody to act as.
    #[error("requesting uid, groups or user-extra for {of} without impersonating a user")]
    ImpersonationWithoutUser {
        /// The user entry, as `user "x"`.
        of: String,
    },
    /// The user has both an exec plugin and an auth provider.
    #[error("authProvider cannot be provided in combination with an exec plugin for {of}")]
    TwoLogins {
        /// The user entry, as `user "x"`.
        of: String,
    },
    /// An auth provider that clients no longer have.
    #[error("no Auth Provider found for name \"{name}\" ({of})")]
    UnknownAuthProvider {
        /// The provider.
        name: String,
        /// The user entry, as `user "x"`.
        of: String,
    },
    /// The credential plugin is configured in a way that cannot work.
    #[error(transparent)]
    CredentialPlugin(#[from] CredentialPluginError),
    /// The proxy is not a URL of http, https or socks5.
    #[error("{of} is not the URL of an http, https or socks5 proxy")]
    InvalidProxy {
        /// Where it was found, as `proxy-url of cluster "x"` or `HTTPS_PROXY`.
        of: String,
    },
    /// No authority is configured and the system trusts none.
    #[error("no certificate authority is configured for {server} and this system trusts none")]
    NoTrustedAuthority {
        /// The URL of the server.
        server: String,
    },
    /// The client could not be built.
    #[error("cannot set up the connection to {server}: {problem}")]
    Setup {
        /// The URL of the server.
        server: String,
        /// Why.
        problem: String,
    },
}

impl Explain for ClusterError {
    fn exit(&self) -> Exit {
        match self {
            ClusterError::MissingFile { .. }
            | ClusterError::NoPod
            | ClusterError::UnknownUser { .. }
            | ClusterError::UnknownContext { asked: true, .. }
            | ClusterError::UnknownCluster { context: None, .. } => Exit::Usage,
            _ => Exit::Unknown,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            ClusterError::NoConfiguration { .. } => Some(
                "name the kubeconfig of the Karmada control plane with --kubeconfig FILE"
                    .to_owned(),
            ),
            ClusterError::NoPod => Some(
                "name the cluster with --host-context NAME or --host-kubeconfig FILE".to_owned(),
            ),
            ClusterError::NoCurrentContext { known, .. }
            | ClusterError::UnknownContext { known, .. } => choices(known),
            ClusterError::NotKubeconfig { .. } | ClusterError::NotText { .. } => {
                Some("name another file with --kubeconfig FILE".to_owned())
            }
            ClusterError::InsecureWithAuthority { .. } => {
                Some("remove insecure-skip-tls-verify, or the certificate authority".to_owned())
            }
            ClusterError::UnknownAuthProvider { name, .. } => provider_hint(name),
            ClusterError::CredentialPlugin(error) => error.hint(),
            ClusterError::NoTrustedAuthority { .. } => Some(
                "name the authority of the server with --certificate-authority FILE".to_owned(),
            ),
            _ => None,
        }
    }
}

fn at(line: &Option<u64>) -> String {
    line.map(|line| format!(" (line {line})"))
        .unwrap_or_default()
}

fn of(context: &Option<String>) -> String {
    context
        .as_ref()
        .map(|context| format!(" of context \"{context}\""))
        .unwrap_or_default()
}

fn choices(known: &[String]) -> Option<String> {
    const SHOWN: usize = 10;
    let more = known.len().saturating_sub(SHOWN);
    let known: Vec<_> = known.iter().map(|name| shell_word(name)).collect();
    let (first, others) = known.split_first()?;
    match (others, more) {
        ([], _) => Some(format!("pass --context {first}")),
        (others, 0) => Some(format!("pass --context {first} (or {})", others.join(", "))),
        (others, more) => Some(format!(
            "pass --context {first} (or {} and {more} more)",
            others[..SHOWN - 1].join(", ")
        )),
    }
}

fn provider_hint(name: &str) -> Option<String> {
    match name {
        "gcp" => Some("install gke-gcloud-auth-plugin and run gcloud container clusters get-credentials CLUSTER".to_owned()),
        "azure" => Some("install kubelogin and run kubelogin convert-kubeconfig".to_owned()),
        _ => None,
    }
}
