//! What the client says when the server's certificate is not to be trusted.

#![allow(clippy::unwrap_used)]

use serde_json::Value;

use crate::cluster::options::ConnectionOptions;
use crate::cluster::request_error::{RequestError, Sent};
use crate::cluster::tests::fake_server::{Certificate, FakeServer, Reply};
use crate::cluster::tls_fault::TlsFault;

const VERIFY: &str = "unable to connect to the server: tls: failed to verify certificate: x509:";

async fn ask(server: &FakeServer, options: ConnectionOptions) -> Result<Value, RequestError> {
    server.client(options).get::<Value>("/version").await
}

async fn serving(certificate: Certificate) -> FakeServer {
    FakeServer::with_certificate(certificate, [Reply::json("200 OK", "{}")]).await
}

#[tokio::test]
async fn tells_faults_of_the_server_certificate_apart() {
    let table = [
        (
            Certificate::ForAnotherName,
            "certificate is valid for localhost, not 127.0.0.1",
        ),
        (
            Certificate::Expired,
            "certificate has expired: valid until 2020-02-03T00:00:00Z",
        ),
        (
            Certificate::NotYetValid,
            "certificate is not yet valid: valid from 2090-02-03T00:00:00Z",
        ),
    ];
    for (certificate, expected) in table {
        let server = serving(certificate).await;
        let error = ask(&server, ConnectionOptions::default())
            .await
            .unwrap_err();
        assert_eq!(error.to_string(), format!("{VERIFY} {expected}"));
        assert_eq!(error.was_sent(), Sent::No);
    }
}

#[tokio::test]
async fn tells_an_unknown_authority() {
    let server = serving(Certificate::Good).await;
    let other = serving(Certificate::Good).await;
    let error = ask(
        &server,
        ConnectionOptions {
            certificate_authority: Some(other.write("other.crt", &other.authority_pem)),
            ..ConnectionOptions::default()
        },
    );
    let error = error.await.unwrap_err();
    assert_eq!(error.tls_fault(), Some(&TlsFault::UnknownAuthority));
    assert_eq!(
        error.to_string(),
        format!("{VERIFY} certificate signed by unknown authority")
    );
}

#[tokio::test]
async fn tells_a_server_without_tls() {
    let server =
        FakeServer::without_tls([Reply::Bytes("HTTP/1.1 400 Bad Request\r\n\r\n".to_owned())])
            .await;
    let error = ask(&server, ConnectionOptions::default())
        .await
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "unable to connect to the server: the server gave HTTP response to HTTPS client"
    );
}

#[tokio::test]
async fn checks_the_name_that_is_asked_for_and_nothing_when_told_so() {
    let server = serving(Certificate::ForAnotherName).await;
    let named = ConnectionOptions {
        tls_server_name: Some("localhost".to_owned()),
        ..ConnectionOptions::default()
    };
    ask(&server, named).await.unwrap();
    let insecure = ConnectionOptions {
        insecure_skip_tls_verify: true,
        ..ConnectionOptions::default()
    };
    ask(&server, insecure.clone()).await.unwrap();
    ask(&serving(Certificate::Expired).await, insecure)
        .await
        .unwrap();
}

#[tokio::test]
async fn speaks_plain_http_when_the_url_says_so() {
    let server = FakeServer::without_tls([Reply::json("200 OK", "{}")]).await;
    let plain = ConnectionOptions {
        server: Some(format!("http://127.0.0.1:{}", server.port)),
        ..ConnectionOptions::default()
    };
    ask(&server, plain).await.unwrap();
}

#[tokio::test]
async fn shows_that_the_server_rejects_the_client_certificate() {
    let server = FakeServer::wanting_client_certificates().await;
    let error = ask(&server, ConnectionOptions::default())
        .await
        .unwrap_err();
    let expected = "unable to connect to the server: tls: the server rejected the client certificate (CertificateRequired)";
    assert_eq!(error.to_string(), expected);
}
