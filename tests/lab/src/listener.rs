//! TCP and Unix listeners that can be closed and opened again at the same address.

use std::convert::Infallible;
use std::future::poll_fn;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::{Duration, Instant};

use futures::future::BoxFuture;
use http::{Request, Response};
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use rustls::ServerConfig;
use rustls::pki_types::CertificateDer;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream, UnixListener};
use tokio::runtime::Handle;
use tokio::task::{JoinHandle, JoinSet};
use tokio_rustls::TlsAcceptor;

use crate::faults::{self, Faults, Sentence};
use crate::lock::lock;
use crate::requests::Recorder;
use crate::wire::{self, Answer, Body, Call};

/// What answers requests.
pub(crate) trait Service: Send + Sync + 'static {
    /// The name in the record of requests.
    fn name(&self) -> &str;
    fn answer(self: Arc<Self>, call: Call) -> BoxFuture<'static, Answer>;
}

/// A service with its record and its faults.
#[derive(Clone)]
pub(crate) struct Served {
    pub(crate) service: Arc<dyn Service>,
    pub(crate) recorder: Recorder,
    pub(crate) faults: Faults,
}

/// The TLS configuration that new connections get.
pub(crate) type Tls = Arc<Mutex<Arc<ServerConfig>>>;

/// A loopback port that is kept for the whole life of the lab, listening or refusing.
pub(crate) struct Port {
    address: SocketAddr,
    tls: Tls,
    served: Served,
    runtime: Handle,
    /// Bound and never listening: keeps the port from others while it refuses.
    _placeholder: TcpSocket,
    accepting: Mutex<Option<Accepting>>,
}

/// A listener in use; it closes on the thread that drops it, not when its task comes round to it.
struct Accepting {
    listener: Arc<Mutex<Option<TcpListener>>>,
    task: JoinHandle<()>,
}

impl Drop for Accepting {
    fn drop(&mut self) {
        lock(&self.listener).take();
        self.task.abort();
    }
}

impl Port {
    /// Binds a port of 127.0.0.1, 0 for a free one, and listens on it.
    pub(crate) fn open(
        runtime: &Handle,
        number: u16,
        served: Served,
        tls: Tls,
    ) -> io::Result<Self> {
        let _context = runtime.enter();
        let placeholder = bind(SocketAddr::from((Ipv4Addr::LOCALHOST, number)))?;
        let address = placeholder.local_addr()?;
        let port = Self {
            address,
            tls,
            served,
            runtime: runtime.clone(),
            _placeholder: placeholder,
            accepting: Mutex::new(None),
        };
        port.set_listening(true)?;
        Ok(port)
    }

    pub(crate) fn number(&self) -> u16 {
        self.address.port()
    }

    /// Listens, or refuses connections and cuts those that exist.
    pub(crate) fn set_listening(&self, listening: bool) -> io::Result<()> {
        let mut accepting = lock(&self.accepting);
        if !listening {
            accepting.take();
        } else if accepting.is_none() {
            let _context = self.runtime.enter();
            let listener = Arc::new(Mutex::new(Some(listen(self.address)?)));
            let task = self.runtime.spawn(accept(
                listener.clone(),
                self.tls.clone(),
                self.served.clone(),
            ));
            *accepting = Some(Accepting { listener, task });
        }
        Ok(())
    }
}

/// Listens on a Unix socket until the task is aborted.
pub(crate) fn unix(runtime: &Handle, path: &Path, served: Served) -> io::Result<JoinHandle<()>> {
    let _context = runtime.enter();
    let listener = UnixListener::bind(path)?;
    Ok(runtime.spawn(async move {
        let mut connections = JoinSet::new();
        loop {
            let Ok((stream, _)) = listener.accept().await else {
                continue;
            };
            connections.spawn(serve(stream, None, served.clone()));
            while connections.try_join_next().is_some() {}
        }
    }))
}

/// Listens; a listener that was closed a moment ago may still hold the port.
fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let deadline = Instant::now() + Duration::from_secs(5);
    loop {
        match bind(address).and_then(|socket| socket.listen(256)) {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse && Instant::now() < deadline => {
                std::thread::sleep(Duration::from_millis(5));
            }
            listening => return listening,
        }
    }
}

