//! What an API server answers when it does not do what it was asked: Kubernetes `Status` objects.

use serde_json::{Value, json};

use super::kinds::Kind;

/// A failed request, as the `Status` that the API server answers.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message} ({code} {reason})")]
pub struct Refusal {
    /// HTTP status code.
    pub code: u16,
    /// `status.reason`, empty when the server gives none.
    pub reason: String,
    /// `status.message`.
    pub message: String,
    /// `status.details`; null when the server gives none.
    pub details: Value,
}

impl Refusal {
    /// A refusal without details.
    pub fn new(code: u16, reason: &str, message: impl Into<String>) -> Self {
        Self {
            code,
            reason: reason.to_owned(),
            message: message.into(),
            details: Value::Null,
        }
    }

    pub(crate) fn with_details(mut self, details: Value) -> Self {
        self.details = details;
        self
    }

    /// The `Status` object.
    pub fn body(&self) -> Value {
        let mut body = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": self.message, "reason": self.reason, "code": self.code,
        });
        if self.reason.is_empty() {
            body.as_object_mut()
                .expect("literal object")
                .remove("reason");
        }
        if !self.details.is_null() {
            body["details"] = self.details.clone();
        }
        body
    }

    pub(crate) fn not_found(kind: &Kind, name: &str) -> Self {
        Self::new(
            404,
            "NotFound",
            format!("{} \"{name}\" not found", kind.qualified()),
        )
        .with_details(json!({"name": name, "group": kind.group, "kind": kind.resource}))
    }

    /// The path names nothing that this server knows.
    pub(crate) fn unknown_path() -> Self {
        Self::new(
            404,
            "NotFound",
            "the server could not find the requested resource",
        )
        .with_details(json!({}))
    }

    pub(crate) fn already_exists(kind: &Kind, name: &str) -> Self {
        Self::new(
            409,
            "AlreadyExists",
            format!("{} \"{name}\" already exists", kind.qualified()),
        )
        .with_details(json!({"name": name, "group": kind.group, "kind": kind.resource}))
    }

    pub(crate) fn conflict(kind: &Kind, name: &str, cause: &str) -> Self {
        Self::new(
            409,
            "Conflict",
            format!(
                "Operation cannot be fulfilled on {} \"{name}\": {cause}",
                kind.qualified()
            ),
        )
        .with_details(json!({"name": name, "group": kind.group, "kind": kind.resource}))
    }

    pub(crate) fn modified(kind: &Kind, name: &str) -> Self {
        Self::conflict(
            kind,
            name,
            "the object has been modified; please apply your changes to the latest version and try again",
        )
    }

    pub(crate) fn unauthorized() -> Self {
        Self::new(401, "Unauthorized", "Unauthorized")
    }

    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
    }

    pub(crate) fn method_not_allowed() -> Self {
        Self::new(
            405,
            "MethodNotAllowed",
            "the server does not allow this method on the requested resource",
        )
        .with_details(json!({}))
    }

    pub(crate) fn unsupported_media_type(message: &str) -> Self {
        Self::new(415, "UnsupportedMediaType", message.to_owned())
    }

    /// A JSON Patch that does not apply, a failed `test` included.
    pub(crate) fn patch_rejected() -> Self {
        Self::new(
            422,
            "Invalid",
            "the server rejected our request due to an error in our request",
        )
        .with_details(json!({}))
    }

    /// Field errors, each `(field, message)`; the message begins with its class, as in `Invalid value: ...`.
    pub(crate) fn invalid(kind: &Kind, name: &str, causes: &[(String, String)]) -> Self {
        let texts: Vec<String> = causes
            .iter()
            .map(|(field, message)| format!("{field}: {message}"))
            .collect();
        let joined = if texts.len() == 1 {
            texts[0].clone()
        } else {
            format!("[{}]", texts.join(", "))
        };
        let qualified = if kind.group.is_empty() {
            kind.kind.to_owned()
        } else {
            format!("{}.{}", kind.kind, kind.group)
        };
        let causes: Vec<Value> = causes
            .iter()
            .map(|(field, message)| {
                let reason = if message.starts_with("Required") {
                    "FieldValueRequired"
                } else {
                    "FieldValueInvalid"
                };
                json!({"reason": reason, "message": message, "field": field})
            })
            .collect();
        Self::new(
            422,
            "Invalid",
            format!("{qualified} \"{name}\" is invalid: {joined}"),
        )
        .with_details(
            json!({"name": name, "group": kind.group, "kind": kind.kind, "causes": causes}),
        )
    }

    pub(crate) fn internal(message: impl std::fmt::Display) -> Self {
        Self::new(
            500,
            "InternalError",
            format!("Internal error occurred: {message}"),
        )
        .with_details(json!({"causes": [{"message": message.to_string()}]}))
    }
}
