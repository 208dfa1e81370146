//! The fields of an object as sets of paths, and their owners in `metadata.managedFields`. Pure.
//!
//! Lists are leaves, save those that the Kubernetes API merges by key ([`KEYED`]) or as sets ([`SETS`]).

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

/// A path whose elements are spelled as in `fieldsV1`: `f:NAME`, `k:{"KEY":"VALUE"}`, `v:"VALUE"`.
pub(crate) type Path = Vec<String>;

/// Who owns which fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Owner {
    pub(crate) manager: String,
    pub(crate) operation: Operation,
    pub(crate) subresource: String,
    pub(crate) version: String,
    pub(crate) time: String,
    pub(crate) fields: BTreeSet<Path>,
}

/// How an owner writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
    Apply,
    Update,
}

/// The leaves of `object` that can be owned, with their values.
pub(crate) fn flatten(object: &Value) -> BTreeMap<Path, Value> {
    let mut leaves = BTreeMap::new();
    if let Value::Object(fields) = object {
        for (name, value) in fields {
            match name.as_str() {
                "apiVersion" | "kind" => {}
                "metadata" => {
                    let own = value.as_object().into_iter().flatten();
                    for (name, value) in
                        own.filter(|(name, _)| !SYSTEM_METADATA.contains(&name.as_str()))
                    {
                        descend(
                            name,
                            value,
                            vec!["f:metadata".to_owned(), format!("f:{name}")],
                            &mut leaves,
                        );
                    }
                }
                _ => descend(name, value, vec![format!("f:{name}")], &mut leaves),
            }
        }
    }
    leaves
}

/// The value at `path`.
pub(crate) fn read<'a>(object: &'a Value, path: &[String]) -> Option<&'a Value> {
    path.iter().try_fold(object, |value, element| {
        match element.split_at_checked(2)? {
            ("f:", name) => value.get(name),
            ("k:", key) => value.as_array()?.iter().find(|item| has_key(item, key)),
            ("v:", wanted) => value
                .as_array()?
                .iter()
                .find(|item| is_spelled(item, wanted)),
            _ => None,
        }
    })
}

/// Sets the value at `path`, making the maps and lists on the way.
pub(crate) fn insert(object: &mut Value, path: &[String], leaf: Value) {
    let Some((element, rest)) = path.split_first() else {
        *object = leaf;
        return;
    };
    match element.split_at_checked(2) {
        Some(("f:", name)) => {
            if !object.is_object() {
                *object = json!({});
            }
            insert(&mut object[name], rest, leaf);
        }
        Some(("k:", key)) => {
            let items = as_list(object);
            let index = items
                .iter()
                .position(|item| has_key(item, key))
                .unwrap_or_else(|| {
                    items.push(serde_json::from_str(key).unwrap_or_default());
                    items.len() - 1
                });
            insert(&mut items[index], rest, leaf);
        }
        _ => {
            let items = as_list(object);
            if !items.contains(&leaf) {
                items.push(leaf);
            }
        }
    }
}

/// Removes the leaf at `path` and the maps that this leaves empty.
pub(crate) fn remove(object: &mut Value, path: &[String]) {
    let Some((element, rest)) = path.split_first() else {
        return;
    };
    match element.split_at_checked(2) {
        Some(("f:", name)) => {
            let Some(fields) = object.as_object_mut() else {
                return;
            };
            if rest.is_empty() {
                fields.remove(name);
            } else if let Some(child) = fields.get_mut(name) {
                remove(child, rest);
                if child.as_object().is_some_and(Map::is_empty) {
                    fields.remove(name);
                }
            }
        }
        Some(("k:", key)) => {
            let Some(items) = object.as_array_mut() else {
                return;
            };
            if let Some(index) = items.iter().position(|item| has_key(item, key)) {
                remove(&mut items[index], rest);
                let only_key = is_spelled(&items[index], key);
                if rest.is_empty() || only_key {
                    items.remove(index);
                }
            }
        }
        Some(("v:", wanted)) => {
            if let Some(items) = object.as_array_mut() {
                items.retain(|item| !is_spelled(item, wanted));
            }
        }
        _ => {}
    }
}

/// A path as the API server prints it in conflicts: `.spec.template.spec.containers[name="x"].image`.
pub(crate) fn display(path: &[String]) -> String {
    let mut text = String::new();
    for element in path {
        match element.split_at_checked(2) {
            Some(("f:", name)) => text.push_str(&format!(".{name}")),
            Some(("k:", key)) => {
                let key: Value = serde_json::from_str(key).unwrap_or_default();
                let parts = key
                    .as_object()
                    .into_iter()
                    .flatten()
                    .map(|(name, value)| format!("{name}={value}"));
                text.push_str(&format!("[{}]", parts.collect::<Vec<_>>().join(",")));
            }
            Some((_, value)) => text.push_str(&format!("[={value}]")),
            None => {}
        }
    }
    text
}

