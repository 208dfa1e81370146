use std::process::Command as Process;
use std::sync::Mutex;

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use serde_json::json;
use tempfile::TempDir;
use tokio::net::{TcpListener, UnixListener};
use tokio_rustls::TlsAcceptor;

use super::*;
use crate::docker::client::Docker;
use crate::docker::endpoint::{ClientFiles, ServerCheck, TlsFiles};
use crate::docker::fake_daemon::{Answer, at, serve, shown};
use crate::error::Explain;

#[tokio::test]
async fn a_socket_where_nobody_listens_says_how_to_start_docker() {
    let folder = TempDir::new().unwrap();
    let socket = folder.path().join(".colima/work/docker.sock");
    std::fs::create_dir_all(socket.parent().unwrap()).unwrap();
    let docker = Docker::connect(&at(Endpoint::Unix(socket.clone()))).unwrap();
    let error = docker.networks().await.unwrap_err();
    assert_eq!(
        shown(&error),
        format!(
            "no Docker daemon listens at unix://{} (DOCKER_HOST): No such file or directory (os error 2)",
            socket.display()
        )
    );
    drop(UnixListener::bind(&socket).unwrap());
    let error = docker.networks().await.unwrap_err();
    assert!(matches!(error, DockerError::NotRunning { .. }), "{error:?}");
    assert_eq!(error.hint().unwrap(), "colima start work");
    assert!(!error.may_have_acted());
}

#[tokio::test]
async fn a_tcp_port_where_nobody_listens_is_told_apart_from_a_host_that_is_not_there() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let tcp = |host: &str| {
        let host = host.to_owned();
        Docker::connect(&at(Endpoint::Tcp {
            host,
            port,
            tls: None,
        }))
        .unwrap()
    };
    let error = tcp("127.0.0.1").networks().await.unwrap_err();
    assert!(matches!(error, DockerError::NotRunning { .. }), "{error:?}");
    assert_eq!(error.hint().unwrap(), "unset DOCKER_HOST");
    let error = tcp("docker.invalid").networks().await.unwrap_err();
    assert!(
        matches!(error, DockerError::Unreachable { .. }),
        "{error:?}"
    );
}

/// A daemon behind TLS, and the files with which a client talks to it.
struct TlsDaemon {
    folder: TempDir,
    port: u16,
    requests: Arc<Mutex<Vec<String>>>,
}

impl TlsDaemon {
    /// `wants_client`: only clients with a certificate of the daemon's authority are let in.
    async fn start(wants_client: bool) -> TlsDaemon {
        let folder = TempDir::new().unwrap();
        let authority = Authority::named("docker");
        let (certificate, key) = authority.issue("127.0.0.1");
        let (client, client_key) = authority.issue("client");
        let write = |name: &str, pem: &str| std::fs::write(folder.path().join(name), pem).unwrap();
        write("ca.pem", &authority.pem);
        write("cert.pem", &client);
        write("key.pem", &client_key);
        write("other-ca.pem", &Authority::named("another").pem);

        let mut roots = RootCertStore::empty();
        roots
            .add(CertificateDer::from_pem_slice(authority.pem.as_bytes()).unwrap())
            .unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ServerConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .unwrap();
        let builder = if wants_client {
            let verifier =
                WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build();
            builder.with_client_cert_verifier(verifier.unwrap())
        } else {
            builder.with_no_client_auth()
        };
        let chain = vec![CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap()];
        let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(builder.with_single_cert(chain, key).unwrap()));

        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let seen = requests.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (acceptor, seen) = (acceptor.clone(), seen.clone());
                tokio::spawn(async move {
                    if let Ok(stream) = acceptor.accept(stream).await {
                        serve(stream, Answer::json(&json!([])), seen).await;
                    }
                });
            }
        });
        TlsDaemon {
            folder,
            port,
            requests,
        }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn client(&self) -> Option<ClientFiles> {
        Some(ClientFiles {
            certificate: self.file("cert.pem"),
            key: self.file("key.pem"),
        })
    }

    async fn ask(&self, tls: TlsFiles) -> Result<(), DockerError> {
        let endpoint = Endpoint::Tcp {
            host: "127.0.0.1".to_owned(),
            port: self.port,
            tls: Some(tls),
        };
        Docker::connect(&at(endpoint))?.networks().await.map(drop)
    }
}

struct Authority {
    pem: String,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    fn named(name: &str) -> Authority {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let pem = params.self_signed(&key).unwrap().pem();
        Authority {
            pem,
            issuer: Issuer::new(params, key),
        }
    }

    fn issue(&self, name: &str) -> (String, String) {
        let params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        (certificate.pem(), key.serialize_pem())
    }
}

#[tokio::test]
async fn speaks_tls_with_an_authority_of_ones_own_and_a_client_certificate() {
    let daemon = TlsDaemon::start(true).await;
    let tls = TlsFiles {
        ca: Some(daemon.file("ca.pem")),
        client: daemon.client(),
        server: ServerCheck::Verify,
    };
    daemon.ask(tls).await.unwrap();
    let expected = format!("GET /networks 127.0.0.1:{}", daemon.port);
    assert_eq!(*daemon.requests.lock().unwrap(), [expected]);
}

