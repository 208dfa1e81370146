//! From findings to steps. Pure.

use jiff::Timestamp;
use karmada_repair::cluster::object::ObjectReference;
use karmada_repair::docker::membership::{highest_free_address, interface_name, takes_fixed_addresses};
use karmada_repair::docker::model::{Container, Network};
use karmada_repair::finding::{Finding, FindingKey, Subject};
use karmada_repair::plan::{Action, NetworkAttachment, Plan, Step, remove_value, set_value};
use secrecy::ExposeSecret;

use crate::config::Config;
use crate::diagnose::{
    SECRET_KUBECONFIG_EMPTY, SECRET_KUBECONFIG_STALE, code, rules_out_proof, wanted_endpoint,
};
use crate::endpoint::Endpoint;
use crate::examine::{Examination, Fault, Remedy, examine};
use crate::observed::{DockerSeen, Member, Observed, SecretKubeconfig};
use crate::route::Route;
use crate::secret_kubeconfig;

/// The steps that cure what can be cured: networks first, then the endpoint, then the secret, member by member.
pub fn plan(observed: &Observed, findings: &[Finding], config: &Config, now: Timestamp) -> Plan {
    let mut draft = Draft {
        observed,
        steps: Vec::new(),
    };
    for member in &observed.members {
        let gone = member.cluster.metadata.deletion_timestamp.is_some();
        if gone || !member.is_dialled() || rules_out_proof(findings, member.name()) {
            continue;
        }
        draft.add(member, &examine(member, observed, config, now));
    }
    Plan { steps: draft.steps }
}

struct Draft<'a> {
    observed: &'a Observed,
    steps: Vec<Step>,
}

