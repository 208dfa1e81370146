//! A client of the Docker Engine API on a Unix socket.

use std::path::PathBuf;
use std::time::Duration;

use http::header::{CONTENT_TYPE, HOST};
use http::{Method, Request};
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::UnixStream;

use crate::docker::failure::Failure;

/// The daemon behind a socket.
#[derive(Debug, Clone)]
pub(super) struct Engine {
    pub(super) socket: PathBuf,
}

impl Engine {
    /// One request with a JSON body, none where it is null; a body that is no JSON is answered as null.
    pub(super) async fn call(
        &self,
        method: Method,
        path: &str,
        body: &Value,
    ) -> Result<Value, Failure> {
        let bytes = if body.is_null() {
            Bytes::new()
        } else {
            Bytes::from(body.to_string())
        };
        self.send(method, path, "application/json", bytes).await
    }

    pub(super) async fn get(&self, path: &str) -> Result<Value, Failure> {
        self.call(Method::GET, path, &Value::Null).await
    }

    pub(super) async fn post(&self, path: &str, body: &Value) -> Result<Value, Failure> {
        self.call(Method::POST, path, body).await
    }

    pub(super) async fn delete(&self, path: &str) -> Result<Value, Failure> {
        self.call(Method::DELETE, path, &Value::Null).await
    }

    /// A `POST` whose answer is text, such as the output of a command at a terminal.
    pub(super) async fn text(&self, path: &str, body: Bytes) -> Result<String, Failure> {
        let bytes = self
            .bytes(Method::POST, path, "application/json", body)
            .await?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// One request; the answer is read to its end.
    pub(super) async fn send(
        &self,
        method: Method,
        path: &str,
        content_type: &str,
        body: Bytes,
    ) -> Result<Value, Failure> {
        let bytes = self.bytes(method, path, content_type, body).await?;
        Ok(serde_json::from_slice(&bytes).unwrap_or_default())
    }

    async fn bytes(
        &self,
        method: Method,
        path: &str,
        content_type: &str,
        body: Bytes,
    ) -> Result<Bytes, Failure> {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(HOST, "docker")
            .header(CONTENT_TYPE, content_type)
            .body(Full::new(body))
            .map_err(broken)?;
        let answer = async {
            let stream = UnixStream::connect(&self.socket).await.map_err(broken)?;
            let connected = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await;
            let (mut sender, connection) = connected.map_err(broken)?;
            tokio::spawn(connection);
            let answer = sender.send_request(request).await.map_err(broken)?;
            let status = answer.status().as_u16();
            let body = answer.into_body().collect().await.map_err(broken)?;
            Ok((status, body.to_bytes()))
        };
        let (status, bytes) = tokio::time::timeout(DEADLINE, answer)
            .await
            .map_err(|_| broken(format!("no answer to {path} within {DEADLINE:?}")))??;
        if status < 400 {
            return Ok(bytes);
        }
        let body: Value = serde_json::from_slice(&bytes).unwrap_or_default();
        let text = body["message"].as_str().map_or_else(
            || String::from_utf8_lossy(&bytes).into_owned(),
            str::to_owned,
        );
        Err(Failure::new(status, text))
    }
}

/// A failure of the connection, not of the daemon.
fn broken(reason: impl std::fmt::Display) -> Failure {
    Failure::new(0, reason.to_string())
}

/// Starting a container takes a second, on a very busy machine several.
const DEADLINE: Duration = Duration::from_secs(60);
