//! When the command that gives credentials runs, and what is made of what it prints.

#![allow(clippy::unwrap_used)]

use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use rcgen::{CertificateParams, KeyPair};
use serde_json::{Value, json};

use crate::cluster::client::ClusterClient;
use crate::cluster::error::ClusterError;
use crate::cluster::options::ConnectionOptions;
use crate::cluster::request_error::{RequestError, Sent};
use crate::cluster::tests::fake_server::{FakeServer, Reply, connector};
use crate::error::Explain;

const V1: &str = "client.authentication.k8s.io/v1";
const V1BETA1: &str = "client.authentication.k8s.io/v1beta1";

/// A server, and a plugin that notes each run in the file `runs` and prints the file `credential`.
async fn server_with_plugin(
    replies: impl IntoIterator<Item = Reply>,
    credential: &Value,
    script: &str,
) -> FakeServer {
    let server = FakeServer::start(replies).await;
    server.write("credential", &credential.to_string());
    let plugin = format!(
        "#!/bin/sh\ncd '{}'\necho \"$KUBERNETES_EXEC_INFO $EXTRA $*\" >> runs\n{script}\ncat credential\n",
        server.folder.path().display()
    );
    let path = server.write("plugin", &plugin);
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    server
}

fn credential(version: &str, status: Value) -> Value {
    json!({"kind": "ExecCredential", "apiVersion": version, "status": status})
}

fn client(server: &FakeServer, version: &str, more: &str) -> Result<ClusterClient, ClusterError> {
    connect(server, version, more, ConnectionOptions::default())
}

fn connect(
    server: &FakeServer,
    version: &str,
    more: &str,
    options: ConnectionOptions,
) -> Result<ClusterClient, ClusterError> {
    let user = format!(
        "{{exec: {{apiVersion: {version}, command: ./plugin, installHint: get it{more}}}}}"
    );
    connector().connect(&server.kubeconfig(&user), &options)
}

fn runs(server: &FakeServer) -> Vec<String> {
    let runs = std::fs::read_to_string(server.folder.path().join("runs")).unwrap_or_default();
    runs.lines().map(str::to_owned).collect()
}

fn good() -> Reply {
    Reply::json("200 OK", "{}")
}

#[tokio::test]
async fn runs_once_and_not_before_a_request() {
    for version in [V1, V1BETA1] {
        let server = server_with_plugin(
            [good()],
            &credential(version, json!({"token": "from-plugin"})),
            "",
        )
        .await;
        let client = client(&server, version, "").unwrap();
        assert!(runs(&server).is_empty());
        let both = tokio::join!(
            client.get::<Value>("/version"),
            client.get::<Value>("/version")
        );
        both.0.unwrap();
        both.1.unwrap();
        client.get::<Value>("/version").await.unwrap();
        assert_eq!(runs(&server).len(), 1, "{version}");
        for request in server.requests() {
            assert!(
                request.contains("authorization: Bearer from-plugin\r\n"),
                "{request}"
            );
        }
    }
}

#[tokio::test]
async fn is_told_about_the_cluster_and_that_nobody_is_there() {
    let server = server_with_plugin([good()], &credential(V1, json!({"token": "t"})), "").await;
    let more = ", provideClusterInfo: true, interactiveMode: IfAvailable, args: [get, token], env: [{name: EXTRA, value: x}]";
    client(&server, V1, more)
        .unwrap()
        .get::<Value>("/version")
        .await
        .unwrap();
    let line = &runs(&server)[0];
    let (info, rest) = line
        .rsplit_once('}')
        .map(|(info, rest)| (format!("{info}}}"), rest))
        .unwrap();
    assert_eq!(rest, " x get token");
    let info: Value = serde_json::from_str(&info).unwrap();
    assert_eq!(info["apiVersion"], V1);
    assert_eq!(info["spec"]["interactive"], false);
    assert_eq!(info["spec"]["cluster"]["server"], server.url());
    assert!(info["spec"]["cluster"]["certificate-authority-data"].is_string());
}

#[tokio::test]
async fn runs_again_when_credentials_expire_or_are_not_taken() {
    let expired = credential(
        V1,
        json!({"token": "t", "expirationTimestamp": "2020-01-01T00:00:00Z"}),
    );
    let server = server_with_plugin([good()], &expired, "").await;
    let asking = client(&server, V1, "").unwrap();
    asking.get::<Value>("/version").await.unwrap();
    asking.get::<Value>("/version").await.unwrap();
    assert_eq!(runs(&server).len(), 2);

    let lasting = credential(
        V1,
        json!({"token": "t", "expirationTimestamp": "2090-01-01T00:00:00Z"}),
    );
    let server = server_with_plugin([Reply::json("401 X", "{}"), good()], &lasting, "").await;
    let asking = client(&server, V1, "").unwrap();
    assert!(
        asking
            .get::<Value>("/version")
            .await
            .unwrap_err()
            .is_unauthorized()
    );
    asking.get::<Value>("/version").await.unwrap();
    asking.get::<Value>("/version").await.unwrap();
    assert_eq!(runs(&server).len(), 2);
}

#[tokio::test]
async fn takes_a_client_certificate_and_yaml_too() {
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(vec!["x".to_owned()])
        .unwrap()
        .self_signed(&key)
        .unwrap();
    let status =
        json!({"clientCertificateData": certificate.pem(), "clientKeyData": key.serialize_pem()});
    let server = server_with_plugin([good()], &credential(V1, status), "").await;
    client(&server, V1, "")
        .unwrap()
        .get::<Value>("/version")
        .await
        .unwrap();
    assert!(!server.requests()[0].contains("authorization:"));

    let yaml = format!(
        "echo 'kind: ExecCredential'; echo 'apiVersion: {V1}'; echo 'status: {{token: t}}'; exit 0"
    );
    let server = server_with_plugin([good()], &json!({}), &yaml).await;
    client(&server, V1, "")
        .unwrap()
        .get::<Value>("/version")
        .await
        .unwrap();
}

