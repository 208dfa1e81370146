use std::net::SocketAddr;
use std::sync::Arc;

use rcgen::{CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use secrecy::SecretString;
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use super::*;
use crate::observed::{Server, Way};
use crate::place::Holder;

/// What a fake server does with a connection.
#[derive(Clone)]
enum Manner {
    /// Accepts and says nothing.
    Silent,
    /// Answers whatever comes with these bytes.
    Says(Vec<u8>),
    /// Speaks TLS.
    Tls(Arc<ServerConfig>),
    /// Is a proxy that speaks HTTP or SOCKS.
    Proxy(Language),
}

#[derive(Clone, Copy, PartialEq)]
enum Language {
    Http,
    Socks,
}

async fn serve(manner: Manner) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0")
        .await
        .expect("a port is free");
    let address = listener.local_addr().expect("it is bound");
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(answer(stream, manner.clone()));
        }
    });
    address
}

async fn answer(mut stream: TcpStream, manner: Manner) {
    match manner {
        Manner::Silent => std::future::pending::<()>().await,
        Manner::Says(bytes) => {
            let mut hello = [0; 512];
            let _ = stream.read(&mut hello).await;
            let _ = stream.write_all(&bytes).await;
        }
        Manner::Tls(config) => {
            if let Ok(mut stream) = TlsAcceptor::from(config).accept(stream).await {
                let _ = stream.read(&mut [0; 16]).await;
            }
        }
        Manner::Proxy(Language::Http) => {
            let mut request = Vec::new();
            while !request.ends_with(b"\r\n\r\n") {
                request.push(stream.read_u8().await.expect("a request comes"));
            }
            let request = String::from_utf8(request).expect("a request is text");
            if !request.contains("Proxy-Authorization: Basic bWU6aHVudGVyMg==") {
                let _ = stream.write_all(b"HTTP/1.1 407 No\r\n\r\n").await;
                return;
            }
            let to = request
                .split(' ')
                .nth(1)
                .expect("CONNECT names a server")
                .to_owned();
            let mut other = TcpStream::connect(to).await.expect("the server is there");
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await;
            let _ = copy_bidirectional(&mut stream, &mut other).await;
        }
        Manner::Proxy(Language::Socks) => {
            let mut hello = [0; 3];
            stream.read_exact(&mut hello).await.expect("a hello comes");
            stream.write_all(&[5, 0]).await.expect("it can be answered");
            let mut request = [0; 10];
            stream
                .read_exact(&mut request)
                .await
                .expect("a request comes");
            let port = u16::from_be_bytes([request[8], request[9]]);
            let mut other = TcpStream::connect(("127.0.0.1", port))
                .await
                .expect("the server is there");
            let _ = stream.write_all(&[5, 0, 0, 1, 0, 0, 0, 0, 0, 0]).await;
            let _ = copy_bidirectional(&mut stream, &mut other).await;
        }
    }
}

/// A server with this many certificates, of which it shows the same one again and again.
fn tls(count: usize, wants_client: bool) -> Manner {
    let mut params = CertificateParams::new(Vec::new()).expect("no name is a valid list");
    params.is_ca = IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let key = KeyPair::generate().expect("the provider makes keys");
    let ca = CertifiedIssuer::self_signed(params, key).expect("an authority signs itself");
    let key = KeyPair::generate().expect("the provider makes keys");
    let leaf = CertificateParams::new(vec!["localhost".to_owned()])
        .expect("the name is valid")
        .signed_by(&key, &ca)
        .expect("an authority signs");
    let chain: Vec<CertificateDer<'static>> =
        std::iter::repeat_n(leaf.der().clone(), count).collect();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .expect("the versions are known");
    let config = match wants_client {
        true => {
            let mut roots = rustls::RootCertStore::empty();
            roots.add(ca.der().clone()).expect("it is an authority");
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
            config.with_client_cert_verifier(verifier.build().expect("it has a root"))
        }
        false => config.with_no_client_auth(),
    };
    let key = PrivateKeyDer::try_from(key.serialize_der()).expect("the key is PKCS #8");
    Manner::Tls(Arc::new(
        config
            .with_single_cert(chain, key)
            .expect("the key is the leaf's"),
    ))
}

