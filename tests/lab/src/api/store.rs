//! Objects with their revisions and the history that watches follow. Pure.

use std::collections::{BTreeMap, VecDeque};

use serde_json::Value;
use tokio::sync::watch;

use super::kinds::Kind;

/// All objects of one API server.
pub(crate) struct Store {
    objects: BTreeMap<Key, Value>,
    revision: u64,
    history: VecDeque<Change>,
    wake: watch::Sender<u64>,
}

/// What addresses an object; the namespace is empty for objects at cluster scope.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    group: &'static str,
    resource: &'static str,
    pub(crate) namespace: String,
    pub(crate) name: String,
}

/// One change in the history of a store.
#[derive(Debug, Clone)]
pub(crate) struct Change {
    pub(crate) revision: u64,
    pub(crate) kind: &'static Kind,
    pub(crate) what: What,
    /// The object after the change; for a deletion its last state.
    pub(crate) object: Value,
}

/// How an object changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum What {
    Added,
    Modified,
    Deleted,
}

impl Key {
    pub(crate) fn new(kind: &Kind, namespace: &str, name: &str) -> Self {
        Self {
            group: kind.group,
            resource: kind.resource,
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        }
    }

    pub(crate) fn is_of(&self, kind: &Kind) -> bool {
        self.group == kind.group && self.resource == kind.resource
    }
}

impl Store {
    pub(crate) fn new() -> Self {
        Self {
            objects: BTreeMap::new(),
            revision: 1,
            history: VecDeque::new(),
            wake: watch::Sender::new(1),
        }
    }

    pub(crate) fn revision(&self) -> u64 {
        self.revision
    }

    /// Lets the next revision be later than this one.
    pub(crate) fn skip_to(&mut self, revision: u64) {
        self.revision = self.revision.max(revision);
    }

    pub(crate) fn read(&self, key: &Key) -> Option<&Value> {
        self.objects.get(key)
    }

    /// The objects of a kind, in all namespaces or in one, sorted by namespace and name.
    pub(crate) fn list(
        &self,
        kind: &'static Kind,
        namespace: Option<&str>,
    ) -> impl Iterator<Item = &Value> {
        let namespace = namespace.map(str::to_owned);
        self.objects
            .iter()
            .filter(move |(key, _)| {
                key.is_of(kind)
                    && namespace
                        .as_ref()
                        .is_none_or(|wanted| *wanted == key.namespace)
            })
            .map(|(_, object)| object)
    }

    /// All objects with their kinds' names, whatever they are.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&Key, &Value)> {
        self.objects.iter()
    }

    /// Stores `object` under `key` with a new resourceVersion and tells the watches.
    pub(crate) fn write(&mut self, kind: &'static Kind, key: Key, mut object: Value) -> Value {
        self.revision += 1;
        object["metadata"]["resourceVersion"] = Value::String(self.revision.to_string());
        let before = self.objects.insert(key, object.clone());
        self.record(
            kind,
            if before.is_some() {
                What::Modified
            } else {
                What::Added
            },
            object.clone(),
        );
        object
    }

    /// Removes the object and tells the watches; `None` if there was none.
    pub(crate) fn remove(&mut self, kind: &'static Kind, key: &Key) -> Option<Value> {
        let mut object = self.objects.remove(key)?;
        self.revision += 1;
        object["metadata"]["resourceVersion"] = Value::String(self.revision.to_string());
        self.record(kind, What::Deleted, object.clone());
        Some(object)
    }

    /// The changes after `revision`, oldest first, or `None` when they are no longer remembered.
    pub(crate) fn since(&self, revision: u64) -> Option<Vec<Change>> {
        let forgotten = self
            .history
            .front()
            .is_some_and(|oldest| oldest.revision > revision + 1)
            && self.history.len() == REMEMBERED;
        (!forgotten).then(|| {
            self.history
                .iter()
                .filter(|change| change.revision > revision)
                .cloned()
                .collect()
        })
    }

    /// Wakes whenever something changes; the value is the revision.
    pub(crate) fn subscribe(&self) -> watch::Receiver<u64> {
        self.wake.subscribe()
    }

    fn record(&mut self, kind: &'static Kind, what: What, object: Value) {
        if self.history.len() == REMEMBERED {
            self.history.pop_front();
        }
        self.history.push_back(Change {
            revision: self.revision,
            kind,
            what,
            object,
        });
        self.wake.send_replace(self.revision);
    }
}

const REMEMBERED: usize = 4096;