impl Draft<'_> {
    fn add(&mut self, member: &Member, examination: &Examination<'_>) {
        if let Some(fault) = &examination.fault {
            let endpoint = match &examination.remedy {
                Remedy::Take(route) => {
                    self.join(member, route, fault);
                    Some(&route.endpoint)
                }
                Remedy::Write(endpoint) => Some(endpoint),
                Remedy::Nothing | Remedy::Blocked(_) => None,
            };
            if let Some(endpoint) = endpoint {
                self.redirect(member, examination, endpoint, fault);
            }
        }
        self.tidy_secret(member, examination);
    }

    fn join(&mut self, member: &Member, route: &Route<'_>, fault: &Fault) {
        let Some(docker) = self.observed.docker.seen() else {
            return;
        };
        for node in &route.joining {
            let attachment = self.attachment(node, route.network, docker);
            if self
                .steps
                .iter()
                .any(|step| step.action == Action::ConnectNetwork(attachment.clone()))
            {
                continue;
            }
            let cures = match fault {
                Fault::NotShared(_) => vec![key(code(fault), member)],
                _ => Vec::new(),
            };
            let reason = format!(
                "the control plane runs in {} and can reach {} only over a network that both are on",
                node.name, route.server.name
            );
            let caution = default_route_caution(node, route.network);
            self.push(
                member,
                Action::ConnectNetwork(attachment),
                reason,
                caution,
                cures,
            );
        }
    }

    /// The place that a container of the control plane gets on a member's network: an address that Docker hands to
    /// nobody else, where the network allows one.
    fn attachment(
        &self,
        node: &Container,
        network: &Network,
        docker: &DockerSeen,
    ) -> NetworkAttachment {
        let planned: Vec<_> = self
            .steps
            .iter()
            .filter_map(|step| match &step.action {
                Action::ConnectNetwork(planned) if planned.network_id == network.id => {
                    Some(planned)
                }
                _ => None,
            })
            .collect();
        if let Some(same) = planned
            .iter()
            .find(|planned| planned.container_id == node.id)
        {
            return (*same).clone();
        }
        let address = highest_free_address(network, &with_planned(docker, network, &planned));
        let certain = takes_fixed_addresses(network, &docker.containers);
        NetworkAttachment {
            container_id: node.id.clone(),
            container: node.name.clone(),
            network_id: network.id.clone(),
            network: network.name.clone(),
            address,
            address_may_yield: !certain,
            gateway_priority: BELOW_HOME,
            interface: interface_name(&network.id),
        }
    }

    fn redirect(
        &mut self,
        member: &Member,
        examination: &Examination<'_>,
        endpoint: &Endpoint,
        fault: &Fault,
    ) {
        let before = member.cluster.spec.api_endpoint.as_deref();
        if before == Some(endpoint.to_string().as_str()) {
            return;
        }
        let (patch, inverse) = set_value(
            "/spec/apiEndpoint",
            before,
            member.cluster.metadata.generation,
            &endpoint.to_string(),
        );
        let reason = match (fault, &examination.remedy) {
            (Fault::NotAsGiven, _) => "--endpoint says so".to_owned(),
            (Fault::FinalSlash, _) => {
                "the final slash breaks requests through the proxy".to_owned()
            }
            (_, Remedy::Take(route)) => format!(
                "{} listens there{}, on the network {}",
                route.server.name,
                if route.certified {
                    " and its certificate names the address"
                } else {
                    ""
                },
                route.network.name
            ),
            (_, _) => "the endpoint is wrong".to_owned(),
        };
        let caution = match &examination.remedy {
            Remedy::Take(route) if !route.certified => Some(
                "the serving certificate could not be read from here; the verification will show whether it names the \
                 address"
                    .to_owned(),
            ),
            _ => None,
        };
        let action = Action::PatchObject {
            object: member.cluster.reference(),
            patch,
            inverse,
        };
        self.push(
            member,
            action,
            reason,
            caution,
            vec![key(code(fault), member)],
        );
    }

    fn tidy_secret(&mut self, member: &Member, examination: &Examination<'_>) {
        let (Some(secret), Some(reference)) =
            (member.secret.seen(), &member.cluster.spec.secret_ref)
        else {
            return;
        };
        let object = ObjectReference::secret(reference.namespace.clone(), reference.name.clone());
        match &secret.kubeconfig {
            SecretKubeconfig::Empty => {
                let (patch, inverse) = remove_value(KUBECONFIG_KEY, "");
                let reason =
                    "no version of Karmada reads it, and a recipe left it behind".to_owned();
                let action = Action::PatchObject {
                    object,
                    patch,
                    inverse,
                };
                self.push(
                    member,
                    action,
                    reason,
                    None,
                    vec![key(SECRET_KUBECONFIG_EMPTY, member)],
                );
            }
            SecretKubeconfig::Kubeconfig { servers, encoded } => {
                let Some(wanted) = wanted_endpoint(member, examination) else {
                    return;
                };
                let stale = secret_kubeconfig::stale_servers(servers, member, &wanted);
                if stale.is_empty() {
                    return;
                }
                let encoded = encoded.expose_secret();
                let Some(rewritten) = secret_kubeconfig::rewritten(encoded, &stale, &wanted) else {
                    return;
                };
                let (patch, inverse) = set_value(KUBECONFIG_KEY, Some(encoded), 0, &rewritten);
                let reason =
                    format!("its server is to be {wanted} too, for whoever uses that kubeconfig");
                let action = Action::PatchObject {
                    object,
                    patch,
                    inverse,
                };
                self.push(
                    member,
                    action,
                    reason,
                    None,
                    vec![key(SECRET_KUBECONFIG_STALE, member)],
                );
            }
            SecretKubeconfig::Absent | SecretKubeconfig::Other => {}
        }
    }

    fn push(
        &mut self,
        member: &Member,
        action: Action,
        reason: String,
        caution: Option<String>,
        cures: Vec<FindingKey>,
    ) {
        let docker = self
            .observed
            .docker
            .seen()
            .map_or("docker", |docker| docker.docker.as_str());
        self.steps.push(Step {
            subject: Subject::cluster(member.name()),
            command: action.command(&self.observed.control_plane.kubectl, docker),
            action,
            reason,
            caution,
            cures,
        });
    }
}

/// Docker before 28 gives the default route to the network whose name sorts first, whatever priority is asked for.
fn default_route_caution(node: &Container, network: &Network) -> Option<String> {
    let first_at_home = node.attachments.keys().min()?;
    (network.name < *first_at_home && !network.internal).then(|| {
        format!(
            "Docker before version 28 moves the default route of {} to {} at once, because that name sorts first, and \
             at its next start also eth0; from 28 on both stay",
            node.name, network.name
        )
    })
}

/// The containers as if the planned connections were made.
fn with_planned(
    docker: &DockerSeen,
    network: &Network,
    planned: &[&NetworkAttachment],
) -> Vec<Container> {
    let mut containers = docker.containers.clone();
    for container in &mut containers {
        for attachment in planned
            .iter()
            .filter(|planned| planned.container_id == container.id)
        {
            let place = container
                .attachments
                .entry(network.name.clone())
                .or_default();
            place.network_id = Some(network.id.clone());
            place.pinned = attachment.address;
        }
    }
    containers
}

fn key(code: &str, member: &Member) -> FindingKey {
    FindingKey {
        code: code.to_owned(),
        subject: Subject::cluster(member.name()),
    }
}

const KUBECONFIG_KEY: &str = "/data/kubeconfig";

/// Below the default of 0, so that the default route stays where it is.
const BELOW_HOME: i64 = -100;

#[cfg(test)]
mod tests;
