//! The record of all requests that the lab's servers received.

use std::sync::{Arc, Mutex};

use serde_json::Value;

use crate::lock::lock;
use crate::wire::Call;

/// One request to one of the lab's servers.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// The server: `karmada-apiserver`, a cluster's name as in `k3d-cluster-a`, or `docker`.
    pub server: String,
    /// HTTP method in capitals.
    pub method: String,
    /// Path with query, as sent.
    pub path: String,
    /// The authenticated user, after impersonation; `None` = nobody, or the request never got that far.
    pub user: Option<String>,
    /// The `User-Agent` header, empty when missing.
    pub user_agent: String,
    /// The `Content-Type` header, empty when missing.
    pub content_type: String,
    /// The body as JSON; a string when it is none; null when it is empty.
    pub body: Value,
    /// HTTP status answered; `None` = not answered (yet).
    pub status: Option<u16>,
    /// Whether the request came from the lab's own Karmada components.
    pub own: bool,
}

impl Request {
    /// Whether the request asks for a change: no reads, reviews or dry runs. A command in a pod may change anything.
    pub fn is_write(&self) -> bool {
        let path = self.path.split('?').next().unwrap_or_default();
        let review = path.ends_with("reviews");
        let dry_run = self.path.contains("dryRun=All");
        let harmless_docker =
            self.server == DOCKER && (path.ends_with("/exec") || path.contains("/exec/"));
        let command = self.server != DOCKER && path.ends_with("/exec");
        let changes = matches!(self.method.as_str(), "POST" | "PUT" | "PATCH" | "DELETE");
        (changes || command) && !review && !dry_run && !harmless_docker
    }
}

/// Collects requests in the order of their arrival.
#[derive(Debug, Clone, Default)]
pub(crate) struct Recorder(Arc<Mutex<Log>>);

#[derive(Debug, Default)]
struct Log {
    requests: Vec<Request>,
    /// How many of the oldest requests are no longer shown; entries in flight keep their places.
    forgotten: usize,
}

/// The place of a request whose answer is still to be noted.
pub(crate) struct Entry {
    recorder: Recorder,
    index: usize,
}

impl Recorder {
    pub(crate) fn begin(&self, server: &str, call: &Call) -> Entry {
        let body = match serde_json::from_slice(&call.body) {
            Ok(body) => body,
            Err(_) if call.body.is_empty() => Value::Null,
            Err(_) => Value::String(String::from_utf8_lossy(&call.body).into_owned()),
        };
        let user_agent = call.header(http::header::USER_AGENT).to_owned();
        let request = Request {
            server: server.to_owned(),
            method: call.method.to_string(),
            path: call.target(),
            user: None,
            own: OWN_AGENTS.iter().any(|own| user_agent.starts_with(own))
                || call.headers.contains_key(FORWARDED),
            user_agent,
            content_type: call.header(http::header::CONTENT_TYPE).to_owned(),
            body,
            status: None,
        };
        let mut log = lock(&self.0);
        log.requests.push(request);
        Entry {
            recorder: self.clone(),
            index: log.requests.len() - 1,
        }
    }

    pub(crate) fn all(&self) -> Vec<Request> {
        let log = lock(&self.0);
        log.requests[log.forgotten..].to_vec()
    }

    pub(crate) fn clear(&self) {
        let mut log = lock(&self.0);
        log.forgotten = log.requests.len();
    }
}

impl Entry {
    pub(crate) fn is_own(&self) -> bool {
        lock(&self.recorder.0)
            .requests
            .get(self.index)
            .is_some_and(|request| request.own)
    }

    pub(crate) fn answered(&self, user: Option<String>, status: u16) {
        if let Some(request) = lock(&self.recorder.0).requests.get_mut(self.index) {
            request.user = user;
            request.status = Some(status);
        }
    }
}

/// The server name of the Docker daemon in the record.
pub(crate) const DOCKER: &str = "docker";
/// The header by which the cluster proxy marks what it forwards.
pub(crate) const FORWARDED: &str = "x-lab-forwarded";
/// How the lab's Karmada components call themselves.
pub(crate) const OWN_AGENTS: &[&str] = &["karmada-controller-manager"];
