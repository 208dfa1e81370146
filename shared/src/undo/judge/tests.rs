#![allow(clippy::unwrap_used)]

use json_patch::Patch;
use serde_json::json;

use super::*;
use crate::apply::Written;
use crate::cluster::object::{Kind, ObjectReference};
use crate::finding::Subject;
use crate::plan::{Server, Step, set_value};

const MANAGER: &str = "kubectl-karmada-test";

fn object() -> ObjectReference {
    ObjectReference::namespaced(Kind::ConfigMap, "n", "m")
}

fn saved(action: Action, before: Value, result: Option<StepResult>) -> SavedStep {
    SavedStep {
        step: Step {
            subject: Subject::cluster("a"),
            action,
            reason: String::new(),
            caution: None,
            cures: Vec::new(),
            command: String::new(),
        },
        before,
        result,
        written: None,
    }
}

fn done() -> Option<StepResult> {
    Some(StepResult::Applied(None))
}

fn map(uid: &str, value: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "m", "namespace": "n", "uid": uid, "resourceVersion": "7"},
        "data": {"k": value}
    })
}

fn manifest(value: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m", "namespace": "n"},
        "data": {"k": value}
    })
}

/// The map as it is after this manager has applied or made it.
fn own(uid: &str, value: &str, operation: &str) -> Value {
    let mut map = map(uid, value);
    map["metadata"]["managedFields"] = json!([{
        "manager": MANAGER, "operation": operation, "fieldsV1": {"f:data": {"f:k": {}}}
    }]);
    map
}

fn patched(before: &str, after: &str) -> Action {
    let (patch, inverse) = set_value("/data/k", Some(before), 0, after);
    Action::PatchObject {
        server: Server::Host,
        object: object(),
        patch,
        inverse,
    }
}

fn created(value: &str) -> Action {
    Action::CreateObject {
        server: Server::Host,
        object: object(),
        manifest: manifest(value),
    }
}

fn applied(value: &str, before: Option<Value>) -> Action {
    Action::ApplyObject {
        server: Server::Host,
        object: object(),
        manifest: manifest(value),
        before: before.map(|manifest| Applied {
            uid: "u".to_owned(),
            manifest,
        }),
    }
}

fn deleted() -> Action {
    Action::DeleteObject {
        server: Server::Host,
        object: object(),
        uid: "u".to_owned(),
        resource_version: None,
    }
}

fn now(object: Option<Value>) -> Now {
    Now::of(object, MANAGER)
}

fn words(state: &State) -> String {
    match state {
        State::After(action) => format!("after: {}", action.sentence()),
        State::Before => "before".to_owned(),
        State::Stays(what) => format!("stays: {what}"),
        State::Changed(what) => format!("changed: {what}"),
    }
}

#[test]
fn what_was_created_is_deleted_while_it_is_what_was_created() {
    let step = |result| saved(created("1"), Value::Null, result);
    let mut written = step(done());
    written.written = Some(Written {
        uid: "u".to_owned(),
        resource_version: "7".to_owned(),
    });
    let mut going = own("u", "1", "Update");
    going["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    let was_there = saved(created("1"), json!({"metadata": {"uid": "u"}}), done());
    let table = [
        (
            &written,
            Some(own("u", "1", "Update")),
            "after: delete configmap/n/m",
        ),
        (
            &written,
            Some(own("v", "1", "Update")),
            "changed: configmap/n/m is another object by now (metadata.uid)",
        ),
        (
            &written,
            Some(own("u", "2", "Update")),
            "changed: configmap/n/m is not as it was created",
        ),
        (&written, Some(going), "before"),
        (&written, None, "before"),
        (
            &step(None),
            Some(own("u", "1", "Update")),
            "after: delete configmap/n/m",
        ),
        (&step(None), Some(map("u", "1")), "before"),
        (&was_there, Some(own("u", "1", "Update")), "before"),
    ];
    for (saved, object, expected) in table {
        assert_eq!(words(&judged(saved, &now(object))), expected);
    }
    let State::After(back) = judged(&written, &now(Some(own("u", "1", "Update")))) else {
        panic!("it is in effect");
    };
    assert_eq!(
        back.masked(),
        json!({
            "action": "delete-object", "server": "host", "object": object(), "uid": "u", "resource_version": "7"
        })
    );
}

#[test]
fn what_others_may_have_filled_stays() {
    let mut namespace = created("1");
    if let Action::CreateObject {
        object, manifest, ..
    } = &mut namespace
    {
        *object = ObjectReference::cluster_scoped(Kind::Namespace, "n");
        *manifest = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}});
    }
    let found = json!({
        "metadata": {"name": "n", "uid": "u", "managedFields": [{"manager": MANAGER}]},
        "apiVersion": "v1", "kind": "Namespace"
    });
    let state = judged(&saved(namespace, Value::Null, done()), &now(Some(found)));
    assert!(
        words(&state).starts_with("stays: create namespace/n"),
        "{state:?}"
    );
}

