//! The program of every container: etcd and API servers, or ports that lead to them, and on one node Karmada's part.

use std::io;
use std::process::{ExitCode, Stdio};
use std::time::Duration;

use serde_json::Value;
use tokio::process::{Child, Command};
use tokio::signal::unix::{SignalKind, signal};

use super::api_process::{ApiProcess, ETCD, RUN, own_address};
use super::folder::{Folder, NODE};
use super::remote::{Place, Remote};
use super::{forward, karmada, tokens, workloads};
use crate::cluster_contents::{self, Node};

/// Runs until told to stop; then the container ends with everything in it.
pub(super) fn main() -> ExitCode {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let lived = runtime.and_then(|runtime| runtime.block_on(live()));
    match lived {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Nobody looks at this but `docker inspect`, where the log is no longer there.
            let _ = std::fs::write(format!("{FOLDER}/error"), error.to_string());
            ExitCode::FAILURE
        }
    }
}

/// Where the container has the folder that it shares with the lab.
pub(super) const FOLDER: &str = "/lab";

async fn live() -> io::Result<()> {
    let mut stop = signal(SignalKind::terminate())?;
    let folder = Folder::new(FOLDER);
    let description = folder.json(NODE);
    for port in description["forward"]["ports"]
        .as_array()
        .into_iter()
        .flatten()
    {
        let port = u16::try_from(port.as_u64().unwrap_or_default()).map_err(io::Error::other)?;
        let host = description["forward"]["to"].as_str().unwrap_or_default();
        tokio::spawn(forward::run(port, host.to_owned()));
    }
    let described = description["servers"].as_array();
    let mut servers = Vec::new();
    let mut etcd = None;
    if let Some(described) = described.filter(|servers| !servers.is_empty()) {
        etcd = Some(start_etcd()?);
        for server in described {
            servers.push(ApiProcess::start(server, &folder)?);
        }
    }
    let remotes: Vec<Remote> = servers
        .iter()
        .map(|server| Remote::new(Place::Here(server.port()), &server.administrator(), "k3s"))
        .collect();
    for (server, remote) in servers.iter().zip(&remotes) {
        if !server.is_control_plane() {
            let authority = server.authority().pem().to_owned();
            tokio::spawn(tokens::run(remote.clone(), authority));
            tokio::spawn(report(remote.clone(), description.clone()));
            let name = description["name"].as_str().unwrap_or_default().to_owned();
            tokio::spawn(workloads::run(remote.clone(), name));
        }
    }
    let control_plane = servers
        .iter()
        .zip(&remotes)
        .find(|(server, _)| server.is_control_plane());
    let host = servers
        .iter()
        .zip(&remotes)
        .find(|(server, _)| !server.is_control_plane());
    if let (Some((server, control_plane)), Some((_, host))) = (control_plane, host) {
        let part = karmada::Part::open(
            folder.clone(),
            server.folder().clone(),
            description["name"].as_str().unwrap_or_default().to_owned(),
            control_plane.named("controller-manager"),
            host.clone(),
        )?;
        tokio::spawn(part.run());
    }
    loop {
        tokio::select! {
            _ = stop.recv() => return Ok(()),
            () = tokio::time::sleep(TICK) => {}
        }
        for server in &mut servers {
            server.tend().await?;
        }
        if let Some(ended) = etcd.as_mut().map(Child::try_wait).transpose()?.flatten() {
            return Err(io::Error::other(format!("etcd ended: {ended}")));
        }
    }
}

/// Tells the API server about the node, once it can hear it.
async fn report(server: Remote, description: Value) {
    let address = own_address().map_or_else(String::new, |address| address.to_string());
    let text = |field: &str| description[field].as_str().unwrap_or_default();
    let node = Node {
        name: text("name"),
        address,
        version: text("version"),
        control_plane: true,
    };
    while cluster_contents::report_node(&server, &node).await.is_err() {
        tokio::time::sleep(TICK).await;
    }
}

fn start_etcd() -> io::Result<Child> {
    std::fs::create_dir_all(RUN)?;
    for socket in ["client:1", "peer:1"] {
        // Only an etcd that was killed leaves one behind.
        let _ = std::fs::remove_file(format!("{RUN}/{socket}"));
    }
    Command::new("/etcd")
        .args(["--data-dir", "/var/lib/etcd"])
        .arg("--unsafe-no-fsync")
        .args([
            "--logger",
            "zap",
            "--log-level",
            "warn",
            "--log-outputs",
            "stderr",
        ])
        .args([
            "--listen-client-urls",
            ETCD,
            "--advertise-client-urls",
            ETCD,
        ])
        .args([
            "--listen-peer-urls",
            PEER,
            "--initial-advertise-peer-urls",
            PEER,
        ])
        .arg("--initial-cluster")
        .arg(format!("default={PEER}"))
        .current_dir(RUN)
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .spawn()
}

const PEER: &str = "unix://peer:1";
const TICK: Duration = Duration::from_millis(100);
