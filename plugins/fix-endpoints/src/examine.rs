//! What is wrong with the address of one member, and the way that would be right. Pure; diagnosis and plan both ask here.

use std::net::IpAddr;

use jiff::Timestamp;
use karmada_repair::docker::model::Container;
use karmada_repair::part::Part;
use karmada_repair::tls::Verdict;

use crate::config::Config;
use crate::endpoint::{Endpoint, EndpointError};
use crate::observed::{DockerSeen, Member, Observed};
use crate::place::{self, Evidence, Home, Place};
use crate::proxy_answer::ProxyAnswer;
use crate::route::{self, NoRoute, Route, Surroundings};

/// The state of one member's address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Examination<'a> {
    /// What is wrong with the endpoint as it is; `None` = nothing that can be told without dialling it.
    pub fault: Option<Fault>,
    /// What can be done about it.
    pub remedy: Remedy<'a>,
    /// Where the member runs, when that is known.
    pub home: Option<Home<'a>>,
}

/// What is wrong with an endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// There is none.
    Missing,
    /// It cannot be read as a URL.
    Malformed(EndpointError),
    /// The control plane that dials it dials itself.
    OwnHost,
    /// No running server of the member holds the address.
    Stale,
    /// The member holds the address, but listens on this port.
    WrongPort(u16),
    /// The serving certificate does not name the host.
    NotCertified,
    /// The address is right, and these containers of the control plane are not on its network.
    NotShared(Vec<String>),
    /// It differs from the one given with `--endpoint`.
    NotAsGiven,
    /// It ends in a slash.
    FinalSlash,
}

/// What can be done about a fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Remedy<'a> {
    /// Nothing needs to be done.
    Nothing,
    /// Take this way.
    Take(Route<'a>),
    /// Take the endpoint given with `--endpoint`, or the same one better written.
    Write(Endpoint),
    /// Nothing can be done from here.
    Blocked(Block<'a>),
}

/// Why nothing can be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Block<'a> {
    /// Docker could not be read; why.
    NoDocker(String),
    /// No container was found for the member.
    NoContainer,
    /// Several containers could be the member.
    Ambiguous(Vec<String>),
    /// The container's certificate is not signed by the CA that the control plane stores.
    OtherAuthority(Evidence),
    /// The container's certificate is outside its validity.
    OutsideValidity(Timestamp),
    /// The containers of the control plane cannot be told; why.
    NoControlPlane(String),
    /// There is no way.
    NoRoute(NoRoute<'a>),
}

/// Examines one member; members of agents have no fault here.
pub fn examine<'a>(
    member: &'a Member,
    observed: &'a Observed,
    config: &Config,
    now: Timestamp,
) -> Examination<'a> {
    let healthy = Examination {
        fault: None,
        remedy: Remedy::Nothing,
        home: None,
    };
    if !member.is_dialled() {
        return healthy;
    }
    let current = current(member);
    if let Some(given) = config.endpoints.get(member.name()) {
        return as_given(member, current, given);
    }
    // A proxy dials for the control plane: what Docker shows says nothing about its way.
    if member.cluster.spec.proxy_url.is_some() && current.is_ok() {
        return healthy;
    }
    let by_itself = match &current {
        Ok(endpoint) if endpoint.is_own_host() && leads_nowhere(member, observed, config) => {
            Some(Fault::OwnHost)
        }
        Ok(_)
            if member
                .cluster
                .spec
                .api_endpoint
                .as_deref()
                .is_some_and(Endpoint::ends_in_slash) =>
        {
            Some(Fault::FinalSlash)
        }
        Ok(_) => None,
        Err(fault) => Some(fault.clone()),
    };
    let blocked = |fault: Option<Fault>, block| Examination {
        remedy: match (&fault, member.is_reached()) {
            (None, true) => Remedy::Nothing,
            _ => Remedy::Blocked(block),
        },
        fault,
        home: None,
    };
    let docker = match &observed.docker {
        Part::Seen(docker) => docker,
        Part::Unreadable(reason) => {
            return rewritten(member, current)
                .unwrap_or_else(|| blocked(by_itself, Block::NoDocker(reason.clone())));
        }
        Part::Absent => {
            return rewritten(member, current).unwrap_or_else(|| {
                blocked(by_itself, Block::NoDocker("it was not asked".to_owned()))
            });
        }
    };
    let endpoint = current.as_ref().ok();
    let found = place::member(
        member.name(),
        endpoint,
        member.is_reached(),
        &docker.containers,
    );
    let home = match found {
        Place::Found(home) => home,
        Place::Ambiguous(candidates) => {
            return rewritten(member, current.clone())
                .unwrap_or_else(|| blocked(by_itself, Block::Ambiguous(candidates)));
        }
        Place::NotFound => {
            return rewritten(member, current.clone())
                .unwrap_or_else(|| blocked(by_itself, Block::NoContainer));
        }
    };
    if !is_about(member, endpoint, &home, docker, now) {
        return rewritten(member, current.clone()).unwrap_or(healthy);
    }
    on_docker(
        member,
        observed,
        config,
        docker,
        home,
        (current, by_itself),
        now,
    )
}

