//! Whether a certificate names the host that its clients ask for. Pure.

use std::net::IpAddr;

use karmada_repair::finding::{Finding, Severity, Subject};

use crate::certificate::{AlternativeName, Certificate, address_of, covers};
use crate::view::finding;
use crate::words::some;

/// What is wrong with the names of a certificate that is shown to clients of this host; `None` = nothing.
pub(super) fn of(leaf: &Certificate, host: &str, subject: Subject) -> Option<Finding> {
    let title = leaf.title();
    let Some(names) = &leaf.names else {
        let same = leaf
            .common_names
            .iter()
            .any(|name| name.eq_ignore_ascii_case(host));
        let but = if same {
            ", although its common name is the host"
        } else {
            ""
        };
        let message = format!(
            "{title:?} has no subject alternative name{but}: Go and rustls ignore the common name (`certificate relies on legacy Common Name field, use SANs instead`)"
        );
        return Some(finding("common-name-only", Severity::Error, subject, message).expected(host));
    };
    if covers(names, host) {
        return None;
    }
    let shown = match names.is_empty() {
        true => "no name".to_owned(),
        false => some(names, 12),
    };
    let message = format!(
        "{title:?} is valid for {shown}, not {host}{}",
        explained(names, host)
    );
    Some(
        finding("name-not-covered", Severity::Error, subject, message)
            .expected(host)
            .actual(shown),
    )
}

fn explained(names: &[AlternativeName], host: &str) -> &'static str {
    let address = address_of(host);
    let as_dns = names.iter().any(|name| match name {
        AlternativeName::Dns(name) => address.is_some() && name == host,
        _ => false,
    });
    let unspecified = names.iter().any(|name| match name {
        AlternativeName::Ip(address) => address.is_unspecified(),
        _ => false,
    });
    if as_dns {
        "; the address is there as a DNS name, which does not count: it must be an IP name"
    } else if address.as_ref().is_some_and(IpAddr::is_unspecified) {
        "; 0.0.0.0 is no address that can be dialled, but the place where a server listens: use the address at which it is reached"
    } else if unspecified && address.is_some() {
        "; 0.0.0.0 in a certificate is that address and not all addresses"
    } else {
        ""
    }
}
