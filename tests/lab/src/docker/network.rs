//! Networks: their subnets, creation and removal. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use ipnet::Ipv4Net;

use super::daemon::{Daemon, Engine};
use super::failure::Failure;

/// One network.
#[derive(Debug, Clone)]
pub(crate) struct Network {
    /// 64 hexadecimal digits.
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) driver: String,
    /// `None` for `host` and `none`.
    pub(crate) subnet: Option<Ipv4Net>,
    pub(crate) gateway: Option<Ipv4Addr>,
    pub(crate) range: Option<Ipv4Net>,
    /// Whether the subnet was asked for, which static addresses need.
    pub(crate) user_subnet: bool,
    pub(crate) internal: bool,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) options: BTreeMap<String, String>,
    /// Reserved addresses by name.
    pub(crate) auxiliary: BTreeMap<String, Ipv4Addr>,
    /// Whether inspection shows the gateway; one that was not asked for is shown only after a restart of the daemon.
    pub(crate) shows_gateway: bool,
    pub(crate) created: String,
}

/// What somebody asks for when creating a network.
#[derive(Debug, Clone, Default)]
pub(crate) struct Wish {
    pub(crate) name: String,
    pub(crate) driver: Option<String>,
    pub(crate) subnet: Option<String>,
    pub(crate) gateway: Option<String>,
    pub(crate) range: Option<String>,
    pub(crate) internal: bool,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) options: BTreeMap<String, String>,
    pub(crate) auxiliary: BTreeMap<String, String>,
}

impl Network {
    /// The networks that every daemon has.
    pub(crate) fn predefined() -> Vec<Self> {
        let network = |name: &str, driver: &str, subnet: Option<Ipv4Net>| Self {
            id: crate::random::hexadecimal(64),
            name: name.to_owned(),
            driver: driver.to_owned(),
            subnet,
            gateway: subnet.and_then(|subnet| subnet.hosts().next()),
            range: None,
            user_subnet: false,
            internal: false,
            labels: BTreeMap::new(),
            options: BTreeMap::new(),
            auxiliary: BTreeMap::new(),
            shows_gateway: true,
            created: crate::api::registry::now(),
        };
        let bridge = Ipv4Net::new(Ipv4Addr::new(172, 17, 0, 0), 16).ok();
        vec![
            network("bridge", "bridge", bridge),
            network("host", "host", None),
            network("none", "null", None),
        ]
    }

    pub(crate) fn is_predefined(&self) -> bool {
        ["bridge", "host", "none"].contains(&self.name.as_str())
    }

    /// The lowest address that a dynamic endpoint may take.
    pub(crate) fn lowest_free(&self, held: &BTreeSet<Ipv4Addr>) -> Option<Ipv4Addr> {
        let subnet = self.subnet?;
        let pool = self.range.unwrap_or(subnet);
        // A range is used whole, save for the subnet's own first and last address.
        pool.network_range().find(|address| {
            *address != subnet.network()
                && *address != subnet.broadcast()
                && Some(*address) != self.gateway
                && !self.auxiliary.values().any(|reserved| reserved == address)
                && !held.contains(address)
        })
    }

    /// Whether nobody, the network itself included, uses the address.
    pub(crate) fn is_free(&self, address: Ipv4Addr, held: &BTreeSet<Ipv4Addr>) -> bool {
        let edge = self
            .subnet
            .is_some_and(|subnet| address == subnet.network() || address == subnet.broadcast());
        let reserved = self.auxiliary.values().any(|reserved| *reserved == address);
        !edge && !reserved && Some(address) != self.gateway && !held.contains(&address)
    }
}

/// All addresses of a pool, first and last included.
trait Range {
    fn network_range(&self) -> impl Iterator<Item = Ipv4Addr>;
}

impl Range for Ipv4Net {
    fn network_range(&self) -> impl Iterator<Item = Ipv4Addr> {
        (u32::from(self.network())..=u32::from(self.broadcast())).map(Ipv4Addr::from)
    }
}

