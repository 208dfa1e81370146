//! The streams of `docker exec` over an upgraded connection or in a body.

use http::header::{CONNECTION, CONTENT_TYPE, HeaderValue, UPGRADE};
use http::{Response, StatusCode};
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tokio::io::AsyncWriteExt;

use super::exec::{Ended, Exec};
use crate::wire::{self, Body};

/// Answers with what the command wrote: on the raw connection if the client asked for that, else in the body.
pub(crate) fn answer(exec: &Exec, ended: &Ended, upgrade: Option<OnUpgrade>) -> Response<Body> {
    let bytes = if exec.tty {
        format!("{}{}", ended.stdout, ended.stderr).into_bytes()
    } else {
        frames(ended)
    };
    let content_type = if exec.tty {
        "application/vnd.docker.raw-stream"
    } else {
        "application/vnd.docker.multiplexed-stream"
    };
    let mut response = match upgrade {
        None => Response::new(wire::full(bytes)),
        Some(upgrade) => {
            tokio::spawn(async move {
                if let Ok(connection) = upgrade.await {
                    let mut connection = TokioIo::new(connection);
                    // The client sees a command that ended early if it does not stay to listen.
                    let _ = connection.write_all(&bytes).await;
                    let _ = connection.shutdown().await;
                }
            });
            let mut response = Response::new(wire::full(""));
            *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
            response
                .headers_mut()
                .insert(CONNECTION, HeaderValue::from_static("Upgrade"));
            response
                .headers_mut()
                .insert(UPGRADE, HeaderValue::from_static("tcp"));
            response
        }
    };
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

/// Each stream with its header of eight bytes: 1 or 2, three zeros, the length.
fn frames(ended: &Ended) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (stream, text) in [(1_u8, &ended.stdout), (2, &ended.stderr)] {
        if !text.is_empty() {
            bytes.extend([stream, 0, 0, 0]);
            bytes.extend(u32::try_from(text.len()).unwrap_or_default().to_be_bytes());
            bytes.extend(text.as_bytes());
        }
    }
    bytes
}
