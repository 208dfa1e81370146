//! Objects of the Kubernetes API are patched, created, applied and deleted; lost answers are made up by reading again.

use std::time::Duration;

use json_patch::Patch;
use serde_json::{Value, json};

use crate::access::ServerApi;
use crate::apply::{Done, StepResult};
use crate::clock::Deadline;
use crate::cluster::client::{DryRun, PatchKind, Preconditions};
use crate::cluster::object::ObjectReference;
use crate::cluster::request_error::{RequestError, Sent};
use crate::plan::{Applied, Lists, contains, holds_result, unmet_precondition};

/// Sends the patch; its `test` operations are the precondition.
pub(super) async fn patch(api: &ServerApi, object: &ObjectReference, patch: &Patch) -> Done {
    let error = match send_patch(api, object, patch, DryRun::Off).await {
        Ok(now) => return Done::applied(None, &now),
        Err(error) => error,
    };
    if !may_have_been_decided_by_state(&error) {
        return StepResult::Refused(error.to_string()).into();
    }
    // Whether the write was refused for a changed object, or done and its answer lost, only the object tells.
    let result = match api.get::<Value>(&object.path()).await {
        Ok(now) if holds_result(&now, patch) && error.code().is_some_and(|code| code < 500) => {
            StepResult::Unchanged
        }
        Ok(now) if holds_result(&now, patch) => return Done::applied(Some(lost()), &now),
        Ok(now) => match unmet_precondition(&now, patch) {
            Some(path) => StepResult::Refused(format!(
                "conflict: {} of {object} is no longer what was diagnosed; run again to see it as it is now",
                path.trim_start_matches('/').replace('/', ".")
            )),
            None => unchanged(object, &error),
        },
        Err(reading) => undecided(object, &error, &reading),
    };
    result.into()
}

pub(super) async fn rehearse_patch(
    api: &ServerApi,
    object: &ObjectReference,
    patch: &Patch,
) -> StepResult {
    rehearsed(send_patch(api, object, patch, DryRun::All).await)
}

/// Creates the object; one of that name that is as wanted leaves nothing to do.
pub(super) async fn create(api: &ServerApi, object: &ObjectReference, manifest: &Value) -> Done {
    let created = api
        .create(&object.collection_path(), manifest, DryRun::Off)
        .await;
    let error = match created {
        Ok(now) => return Done::applied(None, &now),
        Err(error) => error,
    };
    if !error.is_already_exists() && !may_have_been_lost(&error) {
        return StepResult::Refused(error.to_string()).into();
    }
    let result = match api.get::<Value>(&object.path()).await {
        Ok(now) if now["metadata"]["deletionTimestamp"].is_string() => StepResult::Refused(
            format!("{object} is still being deleted; run again when it is gone"),
        ),
        Ok(now) if !contains(&now, manifest, Lists::Whole) => exists_by_now(object),
        Ok(_) if error.is_already_exists() => StepResult::Unchanged,
        Ok(now) => return Done::applied(Some(lost()), &now),
        Err(reading) if reading.is_not_found() => {
            StepResult::Refused(format!("{error}; {object} was looked for and is not there"))
        }
        Err(reading) => undecided(object, &error, &reading),
    };
    result.into()
}

pub(super) async fn rehearse_creation(
    api: &ServerApi,
    object: &ObjectReference,
    manifest: &Value,
) -> StepResult {
    let path = object.collection_path();
    rehearsed(api.create(&path, manifest, DryRun::All).await)
}

