//! A TLS server for tests that answers with whatever bytes it is told, connection by connection.

#![allow(clippy::unwrap_used)]

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair, date_time_ymd};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use rustls::{RootCertStore, ServerConfig};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

use crate::cluster::client::{ClusterClient, DryRun, PatchKind};
use crate::cluster::connect::{ClientIdentity, Connector};
use crate::cluster::kubeconfig::Kubeconfig;
use crate::cluster::options::ConnectionOptions;
use crate::cluster::request_error::RequestError;
use crate::cluster::warnings::WarningSink;
use crate::env::Env;

/// What the server does with the next request.
#[derive(Clone)]
pub(crate) enum Reply {
    /// Sends these bytes and keeps the connection.
    Bytes(String),
    /// Sends these bytes and closes the connection.
    Cut(String),
    /// Never answers.
    Silence,
    /// Changes to a WebSocket (RFC 6455) that speaks `v5.channel.k8s.io` and sends these binary messages; then it is
    /// silent, or closes the connection.
    Messages { messages: Vec<Vec<u8>>, stays: bool },
}

impl Reply {
    pub(crate) fn json(status: &str, body: &str) -> Reply {
        Reply::with(status, "application/json", "", body)
    }

    pub(crate) fn with(status: &str, content_type: &str, headers: &str, body: &str) -> Reply {
        let length = body.len();
        Reply::Bytes(format!(
            "HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\n{headers}Content-Length: {length}\r\n\r\n{body}"
        ))
    }
}

/// A running server; it stops when dropped.
pub(crate) struct FakeServer {
    pub(crate) port: u16,
    pub(crate) authority_pem: String,
    pub(crate) folder: TempDir,
    requests: Arc<Mutex<Vec<String>>>,
    task: JoinHandle<()>,
}

/// How the server's certificate is.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Certificate {
    Good,
    ForAnotherName,
    Expired,
    NotYetValid,
}

impl FakeServer {
    /// Answers requests in order with `replies`; the last one is repeated.
    pub(crate) async fn start(replies: impl IntoIterator<Item = Reply>) -> FakeServer {
        FakeServer::with_certificate(Certificate::Good, replies).await
    }

    pub(crate) async fn with_certificate(
        certificate: Certificate,
        replies: impl IntoIterator<Item = Reply>,
    ) -> FakeServer {
        let (authority_pem, config) = tls(certificate, None);
        FakeServer::serving(authority_pem, Some(config), replies).await
    }

    /// Speaks HTTP in the clear.
    pub(crate) async fn without_tls(replies: impl IntoIterator<Item = Reply>) -> FakeServer {
        FakeServer::serving(tls(Certificate::Good, None).0, None, replies).await
    }

    /// Takes only clients with a certificate of its own authority.
    pub(crate) async fn wanting_client_certificates() -> FakeServer {
        let (authority_pem, _) = tls(Certificate::Good, None);
        let mut roots = RootCertStore::empty();
        roots
            .add(CertificateDer::from_pem_slice(authority_pem.as_bytes()).unwrap())
            .unwrap();
        let verifier = WebPkiClientVerifier::builder(Arc::new(roots))
            .build()
            .unwrap();
        let (authority_pem, config) = tls(Certificate::Good, Some(verifier));
        FakeServer::serving(authority_pem, Some(config), []).await
    }

    async fn serving(
        authority_pem: String,
        config: Option<ServerConfig>,
        replies: impl IntoIterator<Item = Reply>,
    ) -> FakeServer {
        let acceptor = config.map(|config| TlsAcceptor::from(Arc::new(config)));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let replies = Arc::new(Mutex::new(replies.into_iter().collect::<VecDeque<_>>()));
        let seen = Arc::clone(&requests);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(
                    acceptor.clone(),
                    stream,
                    Arc::clone(&replies),
                    Arc::clone(&seen),
                ));
            }
        });
        FakeServer {
            port,
            authority_pem,
            folder: TempDir::new().unwrap(),
            requests,
            task,
        }
    }

    /// The heads and bodies of all requests so far.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }

    pub(crate) fn url(&self) -> String {
        format!("https://127.0.0.1:{}", self.port)
    }

    /// A kubeconfig with this server in it; `user` are the lines of the user entry in YAML flow style.
    pub(crate) fn kubeconfig(&self, user: &str) -> Kubeconfig {
        let authority = self.write("ca.crt", &self.authority_pem);
        let text = format!(
            "{{kind: Config, current-context: fake, contexts: [{{name: fake, context: {{cluster: c, user: u}}}}], \
             clusters: [{{name: c, cluster: {{server: '{}', certificate-authority: '{}'}}}}], \
             users: [{{name: u, user: {user}}}]}}",
            self.url(),
            authority.display()
        );
        let file = self.write("kubeconfig", &text);
        Kubeconfig::load(Some(&file), &Env::default()).unwrap()
    }

    pub(crate) fn write(&self, name: &str, content: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        path
    }

    pub(crate) fn client(&self, options: ConnectionOptions) -> ClusterClient {
        connector()
            .connect(&self.kubeconfig("{token: t0ken}"), &options)
            .unwrap()
    }
}

impl Drop for FakeServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

pub(crate) fn connector() -> Connector {
    connector_with(&Env::default(), Arc::new(|_: &str| {}))
}

pub(crate) fn connector_with(env: &Env, warnings: WarningSink) -> Connector {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let identity = ClientIdentity {
        name: "kubectl-karmada-test".to_owned(),
        version: "1.2.3".to_owned(),
    };
    Connector::new(env, identity, false, warnings)
}

