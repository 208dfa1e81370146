//! The URL at which a control plane dials a member. Pure.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

use url::{Host, Url};

/// An `apiEndpoint`, taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    url: Url,
    host: String,
    address: Option<IpAddr>,
}

impl Endpoint {
    /// Reads what a `Cluster` holds.
    ///
    /// # Errors
    /// What is wrong with the text.
    pub fn parse(text: &str) -> Result<Endpoint, EndpointError> {
        let url = Url::parse(text).map_err(|error| match error {
            url::ParseError::RelativeUrlWithoutBase => EndpointError::NoScheme,
            other => EndpointError::NotAUrl(other),
        })?;
        if !matches!(url.scheme(), "https" | "http") {
            // `localhost:6443` has no scheme, but reads as if it had one.
            return Err(if text.contains("://") {
                EndpointError::NotHttps
            } else {
                EndpointError::NoScheme
            });
        }
        let (host, address) = match url.host() {
            Some(Host::Domain(name)) => (name.to_owned(), None),
            Some(Host::Ipv4(address)) => (address.to_string(), Some(IpAddr::V4(address))),
            Some(Host::Ipv6(address)) => (address.to_string(), Some(IpAddr::V6(address))),
            None => return Err(EndpointError::NoHost),
        };
        Ok(Endpoint { url, host, address })
    }

    /// Reads what a person gives with `--endpoint`: an `https` URL of host and port, and nothing else.
    ///
    /// # Errors
    /// What is wrong with the text.
    pub fn given(text: &str) -> Result<Endpoint, EndpointError> {
        if has_bare_ipv6(text) {
            return Err(EndpointError::BareIpv6);
        }
        let endpoint = Endpoint::parse(text)?;
        let url = &endpoint.url;
        if url.scheme() != "https" {
            Err(EndpointError::NotHttps)
        } else if !url.username().is_empty() || url.password().is_some() {
            Err(EndpointError::UserInfo)
        } else if url.query().is_some() || url.fragment().is_some() {
            Err(EndpointError::Query)
        } else if !matches!(url.path(), "" | "/") {
            Err(EndpointError::Path)
        } else if url.port() == Some(0) {
            Err(EndpointError::Port)
        } else {
            Ok(endpoint)
        }
    }

    /// The endpoint at an address and a port.
    pub fn at(address: IpAddr, port: u16) -> Endpoint {
        let host = match address {
            IpAddr::V4(address) => address.to_string(),
            IpAddr::V6(address) => format!("[{address}]"),
        };
        Endpoint::parse(&format!("https://{host}:{port}"))
            .expect("an address and a port make a URL")
    }

    /// The server of a proxy (`spec.proxyURL`: `http`, `https` or `socks5`), as a place to dial; `None` = the text cannot be
    /// read.
    pub fn proxy(text: &str) -> Option<Endpoint> {
        let url = Url::parse(text).ok()?;
        let usual = match url.scheme() {
            "http" => 80,
            "https" => 443,
            "socks5" => 1080,
            _ => return None,
        };
        // Hosts of schemes that the URL standard does not know are not taken apart.
        let host = url.host_str()?;
        Endpoint::parse(&format!("http://{host}:{}", url.port().unwrap_or(usual))).ok()
    }

    /// The endpoint at a name and a port; `None` = it is no name of a host.
    pub fn named(name: &str, port: u16) -> Option<Endpoint> {
        let endpoint = Endpoint::parse(&format!("https://{name}:{port}")).ok()?;
        (endpoint.host == name && endpoint.address.is_none()).then_some(endpoint)
    }

    /// The host without brackets: a name or an address.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The host when it is an address.
    pub fn address(&self) -> Option<IpAddr> {
        self.address
    }

    /// The port that is dialled, 443 when none is written.
    pub fn port(&self) -> u16 {
        self.url.port_or_known_default().unwrap_or(443)
    }

    /// Whether a container that dials this dials itself: an unspecified or loopback address, or `localhost`.
    pub fn is_own_host(&self) -> bool {
        match self.address {
            Some(IpAddr::V4(address)) => address.is_unspecified() || address.is_loopback(),
            Some(IpAddr::V6(address)) => own_ipv6(address),
            None => {
                let name = self.host.trim_end_matches('.');
                name == "localhost" || name.ends_with(".localhost")
            }
        }
    }

    /// Whether it names the machine that runs Docker, as seen from that machine or from its containers.
    pub fn is_docker_host(&self) -> bool {
        let names = [
            "host.docker.internal",
            "host.k3d.internal",
            "host.containers.internal",
        ];
        self.is_own_host() || names.contains(&self.host.as_str())
    }

    /// Whether it is dialled with TLS.
    pub fn is_https(&self) -> bool {
        self.url.scheme() == "https"
    }

    /// Whether a slash ends it, which makes Karmada's proxy answer 404 for single objects (karmada-io/karmada#5228).
    pub fn ends_in_slash(text: &str) -> bool {
        text.ends_with('/')
    }

