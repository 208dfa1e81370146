//! A daemon's address as it is written: DOCKER_HOST, `-H`, or the host of a context. Pure but for the look whether
//! the client's TLS files are there.

use std::path::{Path, PathBuf};

use url::{Host, Url};

use crate::docker::endpoint::{ClientFiles, Endpoint, ServerCheck, TlsFiles};
use crate::env::Env;

/// Why an address cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HostError {
    /// The scheme is none that is spoken here.
    #[error("the scheme {0}:// is not supported; use unix://, tcp:// or ssh://")]
    Scheme(String),
    /// The socket's path is missing or not absolute.
    #[error("a socket needs an absolute path, as in unix:///var/run/docker.sock")]
    SocketPath,
    /// The rest of a TCP address is not `HOST:PORT`.
    #[error("expected tcp://HOST:PORT: {0}")]
    Tcp(String),
    /// The rest of an ssh address is not `[USER@]HOST[:PORT]`.
    #[error("expected ssh://[USER@]HOST[:PORT]: {0}")]
    Ssh(String),
    /// TLS is asked for, and there is no folder that could hold its files.
    #[error("TLS is asked for, but neither DOCKER_CERT_PATH nor HOME is set")]
    NoCertificateFolder,
}

/// Reads an address given by hand, with TLS as DOCKER_TLS_VERIFY, DOCKER_TLS and DOCKER_CERT_PATH say.
pub(crate) fn parse(address: &str, env: &Env) -> Result<Endpoint, HostError> {
    parse_with(address, || tls_of(env))
}

/// Reads the address of a context, which says by itself whether TLS is spoken.
pub(crate) fn parse_in_context(
    address: &str,
    tls: Option<TlsFiles>,
) -> Result<Endpoint, HostError> {
    parse_with(address, || Ok(tls))
}

fn parse_with(
    address: &str,
    tls: impl FnOnce() -> Result<Option<TlsFiles>, HostError>,
) -> Result<Endpoint, HostError> {
    let address = address.trim();
    match address.split_once("://") {
        Some(("unix", path)) if Path::new(path).is_absolute() => {
            Ok(Endpoint::Unix(PathBuf::from(path)))
        }
        Some(("unix", _)) => Err(HostError::SocketPath),
        Some(("tcp" | "http", rest)) => tcp(rest, tls()?),
        Some(("https", rest)) => tcp(rest, Some(tls()?.unwrap_or(TlsFiles::SYSTEM))),
        Some(("ssh", rest)) => ssh(rest),
        Some((scheme, _)) => Err(HostError::Scheme(scheme.to_owned())),
        None if address.starts_with('/') => Err(HostError::SocketPath),
        None => tcp(address, tls()?),
    }
}

impl TlsFiles {
    /// TLS with what the system trusts.
    const SYSTEM: TlsFiles = TlsFiles {
        ca: None,
        client: None,
        server: ServerCheck::Verify,
    };
}

fn tcp(rest: &str, tls: Option<TlsFiles>) -> Result<Endpoint, HostError> {
    let host = match rest {
        "" => "localhost",
        rest if rest.starts_with(':') => "localhost",
        _ => "",
    };
    let url = Url::parse(&format!("tcp://{host}{rest}"))
        .map_err(|error| HostError::Tcp(error.to_string()))?;
    if !matches!(url.path(), "" | "/") || url.query().is_some() || url.fragment().is_some() {
        return Err(HostError::Tcp("nothing may follow the port".to_owned()));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(HostError::Tcp("a user has no place in it".to_owned()));
    }
    let host = host_of(&url).ok_or_else(|| HostError::Tcp("the host is missing".to_owned()))?;
    let default_port = if tls.is_some() { TLS_PORT } else { PLAIN_PORT };
    Ok(Endpoint::Tcp {
        host,
        port: url.port().unwrap_or(default_port),
        tls,
    })
}

fn ssh(rest: &str) -> Result<Endpoint, HostError> {
    let url =
        Url::parse(&format!("ssh://{rest}")).map_err(|error| HostError::Ssh(error.to_string()))?;
    if url.password().is_some() {
        return Err(HostError::Ssh("a password has no place in it".to_owned()));
    }
    if !matches!(url.path(), "" | "/") || url.query().is_some() || url.fragment().is_some() {
        return Err(HostError::Ssh("nothing may follow the host".to_owned()));
    }
    let host = host_of(&url).ok_or_else(|| HostError::Ssh("the host is missing".to_owned()))?;
    let user = Some(url.username()).filter(|user| !user.is_empty());
    // ssh would take such a word for an option.
    if host.starts_with('-') || user.is_some_and(|user| user.starts_with('-')) {
        return Err(HostError::Ssh("no part may start with a dash".to_owned()));
    }
    Ok(Endpoint::Ssh {
        user: user.map(str::to_owned),
        host,
        port: url.port(),
    })
}

fn host_of(url: &Url) -> Option<String> {
    match url.host()? {
        Host::Domain("") => None,
        Host::Domain(name) => Some(name.to_owned()),
        Host::Ipv4(address) => Some(address.to_string()),
        Host::Ipv6(address) => Some(address.to_string()),
    }
}