#[tokio::test]
async fn trusts_no_other_authority_unless_told_to_skip_the_check() {
    let daemon = TlsDaemon::start(false).await;
    let tls = |ca: Option<&str>, server| TlsFiles {
        ca: ca.map(|name| daemon.file(name)),
        client: None,
        server,
    };
    for ca in [None, Some("other-ca.pem")] {
        let error = daemon.ask(tls(ca, ServerCheck::Verify)).await.unwrap_err();
        assert!(matches!(error, DockerError::Tls { .. }), "{error:?}");
        assert!(shown(&error).contains("UnknownIssuer"), "{}", shown(&error));
    }
    daemon.ask(tls(None, ServerCheck::Skip)).await.unwrap();
}

#[tokio::test]
async fn a_client_that_the_daemon_does_not_let_in_is_told_so() {
    let daemon = TlsDaemon::start(true).await;
    let tls = TlsFiles {
        ca: Some(daemon.file("ca.pem")),
        client: None,
        server: ServerCheck::Verify,
    };
    let error = daemon.ask(tls).await.unwrap_err();
    assert!(matches!(error, DockerError::Tls { .. }), "{error:?}");
    assert!(
        shown(&error).contains("CertificateRequired"),
        "{}",
        shown(&error)
    );
}

#[tokio::test]
async fn files_that_are_no_use_for_tls_are_named_and_not_quoted() {
    let daemon = TlsDaemon::start(false).await;
    std::fs::write(daemon.file("empty.pem"), "").unwrap();
    std::fs::write(
        daemon.file("broken.pem"),
        "-----BEGIN CERTIFICATE-----\ns3cret\n",
    )
    .unwrap();
    let with_ca = |name: &str| TlsFiles {
        ca: Some(daemon.file(name)),
        client: None,
        server: ServerCheck::Verify,
    };
    let with_key = |name: &str| TlsFiles {
        ca: None,
        client: Some(ClientFiles {
            certificate: daemon.file("cert.pem"),
            key: daemon.file(name),
        }),
        server: ServerCheck::Skip,
    };
    let cases = [
        (
            with_ca("gone.pem"),
            "cannot read /gone.pem: No such file or directory (os error 2)",
        ),
        (
            with_ca("empty.pem"),
            "cannot use /empty.pem for TLS to Docker: it holds no certificate in PEM",
        ),
        (
            with_ca("broken.pem"),
            "cannot use /broken.pem for TLS to Docker: it is not PEM",
        ),
        (
            with_key("cert.pem"),
            "cannot use /cert.pem for TLS to Docker: it holds no private key in PEM",
        ),
    ];
    for (tls, expected) in cases {
        let error = daemon.ask(tls).await.unwrap_err();
        let text = shown(&error).replace(daemon.folder.path().to_str().unwrap(), "");
        assert_eq!(text, expected);
    }
}

/// A daemon on another machine, reached by a program that stands for ssh.
#[expect(clippy::disallowed_methods, reason = "a test may start a program")]
fn through_ssh(script: &str) -> (TempDir, Docker) {
    let folder = TempDir::new().unwrap();
    let (source, program) = (folder.path().join("source"), folder.path().join("ssh"));
    std::fs::write(&source, format!("#!/bin/sh\n{script}\n")).unwrap();
    // Another process writes the program: a descriptor that is open for writing, inherited by a child of another
    // test, would keep it from being run.
    let installed = Process::new("install")
        .args(["-m", "755"])
        .arg(&source)
        .arg(&program)
        .status();
    assert!(installed.unwrap().success());
    let located = at(Endpoint::Ssh {
        user: Some("me".to_owned()),
        host: "far".to_owned(),
        port: Some(2222),
    });
    let wire = Wire::to(&located.endpoint).unwrap().with_ssh(&program);
    (folder, Docker::over(wire, &located))
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

#[tokio::test]
async fn speaks_through_ssh_as_the_docker_command_does() {
    let (folder, docker) = through_ssh(
        r#"echo "$@" > "$0.arguments"
while IFS= read -r line && [ "${#line}" -gt 1 ]; do :; done
printf 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]'"#,
    );
    assert_eq!(docker.networks().await.unwrap(), []);
    assert_eq!(
        read(&folder.path().join("ssh.arguments")).trim_end(),
        "-T -o BatchMode=yes -o ConnectTimeout=10 -l me -p 2222 -- far docker system dial-stdio"
    );
}

#[tokio::test]
async fn passes_on_what_ssh_says_last() {
    let (_folder, docker) = through_ssh(
        "echo 'Warning: added far' >&2; echo 'me@far: Permission denied (publickey).' >&2; exit 255",
    );
    let error = docker.networks().await.unwrap_err();
    assert_eq!(
        shown(&error),
        "cannot reach the Docker daemon at ssh://me@far:2222 (DOCKER_HOST): me@far: Permission denied (publickey)."
    );
    assert_eq!(
        error.hint().unwrap(),
        "ssh -p 2222 me@far docker system info"
    );
}

#[tokio::test]
async fn says_when_there_is_no_ssh() {
    let located = at(Endpoint::Ssh {
        user: None,
        host: "far".to_owned(),
        port: None,
    });
    let wire = Wire::to(&located.endpoint)
        .unwrap()
        .with_ssh(Path::new("/nowhere/ssh"));
    let error = Docker::over(wire, &located).networks().await.unwrap_err();
    assert_eq!(
        shown(&error),
        "cannot reach the Docker daemon at ssh://far (DOCKER_HOST): cannot run ssh: No such file or directory (os error 2)"
    );
}
