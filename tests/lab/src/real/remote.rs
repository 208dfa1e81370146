//! A client of a real API server, with full rights.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::BoxFuture;
use http::header::{CONTENT_TYPE, HOST, USER_AGENT};
use http::{Method, Request};
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::client::conn::http1::SendRequest;
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::engine::Engine;
use crate::api::kinds::{self, Role};
use crate::api::refusal::Refusal;
use crate::api::request::Target;
use crate::certificates::Leaf;
use crate::karmada::objects::Objects;
use crate::karmada::trust;
use crate::lock::lock;

/// One API server.
#[derive(Clone)]
pub(super) struct Remote {
    place: Arc<Place>,
    tls: Arc<ClientConfig>,
    /// The `User-Agent`, which becomes the field manager.
    agent: &'static str,
    idle: Arc<Mutex<Vec<SendRequest<Full<Bytes>>>>>,
}

/// Where an API server listens.
pub(super) enum Place {
    /// On a port of this very network namespace.
    Here(u16),
    /// On a port of a container, wherever that is at the moment; load balancers may not know.
    Container {
        engine: Engine,
        name: String,
        port: u16,
    },
}

impl Remote {
    /// A client with this certificate; it believes whatever certificate the server shows.
    pub(super) fn new(place: Place, administrator: &Leaf, agent: &'static str) -> Self {
        Self {
            place: Arc::new(place),
            tls: trust::blind(administrator),
            agent,
            idle: Arc::default(),
        }
    }

    /// The same client under another name.
    pub(super) fn named(&self, agent: &'static str) -> Self {
        Self {
            agent,
            ..self.clone()
        }
    }

    /// Forgets open connections, which lead nowhere when a container has moved or stands still.
    pub(super) fn forget_connections(&self) {
        lock(&self.idle).clear();
    }

    /// One request; an answer that is no JSON comes as a string.
    ///
    /// # Errors
    /// What the server refuses; code 0 when there was no answer.
    pub(super) async fn send(
        &self,
        method: Method,
        path: &str,
        content_type: &str,
        body: &Value,
    ) -> Result<Value, Refusal> {
        let bytes = if body.is_null() {
            Bytes::new()
        } else {
            Bytes::from(body.to_string())
        };
        let request = || {
            Request::builder()
                .method(method.clone())
                .uri(path)
                .header(HOST, "127.0.0.1")
                .header(USER_AGENT, self.agent)
                .header(CONTENT_TYPE, content_type)
                .body(Full::new(bytes.clone()))
                .map_err(broken)
        };
        let answered = tokio::time::timeout(DEADLINE, async {
            let mut sender = self.sender().await?;
            let answer = match sender.send_request(request()?).await {
                Ok(answer) => answer,
                // The server had closed the connection before the request was sent.
                Err(error) if error.is_canceled() => {
                    sender = self.connect().await?;
                    sender.send_request(request()?).await.map_err(broken)?
                }
                Err(error) => return Err(broken(error)),
            };
            let status = answer.status().as_u16();
            let body = answer.into_body().collect().await.map_err(broken)?;
            lock(&self.idle).push(sender);
            Ok((status, body.to_bytes()))
        });
        let (status, body) = answered
            .await
            .map_err(|_| broken(format!("no answer within {DEADLINE:?}")))??;
        let value =
            serde_json::from_slice(&body).unwrap_or_else(|_| json!(String::from_utf8_lossy(&body)));
        if status < 400 {
            return Ok(value);
        }
        let text = |field: &str| value[field].as_str().unwrap_or_default().to_owned();
        let message = value
            .as_str()
            .map_or_else(|| text("message"), str::to_owned);
        Err(Refusal::new(status, &text("reason"), message).with_details(value["details"].clone()))
    }

    async fn sender(&self) -> Result<SendRequest<Full<Bytes>>, Refusal> {
        loop {
            let idle = lock(&self.idle).pop();
            match idle {
                Some(mut sender) => {
                    if sender.ready().await.is_ok() {
                        return Ok(sender);
                    }
                }
                None => return self.connect().await,
            }
        }
    }

    async fn connect(&self) -> Result<SendRequest<Full<Bytes>>, Refusal> {
        let addresses = self.place.addresses().await?;
        let connecting = TcpStream::connect(&addresses[..]);
        let connected = tokio::time::timeout(CONNECT, connecting).await;
        let stream = connected.map_err(broken)?.map_err(broken)?;
        let name = ServerName::try_from("127.0.0.1").map_err(broken)?;
        let stream = TlsConnector::from(self.tls.clone())
            .connect(name, stream)
            .await
            .map_err(broken)?;
        let connected = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await;
        let (sender, connection) = connected.map_err(broken)?;
        tokio::spawn(connection);
        Ok(sender)
    }
}

impl Place {
    async fn addresses(&self) -> Result<Vec<SocketAddr>, Refusal> {
        let (engine, name, port) = match self {
            Self::Here(port) => return Ok(vec![SocketAddr::from((Ipv4Addr::LOCALHOST, *port))]),
            Self::Container { engine, name, port } => (engine, name, *port),
        };
        let seen = engine.get(&format!("/containers/{name}/json")).await;
        let seen = seen.map_err(broken)?;
        let state = seen["State"]["Status"].as_str().unwrap_or_default();
        if state != "running" {
            return Err(broken(format!("{name} is {state}")));
        }
        let networks = seen["NetworkSettings"]["Networks"].as_object();
        let addresses = networks.into_iter().flatten().filter_map(|(_, endpoint)| {
            let address: Ipv4Addr = endpoint["IPAddress"].as_str()?.parse().ok()?;
            Some(SocketAddr::from((address, port)))
        });
        Ok(addresses.collect())
    }
}

impl Objects for Remote {
    fn call<'a>(
        &'a self,
        method: Method,
        path: &'a str,
        body: Value,
    ) -> BoxFuture<'a, Result<Value, Refusal>> {
        Box::pin(async move {
            let content_type = if method == Method::PATCH {
                "application/merge-patch+json"
            } else {
                "application/json"
            };
            let body = complete(path, body);
            self.send(method, path, content_type, &body).await
        })
    }
}

/// Adds `apiVersion` and `kind` to an object that lacks them.
pub(super) fn complete(path: &str, mut object: Value) -> Value {
    if let (Target::Resource(resource), true) = (Target::parse(path), object.is_object()) {
        let (group, version) = (&resource.group, &resource.version);
        let kind = kinds::find(Role::ControlPlane, group, version, &resource.resource);
        if let Some(kind) =
            kind.filter(|_| object["kind"].is_null() && resource.subresource.is_empty())
        {
            object["apiVersion"] = json!(kind.api_version());
            object["kind"] = json!(kind.kind);
        }
    }
    object
}

/// A failure of the connection, not of the server.
fn broken(reason: impl std::fmt::Display) -> Refusal {
    Refusal::new(0, "", reason.to_string())
}

/// Longer than anything takes that is not stuck.
const DEADLINE: Duration = Duration::from_secs(30);
/// Containers of one machine answer at once, or not at all.
const CONNECT: Duration = Duration::from_secs(5);
