//! What is said when an API server refuses a request.

#![allow(clippy::unwrap_used)]

use serde_json::json;

use crate::cluster::client::DryRun;
use crate::cluster::options::ConnectionOptions;
use crate::cluster::request_error::Sent;
use crate::cluster::tests::fake_server::{FakeServer, Reply, get_error, patch_error};
use crate::error::Explain;

fn status(code: u16, reason: &str, message: &str) -> Reply {
    let body = json!({"kind": "Status", "code": code, "reason": reason, "message": message});
    Reply::json(&format!("{code} X"), &body.to_string())
}

#[tokio::test]
async fn says_refusals_in_kubectls_words() {
    let forbidden =
        "clusters.cluster.karmada.io \"a\" is forbidden: User \"u\" cannot get resource";
    let text = |code: &str, body: &str| Reply::with(code, "text/plain; charset=utf-8", "", body);
    let table = [
        (
            status(
                404,
                "NotFound",
                "clusters.cluster.karmada.io \"a\" not found",
            ),
            "error from server (NotFound): clusters.cluster.karmada.io \"a\" not found",
        ),
        (
            status(403, "Forbidden", forbidden),
            "error from server (Forbidden): clusters.cluster.karmada.io \"a\" is forbidden: User \"u\" cannot get resource",
        ),
        (
            status(401, "Unauthorized", "Unauthorized"),
            "you must be logged in to the server (Unauthorized)",
        ),
        (
            status(409, "Conflict", "the object has been modified"),
            "error from server (Conflict): the object has been modified",
        ),
        (status(500, "", "oops"), "error from server: oops"),
        (
            text("404 Not Found", "404 page not found\n"),
            "error from server (NotFound): the server could not find the requested resource (get clusters.cluster.karmada.io a)",
        ),
        (
            text("500 X", "boom\n"),
            "error from server (InternalError): an error on the server (\"boom\") has prevented the request from succeeding (get clusters.cluster.karmada.io a)",
        ),
        (
            Reply::with("502 X", "text/html", "", "<html>secret</html>"),
            "error from server (InternalError): an error on the server has prevented the request from succeeding (get clusters.cluster.karmada.io a)",
        ),
        (
            text("503 X", "service unavailable"),
            "error from server (ServiceUnavailable): the server is currently unable to handle the request: service unavailable (get clusters.cluster.karmada.io a)",
        ),
        (
            text("401 X", "Unauthorized"),
            "you must be logged in to the server (the server has asked for the client to provide credentials (get clusters.cluster.karmada.io a))",
        ),
        (
            Reply::with("302 Found", "text/html", "Location: https://login\r\n", ""),
            "error from server: the server answered 302 instead of a result (get clusters.cluster.karmada.io a)",
        ),
    ];
    for (reply, expected) in table {
        let (error, tries) = get_error([reply]).await;
        assert_eq!(error.to_string(), expected);
        assert_eq!(tries, 1, "{expected}");
    }
}

#[tokio::test]
async fn says_what_is_invalid_field_by_field() {
    let body = json!({"kind": "Status", "code": 422, "reason": "Invalid", "message": "long", "details": {
    "kind": "Cluster", "name": "a", "causes": [
        {"field": "spec.apiEndpoint", "message": "Invalid value", "reason": "FieldValueInvalid"},
        {"field": "spec.id", "message": "Required value"},
    ]}});
    let (error, _) = patch_error([Reply::json("422 X", &body.to_string())]).await;
    let expected =
        "the Cluster \"a\" is invalid: spec.apiEndpoint: Invalid value; spec.id: Required value";
    assert_eq!(error.to_string(), expected);
    assert!(error.is_invalid());
    assert_eq!(error.was_sent(), Sent::No);
    let (test_failed, _) = patch_error([status(
        422,
        "Invalid",
        "the server rejected our request due to an error in our request",
    )])
    .await;
    let expected =
        "the request is invalid: the server rejected our request due to an error in our request";
    assert_eq!(test_failed.to_string(), expected);
}

#[tokio::test]
async fn repeats_no_object_that_is_refused() {
    let object = format!("{{\\\"data\\\":\\\"{}\\\"}}", "s3cr3t".repeat(50));
    let message = format!("patch: Invalid value: \"{object}\": json: cannot unmarshal number");
    let body = json!({"kind": "Status", "code": 422, "reason": "Invalid", "message": format!(" \"\" is invalid: {message}"),
        "details": {"causes": [{"field": "patch", "message": message.strip_prefix("patch: "), "reason": "FieldValueInvalid"}]}});
    let (error, _) = patch_error([Reply::json("422 X", &body.to_string())]).await;
    let expected =
        "the request is invalid: patch: Invalid value: \"...\": json: cannot unmarshal number";
    assert_eq!(error.to_string(), expected);
    assert!(!format!("{error:?}").contains("s3cr3t"), "{error:?}");
}

#[tokio::test]
async fn repeats_nothing_of_a_secret_that_is_refused() {
    let secret = "/api/v1/namespaces/karmada-cluster/secrets/a";
    let invalid = json!({"kind": "Status", "code": 422, "reason": "Invalid", "message": "data[x]: Invalid value: s3cr3t",
        "details": {"kind": "Secret", "name": "a", "causes": [{"field": "data[x]", "message": "Invalid value: s3cr3t"}]}});
    let bad = json!({"kind": "Status", "code": 400, "reason": "BadRequest", "message": "bigger context ...|s3cr3t|..."});
    let table = [
        (
            Reply::json("422 X", &invalid.to_string()),
            "the Secret \"a\" is invalid: data[x]: Invalid value",
        ),
        (
            Reply::json("400 X", &bad.to_string()),
            "error from server (BadRequest): the server rejected our request for an unknown reason (put secrets a)",
        ),
        (
            Reply::with("400 X", "text/plain", "", "s3cr3t"),
            "error from server (BadRequest): the server rejected our request for an unknown reason (put secrets a)",
        ),
    ];
    for (reply, expected) in table {
        let server = FakeServer::start([reply]).await;
        let client = server.client(ConnectionOptions::default());
        let error = client
            .replace(secret, &json!({}), DryRun::Off)
            .await
            .unwrap_err();
        assert_eq!(error.to_string(), expected);
        assert!(!format!("{error:?}").contains("s3cr3t"), "{error:?}");
    }
}

#[tokio::test]
async fn offers_a_command_for_refusals_of_identity() {
    let (forbidden, _) = get_error([status(403, "Forbidden", "no")]).await;
    let command = "kubectl auth can-i get clusters.cluster.karmada.io --context fake";
    assert_eq!(forbidden.hint().as_deref(), Some(command));
    let (unauthorized, _) = get_error([status(401, "Unauthorized", "no")]).await;
    let hint = "renew the credentials, then run kubectl auth whoami --context fake";
    assert_eq!(unauthorized.hint().as_deref(), Some(hint));
    assert!(unauthorized.is_unauthorized() && forbidden.is_forbidden());
}
