//! Lists in pages, as `limit` and `continue` ask for them
//! (<https://kubernetes.io/docs/reference/using-api/api-concepts/#retrieving-large-results-sets-in-chunks>). Pure.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

use super::refusal::Refusal;
use super::request::Query;

/// A part of a list.
#[derive(Debug, PartialEq)]
pub(crate) struct Page {
    pub(crate) objects: Vec<Value>,
    /// What `metadata` says about the rest; empty on the last page.
    pub(crate) rest: Vec<(&'static str, Value)>,
}

/// The page that the query asks for, of objects sorted by namespace and name.
///
/// # Errors
/// 400 for a limit or token that is none.
pub(crate) fn page(mut objects: Vec<Value>, query: &Query) -> Result<Page, Refusal> {
    let wrong = |what: &str| Refusal::new(400, "BadRequest", format!("{what} is not valid"));
    if let Some(token) = query.value("continue") {
        let last = URL_SAFE_NO_PAD
            .decode(token)
            .map_err(|_| wrong("continue key"))?;
        let last: (String, String) =
            serde_json::from_slice(&last).map_err(|_| wrong("continue key"))?;
        objects.retain(|object| key(object) > last);
    }
    let limit: usize = match query.value("limit") {
        Some(limit) => limit.parse().map_err(|_| wrong("limit"))?,
        None => 0,
    };
    let mut rest = Vec::new();
    if limit > 0 && objects.len() > limit {
        let remaining = objects.len() - limit;
        objects.truncate(limit);
        let last = objects.last().map(key).unwrap_or_default();
        let token = URL_SAFE_NO_PAD.encode(json!([last.0, last.1]).to_string());
        rest = vec![
            ("continue", json!(token)),
            ("remainingItemCount", json!(remaining)),
        ];
    }
    Ok(Page { objects, rest })
}

fn key(object: &Value) -> (String, String) {
    let text = |name: &str| {
        let value = object["metadata"][name].as_str();
        value.unwrap_or_default().to_owned()
    };
    (text("namespace"), text("name"))
}