/// Deletes the object if it is the one that is meant; one that is gone leaves nothing to do.
pub(super) async fn delete(
    api: &ServerApi,
    object: &ObjectReference,
    only_if: &Preconditions,
) -> Done {
    let error = match api.delete(&object.path(), only_if, DryRun::Off).await {
        Ok(answer) => return StepResult::Applied(gone(api, object, &answer).await).into(),
        Err(error) => error,
    };
    if error.is_not_found() {
        return StepResult::Unchanged.into();
    }
    if !error.is_conflict() && !may_have_been_lost(&error) {
        return StepResult::Refused(error.to_string()).into();
    }
    let result = match api.get::<Value>(&object.path()).await {
        Err(reading) if reading.is_not_found() => match error.is_conflict() {
            true => StepResult::Unchanged,
            false => StepResult::Applied(Some(lost())),
        },
        Err(reading) => undecided(object, &error, &reading),
        Ok(now) => {
            let same = only_if.uid.as_deref() == now["metadata"]["uid"].as_str();
            match (same, error.is_conflict()) {
                (false, true) => another_by_now(object),
                (false, false) => StepResult::Applied(Some(lost())),
                (true, false) if now["metadata"]["deletionTimestamp"].is_string() => {
                    StepResult::Applied(held_back(&now).or_else(|| Some(lost())))
                }
                (true, true) => StepResult::Refused(format!(
                    "conflict: {object} is no longer what was diagnosed; run again to see it as it is now"
                )),
                (true, false) => unchanged(object, &error),
            }
        }
    };
    result.into()
}

pub(super) async fn rehearse_deletion(
    api: &ServerApi,
    object: &ObjectReference,
    only_if: &Preconditions,
) -> StepResult {
    rehearsed(api.delete(&object.path(), only_if, DryRun::All).await)
}

/// A server-side apply.
pub(super) struct Applying<'a> {
    pub(super) object: &'a ObjectReference,
    pub(super) manifest: &'a Value,
    /// What was there when the plan was made; `None` = nothing.
    pub(super) before: Option<&'a Applied>,
}

impl Applying<'_> {
    /// Applies the manifest where the object is the one that was diagnosed; fields that other managers set are theirs.
    pub(super) async fn carry_out(&self, api: &ServerApi) -> Done {
        if let Some(result) = self.without_writing(api).await {
            return result.into();
        }
        let object = self.object;
        let error = match self.send(api, DryRun::Off).await {
            Ok(now) => return Done::applied(None, &now),
            Err(error) => error,
        };
        if !may_have_been_lost(&error) {
            return StepResult::Refused(explained(object, &error)).into();
        }
        let result = match api.get::<Value>(&object.path()).await {
            Ok(now) if self.is_applied(&now, api) => return Done::applied(Some(lost()), &now),
            Ok(_) => unchanged(object, &error),
            Err(reading) if reading.is_not_found() && self.before.is_none() => {
                StepResult::Refused(format!("{error}; {object} was looked for and is not there"))
            }
            Err(reading) => undecided(object, &error, &reading),
        };
        result.into()
    }

    pub(super) async fn rehearse(&self, api: &ServerApi) -> StepResult {
        match self.without_writing(api).await {
            Some(result) => result,
            None => match self.send(api, DryRun::All).await {
                Ok(_) => StepResult::Applied(None),
                Err(error) => StepResult::Refused(explained(self.object, &error)),
            },
        }
    }

    /// What there is to say without sending it; `None` = it is to be sent.
    async fn without_writing(&self, api: &ServerApi) -> Option<StepResult> {
        let object = self.object;
        let now = match api.get::<Value>(&object.path()).await {
            Ok(now) => Some(now),
            Err(error) if error.is_not_found() => None,
            Err(error) => return Some(StepResult::Refused(error.to_string())),
        };
        match (self.before, now) {
            (None, None) => None,
            (None, Some(now)) if self.is_applied(&now, api) => Some(StepResult::Unchanged),
            (None, Some(_)) => Some(exists_by_now(object)),
            (Some(_), None) => Some(StepResult::Refused(format!(
                "conflict: {object} is gone by now; run again to see what is there"
            ))),
            (Some(before), Some(now)) if now["metadata"]["uid"] != *before.uid => {
                Some(another_by_now(object))
            }
            (Some(_), Some(now)) if self.is_applied(&now, api) => Some(StepResult::Unchanged),
            (Some(_), Some(_)) => None,
        }
    }

    async fn send(&self, api: &ServerApi, dry_run: DryRun) -> Result<Value, RequestError> {
        let mut body = self.manifest.clone();
        if let Some(before) = self.before {
            // The server refuses it for another object of that name.
            body["metadata"]["uid"] = json!(before.uid);
        }
        let kind = PatchKind::Apply { force: false };
        api.patch(&self.object.path(), kind, &body, dry_run).await
    }

    fn is_applied(&self, now: &Value, api: &ServerApi) -> bool {
        Applied::of(now, api.client().field_manager())
            .is_some_and(|applied| is_manifest(&applied.manifest, self.manifest))
    }
}

