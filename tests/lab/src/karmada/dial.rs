//! The seam between Karmada's components and the network they dial in.

use futures::future::BoxFuture;
use tokio::net::TcpStream;

/// Opens TCP connections from where Karmada's components run.
pub(crate) trait Dialer: Send + Sync + 'static {
    /// Connects to `host`, a name or an address without brackets, at `port`.
    fn dial<'a>(&'a self, host: &'a str, port: u16) -> BoxFuture<'a, Result<TcpStream, DialError>>;
}

/// Why no connection came about, in the words of Go's `net` package.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum DialError {
    /// Nothing listens there.
    #[error("dial tcp {0}: connect: connection refused")]
    Refused(String),
    /// No answer within the deadline.
    #[error("dial tcp {0}: i/o timeout")]
    Timeout(String),
    /// The address is on a network of the dialler, and nobody holds it.
    #[error("dial tcp {0}: connect: no route to host")]
    NoRoute(String),
    /// The dialler has no network at all.
    #[error("dial tcp {0}: connect: network is unreachable")]
    Unreachable(String),
    /// The name does not resolve.
    #[error("dial tcp: lookup {0}: no such host")]
    NoSuchHost(String),
    /// The connection opens, and nothing ever answers.
    #[error("net/http: TLS handshake timeout")]
    Silent,
}

/// `HOST:PORT`, an IPv6 address in brackets.
pub(crate) fn authority(host: &str, port: u16) -> String {
    if host.contains(':') {
        format!("[{host}]:{port}")
    } else {
        format!("{host}:{port}")
    }
}
