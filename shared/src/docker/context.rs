//! Docker contexts, as the docker command keeps them in its configuration folder. Reads files.

use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};

use crate::docker::endpoint::{ClientFiles, Endpoint, LocatedBy, ServerCheck, TlsFiles};
use crate::docker::error::DockerError;
use crate::docker::{host, sockets};
use crate::env::Env;

/// The contexts below `$DOCKER_CONFIG` (default `~/.docker`).
///
/// A context is `contexts/meta/<sha256 of its name>/meta.json`, its TLS files are
/// `contexts/tls/<the same>/docker/{ca,cert,key}.pem`.
pub(crate) struct ContextStore {
    folder: Option<PathBuf>,
}

impl ContextStore {
    /// The store that this environment names; without a home folder it is empty.
    pub(crate) fn of(env: &Env) -> ContextStore {
        ContextStore {
            folder: host::docker_config(env),
        }
    }

    /// The name of the current context (`currentContext` of config.json); `None` when none is set.
    pub(crate) fn current(&self) -> Result<Option<String>, DockerError> {
        let Some(folder) = &self.folder else {
            return Ok(None);
        };
        let config: Option<ConfigFile> = read_json(&folder.join("config.json"))?;
        Ok(config
            .and_then(|config| config.current_context)
            .filter(|name| !name.is_empty()))
    }

    /// Where the daemon of a context listens.
    pub(crate) fn endpoint(&self, name: &str, by: &LocatedBy) -> Result<Endpoint, DockerError> {
        let id = context_id(name);
        let folder = self.folder.clone().unwrap_or_default();
        let path = folder.join("contexts/meta").join(&id).join("meta.json");
        let Some(context) = read_json::<ContextFile>(&path)? else {
            return Err(DockerError::UnknownContext {
                name: name.to_owned(),
                by: by.clone(),
                path,
                known: self.names(),
            });
        };
        let Some(docker) = context.endpoints.docker else {
            return Err(DockerError::ContextWithoutEndpoint {
                name: name.to_owned(),
                path,
            });
        };
        if docker.host.is_empty() {
            return Ok(Endpoint::Unix(sockets::default_socket(Path::new("/"))));
        }
        let tls = tls_files(
            &folder.join("contexts/tls").join(&id).join("docker"),
            docker.skip_tls_verify,
        );
        host::parse_in_context(&docker.host, tls).map_err(|source| DockerError::InvalidHost {
            address: docker.host,
            by: by.clone(),
            source,
        })
    }

    /// The names of all contexts that can be read, sorted, without `default`.
    fn names(&self) -> Vec<String> {
        let Some(folder) = &self.folder else {
            return Vec::new();
        };
        let Ok(entries) = std::fs::read_dir(folder.join("contexts/meta")) else {
            return Vec::new();
        };
        let mut names: Vec<String> = entries
            .flatten()
            .filter_map(|entry| read_json::<ContextFile>(&entry.path().join("meta.json")).ok()?)
            .map(|context| context.name)
            .filter(|name| !name.is_empty())
            .collect();
        names.sort();
        names
    }
}

#[derive(Deserialize)]
struct ConfigFile {
    #[serde(rename = "currentContext")]
    current_context: Option<String>,
}

#[derive(Deserialize)]
struct ContextFile {
    #[serde(rename = "Name", default)]
    name: String,
    #[serde(rename = "Endpoints", default)]
    endpoints: Endpoints,
}

#[derive(Deserialize, Default)]
struct Endpoints {
    docker: Option<ContextEndpoint>,
}

#[derive(Deserialize)]
struct ContextEndpoint {
    #[serde(rename = "Host", default)]
    host: String,
    #[serde(rename = "SkipTLSVerify", default)]
    skip_tls_verify: bool,
}

/// TLS is spoken when the context has files for it or skips the check, as the docker command has it.
fn tls_files(folder: &Path, skip: bool) -> Option<TlsFiles> {
    let present = |name: &str| Some(folder.join(name)).filter(|path| path.exists());
    let ca = present("ca.pem");
    let client = match (present("cert.pem"), present("key.pem")) {
        (Some(certificate), Some(key)) => Some(ClientFiles { certificate, key }),
        _ => None,
    };
    if ca.is_none() && client.is_none() && !skip {
        return None;
    }
    Some(TlsFiles {
        ca,
        client,
        server: if skip {
            ServerCheck::Skip
        } else {
            ServerCheck::Verify
        },
    })
}

pub(crate) fn context_id(name: &str) -> String {
    let digest = Sha256::digest(name.as_bytes());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Reads a file of the docker configuration; `None` when there is none.
fn read_json<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, DockerError> {
    let bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(source) => {
            return Err(DockerError::Unreadable {
                path: path.to_owned(),
                source,
            });
        }
    };
    // The position alone: the file may hold registry passwords, and the parser quotes what it stumbles over.
    serde_json::from_slice(&bytes)
        .map(Some)
        .map_err(|error| DockerError::CorruptConfig {
            path: path.to_owned(),
            line: error.line(),
            column: error.column(),
        })
}
