//! What is wrong with the address of one member, and the way that would be right. Pure; diagnosis and plan both ask here.

use std::net::IpAddr;

use jiff::Timestamp;
use karmada_repair::docker::model::Container;
use karmada_repair::part::Part;
use karmada_repair::tls::Verdict;

use crate::bypass;
use crate::config::Config;
use crate::doors::{self, Door};
use crate::endpoint::{Endpoint, EndpointError};
use crate::identity::{Identity, identify, judgement};
use crate::observed::{DockerSeen, Member, Observed, Source};
use crate::place::{self, Evidence, Home};
use crate::proxy_answer::{Failure, ProxyAnswer};
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
    /// Why the name that was asked for (`--by-name`) is not taken; `None` = it is, or none was asked for.
    pub unnamed: Option<String>,
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
    /// The host is a name that the control plane does not know.
    UnknownName,
    /// It ends in a slash.
    FinalSlash,
    /// The control plane fails to reach it there, and the member tells of another address.
    Unreached,
    /// It is an address where a name was asked for (`--by-name`).
    NotByName,
    /// The proxy of `spec.proxyURL` does not let the control plane through, and the endpoint answers without it.
    ProxyInTheWay,
}

/// What can be done about a fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Remedy<'a> {
    /// Nothing needs to be done.
    Nothing,
    /// Take this way.
    Take(Route<'a>),
    /// Dial one of the addresses that the member itself tells of.
    Dial(&'a Door),
    /// Take the endpoint given with `--endpoint`, or the same one better written.
    Write(Endpoint),
    /// Dial the endpoint in use without the proxy.
    Bypass(Endpoint),
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
    /// Only this evidence says that this cluster is the member, and its certificate could not be compared.
    Unproven(Evidence, String),
    /// The container's certificate is not signed by the CA that the control plane stores.
    OtherAuthority(Evidence),
    /// The container's certificate is outside its validity.
    OutsideValidity(Timestamp),
    /// The containers of the control plane cannot be told; why.
    NoControlPlane(String),
    /// There is no way.
    NoRoute(NoRoute<'a>),
}

/// Examines one member; of members with agents only those that were named.
pub fn examine<'a>(
    member: &'a Member,
    observed: &'a Observed,
    config: &Config,
    now: Timestamp,
) -> Examination<'a> {
    if !config.examines(member) {
        return Examination::healthy();
    }
    let current = current(member);
    if let Some(given) = config.endpoints.get(member.name()) {
        return as_given(member, current, given);
    }
    // A proxy dials for the control plane: what Docker shows says nothing about its way.
    if let (Some(_), Ok(endpoint)) = (&member.cluster.spec.proxy_url, &current) {
        return behind_a_proxy(member, endpoint);
    }
    let by_itself = match &current {
        Err(fault) => Some(fault.clone()),
        Ok(endpoint) if endpoint.is_own_host() && leads_nowhere(member, observed, config) => {
            Some(Fault::OwnHost)
        }
        Ok(endpoint) if !member.is_reached() && !endpoint.is_https() => {
            Some(Fault::Malformed(EndpointError::NotHttps))
        }
        Ok(_) => None,
    };
    let case = Case {
        member,
        current: current.ok(),
        by_itself,
        now,
    };
    let docker = match &observed.docker {
        Part::Seen(docker) => docker,
        Part::Unreadable(reason) => return case.blocked(Block::NoDocker(reason.clone()), None),
        Part::Absent => return case.blocked(Block::NoDocker("it was not asked".to_owned()), None),
    };
    match identify(member, &docker.containers, now) {
        Identity::Proven(home) => case.on_docker(home, docker, observed, config, now),
        // A ready member whose namesake in Docker is not proven to be it is left alone.
        Identity::Likely(home) if member.is_reached() && case.by_itself.is_none() => {
            case.settled(Some(home))
        }
        Identity::Likely(home) => case.on_docker(home, docker, observed, config, now),
        Identity::Unproven(home) => {
            let name = home.shown.clone();
            case.blocked(Block::Unproven(home.evidence, name), Some(home))
        }
        Identity::Ambiguous(candidates) => case.blocked(Block::Ambiguous(candidates), None),
        Identity::Strangers(evidence) => case.blocked(Block::OtherAuthority(evidence), None),
        Identity::NotFound => case.blocked(Block::NoContainer, None),
    }
}

/// A member with what its endpoint shows by itself.
struct Case<'a> {
    member: &'a Member,
    current: Option<Endpoint>,
    by_itself: Option<Fault>,
    now: Timestamp,
}

