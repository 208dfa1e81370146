//! Steps in the making: what each Secret holds after the steps so far. Pure.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use json_patch::{Patch, PatchOperation};
use karmada_repair::cluster::object::ObjectReference;
use karmada_repair::finding::{FindingKey, Subject};
use karmada_repair::part::Part;
use karmada_repair::plan::{Action, PodCommand, Server, Step, joined, set_annotation};
use serde_json::{Value as Json, json};

use crate::airflow::KeyKind;
use crate::discovery::SecretKey;
use crate::group::Chosen;
use crate::key::Opaque;
use crate::keyring::Reading;
use crate::observed::{Observed, SecretSeen, Workload};
use crate::rotation::{ANNOTATION, Note};
use crate::stale::stale;

/// Whether an undo takes a change back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Undo {
    /// It does.
    Possible,
    /// It does not: something may have been encrypted since that needs it.
    Never,
}

/// What is written where an instance reads a key.
#[derive(Debug, Clone, Copy)]
pub(super) struct Write<'w> {
    /// The key.
    pub(super) kind: KeyKind,
    /// Its value.
    pub(super) value: &'w Opaque,
    /// What the annotation is to say; `None` = it stays.
    pub(super) note: Option<&'w Note>,
    /// Whether an undo takes it back.
    pub(super) undo: Undo,
    /// What the value becomes.
    pub(super) reason: &'w str,
}

/// The steps so far, all of one subject: where one fails, none of those after it is done.
pub(super) struct Draft<'a> {
    observed: &'a Observed,
    subject: Subject,
    cures: Vec<FindingKey>,
    secrets: BTreeMap<(Server, ObjectReference), State>,
    pub(super) steps: Vec<Step>,
}

/// A Secret after the steps so far.
#[derive(Clone, Default)]
struct State {
    /// Whether it is there.
    exists: bool,
    /// Whether a step creates it.
    is_new: bool,
    /// Whether it has data and annotations at all.
    has_data: bool,
    annotated: bool,
    note: Option<String>,
    /// The values that are known, in base64.
    values: BTreeMap<String, String>,
    /// The keys that it has.
    keys: Vec<String>,
    /// What tells that it is the object that was observed; nothing once a step has changed it.
    untouched: Option<(String, String)>,
}

impl<'a> Draft<'a> {
    pub(super) fn new(observed: &'a Observed, subject: Subject, cures: Vec<FindingKey>) -> Self {
        Draft {
            observed,
            subject,
            cures,
            secrets: BTreeMap::new(),
            steps: Vec::new(),
        }
    }

    /// Writes a value where the instance reads this kind; returns the keys of Secrets that change, none where all hold it.
    pub(super) fn write(&mut self, chosen: Chosen<'a>, write: &Write<'_>) -> Vec<SecretKey> {
        let uses = chosen.instance.keys.get(&write.kind).into_iter().flatten();
        let keys: Vec<(SecretKey, Option<Opaque>)> = uses
            .filter_map(|one| match &one.source {
                crate::discovery::Source::SecretKey(key) => {
                    Some((key.clone(), one.value.seen().map(|value| value.raw.clone())))
                }
                _ => None,
            })
            .collect();
        keys.into_iter()
            .filter(|(key, now)| self.write_key(chosen, key, now.as_ref(), write))
            .map(|(key, _)| key)
            .collect()
    }

