//! A command in a pod, over a WebSocket. Sends requests.

use std::sync::Arc;
use std::time::Duration;

use futures::{SinkExt, StreamExt};
use http::{HeaderMap, Method, Request, StatusCode};
use serde::Deserialize;
use tokio::time::{Instant, MissedTickBehavior, interval_at, timeout_at};
use tokio_tungstenite::tungstenite::Message;
use url::form_urlencoded::Serializer;

use crate::cluster::api_error::ApiError;
use crate::cluster::client::ClusterClient;
use crate::cluster::request_error::{Cause, RequestError, Sent};
use crate::cluster::server_text::shortened;
use crate::cluster::transport::{Attempt, causes};

/// A command for a container.
#[derive(Debug, Clone, Copy)]
pub struct ExecRequest<'a> {
    /// The container; `None` = the only one, which a server demands then.
    pub container: Option<&'a str>,
    /// The program and its arguments; they are part of the URL, so no secret may be among them.
    pub argv: &'a [String],
    /// How long it may take, with the connection.
    pub within: Duration,
}

/// A command that has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Executed {
    /// How it ended.
    pub end: End,
    /// What it wrote to its standard output.
    pub stdout: Captured,
    /// What it wrote to its standard error.
    pub stderr: Captured,
}

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// With this exit code; 0 is success.
    Exit(i32),
    /// It was not run, or its end is not known to the container runtime; what that says.
    Error(String),
}

/// What a command wrote, which may be anything: it goes to no terminal as it is.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Captured {
    bytes: Vec<u8>,
    lost: bool,
}

impl Captured {
    /// The text, with what is no UTF-8 replaced. Of more than 1 MiB only the end is kept.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }

    /// Whether the beginning was too much to keep.
    pub fn is_cut(&self) -> bool {
        self.lost
    }

    /// The last lines that are not blank, at most this many.
    pub fn last_lines(&self, count: usize) -> Vec<String> {
        let text = self.text();
        let lines: Vec<&str> = text
            .lines()
            .map(str::trim_end)
            .filter(|line| !line.is_empty())
            .collect();
        let first = lines.len().saturating_sub(count);
        lines[first..]
            .iter()
            .map(|line| (*line).to_owned())
            .collect()
    }

    fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        if self.bytes.len() > MOST_KEPT {
            self.bytes.drain(..self.bytes.len() - MOST_KEPT);
            self.lost = true;
        }
    }
}

/// Only how much it is.
impl std::fmt::Debug for Captured {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{} bytes", self.bytes.len())
    }
}

impl ClusterClient {
    /// Runs a command in a pod without standard input and waits for its end (`pods/exec`, subprotocols
    /// `v5.channel.k8s.io` and `v4.channel.k8s.io`). A command that does not end in time goes on in the container.
    ///
    /// `pod`: the path of the pod. It is never sent twice.
    ///
    /// # Errors
    /// When it could not be begun ([`RequestError::was_sent`] tells), or its end was not seen.
    pub async fn exec(
        &self,
        pod: &str,
        request: &ExecRequest<'_>,
    ) -> Result<Executed, RequestError> {
        let deadline = Instant::now() + request.within;
        let called = format!("exec {pod}");
        match timeout_at(deadline, self.run(pod, request)).await {
            Ok(ended) => ended,
            Err(_) => Err(RequestError::Timeout {
                peer: Arc::clone(self.peer()),
                after: request.within,
                connecting: false,
                request: called,
            }),
        }
    }

