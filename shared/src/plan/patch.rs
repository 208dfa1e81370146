//! JSON Patches (RFC 6902) with their preconditions and inverses, and what an object has of them. Pure.

use json_patch::{Patch, PatchOperation};
use serde_json::{Value, json};

/// The patch that sets a value of the spec, with its precondition, and its inverse.
///
/// `path` is a JSON Pointer (RFC 6901). With `before` the precondition is that value; without, the value was not
/// there and the precondition is the object's `generation`, which every change of the spec raises.
pub fn set_value(path: &str, before: Option<&str>, generation: i64, after: &str) -> (Patch, Patch) {
    let set = |operation: &str, value: &str| json!({"op": operation, "path": path, "value": value});
    let test_after = set("test", after);
    let (forward, backward) = match before {
        Some(before) => (
            json!([set("test", before), set("replace", after)]),
            json!([test_after, set("replace", before)]),
        ),
        None => (
            json!([
                {"op": "test", "path": "/metadata/generation", "value": generation},
                set("add", after)
            ]),
            json!([test_after, {"op": "remove", "path": path}]),
        ),
    };
    (patch(forward), patch(backward))
}

/// Both patches as one: the operations of `second` follow those of `first`, and are taken back before them.
pub fn joined(first: (Patch, Patch), second: (Patch, Patch)) -> (Patch, Patch) {
    let chain = |one: Patch, other: Patch| Patch(one.0.into_iter().chain(other.0).collect());
    (chain(first.0, second.0), chain(second.1, first.1))
}

/// The patch that sets an annotation, and its inverse; `present` = the object has annotations, `before` = this one's
/// value.
pub fn set_annotation(
    name: &str,
    present: bool,
    before: Option<&str>,
    after: &str,
) -> (Patch, Patch) {
    let path = annotation_path(name);
    let test_after = json!({"op": "test", "path": path, "value": after});
    let (forward, backward) = match (present, before) {
        (false, _) => (
            // The API server takes a missing value for null, and so somebody else's first annotation for a conflict.
            json!([
                {"op": "test", "path": "/metadata/annotations", "value": null},
                {"op": "add", "path": "/metadata/annotations", "value": {name: after}}
            ]),
            json!([test_after, {"op": "remove", "path": path}]),
        ),
        (true, None) => (
            json!([{"op": "add", "path": path, "value": after}]),
            json!([test_after, {"op": "remove", "path": path}]),
        ),
        (true, Some(before)) => (
            json!([
                {"op": "test", "path": path, "value": before},
                {"op": "replace", "path": path, "value": after}
            ]),
            json!([test_after, {"op": "replace", "path": path, "value": before}]),
        ),
    };
    (patch(forward), patch(backward))
}

/// The JSON Pointer (RFC 6901) of an annotation.
pub fn annotation_path(name: &str) -> String {
    format!(
        "/metadata/annotations/{}",
        name.replace('~', "~0").replace('/', "~1")
    )
}

/// The patch `[test path = before, remove path]` and its inverse.
pub fn remove_value(path: &str, before: &str) -> (Patch, Patch) {
    (
        patch(json!([
            {"op": "test", "path": path, "value": before},
            {"op": "remove", "path": path}
        ])),
        patch(json!([{"op": "add", "path": path, "value": before}])),
    )
}

/// Whether the object is as these operations leave it: each value set is there, each value removed is gone.
pub fn holds_result(object: &Value, patch: &Patch) -> bool {
    patch.0.iter().all(|operation| match operation {
        PatchOperation::Add(add) => {
            let found = object.pointer(add.path.as_str());
            // An object that was added as a whole may have got more since.
            match (found, &add.value) {
                (Some(Value::Object(found)), Value::Object(added)) => added
                    .iter()
                    .all(|(key, value)| found.get(key) == Some(value)),
                (found, added) => found == Some(added),
            }
        }
        PatchOperation::Replace(replace) => {
            object.pointer(replace.path.as_str()) == Some(&replace.value)
        }
        PatchOperation::Remove(remove) => object.pointer(remove.path.as_str()).is_none(),
        PatchOperation::Test(_) => true,
        PatchOperation::Move(_) | PatchOperation::Copy(_) => false,
    })
}

/// Whether one of the operations is about this path (a JSON Pointer without escapes).
pub fn touches(patch: &Patch, path: &str) -> bool {
    patch
        .0
        .iter()
        .any(|operation| operation.path().as_str() == path)
}

/// The patch without what it does to annotations, unless it does nothing else: annotations are notes that come and go.
pub fn without_notes(patch: &Patch) -> Patch {
    let is_note = |operation: &&PatchOperation| {
        operation
            .path()
            .as_str()
            .starts_with("/metadata/annotations")
    };
    if patch.0.iter().all(|operation| is_note(&operation)) {
        return patch.clone();
    }
    Patch(
        patch
            .0
            .iter()
            .filter(|operation| !is_note(operation))
            .cloned()
            .collect(),
    )
}

/// The first precondition of the patch that the object does not meet, as its path; `None` when all are met.
pub fn unmet_precondition(object: &Value, patch: &Patch) -> Option<String> {
    patch.0.iter().find_map(|operation| match operation {
        PatchOperation::Test(test) => {
            let found = object.pointer(test.path.as_str()).unwrap_or(&Value::Null);
            (found != &test.value).then(|| test.path.to_string())
        }
        _ => None,
    })
}

fn patch(operations: Value) -> Patch {
    serde_json::from_value(operations).expect("operations made of op, path and value are a patch")
}
