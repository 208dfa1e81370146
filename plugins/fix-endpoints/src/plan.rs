//! From findings to steps. Pure.

use jiff::Timestamp;
use json_patch::Patch;
use karmada_repair::cluster::object::ObjectReference;
use karmada_repair::docker::membership::{
    highest_free_address, interface_name, takes_fixed_addresses,
};
use karmada_repair::docker::model::{Container, Network};
use karmada_repair::finding::{Finding, FindingKey, Subject};
use karmada_repair::plan::{
    Action, NetworkAttachment, Plan, Proof, Server, Step, joined, remove_value, set_annotation,
    set_value,
};
use secrecy::ExposeSecret;

use crate::config::{Config, DeliveryCheck};
use crate::credentials::{self, CLUSTER_ID_STALE, Renewal};
use crate::diagnose::{
    DELIVERY_UNPROVEN, ESTIMATOR_STALE, KUBECONFIG_KEY_EMPTY, KUBECONFIG_KEY_STALE, NOT_READY,
    code, rules_out_proof, wanted_endpoint,
};
use crate::doors::Door;
use crate::endpoint::Endpoint;
use crate::examine::{Examination, Fault, Remedy, examine};
use crate::host::{Component, Workload};
use crate::observed::{DockerSeen, Member, Observed, SecretKubeconfig, UNPROVEN};
use crate::route::Route;
use crate::secret_kubeconfig;
use crate::vantage::Reach;

/// The steps that cure what can be cured: member by member networks first, then the endpoint, then secrets; then what
/// keeps connections to the old addresses is restarted; then delivery is proven.
pub fn plan(observed: &Observed, findings: &[Finding], config: &Config, now: Timestamp) -> Plan {
    let mut draft = Draft {
        observed,
        now,
        steps: Vec::new(),
        moved: Vec::new(),
        credentials_change: false,
    };
    let examined: Vec<&Member> = observed
        .members
        .iter()
        .filter(|member| member.cluster.metadata.deletion_timestamp.is_none())
        .filter(|member| member.is_dialled() && !rules_out_proof(findings, member.name()))
        .collect();
    for member in &examined {
        draft.add(member, &examine(member, observed, config, now));
    }
    let unproven: Vec<&Member> = examined
        .iter()
        .copied()
        .filter(|member| member.unproven_since().is_some())
        .filter(|member| member.is_reached() || member.is_about_to_be_ready())
        // Without a change or a restart nothing would come out differently.
        .filter(|_| observed.host.seen().is_some() || !draft.steps.is_empty())
        .filter(|member| !draft.moved.iter().any(|name| name == member.name()))
        .collect();
    if !draft.moved.is_empty()
        || (!unproven.is_empty() && config.delivery == DeliveryCheck::AfterRepair)
    {
        draft.restart_controllers();
    }
    let proofs = examined
        .iter()
        .filter(|member| match config.delivery {
            DeliveryCheck::Never => false,
            DeliveryCheck::Always if member.is_reached() => true,
            DeliveryCheck::Always | DeliveryCheck::AfterRepair => {
                draft.moved.iter().any(|name| name == member.name())
                    || unproven.iter().any(|other| other.name() == member.name())
            }
        })
        .map(|member| proof(member))
        .collect();
    Plan {
        steps: draft.steps,
        proofs,
    }
}

fn proof(member: &Member) -> Proof {
    let name = member.name();
    Proof {
        subject: Subject::cluster(name),
        summary: format!(
            "that workloads are delivered to {name}: a Work in karmada-es-{name} carries a ConfigMap to its namespace \
             default, where it is edited and seen to be put right; both are removed, and then the annotation {UNPROVEN}, which a failure sets"
        ),
        cures: vec![key(DELIVERY_UNPROVEN, member)],
        awaits: match member.is_about_to_be_ready() {
            true => vec![key(NOT_READY, member)],
            false => Vec::new(),
        },
    }
}

struct Draft<'a> {
    observed: &'a Observed,
    now: Timestamp,
    steps: Vec<Step>,
    /// The members whose way changes, so that controllers must connect anew.
    moved: Vec<String>,
    /// Whether a secret of a member changes that controllers keep.
    credentials_change: bool,
}

