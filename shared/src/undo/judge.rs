//! Whether an object is as a step left it or as it was before, and what follows from that for the steps before. Pure.

use json_patch::{Patch, PatchOperation};
use serde_json::Value;

use crate::apply::{StepResult, is_manifest};
use crate::backup::SavedStep;
use crate::plan::{
    Action, Applied, Lists, contains, holds_result, unmet_precondition, without_notes,
};
use crate::undo::state::State;

/// An object of the API as it is now, or as it will be once later steps are taken back.
#[derive(Debug, Clone)]
pub(super) struct Now {
    /// `None` = there is none.
    object: Option<Value>,
    /// What this plugin's field manager has applied of it.
    applied: Option<Value>,
    /// Whether this plugin's field manager has written any of its fields.
    own: bool,
}

impl Now {
    pub(super) fn of(object: Option<Value>, manager: &str) -> Now {
        let of_object = object.as_ref();
        let applied = of_object.and_then(|object| Applied::of(object, manager));
        let own = of_object.is_some_and(|object| {
            let entries = object["metadata"]["managedFields"].as_array();
            entries
                .into_iter()
                .flatten()
                .any(|entry| entry["manager"] == manager)
        });
        Now {
            applied: applied.map(|applied| applied.manifest),
            own,
            object,
        }
    }

    fn has_applied(&self, manifest: &Value) -> bool {
        self.applied
            .as_ref()
            .is_some_and(|applied| is_manifest(applied, manifest))
    }
}

/// Where the object of a step stands.
pub(super) fn judged(saved: &SavedStep, now: &Now) -> State {
    let action = &saved.step.action;
    match (action, &now.object) {
        (Action::PatchObject { .. }, Some(object)) => of_patch(saved, object),
        (
            Action::CreateObject { manifest, .. }
            | Action::ApplyObject {
                manifest,
                before: None,
                ..
            },
            Some(object),
        ) => of_creation(saved, manifest, object, now.own),
        (
            Action::ApplyObject {
                manifest,
                before: Some(before),
                ..
            },
            Some(object),
        ) => {
            if object["metadata"]["uid"] != *before.uid {
                return another(action);
            }
            match (now.has_applied(manifest), now.has_applied(&before.manifest)) {
                (true, false) => back(saved, object),
                (_, true) => State::Before,
                (false, false) if !was_done(saved) => State::Before,
                (false, false) => {
                    State::Changed(format!("what was applied to {}", action.target()))
                }
            }
        }
        (
            Action::ApplyObject {
                before: Some(_), ..
            },
            None,
        ) => State::Changed(format!("{} is gone", action.target())),
        (Action::DeleteObject { uid, .. }, Some(object)) => of_deletion(saved, uid, object),
        (Action::DeleteObject { .. }, None) => back(saved, &Value::Null),
        _ => State::Before,
    }
}

/// The object once the action is carried out that takes a step back.
pub(super) fn foreseen(mut now: Now, way_back: &Action) -> Now {
    match way_back {
        Action::PatchObject { patch, .. } => {
            if let Some(object) = &mut now.object {
                for operation in without_tests(patch) {
                    // What cannot be foreseen is refused by the server when it is tried.
                    let _ = json_patch::patch(object, std::slice::from_ref(operation));
                }
                forget_version(object);
            }
        }
        Action::ApplyObject { manifest, .. } => {
            now.applied = Some(manifest.clone());
            if let Some(object) = &mut now.object {
                forget_version(object);
            }
        }
        Action::DeleteObject { .. } => now.object = None,
        Action::CreateObject { manifest, .. } => now.object = Some(manifest.clone()),
        _ => {}
    }
    now
}

/// Whether an object that a later step did not find as it left it is explained by where it stands for an earlier step:
/// the later one was taken back already, together with, or followed by, the earlier one.
pub(super) fn explains(earlier: &SavedStep, state: &State, later: &SavedStep) -> bool {
    let (first, second) = (&earlier.step.action, &later.step.action);
    let same = first.server() == second.server() && first.object() == second.object();
    let known = !was_left_alone(earlier) && matches!(state, State::Before | State::After(_));
    if !same || !known {
        return false;
    }
    match (first, second) {
        (Action::PatchObject { patch: first, .. }, Action::PatchObject { patch: second, .. }) => {
            let changed = changed_paths(first);
            changed_paths(second)
                .iter()
                .all(|path| changed.contains(path))
        }
        (Action::ApplyObject { .. }, Action::ApplyObject { .. })
        | (Action::DeleteObject { .. }, _) => true,
        (Action::CreateObject { .. }, _) => earlier.before.is_null(),
        _ => false,
    }
}

/// Whether the step certainly wrote nothing.
pub(super) fn was_left_alone(saved: &SavedStep) -> bool {
    matches!(
        saved.result,
        Some(StepResult::Unchanged | StepResult::Refused(_) | StepResult::Skipped(_))
    )
}

