//! At which address the control plane can reach a member. Pure.

use std::collections::BTreeMap;
use std::net::IpAddr;

use karmada_repair::docker::membership::Owner;
use karmada_repair::docker::model::{Container, ContainerState, Network};
use karmada_repair::part::Part;

use crate::endpoint::Endpoint;
use crate::observed::Served;
use crate::place::Home;
use crate::vantage::Tried;

/// A way from the control plane to a member's API server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route<'a> {
    /// The address and port to dial.
    pub endpoint: Endpoint,
    /// The container that listens there.
    pub server: &'a Container,
    /// The network that the way leads over.
    pub network: &'a Network,
    /// The control plane's containers that must join the network first.
    pub joining: Vec<&'a Container>,
    /// The certificate that was seen to name the address; `None` = it is expected to.
    pub certified: Option<&'a Served>,
}

/// Why there is no way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoRoute<'a> {
    /// No server of the member runs; these are its servers.
    NotRunning(Vec<&'a Container>),
    /// The servers are on no network that could be shared; the container and why.
    NoNetwork(&'a Container, &'static str),
    /// The control plane's container can join no network; why.
    CannotJoin(&'a Container, &'static str),
    /// An address was tried from where the control plane dials, and nothing answered.
    NotAnswering(Box<Endpoint>, &'a Tried),
    /// What the certificate names could not be read, and none of the addresses is on the home network.
    NotRead {
        /// The addresses that the member holds.
        addresses: Vec<IpAddr>,
        /// Why it could not be read.
        reason: String,
    },
    /// The certificate names none of the addresses.
    NotCertified {
        /// The addresses that the member holds.
        addresses: Vec<IpAddr>,
        /// The certificate.
        served: &'a Served,
    },
}

/// What a way depends on.
#[derive(Debug, Clone, Copy)]
pub struct Surroundings<'a, 's> {
    /// The networks of the daemon.
    pub networks: &'a [Network],
    /// The containers on which the control plane's controllers may run.
    pub control_plane: &'s [&'a Container],
    /// What the member serves.
    pub certificate: &'a Part<Served>,
    /// Whether the control plane accepts any certificate of the member.
    pub insecure: bool,
    /// Whether the name of a container is preferred to its addresses.
    pub by_name: bool,
    /// What came of attempts to reach addresses from where the control plane dials, by URL.
    pub tried: &'a BTreeMap<String, Tried>,
    /// The endpoint in use, if its host is a name that the control plane does not know.
    pub unknown: Option<&'s Endpoint>,
}

/// The best way to the member: the one in use if it works, else one over a network that is shared already, else over
/// the member's home network, whose address is in the certificates of k3d, kind and minikube.
///
/// # Errors
/// Why there is none.
pub fn best<'a>(
    home: &Home<'a>,
    current: Option<&Endpoint>,
    around: Surroundings<'a, '_>,
) -> Result<Route<'a>, NoRoute<'a>> {
    let running: Vec<&Container> = home
        .servers
        .iter()
        .copied()
        .filter(|server| server.is_running())
        .collect();
    if running.is_empty() {
        return Err(NoRoute::NotRunning(home.servers.clone()));
    }
    let candidates: Vec<Candidate<'a>> = running
        .iter()
        .flat_map(|server| candidates(server, home.api_port, around))
        .collect();
    let named = running
        .iter()
        .filter(|_| around.by_name)
        .flat_map(|server| named(server, home.api_port, around));
    if candidates.is_empty() {
        let server = running[0];
        let why = server
            .joins_no_network()
            .unwrap_or("holds no address on any network");
        return Err(NoRoute::NoNetwork(server, why));
    }
    let mut obstacle = None;
    let mut ways: Vec<(Rank, Route<'a>)> = Vec::new();
    for candidate in named
        .collect::<Vec<_>>()
        .iter()
        .chain(&candidates)
        .filter(|candidate| candidate.may_be_used(around))
    {
        match candidate.route(current, around) {
            Ok(way) => ways.push(way),
            Err(error) => obstacle = obstacle.or(Some(error)),
        }
    }
    ways.sort_by(|one, other| one.0.cmp(&other.0));
    match (ways.into_iter().next(), obstacle) {
        (Some((_, route)), _) => Ok(route),
        (None, Some(error)) => Err(error),
        (None, None) => {
            let addresses = candidates
                .iter()
                .filter_map(|way| way.endpoint.address())
                .collect();
            Err(match around.certificate {
                Part::Seen(served) => NoRoute::NotCertified { addresses, served },
                Part::Absent => NoRoute::NotRead {
                    addresses,
                    reason: "nobody looked".to_owned(),
                },
                Part::Unreadable(reason) => NoRoute::NotRead {
                    addresses,
                    reason: reason.clone(),
                },
            })
        }
    }
}

/// Why the control plane is not to dial the member by the name of a container; `None` = it may, or no server runs.
pub fn unnamed(home: &Home<'_>, around: Surroundings<'_, '_>) -> Option<String> {
    let server = home.servers.iter().find(|server| server.is_running())?;
    let name = &server.name;
    let Some(endpoint) = Endpoint::named(name, home.api_port) else {
        return Some(format!("{name} is no name that can be dialled"));
    };
    let ways = named(server, home.api_port, around);
    if ways.is_empty() {
        return Some(format!(
            "{name} is on no network of a user, and Docker resolves names on no other"
        ));
    }
    if ways.iter().all(|way| !way.may_be_used(around)) {
        return Some(match around.certificate {
            Part::Seen(served) => format!("its certificate{} does not name {name}", served.words()),
            Part::Absent | Part::Unreadable(_) => {
                format!("whether its certificate names {name} could not be read")
            }
        });
    }
    let tried = around.tried.get(&endpoint.to_string());
    match tried.filter(|tried| tried.reach.refutes()) {
        Some(tried) => Some(format!("{name} {}", tried.words())),
        None if around.unknown == Some(&endpoint) => Some(format!(
            "the control plane dials it there, and does not know the name {name}: its pods ask a DNS of their own"
        )),
        None => None,
    }
}

/// The containers of the control plane that are not on the network and must be, to reach this server over it.
pub fn joining<'a>(
    server: &Container,
    network: &Network,
    control_plane: &[&'a Container],
) -> Vec<&'a Container> {
    control_plane
        .iter()
        .copied()
        .filter(|node| node.id != server.id && node.network_mode != "host")
        .filter(|node| match node.attachment_to(network) {
            Some(attachment) => node.is_ghost(attachment),
            None => true,
        })
        .collect()
}