fn bind(address: SocketAddr) -> io::Result<TcpSocket> {
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    Ok(socket)
}

async fn accept(listener: Arc<Mutex<Option<TcpListener>>>, tls: Tls, served: Served) {
    // Dropped with the task, which cuts the connections.
    let mut connections = JoinSet::new();
    while let Some(accepted) = next(&listener).await {
        let Ok(stream) = accepted else { continue };
        let acceptor = TlsAcceptor::from(lock(&tls).clone());
        let served = served.clone();
        connections.spawn(async move {
            let mut first = [0];
            if stream
                .peek(&mut first)
                .await
                .is_ok_and(|read| read == 1 && first[0] != TLS_HANDSHAKE)
            {
                let _ = tokio::time::timeout(HANDSHAKE, refuse_plain_http(stream)).await;
                return;
            }
            let handshake = tokio::time::timeout(HANDSHAKE, acceptor.accept(stream)).await;
            if let Ok(Ok(stream)) = handshake {
                let certificate = stream
                    .get_ref()
                    .1
                    .peer_certificates()
                    .and_then(|chain| chain.first())
                    .cloned();
                serve(stream, certificate.map(CertificateDer::into_owned), served).await;
            }
        });
        while connections.try_join_next().is_some() {}
    }
}

/// Answers as Go's server does, and lets the client finish before the connection closes.
async fn refuse_plain_http(mut stream: TcpStream) -> io::Result<()> {
    stream.write_all(PLAIN_HTTP).await?;
    stream.shutdown().await?;
    tokio::io::copy(&mut stream, &mut tokio::io::sink())
        .await
        .map(|_| ())
}

/// The next connection; `None` = the listener is closed.
async fn next(listener: &Mutex<Option<TcpListener>>) -> Option<io::Result<TcpStream>> {
    poll_fn(|context| match lock(listener).as_ref() {
        Some(listener) => listener
            .poll_accept(context)
            .map(|accepted| Some(accepted.map(|(stream, _)| stream))),
        None => Poll::Ready(None),
    })
    .await
}

async fn serve<S>(stream: S, certificate: Option<CertificateDer<'static>>, served: Served)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let service = service_fn(move |request| {
        let (served, certificate) = (served.clone(), certificate.clone());
        async move { respond(request, certificate, served).await }
    });
    // An error here is a connection that somebody broke, perhaps by order.
    let _ = hyper::server::conn::http1::Builder::new()
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades()
        .await;
}

/// The error makes hyper drop the connection.
async fn respond(
    mut request: Request<Incoming>,
    certificate: Option<CertificateDer<'static>>,
    served: Served,
) -> Result<Response<Body>, io::Error> {
    let upgrade = Some(hyper::upgrade::on(&mut request));
    let (parts, body) = request.into_parts();
    let body = match Limited::new(body, LARGEST_BODY).collect().await {
        Ok(body) => body.to_bytes(),
        Err(_) => return Ok(wire::text(413, "request body too large")),
    };
    let call = Call {
        method: parts.method,
        path: parts.uri.path().to_owned(),
        query: parts.uri.query().map(str::to_owned),
        headers: parts.headers,
        body,
        certificate,
        upgrade,
    };
    let name = served.service.name().to_owned();
    let entry = served.recorder.begin(&name, &call);
    let effects = match served.faults.judge(&name, &call, entry.is_own()).await {
        Sentence::Proceed(effects) => effects,
        Sentence::Answer(response) => {
            entry.answered(None, response.status().as_u16());
            return Ok(response);
        }
        Sentence::Reset => return Err(broken()),
        Sentence::Never => {
            let never: Infallible = std::future::pending().await;
            match never {}
        }
    };
    let answer = served.service.answer(call).await;
    entry.answered(answer.user, answer.response.status().as_u16());
    faults::spoil(answer.response, &effects)
        .await
        .ok_or_else(broken)
}

fn broken() -> io::Error {
    io::Error::new(
        io::ErrorKind::ConnectionReset,
        "the lab was told to break this connection",
    )
}

/// The first byte of a TLS connection.
const TLS_HANDSHAKE: u8 = 0x16;
const PLAIN_HTTP: &[u8] =
    b"HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n";
const HANDSHAKE: Duration = Duration::from_secs(10);
const LARGEST_BODY: usize = 3 * 1024 * 1024;
