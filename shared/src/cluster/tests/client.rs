//! What the client makes of an API server's behaviour.

#![allow(clippy::unwrap_used)]

use std::sync::{Arc, Mutex};

use http::{Request, StatusCode};
use serde_json::{Value, json};

use crate::cluster::client::{DryRun, PatchKind, Preconditions};
use crate::cluster::options::{ConnectionOptions, Impersonation};
use crate::cluster::tests::fake_server::{CLUSTER, FakeServer, Reply, connector_with};
use crate::env::Env;

const CLUSTERS: &str = "/apis/cluster.karmada.io/v1alpha1/clusters";

#[tokio::test]
async fn reads_writes_and_says_who_it_is() {
    let server = FakeServer::start([
        Reply::json(
            "200 OK",
            r#"{"metadata":{"resourceVersion":"7"},"items":[{"a":1},{"a":2}]}"#,
        ),
        Reply::json("200 OK", r#"{"kind":"Cluster"}"#),
    ])
    .await;
    let client = server.client(ConnectionOptions::default());
    let list = client.list::<Value>(CLUSTERS).await.unwrap();
    assert_eq!(list.items, [json!({"a": 1}), json!({"a": 2})]);
    assert_eq!(list.resource_version.as_deref(), Some("7"));
    let patch = json!([{"op": "test", "path": "/x", "value": 1}]);
    let patched = client
        .patch(CLUSTER, PatchKind::Json, &patch, DryRun::All)
        .await
        .unwrap();
    assert_eq!(patched, json!({"kind": "Cluster"}));
    let requests = server.requests();
    assert!(
        requests[0].starts_with(&format!("GET {CLUSTERS} HTTP/1.1\r\n")),
        "{}",
        requests[0]
    );
    assert!(
        requests[0].contains("user-agent: kubectl-karmada-test/1.2.3\r\n"),
        "{}",
        requests[0]
    );
    assert!(
        requests[0].contains("authorization: Bearer t0ken\r\n"),
        "{}",
        requests[0]
    );
    let line = format!("PATCH {CLUSTER}?fieldManager=kubectl-karmada-test&dryRun=All HTTP/1.1\r\n");
    assert!(requests[1].starts_with(&line), "{}", requests[1]);
    assert!(requests[1].contains("content-type: application/json-patch+json\r\n"));
    assert!(requests[1].ends_with(&patch.to_string()));
}

#[tokio::test]
async fn writes_in_every_way_an_api_server_knows() {
    let server = FakeServer::start([Reply::json("200 OK", "{}")]).await;
    let client = server.client(ConnectionOptions::default());
    let body = json!({"a": 1});
    let only_if = Preconditions {
        uid: Some("u".to_owned()),
        resource_version: None,
    };
    client
        .patch(CLUSTER, PatchKind::Merge, &body, DryRun::Off)
        .await
        .unwrap();
    client
        .patch(
            CLUSTER,
            PatchKind::Apply { force: true },
            &body,
            DryRun::Off,
        )
        .await
        .unwrap();
    client.create(CLUSTERS, &body, DryRun::Off).await.unwrap();
    client.replace(CLUSTER, &body, DryRun::All).await.unwrap();
    client.delete(CLUSTER, &only_if, DryRun::Off).await.unwrap();
    let manager = "fieldManager=kubectl-karmada-test";
    let table = [
        (
            format!("PATCH {CLUSTER}?{manager} "),
            "application/merge-patch+json",
            body.clone(),
        ),
        (
            format!("PATCH {CLUSTER}?{manager}&force=true "),
            "application/apply-patch+yaml",
            body.clone(),
        ),
        (
            format!("POST {CLUSTERS}?{manager} "),
            "application/json",
            body.clone(),
        ),
        (
            format!("PUT {CLUSTER}?{manager}&dryRun=All "),
            "application/json",
            body.clone(),
        ),
        (
            format!("DELETE {CLUSTER}?{manager} "),
            "application/json",
            json!({"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": "u"}}),
        ),
    ];
    for (request, (line, content_type, body)) in server.requests().iter().zip(table) {
        assert!(request.starts_with(&line), "{request}");
        assert!(
            request.contains(&format!("content-type: {content_type}\r\n")),
            "{request}"
        );
        let sent: Value = serde_json::from_str(request.split_once("\r\n\r\n").unwrap().1).unwrap();
        assert_eq!(sent, body);
    }
}

