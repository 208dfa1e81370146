#![allow(clippy::unwrap_used)]

use super::*;
use crate::cluster::object::Kind;
use crate::cluster::options::ConnectionOptions;
use crate::cluster::tests::fake_server::{FakeServer, Reply};

fn role() -> ObjectReference {
    ObjectReference::cluster_scoped(Kind::ClusterRole, "r")
}

fn manifest() -> Value {
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "r"},
        "rules": [{"verbs": ["get"]}]
    })
}

/// The object as the server has it, with the fields that this manager applied.
fn live(uid: &str, rules: &Value, applied: bool) -> Value {
    let manager = json!({
        "manager": "kubectl-karmada-test", "operation": "Apply", "fieldsV1": {"f:rules": {}}
    });
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {
            "name": "r", "uid": uid, "resourceVersion": "7",
            "managedFields": if applied { json!([manager]) } else { json!([]) }
        },
        "rules": rules
    })
}

fn ok(object: &Value) -> Reply {
    Reply::json("200 OK", &object.to_string())
}

fn refused(code: u16, reason: &str, message: &str) -> Reply {
    let status = json!({
        "kind": "Status", "status": "Failure", "code": code, "reason": reason, "message": message
    });
    Reply::json(&format!("{code} X"), &status.to_string())
}

fn not_found() -> Reply {
    refused(404, "NotFound", "not there")
}

fn already_exists() -> Reply {
    refused(409, "AlreadyExists", "it exists")
}

fn lost_answer() -> Reply {
    Reply::Cut("HTTP/1.1 ".to_owned())
}

/// What the step comes to against a server with these answers, and the methods of the requests.
async fn outcome<F>(replies: Vec<Reply>, step: impl FnOnce(ServerApi) -> F) -> (String, String)
where
    F: Future<Output = Done>,
{
    let server = FakeServer::start(replies).await;
    let api = ServerApi::of(server.client(ConnectionOptions::default()));
    let done = step(api).await;
    let requests = server.requests();
    let methods: Vec<&str> = requests
        .iter()
        .filter_map(|request| request.split(' ').next())
        .collect();
    let result = match (&done.result, &done.written) {
        (StepResult::Applied(None), Some(written)) => format!("applied {}", written.uid),
        (StepResult::Applied(None), None) => "applied".to_owned(),
        (StepResult::Applied(Some(note)), Some(written)) => {
            format!("applied {}: {note}", written.uid)
        }
        (StepResult::Applied(Some(note)), None) => format!("applied: {note}"),
        (StepResult::Unchanged, _) => "unchanged".to_owned(),
        (StepResult::Refused(why), _) => format!("refused: {why}"),
        (StepResult::Failed(why), _) => format!("failed: {why}"),
        (StepResult::Skipped(why), _) => format!("skipped: {why}"),
    };
    (result, methods.join(" "))
}

fn check((result, methods): &(String, String), expected: (&str, &str)) {
    assert!(
        result.starts_with(expected.0) && methods == expected.1,
        "{result:?} after {methods}, and not {expected:?}"
    );
}

#[tokio::test]
async fn creates_what_is_not_there() {
    let rules = manifest()["rules"].clone();
    let (same, other) = (live("u", &rules, false), live("u", &json!([]), false));
    let mut going = same.clone();
    going["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    let table = [
        (vec![ok(&same)], ("applied u", "POST")),
        (vec![already_exists(), ok(&same)], ("unchanged", "POST GET")),
        (
            vec![already_exists(), ok(&other)],
            ("refused: conflict: clusterrole/r exists by now", "POST GET"),
        ),
        (
            vec![already_exists(), ok(&going)],
            ("refused: clusterrole/r is still being deleted", "POST GET"),
        ),
        (
            vec![refused(403, "Forbidden", "no")],
            ("refused: error from server (Forbidden): no", "POST"),
        ),
        (
            vec![lost_answer(), ok(&same)],
            ("applied u: the answer was lost", "POST GET"),
        ),
        (
            vec![refused(500, "InternalError", "x"), ok(&same)],
            ("applied u: the answer was lost", "POST GET"),
        ),
        (
            vec![lost_answer(), not_found()],
            ("refused: the connection", "POST GET"),
        ),
        (
            vec![lost_answer(), refused(403, "Forbidden", "no")],
            ("failed: the connection", "POST GET"),
        ),
    ];
    for (replies, expected) in table {
        let (object, manifest) = (role(), manifest());
        let done = outcome(replies, async |api: ServerApi| {
            create(&api, &object, &manifest).await
        });
        check(&done.await, expected);
    }
}