    async fn run(&self, pod: &str, request: &ExecRequest<'_>) -> Result<Executed, RequestError> {
        let path = format!("{pod}/exec");
        let query = Serializer::new(String::new())
            .extend_pairs(request.container.map(|container| ("container", container)))
            .extend_pairs([("stdout", "true"), ("stderr", "true")])
            .extend_pairs(request.argv.iter().map(|word| ("command", word)))
            .finish();
        let upgrade = Request::get(format!("{path}?{query}"))
            .body(Vec::new())
            .map_err(|_| self.not_understood(pod, "the path is not one of a URL"))?;
        let session = self.inner.sessions.open().await?;
        let started = Instant::now();
        let connection = match session.client.connect(upgrade).await {
            Ok(connection) => connection,
            Err(kube::Error::Api(status)) => {
                if status.code == StatusCode::UNAUTHORIZED.as_u16() {
                    self.inner.sessions.discard(&session).await;
                }
                return Err(self.refused(&path, &status));
            }
            Err(kube::Error::UpgradeConnection(error)) => {
                return Err(self.not_understood(pod, &error.to_string()));
            }
            Err(error) => {
                let attempt = Attempt {
                    peer: self.peer(),
                    request: format!("exec {pod}"),
                    elapsed: started.elapsed(),
                    user_label: &self.inner.sessions.user_label,
                };
                return Err(attempt.failure(&error));
            }
        };
        let mut stream = connection.into_stream();
        let (mut stdout, mut stderr) = (Captured::default(), Captured::default());
        let mut alive = interval_at(Instant::now() + BETWEEN_PINGS, BETWEEN_PINGS);
        alive.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let broken = |cause: String| RequestError::Reset {
            peer: Arc::clone(self.peer()),
            request: format!("exec {pod}"),
            sent: Sent::Maybe,
            source: Cause(cause),
        };
        loop {
            let message = tokio::select! {
                // Proxies close connections on which nothing passes.
                _ = alive.tick() => {
                    let ping = Message::Ping(Vec::new().into());
                    stream.send(ping).await.map_err(|error| broken(error.to_string()))?;
                    continue;
                }
                message = stream.next() => message,
            };
            let bytes = match message {
                Some(Ok(Message::Binary(bytes))) => bytes,
                Some(Ok(Message::Close(_))) | None => {
                    return Err(broken("the end of the command was not told".to_owned()));
                }
                Some(Ok(_)) => continue,
                Some(Err(error)) => {
                    let cause = causes(&error).last().map(ToString::to_string);
                    return Err(broken(cause.unwrap_or_default()));
                }
            };
            match bytes.split_first() {
                Some((&STDOUT, written)) => stdout.push(written),
                Some((&STDERR, written)) => stderr.push(written),
                Some((&STATUS, status)) => {
                    let end = end(status).ok_or_else(|| {
                        self.not_understood(pod, "the status of the command is no Status")
                    })?;
                    return Ok(Executed {
                        end,
                        stdout,
                        stderr,
                    });
                }
                _ => {}
            }
        }
    }

    pub(super) fn refused(&self, path: &str, status: &kube::core::Status) -> RequestError {
        let code = StatusCode::from_u16(status.code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let body = match status.reason == UNREADABLE {
            true => status.message.clone(),
            false => {
                let mut body = serde_json::to_value(status).unwrap_or_default();
                body["kind"] = "Status".into();
                body.to_string()
            }
        };
        RequestError::Api {
            error: Box::new(ApiError::of(
                &Method::GET,
                path,
                code,
                &HeaderMap::new(),
                body.as_bytes(),
            )),
            peer: Arc::clone(self.peer()),
        }
    }

    fn not_understood(&self, pod: &str, problem: &str) -> RequestError {
        RequestError::Malformed {
            peer: Arc::clone(self.peer()),
            request: format!("exec {pod}"),
            problem: problem.to_owned(),
        }
    }
}

/// Reads the `Status` that ends a command; `None` = it is none. The exit code is a cause with the reason `ExitCode`
/// (`k8s.io/apimachinery/pkg/util/remotecommand`).
fn end(status: &[u8]) -> Option<End> {
    let status: StatusBody = serde_json::from_slice(status).ok()?;
    if status.status == "Success" {
        return Some(End::Exit(0));
    }
    let code = status
        .details
        .unwrap_or_default()
        .causes
        .unwrap_or_default()
        .iter()
        .filter(|cause| cause.reason == "ExitCode")
        .find_map(|cause| cause.message.parse().ok());
    Some(match code {
        Some(code) => End::Exit(code),
        None => End::Error(shortened(&status.message)),
    })
}

#[derive(Deserialize)]
struct StatusBody {
    status: String,
    #[serde(default)]
    message: String,
    details: Option<DetailsBody>,
}

#[derive(Deserialize, Default)]
struct DetailsBody {
    causes: Option<Vec<CauseBody>>,
}

#[derive(Deserialize)]
struct CauseBody {
    #[serde(default)]
    reason: String,
    #[serde(default)]
    message: String,
}

const STDOUT: u8 = 1;
const STDERR: u8 = 2;
const STATUS: u8 = 3;

const MOST_KEPT: usize = 1 << 20;
const BETWEEN_PINGS: Duration = Duration::from_secs(30);

/// The reason that kube gives to an answer that is no `Status`.
const UNREADABLE: &str = "Failed to parse error data";
