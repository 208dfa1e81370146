//! Which proxy a request goes through. Pure.

use std::net::IpAddr;

use http::Uri;
use ipnet::IpNet;

use crate::env::Env;

/// The proxies that the environment names, and the hosts it keeps away from them.
///
/// Follows Go's `golang.org/x/net/http/httpproxy`, which kubectl uses: `HTTPS_PROXY` or `HTTP_PROXY` by the scheme of
/// the server, upper case before lower case; loopback addresses and `localhost` are never proxied.
#[derive(Clone, Default)]
pub struct ProxyRules {
    https: Option<String>,
    http: Option<String>,
    exempt: Vec<Exemption>,
}

impl ProxyRules {
    /// Reads `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY` and their lower-case twins.
    pub fn from_env(env: &Env) -> ProxyRules {
        let first = |names: [&str; 2]| {
            names
                .into_iter()
                .find_map(|name| env.var(name))
                .map(str::to_owned)
        };
        ProxyRules {
            https: first(["HTTPS_PROXY", "https_proxy"]),
            http: first(["HTTP_PROXY", "http_proxy"]),
            exempt: exemptions(&first(["NO_PROXY", "no_proxy"]).unwrap_or_default()),
        }
    }

    /// The proxy for requests to a server; `None` = requests go straight to it.
    ///
    /// # Errors
    /// The name of the variable that does not hold the URL of a proxy.
    pub fn proxy_for(&self, server: &Uri) -> Result<Option<Uri>, &'static str> {
        let (name, proxy) = match server.scheme_str() {
            Some("http") => ("HTTP_PROXY", &self.http),
            _ => ("HTTPS_PROXY", &self.https),
        };
        match proxy {
            Some(proxy) if self.applies_to(server) => proxy_url(proxy).map(Some).ok_or(name),
            _ => Ok(None),
        }
    }

    fn applies_to(&self, server: &Uri) -> bool {
        let Some(host) = server.host() else {
            return false;
        };
        let host = host
            .trim_start_matches('[')
            .trim_end_matches(']')
            .to_ascii_lowercase();
        let port = effective_port(server);
        let address = host.parse::<IpAddr>().ok();
        let local = host == "localhost" || address.is_some_and(|address| address.is_loopback());
        !local
            && !self
                .exempt
                .iter()
                .any(|exemption| exemption.covers(&host, address, port))
    }
}

/// The URL of a proxy as the environment may write it: without a scheme it is an HTTP proxy; `None` = not a URL.
pub(crate) fn proxy_url(text: &str) -> Option<Uri> {
    match known_scheme(text) {
        Some(url) => Some(url),
        None if text.contains("://") => None,
        None => known_scheme(&format!("http://{text}")),
    }
}

/// The port that a server listens on: the one in its URL, else that of the scheme.
pub(crate) fn effective_port(server: &Uri) -> u16 {
    server.port_u16().unwrap_or(match server.scheme_str() {
        Some("http") => 80,
        Some("socks5") => 1080,
        _ => 443,
    })
}

/// The URL of a proxy whose scheme is spoken here; `socks5h` is `socks5`, which resolves names at the proxy too.
pub(crate) fn known_scheme(text: &str) -> Option<Uri> {
    let text = match text.strip_prefix("socks5h://") {
        Some(rest) => format!("socks5://{rest}"),
        None => text.to_owned(),
    };
    let url: Uri = text.parse().ok()?;
    url.host().filter(|host| !host.is_empty())?;
    matches!(url.scheme_str(), Some("http" | "https" | "socks5")).then_some(url)
}

/// One entry of `NO_PROXY`.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Exemption {
    All,
    Network(IpNet),
    Address(IpAddr, Option<u16>),
    Domain {
        suffix: String,
        itself: bool,
        port: Option<u16>,
    },
}

impl Exemption {
    fn covers(&self, host: &str, address: Option<IpAddr>, port: u16) -> bool {
        let same_port = |wanted: &Option<u16>| wanted.is_none_or(|wanted| wanted == port);
        match self {
            Exemption::All => true,
            Exemption::Network(network) => {
                address.is_some_and(|address| network.contains(&address))
            }
            Exemption::Address(exempt, wanted) => address == Some(*exempt) && same_port(wanted),
            Exemption::Domain {
                suffix,
                itself,
                port: wanted,
            } => {
                let host = host.trim_end_matches('.');
                (host.ends_with(suffix.as_str()) || (*itself && host == &suffix[1..]))
                    && same_port(wanted)
            }
        }
    }
}

fn exemptions(no_proxy: &str) -> Vec<Exemption> {
    no_proxy
        .split(',')
        .filter_map(|entry| exemption(&entry.trim().to_ascii_lowercase()))
        .collect()
}

fn exemption(entry: &str) -> Option<Exemption> {
    if entry == "*" {
        return Some(Exemption::All);
    }
    if let Ok(network) = entry.parse::<IpNet>() {
        return Some(Exemption::Network(network));
    }
    let (host, port) = host_and_port(entry);
    if let Ok(address) = host.parse::<IpAddr>() {
        return Some(Exemption::Address(address, port));
    }
    let domain = host
        .strip_prefix('*')
        .filter(|rest| rest.starts_with('.'))
        .unwrap_or(host);
    match domain.strip_prefix('.') {
        _ if domain.is_empty() => None,
        Some(_) => Some(Exemption::Domain {
            suffix: domain.to_owned(),
            itself: false,
            port,
        }),
        None => Some(Exemption::Domain {
            suffix: format!(".{domain}"),
            itself: true,
            port,
        }),
    }
}

