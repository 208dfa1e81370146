//! Whether a server is a Karmada control plane, and which other contexts are.

#![allow(clippy::unwrap_used)]

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::cluster::control_plane::{ControlPlaneError, explain_missing_clusters};
use crate::cluster::kubeconfig::Kubeconfig;
use crate::cluster::options::ConnectionOptions;
use crate::cluster::tests::fake_server::{FakeServer, Reply, connector};
use crate::env::Env;
use crate::error::Explain;

const CLUSTERS: &str = "/apis/cluster.karmada.io/v1alpha1/clusters";

fn not_found() -> Reply {
    Reply::with("404 Not Found", "text/plain", "", "404 page not found")
}

fn forbidden() -> Reply {
    Reply::json(
        "403 Forbidden",
        r#"{"kind":"Status","code":403,"reason":"Forbidden","message":"no"}"#,
    )
}

fn unavailable() -> Reply {
    Reply::with(
        "503 Service Unavailable",
        "text/plain",
        "",
        "service unavailable",
    )
}

fn group() -> Reply {
    Reply::json(
        "200 OK",
        r#"{"kind":"APIGroup","name":"cluster.karmada.io"}"#,
    )
}

async fn explain(server: &FakeServer, kubeconfig: &Kubeconfig) -> ControlPlaneError {
    let connector = connector();
    let client = connector
        .connect(kubeconfig, &ConnectionOptions::default())
        .unwrap();
    let error = client.list::<Value>(CLUSTERS).await.unwrap_err();
    assert_eq!(server.requests().len(), 1);
    explain_missing_clusters(&client, error, &connector, kubeconfig).await
}

#[tokio::test]
async fn tells_a_host_cluster_from_a_control_plane_that_ails() {
    let table = [
        (
            vec![not_found()],
            "context \"fake\" (URL) is not a Karmada control plane",
        ),
        (
            vec![forbidden(), not_found()],
            "context \"fake\" (URL) is not a Karmada control plane",
        ),
        (
            vec![not_found(), group()],
            "the cluster.karmada.io API of context \"fake\" (URL) is registered but does not serve clusters",
        ),
        (
            vec![unavailable()],
            "the cluster.karmada.io API of context \"fake\" (URL) is registered but does not serve clusters",
        ),
        (
            vec![forbidden(), group()],
            "error from server (Forbidden): no",
        ),
        (vec![forbidden()], "error from server (Forbidden): no"),
        (
            vec![Reply::json("401 X", "{}"), not_found()],
            "you must be logged in to the server (the server has asked for the client to provide credentials (get clusters.cluster.karmada.io))",
        ),
    ];
    for (replies, expected) in table {
        let server = FakeServer::start(replies).await;
        let error = explain(&server, &server.kubeconfig("{token: t}")).await;
        assert_eq!(error.to_string(), expected.replace("URL", &server.url()));
        assert_eq!(error.exit().code(), 3);
    }
}

#[tokio::test]
async fn offers_the_contexts_that_are_control_planes_within_two_seconds() {
    let host = FakeServer::start([not_found()]).await;
    let karmada = FakeServer::start([group()]).await;
    let silent = FakeServer::start([Reply::Silence]).await;
    let entry = |name: &str, server: &FakeServer| {
        let authority = server.write("ca", &server.authority_pem);
        let (url, authority) = (server.url(), authority.display().to_string());
        format!(
            "{{name: {name}, cluster: {{server: '{url}', certificate-authority: '{authority}'}}}}"
        )
    };
    let text = format!(
        "{{current-context: host, clusters: [{}, {}, {}, {{name: b, cluster: {{server: 'https://127.0.0.1:1'}}}}], contexts: [\
         {{name: host, context: {{cluster: h}}}}, {{name: member, context: {{cluster: h}}}}, \
         {{name: karmada-apiserver, context: {{cluster: k}}}}, {{name: my karmada, context: {{cluster: k}}}}, \
         {{name: slow, context: {{cluster: s}}}}, {{name: down, context: {{cluster: b}}}}, \
         {{name: lost, context: {{cluster: nowhere}}}}, {{name: cloud, context: {{cluster: k, user: login}}}}], \
         users: [{{name: login, user: {{exec: {{command: /bin/false, apiVersion: client.authentication.k8s.io/v1}}}}}}]}}",
        entry("h", &host),
        entry("k", &karmada),
        entry("s", &silent),
    );
    let file = host.write("many", &text);
    let kubeconfig = Kubeconfig::load(Some(&file), &Env::default()).unwrap();
    let started = Instant::now();
    let error = explain(&host, &kubeconfig).await;
    assert!(started.elapsed() < Duration::from_secs(4));
    let ControlPlaneError::NotKarmada { others, .. } = &error else {
        panic!("{error}");
    };
    assert_eq!(others.karmada, ["karmada-apiserver", "my karmada"]);
    assert_eq!(others.not_tried, ["cloud"]);
    assert_eq!(others.no_answer, ["down", "lost", "slow"]);
    let hint = "pass --context karmada-apiserver (or 'my karmada'); not tried, because they run a login: cloud; no answer: down, lost, slow";
    assert_eq!(error.hint().as_deref(), Some(hint));
}
