//! The addresses of a mesh: which there are, which Docker gives away by itself, and which a node may have. Pure.

use std::net::{IpAddr, Ipv4Addr};

use ipnet::{IpNet, Ipv4Net};
use serde::Serialize;

/// The addresses of a mesh network.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Range {
    /// All addresses.
    pub subnet: Ipv4Net,
    /// The bridge's own address.
    pub gateway: Ipv4Addr,
    /// The part from which Docker takes addresses by itself; `None` = all of it.
    pub ip_range: Option<Ipv4Net>,
    /// Addresses that nobody may hold.
    pub reserved: Vec<Ipv4Addr>,
}

/// Why text is no subnet or address for a mesh, or an address cannot be given to a node.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// It cannot be parsed.
    #[error("{0:?} is no subnet; write it as in 172.28.0.0/24")]
    NoSubnet(String),
    /// It cannot be parsed.
    #[error("{0:?} is no IPv4 address")]
    NoAddress(String),
    /// IPv6.
    #[error("{0} is IPv6, and a mesh has IPv4 addresses")]
    Ipv6(String),
    /// There are bits behind the prefix.
    #[error("{given} has host bits set; the subnet is {subnet}")]
    HostBits {
        /// As given.
        given: Ipv4Net,
        /// Without the host bits.
        subnet: Ipv4Net,
    },
    /// There is no room for two halves with some addresses each.
    #[error("{0} has too few addresses; a mesh needs a /28 or a larger subnet")]
    TooSmall(Ipv4Net),
    /// Containers could not be told from the rest of the world.
    #[error("{0} is no subnet for a mesh: {1}")]
    Special(Ipv4Net, &'static str),
    /// The range is not in the subnet, or leaves nothing of it.
    #[error("the ip-range {range} is no part of {subnet} that leaves addresses for pins")]
    RangeOutside {
        /// The range.
        range: Ipv4Net,
        /// The subnet.
        subnet: Ipv4Net,
    },
    /// The address is none of the subnet's.
    #[error("{address} is not in {subnet}")]
    Outside {
        /// The address.
        address: Ipv4Addr,
        /// The subnet.
        subnet: Ipv4Net,
    },
    /// The address has a meaning of its own.
    #[error("{address} is the {what} of {subnet}")]
    Taken {
        /// The address.
        address: Ipv4Addr,
        /// What it is.
        what: &'static str,
        /// The subnet.
        subnet: Ipv4Net,
    },
    /// Docker gives it away by itself.
    #[error("{address} is in {range}, from which Docker takes addresses by itself")]
    InRange {
        /// The address.
        address: Ipv4Addr,
        /// The range.
        range: Ipv4Net,
    },
}

impl Range {
    /// The range of a mesh that is to be made: the first address is the gateway, the upper half is Docker's unless another
    /// part is given.
    ///
    /// # Errors
    /// When the subnet or the range cannot be those of a mesh.
    pub fn planned(subnet: Ipv4Net, ip_range: Option<Ipv4Net>) -> Result<Range, AddressError> {
        if subnet.prefix_len() > SMALLEST {
            return Err(AddressError::TooSmall(subnet));
        }
        let network = subnet.network();
        let special = [
            (network.is_loopback(), "it is the loopback"),
            (network.is_multicast(), "it is for multicast"),
            (network.is_link_local(), "it is link-local"),
            (network.octets()[0] == 0, "it is unspecified"),
            (network.octets()[0] >= 240, "it is reserved"),
        ];
        if let Some((_, why)) = special.into_iter().find(|(holds, _)| *holds) {
            return Err(AddressError::Special(subnet, why));
        }
        let upper_half = subnet
            .subnets(subnet.prefix_len() + 1)
            .ok()
            .and_then(Iterator::last)
            .unwrap_or(subnet);
        let ip_range = ip_range.unwrap_or(upper_half);
        if !subnet.contains(&ip_range) || ip_range.prefix_len() == subnet.prefix_len() {
            return Err(AddressError::RangeOutside {
                range: ip_range,
                subnet,
            });
        }
        let gateway = subnet
            .hosts()
            .find(|address| !ip_range.contains(address))
            .unwrap_or(network);
        Ok(Range {
            subnet,
            gateway,
            ip_range: Some(ip_range),
            reserved: Vec::new(),
        })
    }