/// Reads `metadata.managedFields`.
pub(crate) fn owners(object: &Value) -> Vec<Owner> {
    let entries = object["metadata"]["managedFields"].as_array();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    entries
        .into_iter()
        .flatten()
        .map(|entry| {
            let mut fields = BTreeSet::new();
            paths(&entry["fieldsV1"], &mut Vec::new(), &mut fields);
            Owner {
                manager: text(&entry["manager"]),
                operation: if entry["operation"] == "Apply" {
                    Operation::Apply
                } else {
                    Operation::Update
                },
                subresource: text(&entry["subresource"]),
                version: text(&entry["apiVersion"]),
                time: text(&entry["time"]),
                fields,
            }
        })
        .collect()
}

/// Writes `metadata.managedFields`, leaving out owners of nothing.
pub(crate) fn set_owners(object: &mut Value, owners: &[Owner]) {
    let entries: Vec<Value> = owners
        .iter()
        .filter(|owner| !owner.fields.is_empty())
        .map(|owner| {
            let mut fields = json!({});
            for path in &owner.fields {
                let mut node = &mut fields;
                for element in path {
                    node = &mut node[element.as_str()];
                    if node.is_null() {
                        *node = json!({});
                    }
                }
            }
            let operation = if owner.operation == Operation::Apply { "Apply" } else { "Update" };
            let mut entry = json!({
                "manager": owner.manager, "operation": operation, "apiVersion": owner.version, "time": owner.time,
                "fieldsType": "FieldsV1", "fieldsV1": fields,
            });
            if !owner.subresource.is_empty() {
                entry["subresource"] = Value::String(owner.subresource.clone());
            }
            entry
        })
        .collect();
    if let Some(metadata) = object["metadata"].as_object_mut() {
        if entries.is_empty() {
            metadata.remove("managedFields");
        } else {
            metadata.insert("managedFields".to_owned(), Value::Array(entries));
        }
    }
}

/// Gives the fields that differ between `before` and `after` to the updater and takes them from all others.
pub(crate) fn track_update(before: &Value, after: &mut Value, updater: Owner) {
    let (old, new) = (flatten(before), flatten(after));
    let changed: BTreeSet<Path> = new
        .iter()
        .filter(|(path, value)| old.get(*path) != Some(value))
        .map(|(path, _)| path.clone())
        .collect();
    let mut owners = owners(before);
    for owner in &mut owners {
        owner
            .fields
            .retain(|path| new.contains_key(path) && !changed.contains(path));
    }
    if !changed.is_empty() {
        match owners.iter_mut().find(|owner| same_owner(owner, &updater)) {
            Some(owner) => {
                owner.fields.extend(changed);
                owner.time = updater.time;
            }
            None => owners.push(Owner {
                fields: changed,
                ..updater
            }),
        }
    }
    set_owners(after, &owners);
}

/// Whether a list item is the one that a path spells.
fn is_spelled(item: &Value, text: &str) -> bool {
    serde_json::from_str::<Value>(text).is_ok_and(|spelled| spelled == *item)
}

/// Whether both entries are of one manager writing in one way.
pub(crate) fn same_owner(one: &Owner, other: &Owner) -> bool {
    one.manager == other.manager
        && one.operation == other.operation
        && one.subresource == other.subresource
}

fn descend(name: &str, value: &Value, path: Path, leaves: &mut BTreeMap<Path, Value>) {
    let below = |element: String| path.iter().cloned().chain([element]).collect::<Path>();
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            for (name, value) in fields {
                descend(name, value, below(format!("f:{name}")), leaves);
            }
        }
        Value::Array(items) if SETS.contains(&name) => {
            for item in items {
                leaves.insert(below(format!("v:{item}")), item.clone());
            }
        }
        Value::Array(items) if !items.is_empty() => {
            let key = KEYED
                .iter()
                .find(|(list, _)| *list == name)
                .map(|(_, key)| *key);
            let Some(key) = key.filter(|key| items.iter().all(|item| item[*key].is_string()))
            else {
                leaves.insert(path, value.clone());
                return;
            };
            for item in items {
                let element = below(format!("k:{}", json!({ key: item[key] })));
                descend("", item, element, leaves);
            }
        }
        _ => {
            leaves.insert(path, value.clone());
        }
    }
}

fn paths(fields: &Value, path: &mut Path, found: &mut BTreeSet<Path>) {
    let Some(children) = fields
        .as_object()
        .filter(|children| children.keys().any(|name| name != "."))
    else {
        if !path.is_empty() {
            found.insert(path.clone());
        }
        return;
    };
    for (name, child) in children.iter().filter(|(name, _)| *name != ".") {
        path.push(name.clone());
        paths(child, path, found);
        path.pop();
    }
}

fn has_key(item: &Value, key: &str) -> bool {
    let key: Value = serde_json::from_str(key).unwrap_or_default();
    key.as_object().is_some_and(|key| {
        key.iter()
            .all(|(name, value)| &item[name.as_str()] == value)
    })
}

fn as_list(value: &mut Value) -> &mut Vec<Value> {
    if !value.is_array() {
        *value = json!([]);
    }
    value.as_array_mut().expect("made a list above")
}

const SYSTEM_METADATA: &[&str] = &[
    "name",
    "namespace",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "managedFields",
    "selfLink",
];
const KEYED: &[(&str, &str)] = &[
    ("containers", "name"),
    ("initContainers", "name"),
    ("env", "name"),
    ("volumes", "name"),
    ("conditions", "type"),
    ("ownerReferences", "uid"),
];
const SETS: &[&str] = &["finalizers"];
