//! The serving certificates of servers beside their pinned addresses, and how k3s is told of an address. Pure.

use karmada_repair::docker::membership::Tool;
use karmada_repair::finding::{Finding, FindingKey, Severity};
use karmada_repair::plan::{ContainerFile, ContainerName, ContainerRestart, DockerAction, Step};

use crate::config::Config;
use crate::diagnose::{container, finding, own_instructions};
use crate::examine::{Certificate, Examination};
use crate::observed::Observed;
use crate::plan::Steps;

/// What the certificate of a node's server has to say.
pub fn findings(config: &Config, node: &Examination<'_>) -> Vec<Finding> {
    let Some(wanted) = node.wanted else {
        return Vec::new();
    };
    let name = &node.node.container.name;
    let subject = || container(name);
    match &node.certificate {
        Certificate::NotAsked | Certificate::Names => Vec::new(),
        Certificate::Silent => vec![finding(
            "api-server-silent",
            Severity::Warning,
            subject(),
            "nobody listens at its API server's port, so which names its certificate has is open"
                .to_owned(),
        )],
        Certificate::Unread(why) => vec![finding(
            "certificate-unreadable",
            Severity::Unknown,
            subject(),
            format!("its serving certificate cannot be read: {why}"),
        )],
        Certificate::Lacks(names) => {
            let is_planned = config.adds_san() && node.node.owner.tool == Tool::K3d;
            let severity = match is_planned {
                true => Severity::Error,
                false => Severity::Warning,
            };
            let mut found = finding(
                "certificate-lacks-address",
                severity,
                subject(),
                format!(
                    "its serving certificate is not valid for {wanted}, so no client can use its API there; it names {}",
                    names.join(", ")
                ),
            )
            .expected(wanted.to_string());
            let cluster = node.node.cluster.as_deref().unwrap_or_default();
            if let Some(hint) = own_instructions(node.node.owner.tool, cluster, &wanted.to_string())
                && !is_planned
            {
                found = found.hint(hint);
            }
            let mut findings = vec![found];
            if names.iter().any(|name| name == "0.0.0.0") {
                findings.push(finding(
                    "san-unspecified",
                    Severity::Info,
                    subject(),
                    "its certificate names 0.0.0.0, which is that one address and stands for no other".to_owned(),
                ));
            }
            findings
        }
    }
}

/// The steps that have k3s name the address: a file that k3s reads when it starts, and a restart.
pub(crate) fn steps(observed: &Observed, node: &Examination<'_>, steps: &Steps<'_>) -> Vec<Step> {
    let (Some(wanted), Certificate::Lacks(_), Tool::K3d) =
        (node.wanted, &node.certificate, node.node.owner.tool)
    else {
        return Vec::new();
    };
    let name = ContainerName {
        container_id: node.node.container.id.clone(),
        container: node.node.container.name.clone(),
    };
    let before = observed
        .docker
        .san_files
        .get(&name.container)
        .and_then(|file| file.seen().cloned());
    let cures = vec![FindingKey {
        code: "certificate-lacks-address".to_owned(),
        subject: container(&name.container),
    }];
    // `+` adds to what other files and the command line say, where a plain list would replace it.
    let after = format!("tls-san+:\n- {wanted}\n");
    let mut planned = Vec::new();
    if before.as_deref() != Some(after.as_str()) {
        planned.push(steps.step(
            &name.container,
            DockerAction::WriteFile(ContainerFile {
                name: name.clone(),
                path: SAN_FILE.to_owned(),
                before,
                after: Some(after),
            }),
            "k3s reads it when it starts, and adds the address to its serving certificate; the file is lost when the node is made anew",
            None,
            cures.clone(),
        ));
    }
    planned.push(
        steps.step(
            &name.container,
            DockerAction::RestartContainer(ContainerRestart {
                name: name.clone(),
                unchanged: None,
            }),
            "k3s adds names to its certificate only when it starts",
            Some(
                "its API server, and what runs on it, is away for as long as k3s takes to start"
                    .to_owned(),
            ),
            cures,
        ),
    );
    planned
}

/// The file in which k3s is told of the address.
pub const SAN_FILE: &str = "/etc/rancher/k3s/config.yaml.d/50-karmada-mesh.yaml";
