//! Each node beside what it is to have: what is wrong with it, and how it is to be. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use karmada_repair::docker::membership::{Tool, takes_fixed_addresses};
use karmada_repair::docker::model::{Attachment, Container, ContainerState, Network};
use karmada_repair::docker::routes::Routes;
use karmada_repair::error::UsageError;
use karmada_repair::part::Part;

use crate::address::Range;
use crate::assign::{Wish, assign};
use crate::config::Config;
use crate::network::Mesh;
use crate::observed::{Daemon, Observed};
use crate::scope::{self, Node};

/// What there is to say about the mesh.
#[derive(Debug)]
pub struct Examined<'a> {
    /// The network.
    pub mesh: Mesh<'a>,
    /// The nodes that are meant, in the order of their addresses.
    pub nodes: Vec<Examination<'a>>,
    /// Whether no node was named and none is on the network.
    pub nothing_selected: bool,
}

/// A node beside what it is to have.
#[derive(Debug)]
pub struct Examination<'a> {
    /// The node.
    pub node: Node<'a>,
    /// How it is on the network; `None` = not at all.
    pub place: Option<&'a Attachment>,
    /// The address that it is to have; `None` = none is left, or nothing can be pinned.
    pub wanted: Option<Ipv4Addr>,
    /// What is wrong.
    pub faults: Vec<Fault>,
    /// What is known of its own network, if its address there is neither fixed nor refused to be.
    pub home: Option<Home<'a>>,
    /// How its server's certificate stands to the address.
    pub certificate: Certificate,
}

/// A node's own network, on which its address could be fixed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Home<'a> {
    /// The network.
    pub network: &'a Network,
    /// How the node is on it.
    pub place: &'a Attachment,
    /// The address that it has there.
    pub address: Ipv4Addr,
}

/// How a server's certificate stands to the pinned address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Certificate {
    /// It is no server, does not run, or has no address.
    NotAsked,
    /// It names the address.
    Names,
    /// It does not; the names that it has.
    Lacks(Vec<String>),
    /// Nobody listens there.
    Silent,
    /// It could not be read; why.
    Unread(String),
}

/// Something that is wrong with a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// It can join no further network; why.
    CannotJoin(&'static str),
    /// A kind node would write the other address into its configuration when it starts.
    KindWouldMove,
    /// Its default route would move to the network, whose name sorts before that of its own.
    DefaultRouteAtRisk(String),
    /// It is not on the network.
    NotOnMesh,
    /// Docker has an entry of it, and it holds no address although it runs.
    Ghost,
    /// Its address is of Docker's choice.
    Dynamic,
    /// It is pinned to another address than it is to have.
    OtherPin(Ipv4Addr),
    /// It is pinned to an address that the network does not have, or that is nobody's.
    ImpossiblePin(Ipv4Addr),
    /// Another one is pinned to the same address.
    SharedPin(String),
    /// Another one holds its address by Docker's choice.
    Stolen {
        /// Who.
        by: String,
        /// Whether the node was pinned there already, and not only asked for.
        was_pinned: bool,
    },
    /// Docker may give its address away.
    InRange,
    /// Docker 28 may make the network its `eth0`, or its default route.
    Unordered,
    /// `eth0` is not on its own network now; the interface that is.
    Eth0Elsewhere(String),
    /// Its default route leads into the network now.
    DefaultRouteElsewhere(String),
    /// It restarts over and over.
    CrashLoop,
    /// It is frozen.
    Paused,
    /// It does not run.
    Stopped,
    /// How it looks from inside could not be read; why.
    Unread(String),
    /// No address is left for it.
    NoAddress,
}

/// Looks at everything.
///
/// # Errors
/// A word that names nothing here, or something that cannot be pinned.
pub fn examine<'a>(observed: &'a Observed, config: &Config) -> Result<Examined<'a>, UsageError> {
    let nodes = scope::nodes(observed, config)?;
    let mesh = Mesh::of(observed, config);
    if let Some(range) = mesh.range() {
        asked_for_something_possible(observed, &nodes, range)?;
    }
    let nothing_selected = !nodes.iter().any(|node| node.selected);
    let given = addresses(observed, &nodes, &mesh);
    let leaving = leaving(&nodes, &mesh, &given);
    let nodes = nodes
        .into_iter()
        .filter(|node| node.selected)
        .map(|node| {
            let wanted = given.get(&node.container.name).copied();
            examination(observed, config, &mesh, node, (wanted, &leaving))
        })
        .collect();
    Ok(Examined {
        mesh,
        nodes,
        nothing_selected,
    })
}

