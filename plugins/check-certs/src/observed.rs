//! What an observation is. Pure; public data only.

use std::collections::BTreeMap;

use karmada_repair::finding::Subject;
use karmada_repair::part::Part;
use secrecy::SecretString;
use serde::Serialize;

use crate::certificate::Fingerprint;
use crate::install::Install;
use crate::inventory::Inventory;
use crate::place::{Holder, Place};

/// Everything that was read.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Observed {
    /// What was found.
    pub inventory: Inventory,
    /// Where was looked, and how that went.
    pub sources: Vec<Source>,
    /// The servers that were asked for their certificates.
    pub probes: Vec<Probe>,
    /// How Karmada was installed; `None` = that is not seen.
    pub install: Option<Install>,
    /// The namespace in which Karmada runs; `None` = the host cluster was not read.
    pub namespace: Option<String>,
    /// The Secrets that cert-manager keeps, as `namespace/name`, with the name of their `Certificate`.
    pub managers: BTreeMap<String, String>,
    /// Who in the control plane asks which server by name, and trusts what.
    pub clients: Vec<ClientOf>,
    /// The members, with what is theirs in the control plane.
    pub members: Vec<MemberNames>,
    /// The commands that lead to the same servers.
    pub commands: Commands,
}

/// A webhook, an APIService or a CRD conversion: a client of a server inside the control plane.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClientOf {
    /// Where its caBundle is.
    pub place: Place,
    /// The host that it asks for.
    pub host: String,
}

/// What is a member's.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MemberNames {
    /// Its name.
    pub name: String,
    /// Its Secrets in the control plane, as `namespace/name`.
    pub secrets: Vec<String>,
}

/// The commands that lead to the same servers as this run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Commands {
    /// `kubectl` with the flags for the host cluster.
    pub host: String,
}

impl Default for Commands {
    fn default() -> Commands {
        Commands {
            host: "kubectl".to_owned(),
        }
    }
}

impl Observed {
    /// The member that a subject belongs to: by its endpoint, its Secrets, or because it was read there.
    pub fn member_of(&self, subject: &Subject) -> Option<String> {
        let of_secret = |member: &&MemberNames| {
            member.secrets.iter().any(|secret| {
                subject
                    .name
                    .strip_prefix(secret.as_str())
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            })
        };
        if subject.kind == "secret"
            && let Some(member) = self.members.iter().find(of_secret)
        {
            return Some(member.name.clone());
        }
        if let Some((member, _)) = subject.name.split_once(':')
            && subject.kind != "endpoint"
            && self.members.iter().any(|other| other.name == member)
        {
            return Some(member.to_owned());
        }
        self.probes
            .iter()
            .find(|probe| probe.target.holder.at("").subject() == *subject)
            .and_then(|probe| match &probe.target.server {
                Server::Member(name) => Some(name.clone()),
                _ => None,
            })
    }
}

/// A place where was looked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Source {
    /// What it is.
    pub subject: Subject,
    /// How looking there went.
    pub state: Reading,
}

/// How looking somewhere went.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reading {
    /// It was read.
    Read,
    /// The command line gives no access to it; what would.
    NotExamined(String),
    /// It should have been read, and could not be; why.
    Unreadable(String),
}

/// A server that was asked for its certificates.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Probe {
    /// Which server.
    pub target: Target,
    /// What it showed, its own certificate first.
    pub shown: Part<Vec<Fingerprint>>,
}

/// A server to be asked for its certificates.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Target {
    /// What it is called in findings.
    pub holder: Holder,
    /// How it is reached.
    pub way: Way,
    /// The host that its clients ask for, sent as SNI if it is a name; its certificate must name it.
    pub host: String,
    /// The host that is dialled, without brackets.
    pub dialled: String,
    /// The port that is dialled.
    pub port: u16,
    /// Where the authorities are by which its clients judge it; empty = not known.
    pub trusted_by: Vec<Place>,
    /// Whether its clients look at its certificate at all.
    pub verified: bool,
    /// Whether clients ask for it by `host`; otherwise that is only one of its names, which its certificate need not bear.
    pub named: bool,
    /// Who it is.
    pub server: Server,
}

/// How a server is reached from here.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Way {
    /// At its host and port.
    Direct,
    /// Through a proxy (`http`, `https`, `socks5`), by its URL, which may hold a password.
    Proxy(#[serde(skip)] SecretString),
    /// Through the host cluster's API, to a port of a pod.
    Forward {
        /// The pod's namespace.
        namespace: String,
        /// The pod.
        pod: String,
        /// The port in the pod.
        port: u16,
    },
}

/// Who a server is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Server {
    /// karmada-apiserver.
    ControlPlane,
    /// The API server of the host cluster.
    Host,
    /// The API server of a member.
    Member(String),
    /// A server inside the control plane, by its component, as `etcd`.
    Component(String),
    /// One that the command line names.
    Given,
}