/// Whether an address of the dialling machine itself cannot be the member: it is not reached, or the control plane runs
/// in containers with networks of their own.
fn leads_nowhere(member: &Member, observed: &Observed, config: &Config) -> bool {
    if !member.is_reached() {
        return true;
    }
    if member
        .proxy
        .as_ref()
        .is_some_and(ProxyAnswer::proves_the_address)
    {
        return false;
    }
    let nodes = observed
        .docker
        .seen()
        .map(|docker| control_plane(observed, config, docker));
    matches!(nodes, Some(Ok(nodes)) if nodes.iter().all(|node| node.network_mode != "host"))
}

/// The containers on which the control plane's controllers may run, or in words why they cannot be told.
///
/// # Errors
/// Why the containers cannot be told.
pub fn control_plane<'a>(
    observed: &Observed,
    config: &Config,
    docker: &'a DockerSeen,
) -> Result<Vec<&'a Container>, String> {
    place::control_plane(
        &observed.control_plane.server,
        observed.control_plane.host_context.as_deref(),
        &config.control_plane_containers,
        &docker.containers,
    )
}

/// Whether what Docker shows concerns the way in use: a ready member that is reached by an address of no Docker
/// network, such as a load balancer's, is left alone, and so is one whose namesake in Docker is another cluster.
fn is_about(
    member: &Member,
    endpoint: Option<&Endpoint>,
    home: &Home<'_>,
    docker: &DockerSeen,
    now: Timestamp,
) -> bool {
    if !member.is_reached() || endpoint.is_some_and(Endpoint::is_own_host) {
        return true;
    }
    if home.evidence == Evidence::Name && authority(member, home, now) != Some(Verdict::Valid) {
        return false;
    }
    match endpoint.and_then(Endpoint::address) {
        Some(IpAddr::V4(address)) => docker
            .networks
            .iter()
            .flat_map(|network| &network.subnets)
            .any(|subnet| subnet.subnet.contains(&address)),
        _ => false,
    }
}

fn on_docker<'a>(
    member: &'a Member,
    observed: &'a Observed,
    config: &Config,
    docker: &'a DockerSeen,
    home: Home<'a>,
    (current, by_itself): (Result<Endpoint, Fault>, Option<Fault>),
    now: Timestamp,
) -> Examination<'a> {
    let ready = member.is_reached();
    let end = |fault: Option<Fault>, remedy, home| Examination {
        fault,
        remedy,
        home: Some(home),
    };
    let control_plane = control_plane(observed, config, docker);
    let nodes = match &control_plane {
        Ok(nodes) => nodes.as_slice(),
        Err(_) => &[],
    };
    let around = Surroundings {
        networks: &docker.networks,
        control_plane: nodes,
        certificate: &member.certificate,
        insecure: member.cluster.spec.insecure_skip_tls_verification,
    };
    let endpoint = current.as_ref().ok();
    let best = route::best(&home, endpoint, around);
    let fault = by_itself
        .clone()
        .filter(|fault| *fault != Fault::FinalSlash)
        .or_else(|| endpoint.and_then(|endpoint| fault_of(endpoint, &home, around)));
    match authority(member, &home, now) {
        Some(Verdict::UnknownAuthority) => {
            let block = Block::OtherAuthority(home.evidence);
            return end(fault, Remedy::Blocked(block), home);
        }
        Some(Verdict::OutsideValidity) => {
            let until = member
                .certificate
                .seen()
                .map_or(now, |certificate| certificate.not_after);
            return end(fault, Remedy::Blocked(Block::OutsideValidity(until)), home);
        }
        _ => {}
    }
    let fault = match fault {
        Some(fault) => fault,
        None => {
            let slash = by_itself == Some(Fault::FinalSlash);
            return match (slash, current, &control_plane) {
                (true, Ok(endpoint), _) => {
                    end(Some(Fault::FinalSlash), Remedy::Write(endpoint), home)
                }
                // Whether the control plane shares the member's network cannot be told without knowing its containers.
                (false, _, Err(reason)) if !ready => end(
                    None,
                    Remedy::Blocked(Block::NoControlPlane(reason.clone())),
                    home,
                ),
                _ => end(None, Remedy::Nothing, home),
            };
        }
    };
    let remedy = match (best, &control_plane) {
        (Err(why), _) => Remedy::Blocked(Block::NoRoute(why)),
        (Ok(_), Err(reason)) => Remedy::Blocked(Block::NoControlPlane(reason.clone())),
        (Ok(route), Ok(_)) => Remedy::Take(route),
    };
    end(Some(fault), remedy, home)
}

