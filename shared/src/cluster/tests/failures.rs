//! What is said and done when a server cannot be reached, is slow, busy or breaks the connection.

#![allow(clippy::unwrap_used)]

use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};

use crate::cluster::client::{DryRun, PatchKind};
use crate::cluster::options::ConnectionOptions;
use crate::cluster::request_error::{RequestError, Sent};
use crate::cluster::tests::fake_server::{
    CLUSTER, FakeServer, Reply, connector_with, get_error, patch_error, read_request,
};
use crate::env::Env;
use crate::error::Explain;

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
    let hint = refused.hint().unwrap();
    assert!(hint.contains("kubectl config view --minify"), "{hint}");
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
