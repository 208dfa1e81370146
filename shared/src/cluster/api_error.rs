//! What an API server says when it refuses a request, in kubectl's words. Pure.

use std::fmt;

use http::{HeaderMap, Method, StatusCode};
use serde::Deserialize;

use crate::cluster::resource_path::ResourcePath;
use crate::cluster::server_text::{leads_to_secrets, shortened, without_value};
use crate::text::shell_word;

/// A refusal by an API server: an answer outside 2xx.
///
/// Source: `Status` of <https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/status/>; a body that is
/// no `Status` is described by its HTTP code, as client-go does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiError {
    /// The HTTP code.
    pub code: u16,
    /// The machine-readable reason, as `NotFound`; empty = the server gave none.
    pub reason: String,
    /// What the server says.
    pub message: String,
    /// The HTTP method, lower case.
    pub verb: String,
    /// The path that was requested, without its query.
    pub path: String,
    /// Of `details`: the kind or resource that the refusal is about; empty = not said.
    pub kind: String,
    /// Of `details`: the name of the object; empty = not said.
    pub name: String,
    /// Of `details`: field and message of each cause.
    pub causes: Vec<ApiCause>,
}

/// One of the causes of a refusal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiCause {
    /// The field, as `spec.apiEndpoint`; empty = no field in particular.
    pub field: String,
    /// What is wrong with it.
    pub message: String,
    /// The machine-readable reason, as `FieldManagerConflict`; empty = none.
    pub reason: String,
}

impl ApiError {
    /// Reads an answer outside 2xx.
    pub(crate) fn of(
        method: &Method,
        path: &str,
        status: StatusCode,
        headers: &HeaderMap,
        body: &[u8],
    ) -> ApiError {
        let path = path.split('?').next().unwrap_or_default();
        let described = match serde_json::from_slice::<StatusBody>(body) {
            Ok(described) if described.kind == "Status" => Some(described),
            _ => None,
        };
        // What is refused as invalid may be quoted back, and it may be a Secret.
        let may_quote = leads_to_secrets(path) && matches!(status.as_u16(), 400 | 422);
        let text = if may_quote {
            String::new()
        } else {
            plain_text(headers, body)
        };
        let (generic_reason, generic_message) = generic(method, path, status, &text);
        let described = described.unwrap_or_else(|| StatusBody {
            reason: Some(generic_reason.to_owned()),
            ..StatusBody::default()
        });
        let details = described.details.unwrap_or_default();
        let message = described
            .message
            .filter(|message| !message.is_empty() && !may_quote);
        let cause = |cause: CauseBody| ApiCause {
            field: cause.field.unwrap_or_default(),
            message: match (cause.message.unwrap_or_default(), may_quote) {
                (message, true) => without_value(&message),
                (message, false) => shortened(&message),
            },
            reason: cause.reason.unwrap_or_default(),
        };
        ApiError {
            code: status.as_u16(),
            reason: described.reason.unwrap_or_default(),
            message: message.map_or(generic_message, |message| shortened(&message)),
            verb: method.as_str().to_lowercase(),
            path: path.to_owned(),
            kind: details.kind.unwrap_or_default(),
            name: details.name.unwrap_or_default(),
            causes: details
                .causes
                .unwrap_or_default()
                .into_iter()
                .map(cause)
                .collect(),
        }
    }

    /// A command that shows whether the verb is allowed, without the flags that lead to the server; `None` = the path
    /// is about no resource.
    pub(crate) fn permission_check(&self) -> Option<String> {
        let resource = ResourcePath::of(&self.path)?;
        let method = Method::from_bytes(self.verb.to_uppercase().as_bytes()).ok()?;
        let mut command = format!(
            "kubectl auth can-i {} {}",
            resource.rbac_verb(&method),
            resource.qualified()
        );
        if let Some(subresource) = &resource.subresource {
            command.push_str(&format!(" --subresource={}", shell_word(subresource)));
        }
        if let Some(namespace) = &resource.namespace {
            command.push_str(&format!(" --namespace {}", shell_word(namespace)));
        }
        Some(command)
    }
}

impl std::error::Error for ApiError {}

/// Follows kubectl's `cmd/util` (`StandardErrorMessage`), with a lower-case first letter.
impl fmt::Display for ApiError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.reason.as_str() {
            "Unauthorized" => write!(
                formatter,
                "you must be logged in to the server ({})",
                self.message
            ),
            "Invalid" => formatter.write_str(&self.invalid()),
            "" => write!(formatter, "error from server: {}", self.message),
            reason => write!(formatter, "error from server ({reason}): {}", self.message),
        }
    }
}

