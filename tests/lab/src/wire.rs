//! Bodies and answers of the lab's HTTP servers.

use std::io;

use http::header::{CONTENT_TYPE, HeaderValue};
use http::{HeaderMap, Method, Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Bytes, Frame};
use hyper::upgrade::OnUpgrade;
use rustls::pki_types::CertificateDer;
use serde_json::Value;

use crate::api::refusal::Refusal;

/// A body of any length, perhaps endless.
pub(crate) type Body = UnsyncBoxBody<Bytes, io::Error>;

/// A request that was read whole.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) method: Method,
    /// Path without query, as sent.
    pub(crate) path: String,
    pub(crate) query: Option<String>,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    /// The client's leaf certificate, if it sent one; nobody has judged it yet.
    pub(crate) certificate: Option<CertificateDer<'static>>,
    /// The connection itself, for protocols that take it over.
    pub(crate) upgrade: Option<OnUpgrade>,
}

/// An answer, and who was found to have asked.
pub(crate) struct Answer {
    pub(crate) response: Response<Body>,
    /// `None` = nobody was authenticated.
    pub(crate) user: Option<String>,
}

impl Call {
    /// Path and query as sent.
    pub(crate) fn target(&self) -> String {
        match &self.query {
            Some(query) => format!("{}?{query}", self.path),
            None => self.path.clone(),
        }
    }

    pub(crate) fn header(&self, name: impl http::header::AsHeaderName) -> &str {
        self.headers
            .get(name)
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default()
    }

    /// The body as JSON; an empty body is null.
    pub(crate) fn json(&self) -> Result<Value, Refusal> {
        if self.body.is_empty() {
            return Ok(Value::Null);
        }
        serde_json::from_slice(&self.body).map_err(|error| {
            Refusal::bad_request(format!(
                "couldn't get version/kind; json parse error: {error}"
            ))
        })
    }
}

impl Answer {
    pub(crate) fn anonymous(response: Response<Body>) -> Self {
        Self {
            response,
            user: None,
        }
    }
}

/// A body that is all there.
pub(crate) fn full(bytes: impl Into<Bytes>) -> Body {
    Full::new(bytes.into())
        .map_err(|never| match never {})
        .boxed_unsync()
}

/// A body that comes in pieces.
pub(crate) fn stream<S>(body: StreamBody<S>) -> Body
where
    S: futures::Stream<Item = io::Result<Frame<Bytes>>> + Send + 'static,
{
    body.boxed_unsync()
}

/// A JSON answer.
pub(crate) fn json(code: u16, value: &Value) -> Response<Body> {
    typed(code, "application/json", value.to_string())
}

/// A plain text answer.
pub(crate) fn text(code: u16, text: impl Into<String>) -> Response<Body> {
    typed(code, "text/plain; charset=utf-8", text.into())
}

/// An answer of some content type.
pub(crate) fn typed(code: u16, content_type: &'static str, body: String) -> Response<Body> {
    let mut response = Response::new(full(body));
    *response.status_mut() =
        StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

/// A refusal as the API server answers it.
pub(crate) fn refusal(refusal: &Refusal) -> Response<Body> {
    json(refusal.code, &refusal.body())
}
