//! Faults on demand: what goes wrong with the next matching request.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::Response;
use http::header::{CONTENT_TYPE, HeaderValue, RETRY_AFTER, WARNING};
use serde_json::{Value, json};

use crate::api::refusal::Refusal;
use crate::lock::lock;
use crate::requests::DOCKER;
use crate::wire::{self, Body, Call};

/// What goes wrong, and with which requests.
#[derive(Debug, Clone)]
pub struct Fault {
    /// The server's name as in the record of requests; `None` = any.
    pub server: Option<String>,
    /// HTTP method in capitals; `None` = any.
    pub method: Option<String>,
    /// A part of path and query; empty = any.
    pub path: String,
    /// How many matching requests pass before the fault begins.
    pub after: usize,
    /// How many matching requests then suffer; `None` = all.
    pub times: Option<usize>,
    /// What happens to them.
    pub effect: Effect,
    /// Whether requests of the lab's own Karmada components suffer too.
    pub own_too: bool,
}

/// What happens to a request.
#[derive(Debug, Clone)]
pub enum Effect {
    /// Answered with this HTTP status and a body of the server's usual form.
    Status(u16),
    /// Answered with this HTTP status and message.
    Message(u16, String),
    /// Answered 429, or another status, with `Retry-After` in seconds.
    RetryAfter(u16, u32),
    /// The connection breaks before anything was done.
    ResetBefore,
    /// The request is carried out, then the connection breaks before the answer.
    ResetAfter,
    /// The request is carried out, and half of the answer comes.
    Truncated,
    /// The request waits this long, then is carried out.
    Slow(Duration),
    /// The request is never answered.
    Never,
    /// The request is carried out and answered with broken JSON.
    MalformedJson,
    /// The request is carried out and answered as this content type.
    ContentType(&'static str),
    /// The request is carried out, and the answer carries this `Warning` header text.
    Warning(String),
}

/// What a server has to do with a request.
pub(crate) enum Sentence {
    Proceed(Vec<Effect>),
    Answer(Response<Body>),
    Reset,
    Never,
}

/// The faults in force.
#[derive(Debug, Clone, Default)]
pub(crate) struct Faults(Arc<Mutex<Vec<(Fault, usize)>>>);

impl Fault {
    /// A fault for every request whose path and query contain `path`.
    pub fn on(path: &str, effect: Effect) -> Self {
        Self {
            server: None,
            method: None,
            path: path.to_owned(),
            after: 0,
            times: None,
            effect,
            own_too: false,
        }
    }

    /// Only at this server.
    #[must_use]
    pub fn at(mut self, server: &str) -> Self {
        self.server = Some(server.to_owned());
        self
    }

    /// Only for this method.
    #[must_use]
    pub fn method(mut self, method: &str) -> Self {
        self.method = Some(method.to_owned());
        self
    }

    /// Lets this many matching requests pass first.
    #[must_use]
    pub fn after(mut self, requests: usize) -> Self {
        self.after = requests;
        self
    }

    /// Ends after this many requests.
    #[must_use]
    pub fn times(mut self, requests: usize) -> Self {
        self.times = Some(requests);
        self
    }

    /// Strikes the lab's own Karmada components too.
    #[must_use]
    pub fn own_too(mut self) -> Self {
        self.own_too = true;
        self
    }

    fn matches(&self, server: &str, call: &Call, own: bool) -> bool {
        self.server.as_ref().is_none_or(|wanted| wanted == server)
            && self
                .method
                .as_ref()
                .is_none_or(|wanted| wanted == call.method.as_str())
            && call.target().contains(&self.path)
            && (self.own_too || !own)
    }
}

impl Faults {
    pub(crate) fn inject(&self, fault: Fault) {
        lock(&self.0).push((fault, 0));
    }

    pub(crate) fn clear(&self) {
        lock(&self.0).clear();
    }

    /// Counts the request against every fault and says what becomes of it.
    pub(crate) async fn judge(&self, server: &str, call: &Call, own: bool) -> Sentence {
        let effects = self.strike(server, call, own);
        for effect in &effects {
            match effect {
                Effect::Status(code) => return Sentence::Answer(answer(server, *code, None)),
                Effect::Message(code, message) => {
                    return Sentence::Answer(answer(server, *code, Some(message)));
                }
                Effect::RetryAfter(code, seconds) => {
                    let mut response = answer(server, *code, None);
                    response
                        .headers_mut()
                        .insert(RETRY_AFTER, HeaderValue::from(*seconds));
                    return Sentence::Answer(response);
                }
                Effect::ResetBefore => return Sentence::Reset,
                Effect::Never => return Sentence::Never,
                Effect::Slow(delay) => tokio::time::sleep(*delay).await,
                _ => {}
            }
        }
        Sentence::Proceed(effects)
    }