#[tokio::test]
async fn does_not_run_when_the_command_line_brings_credentials() {
    use secrecy::SecretString;
    let server = server_with_plugin([good()], &json!({}), "").await;
    let options = ConnectionOptions {
        token: Some(SecretString::from("flag")),
        ..ConnectionOptions::default()
    };
    connect(&server, V1, "", options)
        .unwrap()
        .get::<Value>("/version")
        .await
        .unwrap();
    assert!(runs(&server).is_empty());
    assert!(server.requests()[0].contains("authorization: Bearer flag\r\n"));
}

#[tokio::test]
async fn explains_what_it_printed_without_repeating_it() {
    let table = [
        (
            json!({"token": "s3cr3t"}),
            "did not print an ExecCredential",
        ),
        (json!("s3cr3t"), "did not print an ExecCredential"),
        (
            credential(V1BETA1, json!({"token": "s3cr3t"})),
            "is configured to use API version client.authentication.k8s.io/v1 and returned another",
        ),
        (
            credential("s3cr3t", json!({"token": "s3cr3t"})),
            "returned an ExecCredential of an unknown version",
        ),
        (
            json!({"kind": "ExecCredential", "apiVersion": V1}),
            "did not return a status field",
        ),
        (
            credential(V1, json!({})),
            "did not return a token or cert/key pair",
        ),
        (
            credential(V1, json!({"token": ""})),
            "did not return a token or cert/key pair",
        ),
        (
            credential(V1, json!({"clientKeyData": "s3cr3t"})),
            "returned only one of client certificate and key",
        ),
        (
            credential(V1, json!({"token": "s3cr3t\n"})),
            "returned a token that cannot be sent in a header",
        ),
        (
            credential(
                V1,
                json!({"token": "s3cr3t", "expirationTimestamp": "soon"}),
            ),
            "returned an expirationTimestamp that is no time",
        ),
    ];
    for (printed, problem) in table {
        let server = server_with_plugin([good()], &printed, "").await;
        let error = client(&server, V1, "")
            .unwrap()
            .get::<Value>("/version")
            .await
            .unwrap_err();
        let command = server.folder.path().join("./plugin");
        let expected = format!(
            "getting credentials: exec plugin {} {problem}",
            command.display()
        );
        assert_eq!(error.to_string(), expected);
        assert!(!format!("{error:?}").contains("s3cr3t"), "{error:?}");
        assert_eq!(error.was_sent(), Sent::No);
        assert!(server.requests().is_empty());
    }
}

#[tokio::test]
async fn names_the_command_that_fails_and_how_to_install_it() {
    let server = server_with_plugin([good()], &json!({}), "echo s3cr3t; exit 3").await;
    let error = client(&server, V1, "")
        .unwrap()
        .get::<Value>("/version")
        .await
        .unwrap_err();
    let command = server.folder.path().join("./plugin");
    let expected = format!(
        "getting credentials: exec: executable {} failed with exit code 3",
        command.display()
    );
    assert_eq!(error.to_string(), expected);
    assert_eq!(error.hint().as_deref(), Some("get it"));
    assert!(!format!("{error:?}").contains("s3cr3t"), "{error:?}");
    std::fs::remove_file(&command).unwrap();
    let error = client(&server, V1, "")
        .unwrap()
        .get::<Value>("/version")
        .await
        .unwrap_err();
    let expected = format!(
        "getting credentials: exec: executable {} not found",
        command.display()
    );
    assert_eq!(error.to_string(), expected);
    assert_eq!(error.hint().as_deref(), Some("get it"));
}

#[tokio::test]
async fn is_not_waited_for_beyond_the_deadline() {
    let server = server_with_plugin([good()], &json!({}), "exec sleep 60").await;
    let options = ConnectionOptions {
        request_timeout: Some(Duration::from_millis(200)),
        ..ConnectionOptions::default()
    };
    let error = connect(&server, V1, "", options)
        .unwrap()
        .get::<Value>("/version")
        .await
        .unwrap_err();
    assert!(
        error
            .to_string()
            .ends_with("gave no credentials within 200ms"),
        "{error}"
    );
    assert!(matches!(error, RequestError::Auth(_)));
}

#[tokio::test]
async fn refuses_what_cannot_work_before_running_it() {
    let server = server_with_plugin([good()], &json!({}), "").await;
    let old = client(&server, "client.authentication.k8s.io/v1alpha1", "").unwrap_err();
    let expected =
        "exec plugin: invalid apiVersion \"client.authentication.k8s.io/v1alpha1\" (user \"u\")";
    assert_eq!(old.to_string(), expected);
    let fix = "update the plugin and run kubectl config set-credentials u --exec-api-version=client.authentication.k8s.io/v1beta1";
    assert_eq!(old.hint().as_deref(), Some(fix));
    let always = client(&server, V1, ", interactiveMode: Always").unwrap_err();
    let expected = "cannot support interactive mode: standard input is not a terminal";
    assert!(always.to_string().ends_with(expected), "{always}");
    let user = format!("{{exec: {{apiVersion: {V1}}}}}");
    let none = connector()
        .connect(&server.kubeconfig(&user), &ConnectionOptions::default())
        .unwrap_err();
    assert_eq!(
        none.to_string(),
        "command must be specified for user \"u\" to use exec authentication plugin"
    );
    assert!(runs(&server).is_empty());
}
