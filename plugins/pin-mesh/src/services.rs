//! Who reaches whom over the mesh, and where the services of one cluster are found from another. Reads only.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use futures::future::join_all;
use karmada_repair::access::Access;
use karmada_repair::cluster::client::ClusterClient;
use karmada_repair::docker::client::Docker;
use karmada_repair::docker::membership::{Role, Tool};
use karmada_repair::docker::reach::{Reach, reach};
use karmada_repair::karmada::Cluster;
use karmada_repair::report::{Column, Overview, Row, overview_text};
use serde::Serialize;
use serde_json::Value;

use crate::config::Config;
use crate::diagnose::container;
use crate::examine::{Examination, Examined};
use crate::observed::Observed;
use crate::scope;

/// What crosses the borders of clusters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Crossings {
    /// The attempts, by the cluster that makes them and the one that is tried.
    pub reach: Vec<Attempt>,
    /// The NodePort services of each cluster.
    pub services: Vec<Service>,
    /// The clusters whose services could not be read, each with why.
    pub unread: Vec<(String, String)>,
}

/// An attempt of one cluster to reach the API server of another over the mesh.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Attempt {
    /// The cluster that tries, from inside its first server.
    pub from: String,
    /// The cluster that is tried.
    pub to: String,
    /// Its address on the mesh, with the API server's port.
    pub address: String,
    /// What came of it: `yes`, `refused`, `no answer`, or why it could not be tried.
    pub answer: String,
}

/// A port of a service that every node of its cluster passes on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Service {
    /// The cluster.
    pub cluster: String,
    /// `namespace/name`.
    pub name: String,
    /// The service's own port, with its name if it has one.
    pub port: String,
    /// Where other clusters find it.
    pub address: String,
}

/// Tries and reads everything.
pub async fn look(
    access: &Access,
    docker: &Docker,
    observed: &Observed,
    config: &Config,
    examined: &Examined<'_>,
) -> Crossings {
    let firsts: Vec<&Examination<'_>> = firsts(examined);
    let attempts = firsts.iter().flat_map(|from| {
        firsts
            .iter()
            .filter(|to| to.node.cluster != from.node.cluster)
            .map(|to| attempt(docker, from, to))
    });
    let listed = firsts
        .iter()
        .map(|first| services(access, observed, config, first));
    let (reach, listed) = futures::join!(join_all(attempts), join_all(listed));
    let mut crossings = Crossings {
        reach,
        services: Vec::new(),
        unread: Vec::new(),
    };
    for (first, listed) in firsts.iter().zip(listed) {
        match listed {
            Ok(services) => crossings.services.extend(services),
            Err(why) => crossings.unread.push((cluster_of(first), why)),
        }
    }
    crossings
}

impl Crossings {
    /// The matrix, the services, and what could not be read, as text.
    pub fn text(&self, clusters: &[String]) -> String {
        let titles: Vec<&'static str> = vec!["FROM", "TO", "ADDRESS", "REACHED"];
        let mut text = table(
            &titles,
            self.reach.iter().map(|attempt| {
                vec![
                    attempt.from.clone(),
                    attempt.to.clone(),
                    attempt.address.clone(),
                    attempt.answer.clone(),
                ]
            }),
        );
        if self.reach.is_empty() {
            text = format!(
                "fewer than two clusters are on the mesh: {}\n",
                match clusters.is_empty() {
                    true => "none".to_owned(),
                    false => clusters.join(", "),
                }
            );
        }
        let services = table(
            &["CLUSTER", "SERVICE", "PORT", "FOUND-AT"],
            self.services.iter().map(|service| {
                vec![
                    service.cluster.clone(),
                    service.name.clone(),
                    service.port.clone(),
                    service.address.clone(),
                ]
            }),
        );
        match services.is_empty() {
            true => text.push_str("\nno service of type NodePort was found\n"),
            false => text.push_str(&format!("\n{services}")),
        }
        text
    }
}

fn table<'a>(titles: &[&'static str], rows: impl Iterator<Item = Vec<String>> + 'a) -> String {
    let overview = Overview {
        columns: titles
            .iter()
            .map(|title| Column {
                key: title,
                title,
                wide: false,
            })
            .collect(),
        rows: rows
            .map(|cells| Row {
                subject: container(&cells[0]),
                cells: cells.into_iter().map(Some).collect(),
            })
            .collect(),
    };
    overview_text(&overview, false)
}

/// The first server of each cluster that has an address on the mesh.
fn firsts<'e, 'a>(examined: &'e Examined<'a>) -> Vec<&'e Examination<'a>> {
    let mut firsts: Vec<&Examination<'_>> = Vec::new();
    for node in &examined.nodes {
        let is_known = firsts
            .iter()
            .any(|first| first.node.cluster == node.node.cluster);
        let has_address = node.place.is_some_and(|place| place.address.is_some());
        if node.node.owner.role == Role::Server && has_address && !is_known {
            firsts.push(node);
        }
    }
    firsts
}

