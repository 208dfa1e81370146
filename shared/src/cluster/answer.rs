//! Answers of an API server, and how they are read. Pure.

use std::fmt;

use http::header::CONTENT_TYPE;
use http::{HeaderMap, StatusCode};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::cluster::server_text::shortened;

/// An answer of any code.
#[derive(Clone)]
pub struct Answer {
    /// The HTTP status.
    pub status: StatusCode,
    /// The HTTP headers.
    pub headers: HeaderMap,
    /// The body, decompressed.
    pub body: Vec<u8>,
}

/// Shows the size of the body only: it may be a Secret.
impl fmt::Debug for Answer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Answer")
            .field("status", &self.status)
            .field("bytes", &self.body.len())
            .finish_non_exhaustive()
    }
}

impl Answer {
    /// The words of the answer, without long quotations: the `message` of a Kubernetes Status, else the body as text.
    pub fn message(&self) -> String {
        let status: Option<Value> = serde_json::from_slice(&self.body).ok();
        let message = status
            .as_ref()
            .and_then(|status| status.get("message")?.as_str());
        match message {
            Some(message) => shortened(message),
            None => shortened(String::from_utf8_lossy(&self.body).trim()),
        }
    }

    /// Reads the body as JSON.
    ///
    /// # Errors
    /// What is wrong with it, without quoting it: it may be a Secret.
    pub fn decode<T: DeserializeOwned>(&self) -> Result<T, String> {
        serde_json::from_slice(&self.body).map_err(|error| problem(&error, &self.headers))
    }
}

/// All objects of a kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct List<T> {
    /// In the server's order.
    pub items: Vec<T>,
    /// The version of the list; `None` = the server gave none.
    pub resource_version: Option<String>,
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for List<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<List<T>, D::Error> {
        let body = ListBody::deserialize(deserializer)?;
        Ok(List {
            items: body.items.unwrap_or_default(),
            resource_version: body
                .metadata
                .resource_version
                .filter(|version| !version.is_empty()),
        })
    }
}

/// `items` is null when a Go server has none, and absent when the answer is no list.
#[derive(Deserialize)]
#[serde(bound(deserialize = "T: DeserializeOwned"))]
struct ListBody<T> {
    #[serde(default)]
    metadata: ListMetadata,
    #[serde(deserialize_with = "Option::deserialize")]
    items: Option<Vec<T>>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
struct ListMetadata {
    resource_version: Option<String>,
}

fn problem(error: &serde_json::Error, headers: &HeaderMap) -> String {
    let content_type = headers
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    if !content_type.is_empty() && !content_type.contains("json") {
        return format!("content type {content_type}");
    }
    let place = format!("line {} column {}", error.line(), error.column());
    let text = error.to_string();
    match error.classify() {
        serde_json::error::Category::Eof => "JSON that ends too early".to_owned(),
        serde_json::error::Category::Data if text.starts_with("missing field") => text,
        serde_json::error::Category::Data => format!("JSON of another shape at {place}"),
        _ => format!("no JSON at {place}"),
    }
}
