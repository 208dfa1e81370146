//! The set-up as code, for those who keep it there. Pure.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use karmada_repair::docker::membership::{Owner, Role, Tool, nodes_of};
use karmada_repair::plan::{ContainerName, DockerAction, Rewiring};
use karmada_repair::text::shell_word;

use crate::config::{Config, Form};
use crate::examine::{Examination, Examined};
use crate::network::Mesh;
use crate::observed::Observed;

/// The set-up of the nodes that are meant, in this form; with a final line break.
pub fn print(
    observed: &Observed,
    config: &Config,
    examined: &Examined<'_>,
    form: Form,
    docker: &str,
) -> String {
    match form {
        Form::K3d => k3d(observed, examined),
        Form::Terraform => terraform(config, examined),
        Form::Commands => commands(observed, config, examined, docker),
    }
}

/// A Simple config for each cluster of k3d, parted as YAML documents.
///
/// Docker 28 deals `eth0` out at every start, so flannel is not tied to it.
fn k3d(observed: &Observed, examined: &Examined<'_>) -> String {
    let mut clusters: Vec<&str> = examined
        .nodes
        .iter()
        .filter(|node| node.node.owner.tool == Tool::K3d)
        .filter_map(|node| node.node.cluster.as_deref())
        .collect();
    clusters.dedup();
    let mut seen: Vec<&str> = Vec::new();
    clusters.retain(|cluster| {
        let is_new = !seen.contains(cluster);
        seen.push(cluster);
        is_new
    });
    if clusters.is_empty() {
        return "# none of the clusters is of k3d\n".to_owned();
    }
    let documents = clusters.iter().map(|cluster| {
        let nodes = nodes_of(&observed.docker.containers, Tool::K3d, cluster);
        let role = |wanted: Role| {
            nodes
                .iter()
                .filter(|node| Owner::of(node).role == wanted)
                .count()
        };
        let mut text = format!(
            "# k3d cluster create --config FILE, then: kubectl karmada-pin-mesh {cluster}\n\
             apiVersion: k3d.io/v1alpha5\n\
             kind: Simple\n\
             metadata:\n  name: {cluster}\n\
             servers: {}\n\
             agents: {}\n\
             subnet: auto\n\
             options:\n  k3s:\n    extraArgs:\n",
            role(Role::Server),
            role(Role::Agent),
        );
        for node in of_cluster(examined, cluster) {
            let (Some(address), Role::Server) = (node.wanted, node.node.owner.role) else {
                continue;
            };
            let number = node
                .node
                .container
                .name
                .rsplit_once('-')
                .map_or("*", |(_, number)| number);
            text.push_str(&format!(
                "      - arg: \"--tls-san={address}\"\n        nodeFilters: [\"server:{number}\"]\n"
            ));
        }
        text
    });
    documents.collect::<Vec<_>>().join("---\n")
}

/// A block whose triggers are what a pin depends on: the addresses, and the containers' ids, which change when a cluster is
/// made anew under its name. Pinning changes neither, so a second apply finds nothing to do.
fn terraform(config: &Config, examined: &Examined<'_>) -> String {
    let mut text = String::from("locals {\n  karmada_mesh = {\n");
    let pins = pins(examined);
    let longest = pins.keys().map(String::len).max().unwrap_or_default();
    for (container, address) in &pins {
        let gap = " ".repeat(longest - container.len());
        text.push_str(&format!("    \"{container}\"{gap} = \"{address}\"\n"));
    }
    let range = examined.mesh.range().cloned().unwrap_or(config.range());
    let network = shell_word(&config.network);
    let ip_range = range
        .ip_range
        .map_or(String::new(), |range| format!(" --ip-range {range}"));
    text.push_str("  }\n}\n\n");
    text.push_str(
        r#"data "external" "karmada_mesh" {
  program = ["sh", "-c", <<-EOT
    ids=$(docker inspect --format '{{.Id}}' ${join(" ", keys(local.karmada_mesh))} 2>/dev/null | tr '\n' ' ')
    printf '{"ids":"%s"}' "$ids"
  EOT
  ]
}

resource "terraform_data" "karmada_mesh" {
  triggers_replace = {
    addresses  = local.karmada_mesh
    containers = data.external.karmada_mesh.result.ids
  }

  provisioner "local-exec" {
"#,
    );
    text.push_str(&format!(
        "    command = \"kubectl karmada-pin-mesh --yes --network {network} --subnet {}{ip_range} ${{join(\" \", [for name, address in local.karmada_mesh : \"${{name}}=${{address}}\"])}}\"\n  }}\n}}\n",
        range.subnet
    ));
    text
}

/// The commands that make it all from nothing, one after the other.
fn commands(observed: &Observed, config: &Config, examined: &Examined<'_>, docker: &str) -> String {
    let mut lines = vec!["set -e".to_owned()];
    let draft = match &examined.mesh {
        Mesh::Missing { draft, .. } => Some(draft),
        Mesh::Unfit { after, .. } => Some(after),
        Mesh::Usable { network, .. } => observed.docker.drafts.get(&network.id),
        Mesh::Unusable(_) => None,
    };
    if let Some(draft) = draft {
        lines.push(DockerAction::CreateNetwork(draft.clone()).command(docker));
    }
    for node in &examined.nodes {
        let Some(after) = node.after() else { continue };
        let rewiring = DockerAction::Rewire(Rewiring {
            name: ContainerName {
                container_id: node.node.container.id.clone(),
                container: node.node.container.name.clone(),
            },
            network_id: None,
            network: config.network.clone(),
            before: None,
            after: Some(after),
            halts: false,
        });
        lines.push(rewiring.command(docker));
    }
    lines.push(String::new());
    lines.join("\n")
}

fn of_cluster<'e, 'a>(
    examined: &'e Examined<'a>,
    cluster: &'e str,
) -> impl Iterator<Item = &'e Examination<'a>> {
    examined
        .nodes
        .iter()
        .filter(move |node| node.node.cluster.as_deref() == Some(cluster))
}

fn pins(examined: &Examined<'_>) -> BTreeMap<String, Ipv4Addr> {
    examined
        .nodes
        .iter()
        .filter_map(|node| Some((node.node.container.name.clone(), node.wanted?)))
        .collect()
}
