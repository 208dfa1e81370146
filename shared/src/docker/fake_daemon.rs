//! A Docker daemon for tests, which gives one answer to everything.

use std::error::Error;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::UnixListener;

use crate::docker::client::Docker;
use crate::docker::endpoint::{Endpoint, Located, LocatedBy};
use crate::docker::error::DockerError;

/// What a fake daemon does with every request.
#[derive(Clone)]
pub(crate) enum Answer {
    /// Answers with this status and body.
    With(u16, String),
    /// Never answers.
    Silence,
    /// Closes the connection.
    Close,
    /// Promises more than it sends.
    Cut,
}

impl Answer {
    pub(crate) fn json(body: &Value) -> Answer {
        Answer::With(200, body.to_string())
    }

    pub(crate) fn refusal(status: u16, message: &str) -> Answer {
        Answer::With(status, json!({ "message": message }).to_string())
    }
}

/// A daemon at a socket of its own, with the requests that it saw.
pub(crate) struct FakeDaemon {
    _folder: TempDir,
    pub(crate) docker: Docker,
    requests: Arc<Mutex<Vec<String>>>,
}

impl FakeDaemon {
    pub(crate) fn answering(answer: Answer) -> FakeDaemon {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("docker.sock");
        let listener = UnixListener::bind(&path).unwrap();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let seen = requests.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, answer.clone(), seen.clone()));
            }
        });
        FakeDaemon {
            docker: Docker::connect(&at(Endpoint::Unix(path))).unwrap(),
            _folder: folder,
            requests,
        }
    }

    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

pub(crate) async fn serve<S>(mut stream: S, answer: Answer, seen: Arc<Mutex<Vec<String>>>)
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let Some(request) = read_request(&mut stream).await else {
        return;
    };
    seen.lock().unwrap().push(request);
    let response = match answer {
        Answer::With(status, body) => {
            let length = body.len();
            format!(
                "HTTP/1.1 {status} x\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
            )
        }
        Answer::Cut => "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n[".to_owned(),
        Answer::Close => return,
        Answer::Silence => return std::future::pending().await,
    };
    let _ = stream.write_all(response.as_bytes()).await;
    let _ = stream.shutdown().await;
}

/// The request line, the host and the body, parted by blanks.
async fn read_request<S: AsyncRead + Unpin>(stream: &mut S) -> Option<String> {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let header = |name: &str| {
                head.lines()
                    .filter_map(|line| line.split_once(": "))
                    .find(|(key, _)| key.eq_ignore_ascii_case(name))
                    .map(|(_, value)| value.to_owned())
            };
            let length = header("content-length").map_or(0, |text| text.parse().unwrap());
            if body.len() >= length {
                let line = head
                    .lines()
                    .next()?
                    .trim_end_matches(" HTTP/1.1")
                    .to_owned();
                let host = header("host")?;
                return Some(format!("{line} {host} {body}").trim_end().to_owned());
            }
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
}

pub(crate) fn at(endpoint: Endpoint) -> Located {
    Located {
        endpoint,
        by: LocatedBy::HostVariable,
        tried: Vec::new(),
    }
}

/// The error and its causes, as they are shown.
pub(crate) fn shown(error: &DockerError) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text = format!("{text}: {cause}");
        next = cause.source();
    }
    text
}