#[tokio::test]
async fn deletes_only_what_was_meant() {
    let only_if = Preconditions {
        uid: Some("u".to_owned()),
        resource_version: Some("7".to_owned()),
    };
    let conflict = || {
        refused(
            409,
            "Conflict",
            "the UID in the precondition does not match",
        )
    };
    let (same, another) = (live("u", &json!([]), false), live("v", &json!([]), false));
    let mut going = same.clone();
    going["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    let success = json!({"kind": "Status", "status": "Success"});
    let table = [
        (vec![ok(&success)], ("applied", "DELETE")),
        (
            vec![ok(&going), ok(&going), not_found()],
            ("applied", "DELETE GET GET"),
        ),
        (vec![ok(&going), ok(&another)], ("applied", "DELETE GET")),
        (vec![not_found()], ("unchanged", "DELETE")),
        (
            vec![conflict(), ok(&another)],
            (
                "refused: conflict: clusterrole/r is another object",
                "DELETE GET",
            ),
        ),
        (
            vec![conflict(), ok(&same)],
            (
                "refused: conflict: clusterrole/r is no longer what was diagnosed",
                "DELETE GET",
            ),
        ),
        (vec![conflict(), not_found()], ("unchanged", "DELETE GET")),
        (
            vec![lost_answer(), not_found()],
            ("applied: the answer was lost", "DELETE GET"),
        ),
        (
            vec![lost_answer(), ok(&another)],
            ("applied: the answer was lost", "DELETE GET"),
        ),
        (
            vec![lost_answer(), ok(&going)],
            ("applied: the answer was lost", "DELETE GET"),
        ),
        (
            vec![lost_answer(), ok(&same)],
            ("refused: the connection", "DELETE GET"),
        ),
        (
            vec![lost_answer(), refused(403, "Forbidden", "no")],
            ("failed: the connection", "DELETE GET"),
        ),
        (
            vec![refused(403, "Forbidden", "no")],
            ("refused: error from server (Forbidden): no", "DELETE"),
        ),
    ];
    for (replies, expected) in table {
        let (object, only_if) = (role(), only_if.clone());
        let done = outcome(replies, async |api: ServerApi| {
            delete(&api, &object, &only_if).await
        });
        check(&done.await, expected);
    }
}

#[tokio::test]
async fn applies_only_to_what_was_diagnosed() {
    let rules = manifest()["rules"].clone();
    let (before, now) = (live("u", &json!([]), false), live("u", &rules, true));
    let another = live("v", &json!([]), false);
    let conflict = json!({
        "kind": "Status", "status": "Failure", "code": 409, "reason": "Conflict",
        "message": "Apply failed with 1 conflict: conflict with \"kubectl\" using v1: .rules",
        "details": {"causes": [{
            "reason": "FieldManagerConflict", "message": "conflict with \"kubectl\" using v1", "field": ".rules"
        }]}
    });
    let applied = Applied::of(&before, "kubectl-karmada-test");
    let was_there = applied.as_ref();
    let table = [
        (
            None,
            vec![not_found(), ok(&now)],
            ("applied u", "GET PATCH"),
        ),
        (None, vec![ok(&now)], ("unchanged", "GET")),
        (
            None,
            vec![ok(&another)],
            ("refused: conflict: clusterrole/r exists by now", "GET"),
        ),
        (
            was_there,
            vec![ok(&before), ok(&now)],
            ("applied u", "GET PATCH"),
        ),
        (was_there, vec![ok(&now)], ("unchanged", "GET")),
        (
            was_there,
            vec![not_found()],
            ("refused: conflict: clusterrole/r is gone", "GET"),
        ),
        (
            was_there,
            vec![ok(&another)],
            ("refused: conflict: clusterrole/r is another object", "GET"),
        ),
        (
            was_there,
            vec![
                ok(&before),
                Reply::json("409 Conflict", &conflict.to_string()),
            ],
            (
                "refused: conflict: others have set fields of clusterrole/r to another value: .rules (conflict with \
                 \"kubectl\" using v1)",
                "GET PATCH",
            ),
        ),
        (
            was_there,
            vec![ok(&before), refused(409, "Conflict", "uid mismatch")],
            (
                "refused: conflict: clusterrole/r is another object",
                "GET PATCH",
            ),
        ),
        (
            was_there,
            vec![ok(&before), lost_answer(), ok(&now)],
            ("applied u: the answer was lost", "GET PATCH GET"),
        ),
        (
            was_there,
            vec![ok(&before), lost_answer(), ok(&before)],
            ("refused: the connection", "GET PATCH GET"),
        ),
        (
            was_there,
            vec![ok(&before), lost_answer(), refused(403, "Forbidden", "no")],
            ("failed: the connection", "GET PATCH GET"),
        ),
    ];
    for (was_there, replies, expected) in table {
        let (object, manifest) = (role(), manifest());
        let applying = Applying {
            object: &object,
            manifest: &manifest,
            before: was_there,
        };
        let done = outcome(replies, async |api: ServerApi| {
            applying.carry_out(&api).await
        });
        check(&done.await, expected);
    }
}

#[tokio::test]
async fn an_apply_names_the_object_that_it_is_meant_for_and_never_forces() {
    let before = live("u", &json!([]), false);
    let server = FakeServer::start([ok(&before)]).await;
    let api = ServerApi::of(server.client(ConnectionOptions::default()));
    let applied = Applied::of(&before, "kubectl-karmada-test");
    let (object, manifest) = (role(), manifest());
    let applying = Applying {
        object: &object,
        manifest: &manifest,
        before: applied.as_ref(),
    };
    applying.rehearse(&api).await;
    let sent = server.requests()[1].clone();
    let line = "PATCH /apis/rbac.authorization.k8s.io/v1/clusterroles/r?fieldManager=kubectl-karmada-test&dryRun=All HTTP";
    assert!(sent.starts_with(line), "{sent}");
    assert!(
        sent.contains("content-type: application/apply-patch+yaml"),
        "{sent}"
    );
    assert!(sent.contains(r#""uid":"u""#), "{sent}");
}

#[tokio::test]
async fn a_rehearsed_deletion_says_in_its_body_that_it_is_one() {
    let server = FakeServer::start([ok(&json!({}))]).await;
    let api = ServerApi::of(server.client(ConnectionOptions::default()));
    let only_if = Preconditions::default();
    let result = rehearse_deletion(&api, &role(), &only_if).await;
    assert_eq!(result, StepResult::Applied(None));
    let sent = server.requests()[0].clone();
    assert!(sent.contains(r#""dryRun":["All"]"#), "{sent}");
}

#[tokio::test]
async fn a_patch_whose_answer_was_lost_is_judged_by_the_object() {
    let change: Patch = serde_json::from_value(json!([
        {"op": "test", "path": "/rules", "value": []},
        {"op": "replace", "path": "/rules", "value": [1]}
    ]))
    .unwrap();
    let object = |rules: Value| live("u", &rules, false);
    let table = [
        (vec![ok(&object(json!([1])))], ("applied u", "PATCH")),
        (
            vec![lost_answer(), ok(&object(json!([1])))],
            ("applied u: the answer was lost", "PATCH GET"),
        ),
        (
            vec![
                refused(422, "Invalid", "test failed"),
                ok(&object(json!([1]))),
            ],
            ("unchanged", "PATCH GET"),
        ),
        (
            vec![
                refused(422, "Invalid", "test failed"),
                ok(&object(json!([2]))),
            ],
            (
                "refused: conflict: rules of clusterrole/r is no longer",
                "PATCH GET",
            ),
        ),
        (
            vec![lost_answer(), ok(&object(json!([])))],
            ("refused: the connection", "PATCH GET"),
        ),
    ];
    for (replies, expected) in table {
        let (role, change) = (role(), change.clone());
        let done = outcome(replies, async |api: ServerApi| {
            patch(&api, &role, &change).await
        });
        check(&done.await, expected);
    }
}