struct Candidate<'a> {
    endpoint: Endpoint,
    server: &'a Container,
    network: &'a Network,
    is_home: bool,
}

/// Lower is better; the text makes the order stable.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    is_not_as_asked: bool,
    is_another: bool,
    needs_joining: bool,
    is_abroad: bool,
    endpoint: String,
}

impl<'a> Candidate<'a> {
    fn may_be_used(&self, around: Surroundings<'_, '_>) -> bool {
        if around.unknown == Some(&self.endpoint) {
            return false;
        }
        match around.certificate {
            _ if around.insecure => true,
            Part::Seen(served) => served.certificate.covers(self.endpoint.host()),
            Part::Absent | Part::Unreadable(_) => self.is_home,
        }
    }

    fn route(
        &self,
        current: Option<&Endpoint>,
        around: Surroundings<'a, '_>,
    ) -> Result<(Rank, Route<'a>), NoRoute<'a>> {
        let joining = joining(self.server, self.network, around.control_plane);
        let tried = around.tried.get(&self.endpoint.to_string());
        if let Some(tried) = tried.filter(|tried| tried.reach.refutes()) {
            return Err(NoRoute::NotAnswering(
                Box::new(self.endpoint.clone()),
                tried,
            ));
        }
        for node in &joining {
            if let Some(why) = node.joins_no_network() {
                return Err(NoRoute::CannotJoin(node, why));
            }
        }
        let rank = Rank {
            is_not_as_asked: around.by_name && self.endpoint.address().is_some(),
            is_another: !current.is_some_and(|current| current.leads_where(&self.endpoint)),
            needs_joining: !joining.is_empty(),
            is_abroad: !self.is_home,
            endpoint: self.endpoint.to_string(),
        };
        let route = Route {
            endpoint: self.endpoint.clone(),
            server: self.server,
            network: self.network,
            joining,
            certified: around.certificate.seen(),
        };
        Ok((rank, route))
    }
}

fn candidates<'a>(
    server: &'a Container,
    api_port: u16,
    around: Surroundings<'a, '_>,
) -> Vec<Candidate<'a>> {
    let home_network = Owner::of(server).home_network;
    around
        .networks
        .iter()
        .filter(|network| !matches!(network.driver.as_str(), "host" | "null"))
        .filter_map(|network| {
            let address = server.attachment_to(network)?.address?;
            Some(Candidate {
                endpoint: Endpoint::at(IpAddr::V4(address), api_port),
                server,
                network,
                is_home: home_network.as_deref() == Some(network.name.as_str()),
            })
        })
        .collect()
}

/// The name of a container as a way over each network on which Docker resolves it.
fn named<'a>(
    server: &'a Container,
    api_port: u16,
    around: Surroundings<'a, '_>,
) -> Vec<Candidate<'a>> {
    let Some(endpoint) = Endpoint::named(&server.name, api_port) else {
        return Vec::new();
    };
    candidates(server, api_port, around)
        .into_iter()
        // The names of Docker's own first network are resolved nowhere.
        .filter(|candidate| candidate.network.name != "bridge")
        .map(|candidate| Candidate {
            endpoint: endpoint.clone(),
            ..candidate
        })
        .collect()
}

/// How a container that does not run is brought back, as a command of the docker program `docker`.
pub fn revival(container: &Container, docker: &str) -> String {
    match container.state {
        ContainerState::Paused => format!("{docker} unpause {}", container.name),
        ContainerState::Restarting => format!("{docker} logs --tail 50 {}", container.name),
        _ => format!("{docker} start {}", container.name),
    }
}
