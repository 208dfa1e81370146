//! How a client is built from a pod, and what keeps it from being built.

#![allow(clippy::unwrap_used)]

use rcgen::{CertificateParams, KeyPair};
use serde_json::Value;

use crate::cluster::connect::in_pod;
use crate::cluster::error::ClusterError;
use crate::cluster::kubeconfig::Kubeconfig;
use crate::cluster::options::{ConnectionOptions, Impersonation};
use crate::cluster::tests::fake_server::{FakeServer, Reply, connector, connector_with};
use crate::env::Env;

#[tokio::test]
async fn is_the_service_account_inside_a_pod() {
    let server = FakeServer::start([Reply::json("200 OK", "{}")]).await;
    server.write("ca.crt", &server.authority_pem);
    server.write("token", "from-pod\n");
    let options = ConnectionOptions {
        impersonation: Impersonation {
            user: Some("jane".to_owned()),
            ..Impersonation::default()
        },
        ..ConnectionOptions::default()
    };
    let selection = in_pod(&server.url(), server.folder.path(), &options);
    let client = connector()
        .client(&selection, &options, Vec::new())
        .unwrap();
    assert_eq!(
        (client.context(), client.server()),
        (None, server.url().as_str())
    );
    client.get::<Value>("/version").await.unwrap();
    let request = &server.requests()[0];
    assert!(
        request.contains("authorization: Bearer from-pod\r\n"),
        "{request}"
    );
    assert!(request.contains("impersonate-user: jane\r\n"), "{request}");
}

#[tokio::test]
async fn looks_into_the_pod_only_without_a_kubeconfig() {
    let folder = tempfile::TempDir::new().unwrap();
    let empty = folder.path().join("empty");
    std::fs::write(&empty, "").unwrap();
    let pod = [
        ("KUBERNETES_SERVICE_HOST", "10.43.0.1"),
        ("KUBERNETES_SERVICE_PORT", "443"),
    ];
    let connect = |kubeconfig: &Kubeconfig| {
        let connector = connector_with(&Env::of(pod), std::sync::Arc::new(|_: &str| {}));
        connector
            .connect(kubeconfig, &ConnectionOptions::default())
            .unwrap_err()
    };
    let nothing = Kubeconfig::load(None, &Env::of(pod)).unwrap();
    let error = connect(&nothing);
    assert!(
        matches!(error, ClusterError::UnreadableMaterial { .. }),
        "{error}"
    );
    let expected = "unable to read certificate-authority /var/run/secrets/kubernetes.io/serviceaccount/ca.crt of the pod's cluster";
    assert_eq!(error.to_string(), expected);
    let connector = connector_with(&Env::of(pod), std::sync::Arc::new(|_: &str| {}));
    let asked = connector.connect_from_pod(&ConnectionOptions::default());
    assert_eq!(asked.unwrap().err().unwrap().to_string(), expected);
    let named = Kubeconfig::load(Some(&empty), &Env::of(pod)).unwrap();
    assert!(matches!(
        connect(&named),
        ClusterError::NoConfiguration { .. }
    ));
}

#[tokio::test]
async fn no_pod_is_no_cluster() {
    let options = ConnectionOptions::default();
    assert!(connector().connect_from_pod(&options).is_none());
}

#[tokio::test]
async fn names_the_user_whose_key_is_unusable() {
    let server = FakeServer::start([]).await;
    let certificate = |key: &KeyPair| {
        CertificateParams::new(vec!["x".to_owned()])
            .unwrap()
            .self_signed(key)
            .unwrap()
            .pem()
    };
    let (one, other) = (KeyPair::generate().unwrap(), KeyPair::generate().unwrap());
    server.write("crt", &certificate(&one));
    let pem = |label: &str| format!("-----BEGIN {label}-----\nAAAA\n-----END {label}-----\n");
    let table = [
        (
            "no key at all".to_owned(),
            "the key must be PKCS8 or RSA/PKCS1",
        ),
        (
            pem("PRIVATE KEY"),
            "failed to parse private key as RSA, ECDSA, or EdDSA",
        ),
        (
            pem("ENCRYPTED PRIVATE KEY"),
            "the key must be PKCS8 or RSA/PKCS1",
        ),
        (
            other.serialize_pem(),
            "keys may not be consistent: KeyMismatch",
        ),
    ];
    for (key, problem) in table {
        server.write("key", &key);
        let kubeconfig = server.kubeconfig("{client-certificate: crt, client-key: key}");
        let error = connector()
            .connect(&kubeconfig, &ConnectionOptions::default())
            .unwrap_err();
        let text = error.to_string();
        assert!(
            text.starts_with("client-key of user \"u\" cannot be used: "),
            "{text}"
        );
        assert!(text.contains(problem), "{text}");
    }
    server.write(
        "key",
        &format!("{}{}", pem("EC PARAMETERS"), one.serialize_pem()),
    );
    let kubeconfig = server.kubeconfig("{client-certificate: crt, client-key: key}");
    connector()
        .connect(&kubeconfig, &ConnectionOptions::default())
        .unwrap();
}

#[tokio::test]
async fn shows_no_userinfo_of_the_server() {
    let server = FakeServer::start([Reply::json("200 OK", "{}")]).await;
    let options = ConnectionOptions {
        server: Some(format!("https://jane:pw@127.0.0.1:{}/", server.port)),
        ..ConnectionOptions::default()
    };
    let client = server.client(options);
    assert_eq!(client.server(), server.url());
    assert!(!format!("{client:?}").contains("pw"));
    client.get::<Value>("/version").await.unwrap();
    assert!(server.requests()[0].contains(&format!("host: 127.0.0.1:{}\r\n", server.port)));
}

#[tokio::test]
async fn knows_how_kubectl_gets_to_the_same_server() {
    let server = FakeServer::start([]).await;
    let kubeconfig = server.kubeconfig("{token: t}");
    let flags = |options: ConnectionOptions| {
        connector()
            .connect(&kubeconfig, &options)
            .unwrap()
            .kubectl_flags()
            .to_vec()
    };
    assert_eq!(flags(ConnectionOptions::default()), ["--context", "fake"]);
    let options = ConnectionOptions {
        kubeconfig: Some("my config".into()),
        user: Some("u".to_owned()),
        server: Some("https://jane:pw@x".to_owned()),
        token: Some("s3cr3t".to_owned().into()),
        impersonation: Impersonation {
            user: Some("jane".to_owned()),
            groups: vec!["dev".to_owned()],
            ..Impersonation::default()
        },
        ..ConnectionOptions::default()
    };
    let expected = "--kubeconfig|my config|--context|fake|--user|u|--server|https://x|--as|jane|--as-group|dev";
    assert_eq!(flags(options).join("|"), expected);
}
