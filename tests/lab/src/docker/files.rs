//! Files that are put into containers and taken out of them, as archives.

use std::io::Read;

use http::header::{CONTENT_TYPE, HeaderValue};
use http::{Response, StatusCode};

use super::api::{Reply, empty};
use super::daemon::Daemon;
use super::failure::Failure;
use crate::wire;

/// `GET /containers/{id}/archive`.
pub(super) fn read(daemon: &Daemon, container: &str, path: &str) -> Reply {
    let container = daemon.container(container)?;
    let Some(text) = container.files.get(path) else {
        let name = &container.name;
        return Err(Failure::new(
            404,
            format!("Could not find the file {path} in container {name}"),
        ));
    };
    let name = path.rsplit('/').next().unwrap_or(path);
    let mut header = tar::Header::new_gnu();
    header.set_size(text.len() as u64);
    header.set_mode(0o644);
    let mut archive = tar::Builder::new(Vec::new());
    let packed = archive
        .append_data(&mut header, name, text.as_bytes())
        .and_then(|()| archive.into_inner())
        .map_err(|error| Failure::new(500, error.to_string()))?;
    let mut response = Response::new(wire::full(packed));
    *response.status_mut() = StatusCode::OK;
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static("application/x-tar"));
    Ok(response)
}

/// `PUT /containers/{id}/archive`; folders that are missing are made.
pub(super) fn write(daemon: &mut Daemon, container: &str, path: &str, archive: &[u8]) -> Reply {
    let container = daemon.container_mut(container)?;
    let broken = |error: std::io::Error| Failure::new(400, error.to_string());
    let mut archive = tar::Archive::new(archive);
    for entry in archive.entries().map_err(broken)? {
        let mut entry = entry.map_err(broken)?;
        let name = entry.path().map_err(broken)?.display().to_string();
        let mut text = String::new();
        entry.read_to_string(&mut text).map_err(broken)?;
        let place = format!("{}/{name}", path.trim_end_matches('/'));
        container.files.insert(place, text);
    }
    Ok(empty(200))
}