/// TLS as the docker command takes it from the environment; client files that are not there are left out, as it does.
fn tls_of(env: &Env) -> Result<Option<TlsFiles>, HostError> {
    let server = match (env.var("DOCKER_TLS_VERIFY"), env.var("DOCKER_TLS")) {
        (Some(_), _) => ServerCheck::Verify,
        (None, Some(_)) => ServerCheck::Skip,
        (None, None) => return Ok(None),
    };
    let folder = match (env.var("DOCKER_CERT_PATH"), docker_config(env)) {
        (Some(folder), _) => PathBuf::from(folder),
        (None, Some(folder)) => folder,
        (None, None) => return Err(HostError::NoCertificateFolder),
    };
    let (certificate, key) = (folder.join("cert.pem"), folder.join("key.pem"));
    Ok(Some(TlsFiles {
        ca: Some(folder.join("ca.pem")).filter(|_| server == ServerCheck::Verify),
        client: (certificate.exists() && key.exists()).then_some(ClientFiles { certificate, key }),
        server,
    }))
}

/// The folder of the docker configuration: `$DOCKER_CONFIG`, else `~/.docker`; `None` without a home folder.
pub(crate) fn docker_config(env: &Env) -> Option<PathBuf> {
    match env.var("DOCKER_CONFIG") {
        Some(folder) => Some(PathBuf::from(folder)),
        None => env.home().map(|home| home.join(".docker")),
    }
}

const PLAIN_PORT: u16 = 2375;
const TLS_PORT: u16 = 2376;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn parsed(address: &str) -> String {
        match parse(address, &Env::default()) {
            Ok(endpoint) => endpoint.to_string(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn reads_addresses_as_the_docker_command_writes_them() {
        let cases = [
            ("unix:///var/run/docker.sock", "unix:///var/run/docker.sock"),
            (" unix:///d.sock ", "unix:///d.sock"),
            ("tcp://10.0.0.9:2375", "tcp://10.0.0.9:2375"),
            ("tcp://docker.local", "tcp://docker.local:2375"),
            ("tcp://[fd00::1]:2375/", "tcp://[fd00::1]:2375"),
            ("tcp://:1234", "tcp://localhost:1234"),
            ("tcp://", "tcp://localhost:2375"),
            ("http://docker:1", "tcp://docker:1"),
            ("https://docker", "tcp://docker:2376"),
            ("docker:2375", "tcp://docker:2375"),
            ("10.0.0.9", "tcp://10.0.0.9:2375"),
            ("ssh://far", "ssh://far"),
            ("ssh://me@far:2222", "ssh://me@far:2222"),
        ];
        for (address, expected) in cases {
            assert_eq!(parsed(address), expected, "{address}");
        }
    }

    #[test]
    fn refuses_what_is_no_address() {
        let cases = [
            (
                "npipe:////./pipe/docker_engine",
                "the scheme npipe:// is not supported; use unix://, tcp:// or ssh://",
            ),
            (
                "/var/run/docker.sock",
                "a socket needs an absolute path, as in unix:///var/run/docker.sock",
            ),
            (
                "unix://docker.sock",
                "a socket needs an absolute path, as in unix:///var/run/docker.sock",
            ),
            (
                "tcp://docker:2375/v1.41",
                "expected tcp://HOST:PORT: nothing may follow the port",
            ),
            (
                "tcp://me@docker:2375",
                "expected tcp://HOST:PORT: a user has no place in it",
            ),
            (
                "tcp://docker:70000",
                "expected tcp://HOST:PORT: invalid port number",
            ),
            (
                "ssh://far/var/run/docker.sock",
                "expected ssh://[USER@]HOST[:PORT]: nothing may follow the host",
            ),
            (
                "ssh://-oProxyCommand=x",
                "expected ssh://[USER@]HOST[:PORT]: no part may start with a dash",
            ),
            (
                "ssh://-l@far",
                "expected ssh://[USER@]HOST[:PORT]: no part may start with a dash",
            ),
            (
                "ssh://me:word@far",
                "expected ssh://[USER@]HOST[:PORT]: a password has no place in it",
            ),
        ];
        for (address, expected) in cases {
            assert_eq!(parsed(address), expected, "{address}");
        }
    }

    #[test]
    fn speaks_tls_as_the_environment_says() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().to_str().unwrap();
        let (certificate, key) = (
            folder.path().join("cert.pem"),
            folder.path().join("key.pem"),
        );
        let tls =
            |variables: [(&str, &str); 3]| match parse("tcp://far", &Env::of(variables)).unwrap() {
                Endpoint::Tcp { port, tls, .. } => (port, tls),
                other => panic!("{other}"),
            };
        let files = |ca: Option<PathBuf>, client, server| Some(TlsFiles { ca, client, server });
        let ca = Some(folder.path().join("ca.pem"));
        let here = ("DOCKER_CERT_PATH", path);

        assert_eq!(
            tls([here, ("DOCKER_TLS_VERIFY", ""), ("DOCKER_TLS", "")]),
            (2375, None)
        );
        let verifying = [here, ("DOCKER_TLS_VERIFY", "1"), ("DOCKER_TLS", "")];
        assert_eq!(
            tls(verifying),
            (2376, files(ca.clone(), None, ServerCheck::Verify))
        );
        let skipping = [here, ("DOCKER_TLS_VERIFY", ""), ("DOCKER_TLS", "1")];
        assert_eq!(tls(skipping), (2376, files(None, None, ServerCheck::Skip)));

        std::fs::write(&certificate, "").unwrap();
        std::fs::write(&key, "").unwrap();
        let client = Some(ClientFiles { certificate, key });
        assert_eq!(
            tls(verifying),
            (2376, files(ca, client, ServerCheck::Verify))
        );
    }

    #[test]
    fn needs_a_folder_for_the_files_of_tls() {
        let env = Env::of([("DOCKER_TLS_VERIFY", "1")]);
        assert_eq!(
            parse("tcp://far", &env),
            Err(HostError::NoCertificateFolder)
        );
    }
}
