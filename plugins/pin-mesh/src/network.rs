//! What the network of the mesh is, and what is to be done about it. Pure.

use ipnet::Ipv4Net;
use karmada_repair::docker::membership::takes_fixed_addresses;
use karmada_repair::docker::model::{Network, Subnet};
use karmada_repair::docker::network_draft::NetworkDraft;

use crate::address::{Range, free_subnet};
use crate::config::Config;
use crate::observed::Observed;

/// The network of the mesh.
#[derive(Debug, Clone, PartialEq)]
pub enum Mesh<'a> {
    /// There is none; it is to be made.
    Missing {
        /// What it is made of.
        draft: NetworkDraft,
        /// Its addresses.
        range: Range,
    },
    /// There is one that can carry pins, and it is used as it is.
    Usable {
        /// The network.
        network: &'a Network,
        /// Its addresses.
        range: Range,
        /// What it lacks.
        lacks: Vec<Lack>,
    },
    /// There is one that is to be made anew under its name.
    Unfit {
        /// The network.
        network: &'a Network,
        /// What it is made of.
        before: NetworkDraft,
        /// What it is to be made of.
        after: NetworkDraft,
        /// Its addresses then.
        range: Range,
        /// Why.
        why: Unfitness,
    },
    /// Nothing can be done with it by this plugin.
    Unusable(Unusable),
}

/// What a network lacks that can carry pins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lack {
    /// It is not internal.
    Internal,
    /// Docker takes addresses from all of it.
    Range,
    /// It is not of the subnet or range that was asked for; what it has.
    AskedFor(String),
}

/// Why a network is made anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unfitness {
    /// It has no subnet of its own, so Docker fixes no address in it.
    NoSubnet,
    /// Somebody asked for that.
    AskedFor,
}

/// Why nothing can be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unusable {
    /// There are two of the name.
    Ambiguous(Vec<String>),
    /// It is not a bridge.
    Driver(String),
    /// The subnet that it is to have overlaps that of another network.
    Overlap {
        /// The subnet.
        subnet: Ipv4Net,
        /// The other network.
        other: String,
        /// The other network's subnet.
        taken: Ipv4Net,
        /// A subnet that overlaps nothing; `None` = there is none.
        free: Option<Ipv4Net>,
    },
    /// What it is made of could not be read.
    Unread,
    /// It has IPv6 too, which a new one would lose.
    Ipv6,
}

impl<'a> Mesh<'a> {
    /// What the network is.
    pub fn of(observed: &'a Observed, config: &Config) -> Mesh<'a> {
        let docker = &observed.docker;
        let named: Vec<&Network> = docker
            .networks
            .iter()
            .filter(|network| network.name == config.network)
            .collect();
        let range = config.range();
        let draft = draft(config, &range);
        let network = match named.as_slice() {
            [] => {
                return match overlap(observed, &range, None) {
                    Some(overlap) => Mesh::Unusable(overlap),
                    None => Mesh::Missing { draft, range },
                };
            }
            [one] => *one,
            more => {
                let ids = more.iter().map(|network| network.id.clone()).collect();
                return Mesh::Unusable(Unusable::Ambiguous(ids));
            }
        };
        if network.driver != "bridge" {
            return Mesh::Unusable(Unusable::Driver(network.driver.clone()));
        }
        let usable = usable(observed, network);
        let why = match (&usable, config.replace_network) {
            (None, _) => Unfitness::NoSubnet,
            (Some(range), true) if !lacks(network, range, config).is_empty() => Unfitness::AskedFor,
            (Some(range), _) => {
                return Mesh::Usable {
                    network,
                    lacks: lacks(network, range, config),
                    range: range.clone(),
                };
            }
        };
        let Some(before) = docker.drafts.get(&network.id).cloned() else {
            return Mesh::Unusable(Unusable::Unread);
        };
        if before.ipv6 {
            return Mesh::Unusable(Unusable::Ipv6);
        }
        if let Some(overlap) = overlap(observed, &range, Some(network)) {
            return Mesh::Unusable(overlap);
        }
        Mesh::Unfit {
            network,
            before,
            after: draft,
            range,
            why,
        }
    }

    /// The network as it is; `None` = there is none, or which one is meant cannot be told.
    pub fn network(&self) -> Option<&'a Network> {
        match self {
            Mesh::Usable { network, .. } | Mesh::Unfit { network, .. } => Some(network),
            Mesh::Missing { .. } | Mesh::Unusable(_) => None,
        }
    }