#[tokio::test]
async fn acts_as_someone_else_below_a_path_prefix() {
    let server = FakeServer::start([Reply::json("200 OK", "{}")]).await;
    let client = server.client(ConnectionOptions {
        server: Some(format!("{}/k8s/c-1/", server.url())),
        impersonation: Impersonation {
            user: Some("jane".to_owned()),
            uid: Some("7".to_owned()),
            groups: vec!["dev".to_owned(), "ops".to_owned()],
            extra: [("example.org/scope".to_owned(), vec!["x".to_owned()])].into(),
        },
        ..ConnectionOptions::default()
    });
    client.get::<Value>("/version").await.unwrap();
    let request = &server.requests()[0];
    assert!(
        request.starts_with("GET /k8s/c-1/version HTTP/1.1\r\n"),
        "{request}"
    );
    for header in [
        "impersonate-user: jane",
        "impersonate-uid: 7",
        "impersonate-group: dev",
        "impersonate-group: ops",
        "impersonate-extra-example.org%2fscope: x",
    ] {
        assert!(
            request.contains(&format!("{header}\r\n")),
            "{header}: {request}"
        );
    }
}

#[tokio::test]
async fn asks_for_compressed_answers_unless_told_not_to() {
    for disable_compression in [false, true] {
        let server = FakeServer::start([Reply::json("200 OK", "{}")]).await;
        let client = server.client(ConnectionOptions {
            disable_compression,
            ..ConnectionOptions::default()
        });
        client.get::<Value>("/version").await.unwrap();
        let is_asked = server.requests()[0].contains("accept-encoding: gzip\r\n");
        assert_eq!(is_asked, !disable_compression);
    }
}

#[tokio::test]
async fn takes_any_code_as_an_answer_when_asked_raw() {
    for code in [200, 401, 404, 503, 504] {
        let busy = Reply::with(
            &format!("{code} X"),
            "text/plain",
            "Retry-After: 0\r\n",
            "body",
        );
        let server = FakeServer::start([busy]).await;
        let request = Request::get("/readyz").body(Vec::new()).unwrap();
        let answer = server
            .client(ConnectionOptions::default())
            .raw(request)
            .await
            .unwrap();
        assert_eq!(
            (answer.status, answer.body.as_slice()),
            (StatusCode::from_u16(code).unwrap(), &b"body"[..])
        );
        assert_eq!(server.requests().len(), 1);
    }
}

#[tokio::test]
async fn explains_answers_that_are_not_what_was_asked_for() {
    let html = Reply::with("200 OK", "text/html", "", "<html>s3cr3t</html>");
    let table = [
        (html, "content type text/html"),
        (
            Reply::json("200 OK", "{\"items\": ["),
            "JSON that ends too early",
        ),
        (Reply::json("200 OK", ""), "JSON that ends too early"),
        (
            Reply::json("200 OK", "s3cr3t"),
            "no JSON at line 1 column 1",
        ),
        (
            Reply::json("200 OK", "{\"items\": \"s3cr3t\"}"),
            "JSON of another shape at line 1 column 18",
        ),
        (
            Reply::json("200 OK", "{\"kind\": \"s3cr3t\"}"),
            "missing field `items` at line 1 column 18",
        ),
    ];
    for (reply, problem) in table {
        let server = FakeServer::start([reply]).await;
        let error = server
            .client(ConnectionOptions::default())
            .list::<Value>(CLUSTERS)
            .await
            .unwrap_err();
        let port = server.port;
        let expected = format!(
            "the server 127.0.0.1:{port} answered get {CLUSTERS} with something else: {problem}"
        );
        assert_eq!(error.to_string(), expected);
        assert!(!format!("{error:?}").contains("s3cr3t"), "{error:?}");
    }
}

#[tokio::test]
async fn takes_null_items_as_none() {
    let server =
        FakeServer::start([Reply::json("200 OK", r#"{"metadata":{},"items":null}"#)]).await;
    let list = server
        .client(ConnectionOptions::default())
        .list::<Value>(CLUSTERS)
        .await
        .unwrap();
    assert_eq!((list.items, list.resource_version), (Vec::new(), None));
}

#[tokio::test]
async fn passes_each_warning_on_once() {
    let warnings = "Warning: 299 - \"old\"\r\nWarning: 299 - \"older\"\r\n";
    let server =
        FakeServer::start([Reply::with("200 OK", "application/json", warnings, "{}")]).await;
    let seen = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&seen);
    let connector = connector_with(
        &Env::default(),
        Arc::new(move |text: &str| sink.lock().unwrap().push(text.to_owned())),
    );
    for _ in 0..2 {
        let kubeconfig = server.kubeconfig("{token: t}");
        let client = connector
            .connect(&kubeconfig, &ConnectionOptions::default())
            .unwrap();
        client.get::<Value>("/version").await.unwrap();
        client.get::<Value>("/version").await.unwrap();
    }
    assert_eq!(*seen.lock().unwrap(), ["old", "older"]);
}