impl<'a> Case<'a> {
    /// The end where nothing can be done: of no interest for a member that is reached and shows no fault.
    fn blocked(&self, block: Block<'a>, home: Option<Home<'a>>) -> Examination<'a> {
        if self.by_itself.is_none() && self.member.is_reached() {
            return self.settled(home);
        }
        if block.leaves_the_place_open()
            && let Some(examination) = self.by_its_own_word()
        {
            return examination;
        }
        Examination {
            fault: self.by_itself.clone(),
            remedy: Remedy::Blocked(block),
            home,
            unnamed: None,
        }
    }

    /// The end where the member itself tells of another address than the one that fails.
    fn by_its_own_word(&self) -> Option<Examination<'a>> {
        let door = doors::choice(self.member, self.now)?;
        let is_in_use = |current: &Endpoint| current.leads_where(&door.endpoint);
        if self.current.as_ref().is_some_and(is_in_use) {
            return None;
        }
        let fails = match &self.member.proxy {
            Some(answer @ ProxyAnswer::Failed { failure, .. }) => {
                answer.refutes_the_address()
                    && !matches!(
                        failure,
                        Failure::TlsAuthority | Failure::TlsValidity | Failure::ProxyServer
                    )
            }
            _ => false,
        };
        let fault = self
            .by_itself
            .clone()
            .or(fails.then_some(Fault::Unreached))?;
        Some(Examination {
            fault: Some(fault),
            remedy: Remedy::Dial(door),
            home: None,
            unnamed: None,
        })
    }

    /// The end where the way is right; how it is written may still be wrong.
    fn settled(&self, home: Option<Home<'a>>) -> Examination<'a> {
        let written = self.member.cluster.spec.api_endpoint.as_deref();
        let slash = written.is_some_and(Endpoint::ends_in_slash);
        match &self.current {
            Some(endpoint) if slash => Examination {
                fault: Some(Fault::FinalSlash),
                remedy: Remedy::Write(endpoint.clone()),
                home,
                unnamed: None,
            },
            _ => Examination {
                home,
                ..Examination::healthy()
            },
        }
    }

    fn on_docker(
        &self,
        home: Home<'a>,
        docker: &'a DockerSeen,
        observed: &'a Observed,
        config: &Config,
        now: Timestamp,
    ) -> Examination<'a> {
        let reached = self.member.is_reached();
        if reached && self.by_itself.is_none() && !self.is_on_docker(docker) {
            return self.settled(Some(home));
        }
        if judgement(self.member, &home, now) == Some(Verdict::OutsideValidity) {
            let certificate = self.member.certificate_of(&home);
            let until = certificate.map_or(now, |certificate| certificate.not_after);
            return self.blocked(Block::OutsideValidity(until), Some(home));
        }
        let control_plane = control_plane(observed, config, docker)
            .and_then(|nodes| not_the_member(nodes, &home, observed, docker));
        let around = Surroundings {
            networks: &docker.networks,
            control_plane: control_plane.as_deref().unwrap_or_default(),
            certificate: self.member.served_by(&home),
            insecure: self.member.cluster.spec.insecure_skip_tls_verification,
            by_name: config.by_name,
            tried: &self.member.tried,
            unknown: self.current.as_ref().filter(|_| self.is_unknown_name()),
        };
        let best = route::best(&home, self.current.as_ref(), around);
        if let Err(why @ NoRoute::NotRunning(_)) = best {
            return self.blocked(Block::NoRoute(why), Some(home));
        }
        let fault = self
            .by_itself
            .clone()
            .or_else(|| self.fault_on_docker(&home, around))
            .or_else(|| self.fault_by_name(best.as_ref().ok()?));
        let unnamed = if config.by_name {
            route::unnamed(&home, around)
        } else {
            None
        };
        let remedy = match (&fault, best, &control_plane) {
            (None, _, Err(reason)) if !reached => {
                Remedy::Blocked(Block::NoControlPlane(reason.clone()))
            }
            (None, _, _) => {
                return Examination {
                    unnamed,
                    ..self.settled(Some(home))
                };
            }
            (Some(_), Err(why), _) => Remedy::Blocked(Block::NoRoute(why)),
            (Some(_), Ok(_), Err(reason)) => Remedy::Blocked(Block::NoControlPlane(reason.clone())),
            (Some(_), Ok(route), Ok(_)) => Remedy::Take(route),
        };
        Examination {
            fault,
            remedy,
            home: Some(home),
            unnamed,
        }
    }

    /// A name was asked for, there is a way by name, and an address is in use.
    fn fault_by_name(&self, best: &Route<'_>) -> Option<Fault> {
        let is_named = best.endpoint.address().is_none();
        let current = self.current.as_ref()?;
        (is_named && current.address().is_some()).then_some(Fault::NotByName)
    }

    fn is_unknown_name(&self) -> bool {
        matches!(
            &self.member.proxy,
            Some(ProxyAnswer::Failed {
                failure: Failure::Dns,
                ..
            })
        )
    }

    /// Whether the address in use is one of a Docker network; a load balancer's, say, is a way of its own.
    fn is_on_docker(&self, docker: &DockerSeen) -> bool {
        match self.current.as_ref().and_then(Endpoint::address) {
            Some(IpAddr::V4(address)) => docker
                .networks
                .iter()
                .flat_map(|network| &network.subnets)
                .any(|subnet| subnet.subnet.contains(&address)),
            _ => false,
        }
    }

    /// What is wrong with an endpoint of a member whose containers are known, one of which runs.
    fn fault_on_docker(&self, home: &Home<'_>, around: Surroundings<'_, '_>) -> Option<Fault> {
        let endpoint = self.current.as_ref()?;
        // The Docker machine itself is a way of its own, which addresses of containers do not decide.
        if endpoint.is_docker_host() {
            return None;
        }
        let Some(address) = endpoint.address() else {
            return self.fault_of_name();
        };
        let holder = home
            .servers
            .iter()
            .filter(|server| server.is_running())
            .find_map(|server| {
                let network = around.networks.iter().find(|network| {
                    let held = server
                        .attachment_to(network)
                        .and_then(|attachment| attachment.address);
                    held.map(IpAddr::V4) == Some(address)
                })?;
                Some((*server, network))
            });
        let Some((server, network)) = holder else {
            return Some(Fault::Stale);
        };
        if endpoint.port() != home.api_port {
            return Some(Fault::WrongPort(home.api_port));
        }
        let certified = match around.certificate {
            Part::Seen(served) => {
                // What is presented may name more than the file does.
                let names_more =
                    matches!(served.source, Source::File(_)) && self.member.is_reached();
                around.insecure || names_more || served.certificate.covers(endpoint.host())
            }
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

    /// A name is right or wrong for whoever resolves it: the control plane's own attempt tells.
    fn fault_of_name(&self) -> Option<Fault> {
        if self.is_unknown_name() {
            return Some(Fault::UnknownName);
        }
        match &self.member.proxy {
            Some(ProxyAnswer::Failed {
                failure: Failure::TlsName,
                ..
            }) => Some(Fault::NotCertified),
            _ => None,
        }
    }
}

impl Block<'_> {
    /// Whether it leaves open where the member is, so that its own word helps.
    pub fn leaves_the_place_open(&self) -> bool {
        matches!(
            self,
            Block::NoDocker(_) | Block::NoContainer | Block::Ambiguous(_) | Block::Unproven(..)
        )
    }
}

