//! Tells the failures of a connection apart by what the libraries below it report. Pure.

use std::error::Error;
use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::time::Duration;

use hyper_util::client::legacy::Error as ClientError;
use kube::client::AuthError;

use crate::cluster::credential_plugin::CredentialPluginError;
use crate::cluster::request_error::{Cause, Peer, RequestError, Sent};
use crate::cluster::tls_fault::TlsFault;

/// What is known about a request when its transport fails.
pub(crate) struct Attempt<'a> {
    pub(crate) peer: &'a Arc<Peer>,
    /// As `get /version`.
    pub(crate) request: String,
    pub(crate) elapsed: Duration,
    /// What errors call the user entry.
    pub(crate) user_label: &'a str,
}

impl Attempt<'_> {
    /// The request error that a failed attempt amounts to.
    pub(crate) fn failure(self, error: &(dyn Error + 'static)) -> RequestError {
        let causes = causes(error);
        let peer = Arc::clone(self.peer);
        let cause = || Cause(causes.last().map(ToString::to_string).unwrap_or_default());
        let connecting = causes
            .iter()
            .any(|cause| cause.downcast_ref().is_some_and(ClientError::is_connect));
        if let Some(error) = causes
            .iter()
            .find_map(|cause| cause.downcast_ref::<AuthError>())
        {
            return RequestError::Auth(Box::new(CredentialPluginError::Provider {
                of: self.user_label.to_owned(),
                problem: provider_problem(error, &causes),
            }));
        }
        if let Some(error) = causes
            .iter()
            .find_map(|cause| cause.downcast_ref::<rustls::Error>())
        {
            let fault = TlsFault::of(error);
            return RequestError::Tls { peer, fault };
        }
        let kind = causes
            .iter()
            .rev()
            .find_map(|cause| cause.downcast_ref::<io::Error>())
            .map(io::Error::kind);
        match (connecting, kind) {
            (true, Some(ErrorKind::ConnectionRefused)) => RequestError::Refused { peer },
            (true, Some(ErrorKind::TimedOut)) => RequestError::Timeout {
                peer,
                after: self.elapsed,
                connecting,
                request: self.request,
            },
            (true, _) if causes.iter().any(|cause| cause.to_string() == DNS_ERROR) => {
                RequestError::Dns { peer }
            }
            (_, Some(kind)) if is_cut(kind) => RequestError::Reset {
                peer,
                request: self.request,
                sent: if connecting { Sent::No } else { Sent::Maybe },
                source: cause(),
            },
            (true, _) => RequestError::Unreachable {
                peer,
                source: cause(),
            },
            (false, _)
                if causes
                    .iter()
                    .any(|cause| cause.downcast_ref().is_some_and(hyper::Error::is_parse)) =>
            {
                RequestError::Malformed {
                    peer,
                    request: self.request,
                    problem: "it does not speak HTTP".to_owned(),
                }
            }
            (false, _) => RequestError::Reset {
                peer,
                request: self.request,
                sent: Sent::Maybe,
                source: cause(),
            },
        }
    }
}

/// The error and everything below it; `io::Error` hides the error that it wraps from `source`.
pub(crate) fn causes<'a>(error: &'a (dyn Error + 'static)) -> Vec<&'a (dyn Error + 'static)> {
    const DEEPEST: usize = 32;
    std::iter::successors(Some(error), |error| below(*error))
        .take(DEEPEST)
        .collect()
}

fn below<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a (dyn Error + 'static)> {
    match error
        .downcast_ref::<io::Error>()
        .and_then(io::Error::get_ref)
    {
        Some(wrapped) => Some(wrapped),
        None => error.source(),
    }
}

/// A parser's own text may quote what the provider sent, and with it a token.
fn provider_problem(error: &AuthError, causes: &[&(dyn Error + 'static)]) -> String {
    match causes.iter().any(|cause| cause.is::<serde_json::Error>()) {
        true => "its answer cannot be read".to_owned(),
        false => error.to_string(),
    }
}

fn is_cut(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::ConnectionReset
            | ErrorKind::ConnectionAborted
            | ErrorKind::BrokenPipe
            | ErrorKind::UnexpectedEof
            | ErrorKind::NotConnected
    )
}

/// How hyper-util's connector shows a failed name lookup; its type is private.
const DNS_ERROR: &str = "dns error";