/// Splits `host:port`, `[v6]:port` and `[v6]`; a bare IPv6 address has no port.
fn host_and_port(entry: &str) -> (&str, Option<u16>) {
    if let Some((host, rest)) = entry
        .strip_prefix('[')
        .and_then(|entry| entry.split_once(']'))
    {
        return (
            host,
            rest.strip_prefix(':').and_then(|port| port.parse().ok()),
        );
    }
    match entry.split_once(':') {
        Some((host, port)) if !port.contains(':') => match port.parse() {
            Ok(port) => (host, Some(port)),
            Err(_) => (host, None),
        },
        _ => (entry, None),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn is_proxied(no_proxy: &str, server: &str) -> bool {
        let env = Env::of([("HTTPS_PROXY", "http://proxy:3128"), ("NO_PROXY", no_proxy)]);
        let server = server.parse().unwrap();
        ProxyRules::from_env(&env)
            .proxy_for(&server)
            .unwrap()
            .is_some()
    }

    #[test]
    fn exempts_what_no_proxy_names() {
        let table = [
            ("", "https://example.org", true),
            ("", "https://localhost:6443", false),
            ("", "https://127.0.0.1:6443", false),
            ("", "https://127.8.0.1", false),
            ("", "https://[::1]:6443", false),
            ("", "https://0.0.0.0:6443", true),
            ("*", "https://example.org", false),
            ("example.org", "https://example.org:6443", false),
            ("example.org", "https://EXAMPLE.org", false),
            ("Example.Org", "https://api.example.org", false),
            ("example.org", "https://badexample.org", true),
            (".example.org", "https://api.example.org", false),
            (".example.org", "https://example.org", true),
            ("*.example.org", "https://api.example.org", false),
            ("*.example.org", "https://example.org", true),
            ("example.org:6443", "https://example.org:6443", false),
            ("example.org:443", "https://example.org", false),
            ("example.org:6443", "https://example.org", true),
            ("172.18.0.0/16", "https://172.18.0.3:6443", false),
            ("172.18.0.0/16", "https://172.19.0.3:6443", true),
            ("172.18.0.0/16", "https://172.18.0.3.example.org", true),
            ("172.18.0.3", "https://172.18.0.3:6443", false),
            ("172.18.0.3:6443", "https://172.18.0.3:6443", false),
            ("172.18.0.3:6443", "https://172.18.0.3", true),
            ("fd00::/8", "https://[fd00::3]:6443", false),
            ("fd00::3", "https://[fd00::3]:6443", false),
            ("[fd00::3]:6443", "https://[fd00::3]:6443", false),
            ("[fd00::3]:6443", "https://[fd00::3]", true),
            (" example.org , 10.0.0.0/8 ,", "https://10.1.2.3", false),
            (" example.org , 10.0.0.0/8 ,", "https://example.org", false),
            (",,", "https://example.org", true),
            (":6443", "https://example.org:6443", true),
            ("example.org", "https://example.org.", false),
        ];
        for (no_proxy, server, proxied) in table {
            assert_eq!(
                is_proxied(no_proxy, server),
                proxied,
                "NO_PROXY={no_proxy:?} {server}"
            );
        }
    }

    #[test]
    fn reads_the_proxy_of_the_scheme_upper_case_first() {
        let table = [
            (
                [("HTTPS_PROXY", "http://a:1"), ("https_proxy", "http://b:2")],
                "https://x.io",
                Some("http://a:1/"),
            ),
            (
                [("HTTPS_PROXY", ""), ("https_proxy", "http://b:2")],
                "https://x.io",
                Some("http://b:2/"),
            ),
            (
                [("HTTP_PROXY", "http://a:1"), ("https_proxy", "http://b:2")],
                "http://x.io",
                Some("http://a:1/"),
            ),
            (
                [("HTTP_PROXY", "http://a:1"), ("no_proxy", "")],
                "https://x.io",
                None,
            ),
            (
                [("HTTPS_PROXY", "http://a:1"), ("no_proxy", "x.io")],
                "https://x.io",
                None,
            ),
            (
                [("HTTPS_PROXY", "proxy.corp:3128"), ("no_proxy", "")],
                "https://x.io",
                Some("http://proxy.corp:3128/"),
            ),
            (
                [("HTTPS_PROXY", "socks5h://s:1080"), ("no_proxy", "")],
                "https://x.io",
                Some("socks5://s:1080/"),
            ),
        ];
        for (variables, server, expected) in table {
            let rules = ProxyRules::from_env(&Env::of(variables));
            let proxy = rules.proxy_for(&server.parse().unwrap()).unwrap();
            assert_eq!(
                proxy.map(|proxy| proxy.to_string()).as_deref(),
                expected,
                "{variables:?}"
            );
        }
    }

    #[test]
    fn names_the_variable_that_is_no_url() {
        for value in ["ftp://proxy:21", "http://", "ssh://proxy"] {
            let rules = ProxyRules::from_env(&Env::of([("HTTPS_PROXY", value)]));
            assert_eq!(
                rules.proxy_for(&"https://x.io".parse().unwrap()),
                Err("HTTPS_PROXY"),
                "{value}"
            );
        }
    }
}
