//! Everything that the plugin reads. Reads only.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use futures::future::join_all;
use karmada_repair::access::Access;
use karmada_repair::cluster::control_plane::ControlPlaneError;
use karmada_repair::docker::client::{Docker, Product};
use karmada_repair::docker::endpoint::Endpoint;
use karmada_repair::docker::membership::{Owner, Role, Tool, nodes_of};
use karmada_repair::docker::model::{Container, Network};
use karmada_repair::error::{Explain, Failure, chain};
use karmada_repair::exit::Exit;
use karmada_repair::karmada::Cluster;
use karmada_repair::part::Part;
use karmada_repair::tls;
use karmada_repair::tls::{HandshakeError, ServingCertificate};

use crate::certificate::SAN_FILE;
use crate::config::Config;
use crate::examine::examine;
use crate::mesh_file::{MeshFile, MeshFileError};
use crate::observed::{Daemon, Member, Observed};
use crate::scope;

/// Reads the daemon, its containers from inside, the certificates of their servers, and the control plane if there is one.
///
/// # Errors
/// When the daemon cannot be read at all, the file is no mesh file, or a word names nothing.
pub(crate) async fn observe(access: &Access, config: &Config) -> Result<Observed, Failure> {
    let file_text = file_text(config)?;
    let file = file(config, file_text.as_deref())?;
    let config = &match file.seen() {
        Some(file) => config.with_file(file)?,
        None => config.clone(),
    };
    let docker = access.docker(&config.docker)?;
    let (daemon, members) = futures::join!(daemon(docker, config), members(access));
    let mut observed = Observed {
        docker: daemon?,
        members,
        control_plane: access
            .control_plane_if_any()
            .map(|control_plane| control_plane.server().to_owned()),
        file,
        file_text,
        commands: access.commands(&config.docker),
    };
    let nodes = scope::nodes(&observed, config)?;
    let selected: Vec<(Container, Owner)> = nodes
        .iter()
        .filter(|node| node.selected)
        .map(|node| (node.container.clone(), node.owner.clone()))
        .collect();
    let routes = selected
        .iter()
        .filter(|(container, _)| container.is_running())
        .map(|(container, _)| async {
            let routes = match docker.routes(&container.id).await {
                Ok(routes) => Part::Seen(routes),
                Err(why) => Part::Unreadable(why),
            };
            (container.name.clone(), routes)
        });
    let servers = || {
        selected
            .iter()
            .filter(|(container, owner)| owner.role == Role::Server && container.is_running())
    };
    let all = &observed.docker.containers;
    let certificates = servers().map(|(container, owner)| async {
        let names = certificate(docker, all, container, owner).await;
        (container.name.clone(), names)
    });
    let san_files = servers()
        .filter(|(_, owner)| owner.tool == Tool::K3d && config.adds_san())
        .map(|(container, _)| async {
            let file = match docker.read_file(&container.id, SAN_FILE).await {
                Ok(Some(text)) => Part::Seen(text),
                Ok(None) => Part::Absent,
                Err(error) => Part::Unreadable(error.to_string()),
            };
            (container.name.clone(), file)
        });
    let (routes, certificates, san_files) = futures::join!(
        join_all(routes),
        join_all(certificates),
        join_all(san_files)
    );
    observed.docker.routes = routes.into_iter().collect();
    observed.docker.certificates = certificates.into_iter().collect();
    observed.docker.san_files = san_files.into_iter().collect();
    // What cannot be followed is said before anything is found.
    examine(&observed, config)?;
    Ok(observed)
}

