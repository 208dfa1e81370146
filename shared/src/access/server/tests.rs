#![allow(clippy::unwrap_used)]

use serde_json::{Value, json};

use super::*;
use crate::access::{AccessOptions, Need};
use crate::cli::connection::{HostOptions, MemberOptions};
use crate::cli::docker::DockerChoice;
use crate::cluster::object::Kind;
use crate::cluster::options::ConnectionOptions;
use crate::cluster::tests::fake_server::{FakeServer, Reply};
use crate::env::Env;
use crate::plan::Action;

const PROXY: &str = "/apis/cluster.karmada.io/v1alpha1/clusters/a/proxy";

/// Access to a control plane, with another context for the member a where `member` is given.
fn access(control_plane: &FakeServer, member: Option<&FakeServer>) -> Access {
    let mut clusters = vec![("karmada", control_plane)];
    clusters.extend(member.map(|member| ("member", member)));
    let (mut contexts, mut entries) = (Vec::new(), Vec::new());
    for (name, server) in clusters {
        let authority = server.write("ca.crt", &server.authority_pem);
        contexts.push(format!(
            "{{name: {name}, context: {{cluster: {name}, user: u}}}}"
        ));
        entries.push(format!(
            "{{name: {name}, cluster: {{server: '{}', certificate-authority: '{}'}}}}",
            server.url(),
            authority.display()
        ));
    }
    let text = format!(
        "{{kind: Config, current-context: karmada, contexts: [{}], clusters: [{}], users: [{{name: u, user: {{token: t}}}}]}}",
        contexts.join(", "),
        entries.join(", ")
    );
    let file = control_plane.write("kubeconfig", &text);
    let given = member.map(|_| ("a".to_owned(), "member".to_owned()));
    let _ = rustls::crypto::ring::default_provider().install_default();
    let options = AccessOptions {
        connection: ConnectionOptions {
            kubeconfig: Some(file),
            ..ConnectionOptions::default()
        },
        members: MemberOptions {
            contexts: given.into_iter().collect(),
            ..MemberOptions::default()
        },
        host: HostOptions::default(),
        control_plane: Need::Required,
    };
    Access::open("test", options, Env::default()).unwrap()
}

fn ok(value: &Value) -> Reply {
    Reply::json("200 OK", &value.to_string())
}

fn cluster() -> Reply {
    ok(&json!({"metadata": {"name": "a"}, "spec": {"id": "u", "syncMode": "Push"}}))
}

fn kube_system() -> Reply {
    ok(&json!({"metadata": {"name": "kube-system", "uid": "u"}}))
}

fn lines(server: &FakeServer) -> Vec<String> {
    let requests = server.requests();
    let line = |request: &String| {
        let mut words = request.split(' ');
        format!("{} {}", words.next().unwrap(), words.next().unwrap())
    };
    requests.iter().map(line).collect()
}

fn deletion() -> Action {
    Action::DeleteObject {
        server: Server::Member("a".to_owned()),
        object: ObjectReference::namespaced(Kind::ConfigMap, "n", "m"),
        uid: "u".to_owned(),
        resource_version: None,
    }
}

#[tokio::test]
async fn a_member_is_written_through_the_proxy_where_that_answers() {
    let control_plane = FakeServer::start([cluster(), kube_system(), ok(&json!({}))]).await;
    let access = access(&control_plane, None);
    let server = Server::Member("a".to_owned());
    for _ in 0..2 {
        let api = access.server(&server).await.unwrap();
        let path = "/api/v1/namespaces/n/configmaps/m";
        api.delete(path, &Preconditions::default(), DryRun::Off)
            .await
            .unwrap();
    }
    let delete = format!(
        "DELETE {PROXY}/api/v1/namespaces/n/configmaps/m?fieldManager=kubectl-karmada-test"
    );
    assert_eq!(
        lines(&control_plane),
        [
            "GET /apis/cluster.karmada.io/v1alpha1/clusters/a",
            &format!("GET {PROXY}/api/v1/namespaces/kube-system"),
            &delete,
            &delete,
        ]
    );
    let command = deletion().command(&access.commands(&DockerChoice::Found));
    let proxy = format!(
        "--server {}{PROXY} -n n delete configmaps m",
        control_plane.url()
    );
    assert!(command.ends_with(&proxy), "{command}");
}

#[tokio::test]
async fn a_member_is_written_with_its_context_where_the_proxy_does_not_answer() {
    let refused = Reply::json(
        "403 Forbidden",
        r#"{"kind":"Status","status":"Failure","reason":"Forbidden","message":"no","code":403}"#,
    );
    let control_plane = FakeServer::start([cluster(), refused.clone()]).await;
    let member = FakeServer::start([kube_system(), ok(&json!({"x": 1}))]).await;
    let with_context = access(&control_plane, Some(&member));
    let api = with_context
        .server(&Server::Member("a".to_owned()))
        .await
        .unwrap();
    let found: Value = api.get("/x").await.unwrap();
    assert_eq!(found, json!({"x": 1}));
    assert_eq!(
        lines(&member),
        ["GET /api/v1/namespaces/kube-system", "GET /x"]
    );
    let command = deletion().command(&with_context.commands(&DockerChoice::Found));
    assert_eq!(command, "kubectl --context member -n n delete configmaps m");

    let control_plane = FakeServer::start([cluster(), refused]).await;
    let without = access(&control_plane, None);
    let error = without.server(&Server::Member("a".to_owned())).await;
    assert_eq!(
        error.unwrap_err(),
        "cluster/a cannot be reached: error from server (Forbidden): no"
    );
}

#[tokio::test]
async fn a_context_that_was_given_needs_no_control_plane_that_knows_the_member() {
    let unknown = Reply::json(
        "404 Not Found",
        r#"{"kind":"Status","status":"Failure","reason":"NotFound","message":"no cluster","code":404}"#,
    );
    let control_plane = FakeServer::start([unknown]).await;
    let member = FakeServer::start([kube_system(), ok(&json!({"x": 1}))]).await;
    let access = access(&control_plane, Some(&member));
    let api = access
        .server(&Server::Member("a".to_owned()))
        .await
        .unwrap();
    assert_eq!(api.client().server(), member.url());
    let error = access.server(&Server::Host).await.unwrap_err();
    assert_eq!(
        error,
        "no access to the host cluster was given (--host-context)"
    );
}
