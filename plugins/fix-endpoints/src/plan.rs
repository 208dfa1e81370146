//! From findings to steps. Pure.

mod address;
mod secrets;

use jiff::Timestamp;
use json_patch::Patch;
use karmada_repair::finding::{Finding, FindingKey, Subject};
use karmada_repair::plan::{Action, Plan, Proof, Server, Step, set_annotation};

use crate::config::{Config, DeliveryCheck};
use crate::diagnose::{
    AGENT_FLAG_STALE, DELIVERY_UNPROVEN, NOT_READY, rules_out_proof, wanted_endpoint,
};
use crate::examine::{Examination, examine};
use crate::host::{Component, Workload};
use crate::observed::{Member, Observed, UNPROVEN};

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
        .filter(|member| config.examines(member) && !rules_out_proof(findings, member, now))
        .collect();
    for member in &examined {
        let examination = examine(member, observed, config, now);
        match member.is_dialled() {
            true => draft.add(member, &examination),
            false => draft.add_with_agent(member, &examination),
        }
    }
    let unproven: Vec<&Member> = examined
        .iter()
        .copied()
        .filter(|member| member.is_dialled() && member.unproven_since().is_some())
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
            _ if !member.is_dialled() => false,
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
        self.lead_to(member, examination);
        self.renew_credentials(member);
        self.tidy_secret(member, examination);
    }

    /// The control plane is changed first: then the agent that starts anew finds nothing to write. Without a way to the agent
    /// nothing is changed at all.
    fn add_with_agent(&mut self, member: &Member, examination: &Examination<'_>) {
        let Some(agent) = member
            .agent
            .seen()
            .filter(|agent| agent.obstacle().is_none())
        else {
            return;
        };
        if examination.fault.is_none() && !member.is_reached() {
            return;
        }
        let Some(wanted) = wanted_endpoint(member, examination) else {
            return;
        };
        self.lead_to(member, examination);
        if !agent.agrees(&wanted) {
            let reason = "the agent writes the endpoint of its flag into the Cluster when it starts; as both are the same \
                          by then, it has nothing to write"
                .to_owned();
            let cures = vec![key(AGENT_FLAG_STALE, member)];
            self.push(
                member,
                agent.redirected(member, &wanted),
                reason,
                None,
                cures,
            );
        }
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

    /// The annotation that remembers a change of the way until workloads were seen to be delivered.
    fn note(&self, member: &Member) -> (Patch, Patch) {
        set_annotation(
            UNPROVEN,
            !member.cluster.metadata.annotations.is_empty(),
            member.unproven_since(),
            &self.now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        )
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

fn key(code: &str, member: &Member) -> FindingKey {
    FindingKey {
        code: code.to_owned(),
        subject: Subject::cluster(member.name()),
    }
}

#[cfg(test)]
mod tests;