/// Whether both manifests say the same.
pub(crate) fn is_manifest(one: &Value, other: &Value) -> bool {
    contains(one, other, Lists::Whole) && contains(other, one, Lists::Whole)
}

async fn send_patch(
    api: &ServerApi,
    object: &ObjectReference,
    patch: &Patch,
    dry_run: DryRun,
) -> Result<Value, RequestError> {
    let body = serde_json::to_value(patch).unwrap_or_default();
    api.patch(&object.path(), PatchKind::Json, &body, dry_run)
        .await
}

fn rehearsed(answer: Result<Value, RequestError>) -> StepResult {
    match answer {
        Ok(_) => StepResult::Applied(None),
        Err(error) => StepResult::Refused(error.to_string()),
    }
}

/// A refused apply in words: who set the fields to something else, as the server names them.
fn explained(object: &ObjectReference, error: &RequestError) -> String {
    let causes = error.api().map(|error| error.causes.as_slice());
    let conflicts: Vec<String> = causes
        .unwrap_or_default()
        .iter()
        .filter(|cause| cause.reason == "FieldManagerConflict")
        .map(|cause| format!("{} ({})", cause.field, cause.message))
        .collect();
    match conflicts.as_slice() {
        [] if error.is_conflict() => match another_by_now(object) {
            StepResult::Refused(text) => text,
            _ => error.to_string(),
        },
        [] => error.to_string(),
        conflicts => format!(
            "conflict: others have set fields of {object} to another value: {}",
            conflicts.join(", ")
        ),
    }
}

/// Waits until a deleted object is gone; a note when it is not.
async fn gone(api: &ServerApi, object: &ObjectReference, answer: &Value) -> Option<String> {
    let uid = &answer["metadata"]["uid"];
    let deadline = Deadline::after(GONE);
    let mut last = answer.clone();
    while last["metadata"]["deletionTimestamp"].is_string() {
        if deadline.passed() {
            return held_back(&last).or_else(|| Some("it is still being deleted".to_owned()));
        }
        tokio::time::sleep(BETWEEN_LOOKS).await;
        match api.get::<Value>(&object.path()).await {
            Ok(now) if now["metadata"]["uid"] == *uid => last = now,
            Ok(_) => return None,
            Err(error) if error.is_not_found() => return None,
            // The deadline ends this.
            Err(_) => {}
        }
    }
    None
}

/// Why a deletion is not complete; `None` = nothing holds it back.
fn held_back(object: &Value) -> Option<String> {
    let finalizers: Vec<&str> = object["metadata"]["finalizers"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let deleted = object["metadata"]["deletionTimestamp"].is_string();
    (deleted && !finalizers.is_empty()).then(|| {
        format!(
            "it goes when the controllers of its finalizers are done: {}",
            finalizers.join(", ")
        )
    })
}

fn lost() -> String {
    "the answer was lost; the object was read again".to_owned()
}

fn unchanged(object: &ObjectReference, error: &RequestError) -> StepResult {
    StepResult::Refused(format!("{error}; {object} was read again and is unchanged"))
}

fn undecided(object: &ObjectReference, error: &RequestError, reading: &RequestError) -> StepResult {
    StepResult::Failed(format!(
        "{error}; whether {object} was changed cannot be told: {reading}"
    ))
}

fn exists_by_now(object: &ObjectReference) -> StepResult {
    StepResult::Refused(format!(
        "conflict: {object} exists by now, and is not what the plan makes; run again to see it as it is"
    ))
}

fn another_by_now(object: &ObjectReference) -> StepResult {
    StepResult::Refused(format!(
        "conflict: {object} is another object by now; run again to see it as it is"
    ))
}

fn may_have_been_decided_by_state(error: &RequestError) -> bool {
    matches!(error.code(), Some(409 | 422)) || may_have_been_lost(error)
}

const GONE: Duration = Duration::from_secs(10);
const BETWEEN_LOOKS: Duration = Duration::from_millis(200);

/// Whether the server may have done it all the same.
fn may_have_been_lost(error: &RequestError) -> bool {
    error.was_sent() == Sent::Maybe
}

#[cfg(test)]
mod tests;
