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
    entry_path("/metadata/annotations", name)
}

/// What a map of an object holds under a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entry<'a> {
    /// The object has no such map.
    NoMap,
    /// The map has no such name.
    Missing,
    /// This value.
    Is(&'a str),
}

impl<'a> Entry<'a> {
    /// What the map, as `&object["data"]`, holds under the name.
    pub fn of(map: &'a Value, name: &str) -> Entry<'a> {
        match (map, map.get(name).and_then(Value::as_str)) {
            (_, Some(value)) => Entry::Is(value),
            (Value::Object(_), None) => Entry::Missing,
            (_, None) => Entry::NoMap,
        }
    }
}

/// The patch that sets an entry of `data` of a Secret (base64) or a ConfigMap, with its precondition, and its inverse.
pub fn set_data(key: &str, before: Entry<'_>, after: &str) -> (Patch, Patch) {
    set_entry("/data", key, before, Some(after))
}

/// The patch that sets a label, or removes it (`after` = `None`), with its precondition, and its inverse. Both are empty
/// where there is nothing to remove.
pub fn set_label(name: &str, before: Entry<'_>, after: Option<&str>) -> (Patch, Patch) {
    set_entry("/metadata/labels", name, before, after)
}

/// The precondition, for both directions, that the object is the one with this UID; to be [`joined`] with a change.
pub fn on_object(uid: &str) -> (Patch, Patch) {
    let test = patch(json!([{"op": "test", "path": "/metadata/uid", "value": uid}]));
    (test.clone(), test)
}

fn set_entry(map: &str, name: &str, before: Entry<'_>, after: Option<&str>) -> (Patch, Patch) {
    let path = entry_path(map, name);
    let test = |value: Option<&str>| json!({"op": "test", "path": path, "value": value});
    let set = |operation: &str, value: &str| json!({"op": operation, "path": path, "value": value});
    let remove = json!({"op": "remove", "path": path});
    let (forward, backward) = match (before, after) {
        (Entry::NoMap | Entry::Missing, None) => (json!([]), json!([])),
        (Entry::NoMap, Some(after)) => (
            // The API server takes a missing value for null, and so somebody else's first entry for a conflict.
            json!([
                {"op": "test", "path": map, "value": null},
                {"op": "add", "path": map, "value": {name: after}}
            ]),
            json!([test(Some(after)), remove]),
        ),
        (Entry::Missing, Some(after)) => (
            json!([test(None), set("add", after)]),
            json!([test(Some(after)), remove]),
        ),
        (Entry::Is(before), Some(after)) => (
            json!([test(Some(before)), set("replace", after)]),
            json!([test(Some(after)), set("replace", before)]),
        ),
        (Entry::Is(before), None) => (
            json!([test(Some(before)), remove]),
            json!([test(None), set("add", before)]),
        ),
    };
    (patch(forward), patch(backward))
}

fn entry_path(map: &str, name: &str) -> String {
    format!("{map}/{}", name.replace('~', "~0").replace('/', "~1"))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_set_only_if_it_is_as_it_was_and_taken_back_only_if_it_is_as_it_was_set() {
        let cases = [
            (json!({}), Some("new")),
            (json!({"metadata": {}}), Some("new")),
            (json!({"metadata": {"labels": {}}}), Some("new")),
            (json!({"metadata": {"labels": {"x/y": "old"}}}), Some("new")),
            (json!({"metadata": {"labels": {"x/y": "old"}}}), None),
            (json!({"metadata": {"labels": {}}}), None),
        ];
        for (mut object, after) in cases {
            if object["metadata"].is_null() {
                object = json!({"metadata": {"name": "o"}});
            }
            let labels = object["metadata"]["labels"].clone();
            let (forward, backward) = set_label("x/y", Entry::of(&labels, "x/y"), after);
            assert_eq!(unmet_precondition(&object, &forward), None, "{object}");
            let changed = written(&object, &forward);
            assert_eq!(changed["metadata"]["labels"]["x/y"].as_str(), after);
            assert!(holds_result(&changed, &forward));
            assert_eq!(unmet_precondition(&changed, &backward), None, "{changed}");
            let back = written(&changed, &backward);
            assert_eq!(
                back["metadata"]["labels"].get("x/y"),
                labels.get("x/y"),
                "{back}"
            );
            let somebody_else = json!({"metadata": {"labels": {"x/y": "other"}}});
            let nothing_to_do = forward.0.is_empty();
            let unmet = unmet_precondition(&somebody_else, &forward);
            assert_eq!(unmet.is_none(), nothing_to_do);
        }
    }

    #[test]
    fn an_entry_of_a_map_is_there_or_not() {
        let object = json!({"data": {"k": "v"}});
        assert_eq!(Entry::of(&object["data"], "k"), Entry::Is("v"));
        assert_eq!(Entry::of(&object["data"], "l"), Entry::Missing);
        assert_eq!(Entry::of(&object["none"], "k"), Entry::NoMap);
    }

    fn written(object: &Value, patch: &Patch) -> Value {
        let mut object = object.clone();
        for operation in &patch.0 {
            if !matches!(operation, PatchOperation::Test(_)) {
                json_patch::patch(&mut object, std::slice::from_ref(operation))
                    .expect("the operation is about what is there");
            }
        }
        object
    }
}
