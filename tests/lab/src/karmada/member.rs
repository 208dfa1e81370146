//! Clients of member clusters, made from a Cluster and its Secrets as Karmada makes them.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::header::{AUTHORIZATION, HOST, USER_AGENT};
use http::{HeaderValue, Method, Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use url::Url;

use super::controller_manager::Surroundings;
use super::dial::Dialer;
use super::objects::Objects;
use super::trust::{self, Trust};
use crate::api::refusal::Refusal;

/// An API client of one member cluster.
#[derive(Clone)]
pub(crate) struct Member {
    pub(crate) dialer: Arc<dyn Dialer>,
    pub(crate) endpoint: Url,
    /// `spec.proxyURL`; nothing in the lab is a proxy that lets anybody through.
    pub(crate) proxy: Option<Url>,
    pub(crate) trust: Trust,
    pub(crate) token: String,
    pub(crate) timeout: Duration,
}

/// The proxy of a `Cluster`'s spec.
pub(crate) fn proxy(spec: &Value) -> Option<Url> {
    Url::parse(spec["proxyURL"].as_str()?).ok()
}

impl Member {
    /// The client with which the controller-manager works.
    ///
    /// # Errors
    /// The text that follows `failed to create a ClusterClient: `.
    pub(crate) async fn of(cluster: &Value, surroundings: &Surroundings) -> Result<Self, String> {
        let name = cluster["metadata"]["name"].as_str().unwrap_or_default();
        let spec = &cluster["spec"];
        let endpoint = spec["apiEndpoint"]
            .as_str()
            .filter(|endpoint| !endpoint.is_empty());
        let endpoint =
            endpoint.ok_or_else(|| format!("the api endpoint of cluster {name} is empty"))?;
        if !spec["secretRef"].is_object() {
            return Err(format!("cluster {name} does not have a secret"));
        }
        let secret = referenced(&spec["secretRef"], &*surroundings.objects)
            .await
            .map_err(|refusal| refusal.message)?;
        let token = key(&secret, "token")
            .filter(|token| !token.is_empty())
            .ok_or_else(|| {
                format!("the secret for cluster {name} is missing a non-empty value for \"token\"")
            })?;
        let insecure = spec["insecureSkipTLSVerification"] == true;
        let authority = key(&secret, "caBundle");
        if authority.is_none() && !insecure {
            return Err(format!(
                "the secret for cluster {name} is missing the CA data key \"caBundle\""
            ));
        }
        Ok(Self {
            dialer: surroundings.dialer.clone(),
            endpoint: Url::parse(endpoint)
                .map_err(|error| format!("parse \"{endpoint}\": {error}"))?,
            proxy: proxy(spec),
            trust: Trust {
                authority,
                insecure,
                tls13_only: false,
            },
            token: String::from_utf8_lossy(&token).into_owned(),
            timeout: surroundings.timing.request_timeout,
        })
    }

    /// Sends one request; the path is appended to the endpoint's own.
    ///
    /// # Errors
    /// What a Go client would report of the connection.
    pub(crate) async fn send(
        &self,
        mut request: Request<Full<Bytes>>,
    ) -> Result<Response<Incoming>, String> {
        let host = self
            .endpoint
            .host_str()
            .unwrap_or_default()
            .trim_matches(['[', ']'])
            .to_owned();
        let port = self.endpoint.port_or_known_default().unwrap_or(443);
        let prefix = self.endpoint.path().trim_end_matches('/').to_owned();
        if !prefix.is_empty() {
            let target = format!("{prefix}{}", request.uri());
            *request.uri_mut() = target.parse().map_err(|error| format!("{error}"))?;
        }
        let authority = super::dial::authority(&host, port);
        let headers = request.headers_mut();
        headers.insert(
            HOST,
            HeaderValue::from_str(&authority).map_err(|error| error.to_string())?,
        );
        let mut bearer = HeaderValue::from_str(&format!("Bearer {}", self.token))
            .map_err(|_| "net/http: invalid header field value for \"Authorization\"".to_owned())?;
        bearer.set_sensitive(true);
        headers.insert(AUTHORIZATION, bearer);
        let answer = async {
            if let Some(proxy) = &self.proxy {
                return Err(self.refused_by(proxy).await);
            }
            let stream = self
                .dialer
                .dial(&host, port)
                .await
                .map_err(|error| error.to_string())?;
            if self.endpoint.scheme() == "http" {
                return exchange(stream, request).await;
            }
            exchange(trust::handshake(stream, &host, &self.trust).await?, request).await
        };
        match tokio::time::timeout(self.timeout, answer).await {
            Ok(answer) => answer,
            Err(_) => Err(
                "context deadline exceeded (Client.Timeout exceeded while awaiting headers)"
                    .to_owned(),
            ),
        }
    }

    /// What Go reports of a proxy that cannot be dialled, or answers something else than CONNECT asks for.
    async fn refused_by(&self, proxy: &Url) -> String {
        let host = proxy
            .host_str()
            .unwrap_or_default()
            .trim_matches(['[', ']']);
        let port = proxy.port_or_known_default().unwrap_or(1080);
        match self.dialer.dial(host, port).await {
            Ok(_) => "Bad Request".to_owned(),
            Err(error) => format!("proxyconnect tcp: {error}"),
        }
    }

    /// One request of the controller-manager: status and body.
    pub(crate) async fn call(
        &self,
        method: Method,
        path: &str,
        content_type: &str,
        body: &Value,
    ) -> Result<(u16, Value), String> {
        let bytes = if body.is_null() {
            Bytes::new()
        } else {
            Bytes::from(body.to_string())
        };
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(
                USER_AGENT,
                "karmada-controller-manager/v1.18.2 (linux/amd64)",
            )
            .header(http::header::CONTENT_TYPE, content_type)
            .body(Full::new(bytes))
            .map_err(|error| error.to_string())?;
        let response = self.send(request).await?;
        let status = response.status().as_u16();
        let body = tokio::time::timeout(self.timeout, response.into_body().collect()).await;
        let body = body
            .map_err(|_| "context deadline exceeded")?
            .map_err(|error| error.to_string())?
            .to_bytes();
        Ok((status, serde_json::from_slice(&body).unwrap_or_default()))
    }
}

async fn exchange<S>(stream: S, request: Request<Full<Bytes>>) -> Result<Response<Incoming>, String>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let connected = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await;
    let (mut sender, connection) = connected.map_err(|error| error.to_string())?;
    tokio::spawn(connection.with_upgrades());
    sender
        .send_request(request)
        .await
        .map_err(|_| "EOF".to_owned())
}

/// The Secret that `reference` names.
pub(crate) async fn referenced(reference: &Value, objects: &dyn Objects) -> Result<Value, Refusal> {
    let text = |field: &str| reference[field].as_str().unwrap_or_default();
    let path = format!(
        "/api/v1/namespaces/{}/secrets/{}",
        text("namespace"),
        text("name")
    );
    objects.call(Method::GET, &path, Value::Null).await
}

/// The decoded value of a Secret's key.
pub(crate) fn key(secret: &Value, name: &str) -> Option<Vec<u8>> {
    STANDARD.decode(secret["data"][name].as_str()?).ok()
}
