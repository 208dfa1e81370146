//! The lines of the overview: a node each. Pure.

use karmada_repair::docker::membership::Role;
use karmada_repair::finding::{Finding, Severity, Subject};
use karmada_repair::report::{Column, Overview, Row};

use crate::config::Config;
use crate::diagnose::container;
use crate::examine::{Certificate, Examination, examine};
use crate::observed::Observed;

/// A line per node that is meant.
pub(crate) fn overview(observed: &Observed, findings: &[Finding], config: &Config) -> Overview {
    let Ok(examined) = examine(observed, config) else {
        return Overview::default();
    };
    Overview {
        columns: COLUMNS.to_vec(),
        rows: examined
            .nodes
            .iter()
            .map(|node| row(observed, findings, config, node))
            .collect(),
    }
}

fn row(observed: &Observed, findings: &[Finding], config: &Config, node: &Examination<'_>) -> Row {
    let subject = container(&node.node.container.name);
    let home_name = node.node.owner.home_network.as_deref();
    let home = home_name.and_then(|home| node.node.container.attachments.get(home));
    let routes = observed
        .docker
        .routes
        .get(&node.node.container.name)
        .and_then(|routes| routes.seen());
    let mesh = observed
        .docker
        .networks
        .iter()
        .find(|network| network.name == config.network)
        .and_then(|network| network.subnets.first());
    let interface = routes
        .zip(mesh)
        .and_then(|(routes, mesh)| routes.interface_of(mesh.subnet));
    Row {
        cells: vec![
            Some(node.node.container.name.clone()),
            node.node.cluster.clone(),
            Some(role(node)),
            node.place
                .and_then(|place| place.address)
                .map(|address| address.to_string()),
            node.place
                .and_then(|place| place.pinned)
                .map(|pinned| pinned.to_string()),
            interface.map(str::to_owned),
            routes.and_then(|routes| routes.default_interface.clone()),
            home_name.map(str::to_owned),
            home.and_then(|home| home.address)
                .map(|address| address.to_string()),
            certificate(&node.certificate),
            Some(status(findings, &subject)),
        ],
        subject,
    }
}

fn role(node: &Examination<'_>) -> String {
    match node.node.owner.role {
        Role::Server => "server",
        Role::Agent => "agent",
        Role::LoadBalancer => "loadbalancer",
        Role::Other => "container",
    }
    .to_owned()
}

fn certificate(certificate: &Certificate) -> Option<String> {
    match certificate {
        Certificate::NotAsked => None,
        Certificate::Names => Some("names the address".to_owned()),
        Certificate::Lacks(_) => Some("lacks the address".to_owned()),
        Certificate::Silent => Some("nobody listens".to_owned()),
        Certificate::Unread(_) => Some("unknown".to_owned()),
    }
}

/// The worst finding's code, `pinned` where nothing is wrong.
fn status(findings: &[Finding], subject: &Subject) -> String {
    let worst = findings
        .iter()
        .filter(|finding| finding.key.subject == *subject && finding.severity > Severity::Info)
        .max_by_key(|finding| finding.severity);
    match worst {
        Some(worst) => worst.key.code.clone(),
        None => "pinned".to_owned(),
    }
}

const fn column(key: &'static str, title: &'static str, wide: bool) -> Column {
    Column { key, title, wide }
}

const COLUMNS: [Column; 11] = [
    column("node", "NODE", false),
    column("cluster", "CLUSTER", false),
    column("role", "ROLE", true),
    column("address", "ADDRESS", false),
    column("pin", "PIN", false),
    column("interface", "INTERFACE", false),
    column("defaultRoute", "DEFAULT-ROUTE", true),
    column("homeNetwork", "HOME-NETWORK", true),
    column("homeAddress", "HOME-ADDRESS", true),
    column("certificate", "CERTIFICATE", true),
    column("status", "STATUS", false),
];
