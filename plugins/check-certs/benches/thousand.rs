//! `cargo bench -p kubectl-karmada-check-certs`: how long 1,000 Secrets and 1,000 live servers take, how much memory and how
//! many requests, beside bare TLS handshakes with the same servers in the same run. Prints figures; judges none.
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a benchmark prints, and ends where something is not there"
)]

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures::StreamExt;
use karmada_lab::{Federation, Spec, User};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, SanType};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{WebPkiSupportedAlgorithms, ring};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, ServerConfig, SignatureScheme};
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::{TlsAcceptor, TlsConnector};

const PLUGIN: &str = env!("CARGO_BIN_EXE_kubectl-karmada_check_certs");
const COUNT: usize = 1000;
const CONCURRENCY: usize = 32;
const RUNS: usize = 5;
/// The first argument of this program when it does the handshakes alone; then the port follows.
const BARE: &str = "bare-handshakes";

fn main() {
    ring::default_provider().install_default().unwrap();
    let mut arguments = std::env::args().skip(1);
    if arguments.next().as_deref() == Some(BARE) {
        let port = arguments.next().unwrap().parse().unwrap();
        return runtime().block_on(bare_handshakes(port));
    }
    let federation = Federation::start(Spec::default()).unwrap();
    let port = serve(&federation);
    let kubeconfig = federation
        .host()
        .kubeconfig_for(User::new("bench", &["system:masters"]))
        .unwrap();
    let endpoints: Vec<String> = (0..COUNT)
        .flat_map(|index| {
            [
                "--endpoint".to_owned(),
                format!("{}:{port}", address(index)),
            ]
        })
        .collect();
    let plugin = |with: &[String]| {
        let mut command = Command::new(PLUGIN);
        command
            .env_clear()
            .env("HOME", federation.directory())
            .args(["--host-kubeconfig", kubeconfig.to_str().unwrap()])
            .args(["--concurrency", &CONCURRENCY.to_string()])
            .args(with);
        command
    };
    federation.forget_requests();
    let reported = plugin(&endpoints).args(["-o", "name"]).output().unwrap();
    let lines = String::from_utf8(reported.stdout).unwrap().lines().count();
    let lists = federation
        .requests()
        .into_iter()
        .filter(|request| !request.own && request.path.contains("/secrets"))
        .count();
    println!("exit {:?}, {lines} findings", reported.status.code());
    println!("requests for Secrets        {lists}");
    let all = median(|| run(&mut plugin(&endpoints)));
    println!("1,000 Secrets and servers   {}", shown(&all));
    let secrets = median(|| run(plugin(&[]).arg("--no-probe")));
    println!("1,000 Secrets alone         {}", shown(&secrets));
    let bare = median(|| {
        let mut command = Command::new(std::env::current_exe().unwrap());
        run(command.args([BARE, &port.to_string()]))
    });
    println!("1,000 bare handshakes       {}", shown(&bare));
    println!(
        "ratio                       {:.2}",
        all.time.as_secs_f64() / bare.time.as_secs_f64()
    );
}

/// Every server is an address of the loopback network.
fn address(index: usize) -> Ipv4Addr {
    let octet = |number: usize| u8::try_from(number + 1).unwrap();
    Ipv4Addr::new(127, 1, octet(index / 250), octet(index % 250))
}

/// Makes a certificate for each server, keeps each in a Secret, and serves them all at the port that is returned.
fn serve(federation: &Federation) -> u16 {
    let mut authority = CertificateParams::default();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate().unwrap()).unwrap();
    let mut servers = Vec::new();
    for index in 0..COUNT {
        let key = KeyPair::generate().unwrap();
        let mut leaf = CertificateParams::default();
        leaf.subject_alt_names = vec![SanType::IpAddress(IpAddr::V4(address(index)))];
        let leaf = leaf.signed_by(&key, &authority).unwrap();
        let secret = json!({
            "metadata": {"name": format!("server-{index:04}")},
            "data": {
                "ca.crt": STANDARD.encode(authority.pem()),
                "tls.crt": STANDARD.encode(leaf.pem()),
                "tls.key": STANDARD.encode(key.serialize_pem()),
            },
        });
        let path = "/api/v1/namespaces/karmada-system/secrets";
        federation.host().create(path, &secret).unwrap();
        let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
        let config = ServerConfig::builder()
            .with_no_client_auth()
            .with_single_cert(vec![leaf.der().clone()], key)
            .unwrap();
        servers.push(TlsAcceptor::from(Arc::new(config)));
    }
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        runtime().block_on(async move {
            let listener = TcpListener::bind("0.0.0.0:0").await.unwrap();
            sender.send(listener.local_addr().unwrap().port()).unwrap();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let SocketAddr::V4(asked) = stream.local_addr().unwrap() else {
                    continue;
                };
                let [_, _, high, low] = asked.ip().octets();
                let index = usize::from(high - 1) * 250 + usize::from(low - 1);
                let handshake = servers[index].accept(stream);
                // Whoever has seen the certificate may go.
                tokio::spawn(async move { handshake.await.is_ok() });
            }
        });
    });
    receiver.recv().unwrap()
}

async fn bare_handshakes(port: u16) {
    let config = ClientConfig::builder()
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Anything(
            ring::default_provider().signature_verification_algorithms,
        )))
        .with_no_client_auth();
    let connector = TlsConnector::from(Arc::new(config));
    let done = futures::stream::iter(0..COUNT)
        .map(|index| {
            let connector = connector.clone();
            async move {
                let address = address(index);
                let stream = TcpStream::connect((address, port)).await.unwrap();
                let name = ServerName::from(IpAddr::V4(address));
                connector.connect(name, stream).await.unwrap();
            }
        })
        .buffer_unordered(CONCURRENCY)
        .count()
        .await;
    assert_eq!(done, COUNT);
}

/// Takes any certificate, but checks the handshake's signature, as a client does.
#[derive(Debug)]
struct Anything(WebPkiSupportedAlgorithms);

impl ServerCertVerifier for Anything {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls12_signature(message, certificate, signed, &self.0)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls13_signature(message, certificate, signed, &self.0)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_schemes()
    }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
}

struct Figures {
    time: Duration,
    /// Most resident memory in kB, as far as it was seen while the process ran.
    peak: u64,
}

fn run(command: &mut Command) -> Figures {
    let started = Instant::now();
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    while child.try_wait().unwrap().is_none() {
        peak = peak.max(resident(Path::new(&status)));
        std::thread::sleep(Duration::from_millis(1));
    }
    Figures {
        time: started.elapsed(),
        peak,
    }
}

fn resident(status: &Path) -> u64 {
    let text = std::fs::read_to_string(status).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok())
        .unwrap_or_default()
}

fn median(mut measured: impl FnMut() -> Figures) -> Figures {
    let mut all: Vec<Figures> = (0..RUNS).map(|_| measured()).collect();
    all.sort_by_key(|figures| figures.time);
    let peak = all.iter().map(|figures| figures.peak).max();
    Figures {
        time: all[RUNS / 2].time,
        peak: peak.unwrap_or_default(),
    }
}

fn shown(figures: &Figures) -> String {
    let milliseconds = figures.time.as_secs_f64() * 1000.0;
    format!(
        "{milliseconds:.0} ms, {:.1} MB at most",
        figures.peak as f64 / 1000.0
    )
}