    /// Whether a node can be given this address.
    ///
    /// # Errors
    /// Why not; an address of Docker's range is not among the reasons, see [`Range::is_dockers`].
    pub fn check(&self, address: Ipv4Addr) -> Result<(), AddressError> {
        let subnet = self.subnet;
        if !subnet.contains(&address) {
            return Err(AddressError::Outside { address, subnet });
        }
        let what = if address == subnet.network() {
            "network address"
        } else if address == subnet.broadcast() {
            "broadcast address"
        } else if address == self.gateway {
            "gateway"
        } else if self.reserved.contains(&address) {
            "reserved address"
        } else {
            return Ok(());
        };
        Err(AddressError::Taken {
            address,
            what,
            subnet,
        })
    }

    /// Whether Docker may give this address to somebody else by itself.
    pub fn is_dockers(&self, address: Ipv4Addr) -> bool {
        self.ip_range.unwrap_or(self.subnet).contains(&address)
    }

    /// The addresses that a node can have and Docker does not give away by itself, ascending; without a range that Docker
    /// keeps to, all that a node can have.
    pub fn for_nodes(&self) -> impl Iterator<Item = Ipv4Addr> + '_ {
        self.subnet
            .hosts()
            .take(MOST)
            .filter(|address| self.check(*address).is_ok())
            .filter(|address| self.ip_range.is_none_or(|range| !range.contains(address)))
    }

    /// The address this many places behind the network's own.
    pub fn nth(&self, offset: u32) -> Option<Ipv4Addr> {
        let address = u32::from(self.subnet.network()).checked_add(offset)?;
        let address = Ipv4Addr::from(address);
        self.subnet.contains(&address).then_some(address)
    }
}

/// Reads a subnet.
///
/// # Errors
/// When it is none, is of IPv6, or has host bits set.
pub fn subnet(text: &str) -> Result<Ipv4Net, AddressError> {
    match text.parse::<IpNet>() {
        Ok(IpNet::V4(given)) if given.addr() == given.network() => Ok(given),
        Ok(IpNet::V4(given)) => Err(AddressError::HostBits {
            given,
            subnet: given.trunc(),
        }),
        Ok(IpNet::V6(_)) => Err(AddressError::Ipv6(text.to_owned())),
        Err(_) => Err(AddressError::NoSubnet(text.to_owned())),
    }
}

/// Reads an address.
///
/// # Errors
/// When it is none, or is of IPv6.
pub fn address(text: &str) -> Result<Ipv4Addr, AddressError> {
    match text.parse::<IpAddr>() {
        Ok(IpAddr::V4(address)) => Ok(address),
        Ok(IpAddr::V6(_)) => Err(AddressError::Ipv6(text.to_owned())),
        Err(_) => Err(AddressError::NoAddress(text.to_owned())),
    }
}

/// A subnet of this size that overlaps none of those, near the one that was wanted; `None` = there is none.
pub fn free_subnet(wanted: Ipv4Net, taken: &[Ipv4Net]) -> Option<Ipv4Net> {
    let overlaps = |candidate: &Ipv4Net| {
        taken
            .iter()
            .any(|net| net.contains(&candidate.network()) || candidate.contains(&net.network()))
    };
    let private = ["172.16.0.0/12", "10.0.0.0/8", "192.168.0.0/16"];
    private
        .iter()
        .filter_map(|text| text.parse::<Ipv4Net>().ok())
        .filter(|all| all.prefix_len() <= wanted.prefix_len())
        .flat_map(|all| {
            // One candidate in each /16: what is taken is mostly taken in such pieces.
            let step = wanted.prefix_len().min(16).max(all.prefix_len());
            all.subnets(step).ok().into_iter().flatten()
        })
        .filter_map(|piece| Ipv4Net::new(piece.network(), wanted.prefix_len()).ok())
        .filter(|candidate| !overlaps(candidate))
        // Docker takes the lower ones first, for networks of its own choice.
        .find(|candidate| candidate.network() > wanted.network() || wanted.prefix_len() < 12)
}

