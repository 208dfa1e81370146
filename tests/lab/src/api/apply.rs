//! Server-side apply: merging an applied configuration, with owners and conflicts. Pure.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::fields::{self, Operation, Owner, Path};
use super::refusal::Refusal;

/// Who applies, and whether conflicts are to be overridden.
pub(crate) struct Applier {
    pub(crate) owner: Owner,
    pub(crate) force: bool,
}

/// Merges `configuration` into `live` and records the applier as the owner of what it names.
///
/// Fields that the applier owned before, no longer names and shares with nobody are removed.
///
/// # Errors
/// 409 `Conflict` when another manager owns a field whose value would change, unless forced.
pub(crate) fn apply(
    live: &Value,
    configuration: &Value,
    applier: Applier,
) -> Result<Value, Refusal> {
    let wanted = fields::flatten(configuration);
    let mut owners = fields::owners(live);
    let previous: BTreeSet<Path> = owners
        .iter()
        .find(|owner| fields::same_owner(owner, &applier.owner))
        .map(|owner| owner.fields.clone())
        .unwrap_or_default();
    owners.retain(|owner| !fields::same_owner(owner, &applier.owner));

    let conflicts = conflicts(live, &wanted, &owners);
    if !conflicts.is_empty() && !applier.force {
        return Err(refuse(&conflicts, &owners));
    }
    for (index, path) in &conflicts {
        owners[*index].fields.remove(path);
    }

    let mut merged = live.clone();
    for path in previous.iter().filter(|path| !wanted.contains_key(*path)) {
        if !owners.iter().any(|owner| owner.fields.contains(path)) {
            fields::remove(&mut merged, path);
        }
    }
    for (path, value) in &wanted {
        fields::insert(&mut merged, path, value.clone());
    }
    owners.push(Owner {
        fields: wanted.into_keys().collect(),
        operation: Operation::Apply,
        ..applier.owner
    });
    fields::set_owners(&mut merged, &owners);
    Ok(merged)
}

/// Pairs of an owner's index and the path on which it disagrees.
fn conflicts(live: &Value, wanted: &BTreeMap<Path, Value>, owners: &[Owner]) -> Vec<(usize, Path)> {
    let mut found = Vec::new();
    for (index, owner) in owners.iter().enumerate() {
        for path in &owner.fields {
            let touched = wanted
                .iter()
                .find(|(other, _)| path.starts_with(other) || other.starts_with(path));
            if touched.is_some_and(|(other, value)| fields::read(live, other) != Some(value)) {
                found.push((index, path.clone()));
            }
        }
    }
    found
}

fn refuse(conflicts: &[(usize, Path)], owners: &[Owner]) -> Refusal {
    let describe = |index: usize| {
        let owner = &owners[index];
        let mut text = format!("\"{}\"", owner.manager);
        if !owner.subresource.is_empty() {
            text.push_str(&format!(" with subresource \"{}\"", owner.subresource));
        }
        if owner.operation == Operation::Update {
            text.push_str(&format!(" using {}", owner.version));
        }
        text
    };
    let count = conflicts.len();
    let message = if let [(index, path)] = conflicts {
        format!(
            "Apply failed with 1 conflict: conflict with {}: {}",
            describe(*index),
            fields::display(path)
        )
    } else {
        let mut groups: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (index, path) in conflicts {
            groups
                .entry(describe(*index))
                .or_default()
                .push(format!("- {}", fields::display(path)));
        }
        let groups: Vec<String> = groups
            .iter()
            .map(|(owner, paths)| format!("conflicts with {owner}:\n{}", paths.join("\n")))
            .collect();
        format!("Apply failed with {count} conflicts: {}", groups.join("\n"))
    };
    let causes: Vec<Value> = conflicts
        .iter()
        .map(|(index, path)| {
            json!({
                "reason": "FieldManagerConflict",
                "message": format!("conflict with {}", describe(*index)),
                "field": fields::display(path),
            })
        })
        .collect();
    Refusal::new(409, "Conflict", message).with_details(json!({ "causes": causes }))
}