/// The mesh file cannot be used.
#[derive(Debug, thiserror::Error)]
enum FileError {
    #[error("cannot read the mesh file {0}")]
    Unreadable(String, #[source] std::io::Error),
    #[error("cannot use the mesh file {0}")]
    Unusable(String, #[source] MeshFileError),
}

impl Explain for FileError {
    fn exit(&self) -> Exit {
        Exit::Usage
    }
}

fn file_text(config: &Config) -> Result<Option<String>, FileError> {
    let Some(path) = &config.file else {
        return Ok(None);
    };
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(FileError::Unreadable(shown(path), error)),
    }
}

fn file(config: &Config, text: Option<&str>) -> Result<Part<MeshFile>, FileError> {
    let (Some(path), Some(text)) = (&config.file, text) else {
        return Ok(Part::Absent);
    };
    MeshFile::parse(text)
        .map(Part::Seen)
        .map_err(|error| FileError::Unusable(shown(path), error))
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

async fn daemon(docker: &Docker, config: &Config) -> Result<Daemon, Failure> {
    let (version, machine, containers, networks) = futures::join!(
        docker.version(),
        docker.machine(),
        docker.containers(),
        docker.networks()
    );
    let (version, machine, containers, networks) = (version?, machine?, containers?, networks?);
    let elsewhere = match &docker.located().endpoint {
        Endpoint::Unix(_) => None,
        Endpoint::Tcp { host, .. } | Endpoint::Ssh { host, .. } => {
            Some(match machine.name.as_str() {
                "" => host.clone(),
                name => name.to_owned(),
            })
        }
    };
    let mesh: Vec<&Network> = networks
        .iter()
        .filter(|network| network.name == config.network)
        .collect();
    let matters = |container: &Container| {
        let is_node = matches!(Owner::of(container).role, Role::Server | Role::Agent);
        let is_named = config
            .words
            .iter()
            .any(|word| word.name == container.name || container.id.starts_with(&word.name));
        is_node
            || is_named
            || mesh
                .iter()
                .any(|network| container.attachment_to(network).is_some())
    };
    // Only an inspection has aliases and interface names.
    let inspected = containers.into_iter().map(|container| async {
        if !matters(&container) {
            return Ok(container);
        }
        docker.inspect(&container.id).await
    });
    let drafts = mesh.iter().map(|network| async {
        let draft = docker.network_draft(&network.id).await;
        draft.map(|draft| (network.id.clone(), draft))
    });
    let (inspected, drafts) = futures::join!(join_all(inspected), join_all(drafts));
    let containers: Result<Vec<Container>, _> = inspected.into_iter().collect();
    let drafts: Result<BTreeMap<_, _>, _> = drafts.into_iter().collect();
    let (containers, drafts) = (containers?, drafts?);
    Ok(Daemon {
        at: docker.located().endpoint.to_string(),
        elsewhere,
        is_podman: version.product == Product::Podman,
        orders_interfaces: version.orders_interfaces(),
        version: version.server,
        machine,
        containers,
        networks,
        drafts,
        routes: BTreeMap::new(),
        certificates: BTreeMap::new(),
        san_files: BTreeMap::new(),
    })
}

async fn members(access: &Access) -> Part<Vec<Member>> {
    if access.control_plane_if_any().is_none() {
        return Part::Absent;
    }
    // Somebody who only has local clusters has a kubeconfig too.
    match access.clusters::<Cluster>().await {
        Err(ControlPlaneError::NotKarmada { .. }) => Part::Absent,
        Ok(clusters) => Part::Seen(
            clusters
                .into_iter()
                .map(|cluster| Member {
                    name: cluster.metadata.name,
                    endpoint: cluster.spec.api_endpoint,
                })
                .collect(),
        ),
        Err(error) => Part::Unreadable(chain(&error)),
    }
}

/// The names in a server's certificate, asked for where it is published, or at its own address.
async fn certificate(
    docker: &Docker,
    all: &[Container],
    container: &Container,
    owner: &Owner,
) -> Part<Vec<String>> {
    let Some(port) = owner.api_port else {
        return Part::Absent;
    };
    // Who cannot be reached from here may still be silent; who is silent is not looked for.
    if let Ok(listening) = docker.listening_ports(&container.id).await
        && !listening.contains(&port)
    {
        return Part::Absent;
    }
    let host = match &docker.located().endpoint {
        Endpoint::Unix(_) => "127.0.0.1".to_owned(),
        Endpoint::Tcp { host, .. } | Endpoint::Ssh { host, .. } => host.clone(),
    };
    let published = published(all, container, owner, port).map(|port| (host, port));
    let own = owner
        .home_network
        .as_ref()
        .and_then(|home| container.attachments.get(home))
        .and_then(|place| place.address)
        .map(|address| (address.to_string(), port));
    let cluster = owner.cluster.as_deref().unwrap_or_default();
    let servers = nodes_of(all, owner.tool, cluster)
        .into_iter()
        .filter(|node| Owner::of(node).role == Role::Server);
    // The published port leads to any server of several.
    let places = match servers.count() {
        1 => [published, own],
        _ => [own, published],
    };
    let (mut last, mut stranger) = (None, None);
    for (host, port) in places.into_iter().flatten() {
        match tls::serving_certificate(&host, port, ANSWER_WITHIN).await {
            // Where container addresses lead elsewhere, as on macOS, somebody else may answer there.
            Ok(ServingCertificate { names, .. }) if is_of_an_api_server(&names, container) => {
                return Part::Seen(names);
            }
            Ok(_) => stranger = Some(format!("{host}:{port}")),
            Err(error) => last = Some((host, port, error)),
        }
    }
    match last {
        None => match stranger {
            Some(at) => Part::Unreadable(format!("what answers at {at} is not its API server")),
            None => Part::Absent,
        },
        Some((_, _, HandshakeError::Connect(error)))
            if error.kind() == std::io::ErrorKind::ConnectionRefused =>
        {
            Part::Absent
        }
        Some((host, port, error)) => Part::Unreadable(format!("{host}:{port}: {}", chain(&error))),
    }
}

fn is_of_an_api_server(names: &[String], container: &Container) -> bool {
    names
        .iter()
        .any(|name| name.starts_with("kubernetes") || *name == container.name)
}

/// The host's port that leads to a server: its own, or that of its cluster's load balancer.
fn published(all: &[Container], container: &Container, owner: &Owner, port: u16) -> Option<u16> {
    let of = |container: &Container| {
        let mut ports = container.ports.iter();
        ports
            .find(|published| published.container_port == port)
            .map(|published| published.host_port)
    };
    of(container).or_else(|| {
        all.iter()
            .filter(|other| {
                let other = Owner::of(other);
                other.role == Role::LoadBalancer
                    && other.tool == owner.tool
                    && other.cluster == owner.cluster
            })
            .find_map(of)
    })
}

/// A server of this machine answers at once, or not at all.
const ANSWER_WITHIN: Duration = Duration::from_secs(3);
