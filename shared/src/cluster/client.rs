//! The only client of an API server: every request has a deadline, an identity and one meaning of "try again".

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use http::header::{ACCEPT, CONTENT_TYPE};
use http::{Method, Request, StatusCode};
use http_body_util::BodyExt;
use kube::client::Body;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep_until, timeout_at};

pub use crate::cluster::answer::{Answer, List};
use crate::cluster::api_error::ApiError;
pub use crate::cluster::client_material::ClientMaterial;
use crate::cluster::request_error::{Peer, RequestError};
use crate::cluster::retry::{RetryOn, may_repeat_after_reset, retry_after};
use crate::cluster::session::{Session, Sessions};
use crate::cluster::transport::Attempt;
use crate::cluster::warnings::Warnings;

/// A client of one API server, as one user. Cheap to clone.
///
/// GETs are sent again after 429 and 503 with `Retry-After` and once after a broken connection; writes only after 429
/// with `Retry-After`, where the server took nothing. All tries share one deadline.
#[derive(Clone)]
pub struct ClusterClient {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) peer: Arc<Peer>,
    pub(crate) sessions: Sessions,
    pub(crate) deadline: Duration,
    pub(crate) field_manager: String,
    pub(crate) warnings: Warnings,
    pub(crate) material: ClientMaterial,
}

impl ClusterClient {
    /// The URL of the server, without userinfo.
    pub fn server(&self) -> &str {
        &self.inner.peer.server
    }

    /// The context that led here; `None` = the command line or the pod's environment did.
    pub fn context(&self) -> Option<&str> {
        self.inner.peer.context.as_deref()
    }

    /// The flags that lead kubectl to the same server as the same identity, as far as that needs no secret.
    pub fn kubectl_flags(&self) -> &[String] {
        &self.inner.peer.kubectl_flags
    }

    /// The server as errors call it.
    pub fn peer(&self) -> &Arc<Peer> {
        &self.inner.peer
    }

    /// The field manager of writes.
    pub fn field_manager(&self) -> &str {
        &self.inner.field_manager
    }

    /// The certificates and credentials that it was made with.
    pub fn material(&self) -> &ClientMaterial {
        &self.inner.material
    }

    /// The deadline of one request.
    pub fn request_timeout(&self) -> Duration {
        self.inner.deadline
    }

    /// Reads one object, or anything else in JSON.
    ///
    /// `path`: below the server's URL, query included, as `/version`.
    pub async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, RequestError> {
        let request = Request::get(path).header(ACCEPT, JSON).body(Vec::new());
        self.ask(request, path, RetryOn::Unavailability).await
    }

    /// Reads all objects of a kind with one request, without paging.
    pub async fn list<T: DeserializeOwned>(&self, path: &str) -> Result<List<T>, RequestError> {
        self.get(path).await
    }

    /// Patches an object and returns it as it is then.
    pub async fn patch(
        &self,
        path: &str,
        kind: PatchKind,
        body: &Value,
        dry_run: DryRun,
    ) -> Result<Value, RequestError> {
        let force = match kind {
            PatchKind::Apply { force: true } => "&force=true",
            _ => "",
        };
        let target = format!("{}{force}", self.write_path(path, dry_run));
        self.write(Method::PATCH, &target, kind.content_type(), body)
            .await
    }

    /// Creates an object and returns it as it is then; `path` is that of the collection.
    pub async fn create(
        &self,
        path: &str,
        body: &Value,
        dry_run: DryRun,
    ) -> Result<Value, RequestError> {
        self.write(Method::POST, &self.write_path(path, dry_run), JSON, body)
            .await
    }

    /// Replaces an object and returns it as it is then; with `metadata.resourceVersion` only if it is unchanged.
    pub async fn replace(
        &self,
        path: &str,
        body: &Value,
        dry_run: DryRun,
    ) -> Result<Value, RequestError> {
        self.write(Method::PUT, &self.write_path(path, dry_run), JSON, body)
            .await
    }

    /// Deletes an object if it is still the one that is meant; returns what the server says about it.
    pub async fn delete(
        &self,
        path: &str,
        only_if: &Preconditions,
        dry_run: DryRun,
    ) -> Result<Value, RequestError> {
        let mut body = json!({
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "preconditions": only_if,
        });
        if dry_run == DryRun::All {
            // An API server that gets options in the body ignores those in the query.
            body["dryRun"] = json!(["All"]);
        }
        self.write(Method::DELETE, &self.write_path(path, dry_run), JSON, &body)
            .await
    }

    /// Sends a request whose answer is of interest whatever its code, 4xx and 5xx included.
    ///
    /// # Errors
    /// Only when there is no answer.
    pub async fn raw(&self, request: Request<Vec<u8>>) -> Result<Answer, RequestError> {
        self.exchange(&request, RetryOn::Refusals).await
    }

    async fn write(
        &self,
        method: Method,
        path: &str,
        content_type: &str,
        body: &Value,
    ) -> Result<Value, RequestError> {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(ACCEPT, JSON)
            .header(CONTENT_TYPE, content_type)
            .body(body.to_string().into_bytes());
        self.ask(request, path, RetryOn::Refusals).await
    }

