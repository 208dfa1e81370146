//! What the client makes of an API server's behaviour.

#![allow(clippy::unwrap_used)]

use std::error::Error;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use http::{Request, StatusCode};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};

use crate::cluster::client::{DryRun, PatchKind, Preconditions};
use crate::cluster::options::{ConnectionOptions, Impersonation};
use crate::cluster::request_error::{RequestError, Sent};
use crate::cluster::tests::fake_server::{FakeServer, Reply, connector_with, read_request};
use crate::env::Env;
use crate::error::Explain;

const CLUSTERS: &str = "/apis/cluster.karmada.io/v1alpha1/clusters";
const CLUSTER: &str = "/apis/cluster.karmada.io/v1alpha1/clusters/a";

fn status(code: u16, reason: &str, message: &str) -> Reply {
    let body = json!({"kind": "Status", "code": code, "reason": reason, "message": message});
    Reply::json(&format!("{code} X"), &body.to_string())
}

async fn get_error(replies: impl IntoIterator<Item = Reply>) -> (RequestError, usize) {
    let server = FakeServer::start(replies).await;
    let client = server.client(ConnectionOptions::default());
    let error = client.get::<Value>(CLUSTER).await.unwrap_err();
    (error, server.requests().len())
}

async fn patch_error(replies: impl IntoIterator<Item = Reply>) -> (RequestError, usize) {
    let server = FakeServer::start(replies).await;
    let client = server.client(ConnectionOptions::default());
    let error = client
        .patch(CLUSTER, PatchKind::Json, &json!([]), DryRun::Off)
        .await
        .unwrap_err();
    (error, server.requests().len())
}

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

#[tokio::test]
async fn tells_refused_from_unresolved() {
    let server = FakeServer::start([]).await;
    let client = |url: String| {
        server.client(ConnectionOptions {
            server: Some(url),
            ..ConnectionOptions::default()
        })
    };
    let port = {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        listener.local_addr().unwrap().port()
    };
    let refused = client(format!("https://127.0.0.1:{port}"))
        .get::<Value>("/version")
        .await
        .unwrap_err();
    let expected = format!(
        "the connection to the server 127.0.0.1:{port} was refused - did you specify the right host or port?"
    );
    assert_eq!(refused.to_string(), expected);
    assert_eq!(refused.was_sent(), Sent::No);
    let unresolved = client("https://nowhere.invalid".to_owned())
        .get::<Value>("/version")
        .await
        .unwrap_err();
    assert_eq!(
        unresolved.to_string(),
        "unable to connect to the server: lookup nowhere.invalid: no such host"
    );
    assert_eq!(unresolved.was_sent(), Sent::No);
}

#[tokio::test]
async fn repeats_a_read_once_when_the_connection_breaks() {
    let cut = || Reply::Cut(String::new());
    let good = || Reply::json("200 OK", "{}");
    let truncated =
        || Reply::Cut("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"a\":".to_owned());
    for broken in [cut(), truncated()] {
        let server = FakeServer::start([broken.clone(), good()]).await;
        let client = server.client(ConnectionOptions::default());
        client.get::<Value>(CLUSTER).await.unwrap();
        assert_eq!(server.requests().len(), 2);
        let (error, tries) = get_error([broken.clone(), broken.clone(), good()]).await;
        assert!(matches!(error, RequestError::Reset { .. }), "{error}");
        assert_eq!(tries, 2);
        let (error, tries) = patch_error([broken, good()]).await;
        let text = error.to_string();
        assert!(
            text.ends_with(&format!("was closed before it answered patch {CLUSTER}")),
            "{text}"
        );
        assert!(error.source().is_some());
        assert_eq!((tries, error.was_sent()), (1, Sent::Maybe));
    }
}

#[tokio::test]
async fn knows_that_a_connection_broken_in_its_making_carried_nothing() {
    let server = FakeServer::start([]).await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let closing = tokio::spawn(async move { while listener.accept().await.is_ok() {} });
    let client = server.client(ConnectionOptions {
        server: Some(format!("https://127.0.0.1:{port}")),
        ..ConnectionOptions::default()
    });
    let error = client
        .patch(CLUSTER, PatchKind::Json, &json!([]), DryRun::Off)
        .await
        .unwrap_err();
    assert!(matches!(error, RequestError::Reset { .. }), "{error:?}");
    assert_eq!(error.was_sent(), Sent::No);
    closing.abort();
}

#[tokio::test]
async fn gives_up_at_the_deadline() {
    let server = FakeServer::start([Reply::Silence]).await;
    let client = server.client(ConnectionOptions {
        request_timeout: Some(Duration::from_millis(200)),
        ..ConnectionOptions::default()
    });
    let started = Instant::now();
    let error = client.get::<Value>(CLUSTER).await.unwrap_err();
    let expected = format!(
        "the server 127.0.0.1:{} did not answer get {CLUSTER} within 200ms",
        server.port
    );
    assert_eq!(error.to_string(), expected);
    assert!(error.is_timeout());
    assert_eq!(error.was_sent(), Sent::Maybe);
    assert!(started.elapsed() < Duration::from_secs(5));
}

#[tokio::test]
async fn tells_a_dead_address_from_a_slow_server() {
    let server = FakeServer::start([]).await;
    // A listener that never accepts a handshake.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let client = server.client(ConnectionOptions {
        server: Some(format!("https://127.0.0.1:{port}")),
        request_timeout: Some(Duration::from_millis(300)),
        ..ConnectionOptions::default()
    });
    let error = client.get::<Value>(CLUSTER).await.unwrap_err();
    let expected = format!(
        "unable to connect to the server: dial server 127.0.0.1:{port}: i/o timeout after "
    );
    assert!(error.to_string().starts_with(&expected), "{error}");
    assert!(error.is_timeout());
    assert_eq!(error.was_sent(), Sent::No);
}