fn target(address: SocketAddr, way: Way) -> Target {
    Target {
        holder: Holder::Endpoint(address.to_string()),
        way,
        host: "localhost".to_owned(),
        dialled: address.ip().to_string(),
        port: address.port(),
        trusted_by: Vec::new(),
        verified: true,
        named: true,
        server: Server::Given,
    }
}

fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime can be built")
        .block_on(future)
}

fn shown(manner: Manner) -> Shown {
    run(async {
        let target = target(serve(manner).await, Way::Direct);
        let asking = Asking {
            concurrency: 1,
            allowed: Duration::from_millis(1500),
        };
        ask(&[target], asking, None).await.remove(0)
    })
}

#[test]
fn a_server_shows_its_chain() {
    assert_eq!(shown(tls(2, false)).map(|chain| chain.len()), Ok(2));
}

#[test]
fn a_server_that_wants_a_client_certificate_shows_its_chain_all_the_same() {
    assert_eq!(shown(tls(1, true)).map(|chain| chain.len()), Ok(1));
}

#[test]
fn a_hundred_certificates_are_read() {
    assert_eq!(shown(tls(100, false)).map(|chain| chain.len()), Ok(100));
}

#[test]
fn a_silent_server_costs_no_more_than_the_time_allowed() {
    let error = shown(Manner::Silent).expect_err("nothing is shown");
    assert_eq!(error, "no certificate within 1 s");
}

#[test]
fn servers_that_speak_no_tls_are_told() {
    let http = b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec();
    for bytes in [
        http,
        vec![0x55; 1024 * 1024],
        vec![0x16; 1024 * 1024],
        Vec::new(),
    ] {
        let error = shown(Manner::Says(bytes)).expect_err("nothing is shown");
        assert!(error.starts_with("no TLS handshake: "), "{error}");
    }
}

#[test]
fn a_port_on_which_nobody_listens_is_told() {
    let error = run(async {
        let listener = TcpListener::bind("127.0.0.1:0")
            .await
            .expect("a port is free");
        let address = listener.local_addr().expect("it is bound");
        drop(listener);
        let asking = Asking {
            concurrency: 1,
            allowed: Duration::from_secs(5),
        };
        ask(&[target(address, Way::Direct)], asking, None)
            .await
            .remove(0)
    });
    assert!(
        error
            .expect_err("nothing is shown")
            .starts_with("cannot connect to 127.0.0.1:")
    );
}

#[test]
fn proxies_are_gone_through() {
    let cases = [
        (Language::Http, "http://me:hunter2@", Ok(1)),
        (Language::Http, "http://", Err(())),
        (Language::Socks, "socks5://", Ok(1)),
    ];
    for (language, scheme, expected) in cases {
        let shown = run(async {
            let server = serve(tls(1, false)).await;
            let proxy = serve(Manner::Proxy(language)).await;
            let way = Way::Proxy(SecretString::from(format!("{scheme}{proxy}")));
            let asking = Asking {
                concurrency: 1,
                allowed: Duration::from_secs(5),
            };
            ask(&[target(server, way)], asking, None).await.remove(0)
        });
        if let Err(error) = &shown {
            assert!(error.contains("it refuses with 407"), "{error}");
            assert!(!error.contains("hunter2"), "{error}");
        }
        assert_eq!(
            shown.map(|chain| chain.len()).map_err(|_| ()),
            expected,
            "{scheme}"
        );
    }
}

#[test]
fn many_servers_are_asked_at_once_and_answer_in_order() {
    let (shown, took) = run(async {
        let silent = serve(Manner::Silent).await;
        let speaking = serve(tls(1, false)).await;
        let mut targets = vec![target(silent, Way::Direct); 20];
        targets.push(target(speaking, Way::Direct));
        let asking = Asking {
            concurrency: 32,
            allowed: Duration::from_secs(1),
        };
        let started = tokio::time::Instant::now();
        (ask(&targets, asking, None).await, started.elapsed())
    });
    assert!(shown[..20].iter().all(Result::is_err));
    assert!(shown[20].is_ok());
    assert!(took < Duration::from_secs(10), "{took:?}");
}
