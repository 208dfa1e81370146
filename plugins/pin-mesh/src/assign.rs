//! Which node gets which address: those that have one keep it, the others get the first free one of their series. Pure.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use crate::address::Range;
use crate::scope::Rank;

/// A node that wants an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wish<'a> {
    /// The container's name.
    pub name: &'a str,
    /// Which series it is in.
    pub rank: Rank,
    /// The address that was asked for, on the command line or in the file; it wins.
    pub asked: Option<Ipv4Addr>,
    /// The address that it has now as its fixed one; it is kept.
    pub pinned: Option<Ipv4Addr>,
}

/// The address of each node, by container name; a node for which none is left is missing.
///
/// `taken` are the addresses of others, each with its holder. Wishes come in the order of their series.
pub fn assign(
    wishes: &[Wish<'_>],
    range: &Range,
    taken: &BTreeMap<Ipv4Addr, String>,
) -> BTreeMap<String, Ipv4Addr> {
    let mut given: BTreeMap<String, Ipv4Addr> = BTreeMap::new();
    for wish in wishes {
        if let Some(address) = wish.asked {
            given.insert(wish.name.to_owned(), address);
        }
    }
    for wish in wishes.iter().filter(|wish| wish.asked.is_none()) {
        let kept = wish
            .pinned
            .filter(|address| range.check(*address).is_ok())
            .filter(|address| !given.values().any(|other| other == address));
        if let Some(address) = kept {
            given.insert(wish.name.to_owned(), address);
        }
    }
    for wish in wishes {
        if given.contains_key(wish.name) {
            continue;
        }
        let is_free = |address: &Ipv4Addr| {
            !given.values().any(|other| other == address)
                && taken.get(address).is_none_or(|holder| holder == wish.name)
        };
        let first = first_of(range, wish.rank);
        let mut own_series = range.for_nodes().filter(|address| *address >= first);
        let address = own_series
            .find(is_free)
            .or_else(|| range.for_nodes().find(is_free));
        if let Some(address) = address {
            given.insert(wish.name.to_owned(), address);
        }
    }
    given
}

/// Where a series begins: .10, .11 and .50 of the subnet. Where Docker gives away all addresses by itself, from the lowest
/// on, the series lie 190 higher, or in the upper half of a small subnet.
fn first_of(range: &Range, rank: Rank) -> Ipv4Addr {
    let offset = match rank {
        Rank::ControlPlane => 10,
        Rank::FirstServer => 11,
        Rank::Other => 50,
    };
    let base = match (range.ip_range, range.subnet.prefix_len()) {
        (Some(_), _) => 0,
        (None, ..=24) => 190,
        (None, length) => 1_u32 << (31_u8.saturating_sub(length)),
    };
    range
        .nth(base + offset)
        .or_else(|| range.nth(base))
        .unwrap_or(range.subnet.network())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> Ipv4Addr {
        text.parse().expect("a literal address")
    }

    fn range(subnet: &str) -> Range {
        let subnet = subnet.parse().expect("a literal subnet");
        Range::planned(subnet, None).expect("a subnet for a mesh")
    }

    fn wish(name: &str, rank: Rank) -> Wish<'_> {
        Wish {
            name,
            rank,
            asked: None,
            pinned: None,
        }
    }

    fn federation() -> Vec<Wish<'static>> {
        vec![
            wish("host", Rank::ControlPlane),
            wish("a", Rank::FirstServer),
            wish("b", Rank::FirstServer),
            wish("a-agent", Rank::Other),
        ]
    }

    fn shown(given: &BTreeMap<String, Ipv4Addr>) -> Vec<String> {
        given
            .iter()
            .map(|(name, address)| format!("{name}={address}"))
            .collect()
    }

    #[test]
    fn first_servers_and_other_nodes_have_their_series() {
        let given = assign(&federation(), &range("172.28.0.0/24"), &BTreeMap::new());
        assert_eq!(
            shown(&given),
            [
                "a=172.28.0.11",
                "a-agent=172.28.0.50",
                "b=172.28.0.12",
                "host=172.28.0.10"
            ]
        );
    }

    #[test]
    fn a_node_keeps_what_it_has() {
        let mut wishes = federation();
        wishes[2].pinned = Some(ip("172.28.0.11"));
        wishes[3].pinned = Some(ip("172.28.0.200"));
        let given = assign(&wishes, &range("172.28.0.0/24"), &BTreeMap::new());
        assert_eq!(given["b"], ip("172.28.0.11"));
        assert_eq!(given["a"], ip("172.28.0.12"));
        assert_eq!(given["a-agent"], ip("172.28.0.200"));
    }

    #[test]
    fn what_was_asked_for_wins_over_what_another_node_has() {
        let mut wishes = federation();
        wishes[1].pinned = Some(ip("172.28.0.20"));
        wishes[2].asked = Some(ip("172.28.0.20"));
        let given = assign(&wishes, &range("172.28.0.0/24"), &BTreeMap::new());
        assert_eq!(given["b"], ip("172.28.0.20"));
        assert_eq!(given["a"], ip("172.28.0.11"));
    }

    #[test]
    fn the_addresses_of_others_are_left_alone() {
        let taken = BTreeMap::from([(ip("172.28.0.10"), "stranger".to_owned())]);
        let given = assign(&federation(), &range("172.28.0.0/24"), &taken);
        assert_eq!(given["host"], ip("172.28.0.11"));
        assert_eq!(given["a"], ip("172.28.0.12"));
    }

    #[test]
    fn an_address_of_another_subnet_is_not_kept() {
        let mut wishes = federation();
        wishes[1].pinned = Some(ip("10.0.0.11"));
        let given = assign(&wishes, &range("172.28.0.0/24"), &BTreeMap::new());
        assert_eq!(given["a"], ip("172.28.0.11"));
    }

    #[test]
    fn where_docker_gives_away_all_addresses_nodes_get_high_ones() {
        let open = Range {
            ip_range: None,
            ..range("172.28.0.0/24")
        };
        let given = assign(&federation(), &open, &BTreeMap::new());
        assert_eq!(given["host"], ip("172.28.0.200"));
        assert_eq!(given["a"], ip("172.28.0.201"));
        assert_eq!(given["a-agent"], ip("172.28.0.240"));
    }

    #[test]
    fn a_small_subnet_gives_what_it_has() {
        let small = range("172.28.0.0/28");
        let names: Vec<String> = (0..8).map(|index| format!("n{index}")).collect();
        let wishes: Vec<Wish<'_>> = names.iter().map(|name| wish(name, Rank::Other)).collect();
        let given = assign(&wishes, &small, &BTreeMap::new());
        assert_eq!(given.len(), 6, "{given:?}");
        assert!(given.values().all(|address| !small.is_dockers(*address)));
    }
}
