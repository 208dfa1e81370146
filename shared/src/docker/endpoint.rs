//! Which daemon to talk to, found as the docker command finds it. Reads the docker configuration and looks at sockets.

use std::path::{Path, PathBuf};

use crate::cli::docker::DockerChoice;
use crate::docker::context::ContextStore;
use crate::docker::error::DockerError;
use crate::docker::host;
use crate::docker::sockets::{self, KnownSocket};
use crate::env::Env;

/// A daemon's address, and how it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Located {
    /// Where the daemon listens.
    pub endpoint: Endpoint,
    /// What led to it.
    pub by: LocatedBy,
    /// The other sockets that were looked at in vain; empty when the address was asked for.
    pub tried: Vec<String>,
}

/// Where a daemon listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Endpoint {
    /// A socket in the file system.
    Unix(PathBuf),
    /// A TCP port.
    Tcp {
        /// Name or address, without brackets.
        host: String,
        /// The port.
        port: u16,
        /// How TLS is spoken; `None` = plain HTTP.
        tls: Option<TlsFiles>,
    },
    /// A host whose `docker system dial-stdio` is run through `ssh`.
    Ssh {
        /// The user; `None` = as ssh decides.
        user: Option<String>,
        /// Name, address or alias in the ssh configuration.
        host: String,
        /// The port; `None` = as ssh decides.
        port: Option<u16>,
    },
}

impl std::fmt::Display for Endpoint {
    /// The address as DOCKER_HOST would hold it.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Endpoint::Unix(path) => write!(formatter, "unix://{}", path.display()),
            Endpoint::Tcp { host, port, .. } if host.contains(':') => {
                write!(formatter, "tcp://[{host}]:{port}")
            }
            Endpoint::Tcp { host, port, .. } => write!(formatter, "tcp://{host}:{port}"),
            Endpoint::Ssh { user, host, port } => {
                formatter.write_str("ssh://")?;
                if let Some(user) = user {
                    write!(formatter, "{user}@")?;
                }
                formatter.write_str(host)?;
                match port {
                    Some(port) => write!(formatter, ":{port}"),
                    None => Ok(()),
                }
            }
        }
    }
}

/// The files that TLS to a daemon is made of, and whether its certificate is checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsFiles {
    /// Certificates trusted beside the system's; `None` = only the system's.
    pub ca: Option<PathBuf>,
    /// The client's certificate and key; `None` = the client stays anonymous.
    pub client: Option<ClientFiles>,
    /// Whether the daemon's certificate is checked.
    pub server: ServerCheck,
}

/// A client's certificate and private key, both PEM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientFiles {
    /// The certificate chain.
    pub certificate: PathBuf,
    /// The private key.
    pub key: PathBuf,
}

/// What is done about the certificate that a daemon shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerCheck {
    /// It must be trusted and carry the host's name.
    Verify,
    /// Anything is accepted (`SkipTLSVerify` of the context, or DOCKER_TLS without DOCKER_TLS_VERIFY).
    Skip,
}

/// What led to a daemon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LocatedBy {
    /// `--docker-host`.
    HostFlag,
    /// The variable DOCKER_HOST.
    HostVariable,
    /// `--docker-context` with this name.
    ContextFlag(String),
    /// The variable DOCKER_CONTEXT with this name.
    ContextVariable(String),
    /// The current context of the docker configuration, of this name.
    CurrentContext(String),
    /// Nothing is set, and the default socket is there.
    DefaultSocket,
    /// Nothing is set, and this well-known socket is there.
    KnownSocket(KnownSocket),
}

impl std::fmt::Display for LocatedBy {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            LocatedBy::HostFlag => formatter.write_str("--docker-host"),
            LocatedBy::HostVariable => formatter.write_str("DOCKER_HOST"),
            LocatedBy::ContextFlag(name) => write!(formatter, "--docker-context {name}"),
            LocatedBy::ContextVariable(name) => write!(formatter, "DOCKER_CONTEXT={name}"),
            LocatedBy::CurrentContext(name) => write!(formatter, "current docker context {name}"),
            LocatedBy::DefaultSocket => formatter.write_str("default socket"),
            LocatedBy::KnownSocket(socket) => write!(formatter, "{socket}"),
        }
    }
}

/// Finds the daemon: the flags, else DOCKER_HOST, else DOCKER_CONTEXT, else the current context of
/// `$DOCKER_CONFIG/config.json` (default `~/.docker`), else the default socket. So far as the docker command does.
/// Where nothing of all that is set and nobody listens at the default socket, the sockets of Colima, Docker Desktop,
/// Rancher Desktop, OrbStack, Lima and Podman are looked at, in the order of [`KnownSocket`].
///
/// No request is sent; a well-known socket is opened and closed to see whether somebody listens.
///
/// # Errors
/// An address that cannot be understood, a context that does not exist, a docker configuration that cannot be read,
/// or no daemon anywhere.
pub fn locate(choice: &DockerChoice, env: &Env) -> Result<Located, DockerError> {
    locate_under(Path::new("/"), choice, env)
}

/// As [`locate`], with the sockets of the system under another root.
fn locate_under(root: &Path, choice: &DockerChoice, env: &Env) -> Result<Located, DockerError> {
    let store = ContextStore::of(env);
    match choice {
        DockerChoice::Host(address) => host::parse(address, env)
            .map(|endpoint| found(endpoint, LocatedBy::HostFlag))
            .map_err(|reason| invalid_host(address, LocatedBy::HostFlag, reason)),
        DockerChoice::Context(name) => in_context(
            root,
            &store,
            name,
            LocatedBy::ContextFlag(name.clone()),
            env,
        ),
        DockerChoice::Found => {
            if env.var("DOCKER_HOST").is_some() {
                return default_context(root, LocatedBy::HostVariable, env);
            }
            if let Some(name) = env.var("DOCKER_CONTEXT") {
                let by = LocatedBy::ContextVariable(name.to_owned());
                return in_context(root, &store, name, by, env);
            }
            match store.current()? {
                Some(name) if name != DEFAULT_CONTEXT => {
                    let by = LocatedBy::CurrentContext(name.clone());
                    in_context(root, &store, &name, by, env)
                }
                _ => sockets::first_listening(root, env),
            }
        }
    }
}

fn in_context(
    root: &Path,
    store: &ContextStore,
    name: &str,
    by: LocatedBy,
    env: &Env,
) -> Result<Located, DockerError> {
    if name == DEFAULT_CONTEXT {
        return default_context(root, by, env);
    }
    store
        .endpoint(name, &by)
        .map(|endpoint| found(endpoint, by))
}

/// The context `default` has no files: it is DOCKER_HOST, else the default socket.
fn default_context(root: &Path, by: LocatedBy, env: &Env) -> Result<Located, DockerError> {
    let Some(address) = env.var("DOCKER_HOST") else {
        return Ok(found(Endpoint::Unix(sockets::default_socket(root)), by));
    };
    host::parse(address, env)
        .map(|endpoint| found(endpoint, LocatedBy::HostVariable))
        .map_err(|reason| invalid_host(address, LocatedBy::HostVariable, reason))
}

fn found(endpoint: Endpoint, by: LocatedBy) -> Located {
    Located {
        endpoint,
        by,
        tried: Vec::new(),
    }
}

fn invalid_host(address: &str, by: LocatedBy, reason: host::HostError) -> DockerError {
    DockerError::InvalidHost {
        address: address.to_owned(),
        by,
        source: reason,
    }
}

const DEFAULT_CONTEXT: &str = "default";

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