/// What a GET of the cluster ends with, and how often it was sent.
pub(crate) async fn get_error(replies: impl IntoIterator<Item = Reply>) -> (RequestError, usize) {
    let server = FakeServer::start(replies).await;
    let client = server.client(ConnectionOptions::default());
    let error = client.get::<Value>(CLUSTER).await.unwrap_err();
    (error, server.requests().len())
}

/// What a PATCH of the cluster ends with, and how often it was sent.
pub(crate) async fn patch_error(replies: impl IntoIterator<Item = Reply>) -> (RequestError, usize) {
    let server = FakeServer::start(replies).await;
    let client = server.client(ConnectionOptions::default());
    let error = client
        .patch(CLUSTER, PatchKind::Json, &json!([]), DryRun::Off)
        .await
        .unwrap_err();
    (error, server.requests().len())
}

type Replies = Arc<Mutex<VecDeque<Reply>>>;
type Requests = Arc<Mutex<Vec<String>>>;

async fn serve(
    acceptor: Option<TlsAcceptor>,
    stream: TcpStream,
    replies: Replies,
    seen: Requests,
) -> Option<()> {
    match acceptor {
        Some(acceptor) => answer(acceptor.accept(stream).await.ok()?, &replies, &seen).await,
        None => answer(stream, &replies, &seen).await,
    }
}

async fn answer(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    replies: &Replies,
    seen: &Requests,
) -> Option<()> {
    loop {
        let request = read_request(&mut stream).await?;
        let accept = accept_key(&request);
        seen.lock().unwrap().push(request);
        let reply = {
            let mut replies = replies.lock().unwrap();
            match replies.len() {
                0 => return None,
                1 => replies.front().cloned()?,
                _ => replies.pop_front()?,
            }
        };
        match reply {
            Reply::Bytes(bytes) => stream.write_all(bytes.as_bytes()).await.ok()?,
            Reply::Cut(bytes) => {
                stream.write_all(bytes.as_bytes()).await.ok()?;
                stream.shutdown().await.ok()?;
                return None;
            }
            Reply::Silence => std::future::pending().await,
            Reply::Messages { messages, stays } => {
                let head = format!(
                    "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
                     Sec-WebSocket-Protocol: v5.channel.k8s.io\r\nSec-WebSocket-Accept: {accept}\r\n\r\n"
                );
                stream.write_all(head.as_bytes()).await.ok()?;
                for message in messages {
                    stream.write_all(&frame(&message)).await.ok()?;
                }
                if stays {
                    std::future::pending::<()>().await;
                }
                stream.shutdown().await.ok()?;
                return None;
            }
        }
    }
}

fn accept_key(request: &str) -> String {
    let key = request
        .lines()
        .find_map(|line| line.strip_prefix("sec-websocket-key: "));
    derive_accept_key(key.unwrap_or_default().as_bytes())
}

/// A whole binary message in one frame without a mask (RFC 6455 5.2).
fn frame(message: &[u8]) -> Vec<u8> {
    let mut frame = vec![0x82];
    match u16::try_from(message.len()) {
        Ok(length) if length < 126 => frame.push(length as u8),
        Ok(length) => {
            frame.push(126);
            frame.extend(length.to_be_bytes());
        }
        Err(_) => {
            frame.push(127);
            frame.extend((message.len() as u64).to_be_bytes());
        }
    }
    frame.extend_from_slice(message);
    frame
}

/// Head and body of one request; `None` = the connection ended.
pub(crate) async fn read_request(stream: &mut (impl AsyncReadExt + Unpin)) -> Option<String> {
    let mut bytes = Vec::new();
    loop {
        let mut chunk = [0; 4096];
        let read = stream
            .read(&mut chunk)
            .await
            .ok()
            .filter(|read| *read > 0)?;
        bytes.extend_from_slice(&chunk[..read]);
        if bytes[0] == TLS_HANDSHAKE {
            return Some("a TLS handshake".to_owned());
        }
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| {
                line.to_lowercase()
                    .strip_prefix("content-length: ")?
                    .parse()
                    .ok()
            });
            if body.len() >= length.unwrap_or(0) {
                return Some(text);
            }
        }
    }
}

fn tls(
    certificate: Certificate,
    clients: Option<Arc<dyn ClientCertVerifier>>,
) -> (String, ServerConfig) {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let authority_key = KeyPair::generate().unwrap();
    let mut authority = CertificateParams::new(Vec::new()).unwrap();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority_pem = authority.self_signed(&authority_key).unwrap().pem();
    let name = match certificate {
        Certificate::ForAnotherName => "localhost",
        _ => "127.0.0.1",
    };
    let mut leaf = CertificateParams::new(vec![name.to_owned()]).unwrap();
    match certificate {
        Certificate::Expired => leaf.not_after = date_time_ymd(2020, 2, 3),
        Certificate::NotYetValid => leaf.not_before = date_time_ymd(2090, 2, 3),
        _ => {}
    }
    let leaf_key = KeyPair::generate().unwrap();
    let leaf = leaf
        .signed_by(&leaf_key, &Issuer::new(authority, authority_key))
        .unwrap();
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(leaf_key.serialize_der()));
    let config = match clients {
        Some(clients) => ServerConfig::builder().with_client_cert_verifier(clients),
        None => ServerConfig::builder().with_no_client_auth(),
    };
    (
        authority_pem,
        config
            .with_single_cert(vec![leaf.der().clone()], key)
            .unwrap(),
    )
}

/// The first byte of a TLS connection (RFC 8446 5.1).
const TLS_HANDSHAKE: u8 = 22;

pub(crate) const CLUSTER: &str = "/apis/cluster.karmada.io/v1alpha1/clusters/a";
