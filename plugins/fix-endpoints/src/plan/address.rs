//! The steps that lead the control plane where a member is. Pure.

use json_patch::Patch;
use karmada_repair::docker::membership::{
    highest_free_address, interface_name, takes_fixed_addresses,
};
use karmada_repair::docker::model::{Container, Network};
use karmada_repair::plan::{Action, NetworkAttachment, Server, joined, remove_value, set_value};

use crate::diagnose::code;
use crate::doors::Door;
use crate::endpoint::Endpoint;
use crate::examine::{Examination, Fault, Remedy};
use crate::observed::{DockerSeen, Member};
use crate::plan::{Draft, key};
use crate::route::Route;

impl Draft<'_> {
    /// The control plane is led where the member is.
    pub(super) fn lead_to(&mut self, member: &Member, examination: &Examination<'_>) {
        if let Some(fault) = &examination.fault {
            let endpoint = match &examination.remedy {
                Remedy::Take(route) => {
                    self.join(member, route, fault);
                    Some(&route.endpoint)
                }
                Remedy::Dial(door) => Some(&door.endpoint),
                Remedy::Write(endpoint) | Remedy::Bypass(endpoint) => Some(endpoint),
                Remedy::Nothing | Remedy::Blocked(_) => None,
            };
            if let Some(endpoint) = endpoint {
                self.redirect(member, examination, endpoint, fault);
            }
        }
    }

    fn join(&mut self, member: &Member, route: &Route<'_>, fault: &Fault) {
        let Some(docker) = self.observed.docker.seen() else {
            return;
        };
        for node in &route.joining {
            let attachment = self.attachment(node, route.network, docker);
            let action = Action::ConnectNetwork(attachment);
            if self.steps.iter().any(|step| step.action == action) {
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
            self.push(member, action, reason, caution, cures);
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
        let stays = before == Some(endpoint.to_string().as_str());
        let same_place = before
            .and_then(|before| Endpoint::parse(before).ok())
            .is_some_and(|before| before.leads_where(endpoint));
        // A member that was reached and still is where it was needs no new connection.
        let moves = member.is_dialled() && (!same_place || !member.is_reached());
        if stays && !moves {
            return;
        }
        let mut changes = (Patch::default(), Patch::default());
        if !stays {
            let generation = member.cluster.metadata.generation;
            changes = set_value(
                "/spec/apiEndpoint",
                before,
                generation,
                &endpoint.to_string(),
            );
        }
        if let (Remedy::Bypass(_), Some(proxy)) =
            (&examination.remedy, &member.cluster.spec.proxy_url)
        {
            changes = joined(changes, remove_value("/spec/proxyURL", proxy));
        }
        if moves {
            self.moved.push(member.name().to_owned());
            changes = joined(changes, self.note(member));
        }
        let (patch, inverse) = changes;
        let reason = match (fault, &examination.remedy) {
            (Fault::NotAsGiven, _) => "--endpoint says so".to_owned(),
            (Fault::FinalSlash, _) => {
                "the final slash breaks requests through the proxy".to_owned()
            }
            (Fault::NotShared(_), _) => {
                "whether workloads are delivered over the new connection is open until it is proven"
                    .to_owned()
            }
            (Fault::ProxyInTheWay, _) => {
                format!("{endpoint} answers without the proxy") + &as_tried(member, endpoint)
            }
            (_, Remedy::Take(route)) if endpoint.address().is_none() => {
                format!(
                    "{} has this name on the network {}{}, and keeps it when its address changes",
                    route.server.name,
                    route.network.name,
                    match route.certified {
                        Some(served) => format!(", its certificate{} names it", served.words()),
                        None => String::new(),
                    },
                ) + &as_tried(member, endpoint)
            }
            (_, Remedy::Take(route)) => {
                format!(
                    "{} listens there{}, on the network {}",
                    route.server.name,
                    match route.certified {
                        Some(served) => format!(" and its certificate{} names it", served.words()),
                        None => String::new(),
                    },
                    route.network.name
                ) + &as_tried(member, endpoint)
            }
            (_, Remedy::Dial(door)) => {
                format!("{} tells it", door.source.words()) + &as_tried(member, endpoint)
            }
            (_, _) => "the endpoint is wrong".to_owned(),
        };
        let caution = match &examination.remedy {
            Remedy::Write(endpoint) if endpoint.is_own_host() => Some(
                "it leads the control plane back to itself, unless that runs on the network of its machine"
                    .to_owned(),
            ),
            Remedy::Take(route) if route.certified.is_none() && endpoint.address().is_some() => Some(
                "the serving certificate could not be read from here; the verification will show whether it names the \
                 address"
                    .to_owned(),
            ),
            Remedy::Take(_) if endpoint.address().is_none() => {
                Some(name_caution(member, endpoint))
            }
            Remedy::Dial(door) => untried_caution(member, door),
            _ => None,
        };
        let action = Action::PatchObject {
            server: Server::ControlPlane,
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
}

/// What an attempt from where the control plane dials showed.
fn as_tried(member: &Member, endpoint: &Endpoint) -> String {
    match member.tried_at(endpoint) {
        Some(tried) if tried.reach.proves() => format!("; it {}", tried.words()),
        Some(_) | None => String::new(),
    }
}

/// What an attempt in the container does not show of the pods in it.
fn name_caution(member: &Member, endpoint: &Endpoint) -> String {
    let own_dns = "pods ask a DNS of their own, which may not know Docker's names: the verification will show";
    match member.tried_at(endpoint) {
        Some(tried) if tried.reach.proves() => format!(
            "that it is known was seen in the container {}; {own_dns}",
            tried.from
        ),
        Some(tried) => format!("it {}; {own_dns}", tried.words()),
        None => format!("whether it is known could not be tried beforehand; {own_dns}"),
    }
}

fn untried_caution(member: &Member, door: &Door) -> Option<String> {
    match member.tried_at(&door.endpoint) {
        Some(tried) if tried.reach.proves() => None,
        Some(tried) => Some(format!("it {}", tried.words())),
        None => Some("it was not tried from where the control plane dials".to_owned()),
    }
}

/// Docker before 28 gives the default route to the network whose name sorts first, whatever priority is asked for.
fn default_route_caution(node: &Container, network: &Network) -> Option<String> {
    let first_at_home = node.attachments.keys().min()?;
    (network.name < *first_at_home && !network.internal).then(|| {
        format!(
            "Docker before 28 moves the default route of {} to {} at once, and eth0 at its next start",
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

/// Below the default of 0, so that the default route stays where it is.
const BELOW_HOME: i64 = -100;