    /// Whether both lead to the same place: scheme, host, port and path, a final slash aside.
    pub fn leads_where(&self, other: &Endpoint) -> bool {
        self.url.scheme() == other.url.scheme()
            && self.host == other.host
            && self.port() == other.port()
            && self.url.path().trim_end_matches('/') == other.url.path().trim_end_matches('/')
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let host = match self.address {
            Some(IpAddr::V6(_)) => format!("[{}]", self.host),
            _ => self.host.clone(),
        };
        let port = match (self.url.port(), self.url.scheme()) {
            (Some(port), _) => port,
            (None, _) => self.port(),
        };
        write!(
            f,
            "{}://{host}:{port}{}",
            self.url.scheme(),
            self.url.path().trim_end_matches('/')
        )
    }
}

/// What is wrong with the text of an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum EndpointError {
    /// No `https://`.
    #[error("it has no scheme; write https://HOST:PORT")]
    NoScheme,
    /// Another scheme.
    #[error("the scheme must be https")]
    NotHttps,
    /// No host.
    #[error("it has no host; write https://HOST:PORT")]
    NoHost,
    /// An IPv6 address without brackets.
    #[error("an IPv6 address needs brackets; write https://[ADDRESS]:PORT")]
    BareIpv6,
    /// A user or password.
    #[error("it must hold no user or password")]
    UserInfo,
    /// A query or fragment.
    #[error("it must hold no query or fragment")]
    Query,
    /// A path.
    #[error("it must hold no path; write https://HOST:PORT")]
    Path,
    /// Port 0.
    #[error("the port must be between 1 and 65535")]
    Port,
    /// Anything else.
    #[error("it is not a URL: {0}")]
    NotAUrl(url::ParseError),
}

fn own_ipv6(address: Ipv6Addr) -> bool {
    address.is_unspecified()
        || address.is_loopback()
        || address
            .to_ipv4_mapped()
            .is_some_and(|address| address.is_loopback() || address.is_unspecified())
}

fn has_bare_ipv6(text: &str) -> bool {
    let rest = text.split_once("://").map_or(text, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    !authority.contains('[') && authority.matches(':').count() > 1 && !authority.contains('@')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_given_endpoint_is_a_host_and_a_port() {
        let cases = [
            ("https://172.20.0.3:6443", Ok("https://172.20.0.3:6443")),
            ("https://172.20.0.3:6443/", Ok("https://172.20.0.3:6443")),
            ("https://member.example", Ok("https://member.example:443")),
            ("https://[fd00::3]:6443", Ok("https://[fd00::3]:6443")),
            ("172.20.0.3:6443", Err(EndpointError::NoScheme)),
            ("localhost:6443", Err(EndpointError::NoScheme)),
            ("http://172.20.0.3:6443", Err(EndpointError::NotHttps)),
            (
                "https://",
                Err(EndpointError::NotAUrl(url::ParseError::EmptyHost)),
            ),
            ("https://fd00::3:6443", Err(EndpointError::BareIpv6)),
            ("fd00::3", Err(EndpointError::BareIpv6)),
            ("https://me:secret@h:1", Err(EndpointError::UserInfo)),
            ("https://h:1?x=1", Err(EndpointError::Query)),
            ("https://h:1/k8s/clusters/c-1", Err(EndpointError::Path)),
            ("https://h:0", Err(EndpointError::Port)),
        ];
        for (text, expected) in cases {
            let read = Endpoint::given(text).map(|endpoint| endpoint.to_string());
            assert_eq!(read, expected.map(str::to_owned), "{text}");
        }
        assert!(Endpoint::given("https://h:99999").is_err());
        assert!(Endpoint::given("").is_err());
    }

    #[test]
    fn own_hosts_are_recognised() {
        let cases = [
            ("https://0.0.0.0:6550", true),
            ("https://127.0.0.1:6550", true),
            ("https://127.1.2.3:6550", true),
            ("https://[::1]:6550", true),
            ("https://[::]:6550", true),
            ("https://[::ffff:127.0.0.1]:6550", true),
            ("https://localhost:6550", true),
            ("https://host.docker.internal:6550", false),
            ("https://172.20.0.3:6443", false),
        ];
        for (text, expected) in cases {
            let endpoint = Endpoint::parse(text).expect("the case is a URL");
            assert_eq!(endpoint.is_own_host(), expected, "{text}");
        }
    }

    #[test]
    fn a_final_slash_and_the_default_port_lead_to_the_same_place() {
        let parse = |text| Endpoint::parse(text).expect("the case is a URL");
        assert!(parse("https://h:6443/").leads_where(&parse("https://h:6443")));
        assert!(parse("https://h").leads_where(&parse("https://h:443")));
        assert!(!parse("https://h/a").leads_where(&parse("https://h/b")));
        assert!(!parse("https://h:1").leads_where(&parse("https://h:2")));
    }
}
