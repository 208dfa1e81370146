//! The plugin's own flags, and what they mean together. Pure.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueHint};
use karmada_repair::error::UsageError;

use crate::threshold::{Threshold, Thresholds};

/// The plugin's own flags.
#[derive(Debug, Args)]
pub struct CheckCertsArgs {
    /// A file, or a folder with all files in it, to examine; may be repeated
    #[arg(long, value_name = "PATH", value_hint = ValueHint::AnyPath)]
    path: Vec<PathBuf>,
    /// A server to ask for its certificates; may be repeated
    #[arg(long, value_name = "HOST:PORT")]
    endpoint: Vec<String>,
    /// Member clusters to examine, as karmadactl takes them [default: all]
    #[arg(short = 'C', long, value_name = "CLUSTER", value_delimiter = ',')]
    clusters: Vec<String>,
    /// What is left of a life when it becomes a warning, as 30d, 720h or 30% of the lifetime [default: 30d, at most a third of the lifetime]
    #[arg(long, value_name = "DURATION|PERCENT", value_parser = Threshold::parse)]
    warn_within: Option<Threshold>,
    /// What is left of a life when it becomes an error, as 7d, 48h or 10% of the lifetime
    #[arg(long, value_name = "DURATION|PERCENT", default_value = "0", value_parser = Threshold::parse)]
    fail_within: Threshold,
    /// How many servers are asked at the same time
    #[arg(long, value_name = "NUMBER", default_value_t = 32, value_parser = clap::value_parser!(u16).range(1..=1024))]
    concurrency: u16,
    /// How long a server may take to show its certificates
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = probe_timeout)]
    probe_timeout: Duration,
    /// Do not ask any server for its certificates
    #[arg(long, conflicts_with = "endpoint")]
    no_probe: bool,
}

/// What the flags mean together.
#[derive(Debug, Clone)]
pub struct Config {
    /// The files and folders to examine.
    pub paths: Vec<PathBuf>,
    /// The servers to ask.
    pub endpoints: Vec<Endpoint>,
    /// The members to examine; empty = all.
    pub clusters: Vec<String>,
    /// How long certificates must still live.
    pub thresholds: Thresholds,
    /// How many servers are asked at the same time.
    pub concurrency: usize,
    /// How long a server may take.
    pub probe_timeout: Duration,
    /// Whether servers are asked at all.
    pub probe: bool,
}

/// A server by host and port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// A name, or an address without brackets.
    pub host: String,
    /// The port.
    pub port: u16,
}

impl Config {
    /// What the flags mean together.
    ///
    /// # Errors
    /// When the command line cannot be followed.
    pub fn resolve(args: CheckCertsArgs) -> Result<Config, UsageError> {
        let CheckCertsArgs {
            path,
            endpoint,
            clusters,
            warn_within,
            fail_within,
            concurrency,
            probe_timeout,
            no_probe,
        } = args;
        if path.iter().any(|path| path.as_os_str().is_empty()) {
            return Err(UsageError::new("--path is empty"));
        }
        if clusters.iter().any(String::is_empty) {
            return Err(UsageError::new("a cluster name is empty"));
        }
        let mut endpoints = Vec::new();
        for given in endpoint {
            let endpoint = Endpoint::parse(&given)?;
            if !endpoints.contains(&endpoint) {
                endpoints.push(endpoint);
            }
        }
        Ok(Config {
            paths: path,
            endpoints,
            clusters,
            thresholds: Thresholds {
                warn: warn_within,
                fail: fail_within,
            },
            concurrency: usize::from(concurrency),
            probe_timeout,
            probe: !no_probe,
        })
    }

    /// Whether the command line names what is to be examined.
    pub fn names_sources(&self) -> bool {
        !self.paths.is_empty() || !self.endpoints.is_empty()
    }

    /// Whether a member is to be examined.
    pub fn selects(&self, cluster: &str) -> bool {
        self.clusters.is_empty() || self.clusters.iter().any(|name| name == cluster)
    }
}

impl Endpoint {
    /// Reads `HOST:PORT`, `[IPv6]:PORT` or `https://HOST[:PORT]`.
    fn parse(text: &str) -> Result<Endpoint, UsageError> {
        let wrong = || {
            UsageError::new(format!("--endpoint {text:?} is no HOST:PORT"))
                .with_hint("write it as --endpoint 172.18.0.2:6443 or --endpoint '[fd00::2]:6443'")
        };
        if let Some(rest) = text.strip_prefix("https://") {
            let url = url::Url::parse(text).map_err(|_| wrong())?;
            let host = url
                .host_str()
                .filter(|host| !host.is_empty())
                .ok_or_else(wrong)?;
            let plain = url.username().is_empty() && url.password().is_none();
            if !plain || rest.is_empty() {
                return Err(wrong());
            }
            return Ok(Endpoint {
                host: host.trim_matches(['[', ']']).to_owned(),
                port: url.port_or_known_default().unwrap_or(443),
            });
        }
        let (host, port) = text.rsplit_once(':').ok_or_else(wrong)?;
        let port = port
            .parse()
            .ok()
            .filter(|port| *port > 0)
            .ok_or_else(wrong)?;
        let bracketed = host
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'));
        let host = match bracketed {
            Some(inner) if inner.parse::<std::net::Ipv6Addr>().is_ok() => inner,
            None if !host.is_empty() && !host.contains([':', '/', '@', ' ']) => host,
            _ => return Err(wrong()),
        };
        Ok(Endpoint {
            host: host.to_owned(),
            port,
        })
    }
}

impl std::fmt::Display for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write_address(f, &self.host, self.port)
    }
}

/// Writes `host:port`, with brackets around IPv6.
pub(crate) fn write_address(
    f: &mut impl std::fmt::Write,
    host: &str,
    port: u16,
) -> std::fmt::Result {
    match host.contains(':') {
        true => write!(f, "[{host}]:{port}"),
        false => write!(f, "{host}:{port}"),
    }
}

/// The address as people write it.
pub(crate) fn address(host: &str, port: u16) -> String {
    let mut text = String::new();
    let _ = write_address(&mut text, host, port);
    text
}

fn probe_timeout(text: &str) -> Result<Duration, String> {
    let wrong = || format!("{text:?} is no length of time: write 10s or 1m");
    match Threshold::parse(text).map_err(|_| wrong())? {
        Threshold::Duration(duration) if !duration.is_zero() => {
            Duration::try_from(duration).map_err(|_| wrong())
        }
        _ => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_are_hosts_with_ports() {
        let cases = [
            ("10.0.0.1:6443", Some(("10.0.0.1", 6443))),
            ("[fd00::2]:6443", Some(("fd00::2", 6443))),
            ("name.svc:443", Some(("name.svc", 443))),
            ("https://name:5443", Some(("name", 5443))),
            ("https://[fd00::2]", Some(("fd00::2", 443))),
            ("name", None),
            ("fd00::2:6443", None),
            (":6443", None),
            ("name:0", None),
            ("name:66000", None),
            ("https://me:secret@name:1", None),
            ("http://name:1", None),
        ];
        for (text, expected) in cases {
            let parsed = Endpoint::parse(text).ok();
            let parsed = parsed
                .as_ref()
                .map(|endpoint| (endpoint.host.as_str(), endpoint.port));
            assert_eq!(parsed, expected, "{text}");
        }
    }
}
