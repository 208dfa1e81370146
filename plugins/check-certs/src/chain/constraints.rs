//! Whether an authority allows a name (RFC 5280, 4.2.1.10), as Go has it. Pure.

use std::net::IpAddr;

use crate::certificate::{AlternativeName, NameConstraints};

/// The first of these names that is not allowed; `None` = all are.
pub(super) fn refused<'a>(
    constraints: &NameConstraints,
    names: impl Iterator<Item = &'a AlternativeName>,
) -> Option<String> {
    let mut names = names;
    names
        .find(|name| !allowed(constraints, name))
        .map(AlternativeName::to_string)
}

fn allowed(constraints: &NameConstraints, name: &AlternativeName) -> bool {
    match name {
        AlternativeName::Dns(name) => {
            let inside = |domain: &String| is_inside(name, domain);
            !constraints.excluded_dns.iter().any(inside)
                && (constraints.permitted_dns.is_empty()
                    || constraints.permitted_dns.iter().any(inside))
        }
        AlternativeName::Ip(address) => {
            let inside = |network: &Vec<u8>| contains(network, *address);
            !constraints.excluded_ip.iter().any(inside)
                && (constraints.permitted_ip.is_empty()
                    || constraints.permitted_ip.iter().any(inside))
        }
        AlternativeName::Other(_) => true,
    }
}

/// Whether a name is the domain or below it; a domain that begins with a dot only has what is below it.
fn is_inside(name: &str, domain: &str) -> bool {
    let name = name.trim_end_matches('.').to_ascii_lowercase();
    let domain = domain.to_ascii_lowercase();
    if domain.is_empty() {
        return true;
    }
    let bare = domain.trim_start_matches('.');
    let below = name
        .strip_suffix(bare)
        .is_some_and(|rest| rest.ends_with('.'));
    below || (name == bare && !domain.starts_with('.'))
}

/// Whether a network, as address and mask octets, has this address.
fn contains(network: &[u8], address: IpAddr) -> bool {
    let octets = match address {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    };
    let (base, mask) = network.split_at(network.len() / 2);
    base.len() == octets.len()
        && base
            .iter()
            .zip(mask)
            .zip(&octets)
            .all(|((base, mask), octet)| base & mask == octet & mask)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_inside_domains_and_networks() {
        let constraints = NameConstraints {
            permitted_dns: vec!["svc".to_owned(), ".example.org".to_owned()],
            excluded_dns: vec!["bad.svc".to_owned()],
            permitted_ip: vec![vec![10, 0, 0, 0, 255, 0, 0, 0]],
            excluded_ip: Vec::new(),
        };
        let cases = [
            (AlternativeName::Dns("svc".to_owned()), true),
            (AlternativeName::Dns("a.SVC".to_owned()), true),
            (AlternativeName::Dns("asvc".to_owned()), false),
            (AlternativeName::Dns("example.org".to_owned()), false),
            (AlternativeName::Dns("a.example.org".to_owned()), true),
            (AlternativeName::Dns("x.bad.svc".to_owned()), false),
            (AlternativeName::Ip([10, 1, 2, 3].into()), true),
            (AlternativeName::Ip([11, 1, 2, 3].into()), false),
            (AlternativeName::Ip([0u16; 8].into()), false),
            (AlternativeName::Other("email:a@b".to_owned()), true),
        ];
        for (name, expected) in cases {
            assert_eq!(allowed(&constraints, &name), expected, "{name}");
        }
    }
}