impl Draft<'_> {
    fn add(&mut self, member: &Member, examination: &Examination<'_>) {
        if let Some(fault) = &examination.fault {
            let endpoint = match &examination.remedy {
                Remedy::Take(route) => {
                    self.join(member, route, fault);
                    Some(&route.endpoint)
                }
                Remedy::Dial(door) => Some(&door.endpoint),
                Remedy::Write(endpoint) => Some(endpoint),
                Remedy::Nothing | Remedy::Blocked(_) => None,
            };
            if let Some(endpoint) = endpoint {
                self.redirect(member, examination, endpoint, fault);
            }
        }
        self.renew_credentials(member);
        self.tidy_secret(member, examination);
    }

    /// What keeps connections to members is restarted: it holds on to old addresses, and lets Works sleep that failed
    /// while a member was away.
    fn restart_controllers(&mut self) {
        let Some(host) = self.observed.host.seen() else {
            return;
        };
        let members = match self.moved.as_slice() {
            [] => "members whose delivery was never proven".to_owned(),
            moved => moved.join(", "),
        };
        for workload in &host.workloads {
            let reason = match &workload.component {
                Component::ControllerManager => format!(
                    "it keeps connections to {members} as they were, and Works that failed meanwhile sleep until it restarts"
                ),
                Component::Search => {
                    format!("it keeps connections to {members} as they were")
                }
                Component::MetricsAdapter if self.credentials_change => {
                    format!("it keeps the old credentials of {members}")
                }
                Component::MetricsAdapter | Component::Estimator(_) => continue,
            };
            self.restart(workload, reason);
        }
    }

    fn restart(&mut self, workload: &Workload, reason: String) {
        let object = &workload.object;
        let namespace = object.namespace.as_deref().unwrap_or_default();
        let action = Action::Restart {
            server: Server::Host,
            object: object.clone(),
            uid: workload.uid.clone(),
        };
        self.steps.push(Step {
            subject: Subject::new("deployment", format!("{namespace}/{}", object.name)),
            command: action.command(&self.observed.control_plane.commands),
            action,
            reason,
            caution: None,
            cures: Vec::new(),
        });
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
        let moves = !same_place || !member.is_reached();
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
            (_, Remedy::Take(route)) => {
                format!(
                    "{} listens there{}, on the network {}",
                    route.server.name,
                    if route.certified {
                        " and its certificate names the address"
                    } else {
                        ""
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
            Remedy::Take(route) if !route.certified => Some(
                "the serving certificate could not be read from here; the verification will show whether it names the \
                 address"
                    .to_owned(),
            ),
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

    /// The annotation that remembers a change of the way until workloads were seen to be delivered.
    fn note(&self, member: &Member) -> (Patch, Patch) {
        set_annotation(
            UNPROVEN,
            !member.cluster.metadata.annotations.is_empty(),
            member.unproven_since(),
            &self.now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        )
    }

    /// What the member holds in another version is copied; controllers keep an old CA and token as they keep an old address.
    fn renew_credentials(&mut self, member: &Member) {
        let mut renewed = false;
        for rewrite in credentials::rewrites(member, self.now) {
            let of_identity = rewrite.cures.contains(&CLUSTER_ID_STALE);
            // The proxy reads the impersonator's token for each request, and nobody else does.
            let is_kept = |code: &&str| {
                let kept = [Renewal::Authority, Renewal::Token].map(Renewal::code);
                kept.contains(code)
            };
            renewed |= rewrite.cures.iter().any(is_kept);
            let cures = rewrite.cures.iter().map(|code| key(code, member)).collect();
            let caution = of_identity.then(|| {
                "from then on the cluster that this context leads to is the member; nothing else records which it was"
                    .to_owned()
            });
            self.push(member, rewrite.action, rewrite.reason, caution, cures);
        }
        if !renewed {
            return;
        }
        self.credentials_change = true;
        if self.moved.iter().any(|name| name == member.name()) {
            return;
        }
        self.moved.push(member.name().to_owned());
        let (patch, inverse) = self.note(member);
        let action = Action::PatchObject {
            server: Server::ControlPlane,
            object: member.cluster.reference(),
            patch,
            inverse,
        };
        let reason =
            "whether workloads are delivered with the new credentials is open until it is proven"
                .to_owned();
        self.push(member, action, reason, None, Vec::new());
    }

    fn tidy_secret(&mut self, member: &Member, examination: &Examination<'_>) {
        let secret = member.secret.seen();
        if let (Some(secret), Some(reference)) = (secret, &member.cluster.spec.secret_ref) {
            let object =
                ObjectReference::secret(reference.namespace.clone(), reference.name.clone());
            match &secret.kubeconfig {
                SecretKubeconfig::Empty => {
                    let (patch, inverse) = remove_value(KUBECONFIG_KEY, "");
                    let action = Action::PatchObject {
                        server: Server::ControlPlane,
                        object,
                        patch,
                        inverse,
                    };
                    let reason =
                        "no version of Karmada reads it, and a recipe left it behind".to_owned();
                    self.push(
                        member,
                        action,
                        reason,
                        None,
                        vec![key(KUBECONFIG_KEY_EMPTY, member)],
                    );
                }
                kubeconfig @ SecretKubeconfig::Kubeconfig { .. } => {
                    let place = (Server::ControlPlane, object, "kubeconfig");
                    if let Some(action) = rewrite(place, kubeconfig, member, examination) {
                        let reason = "its server is to be the member's address, for whoever uses that kubeconfig".to_owned();
                        self.push(
                            member,
                            action,
                            reason,
                            None,
                            vec![key(KUBECONFIG_KEY_STALE, member)],
                        );
                    }
                }
                SecretKubeconfig::Absent | SecretKubeconfig::Other => {}
            }
        }
        self.redirect_estimator(member, examination);
    }

    /// The scheduler's estimator of a member has a kubeconfig of its own, mounted so that only a new pod reads it.
    fn redirect_estimator(&mut self, member: &Member, examination: &Examination<'_>) {
        let Some(host) = self.observed.host.seen() else {
            return;
        };
        let Some(secret) = host.estimators.get(member.name()) else {
            return;
        };
        let place = (Server::Host, secret.object.clone(), secret.key.as_str());
        let Some(action) = rewrite(place, &secret.kubeconfig, member, examination) else {
            return;
        };
        let reason = "the scheduler's estimator dials the member at the server of this kubeconfig"
            .to_owned();
        self.push(
            member,
            action,
            reason,
            None,
            vec![key(ESTIMATOR_STALE, member)],
        );
        if let Some(workload) = host.estimator(member.name()) {
            self.restart(
                workload,
                "it reads its kubeconfig only when it starts".to_owned(),
            );
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
        self.steps.push(Step {
            subject: Subject::cluster(member.name()),
            command: action.command(&self.observed.control_plane.commands),
            action,
            reason,
            caution,
            cures,
        });
    }
}

/// The patch of a kubeconfig in a Secret that has servers to be replaced; `None` = there are none, or it cannot be done
/// without touching more.
fn rewrite(
    (server, object, secret_key): (Server, ObjectReference, &str),
    kubeconfig: &SecretKubeconfig,
    member: &Member,
    examination: &Examination<'_>,
) -> Option<Action> {
    let SecretKubeconfig::Kubeconfig { servers, encoded } = kubeconfig else {
        return None;
    };
    let wanted = wanted_endpoint(member, examination)?;
    let stale = secret_kubeconfig::stale_servers(servers, member, &wanted);
    if stale.is_empty() {
        return None;
    }
    let encoded = encoded.expose_secret();
    let rewritten = secret_kubeconfig::rewritten(encoded, &stale, &wanted)?;
    let path = format!("/data/{secret_key}");
    let (patch, inverse) = set_value(&path, Some(encoded), 0, &rewritten);
    Some(Action::PatchObject {
        server,
        object,
        patch,
        inverse,
    })
}

/// What an attempt from where the control plane dials showed.
fn as_tried(member: &Member, endpoint: &Endpoint) -> String {
    match member.tried_at(endpoint) {
        Some(tried) if tried.reach == Reach::Open => format!("; it {}", tried.words()),
        Some(_) | None => String::new(),
    }
}

fn untried_caution(member: &Member, door: &Door) -> Option<String> {
    match member.tried_at(&door.endpoint) {
        Some(tried) if tried.reach == Reach::Open => None,
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
