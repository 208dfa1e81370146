//! From what the client stumbles over to what went wrong. Pure.

use std::error::Error as StdError;
use std::io;

use bollard::errors::Error;

use crate::docker::endpoint::{Endpoint, Located};
use crate::docker::error::DockerError;
use crate::docker::wire::SshFailure;

/// What an error of a request means.
pub(crate) fn of(at: &Located, action: &str, error: Error) -> DockerError {
    let at = Box::new(at.clone());
    let action = action.to_owned();
    match error {
        Error::DockerResponseServerError {
            status_code,
            message,
        } => DockerError::Api {
            action,
            status: status_code,
            message: one_line(status_code, &message),
        },
        Error::JsonDataError { message, column } => DockerError::Malformed {
            at,
            action,
            problem: shape_problem(&message, column),
        },
        Error::JsonSerdeError { .. } => DockerError::Malformed {
            at,
            action,
            problem: "the answer ends early".to_owned(),
        },
        Error::IOError { err } => unreachable(at, err),
        // A certificate that the daemon does not accept shows after the handshake, when the answer is read.
        Error::HyperResponseError { err } => match cause_of::<rustls::Error>(&err) {
            Some(refused) => DockerError::Tls {
                at,
                source: refused.clone(),
            },
            None => DockerError::Broken {
                at,
                action,
                source: Box::new(err),
            },
        },
        other => DockerError::Broken {
            at,
            action,
            source: Box::new(other),
        },
    }
}

/// What stands between a plugin and a daemon, from the error that opening the connection ended with.
fn unreachable(at: Box<Located>, error: io::Error) -> DockerError {
    if let Some(SshFailure(message)) = cause_of(&error) {
        let message = message.clone();
        return DockerError::Ssh { at, message };
    }
    if let Some(refused) = cause_of::<rustls::Error>(&error) {
        let source = refused.clone();
        return DockerError::Tls { at, source };
    }
    match (&at.endpoint, error.kind()) {
        (Endpoint::Unix(_), io::ErrorKind::PermissionDenied) => {
            DockerError::Permission { at, source: error }
        }
        (_, io::ErrorKind::ConnectionRefused) | (Endpoint::Unix(_), io::ErrorKind::NotFound) => {
            DockerError::NotRunning { at, source: error }
        }
        _ => DockerError::Unreachable { at, source: error },
    }
}

/// The first error of a kind in the chain of causes, those inside an I/O error included.
fn cause_of<'a, E: StdError + 'static>(error: &'a (dyn StdError + 'static)) -> Option<&'a E> {
    let mut next = Some(error);
    while let Some(current) = next {
        if let Some(found) = current.downcast_ref() {
            return Some(found);
        }
        // `source` of an I/O error skips the error that it wraps.
        let wrapped = current
            .downcast_ref::<io::Error>()
            .and_then(io::Error::get_ref);
        next = match wrapped {
            Some(inner) => Some(inner),
            None => current.source(),
        };
    }
    None
}

/// The parser's words about a shape, without the values that it may quote from containers' environments.
fn shape_problem(message: &str, column: usize) -> String {
    let quotes_no_value = ["missing field", "unknown variant"];
    if quotes_no_value
        .iter()
        .any(|start| message.starts_with(start))
    {
        return message.to_owned();
    }
    format!("unexpected at column {column}")
}

/// The daemon's words on one line: those of Docker 28 take several, and a proxy in between may answer with a page.
fn one_line(status: u16, message: &str) -> String {
    let words: Vec<&str> = message.split_whitespace().collect();
    if words.is_empty() {
        return format!("Docker answered with status {status}");
    }
    let line = words.join(" ");
    match line.char_indices().nth(LONGEST_MESSAGE) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line,
    }
}

const LONGEST_MESSAGE: usize = 300;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::docker::fake_daemon::{at, shown};
    use crate::error::Explain;

    #[test]
    fn a_socket_that_is_closed_to_the_user_names_the_group() {
        let cases = [
            (
                "/var/run/docker.sock",
                "sudo usermod -aG docker \"$USER\" && newgrp docker",
            ),
            ("/srv/docker.sock", "ls -l /srv/docker.sock"),
        ];
        for (path, hint) in cases {
            let at = Box::new(at(Endpoint::Unix(path.into())));
            let error = unreachable(at, io::ErrorKind::PermissionDenied.into());
            assert_eq!(
                shown(&error),
                format!(
                    "cannot use the Docker socket unix://{path} (DOCKER_HOST): permission denied"
                )
            );
            assert_eq!(error.hint().unwrap(), hint);
        }
    }
}