    fn write_key(
        &mut self,
        chosen: Chosen<'a>,
        key: &SecretKey,
        now: Option<&Opaque>,
        write: &Write<'_>,
    ) -> bool {
        let Write {
            kind,
            value,
            note,
            undo,
            reason,
        } = *write;
        let namespace = chosen.instance.namespace.as_str();
        let object = ObjectReference::secret(namespace, &key.secret);
        let copy = chosen
            .instance
            .secrets
            .get(&key.secret)
            .and_then(Part::seen);
        let (server, seen) = match copy {
            Some(copy) if copy.karmada_managed => {
                let template = self
                    .observed
                    .templates
                    .get(&format!("{namespace}/{}", key.secret));
                (Server::ControlPlane, template.and_then(Part::seen))
            }
            copy => (Server::Member(chosen.cluster.name.clone()), copy),
        };
        let place = (server.clone(), object.clone());
        let state = self.secrets.entry(place).or_insert_with(|| State::of(seen));
        if let (Some(now), Server::Member(_)) = (now, &server) {
            state
                .values
                .entry(key.key.clone())
                .or_insert_with(|| STANDARD.encode(now.bytes()));
        }
        let after = STANDARD.encode(value.bytes());
        let holds_it = state
            .values
            .get(&key.key)
            .is_some_and(|now| means_the_same(kind, now, value));
        if holds_it {
            return false;
        }
        if state.is_new {
            self.add_to_creation(&server, &object, &key.key, &after);
            return true;
        }
        let action = match state.exists {
            true => {
                let (patch, mut inverse) = state.change(&key.key, &after, note);
                if undo == Undo::Never {
                    inverse
                        .0
                        .retain(|operation| matches!(operation, PatchOperation::Test(_)));
                }
                Action::PatchObject {
                    server,
                    object,
                    patch,
                    inverse,
                }
            }
            false => Action::CreateObject {
                manifest: state.creation(&object, &key.key, &after, note),
                server,
                object,
            },
        };
        let what = match kind {
            KeyKind::Fernet => "list of fernet keys".to_owned(),
            kind => kind.name().replace('-', " "),
        };
        let caution = copy
            .filter(|copy| copy.helm_hook || copy.helm_release.is_some() || copy.argo_cd)
            .map(|_| {
                format!(
                    "Helm or Argo CD made this Secret and will make it anew: name one that is not theirs to the chart ({})",
                    kind.chart_secret_value()
                )
            });
        self.push(action, format!("its {what} {reason}"), caution);
        true
    }

    /// A key more in a Secret that a step creates.
    fn add_to_creation(&mut self, at: &Server, of: &ObjectReference, key: &str, value: &str) {
        for step in &mut self.steps {
            if let Action::CreateObject {
                server,
                object,
                manifest,
            } = &mut step.action
                && (&*server, &*object) == (at, of)
            {
                manifest["data"][key] = json!(value);
            }
        }
        let place = (at.clone(), of.clone());
        if let Some(state) = self.secrets.get_mut(&place) {
            state.values.insert(key.to_owned(), value.to_owned());
        }
    }

    /// Restarts what reads these keys in an instance, and what runs with older values of any.
    pub(super) fn restart(&mut self, chosen: Chosen<'a>, written: &[SecretKey], reason: &str) {
        let stale = stale(chosen.instance);
        for workload in &chosen.instance.workloads {
            let reads = written.iter().any(|key| {
                let same = |read: &SecretKey| read.secret == key.secret && read.key == key.key;
                workload.reads.iter().any(same)
            });
            let is_stale = stale
                .iter()
                .any(|stale| stale.workload.is_some_and(|own| own.uid == workload.uid));
            if workload.replicas > 0 && (reads || (written.is_empty() && is_stale)) {
                let action = Action::Restart {
                    server: Server::Member(chosen.cluster.name.clone()),
                    object: workload.object.clone(),
                    uid: workload.uid.clone(),
                };
                self.push(action, reason.to_owned(), None);
            }
        }
    }

    /// Runs a command of Airflow in a pod of this workload.
    pub(super) fn run(
        &mut self,
        chosen: Chosen<'a>,
        workload: &Workload,
        argv: &[&str],
        reason: &str,
    ) {
        let action = Action::Exec(PodCommand {
            server: Server::Member(chosen.cluster.name.clone()),
            object: workload.object.clone(),
            uid: workload.uid.clone(),
            container: workload.container.clone(),
            argv: argv.iter().map(|&word| word.to_owned()).collect(),
            timeout_seconds: COMMAND_PATIENCE,
        });
        self.push(action, reason.to_owned(), None);
    }

    /// Adds a step as it is.
    pub(super) fn push(&mut self, action: Action, reason: String, caution: Option<String>) {
        self.steps.push(Step {
            subject: self.subject.clone(),
            command: action.command(&self.observed.commands),
            action,
            reason,
            caution,
            cures: self.cures.clone(),
        });
    }
}

