//! Where a member that is no container here may be dialled, as its own API tells. Pure.

use std::net::IpAddr;

use jiff::Timestamp;
use karmada_repair::part::Part;
use karmada_repair::tls::{ServingCertificate, Verdict};
use serde::Serialize;
use serde_json::Value;

use crate::credentials;
use crate::endpoint::Endpoint;
use crate::observed::Member;
use crate::vantage::Reach;

/// An address at which a member may be dialled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Door {
    /// The URL.
    #[serde(serialize_with = "shown")]
    pub endpoint: Endpoint,
    /// What told of it.
    pub source: Source,
    /// What is served there, as seen from here.
    pub served: Part<ServingCertificate>,
}

/// What told of an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// The kubeconfig that reaches the member.
    Kubeconfig,
    /// The endpoints of the Service `default/kubernetes`.
    Service,
    /// The `InternalIP` of a node.
    Node,
}

impl Source {
    /// The source as the end of `as ... tells`.
    pub fn words(self) -> &'static str {
        match self {
            Source::Kubeconfig => "its kubeconfig",
            Source::Service => "the endpoints of its Service kubernetes",
            Source::Node => "an InternalIP of its nodes",
        }
    }
}

/// The addresses in the order in which they are tried: the kubeconfig's own, the endpoints of the Service `kubernetes`,
/// the nodes'. `service` is an EndpointSlice or Endpoints object, `nodes` a NodeList; null for what was not read.
pub fn doors(server: &str, service: &Value, nodes: &Value) -> Vec<Door> {
    // The port of an address on this machine is one that something publishes there, not the member's.
    let own = Endpoint::parse(server)
        .ok()
        .filter(|own| own.is_https() && !own.is_docker_host());
    let (addresses, port) = of_service(service);
    let port = port
        .or_else(|| own.as_ref().map(Endpoint::port))
        .unwrap_or(USUAL_PORT);
    let of_kubeconfig = own.map(|own| (own, Source::Kubeconfig));
    let at = |source| move |address: IpAddr| (Endpoint::at(address, port), source);
    let mut doors: Vec<Door> = Vec::new();
    let found = of_kubeconfig
        .into_iter()
        .chain(addresses.into_iter().map(at(Source::Service)))
        .chain(of_nodes(nodes).into_iter().map(at(Source::Node)));
    for (endpoint, source) in found {
        let is_new = !doors
            .iter()
            .any(|door| door.endpoint.leads_where(&endpoint));
        if is_new && !endpoint.is_own_host() {
            doors.push(Door {
                endpoint,
                source,
                served: Part::Absent,
            });
        }
    }
    doors.truncate(MOST);
    doors
}

/// The door to take: the first with the member's certificate that answers where the control plane dials; else, of a
/// member whose context was given, the first with the certificate that could not be tried from there. A context that was
/// merely found tells too little to write an address that nobody tried.
pub fn choice(member: &Member, now: Timestamp) -> Option<&Door> {
    let usable: Vec<&Door> = usable(member, now).collect();
    let reach = |door: &Door| member.tried_at(&door.endpoint).map(|tried| &tried.reach);
    let open = usable
        .iter()
        .find(|door| reach(door).is_some_and(Reach::proves));
    let is_given = member.direct.seen().is_some_and(|view| view.is_given);
    let untried = || {
        usable
            .iter()
            .filter(|_| is_given)
            .find(|door| !reach(door).is_some_and(Reach::refutes))
    };
    open.or_else(untried).copied()
}

/// The doors that nothing speaks against but that they may not answer.
pub fn usable(member: &Member, now: Timestamp) -> impl Iterator<Item = &Door> {
    let view = member.direct.seen();
    let authority = credentials::authority(member, now);
    let insecure = member.cluster.spec.insecure_skip_tls_verification;
    view.into_iter()
        .flat_map(|view| view.doors.iter().map(move |door| (view, door)))
        .filter(move |(view, door)| {
            let Some(served) = door.served.seen().or_else(|| view.served.seen()) else {
                return true;
            };
            let is_signed = authority.as_deref().is_none_or(|authority| {
                credentials::judged(served, authority, now) != Verdict::UnknownAuthority
            });
            is_signed && (insecure || served.covers(door.endpoint.host()))
        })
        .map(|(_, door)| door)
}

/// Every door and why it is not taken, where all of them are out; `None` = one may be taken, or none is known.
pub fn all_refused(member: &Member, now: Timestamp) -> Option<String> {
    let view = member.direct.seen()?;
    if view.doors.is_empty() || choice(member, now).is_some() {
        return None;
    }
    let reasons = view.doors.iter().map(|door| {
        let why = match member.tried_at(&door.endpoint) {
            Some(tried) => tried.words(),
            None if usable(member, now).any(|usable| usable == door) => {
                "could not be tried from where the control plane dials".to_owned()
            }
            None => "presents no certificate of the member that names it".to_owned(),
        };
        format!("{} {why}", door.endpoint)
    });
    Some(reasons.collect::<Vec<_>>().join("; "))
}

fn of_service(service: &Value) -> (Vec<IpAddr>, Option<u16>) {
    // `discovery.k8s.io` has endpoints with addresses in texts, `v1` subsets with addresses in objects.
    let slices = list(service, "endpoints").flat_map(|endpoint| list(endpoint, "addresses"));
    let subsets = list(service, "subsets")
        .flat_map(|subset| list(subset, "addresses"))
        .map(|address| &address["ip"]);
    let addresses = slices.chain(subsets).filter_map(parsed).collect();
    let ports: Vec<&Value> = list(service, "ports")
        .chain(list(service, "subsets").flat_map(|subset| list(subset, "ports")))
        .collect();
    let port = ports
        .iter()
        .find(|port| port["name"] == "https")
        .or(ports.first())
        .and_then(|port| port["port"].as_u64())
        .and_then(|port| u16::try_from(port).ok());
    (addresses, port)
}

/// The addresses of the nodes with the API server, as far as nodes are marked so; else of all.
fn of_nodes(nodes: &Value) -> Vec<IpAddr> {
    let marks = [
        "node-role.kubernetes.io/control-plane",
        "node-role.kubernetes.io/master",
    ];
    let is_marked = |node: &&Value| {
        let labels = &node["metadata"]["labels"];
        marks.iter().any(|mark| labels.get(mark).is_some())
    };
    let all: Vec<&Value> = list(nodes, "items").collect();
    let marked: Vec<&Value> = all.iter().copied().filter(is_marked).collect();
    let relevant = if marked.is_empty() { all } else { marked };
    relevant
        .into_iter()
        .flat_map(|node| list(&node["status"], "addresses"))
        .filter(|entry| entry["type"] == "InternalIP")
        .filter_map(|entry| parsed(&entry["address"]))
        .collect()
}

fn list<'a>(object: &'a Value, field: &str) -> impl Iterator<Item = &'a Value> {
    object[field].as_array().into_iter().flatten()
}

fn parsed(text: &Value) -> Option<IpAddr> {
    text.as_str()?.parse().ok()
}

fn shown<S: serde::Serializer>(endpoint: &Endpoint, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(endpoint)
}

const USUAL_PORT: u16 = 6443;

/// Each is tried; a cluster with more ways to its API server is not helped by more attempts.
const MOST: usize = 8;

#[cfg(test)]
mod tests;