impl Daemon {
    /// Creates a network and returns its ID.
    pub(crate) fn create_network(&mut self, wish: Wish) -> Result<String, Failure> {
        if wish.name.is_empty() {
            return Err(Failure::new(400, "network name can't be empty"));
        }
        if self
            .networks
            .iter()
            .any(|network| network.name == wish.name)
        {
            return Err(Failure::new(
                409,
                format!("network with name {} already exists", wish.name),
            ));
        }
        let subnet = match &wish.subnet {
            Some(text) => self.wanted_subnet(text)?,
            None => self.next_pool()?,
        };
        let inside = |text: &Option<String>, what: &str| -> Result<Option<Ipv4Addr>, Failure> {
            let Some(text) = text else { return Ok(None) };
            let address = text
                .parse::<Ipv4Addr>()
                .map_err(|_| Failure::new(400, format!("invalid {what} {text}")))?;
            if subnet.contains(&address) {
                return Ok(Some(address));
            }
            let reason =
                format!("invalid {what} {address}: parent subnet {subnet} doesn't contain {what}");
            Err(Failure::new(
                400,
                format!("invalid network config:\n{reason}"),
            ))
        };
        let range = wish
            .range
            .as_deref()
            .map(|text| range_in(&subnet, text))
            .transpose()?;
        let gateway = inside(&wish.gateway, "gateway address")?;
        let first = range.unwrap_or(subnet);
        let default_gateway = if range.is_some() {
            first.network()
        } else {
            Ipv4Addr::from(u32::from(subnet.network()) + 1)
        };
        let auxiliary = wish
            .auxiliary
            .iter()
            .filter_map(|(name, text)| text.parse().ok().map(|address| (name.clone(), address)))
            .collect();
        let network = Network {
            id: crate::random::hexadecimal(64),
            name: wish.name,
            driver: wish.driver.unwrap_or_else(|| "bridge".to_owned()),
            subnet: Some(subnet),
            gateway: Some(gateway.unwrap_or(default_gateway)),
            range,
            user_subnet: wish.subnet.is_some(),
            internal: wish.internal,
            labels: wish.labels,
            options: wish.options,
            auxiliary,
            shows_gateway: wish.subnet.is_none() || wish.gateway.is_some(),
            created: crate::api::registry::now(),
        };
        let id = network.id.clone();
        self.networks.push(network);
        Ok(id)
    }

    /// Removes a network that no running container uses.
    pub(crate) fn remove_network(&mut self, reference: &str) -> Result<(), Failure> {
        let network = self.network(reference)?;
        if network.is_predefined() {
            return Err(Failure::new(
                403,
                format!(
                    "{} is a pre-defined network and cannot be removed",
                    network.name
                ),
            ));
        }
        let holders: Vec<String> = self
            .held(&network.name)
            .map(|(_, container)| {
                let id = container.endpoints[&network.name]
                    .endpoint_id
                    .get(..12)
                    .unwrap_or_default()
                    .to_owned();
                format!("name:\"{}\" id:\"{id}\"", container.name)
            })
            .collect();
        if !holders.is_empty() {
            let message = match self.engine {
                Engine::V28 => format!(
                    "error while removing network: network {} has active endpoints ({})",
                    network.name,
                    holders.join(", ")
                ),
                _ => format!(
                    "error while removing network: network {} id {} has active endpoints",
                    network.name, network.id
                ),
            };
            return Err(Failure::new(403, message));
        }
        let id = network.id.clone();
        self.networks.retain(|network| network.id != id);
        Ok(())
    }

    fn wanted_subnet(&self, text: &str) -> Result<Ipv4Net, Failure> {
        let subnet: Ipv4Net = text.parse().map_err(|_| {
            Failure::new(
                400,
                format!(
                    "invalid network config:\ninvalid subnet {text}: invalid CIDR block notation"
                ),
            )
        })?;
        if subnet.addr() != subnet.network() && self.engine != Engine::V20 {
            let trunc = subnet.trunc();
            return Err(Failure::new(
                400,
                format!("invalid network config:\ninvalid subnet {subnet}: it should be {trunc}"),
            ));
        }
        if self.overlaps(&subnet) {
            let prefix = if self.engine == Engine::V28 {
                "invalid pool request: "
            } else {
                ""
            };
            return Err(Failure::new(
                403,
                format!("{prefix}Pool overlaps with other one on this address space"),
            ));
        }
        Ok(subnet.trunc())
    }

    fn next_pool(&self) -> Result<Ipv4Net, Failure> {
        let pools =
            (18..32).filter_map(|second| Ipv4Net::new(Ipv4Addr::new(172, second, 0, 0), 16).ok());
        pools.into_iter().find(|pool| !self.overlaps(pool)).ok_or_else(|| {
            Failure::new(403, "could not find an available, non-overlapping IPv4 address pool among the defaults to assign to the network")
        })
    }

    fn overlaps(&self, wanted: &Ipv4Net) -> bool {
        let subnets = self.networks.iter().filter_map(|network| network.subnet);
        subnets
            .into_iter()
            .any(|subnet| subnet.contains(&wanted.network()) || wanted.contains(&subnet.network()))
    }
}

fn range_in(subnet: &Ipv4Net, text: &str) -> Result<Ipv4Net, Failure> {
    let range: Ipv4Net = text.parse().map_err(|_| {
        Failure::new(
            400,
            format!(
                "invalid network config:\ninvalid ip-range {text}: invalid CIDR block notation"
            ),
        )
    })?;
    if subnet.contains(&range.network()) && subnet.contains(&range.broadcast()) {
        return Ok(range.trunc());
    }
    let reason =
        format!("invalid ip-range {range}: parent subnet {subnet} doesn't contain ip-range");
    Err(Failure::new(
        400,
        format!("invalid network config:\n{reason}"),
    ))
}