#[test]
fn what_was_applied_is_taken_back_while_it_is_what_was_applied() {
    let nothing = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m", "namespace": "n"}
    });
    let step = |result| saved(applied("2", Some(nothing.clone())), map("u", "1"), result);
    let forced_by_others = {
        let mut map = own("u", "3", "Apply");
        map["metadata"]["managedFields"][0]["fieldsV1"] = json!({"f:data": {"f:other": {}}});
        map["data"]["other"] = json!("x");
        map
    };
    let table = [
        (
            step(done()),
            Some(own("u", "2", "Apply")),
            "after: apply nothing to configmap/n/m",
        ),
        (step(done()), Some(map("u", "1")), "before"),
        (
            step(done()),
            Some(own("v", "2", "Apply")),
            "changed: configmap/n/m is another object by now (metadata.uid)",
        ),
        (
            step(done()),
            Some(forced_by_others.clone()),
            "changed: what was applied to configmap/n/m",
        ),
        (
            step(Some(StepResult::Failed(String::new()))),
            Some(forced_by_others),
            "before",
        ),
        (step(done()), None, "changed: configmap/n/m is gone"),
    ];
    for (saved, object, expected) in table {
        assert_eq!(words(&judged(&saved, &now(object))), expected);
    }
    let made = saved(applied("2", None), Value::Null, done());
    let state = judged(&made, &now(Some(own("u", "2", "Apply"))));
    assert_eq!(words(&state), "after: delete configmap/n/m");
}

#[test]
fn what_was_deleted_is_created_again() {
    let step = saved(deleted(), map("u", "1"), done());
    let mut going = map("u", "1");
    going["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    let table = [
        (None, "after: create configmap/n/m"),
        (Some(map("u", "1")), "before"),
        (Some(map("v", "1")), "before"),
        (
            Some(map("v", "2")),
            "changed: configmap/n/m is another object by now (metadata.uid)",
        ),
        (
            Some(going),
            "changed: configmap/n/m is still being deleted; its finalizers hold it",
        ),
    ];
    for (object, expected) in table {
        assert_eq!(words(&judged(&step, &now(object))), expected);
    }
}

/// The states of the steps, last one first, as the way back sees them; what is explained is left out.
fn way_back(steps: &[SavedStep], object: Option<Value>) -> Vec<String> {
    let mut now = now(object);
    let mut states: Vec<(&SavedStep, State)> = Vec::new();
    for step in steps.iter().rev() {
        let state = match was_left_alone(step) {
            true => State::Before,
            false => judged(step, &now),
        };
        if let State::After(action) = &state {
            now = foreseen(now, action);
        }
        states.retain(|(later, known)| {
            !matches!(known, State::Changed(_)) || !explains(step, &state, later)
        });
        states.push((step, state));
    }
    states.iter().map(|(_, state)| words(state)).collect()
}

#[test]
fn several_changes_of_one_value_are_taken_back_one_after_the_other() {
    let before = map("u", "1");
    let steps = [
        saved(patched("1", "2"), before.clone(), done()),
        saved(patched("2", "3"), before.clone(), done()),
    ];
    let back = |to: &str| format!("after: patch configmap/n/m: set data.k to {to}");
    let changed = || "changed: configmap/n/m /data/k".to_owned();
    let table = [
        ("3", vec![back("2"), back("1")]),
        ("2", vec!["before".to_owned(), back("1")]),
        ("1", vec!["before".to_owned()]),
        ("4", vec![changed(), changed()]),
    ];
    for (value, expected) in table {
        assert_eq!(way_back(&steps, Some(map("u", value))), expected, "{value}");
    }
    // A step that was not done says nothing about the value that a later one left.
    let steps = [
        saved(
            patched("1", "2"),
            before.clone(),
            Some(StepResult::Skipped(String::new())),
        ),
        saved(patched("2", "3"), before, done()),
    ];
    assert_eq!(
        way_back(&steps, Some(map("u", "4"))),
        [changed(), "before".to_owned()]
    );
}

#[test]
fn a_replaced_object_is_deleted_and_created_as_it_was() {
    let mut create = saved(created("2"), Value::Null, done());
    create.written = Some(Written {
        uid: "v".to_owned(),
        resource_version: "8".to_owned(),
    });
    let steps = [saved(deleted(), map("u", "1"), done()), create];
    let (delete, create) = ("after: delete configmap/n/m", "after: create configmap/n/m");
    assert_eq!(
        way_back(&steps, Some(own("v", "2", "Update"))),
        [delete, create]
    );
    // Once that is done, nothing is left to do.
    assert_eq!(way_back(&steps, Some(own("w", "1", "Update"))), ["before"]);
    assert_eq!(way_back(&steps, None), ["before", create]);
}

#[test]
fn a_deletion_after_a_foreseen_change_asks_for_no_version() {
    let mut create = saved(created("1"), Value::Null, done());
    create.written = Some(Written {
        uid: "u".to_owned(),
        resource_version: "7".to_owned(),
    });
    let patch: Patch = serde_json::from_value(json!([
        {"op": "test", "path": "/data/k", "value": "2"},
        {"op": "replace", "path": "/data/k", "value": "1"}
    ]))
    .unwrap();
    let back = Action::PatchObject {
        server: Server::Host,
        object: object(),
        patch,
        inverse: Patch::default(),
    };
    let now = foreseen(now(Some(own("u", "2", "Update"))), &back);
    let State::After(action) = judged(&create, &now) else {
        panic!("it is as it was created once the patch is taken back");
    };
    assert!(
        matches!(
            *action,
            Action::DeleteObject {
                resource_version: None,
                ..
            }
        ),
        "{action:?}"
    );
}
