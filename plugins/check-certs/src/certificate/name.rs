//! The names that a certificate is valid for, matched as Go does (`crypto/x509`, `VerifyHostname`). Pure.

use std::fmt;
use std::net::IpAddr;

use serde::{Serialize, Serializer};

/// A name of the extension subjectAltName (RFC 5280, 4.2.1.6).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum AlternativeName {
    /// dNSName, as written.
    Dns(String),
    /// iPAddress.
    Ip(IpAddr),
    /// Another kind, which no TLS server is found by.
    Other(String),
}

impl fmt::Display for AlternativeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AlternativeName::Dns(name) | AlternativeName::Other(name) => f.write_str(name),
            AlternativeName::Ip(address) => address.fmt(f),
        }
    }
}

impl Serialize for AlternativeName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// The address that a host is, with or without brackets; `None` = it is a name.
pub fn address_of(host: &str) -> Option<IpAddr> {
    let bare = host
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
        .unwrap_or(host);
    // Zones are of this machine and never in a certificate.
    let bare = bare.split('%').next().unwrap_or(bare);
    bare.parse().ok()
}

/// Whether one of these names is the host's. An address is found among addresses only, whatever a DNS name looks like.
pub fn covers(names: &[AlternativeName], host: &str) -> bool {
    match address_of(host) {
        Some(address) => names.iter().any(|name| match name {
            AlternativeName::Ip(other) => same_address(*other, address),
            AlternativeName::Dns(_) | AlternativeName::Other(_) => false,
        }),
        None => names.iter().any(|name| match name {
            AlternativeName::Dns(pattern) => matches_name(pattern, host),
            AlternativeName::Ip(_) | AlternativeName::Other(_) => false,
        }),
    }
}

/// Whether two addresses are one; an IPv4-mapped IPv6 address is the IPv4 address.
fn same_address(one: IpAddr, other: IpAddr) -> bool {
    one.to_canonical() == other.to_canonical()
}

fn matches_name(pattern: &str, host: &str) -> bool {
    let (pattern, host) = (pattern.to_ascii_lowercase(), host.to_ascii_lowercase());
    if !is_host(&host, false) || !is_host(&pattern, true) {
        return !host.is_empty() && host != "." && host == pattern;
    }
    let host = host.strip_suffix('.').unwrap_or(&host);
    let (mut pattern, mut host) = (pattern.split('.'), host.split('.'));
    for first in [true].into_iter().chain(std::iter::repeat(false)) {
        match (pattern.next(), host.next()) {
            (None, None) => return true,
            (Some("*"), Some(_)) if first => {}
            (Some(one), Some(other)) if one == other => {}
            _ => return false,
        }
    }
    unreachable!("the labels end")
}

/// Whether it is a host name as Go takes it: labels of letters, digits, `-` and `_`; `*` alone as the first one of a pattern.
fn is_host(name: &str, pattern: bool) -> bool {
    let name = match pattern {
        true => name,
        false => name.strip_suffix('.').unwrap_or(name),
    };
    if name.is_empty() {
        return false;
    }
    name.split('.').enumerate().all(|(index, label)| {
        let wildcard = pattern && index == 0 && label == "*";
        let plain = !label.is_empty()
            && !label.starts_with('-')
            && label
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_');
        wildcard || plain
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(list: &[&str]) -> Vec<AlternativeName> {
        list.iter()
            .map(|name| match name.strip_prefix("IP:") {
                Some(address) => {
                    AlternativeName::Ip(address.parse().expect("the test's addresses are valid"))
                }
                None => AlternativeName::Dns((*name).to_owned()),
            })
            .collect()
    }

    #[test]
    fn addresses_are_compared_as_numbers() {
        let cases = [
            (&["IP:10.0.0.1"][..], "10.0.0.1", true),
            (&["10.0.0.1"], "10.0.0.1", false),
            (&["IP:10.0.0.1"], "10.0.0.10", false),
            (&["IP:::ffff:10.0.0.1"], "10.0.0.1", true),
            (&["IP:10.0.0.1"], "::ffff:10.0.0.1", true),
            (&["IP:fd00::1"], "[fd00:0:0:0:0:0:0:1]", true),
            (&["IP:fd00::1"], "fd00::2", false),
            (&["IP:0.0.0.0"], "172.18.0.2", false),
            (&["IP:0.0.0.0"], "0.0.0.0", true),
            (&[], "10.0.0.1", false),
        ];
        for (list, host, expected) in cases {
            assert_eq!(covers(&names(list), host), expected, "{list:?} {host}");
        }
    }

    #[test]
    fn names_are_matched_as_go_matches_them() {
        let cases = [
            (&["localhost"][..], "localhost", true),
            (&["LocalHost"], "localhost", true),
            (&["localhost"], "localhost.", true),
            (&["localhost."], "localhost", false),
            (
                &["*.karmada-system.svc"],
                "karmada-apiserver.karmada-system.svc",
                true,
            ),
            (&["*.karmada-system.svc"], "a.b.karmada-system.svc", false),
            (&["*.karmada-system.svc"], "karmada-system.svc", false),
            (&["f*.example.org"], "foo.example.org", false),
            (&["foo.*.org"], "foo.example.org", false),
            (&["*"], "localhost", true),
            (&["under_score.svc"], "under_score.svc", true),
            (&["IP:10.0.0.1"], "ten", false),
            (&[""], "", false),
        ];
        for (list, host, expected) in cases {
            assert_eq!(covers(&names(list), host), expected, "{list:?} {host}");
        }
    }
}
