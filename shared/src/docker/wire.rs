//! The connection to a daemon: one per request, through a socket, a TCP port, TLS or ssh. Owns the sockets.

use std::io;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::process::Stdio;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bollard::BollardRequest;
use bollard::errors::Error;
use http::header::HOST;
use http::{HeaderValue, Response, Uri};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};
use tokio::process::{ChildStderr, Command};
use tokio_rustls::TlsConnector;

use crate::docker::endpoint::Endpoint;
use crate::docker::error::DockerError;
use crate::docker::tls;

/// How to open connections to one daemon.
#[derive(Clone)]
pub(crate) struct Wire {
    endpoint: Endpoint,
    tls: Option<Arc<ClientConfig>>,
    ssh: PathBuf,
}

impl Wire {
    /// Prepares for an endpoint; opens nothing.
    ///
    /// # Errors
    /// TLS files that cannot be used.
    pub(crate) fn to(endpoint: &Endpoint) -> Result<Wire, DockerError> {
        let tls = match endpoint {
            Endpoint::Tcp {
                tls: Some(files), ..
            } => Some(tls::config(files)?),
            _ => None,
        };
        Ok(Wire {
            endpoint: endpoint.clone(),
            tls,
            ssh: PathBuf::from("ssh"),
        })
    }

    /// The same with another program for ssh.
    #[cfg(test)]
    pub(crate) fn with_ssh(mut self, program: &Path) -> Wire {
        self.ssh = program.to_owned();
        self
    }

    /// Sends one request over a connection of its own.
    pub(crate) async fn send(self, request: BollardRequest) -> Result<Response<Incoming>, Error> {
        let request = self.addressed(request)?;
        match &self.endpoint {
            Endpoint::Unix(path) => exchange(UnixStream::connect(path).await?, request, ()).await,
            Endpoint::Tcp { host, port, .. } => {
                let stream = TcpStream::connect((host.as_str(), *port)).await?;
                let Some(config) = self.tls.clone() else {
                    return exchange(stream, request, ()).await;
                };
                let name = ServerName::try_from(host.clone()).map_err(io::Error::other)?;
                let stream = TlsConnector::from(config).connect(name, stream).await?;
                exchange(stream, request, ()).await
            }
            Endpoint::Ssh { user, host, port } => {
                let mut command = dial(&self.ssh, user.as_deref(), host, *port);
                let mut child = command.spawn().map_err(|error| {
                    io::Error::other(SshFailure(format!("cannot run ssh: {error}")))
                })?;
                let (Some(output), Some(input)) = (child.stdout.take(), child.stdin.take()) else {
                    return Err(io::Error::other("ssh has no input or output").into());
                };
                let stderr = child.stderr.take();
                let stream = tokio::io::join(output, input);
                match exchange(stream, request, child).await {
                    Ok(response) => Ok(response),
                    Err(error) => Err(ssh_failure(error, stderr).await),
                }
            }
        }
    }

    /// The request as one server wants it: the path alone, the host in its header.
    fn addressed(&self, mut request: BollardRequest) -> Result<BollardRequest, Error> {
        let path = request.uri().path_and_query().cloned();
        *request.uri_mut() = path.map(Uri::from).unwrap_or_default();
        let host = match &self.endpoint {
            Endpoint::Tcp { host, port, .. } if host.contains(':') => format!("[{host}]:{port}"),
            Endpoint::Tcp { host, port, .. } => format!("{host}:{port}"),
            Endpoint::Unix(_) | Endpoint::Ssh { .. } => "docker".to_owned(),
        };
        let host = HeaderValue::try_from(host).map_err(http::Error::from)?;
        request.headers_mut().insert(HOST, host);
        Ok(request)
    }
}

/// ssh did not lead to a daemon, in its own words.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct SshFailure(pub(crate) String);

/// Sends the request over the stream; `owner` is dropped when the connection ends.
async fn exchange<S, O>(
    stream: S,
    request: BollardRequest,
    owner: O,
) -> Result<Response<Incoming>, Error>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    O: Send + Unpin + 'static,
{
    let stream = Owning { stream, owner };
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    tokio::spawn(async move {
        // Ends with the answer's last byte, when the request is dropped, or when the stream is handed on; its error shows
        // in the request.
        let _ = connection.with_upgrades().await;
    });
    Ok(sender.send_request(request).await?)
}

/// A stream, and what has to live as long as it does.
struct Owning<S, O> {
    stream: S,
    #[expect(dead_code, reason = "it is kept to be dropped with the stream")]
    owner: O,
}

impl<S: AsyncRead + Unpin, O: Unpin> AsyncRead for Owning<S, O> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin, O: Unpin> AsyncWrite for Owning<S, O> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

/// The docker command's way to a remote daemon. A prompt for a password has no place in it, the request's deadline
/// would run out under the typing hand.
#[expect(clippy::disallowed_methods, reason = "ssh is the way to the daemon")]
fn dial(ssh: &Path, user: Option<&str>, host: &str, port: Option<u16>) -> Command {
    let mut command = Command::new(ssh);
    command.args(["-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10"]);
    if let Some(user) = user {
        command.args(["-l", user]);
    }
    if let Some(port) = port {
        command.args(["-p", &port.to_string()]);
    }
    command.args(["--", host, "docker", "system", "dial-stdio"]);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    command
}

async fn ssh_failure(error: Error, stderr: Option<ChildStderr>) -> Error {
    let mut said = Vec::new();
    if let Some(stderr) = stderr {
        let mut limited = stderr.take(SSH_WORDS);
        // What has arrived when the time is up is good enough.
        let _ = tokio::time::timeout(Duration::from_secs(1), limited.read_to_end(&mut said)).await;
    }
    let said = String::from_utf8_lossy(&said);
    match said.lines().map(str::trim).rfind(|line| !line.is_empty()) {
        Some(line) => io::Error::other(SshFailure(line.to_owned())).into(),
        None => error,
    }
}

const SSH_WORDS: u64 = 16 * 1024;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
