//! Why a request to an API server gave no result.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::cluster::api_error::ApiError;
use crate::cluster::credential_plugin::CredentialPluginError;
use crate::cluster::error::ClusterError;
use crate::cluster::tls_fault::TlsFault;
use crate::error::Explain;
use crate::exit::Exit;
use crate::text::shell_word;

/// Why a request to an API server gave no result; the text is kubectl's, with a lower-case first letter.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RequestError {
    /// The server answered with an error.
    #[error("{error}")]
    Api {
        /// The answer.
        error: Box<ApiError>,
        /// The server.
        peer: Arc<Peer>,
    },
    /// Nothing listens at the address.
    #[error("the connection to the {} was refused - did you specify the right host or port?", peer.dialled())]
    Refused {
        /// The server.
        peer: Arc<Peer>,
    },
    /// The host name does not resolve.
    #[error("unable to connect to the server: lookup {}: no such host", peer.dialled_host())]
    Dns {
        /// The server.
        peer: Arc<Peer>,
    },
    /// The network or the proxy does not lead to the server.
    #[error("unable to connect to the server: dial {}", peer.dialled())]
    Unreachable {
        /// The server.
        peer: Arc<Peer>,
        /// What the network says.
        source: Cause,
    },
    /// No TLS connection came about.
    #[error("unable to connect to the server: {fault}")]
    Tls {
        /// The server.
        peer: Arc<Peer>,
        /// What is wrong.
        fault: TlsFault,
    },
    /// The deadline passed.
    #[error("{}", timeout_text(peer, after, *connecting, request))]
    Timeout {
        /// The server.
        peer: Arc<Peer>,
        /// How long was waited.
        after: Duration,
        /// Whether the connection itself was still being made.
        connecting: bool,
        /// The request, as `get /version`.
        request: String,
    },
    /// The connection broke.
    #[error("the connection to the {} was closed {} it answered {request}", peer.dialled(), match sent { Sent::No => "while it was made, before", Sent::Maybe => "before" })]
    Reset {
        /// The server.
        peer: Arc<Peer>,
        /// The request, as `get /version`.
        request: String,
        /// Whether the server may have seen the request.
        sent: Sent,
        /// What broke.
        source: Cause,
    },
    /// The credentials could not be got.
    #[error("getting credentials: {0}")]
    Auth(Box<CredentialPluginError>),
    /// The answer was a success and yet not what was asked for.
    #[error("the server {} answered {request} with something else: {problem}", peer.address)]
    Malformed {
        /// The server.
        peer: Arc<Peer>,
        /// The request, as `get /version`.
        request: String,
        /// What is wrong with the answer, never its content.
        problem: String,
    },
    /// The credentials that were got cannot be used.
    #[error(transparent)]
    Setup(Box<ClusterError>),
}

/// Whether the server may have acted on a request that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sent {
    /// It has certainly not.
    No,
    /// It may have: only reading the object again tells.
    Maybe,
}

/// The server at the other end, as errors call it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Peer {
    /// The context that leads to it; `None` = the command line or the pod's environment does.
    pub context: Option<String>,
    /// Its URL, without userinfo.
    pub server: String,
    /// Its host and port; the port is always there.
    pub address: String,
    /// Host and port of the proxy in between; `None` = there is none.
    pub proxy: Option<String>,
    /// The flags that lead kubectl to the same server, as the same identity where that can be said without a secret.
    pub kubectl_flags: Vec<String>,
    /// The variable that names the proxy; `None` = the kubeconfig does, or there is none.
    pub proxy_variable: Option<&'static str>,
}

/// The innermost cause of an error that libraries have wrapped many times.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Cause(pub(crate) String);

impl RequestError {
    /// The HTTP code; `None` = there was no answer.
    pub fn code(&self) -> Option<u16> {
        self.api().map(|error| error.code)
    }

    /// The server's refusal; `None` = it did not refuse.
    pub fn api(&self) -> Option<&ApiError> {
        match self {
            RequestError::Api { error, .. } => Some(error),
            _ => None,
        }
    }

    /// Whether the object or resource does not exist (404).
    pub fn is_not_found(&self) -> bool {
        self.code() == Some(404)
    }

    /// Whether the object changed in between, or a field is someone else's (409, but not "already exists").
    pub fn is_conflict(&self) -> bool {
        self.code() == Some(409) && !self.is_already_exists()
    }

    /// Whether an object to be created is there already.
    pub fn is_already_exists(&self) -> bool {
        self.api()
            .is_some_and(|error| error.reason == "AlreadyExists")
    }