#[tokio::test]
async fn asks_again_only_when_told_to_and_only_what_is_safe() {
    let busy = |code: &str, headers: &str| Reply::with(code, "text/plain", headers, "busy");
    let now = "Retry-After: 0\r\n";
    let good = || Reply::json("200 OK", "{}");
    for code in ["429 X", "503 X"] {
        let server = FakeServer::start([busy(code, now), busy(code, now), good()]).await;
        server
            .client(ConnectionOptions::default())
            .get::<Value>(CLUSTER)
            .await
            .unwrap();
        assert_eq!(server.requests().len(), 3, "{code}");
        let (_, tries) = get_error([busy(code, ""), good()]).await;
        assert_eq!(tries, 1, "{code} without a time");
        let (error, tries) = get_error([busy(code, now)]).await;
        assert_eq!(tries, 10, "{code} for ever");
        assert!(error.code().is_some());
        let (_, tries) = get_error([busy(code, "Retry-After: 3600\r\n"), good()]).await;
        assert_eq!(tries, 1, "{code} beyond the deadline");
    }
    let server = FakeServer::start([busy("429 X", now), good()]).await;
    let client = server.client(ConnectionOptions::default());
    client
        .patch(CLUSTER, PatchKind::Json, &json!([]), DryRun::Off)
        .await
        .unwrap();
    assert_eq!(server.requests().len(), 2);
    let (error, tries) = patch_error([busy("503 X", now), good()]).await;
    assert_eq!((tries, error.was_sent()), (1, Sent::Maybe));
    let (error, tries) = patch_error([busy("429 X", ""), good()]).await;
    assert_eq!((tries, error.was_sent()), (1, Sent::No));
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

#[tokio::test]
async fn names_the_proxy_that_does_not_answer() {
    let server = FakeServer::start([]).await;
    let kubeconfig = server.kubeconfig("{token: t}");
    let env = Env::of([("HTTPS_PROXY", "http://jane:pw@127.0.0.1:1")]);
    let connector = connector_with(&env, Arc::new(|_: &str| {}));
    let client = connector.connect(
        &kubeconfig,
        &ConnectionOptions {
            server: Some("https://172.18.0.3:6443".to_owned()),
            ..ConnectionOptions::default()
        },
    );
    let error = client.unwrap().get::<Value>("/version").await.unwrap_err();
    let expected = "the connection to the proxy 127.0.0.1:1 to the server 172.18.0.3:6443 was refused - did you specify \
                    the right host or port?";
    assert_eq!(error.to_string(), expected);
    let hint =
        "to go around the proxy of HTTPS_PROXY, run export NO_PROXY=\"$NO_PROXY,172.18.0.3\"";
    assert_eq!(error.hint().as_deref(), Some(hint));
    assert!(!format!("{error:?}").contains("pw"));
}

#[tokio::test]
async fn tunnels_through_the_proxy_of_the_environment() {
    let server = FakeServer::start([Reply::json("200 OK", "{}")]).await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let proxy = format!("http://jane:pw@{}", listener.local_addr().unwrap());
    let port = server.port;
    let tunnel = tokio::spawn(async move {
        let (mut near, _) = listener.accept().await.unwrap();
        let request = read_request(&mut near).await.unwrap();
        near.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
        let mut far = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        let _ = tokio::io::copy_bidirectional(&mut near, &mut far).await;
        request
    });
    let options = ConnectionOptions {
        server: Some("https://karmada.example.org:5443".to_owned()),
        tls_server_name: Some("127.0.0.1".to_owned()),
        ..ConnectionOptions::default()
    };
    let connector = connector_with(&Env::of([("https_proxy", &proxy)]), Arc::new(|_: &str| {}));
    let client = connector
        .connect(&server.kubeconfig("{token: t}"), &options)
        .unwrap();
    client.get::<Value>("/version").await.unwrap();
    drop(client);
    let request = tunnel.await.unwrap();
    assert!(
        request.starts_with("CONNECT karmada.example.org:5443 HTTP/1.1\r\n"),
        "{request}"
    );
    assert!(
        request
            .to_lowercase()
            .contains("proxy-authorization: basic amfuztpwdw=="),
        "{request}"
    );
}

#[tokio::test]
async fn says_that_the_proxy_refuses() {
    let server = FakeServer::start([]).await;
    let proxy = FakeServer::without_tls([Reply::Bytes(
        "HTTP/1.1 407 Proxy Authentication Required\r\n\r\n".to_owned(),
    )])
    .await;
    let options = ConnectionOptions {
        server: Some("https://karmada.example.org:5443".to_owned()),
        ..ConnectionOptions::default()
    };
    let address = format!("127.0.0.1:{}", proxy.port);
    let connector = connector_with(
        &Env::of([("HTTPS_PROXY", &address)]),
        Arc::new(|_: &str| {}),
    );
    let client = connector
        .connect(&server.kubeconfig("{token: t}"), &options)
        .unwrap();
    let error = client.get::<Value>("/version").await.unwrap_err();
    let expected = format!(
        "unable to connect to the server: dial proxy {address} to the server karmada.example.org:5443"
    );
    assert_eq!(error.to_string(), expected);
    assert_eq!(
        error.source().unwrap().to_string(),
        "tunnel error: proxy authorization required"
    );
}
