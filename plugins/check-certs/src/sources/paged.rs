//! Lists of any length, a page at a time.

use karmada_repair::cluster::client::ClusterClient;
use karmada_repair::cluster::request_error::RequestError;
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// Reads all objects of a kind, and hands on each page as it comes, so that no more than one is held.
///
/// A list that changed too much in between is read again from its start: a page may then hold objects that were handed on
/// before.
///
/// # Errors
/// As [`RequestError`] tells; what was handed on before stays.
pub(super) async fn each_page<T: DeserializeOwned>(
    client: &ClusterClient,
    path: &str,
    limit: usize,
    mut take: impl FnMut(Vec<T>),
) -> Result<(), RequestError> {
    let mut next = String::new();
    let mut starts = 0;
    loop {
        let target = match next.is_empty() {
            true => format!("{path}?limit={limit}"),
            false => format!("{path}?limit={limit}&continue={}", query_value(&next)),
        };
        match client.get::<Page<T>>(&target).await {
            Ok(page) => {
                take(page.items.unwrap_or_default());
                let metadata = page.metadata;
                next = metadata
                    .and_then(|metadata| metadata.next)
                    .unwrap_or_default();
                if next.is_empty() {
                    return Ok(());
                }
            }
            Err(error) if error.code() == Some(410) && !next.is_empty() && starts < MOST_STARTS => {
                starts += 1;
                next.clear();
            }
            Err(error) => return Err(error),
        }
    }
}

#[derive(Deserialize)]
struct Page<T> {
    metadata: Option<PageMetadata>,
    items: Option<Vec<T>>,
}

#[derive(Deserialize)]
struct PageMetadata {
    #[serde(rename = "continue")]
    next: Option<String>,
}

fn query_value(text: &str) -> String {
    url::form_urlencoded::byte_serialize(text.as_bytes()).collect()
}

const MOST_STARTS: usize = 3;