/// The state of what is as the step left it.
pub(super) fn back(saved: &SavedStep, now: &Value) -> State {
    match saved.step.action.inverse(&saved.before, now) {
        Some(action) => State::After(Box::new(action)),
        None => State::Before,
    }
}

fn of_patch(saved: &SavedStep, now: &Value) -> State {
    let action = &saved.step.action;
    let Action::PatchObject { patch, inverse, .. } = action else {
        return State::Before;
    };
    let uid = |object: &Value| object.pointer("/metadata/uid").cloned();
    if uid(now) != uid(&saved.before) {
        return another(action);
    }
    if holds_result(now, &without_notes(patch)) {
        if only_tests(inverse) {
            return State::Stays(format!(
                "{}: what was written since may need it",
                action.sentence()
            ));
        }
        return match back(saved, now) {
            State::After(back) => State::After(Box::new(without_lost_notes(*back, now))),
            state => state,
        };
    }
    if !was_done(saved) {
        return State::Before;
    }
    match unmet_precondition(now, &without_version(&without_notes(patch))) {
        None => State::Before,
        Some(path) => State::Changed(format!("{} {path}", action.target())),
    }
}

/// Whether a patch changes nothing: a step with such an inverse is not taken back.
fn only_tests(patch: &Patch) -> bool {
    let is_test = |operation: &PatchOperation| matches!(operation, PatchOperation::Test(_));
    patch.0.iter().all(is_test)
}

/// The patch without its test of the version, which every write raises, also one that takes it back.
fn without_version(patch: &Patch) -> Patch {
    let is_version = |operation: &PatchOperation| matches!(operation, PatchOperation::Test(test) if test.path.as_str() == "/metadata/resourceVersion");
    let rest = patch.0.iter().filter(|operation| !is_version(operation));
    Patch(rest.cloned().collect())
}

/// An object that was not there before; what others may have filled stays.
fn of_creation(saved: &SavedStep, manifest: &Value, now: &Value, own: bool) -> State {
    let action = &saved.step.action;
    let target = action.target();
    // It was there before, so the step did not create it.
    if !saved.before.is_null() || now["metadata"]["deletionTimestamp"].is_string() {
        return State::Before;
    }
    match &saved.written {
        Some(written) if now["metadata"]["uid"] != *written.uid => return another(action),
        // Of a killed run nothing is known but what its manager wrote.
        None if !own => return State::Before,
        Some(_) | None => {}
    }
    if !contains(now, manifest, Lists::Whole) {
        return State::Changed(format!("{target} is not as it was created"));
    }
    match action.object().map(|object| object.kind.as_str()) {
        Some("Namespace" | "CustomResourceDefinition") => State::Stays(format!(
            "create {target}: others may have filled it since; delete it by hand if nobody needs it"
        )),
        _ => back(saved, now),
    }
}

fn of_deletion(saved: &SavedStep, uid: &str, now: &Value) -> State {
    let action = &saved.step.action;
    if now["metadata"]["uid"] == *uid {
        return match now["metadata"]["deletionTimestamp"].is_string() {
            true => State::Changed(format!(
                "{} is still being deleted; its finalizers hold it",
                action.target()
            )),
            false => State::Before,
        };
    }
    match action.inverse(&saved.before, now) {
        Some(Action::CreateObject { manifest, .. }) if contains(now, &manifest, Lists::Whole) => {
            State::Before
        }
        _ => another(action),
    }
}

/// Whether the step certainly wrote; a run that was killed, and a lost answer, leave that open.
fn was_done(saved: &SavedStep) -> bool {
    matches!(saved.result, None | Some(StepResult::Applied(_)))
}

fn another(action: &Action) -> State {
    State::Changed(format!(
        "{} is another object by now (metadata.uid)",
        action.target()
    ))
}

/// The version that a write would have to find is not known beforehand.
fn forget_version(object: &mut Value) {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("resourceVersion");
    }
}

fn changed_paths(patch: &json_patch::Patch) -> Vec<&str> {
    without_tests(patch)
        .map(|operation| operation.path().as_str())
        .collect()
}

fn without_tests(patch: &json_patch::Patch) -> impl Iterator<Item = &PatchOperation> {
    let is_change = |operation: &&PatchOperation| !matches!(operation, PatchOperation::Test(_));
    patch.0.iter().filter(is_change)
}

/// The inverse of a patch; a note that was taken off or changed since stays as it is now.
fn without_lost_notes(mut back: Action, now: &Value) -> Action {
    if let Action::PatchObject { patch, inverse, .. } = &mut back
        && unmet_precondition(now, patch).is_some()
    {
        *patch = without_notes(patch);
        *inverse = without_notes(inverse);
    }
    back
}

#[cfg(test)]
mod tests;