impl ApiError {
    fn invalid(&self) -> String {
        let subject = match (self.kind.as_str(), self.name.as_str()) {
            ("", "") => "the request is invalid".to_owned(),
            (kind, name) => format!("the {kind} \"{name}\" is invalid"),
        };
        let mut causes: Vec<String> = self.causes.iter().map(ApiCause::to_string).collect();
        causes.dedup();
        match (
            causes.is_empty(),
            self.kind.is_empty() && self.name.is_empty(),
        ) {
            (false, _) => format!("{subject}: {}", causes.join("; ")),
            (true, true) => format!("{subject}: {}", self.message),
            // The message says no more than kind and name.
            (true, false) => subject,
        }
    }
}

impl fmt::Display for ApiCause {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.field.as_str() {
            "" => formatter.write_str(&self.message),
            field => write!(formatter, "{field}: {}", self.message),
        }
    }
}

#[derive(Deserialize, Default)]
struct StatusBody {
    #[serde(default)]
    kind: String,
    message: Option<String>,
    reason: Option<String>,
    details: Option<DetailsBody>,
}

#[derive(Deserialize, Default)]
struct DetailsBody {
    kind: Option<String>,
    name: Option<String>,
    causes: Option<Vec<CauseBody>>,
}

#[derive(Deserialize)]
struct CauseBody {
    field: Option<String>,
    message: Option<String>,
    reason: Option<String>,
}

/// Reason and message for an answer that is no `Status` (apimachinery `NewGenericServerResponse`).
fn generic(method: &Method, path: &str, status: StatusCode, body: &str) -> (&'static str, String) {
    let (reason, message) = match status.as_u16() {
        400 => (
            "BadRequest",
            "the server rejected our request for an unknown reason",
        ),
        401 => (
            "Unauthorized",
            "the server has asked for the client to provide credentials",
        ),
        403 => ("Forbidden", "the server does not allow this request"),
        404 => (
            "NotFound",
            "the server could not find the requested resource",
        ),
        405 => (
            "MethodNotAllowed",
            "the server does not allow this method on the requested resource",
        ),
        406 => (
            "NotAcceptable",
            "the server cannot answer in a content type that was asked for",
        ),
        409 if method == Method::POST => ("AlreadyExists", "the server reported a conflict"),
        409 => ("Conflict", "the server reported a conflict"),
        415 => (
            "UnsupportedMediaType",
            "the server does not take the content type of the request",
        ),
        422 => (
            "Invalid",
            "the server rejected our request due to an error in our request",
        ),
        429 => (
            "TooManyRequests",
            "the server has received too many requests and has asked us to try again later",
        ),
        503 => (
            "ServiceUnavailable",
            "the server is currently unable to handle the request",
        ),
        504 => (
            "Timeout",
            "the server was unable to return a response in the time allotted, but may still be processing the request",
        ),
        500.. => (
            "InternalError",
            "an error on the server has prevented the request from succeeding",
        ),
        _ => ("", "the server refused the request"),
    };
    let target = target(method, path);
    let message = match (status.as_u16(), body) {
        (code @ ..400, _) => format!("the server answered {code} instead of a result ({target})"),
        (500..=502 | 505.., body) if !body.is_empty() => {
            format!(
                "an error on the server ({body:?}) has prevented the request from succeeding ({target})"
            )
        }
        (403 | 406 | 415 | 503, body) if !body.is_empty() => {
            format!("{message}: {body} ({target})")
        }
        _ => format!("{message} ({target})"),
    };
    (reason, message)
}

/// What was asked for, as `get clusters.cluster.karmada.io a`.
fn target(method: &Method, path: &str) -> String {
    let verb = method.as_str().to_lowercase();
    match ResourcePath::of(path) {
        Some(resource) => match &resource.name {
            Some(name) => format!("{verb} {} {name}", resource.qualified()),
            None => format!("{verb} {}", resource.qualified()),
        },
        None => format!("{verb} {path}"),
    }
}

/// The first words of a plain-text body; empty = another content type, where they would be markup.
fn plain_text(headers: &HeaderMap, body: &[u8]) -> String {
    const LONGEST: usize = 256;
    let content_type = headers
        .get(http::header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
    match content_type {
        Some(content_type) if !content_type.starts_with("text/plain") => String::new(),
        _ => {
            let text = String::from_utf8_lossy(body);
            let line: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
            match line.char_indices().nth(LONGEST) {
                Some((end, _)) => format!("{}...", &line[..end]),
                None => line,
            }
        }
    }
}