    fn write_path(&self, path: &str, dry_run: DryRun) -> String {
        let separator = if path.contains('?') { '&' } else { '?' };
        let dry_run = match dry_run {
            DryRun::Off => "",
            DryRun::All => "&dryRun=All",
        };
        format!(
            "{path}{separator}fieldManager={}{dry_run}",
            self.inner.field_manager
        )
    }

    async fn ask<T: DeserializeOwned>(
        &self,
        request: Result<Request<Vec<u8>>, http::Error>,
        path: &str,
        retry_on: RetryOn,
    ) -> Result<T, RequestError> {
        let request = request.map_err(|_| RequestError::Malformed {
            peer: Arc::clone(&self.inner.peer),
            request: path.to_owned(),
            problem: "the path is not one of a URL".to_owned(),
        })?;
        let answer = self.exchange(&request, retry_on).await?;
        if !answer.status.is_success() {
            let path = request.uri().path();
            let error = ApiError::of(
                request.method(),
                path,
                answer.status,
                &answer.headers,
                &answer.body,
            );
            return Err(RequestError::Api {
                error: Box::new(error),
                peer: Arc::clone(&self.inner.peer),
            });
        }
        answer.decode().map_err(|problem| RequestError::Malformed {
            peer: Arc::clone(&self.inner.peer),
            request: request_text(&request),
            problem,
        })
    }

    async fn exchange(
        &self,
        request: &Request<Vec<u8>>,
        retry_on: RetryOn,
    ) -> Result<Answer, RequestError> {
        let session = self.inner.sessions.open().await?;
        let deadline = Instant::now() + self.inner.deadline;
        let answer =
            match timeout_at(deadline, self.tries(&session, request, retry_on, deadline)).await {
                Ok(answer) => answer?,
                Err(_) => {
                    return Err(RequestError::Timeout {
                        peer: Arc::clone(&self.inner.peer),
                        after: self.inner.deadline,
                        connecting: false,
                        request: request_text(request),
                    });
                }
            };
        if answer.status == StatusCode::UNAUTHORIZED {
            self.inner.sessions.discard(&session).await;
        }
        Ok(answer)
    }

    async fn tries(
        &self,
        session: &Session,
        request: &Request<Vec<u8>>,
        retry_on: RetryOn,
        deadline: Instant,
    ) -> Result<Answer, RequestError> {
        let mut resets = 0;
        for tries in 1.. {
            match self.once(session, request).await {
                Ok(answer) => {
                    let wait = retry_after(retry_on, answer.status, &answer.headers, tries);
                    match wait.and_then(|wait| Instant::now().checked_add(wait)) {
                        // An answer now is worth more than a timeout later.
                        Some(again) if again < deadline => sleep_until(again).await,
                        _ => return Ok(answer),
                    }
                }
                Err(error) => {
                    resets += 1;
                    let broke = matches!(error, RequestError::Reset { .. });
                    if !broke || !may_repeat_after_reset(request.method(), resets) {
                        return Err(error);
                    }
                }
            }
        }
        unreachable!("the tries end by an answer or an error")
    }

    async fn once(
        &self,
        session: &Session,
        request: &Request<Vec<u8>>,
    ) -> Result<Answer, RequestError> {
        let started = Instant::now();
        let failure = |error: kube::Error| {
            let attempt = Attempt {
                peer: &self.inner.peer,
                request: request_text(request),
                elapsed: started.elapsed(),
                user_label: &self.inner.sessions.user_label,
            };
            attempt.failure(&error)
        };
        let (parts, body) = session
            .client
            .send(request.clone().map(Body::from))
            .await
            .map_err(failure)?
            .into_parts();
        self.inner.warnings.collect(&parts.headers);
        let body = body.collect().await.map_err(failure)?;
        Ok(Answer {
            status: parts.status,
            headers: parts.headers,
            body: body.to_bytes().to_vec(),
        })
    }
}

impl fmt::Debug for ClusterClient {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ClusterClient")
            .field("peer", &self.inner.peer)
            .finish_non_exhaustive()
    }
}

/// How the body of a patch is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PatchKind {
    /// JSON Patch (RFC 6902).
    Json,
    /// JSON Merge Patch (RFC 7386).
    Merge,
    /// Server-side apply.
    Apply {
        /// Whether fields of other managers are taken over.
        force: bool,
    },
}

impl PatchKind {
    fn content_type(self) -> &'static str {
        match self {
            PatchKind::Json => "application/json-patch+json",
            PatchKind::Merge => "application/merge-patch+json",
            PatchKind::Apply { .. } => "application/apply-patch+yaml",
        }
    }
}

/// Whether a write is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DryRun {
    /// The write is kept.
    Off,
    /// The server does everything but keep it (`dryRun=All`).
    All,
}

/// What must still be true of an object that is to be deleted; `None` = anything.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Preconditions {
    /// As in `metadata.uid`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
    /// As in `metadata.resourceVersion`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_version: Option<String>,
}

fn request_text(request: &Request<Vec<u8>>) -> String {
    format!(
        "{} {}",
        request.method().as_str().to_lowercase(),
        request.uri().path()
    )
}

const JSON: &str = "application/json";