    /// Whether the request was understood and is invalid, a failed `test` of a JSON patch included (422).
    pub fn is_invalid(&self) -> bool {
        self.code() == Some(422)
    }

    /// Whether the identity lacks a permission (403).
    pub fn is_forbidden(&self) -> bool {
        self.code() == Some(403)
    }

    /// Whether the server does not know the identity (401).
    pub fn is_unauthorized(&self) -> bool {
        self.code() == Some(401)
    }

    /// Whether the deadline passed.
    pub fn is_timeout(&self) -> bool {
        matches!(self, RequestError::Timeout { .. })
    }

    /// What is wrong with the TLS connection; `None` = nothing is known to be.
    pub fn tls_fault(&self) -> Option<&TlsFault> {
        match self {
            RequestError::Tls { fault, .. } => Some(fault),
            _ => None,
        }
    }

    /// Whether the server may have acted on the request.
    pub fn was_sent(&self) -> Sent {
        match self {
            RequestError::Api { error, .. } if error.code < 500 => Sent::No,
            RequestError::Timeout {
                connecting: true, ..
            } => Sent::No,
            RequestError::Reset { sent, .. } => *sent,
            RequestError::Api { .. }
            | RequestError::Timeout { .. }
            | RequestError::Malformed { .. } => Sent::Maybe,
            RequestError::Refused { .. }
            | RequestError::Dns { .. }
            | RequestError::Unreachable { .. }
            | RequestError::Tls { .. }
            | RequestError::Auth(_)
            | RequestError::Setup(_) => Sent::No,
        }
    }
}

impl Explain for RequestError {
    fn exit(&self) -> Exit {
        Exit::Unknown
    }

    fn hint(&self) -> Option<String> {
        match self {
            RequestError::Auth(error) => error.hint(),
            RequestError::Setup(error) => error.hint(),
            RequestError::Api { error, peer } => match error.code {
                401 => Some(peer.command("renew the credentials, then run kubectl auth whoami")),
                403 => error
                    .permission_check()
                    .map(|command| peer.command(&command)),
                _ => None,
            },
            RequestError::Refused { peer }
            | RequestError::Dns { peer }
            | RequestError::Unreachable { peer, .. }
            | RequestError::Timeout {
                peer,
                connecting: true,
                ..
            } => peer.proxy_hint().or_else(|| Some(peer.which_hint())),
            _ => None,
        }
    }
}

impl Peer {
    /// A kubectl command line for this server.
    pub(crate) fn command(&self, command: &str) -> String {
        let words = self.kubectl_flags.iter().map(|word| shell_word(word));
        std::iter::once(command.to_owned())
            .chain(words)
            .collect::<Vec<_>>()
            .join(" ")
    }

    /// What is dialled, as `server H:P` or `proxy H:P`.
    fn dialled(&self) -> String {
        match &self.proxy {
            Some(proxy) => format!("proxy {proxy} to the server {}", self.address),
            None => format!("server {}", self.address),
        }
    }

    fn dialled_host(&self) -> &str {
        let address = self.proxy.as_ref().unwrap_or(&self.address);
        address
            .rsplit_once(':')
            .map_or(address.as_str(), |(host, _)| host)
    }

    fn which_hint(&self) -> String {
        self.command("to see which server is meant, run kubectl config view --minify")
    }

    /// Only the environment's proxies are subject to `NO_PROXY`.
    fn proxy_hint(&self) -> Option<String> {
        let variable = self.proxy_variable?;
        let host = self
            .address
            .rsplit_once(':')
            .map_or(self.address.as_str(), |(host, _)| host);
        Some(format!(
            "to go around the proxy of {variable}, run export NO_PROXY=\"$NO_PROXY,{host}\""
        ))
    }
}

/// Shows the URL of the server.
impl fmt::Display for Peer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.context {
            Some(context) => write!(formatter, "context \"{context}\" ({})", self.server),
            None => formatter.write_str(&self.server),
        }
    }
}

fn timeout_text(peer: &Peer, after: &Duration, connecting: bool, request: &str) -> String {
    let tenths = after.as_millis().div_ceil(100) as u64;
    let after = Duration::from_millis(tenths * 100);
    match connecting {
        true => format!(
            "unable to connect to the server: dial {}: i/o timeout after {after:?}",
            peer.dialled()
        ),
        false => format!(
            "the server {} did not answer {request} within {after:?}",
            peer.address
        ),
    }
}