    /// The addresses that it has, or is to have; `None` = nothing can be pinned.
    pub fn range(&self) -> Option<&Range> {
        match self {
            Mesh::Missing { range, .. }
            | Mesh::Usable { range, .. }
            | Mesh::Unfit { range, .. } => Some(range),
            Mesh::Unusable(_) => None,
        }
    }

    /// Whether it leads nowhere else, as it is or is to be.
    pub fn is_internal(&self) -> bool {
        match self {
            Mesh::Missing { draft, .. } => draft.internal,
            Mesh::Usable { network, .. } => network.internal,
            Mesh::Unfit { after, .. } => after.internal,
            Mesh::Unusable(_) => false,
        }
    }
}

fn draft(config: &Config, range: &Range) -> NetworkDraft {
    let mut draft = NetworkDraft::internal_bridge(
        &config.network,
        range.subnet,
        range.gateway,
        range.ip_range.unwrap_or(range.subnet),
    );
    draft
        .labels
        .insert(OWNER_LABEL.to_owned(), OWNER.to_owned());
    draft
}

/// Whether this plugin made the network.
pub fn is_own(network: &Network) -> bool {
    network.labels.value(OWNER_LABEL) == Some(OWNER)
}

/// The addresses of a network on which Docker fixes some.
///
/// The API does not tell whether a subnet was asked for. It was if somebody has a fixed address in it, if it has a range,
/// if Docker does not name its gateway (it names that of its own choice), or if Docker would not have cut it like that.
fn usable(observed: &Observed, network: &Network) -> Option<Range> {
    let docker = &observed.docker;
    let [subnet] = network.subnets.as_slice() else {
        return None;
    };
    let was_asked_for = takes_fixed_addresses(network, &docker.containers)
        || subnet.ip_range.is_some()
        || subnet.gateway.is_none()
        || is_own(network)
        || !docker.machine.could_choose(subnet.subnet);
    was_asked_for.then(|| range_of(subnet))
}

/// The addresses of a subnet as it is; a gateway that the daemon does not name is the first address.
pub fn range_of(subnet: &Subnet) -> Range {
    let first = |net: Ipv4Net| net.hosts().next().unwrap_or(net.network());
    Range {
        subnet: subnet.subnet,
        gateway: subnet
            .gateway
            .unwrap_or_else(|| first(subnet.ip_range.unwrap_or(subnet.subnet))),
        ip_range: subnet.ip_range,
        reserved: subnet.reserved.clone(),
    }
}

fn lacks(network: &Network, range: &Range, config: &Config) -> Vec<Lack> {
    let mut lacks = Vec::new();
    if !network.internal {
        lacks.push(Lack::Internal);
    }
    if range.ip_range.is_none_or(|part| part == range.subnet) {
        lacks.push(Lack::Range);
    }
    if config.subnet.is_some_and(|subnet| subnet != range.subnet) {
        lacks.push(Lack::AskedFor(format!("the subnet {}", range.subnet)));
    } else if let (Some(wanted), Some(part)) = (config.ip_range, range.ip_range)
        && wanted != part
    {
        lacks.push(Lack::AskedFor(format!("the ip-range {part}")));
    }
    lacks
}

fn overlap(observed: &Observed, range: &Range, own: Option<&Network>) -> Option<Unusable> {
    let others: Vec<(&str, Ipv4Net)> = observed
        .docker
        .networks
        .iter()
        .filter(|network| own.is_none_or(|own| own.id != network.id))
        .flat_map(|network| {
            network
                .subnets
                .iter()
                .map(|subnet| (network.name.as_str(), subnet.subnet))
        })
        .collect();
    let overlaps = |net: &Ipv4Net| {
        net.contains(&range.subnet.network()) || range.subnet.contains(&net.network())
    };
    let (other, taken) = others.iter().find(|(_, net)| overlaps(net))?;
    let nets: Vec<Ipv4Net> = others.iter().map(|(_, net)| *net).collect();
    Some(Unusable::Overlap {
        subnet: range.subnet,
        other: (*other).to_owned(),
        taken: *taken,
        free: free_subnet(range.subnet, &nets),
    })
}

/// The label by which a network names who made it.
pub const OWNER_LABEL: &str = "karmada-repair/owner";
/// Its value on networks of this plugin.
pub const OWNER: &str = "pin-mesh";
