//! Sockets at which a daemon listens when nobody says where. Opens and closes them.

use std::io;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;

use crate::docker::endpoint::{Endpoint, Located, LocatedBy};
use crate::docker::error::DockerError;
use crate::env::Env;

/// What a well-known socket belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KnownSocket {
    /// Docker Desktop.
    DockerDesktop,
    /// Colima.
    Colima,
    /// OrbStack.
    OrbStack,
    /// Rancher Desktop.
    RancherDesktop,
    /// Docker without root.
    Rootless,
    /// Lima.
    Lima,
    /// Podman.
    Podman,
}

impl std::fmt::Display for KnownSocket {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            KnownSocket::DockerDesktop => "Docker Desktop",
            KnownSocket::Colima => "Colima",
            KnownSocket::OrbStack => "OrbStack",
            KnownSocket::RancherDesktop => "Rancher Desktop",
            KnownSocket::Rootless => "rootless Docker",
            KnownSocket::Lima => "Lima",
            KnownSocket::Podman => "Podman",
        })
    }
}

/// The first of the default and the well-known sockets at which somebody listens; else the first that is closed to
/// this user, else the first at which nobody listens any more, so that the error can say what is wrong with it.
pub(crate) fn first_listening(root: &Path, env: &Env) -> Result<Located, DockerError> {
    let mut tried = Vec::new();
    let mut silent = Vec::new();
    for (path, by) in candidates(root, env) {
        match knock(&path) {
            Reply::Open => return Ok(located(path, by, tried)),
            Reply::Missing => tried.push(shortened(&path, env)),
            reply => silent.push((reply, path, by)),
        }
    }
    silent.sort_by_key(|(reply, _, _)| *reply == Reply::Silent);
    let mut silent = silent.into_iter();
    let Some((_, path, by)) = silent.next() else {
        return Err(DockerError::NotFound { tried });
    };
    let others = silent.map(|(_, path, _)| shortened(&path, env));
    Ok(located(path, by, others.chain(tried).collect()))
}

fn located(path: PathBuf, by: LocatedBy, tried: Vec<String>) -> Located {
    Located {
        endpoint: Endpoint::Unix(path),
        by,
        tried,
    }
}

/// A path with `~` for the home folder.
fn shortened(path: &Path, env: &Env) -> String {
    match env.home().and_then(|home| path.strip_prefix(home).ok()) {
        Some(rest) => format!("~/{}", rest.display()),
        None => path.display().to_string(),
    }
}

/// What a socket answers to somebody who knocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reply {
    /// Somebody listens.
    Open,
    /// This user may not use it.
    Closed,
    /// It is there, and nobody listens.
    Silent,
    /// It is not there, or in a folder that this user cannot look into.
    Missing,
}

fn knock(path: &Path) -> Reply {
    if std::fs::metadata(path).is_err() {
        return Reply::Missing;
    }
    let (sender, receiver) = mpsc::channel();
    let path = path.to_owned();
    // A socket whose queue is full blocks for as long as it likes.
    std::thread::spawn(move || sender.send(UnixStream::connect(path).map(drop)));
    match receiver.recv_timeout(PATIENCE) {
        // Somebody is there and slow: the deadline of the request has the last word.
        Ok(Ok(())) | Err(_) => Reply::Open,
        Ok(Err(error)) if error.kind() == io::ErrorKind::PermissionDenied => Reply::Closed,
        Ok(Err(_)) => Reply::Silent,
    }
}

/// The socket that the docker command falls back to.
pub(crate) fn default_socket(root: &Path) -> PathBuf {
    root.join("var/run/docker.sock")
}

fn candidates(root: &Path, env: &Env) -> Vec<(PathBuf, LocatedBy)> {
    let mut found = vec![(default_socket(root), LocatedBy::DefaultSocket)];
    let mut add = |path: PathBuf, socket: KnownSocket| {
        if !found.iter().any(|(known, _)| *known == path) {
            found.push((path, LocatedBy::KnownSocket(socket)));
        }
    };
    if let Some(home) = env.home() {
        add(
            home.join(".docker/run/docker.sock"),
            KnownSocket::DockerDesktop,
        );
        add(
            home.join(".docker/desktop/docker.sock"),
            KnownSocket::DockerDesktop,
        );
    }
    for folder in colima_folders(env) {
        for profile in colima_profiles(env) {
            add(
                folder.join(profile).join("docker.sock"),
                KnownSocket::Colima,
            );
        }
        add(folder.join("docker.sock"), KnownSocket::Colima);
    }
    if let Some(home) = env.home() {
        add(
            home.join(".orbstack/run/docker.sock"),
            KnownSocket::OrbStack,
        );
        add(home.join(".rd/docker.sock"), KnownSocket::RancherDesktop);
    }
    let runtime = env.var("XDG_RUNTIME_DIR").map(PathBuf::from);
    if let Some(runtime) = &runtime {
        add(runtime.join("docker.sock"), KnownSocket::Rootless);
    }
    if let Some(home) = env.home() {
        for instance in ["docker", "default"] {
            let folder = home.join(".lima").join(instance);
            add(folder.join("sock/docker.sock"), KnownSocket::Lima);
        }
        add(
            home.join(".local/share/containers/podman/machine/podman.sock"),
            KnownSocket::Podman,
        );
    }
    if let Some(runtime) = &runtime {
        add(runtime.join("podman/podman.sock"), KnownSocket::Podman);
    }
    add(root.join("run/podman/podman.sock"), KnownSocket::Podman);
    found
}

fn colima_folders(env: &Env) -> Vec<PathBuf> {
    if let Some(folder) = env.var("COLIMA_HOME") {
        return vec![PathBuf::from(folder)];
    }
    let config = match (env.var("XDG_CONFIG_HOME"), env.home()) {
        (Some(folder), _) => Some(PathBuf::from(folder)),
        (None, Some(home)) => Some(home.join(".config")),
        (None, None) => None,
    };
    let of_home = env.home().map(|home| home.join(".colima"));
    let of_config = config.map(|folder| folder.join("colima"));
    of_home.into_iter().chain(of_config).collect()
}

fn colima_profiles(env: &Env) -> Vec<&str> {
    let named = env.var("COLIMA_PROFILE");
    named.into_iter().chain(["default", "docker"]).collect()
}

const PATIENCE: Duration = Duration::from_secs(1);