impl Examination<'_> {
    fn healthy() -> Self {
        Examination {
            fault: None,
            remedy: Remedy::Nothing,
            home: None,
            unnamed: None,
        }
    }
}

/// The containers of the control plane, unless they are the member's own although others hold the Karmada API server: then
/// they were named by mistake.
fn not_the_member<'a>(
    nodes: Vec<&'a Container>,
    home: &Home<'_>,
    observed: &Observed,
    docker: &'a DockerSeen,
) -> Result<Vec<&'a Container>, String> {
    let is_own = |node: &&Container| home.servers.iter().any(|server| server.id == node.id);
    let Some(own) = nodes.iter().copied().find(|node| is_own(node)) else {
        return Ok(nodes);
    };
    let by_server = place::control_plane(
        &observed.control_plane.server,
        None,
        &[],
        &docker.containers,
    );
    match by_server {
        Ok(found) if !found.iter().any(is_own) => Err(format!(
            "{} is the member's own container, and {} publishes the Karmada API server",
            own.name,
            found
                .first()
                .map_or("another one", |node| node.name.as_str())
        )),
        Ok(_) | Err(_) => Ok(nodes),
    }
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

/// A member behind a proxy: at fault is the proxy alone, where the endpoint answers without it.
fn behind_a_proxy<'a>(member: &Member, endpoint: &Endpoint) -> Examination<'a> {
    let confidential = member
        .cluster
        .spec
        .proxy_url
        .as_deref()
        .is_some_and(bypass::is_confidential);
    if confidential || !bypass::fails(member) || !bypass::answers_directly(member, endpoint) {
        return Examination::healthy();
    }
    Examination {
        fault: Some(Fault::ProxyInTheWay),
        remedy: Remedy::Bypass(endpoint.clone()),
        ..Examination::healthy()
    }
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
        unnamed: None,
    }
}

fn current(member: &Member) -> Result<Endpoint, Fault> {
    match member.cluster.spec.api_endpoint.as_deref() {
        None | Some("") => Err(Fault::Missing),
        Some(text) => Endpoint::parse(text).map_err(Fault::Malformed),
    }
}
