//! `pods/exec` over a WebSocket, answered by a script.

use std::sync::Arc;

use futures::{SinkExt, StreamExt};
use http::header::{
    CONNECTION, HeaderValue, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL,
    UPGRADE,
};
use http::{Response, StatusCode};
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::Role;

use super::refusal::Refusal;
use super::request::{Query, Resource};
use crate::wire::{self, Body, Call};

/// A command that somebody runs in a pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PodExec {
    /// The namespace of the pod.
    pub namespace: String,
    /// The name of the pod.
    pub pod: String,
    /// The container.
    pub container: String,
    /// The program and its arguments.
    pub command: Vec<String>,
}

/// What becomes of a command in a pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Execution {
    /// It ends.
    Ended {
        /// What it wrote to its standard output.
        stdout: String,
        /// What it wrote to its standard error.
        stderr: String,
        /// Its exit code.
        code: i32,
    },
    /// The container has no such program.
    NoSuchProgram,
    /// The connection ends before the command does.
    ConnectionLost,
}

impl Execution {
    /// A command that succeeds and writes this to its standard output.
    pub fn said(text: impl Into<String>) -> Self {
        Self::Ended {
            stdout: text.into(),
            stderr: String::new(),
            code: 0,
        }
    }

    /// A command that fails and writes this to its standard error.
    pub fn failed(code: i32, text: impl Into<String>) -> Self {
        Self::Ended {
            stdout: String::new(),
            stderr: text.into(),
            code,
        }
    }
}

/// What answers commands; it may block.
pub(crate) type Script = Arc<dyn Fn(&PodExec) -> Execution + Send + Sync>;

/// Runs the command that the request asks for in this pod.
pub(crate) fn answer(
    pod: &Value,
    resource: &Resource,
    query: &Query,
    call: &Call,
    script: Script,
) -> Result<Response<Body>, Refusal> {
    let exec = PodExec {
        namespace: resource.namespace.clone(),
        pod: resource.name.clone(),
        container: container(pod, query)?,
        command: query.values("command"),
    };
    if exec.command.is_empty() {
        return Err(Refusal::bad_request(
            "you must specify at least one command for the container",
        ));
    }
    if pod["spec"]["nodeName"]
        .as_str()
        .unwrap_or_default()
        .is_empty()
    {
        return Err(Refusal::bad_request(format!(
            "pod {} does not have a host assigned",
            exec.pod
        )));
    }
    let protocol = protocol(call)?;
    let key = call.header(SEC_WEBSOCKET_KEY);
    let accept = HeaderValue::from_str(&derive_accept_key(key.as_bytes()))
        .map_err(|error| Refusal::bad_request(error.to_string()))?;
    let upgrade = call
        .upgrade
        .clone()
        .ok_or_else(|| Refusal::bad_request("Upgrade request required"))?;
    tokio::spawn(run(upgrade, exec, script));
    let mut response = Response::new(wire::full(""));
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    for (name, value) in [
        (CONNECTION, HeaderValue::from_static("Upgrade")),
        (UPGRADE, HeaderValue::from_static("websocket")),
        (SEC_WEBSOCKET_ACCEPT, accept),
        (SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(protocol)),
    ] {
        response.headers_mut().insert(name, value);
    }
    Ok(response)
}

/// The container that is meant; a pod with several has no default for the API server.
fn container(pod: &Value, query: &Query) -> Result<String, Refusal> {
    let name = pod["metadata"]["name"].as_str().unwrap_or_default();
    let containers = pod["spec"]["containers"].as_array();
    let names: Vec<&str> = containers
        .into_iter()
        .flatten()
        .filter_map(|container| container["name"].as_str())
        .collect();
    match (query.value("container"), names.as_slice()) {
        (Some(wanted), names) if names.contains(&wanted) => Ok(wanted.to_owned()),
        (Some(wanted), _) => Err(Refusal::bad_request(format!(
            "container {wanted} is not valid for pod {name}"
        ))),
        (None, [only]) => Ok((*only).to_owned()),
        (None, names) => Err(Refusal::bad_request(format!(
            "a container name must be specified for pod {name}, choose one of: [{}]",
            names.join(" ")
        ))),
    }
}

/// The newest subprotocol that the client speaks.
fn protocol(call: &Call) -> Result<&'static str, Refusal> {
    if !call.header(UPGRADE).eq_ignore_ascii_case("websocket") {
        return Err(Refusal::bad_request("Upgrade request required"));
    }
    let offered: Vec<&str> = call
        .header(SEC_WEBSOCKET_PROTOCOL)
        .split(',')
        .map(str::trim)
        .collect();
    PROTOCOLS
        .iter()
        .find(|protocol| offered.contains(protocol))
        .copied()
        .ok_or_else(|| Refusal::bad_request("websocket: no supported subprotocol was requested"))
}

async fn run(upgrade: OnUpgrade, exec: PodExec, script: Script) {
    let Ok(connection) = upgrade.await else {
        return;
    };
    let mut stream =
        WebSocketStream::from_raw_socket(TokioIo::new(connection), Role::Server, None).await;
    let program = exec.command.first().cloned().unwrap_or_default();
    let Ok(execution) = tokio::task::spawn_blocking(move || script(&exec)).await else {
        return;
    };
    let frames = match execution {
        Execution::Ended {
            stdout,
            stderr,
            code,
        } => [
            frame(STDOUT, stdout.as_bytes()),
            frame(STDERR, stderr.as_bytes()),
            frame(STATUS, ended(code).to_string().as_bytes()),
        ],
        Execution::NoSuchProgram => [
            frame(STDOUT, b""),
            frame(STDERR, b""),
            frame(STATUS, no_such_program(&program).to_string().as_bytes()),
        ],
        Execution::ConnectionLost => return,
    };
    for frame in frames {
        // A client that went away hears nothing.
        let _ = stream.send(Message::Binary(frame.into())).await;
    }
    let _ = stream.close(None).await;
    while let Some(Ok(_)) = stream.next().await {}
}

fn frame(channel: u8, bytes: &[u8]) -> Vec<u8> {
    [&[channel], bytes].concat()
}

fn ended(code: i32) -> Value {
    match code {
        0 => json!({"metadata": {}, "status": "Success"}),
        code => json!({
            "metadata": {}, "status": "Failure", "reason": "NonZeroExitCode",
            "message": format!("command terminated with non-zero exit code: exit status {code}"),
            "details": {"causes": [{"reason": "ExitCode", "message": code.to_string()}]},
        }),
    }
}

fn no_such_program(program: &str) -> Value {
    json!({
        "metadata": {}, "status": "Failure", "reason": "InternalError", "code": 500,
        "message": format!(
            "Internal error occurred: error executing command in container: failed to exec in container: failed to start exec: OCI runtime exec failed: exec failed: unable to start container process: exec: \"{program}\": executable file not found in $PATH: unknown"
        ),
    })
}

const PROTOCOLS: &[&str] = &["v5.channel.k8s.io", "v4.channel.k8s.io"];
const STDOUT: u8 = 1;
const STDERR: u8 = 2;
const STATUS: u8 = 3;
