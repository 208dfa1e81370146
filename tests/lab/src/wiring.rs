//! What connects the parts: ports open and close, certificates grow and Karmada runs as the containers do.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use futures::future::BoxFuture;
use rustls::ServerConfig;
use rustls::client::danger::HandshakeSignatureValid;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{DigitallySignedStruct, DistinguishedName, Error, SignatureScheme};
use tokio::net::TcpStream;

use crate::api::server::ApiServer;
use crate::certificates::{Leaf, provider};
use crate::docker::daemon::{Container, Daemon, State};
use crate::docker::reach::Reach;
use crate::karmada::controller_manager::ControllerManager;
use crate::karmada::dial::{self, DialError, Dialer};
use crate::listener::{Port, Tls};
use crate::lock::lock;

/// Everything that follows the state of the Docker daemon.
pub(crate) struct Wiring {
    pub(crate) daemon: Arc<Mutex<Daemon>>,
    /// By name.
    pub(crate) servers: BTreeMap<String, Wired>,
    /// The container in which Karmada's components run.
    pub(crate) place: Mutex<String>,
    pub(crate) manager: Mutex<Option<Arc<ControllerManager>>>,
    /// Whether the Deployment of the controller-manager asks for a pod at all.
    pub(crate) scheduled: AtomicBool,
    /// The container that Karmada was last seen in, and how often that had been started.
    pub(crate) seen: Mutex<(String, u64)>,
}

/// An API server on its ports.
pub(crate) struct Wired {
    pub(crate) api: Arc<ApiServer>,
    /// Where it answers inside the virtual network.
    pub(crate) internal: Port,
    /// Where it answers on the docker host.
    pub(crate) published: Port,
    /// Whether the published port refuses although its containers run.
    pub(crate) refusing: AtomicBool,
    pub(crate) serving: Serving,
}

/// The serving certificate of an API server.
pub(crate) struct Serving {
    pub(crate) tls: Tls,
    /// What `tls` presents, in PEM.
    pub(crate) pem: Mutex<String>,
    pub(crate) names: Mutex<Vec<String>>,
    /// The home network and containers whose addresses the certificate follows, with the starts seen so far.
    pub(crate) nodes: Mutex<Vec<(String, u64)>>,
    pub(crate) home: String,
    pub(crate) frozen: Mutex<bool>,
}

impl Wiring {
    pub(crate) fn new(daemon: Daemon, servers: BTreeMap<String, Wired>, place: String) -> Self {
        Self {
            daemon: Arc::new(Mutex::new(daemon)),
            servers,
            place: Mutex::new(place),
            manager: Mutex::default(),
            scheduled: AtomicBool::new(true),
            seen: Mutex::default(),
        }
    }

    /// Closes all ports and undoes the references that go round in circles.
    pub(crate) fn dismantle(&self) {
        lock(&self.manager).take();
        for wired in self.servers.values() {
            wired.api.set_proxy(None);
            // Closing a port does not fail.
            let _ = wired.internal.set_listening(false);
            let _ = wired.published.set_listening(false);
        }
    }

    /// Makes everything agree with the state of the containers.
    pub(crate) fn settle(&self) -> io::Result<()> {
        for (name, wired) in &self.servers {
            self.follow_addresses(wired);
            let (runs, published) = lock(&self.daemon).listening(name);
            wired.internal.set_listening(runs)?;
            wired
                .published
                .set_listening(published && !wired.refusing.load(Ordering::SeqCst))?;
        }
        if let Some(manager) = lock(&self.manager).as_ref() {
            self.follow_container(manager);
        }
        Ok(())
    }

    /// The controller-manager runs while its container does, and starts anew with it.
    fn follow_container(&self, manager: &ControllerManager) {
        let place = lock(&self.place).clone();
        let (running, starts) = match lock(&self.daemon).container(&place) {
            Ok(container) => (container.state == State::Running, container.starts),
            Err(_) => (false, 0),
        };
        let mut seen = lock(&self.seen);
        let restarted = *seen != (place.clone(), starts) && !seen.0.is_empty();
        *seen = (place, starts);
        let running = running && self.scheduled.load(Ordering::SeqCst);
        if running && restarted {
            manager.restart();
        } else {
            manager.set_running(running);
        }
    }