    fn strike(&self, server: &str, call: &Call, own: bool) -> Vec<Effect> {
        let mut faults = lock(&self.0);
        let mut effects = Vec::new();
        for (fault, seen) in faults
            .iter_mut()
            .filter(|(fault, _)| fault.matches(server, call, own))
        {
            let turn = *seen;
            *seen += 1;
            if turn >= fault.after && fault.times.is_none_or(|times| turn < fault.after + times) {
                effects.push(fault.effect.clone());
            }
        }
        effects
    }
}

/// Spoils an answer that was already made; `None` = the connection breaks instead.
pub(crate) async fn spoil(
    mut response: Response<Body>,
    effects: &[Effect],
) -> Option<Response<Body>> {
    for effect in effects {
        match effect {
            Effect::ResetAfter => return None,
            Effect::Truncated => response = truncate(response).await,
            Effect::MalformedJson => {
                let (parts, _) = response.into_parts();
                response = Response::from_parts(parts, wire::full("{\"kind\": \"Clust"));
            }
            Effect::ContentType(name) => {
                response
                    .headers_mut()
                    .insert(CONTENT_TYPE, HeaderValue::from_static(name));
            }
            Effect::Warning(text) => {
                if let Ok(value) = HeaderValue::from_str(&format!("299 - \"{text}\"")) {
                    response.headers_mut().append(WARNING, value);
                }
            }
            _ => {}
        }
    }
    Some(response)
}

async fn truncate(response: Response<Body>) -> Response<Body> {
    use futures::StreamExt;
    use http_body_util::{BodyExt, StreamBody};
    use hyper::body::{Bytes, Frame};

    let (mut parts, body) = response.into_parts();
    let whole = body
        .collect()
        .await
        .map(http_body_util::Collected::to_bytes)
        .unwrap_or_default();
    parts
        .headers
        .insert(http::header::CONTENT_LENGTH, HeaderValue::from(whole.len()));
    let half: Bytes = whole.slice(..whole.len() / 2);
    let cut = std::io::Error::new(std::io::ErrorKind::ConnectionReset, "cut");
    let frames = futures::stream::iter([Ok(Frame::data(half)), Err(cut)]);
    // The half must reach the client before the connection breaks.
    let paced = frames.then(|frame| async {
        if frame.is_err() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        frame
    });
    Response::from_parts(parts, wire::stream(StreamBody::new(paced)))
}

fn answer(server: &str, code: u16, message: Option<&str>) -> Response<Body> {
    if server == DOCKER {
        let message = message.unwrap_or("the daemon was told to fail");
        return wire::json(code, &json!({ "message": message }));
    }
    let (reason, text, details) = match code {
        400 => (
            "BadRequest",
            "the server rejected our request for an unknown reason",
            Value::Null,
        ),
        401 => ("Unauthorized", "Unauthorized", Value::Null),
        403 => (
            "Forbidden",
            "forbidden: the server was told to refuse",
            json!({}),
        ),
        404 => (
            "NotFound",
            "the server could not find the requested resource",
            json!({}),
        ),
        409 => (
            "Conflict",
            "Operation cannot be fulfilled: the object has been modified; please apply your changes to the latest version and try again",
            json!({}),
        ),
        422 => (
            "Invalid",
            "the server rejected our request due to an error in our request",
            json!({}),
        ),
        429 => (
            "TooManyRequests",
            "Too many requests, please try again later.",
            json!({"retryAfterSeconds": 1}),
        ),
        503 => (
            "ServiceUnavailable",
            "the server is currently unable to handle the request",
            json!({}),
        ),
        504 => (
            "Timeout",
            "Timeout: request did not complete within requested timeout",
            json!({}),
        ),
        _ => (
            "InternalError",
            "Internal error occurred: the server was told to fail",
            json!({}),
        ),
    };
    wire::refusal(&Refusal::new(code, reason, message.unwrap_or(text)).with_details(details))
}
