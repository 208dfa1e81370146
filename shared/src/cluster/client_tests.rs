//! What the client makes of an API server's behaviour.

#![allow(clippy::unwrap_used)]

use serde_json::{Value, json};

use crate::cluster::client::{DryRun, PatchKind};
use crate::cluster::fake_server::{FakeServer, Reply};
use crate::cluster::options::ConnectionOptions;

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
    let list = client
        .list::<Value>("/apis/cluster.karmada.io/v1alpha1/clusters")
        .await
        .unwrap();
    assert_eq!(list.items, [json!({"a": 1}), json!({"a": 2})]);
    assert_eq!(list.resource_version.as_deref(), Some("7"));
    let patch = json!([{"op": "test", "path": "/x", "value": 1}]);
    let path = "/apis/cluster.karmada.io/v1alpha1/clusters/a";
    let patched = client
        .patch(path, PatchKind::Json, &patch, DryRun::All)
        .await
        .unwrap();
    assert_eq!(patched, json!({"kind": "Cluster"}));
    let requests = server.requests();
    assert!(
        requests[0].starts_with("GET /apis/cluster.karmada.io/v1alpha1/clusters HTTP/1.1\r\n"),
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
    assert!(requests[1].starts_with(&format!(
        "PATCH {path}?fieldManager=kubectl-karmada-test&dryRun=All "
    )));
    assert!(requests[1].contains("content-type: application/json-patch+json\r\n"));
    assert!(requests[1].ends_with(&patch.to_string()));
}
