//! What goes wrong between a plugin and a Docker daemon.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::docker::endpoint::{Endpoint, Located, LocatedBy};
use crate::docker::host::HostError;
use crate::docker::refusal::Refusal;
use crate::docker::start;
use crate::error::Explain;
use crate::exit::Exit;

/// Why a daemon could not be found, reached, or did not do what it was asked for.
#[derive(Debug, thiserror::Error)]
pub enum DockerError {
    /// Nothing says where a daemon is, and nobody listens at the sockets that are known.
    #[error("no Docker daemon found; tried {}", .tried.join(", "))]
    NotFound {
        /// The sockets that were looked at.
        tried: Vec<String>,
    },
    /// An address cannot be understood.
    #[error("cannot use the Docker address {address:?} ({by})")]
    InvalidHost {
        /// As it was given.
        address: String,
        /// What gave it.
        by: LocatedBy,
        /// What is wrong with it.
        source: HostError,
    },
    /// There is no context of that name.
    #[error("context {name:?}: context not found: open {}: no such file or directory ({by})", .path.display())]
    UnknownContext {
        /// The name that was asked for.
        name: String,
        /// What asked for it.
        by: LocatedBy,
        /// The file that would describe it.
        path: PathBuf,
        /// The names that there are, sorted, without `default`.
        known: Vec<String>,
    },
    /// A context describes something else than a Docker daemon.
    #[error("context {name:?} has no docker endpoint in {}", .path.display())]
    ContextWithoutEndpoint {
        /// The context.
        name: String,
        /// The file that describes it.
        path: PathBuf,
    },
    /// A file of the docker configuration, or one for TLS, cannot be read.
    #[error("cannot read {}", .path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A file of the docker configuration is not the JSON that it should be.
    #[error("{} is not a valid docker configuration (line {line}, column {column})", .path.display())]
    CorruptConfig {
        /// The file.
        path: PathBuf,
        /// Where reading it stopped, from 1.
        line: usize,
        /// Where reading it stopped, from 1.
        column: usize,
    },
    /// A file for TLS holds nothing that can be used.
    #[error("cannot use {} for TLS to Docker: {problem}", .path.display())]
    TlsFile {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// TLS with the daemon fails.
    #[error("cannot speak TLS with the Docker daemon at {} ({})", .at.endpoint, .at.by)]
    Tls {
        /// The daemon.
        at: Box<Located>,
        /// Which side refuses and why.
        source: rustls::Error,
    },
    /// The socket is there, and this user may not use it.
    #[error("cannot use the Docker socket {} ({})", .at.endpoint, .at.by)]
    Permission {
        /// The daemon.
        at: Box<Located>,
        /// What the system says.
        source: io::Error,
    },
    /// Nobody listens at the address.
    #[error("no Docker daemon listens at {} ({}){}", .at.endpoint, .at.by, nor_at(.at))]
    NotRunning {
        /// The daemon.
        at: Box<Located>,
        /// What the system says.
        source: io::Error,
    },
    /// The address leads nowhere: no such host, no route, a reset.
    #[error("cannot reach the Docker daemon at {} ({})", .at.endpoint, .at.by)]
    Unreachable {
        /// The daemon.
        at: Box<Located>,
        /// What the system says.
        source: io::Error,
    },
    /// `ssh` did not lead to a daemon.
    #[error("cannot reach the Docker daemon at {} ({}): {message}", .at.endpoint, .at.by)]
    Ssh {
        /// The daemon.
        at: Box<Located>,
        /// What ssh wrote last.
        message: String,
    },
    /// The daemon did not answer in time.
    #[error("cannot {action}: no answer from Docker at {} within {}", .at.endpoint, text(*.after))]
    Timeout {
        /// The daemon.
        at: Box<Located>,
        /// What was asked for.
        action: String,
        /// How long was waited.
        after: Duration,
    },
    /// The connection ended before the answer did.
    #[error("cannot {action}: the connection to Docker at {} broke", .at.endpoint)]
    Broken {
        /// The daemon.
        at: Box<Located>,
        /// What was asked for.
        action: String,
        /// What broke.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The answer is not what the Engine API describes.
    #[error("cannot {action}: Docker at {} answered with something else than the Engine API describes: {problem}", .at.endpoint)]
    Malformed {
        /// The daemon.
        at: Box<Located>,
        /// What was asked for.
        action: String,
        /// Where reading the answer stopped; never a part of it.
        problem: String,
    },
    /// The daemon refuses.
    #[error("cannot {action}: {message}")]
    Api {
        /// What was asked for.
        action: String,
        /// The HTTP status.
        status: u16,
        /// The daemon's words.
        message: String,
    },
}

impl DockerError {
    /// Why the daemon refused; `None` when it did not get to answer.
    pub fn refusal(&self) -> Option<Refusal> {
        match self {
            DockerError::Api {
                status, message, ..
            } => Some(Refusal::of(*status, message)),
            _ => None,
        }
    }

    /// Whether the daemon may have done what it was asked for, although no answer says so.
    pub fn may_have_acted(&self) -> bool {
        matches!(
            self,
            DockerError::Timeout { .. }
                | DockerError::Broken { .. }
                | DockerError::Malformed { .. }
        )
    }
}

impl Explain for DockerError {
    fn exit(&self) -> Exit {
        match self {
            DockerError::InvalidHost { by, .. } | DockerError::UnknownContext { by, .. } => {
                match by {
                    LocatedBy::HostFlag | LocatedBy::ContextFlag(_) => Exit::Usage,
                    _ => Exit::Unknown,
                }
            }
            _ => Exit::Unknown,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            DockerError::NotFound { .. } => Some(
                "start Docker, or name its socket with --docker-host unix:///PATH/docker.sock"
                    .to_owned(),
            ),
            DockerError::UnknownContext { known, .. } if !known.is_empty() => Some(format!(
                "choose one with --docker-context: {}",
                known.join(", ")
            )),
            DockerError::UnknownContext { .. } | DockerError::ContextWithoutEndpoint { .. } => {
                Some("docker context ls".to_owned())
            }
            DockerError::CorruptConfig { path, .. } => Some(format!(
                "repair {}, or name the daemon with --docker-host",
                path.display()
            )),
            DockerError::Permission { at, .. } => permission_hint(at),
            DockerError::NotRunning { at, .. } => start::command(at).or_else(|| elsewhere(at)),
            DockerError::Unreachable { at, .. } | DockerError::Tls { at, .. } => {
                Some(format!("docker --host {} version", at.endpoint))
            }
            DockerError::Ssh { at, .. } => ssh_hint(at),
            DockerError::Api { message, .. } if message.contains("HTTP request to an HTTPS") => {
                Some("export DOCKER_TLS_VERIFY=1".to_owned())
            }
            DockerError::Timeout { at, .. } => Some(format!("docker --host {} info", at.endpoint)),
            _ => None,
        }
    }
}

fn text(time: Duration) -> String {
    match time.subsec_millis() {
        0 => format!("{} s", time.as_secs()),
        _ => format!("{} ms", time.as_millis()),
    }
}

fn nor_at(at: &Located) -> String {
    if at.tried.is_empty() {
        String::new()
    } else {
        format!(", nor at {}", at.tried.join(", "))
    }
}

fn permission_hint(at: &Located) -> Option<String> {
    let Endpoint::Unix(path) = &at.endpoint else {
        return None;
    };
    let of_system = ["/var/run/docker.sock", "/run/docker.sock"].map(Path::new);
    if of_system.contains(&path.as_path()) {
        return Some("sudo usermod -aG docker \"$USER\" && newgrp docker".to_owned());
    }
    Some(format!("ls -l {}", path.display()))
}

/// How to come to another daemon than the one that was asked for.
fn elsewhere(at: &Located) -> Option<String> {
    match &at.by {
        LocatedBy::HostVariable => Some("unset DOCKER_HOST".to_owned()),
        LocatedBy::ContextFlag(_)
        | LocatedBy::ContextVariable(_)
        | LocatedBy::CurrentContext(_) => Some("docker context ls".to_owned()),
        _ => None,
    }
}

fn ssh_hint(at: &Located) -> Option<String> {
    let Endpoint::Ssh { user, host, port } = &at.endpoint else {
        return None;
    };
    let port = port.map(|port| format!("-p {port} ")).unwrap_or_default();
    let user = user
        .as_ref()
        .map(|user| format!("{user}@"))
        .unwrap_or_default();
    Some(format!("ssh {port}{user}{host} docker system info"))
}