impl State {
    fn of(seen: Option<&SecretSeen>) -> State {
        let Some(seen) = seen else {
            return State::default();
        };
        State {
            exists: true,
            is_new: false,
            has_data: !seen.keys.is_empty(),
            annotated: seen.annotated,
            note: seen.note.as_ref().map(Note::to_string),
            values: BTreeMap::new(),
            keys: seen.keys.clone(),
            untouched: Some((seen.uid.clone(), seen.resource_version.clone())),
        }
    }

    /// The patch that sets a key and the note, and its inverse.
    fn change(&mut self, key: &str, after: &str, note: Option<&Note>) -> (Patch, Patch) {
        let path = format!("/data/{}", key.replace('~', "~0").replace('/', "~1"));
        let before = self.values.get(key).cloned();
        let mut forward = Vec::new();
        if let Some((uid, version)) = self.untouched.take() {
            forward.push(json!({"op": "test", "path": "/metadata/uid", "value": uid}));
            forward
                .push(json!({"op": "test", "path": "/metadata/resourceVersion", "value": version}));
        }
        let test_after = json!({"op": "test", "path": path, "value": after});
        let backward = match (
            &before,
            self.has_data,
            self.keys.iter().any(|own| own == key),
        ) {
            (Some(before), _, _) => {
                forward.push(json!({"op": "test", "path": path, "value": before}));
                forward.push(json!({"op": "replace", "path": path, "value": after}));
                json!([test_after, {"op": "replace", "path": path, "value": before}])
            }
            // A value that was not read is tested by the version of the object, and comes back from nowhere.
            (None, _, true) => {
                forward.push(json!({"op": "replace", "path": path, "value": after}));
                json!([test_after])
            }
            (None, true, false) => {
                forward.push(json!({"op": "add", "path": path, "value": after}));
                json!([test_after, {"op": "remove", "path": path}])
            }
            (None, false, false) => {
                forward.push(json!({"op": "test", "path": "/data", "value": null}));
                forward.push(json!({"op": "add", "path": "/data", "value": {key: after}}));
                json!([test_after, {"op": "remove", "path": path}])
            }
        };
        self.values.insert(key.to_owned(), after.to_owned());
        self.has_data = true;
        if !self.keys.iter().any(|own| own == key) {
            self.keys.push(key.to_owned());
        }
        let change = (patch(Json::Array(forward)), patch(backward));
        let note = note.map(Note::to_string);
        match note.filter(|note| self.note.as_ref() != Some(note)) {
            None => change,
            Some(note) => {
                let noted = set_annotation(ANNOTATION, self.annotated, self.note.as_deref(), &note);
                self.annotated = true;
                self.note = Some(note);
                joined(change, noted)
            }
        }
    }

    /// The Secret with this key alone.
    fn creation(
        &mut self,
        object: &ObjectReference,
        key: &str,
        value: &str,
        note: Option<&Note>,
    ) -> Json {
        let note = note.map(Note::to_string);
        let mut metadata = json!({"name": object.name, "namespace": object.namespace});
        if let Some(note) = &note {
            metadata["annotations"] = json!({ANNOTATION: note});
        }
        *self = State {
            exists: true,
            is_new: true,
            has_data: true,
            annotated: note.is_some(),
            note,
            values: BTreeMap::from([(key.to_owned(), value.to_owned())]),
            keys: vec![key.to_owned()],
            untouched: None,
        };
        json!({
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": metadata,
            "type": "Opaque",
            "data": {key: value},
        })
    }
}

/// Whether Airflow makes the same of both: a list of keys may be written in many ways.
fn means_the_same(kind: KeyKind, now: &str, value: &Opaque) -> bool {
    let now = Opaque::new(STANDARD.decode(now).unwrap_or_default());
    match kind {
        KeyKind::Fernet => {
            let wanted = Reading::of(value);
            wanted.keyring().is_some() && Reading::of(&now).keyring() == wanted.keyring()
        }
        _ => now == *value,
    }
}

fn patch(operations: Json) -> Patch {
    serde_json::from_value(operations).expect("operations made of op, path and value are a patch")
}

/// A database with many connections takes its time.
const COMMAND_PATIENCE: u64 = 600;