/// What was asked for, on the command line and in the file, is there for a node to have.
fn asked_for_something_possible(
    observed: &Observed,
    nodes: &[Node<'_>],
    range: &Range,
) -> Result<(), UsageError> {
    let words = nodes
        .iter()
        .filter_map(|node| Some((node.container.name.as_str(), node.asked?, "")));
    let file = observed.file.seen().into_iter().flat_map(|file| {
        file.addresses
            .iter()
            .map(|(name, address)| (name.as_str(), *address, " of the mesh file"))
    });
    for (name, address, of) in words.chain(file) {
        range.check(address).map_err(|error| {
            UsageError::new(format!("the address of {name}{of} cannot be used: {error}"))
        })?;
    }
    Ok(())
}

/// The addresses that all nodes have or are to have, by container name.
fn addresses(
    observed: &Observed,
    nodes: &[Node<'_>],
    mesh: &Mesh<'_>,
) -> BTreeMap<String, Ipv4Addr> {
    let Some(range) = mesh.range() else {
        return BTreeMap::new();
    };
    let file = observed.file.seen();
    let pinned = |container: &Container| {
        let place = container.attachment_to(mesh.network()?)?;
        place.pinned
    };
    let wishes: Vec<Wish<'_>> = nodes
        .iter()
        .map(|node| Wish {
            name: &node.container.name,
            rank: node.rank,
            asked: node.asked.or_else(|| {
                file.and_then(|file| file.addresses.get(&node.container.name).copied())
            }),
            pinned: pinned(node.container),
        })
        .collect();
    let names: Vec<&str> = wishes.iter().map(|wish| wish.name).collect();
    let mut taken: BTreeMap<Ipv4Addr, String> = BTreeMap::new();
    for container in &observed.docker.containers {
        let place = mesh
            .network()
            .and_then(|network| container.attachment_to(network));
        let own = names.contains(&container.name.as_str());
        // A node that is to be pinned elsewhere does not keep the address that Docker chose for it.
        let held = place.and_then(|place| place.address).filter(|_| !own);
        for address in place.and_then(|place| place.pinned).into_iter().chain(held) {
            taken.entry(address).or_insert(container.name.clone());
        }
    }
    // The file keeps addresses for containers that are not there at the moment.
    for (name, address) in file.into_iter().flat_map(|file| &file.addresses) {
        taken.insert(*address, name.clone());
    }
    assign(&wishes, range, &taken)
}

/// The nodes that the plan takes to another address than they hold or are pinned to.
fn leaving(
    nodes: &[Node<'_>],
    mesh: &Mesh<'_>,
    given: &BTreeMap<String, Ipv4Addr>,
) -> BTreeSet<String> {
    nodes
        .iter()
        .filter(|node| node.selected)
        .filter(|node| {
            let place = mesh
                .network()
                .and_then(|network| node.container.attachment_to(network));
            let wanted = given.get(&node.container.name).copied();
            place.is_some_and(|place| wanted.is_some() && place.pinned.or(place.address) != wanted)
        })
        .map(|node| node.container.name.clone())
        .collect()
}

fn examination<'a>(
    observed: &'a Observed,
    config: &Config,
    mesh: &Mesh<'a>,
    node: Node<'a>,
    (wanted, leaving): (Option<Ipv4Addr>, &BTreeSet<String>),
) -> Examination<'a> {
    let docker = &observed.docker;
    let place = mesh
        .network()
        .and_then(|network| node.container.attachment_to(network));
    let mut faults = Vec::new();
    faults.extend(obstacle(docker, config, mesh, &node));
    faults.extend(of_place(docker, mesh, &node, place, (wanted, leaving)));
    faults.extend(of_state(node.container));
    faults.extend(of_routes(docker, mesh, &node, place));
    let certificate = certificate(docker, &node, wanted);
    let home = home(docker, config, &node);
    Examination {
        node,
        place,
        wanted,
        faults,
        home,
        certificate,
    }
}

/// Why the node cannot be put on the network at all.
fn obstacle(docker: &Daemon, config: &Config, mesh: &Mesh<'_>, node: &Node<'_>) -> Option<Fault> {
    let container = node.container;
    // A crash loop is ended for the change.
    if container.state != ContainerState::Restarting
        && let Some(why) = container.joins_no_network()
    {
        return Some(Fault::CannotJoin(why));
    }
    let home = node.owner.home_network.as_deref().unwrap_or_default();
    let sorts_first = !mesh.is_internal() && config.network.as_str() < home;
    if node.owner.tool == Tool::Kind && (docker.orders_interfaces || sorts_first) {
        return Some(Fault::KindWouldMove);
    }
    (!docker.orders_interfaces && sorts_first && !home.is_empty())
        .then(|| Fault::DefaultRouteAtRisk(home.to_owned()))
}

fn of_place(
    docker: &Daemon,
    mesh: &Mesh<'_>,
    node: &Node<'_>,
    place: Option<&Attachment>,
    (wanted, leaving): (Option<Ipv4Addr>, &BTreeSet<String>),
) -> Vec<Fault> {
    let (Some(range), container) = (mesh.range(), node.container) else {
        return Vec::new();
    };
    let mut faults = Vec::new();
    let Some(wanted) = wanted else {
        return vec![Fault::NoAddress];
    };
    let others = docker
        .containers
        .iter()
        .filter(|other| other.id != container.id && !leaving.contains(&other.name));
    let pinned = place.and_then(|place| place.pinned);
    for other in others {
        let there = mesh
            .network()
            .and_then(|network| other.attachment_to(network));
        let Some(there) = there else { continue };
        if there.pinned == Some(wanted) {
            let holds_it = place.is_some_and(|place| place.address == Some(wanted));
            if !(holds_it && pinned == Some(wanted)) {
                faults.push(Fault::SharedPin(other.name.clone()));
            }
        } else if there.address == Some(wanted) {
            faults.push(Fault::Stolen {
                by: other.name.clone(),
                was_pinned: pinned == Some(wanted),
            });
        }
    }
    let Some(place) = place else {
        faults.push(Fault::NotOnMesh);
        return faults;
    };
    if container.is_ghost(place) {
        faults.push(Fault::Ghost);
    }
    match place.pinned {
        None => faults.push(Fault::Dynamic),
        Some(pinned) if pinned == wanted => {}
        Some(pinned) if range.check(pinned).is_err() => faults.push(Fault::ImpossiblePin(pinned)),
        Some(pinned) => faults.push(Fault::OtherPin(pinned)),
    }
    if range.ip_range.is_some() && range.is_dockers(wanted) {
        faults.push(Fault::InRange);
    }
    let named = place
        .interface
        .as_ref()
        .is_some_and(|name| !name.starts_with("eth"));
    if docker.orders_interfaces && (!named || place.gateway_priority >= 0) {
        faults.push(Fault::Unordered);
    }
    faults
}

fn of_state(container: &Container) -> Option<Fault> {
    match container.state {
        ContainerState::Restarting => Some(Fault::CrashLoop),
        ContainerState::Paused => Some(Fault::Paused),
        ContainerState::Running => None,
        ContainerState::Created
        | ContainerState::Exited
        | ContainerState::Removing
        | ContainerState::Dead
        | ContainerState::Unknown => Some(Fault::Stopped),
    }
}

fn of_routes(
    docker: &Daemon,
    mesh: &Mesh<'_>,
    node: &Node<'_>,
    place: Option<&Attachment>,
) -> Vec<Fault> {
    let routes: &Routes = match docker.routes.get(&node.container.name) {
        Some(Part::Seen(routes)) => routes,
        Some(Part::Unreadable(why)) => return vec![Fault::Unread(why.clone())],
        Some(Part::Absent) | None => return Vec::new(),
    };
    let subnet_of = |name: &str| {
        let network = docker.networks.iter().find(|network| network.name == name);
        network
            .and_then(|network| network.subnets.first())
            .map(|subnet| subnet.subnet)
    };
    let mesh_subnet = mesh
        .network()
        .filter(|_| place.is_some())
        .and_then(|network| network.subnets.first())
        .map(|subnet| subnet.subnet);
    let mut faults = Vec::new();
    if let Some(mesh_subnet) = mesh_subnet
        && let Some(default) = &routes.default_interface
        && routes.interface_of(mesh_subnet) == Some(default)
    {
        faults.push(Fault::DefaultRouteElsewhere(default.clone()));
    }
    let home = node.owner.home_network.as_deref().and_then(subnet_of);
    if let Some(home) = home
        && let Some(interface) = routes.interface_of(home)
        && interface != "eth0"
    {
        faults.push(Fault::Eth0Elsewhere(interface.to_owned()));
    }
    faults
}

fn certificate(docker: &Daemon, node: &Node<'_>, wanted: Option<Ipv4Addr>) -> Certificate {
    let (Some(wanted), Some(seen)) = (wanted, docker.certificates.get(&node.container.name)) else {
        return Certificate::NotAsked;
    };
    match seen {
        Part::Seen(names) if names.contains(&wanted.to_string()) => Certificate::Names,
        Part::Seen(names) => Certificate::Lacks(names.clone()),
        Part::Absent => Certificate::Silent,
        Part::Unreadable(why) => Certificate::Unread(why.clone()),
    }
}

/// The node's own network, where its address could be fixed and is not.
fn home<'a>(docker: &'a Daemon, config: &Config, node: &Node<'a>) -> Option<Home<'a>> {
    let name = node.owner.home_network.as_deref()?;
    if name == config.network || name == "bridge" {
        return None;
    }
    let network = docker
        .networks
        .iter()
        .find(|network| network.name == name)?;
    let place = node.container.attachment_to(network)?;
    let [subnet] = network.subnets.as_slice() else {
        return None;
    };
    let fixes = takes_fixed_addresses(network, &docker.containers)
        || subnet.ip_range.is_some()
        || subnet.gateway.is_none()
        || !docker.machine.could_choose(subnet.subnet);
    let address = place.address.filter(|_| place.pinned.is_none() && fixes)?;
    Some(Home {
        network,
        place,
        address,
    })
}

impl Examination<'_> {
    /// Whether the node has no place on the network that is to be as planned.
    pub fn is_obstructed(&self) -> bool {
        self.faults.iter().any(|fault| {
            matches!(
                fault,
                Fault::CannotJoin(_)
                    | Fault::KindWouldMove
                    | Fault::DefaultRouteAtRisk(_)
                    | Fault::NoAddress
                    | Fault::SharedPin(_)
            )
        })
    }

    /// Whether the node's place on the network is to be changed.
    pub fn needs_rewiring(&self) -> bool {
        self.faults.iter().any(|fault| {
            matches!(
                fault,
                Fault::NotOnMesh
                    | Fault::Ghost
                    | Fault::Dynamic
                    | Fault::OtherPin(_)
                    | Fault::ImpossiblePin(_)
                    | Fault::Unordered
            )
        })
    }

    /// Whether everything about the node is as it is to be, so that a restart can be tried.
    pub fn is_sound(&self) -> bool {
        self.node.container.is_running()
            && !self.is_obstructed()
            && !self.needs_rewiring()
            && !self.faults.iter().any(|fault| {
                matches!(
                    fault,
                    Fault::Eth0Elsewhere(_)
                        | Fault::DefaultRouteElsewhere(_)
                        | Fault::Stolen { .. }
                        | Fault::Unread(_)
                )
            })
    }

    /// How the node is to be on the network; `None` = no address is left for it.
    pub fn after(&self) -> Option<Attachment> {
        let wanted = self.wanted?;
        let kept = self.place.cloned().unwrap_or_default();
        Some(Attachment {
            network_id: None,
            address: None,
            pinned: Some(wanted),
            interface: Some(interface(self.node.container, self.place)),
            aliases: kept.aliases,
            gateway_priority: PRIORITY,
        })
    }
}

/// The name of the interface inside: the one that it has, if that is no `eth`, else the first `mesh` that no other network has.
fn interface(container: &Container, place: Option<&Attachment>) -> String {
    let own = place
        .and_then(|place| place.interface.clone())
        .filter(|name| !name.starts_with("eth"));
    let taken = |name: &String| {
        container
            .attachments
            .values()
            .any(|other| other.interface.as_ref() == Some(name))
    };
    own.or_else(|| {
        (0..)
            .map(|index| format!("mesh{index}"))
            .find(|name| !taken(name))
    })
    .unwrap_or_else(|| "mesh0".to_owned())
}

/// Below the 0 of all other networks, so that the default route stays where it is.
const PRIORITY: i64 = -100;
