//! A kube-apiserver in a container, and the certificate that it serves.

use std::io;
use std::net::{IpAddr, UdpSocket};
use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};
use tokio::process::{Child, Command};

use super::folder::{FOREIGN, FROZEN, Folder, NAMES, SERVED, WANTED};
use crate::certificates::{Authority, Leaf};
use crate::docker::archive::PLACES;

/// One API server of a node.
pub(super) struct ApiProcess {
    name: String,
    port: u16,
    /// Whether it aggregates others and lets strangers in, as Karmada's does.
    is_control_plane: bool,
    folder: Folder,
    authority: Authority,
    process: Child,
    served: u64,
}

impl ApiProcess {
    /// Starts the server that `description` describes, with what `node` holds for it.
    pub(super) fn start(description: &Value, node: &Folder) -> io::Result<Self> {
        let name = description["name"].as_str().unwrap_or_default().to_owned();
        let folder = node.within(&name);
        let authority = authority(&folder, "ca")?;
        let port = description["port"].as_u64().unwrap_or_default();
        let port = u16::try_from(port).map_err(io::Error::other)?;
        let is_control_plane = description["role"] == "control-plane";
        if !folder.has(FROZEN)
            && let Some(address) = own_address()
        {
            add_name(&folder, &address.to_string())?;
        }
        let served = folder.number(WANTED);
        sign(&folder, &authority)?;
        if !is_control_plane {
            keep_in_place(&folder)?;
        }
        let process = spawn(&name, port, is_control_plane, &folder)?;
        folder.write(SERVED, &served.to_string())?;
        Ok(Self {
            name,
            port,
            is_control_plane,
            folder,
            authority,
            process,
            served,
        })
    }

    pub(super) fn is_control_plane(&self) -> bool {
        self.is_control_plane
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    pub(super) fn authority(&self) -> &Authority {
        &self.authority
    }

    pub(super) fn folder(&self) -> &Folder {
        &self.folder
    }

    /// The certificate of an administrator.
    pub(super) fn administrator(&self) -> Leaf {
        self.authority
            .client("system:admin", Some("system:masters"))
    }

    /// Restarts the server if it ended, or if another certificate is wanted.
    pub(super) async fn tend(&mut self) -> io::Result<()> {
        let wanted = self.folder.number(WANTED);
        if wanted != self.served {
            sign(&self.folder, &self.authority)?;
            if !self.is_control_plane {
                keep_in_place(&self.folder)?;
            }
            self.process.kill().await?;
        } else if self.process.try_wait()?.is_none() {
            return Ok(());
        }
        self.process = spawn(&self.name, self.port, self.is_control_plane, &self.folder)?;
        self.served = wanted;
        self.folder.write(SERVED, &wanted.to_string())
    }
}

/// The authority whose certificate and key are kept under this name.
pub(super) fn authority(folder: &Folder, name: &str) -> io::Result<Authority> {
    Authority::restore(
        folder.read(&format!("{name}.name"))?.trim(),
        &folder.read(&format!("{name}.crt"))?,
        &folder.read(&format!("{name}.key"))?,
    )
}

/// Where etcd and the API servers of a node run, with etcd's sockets.
pub(super) const RUN: &str = "/run/etcd";
/// The address of etcd: a socket in [`RUN`].
pub(super) const ETCD: &str = "unix://client:1";

/// The address of the default route's interface, which is what k3s takes for the node's.
pub(super) fn own_address() -> Option<IpAddr> {
    let socket = UdpSocket::bind("0.0.0.0:0").ok()?;
    // An address for documentation: nothing is sent.
    socket.connect("192.0.2.1:9").ok()?;
    Some(socket.local_addr().ok()?.ip())
}

fn add_name(folder: &Folder, name: &str) -> io::Result<()> {
    let mut names = folder.json(NAMES);
    if let Some(names) = names.as_array_mut()
        && !names.iter().any(|known| known == name)
    {
        names.push(json!(name));
    }
    folder.write(NAMES, &names.to_string())
}

fn sign(folder: &Folder, authority: &Authority) -> io::Result<()> {
    let names = folder.json(NAMES);
    let mut names: Vec<String> = names
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|name| name.as_str().map(str::to_owned))
        .collect();
    // Go prints addresses in the order of the certificate, which k3s sorts.
    names.sort();
    let leaf = if folder.has(FOREIGN) {
        Authority::new("another-ca").serving("kube-apiserver", &names)
    } else {
        authority.serving("kube-apiserver", &names)
    };
    folder.write("serving.crt", &leaf.certificate_pem)?;
    folder.write("serving.key", &leaf.key_pem)
}

/// Puts the certificate where the tools keep it, too.
fn keep_in_place(folder: &Folder) -> io::Result<()> {
    for (place, ..) in PLACES {
        if let Some(parent) = Path::new(place).parent() {
            std::fs::create_dir_all(parent)?;
        }
        std::fs::copy(folder.file("serving.crt"), place)?;
    }
    Ok(())
}

fn spawn(name: &str, port: u16, is_control_plane: bool, folder: &Folder) -> io::Result<Child> {
    let mut command = Command::new("/kube-apiserver");
    let file = |flag: &str, name: &str| format!("--{flag}={}", folder.file(name).display());
    command
        .arg(format!("--etcd-servers={ETCD}"))
        .arg(format!("--etcd-prefix=/{name}"))
        .arg(format!("--secure-port={port}"))
        .arg(format!("--anonymous-auth={is_control_plane}"))
        .args([
            file("client-ca-file", "ca.crt"),
            file("tls-cert-file", "serving.crt"),
            file("tls-private-key-file", "serving.key"),
            file("service-account-key-file", "sa.pub"),
            file("service-account-signing-key-file", "sa.key"),
        ])
        .args(FLAGS);
    if is_control_plane {
        command
            .args([
                file("requestheader-client-ca-file", "front-ca.crt"),
                file("proxy-client-cert-file", "front.crt"),
                file("proxy-client-key-file", "front.key"),
            ])
            .args(AGGREGATION);
    }
    command
        .current_dir(Path::new(RUN))
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .spawn()
}

const FLAGS: &[&str] = &[
    "--bind-address=0.0.0.0",
    "--authorization-mode=RBAC",
    "--service-account-issuer=https://kubernetes.default.svc",
    "--service-cluster-ip-range=10.43.0.0/16",
    "--disable-admission-plugins=ServiceAccount",
    // What makes the start cheaper and changes no answer.
    "--enable-priority-and-fairness=false",
    "--profiling=false",
];
const AGGREGATION: &[&str] = &[
    "--requestheader-allowed-names=front-proxy-client",
    "--requestheader-username-headers=X-Remote-User",
    "--requestheader-group-headers=X-Remote-Group",
    "--requestheader-extra-headers-prefix=X-Remote-Extra-",
];