const SMALLEST: u8 = 28;

/// Enough for any mesh, where a subnet has millions.
const MOST: usize = 1 << 16;

#[cfg(test)]
mod tests {
    use super::*;

    fn net(text: &str) -> Ipv4Net {
        text.parse().expect("a literal subnet")
    }

    fn ip(text: &str) -> Ipv4Addr {
        text.parse().expect("a literal address")
    }

    #[test]
    fn docker_gets_the_upper_half_and_the_bridge_the_first_address() {
        let range = Range::planned(net("172.28.0.0/24"), None).expect("a subnet for a mesh");
        assert_eq!(range.gateway, ip("172.28.0.1"));
        assert_eq!(range.ip_range, Some(net("172.28.0.128/25")));
        let lower = Range::planned(net("172.28.0.0/24"), Some(net("172.28.0.0/25")));
        let lower = lower.expect("Docker may have the lower half");
        assert_eq!(lower.gateway, ip("172.28.0.128"));
    }

    #[test]
    fn bad_subnets_are_told_apart() {
        let cases = [
            ("banana", "is no subnet"),
            ("172.28.0.0", "is no subnet"),
            ("172.28.0.0/33", "is no subnet"),
            (
                "172.28.0.5/24",
                "host bits set; the subnet is 172.28.0.0/24",
            ),
            ("fd00::/64", "IPv6"),
        ];
        for (text, expected) in cases {
            let error = subnet(text).expect_err(text).to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
        let cases = [
            ("172.28.0.0/29", "too few"),
            ("127.0.0.0/8", "loopback"),
            ("224.0.0.0/8", "multicast"),
            ("169.254.0.0/16", "link-local"),
            ("0.0.0.0/8", "unspecified"),
        ];
        for (text, expected) in cases {
            let error = Range::planned(net(text), None).expect_err(text).to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
        for range in ["172.29.0.0/25", "172.28.0.0/24", "172.28.0.0/16"] {
            let error = Range::planned(net("172.28.0.0/24"), Some(net(range)));
            assert!(
                matches!(error, Err(AddressError::RangeOutside { .. })),
                "{range}"
            );
        }
    }

    #[test]
    fn bad_addresses_are_told_apart() {
        let range = Range::planned(net("172.28.0.0/24"), None).expect("a subnet for a mesh");
        let cases = [
            ("172.29.0.10", "is not in"),
            ("172.28.0.0", "network address"),
            ("172.28.0.255", "broadcast address"),
            ("172.28.0.1", "gateway"),
        ];
        for (text, expected) in cases {
            let error = range.check(ip(text)).expect_err(text).to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
        assert_eq!(range.check(ip("172.28.0.10")), Ok(()));
        assert!(range.is_dockers(ip("172.28.0.200")));
        assert!(!range.is_dockers(ip("172.28.0.10")));
        for text in ["banana", "172.28.0", "172.28.0.10/24", ""] {
            assert!(address(text).is_err(), "{text}");
        }
        assert!(matches!(address("fd00::1"), Err(AddressError::Ipv6(_))));
    }

    #[test]
    fn a_free_subnet_overlaps_nothing() {
        let taken = [
            net("172.28.0.0/16"),
            net("172.29.0.0/24"),
            net("172.30.0.0/15"),
        ];
        let free = free_subnet(net("172.28.0.0/24"), &taken).expect("there is room");
        assert!(
            taken.iter().all(|net| !net.contains(&free.network())),
            "{free}"
        );
        assert_eq!(free.prefix_len(), 24);
        assert_eq!(
            free_subnet(net("172.28.0.0/24"), &[net("172.28.0.0/24")]),
            Some(net("172.29.0.0/24"))
        );
    }
}
