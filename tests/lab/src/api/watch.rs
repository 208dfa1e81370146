//! Watches: the history of a store as a stream of JSON lines.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use futures::stream::{self, BoxStream};
use http_body_util::StreamBody;
use hyper::body::{Bytes, Frame};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::kinds::Kind;
use super::refusal::Refusal;
use super::registry::Registry;
use super::selectors::Selection;
use super::store::{Change, What};
use super::table;
use crate::wire::{self, Body};

/// What to watch, and how to show it.
pub(crate) struct Watch {
    pub(crate) registry: Arc<Registry>,
    pub(crate) kind: &'static Kind,
    /// `None` = all namespaces.
    pub(crate) namespace: Option<String>,
    pub(crate) selection: Selection,
    /// Changes after this revision; `None` begins with the objects that exist.
    pub(crate) since: Option<u64>,
    pub(crate) as_table: bool,
    pub(crate) timeout: Duration,
}

/// The body of a watch.
pub(crate) fn body(watch: Watch) -> Body {
    let (pending, cursor) = match watch.since {
        Some(revision) => (Vec::new(), revision),
        None => {
            let (objects, revision) =
                watch
                    .registry
                    .list(watch.kind, watch.namespace.as_deref(), &watch.selection);
            (
                objects
                    .iter()
                    .map(|object| line(&watch, "ADDED", object))
                    .collect(),
                revision,
            )
        }
    };
    let initial = stream::iter(pending);
    let deadline = Instant::now() + watch.timeout;
    let changes = stream::unfold((watch, cursor), move |(watch, cursor)| async move {
        let (lines, cursor) = next(&watch, cursor, deadline).await?;
        Some((stream::iter(lines), (watch, cursor)))
    });
    let lines: BoxStream<'static, Bytes> = initial.chain(changes.flatten()).boxed();
    wire::stream(StreamBody::new(lines.map(|line| Ok(Frame::data(line)))))
}

async fn next(watch: &Watch, cursor: u64, deadline: Instant) -> Option<(Vec<Bytes>, u64)> {
    let mut wake = watch.registry.with_store(|store| store.subscribe());
    loop {
        let changes = watch.registry.with_store(|store| store.since(cursor));
        let Some(changes) = changes else {
            let gone = Refusal::new(
                410,
                "Expired",
                format!("too old resource version: {cursor}"),
            );
            let error = json!({"type": "ERROR", "object": gone.body()});
            return Some((vec![Bytes::from(format!("{error}\n"))], u64::MAX));
        };
        if cursor == u64::MAX {
            return None;
        }
        let lines: Vec<Bytes> = changes
            .iter()
            .filter_map(|change| show(watch, change))
            .collect();
        let reached = changes.last().map_or(cursor, |change| change.revision);
        if !lines.is_empty() {
            return Some((lines, reached));
        }
        tokio::time::timeout_at(deadline, wake.changed())
            .await
            .ok()?
            .ok()?;
    }
}

fn show(watch: &Watch, change: &Change) -> Option<Bytes> {
    let namespace = change.object["metadata"]["namespace"]
        .as_str()
        .unwrap_or_default();
    let wanted = change.kind == watch.kind
        && watch
            .namespace
            .as_ref()
            .is_none_or(|wanted| wanted == namespace)
        && watch.selection.matches(&change.object);
    let what = match change.what {
        What::Added => "ADDED",
        What::Modified => "MODIFIED",
        What::Deleted => "DELETED",
    };
    wanted.then(|| line(watch, what, &change.object))
}

fn line(watch: &Watch, what: &str, object: &Value) -> Bytes {
    let shown = if watch.as_table {
        let revision = object["metadata"]["resourceVersion"]
            .as_str()
            .unwrap_or_default();
        table::render(watch.kind, std::slice::from_ref(object), revision)
    } else {
        object.clone()
    };
    Bytes::from(format!("{}\n", json!({"type": what, "object": shown})))
}