/// What is wrong with an endpoint of a member whose containers are known.
fn fault_of(endpoint: &Endpoint, home: &Home<'_>, around: Surroundings<'_, '_>) -> Option<Fault> {
    // A name, or the Docker machine itself, is a way of its own that addresses do not decide.
    if endpoint.is_docker_host() {
        return None;
    }
    let holder = match endpoint.address() {
        Some(address) => home
            .servers
            .iter()
            .filter(|server| server.is_running())
            .find_map(|server| {
                let network = around.networks.iter().find(|network| {
                    server
                        .attachment_to(network)
                        .and_then(|attachment| attachment.address)
                        .map(IpAddr::V4)
                        == Some(address)
                })?;
                Some((*server, network))
            }),
        None => return None,
    };
    let Some((server, network)) = holder else {
        return Some(Fault::Stale);
    };
    if endpoint.port() != home.api_port {
        return Some(Fault::WrongPort(home.api_port));
    }
    let certified = match around.certificate {
        Part::Seen(certificate) => around.insecure || certificate.covers(endpoint.host()),
        Part::Absent | Part::Unreadable(_) => true,
    };
    if !certified {
        return Some(Fault::NotCertified);
    }
    let joining = route::joining(server, network, around.control_plane);
    (!joining.is_empty()).then(|| {
        Fault::NotShared(
            joining
                .iter()
                .map(|container| container.name.clone())
                .collect(),
        )
    })
}

/// How the CA that the control plane stores judges what the member's container serves; `None` when one of both is missing.
fn authority(member: &Member, home: &Home<'_>, now: Timestamp) -> Option<Verdict> {
    if member.cluster.spec.insecure_skip_tls_verification {
        return None;
    }
    let certificate = member.certificate.seen()?;
    let bundle = member.secret.seen()?.ca_bundle.as_deref()?;
    // Any name of the certificate will do: whether it names the right host is another question.
    let name = certificate
        .names
        .iter()
        .find(|name| certificate.covers(name))
        .cloned()
        .or_else(|| home.servers.first().map(|server| server.name.clone()))?;
    Some(certificate.verdict(bundle.as_bytes(), &name, now))
}

fn as_given<'a>(
    member: &Member,
    current: Result<Endpoint, Fault>,
    given: &Endpoint,
) -> Examination<'a> {
    let same = current
        .as_ref()
        .is_ok_and(|current| current.leads_where(given))
        && !member
            .cluster
            .spec
            .api_endpoint
            .as_deref()
            .is_some_and(Endpoint::ends_in_slash);
    Examination {
        fault: (!same).then_some(Fault::NotAsGiven),
        remedy: if same {
            Remedy::Nothing
        } else {
            Remedy::Write(given.clone())
        },
        home: None,
    }
}

/// A final slash can be taken off without knowing more.
fn rewritten<'a>(member: &Member, current: Result<Endpoint, Fault>) -> Option<Examination<'a>> {
    let endpoint = current.ok()?;
    let slash = member
        .cluster
        .spec
        .api_endpoint
        .as_deref()
        .is_some_and(Endpoint::ends_in_slash);
    (slash && !endpoint.is_own_host()).then_some(Examination {
        fault: Some(Fault::FinalSlash),
        remedy: Remedy::Write(endpoint),
        home: None,
    })
}

fn current(member: &Member) -> Result<Endpoint, Fault> {
    match member.cluster.spec.api_endpoint.as_deref() {
        None | Some("") => Err(Fault::Missing),
        Some(text) => Endpoint::parse(text).map_err(Fault::Malformed),
    }
}