/// The names of the clusters on the mesh.
pub fn clusters_on(examined: &Examined<'_>) -> Vec<String> {
    firsts(examined).into_iter().map(cluster_of).collect()
}

fn cluster_of(node: &Examination<'_>) -> String {
    node.node
        .cluster
        .clone()
        .unwrap_or_else(|| node.node.container.name.clone())
}

fn address_of(node: &Examination<'_>) -> Option<Ipv4Addr> {
    node.place.and_then(|place| place.address)
}

async fn attempt(docker: &Docker, from: &Examination<'_>, to: &Examination<'_>) -> Attempt {
    let port = to.node.owner.api_port.unwrap_or(6443);
    let address = address_of(to).unwrap_or(Ipv4Addr::UNSPECIFIED);
    let answer = match reach(docker, &from.node.container.id, IpAddr::V4(address), port).await {
        Reach::Open => "yes".to_owned(),
        Reach::Refused => "refused".to_owned(),
        Reach::NoAnswer => "no answer".to_owned(),
        Reach::NoTool => format!(
            "not tried: no program for that in {}",
            from.node.container.name
        ),
        Reach::Untried(why) => format!("not tried: {why}"),
    };
    Attempt {
        from: cluster_of(from),
        to: cluster_of(to),
        address: format!("{address}:{port}"),
        answer,
    }
}

async fn services(
    access: &Access,
    observed: &Observed,
    config: &Config,
    node: &Examination<'_>,
) -> Result<Vec<Service>, String> {
    let all: Value = read(access, observed, config, node).await?;
    let address = address_of(node).unwrap_or(Ipv4Addr::UNSPECIFIED);
    let cluster = cluster_of(node);
    let mut services = Vec::new();
    for service in all["items"].as_array().into_iter().flatten() {
        let text = |field: &str| service["metadata"][field].as_str().unwrap_or_default();
        for port in service["spec"]["ports"].as_array().into_iter().flatten() {
            let Some(node_port) = port["nodePort"].as_u64() else {
                continue;
            };
            let number = port["port"].as_u64().unwrap_or_default();
            let protocol = match port["protocol"].as_str() {
                None | Some("TCP") => "",
                Some(other) => &format!("/{other}"),
            };
            services.push(Service {
                cluster: cluster.clone(),
                name: format!("{}/{}", text("namespace"), text("name")),
                port: match port["name"].as_str() {
                    Some(name) => format!("{name}:{number}{protocol}"),
                    None => format!("{number}{protocol}"),
                },
                address: format!("{address}:{node_port}{protocol}"),
            });
        }
    }
    services.sort_by(|one, other| (&one.name, &one.port).cmp(&(&other.name, &other.port)));
    Ok(services)
}

/// The services of a cluster: with the context that its tool wrote, else as the host cluster or a member of the control plane.
async fn read(
    access: &Access,
    observed: &Observed,
    config: &Config,
    node: &Examination<'_>,
) -> Result<Value, String> {
    let cluster = cluster_of(node);
    let context = match node.node.owner.tool {
        Tool::K3d => format!("k3d-{cluster}"),
        Tool::Kind => format!("kind-{cluster}"),
        Tool::Minikube | Tool::Unknown => cluster.clone(),
    };
    let of_tool = access.loaded_context(&context).filter(|client| {
        scope::behind(client.server(), &observed.docker.containers)
            .is_some_and(|(tool, name)| tool == node.node.owner.tool && name == cluster)
    });
    let is_control_plane = scope::control_plane(observed, config)
        .is_some_and(|(tool, name)| tool == node.node.owner.tool && name == cluster);
    let host = access.host().filter(|_| is_control_plane).cloned();
    if let Some(client) = of_tool.or(host) {
        return listed(&client).await;
    }
    let Some(member) = &node.node.member else {
        return Err(format!(
            "no context {context} of the kubeconfig leads there, and it is no member"
        ));
    };
    let clusters = access
        .clusters::<Cluster>()
        .await
        .map_err(|error| error.to_string())?;
    let Some(found) = clusters
        .iter()
        .find(|cluster| cluster.metadata.name == *member)
    else {
        return Err("it is no member any more".to_owned());
    };
    let member = access
        .member(found, &[member.as_str()])
        .await
        .map_err(|error| error.to_string())?;
    tokio::time::timeout(READ_WITHIN, member.get::<Value>(SERVICES))
        .await
        .map_err(|_| "no answer in time".to_owned())?
        .map_err(|error| error.to_string())
}

async fn listed(client: &ClusterClient) -> Result<Value, String> {
    tokio::time::timeout(READ_WITHIN, client.get::<Value>(SERVICES))
        .await
        .map_err(|_| "no answer in time".to_owned())?
        .map_err(|error| error.to_string())
}

const SERVICES: &str = "/api/v1/services";
const READ_WITHIN: Duration = Duration::from_secs(10);