    /// A server that starts adds its current home address to its certificate, and drops none.
    fn follow_addresses(&self, wired: &Wired) {
        let serving = &wired.serving;
        let mut added = Vec::new();
        {
            let daemon = lock(&self.daemon);
            for (node, seen) in lock(&serving.nodes).iter_mut() {
                let Ok(container) = daemon.container(node) else {
                    continue;
                };
                if container.starts != *seen {
                    *seen = container.starts;
                    added.extend(
                        container
                            .address_on(&serving.home)
                            .map(|address| address.to_string()),
                    );
                    added.extend(names_of_files(container));
                }
            }
        }
        let mut names = lock(&serving.names);
        added.retain(|address| !names.contains(address));
        if !added.is_empty() && !*lock(&serving.frozen) {
            names.extend(added);
            wired.present(&leaf(&wired.api, &names));
        }
    }
}

/// The names that k3s is told of in files: `tls-san` of `/etc/rancher/k3s/config.yaml` and of what is in `config.yaml.d`.
fn names_of_files(container: &Container) -> Vec<String> {
    let mut names = Vec::new();
    for (path, text) in &container.files {
        let is_config = path.starts_with("/etc/rancher/k3s/config.yaml");
        let mut lines = text.lines();
        while let Some(line) = lines.next().filter(|_| is_config) {
            if ["tls-san:", "tls-san+:"].contains(&line.trim()) {
                let items = lines
                    .by_ref()
                    .map_while(|line| line.trim().strip_prefix("- "));
                names.extend(items.map(str::to_owned));
            }
        }
    }
    names
}

impl Wired {
    /// Presents this certificate from now on.
    pub(crate) fn present(&self, leaf: &Leaf) {
        *lock(&self.serving.tls) = configuration(leaf);
        lock(&self.serving.pem).clone_from(&leaf.certificate_pem);
    }
}

/// A certificate of an API server that is valid for `names`.
pub(crate) fn leaf(api: &ApiServer, names: &[String]) -> Leaf {
    // Go prints addresses in the order of the certificate, which k3s sorts.
    let mut names = names.to_vec();
    names.sort();
    api.authority().serving("kube-apiserver", &names)
}

/// The TLS configuration that serves this leaf and takes any client certificate.
pub(crate) fn configuration(leaf: &Leaf) -> Arc<ServerConfig> {
    let config = ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS12, &rustls::version::TLS13])
        .expect("ring knows both versions")
        .with_client_cert_verifier(Arc::new(AnyClient))
        .with_single_cert(vec![leaf.certificate.clone()], leaf.key())
        .expect("the key belongs to the certificate");
    Arc::new(config)
}

/// The virtual network as seen from where Karmada's components run.
pub(crate) struct VirtualNetwork {
    pub(crate) wiring: Weak<Wiring>,
    pub(crate) timeout: Duration,
}

impl Dialer for VirtualNetwork {
    fn dial<'a>(&'a self, host: &'a str, port: u16) -> BoxFuture<'a, Result<TcpStream, DialError>> {
        Box::pin(async move {
            let address = dial::authority(host, port);
            let Some(wiring) = self.wiring.upgrade() else {
                return Err(DialError::Unreachable(address));
            };
            let place = lock(&wiring.place).clone();
            let reach = lock(&wiring.daemon).reach(&place, host, port);
            match reach {
                Reach::Server(name) => {
                    let wired = wiring.servers.get(&name);
                    let port = wired
                        .map(|wired| wired.internal.number())
                        .ok_or_else(|| DialError::Refused(address.clone()))?;
                    TcpStream::connect(("127.0.0.1", port))
                        .await
                        .map_err(|_| DialError::Refused(address))
                }
                Reach::Refused => Err(DialError::Refused(address)),
                Reach::NoRoute => Err(DialError::NoRoute(address)),
                Reach::Unreachable => Err(DialError::Unreachable(address)),
                Reach::NoSuchHost => Err(DialError::NoSuchHost(format!("{host} on 127.0.0.11:53"))),
                Reach::Timeout => {
                    tokio::time::sleep(self.timeout).await;
                    Err(DialError::Timeout(address))
                }
                Reach::Silent => {
                    tokio::time::sleep(self.timeout).await;
                    Err(DialError::Silent)
                }
            }
        })
    }
}

/// Takes every client certificate: the API server judges it, so that a foreign one is a 401 and not a broken handshake.
#[derive(Debug)]
struct AnyClient;

impl ClientCertVerifier for AnyClient {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn client_auth_mandatory(&self) -> bool {
        false
    }

    fn verify_client_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        rustls::crypto::verify_tls12_signature(
            message,
            certificate,
            signed,
            &provider().signature_verification_algorithms,
        )
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        rustls::crypto::verify_tls13_signature(
            message,
            certificate,
            signed,
            &provider().signature_verification_algorithms,
        )
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        provider()
            .signature_verification_algorithms
            .supported_schemes()
    }
}
