//! From findings to steps. Pure.

mod repairs;

use std::collections::BTreeSet;

use jiff::Timestamp;
use karmada_repair::cluster::object::ObjectReference;
use karmada_repair::finding::{Finding, FindingKey, Subject};
use karmada_repair::part::Part;
use karmada_repair::plan::{Action, Applied, Lists, Plan, Proof, Server, Step, contains};
use serde_json::Value;

use crate::account::{Account, Identity};
use crate::config::{Config, Task};
use crate::diagnose::{NOT_ACCEPTED, NOT_GRANTED, NOT_VERIFIED, ROLE_NOT_BOUND, key};
use crate::examine::{Lack, Obstacle, Standing, obstacle, standing};
use crate::grant::{Grant, Scope, Wanted, carried_name, name};
use crate::member_role;
use crate::observed::{Member, Observed};
use crate::rbac::{OWN, Rbac};
use crate::revoke;

/// The steps that cure what can be cured: what stands in the way of everybody first, then grants, then roles in members;
/// then each identity is tried.
pub fn plan(observed: &Observed, findings: &[Finding], config: &Config, now: Timestamp) -> Plan {
    match config.task {
        Task::List => Plan::default(),
        Task::Revoke => revoke::plan(observed, config),
        Task::Grant => {
            let may = observed.may_grant.seen().is_none_or(|may| may.is_enough());
            of_access(observed, findings, config, now, may)
        }
    }
}

/// The objects that the plan would apply to the control plane, whether the caller may or not.
pub fn manifests(
    observed: &Observed,
    findings: &[Finding],
    config: &Config,
    now: Timestamp,
) -> Vec<Value> {
    let mut observed = observed.clone();
    if observed.rbac.seen().is_none() {
        // Then everything is wanted, whatever is there already.
        observed.rbac = Part::Seen(Rbac::default());
    }
    of_access(&observed, findings, config, now, true)
        .steps
        .into_iter()
        .filter_map(|step| match step.action {
            Action::ApplyObject { manifest, .. } => Some(manifest),
            _ => None,
        })
        .collect()
}

fn of_access(
    observed: &Observed,
    findings: &[Finding],
    config: &Config,
    now: Timestamp,
    may_grant: bool,
) -> Plan {
    let mut draft = Draft {
        observed,
        steps: Vec::new(),
    };
    let mut helped: BTreeSet<String> = BTreeSet::new();
    for member in &observed.members {
        if let Some(obstacle) = obstacle(member, observed, now)
            && repairs::remove(&mut draft, member, &obstacle)
        {
            helped.insert(member.name().to_owned());
        }
    }
    if may_grant && observed.rbac.seen().is_some() {
        for identity in &observed.identities {
            draft.grant(identity, config, now);
        }
    }
    if let Some(role) = &config.member_role {
        for identity in &observed.identities {
            draft.bind(identity, role);
        }
    }
    let proofs = observed
        .identities
        .iter()
        .filter(|identity| !matches!(identity.account, Account::Group { .. }))
        .filter_map(|identity| draft.proof(identity, &helped, findings, config, now))
        .collect();
    Plan {
        steps: draft.steps,
        proofs,
    }
}

/// The steps so far.
pub struct Draft<'a> {
    /// What was observed.
    pub observed: &'a Observed,
    /// The steps, in order.
    pub steps: Vec<Step>,
}

impl Draft<'_> {
    /// Adds a step.
    pub fn push(
        &mut self,
        subject: Subject,
        action: Action,
        reason: String,
        caution: Option<String>,
        cures: Vec<FindingKey>,
    ) {
        self.steps.push(Step {
            subject,
            command: action.command(&self.observed.control_plane.commands),
            action,
            reason,
            caution,
            cures,
        });
    }

    /// Applies an object unless it is as wanted; whether it did.
    fn apply(
        &mut self,
        server: Server,
        wanted: Wanted,
        existing: Option<&Value>,
        why: Why,
    ) -> bool {
        let is_there =
            existing.is_some_and(|object| contains(object, &wanted.manifest, Lists::Whole));
        if is_there {
            return false;
        }
        let action = Action::ApplyObject {
            server,
            object: wanted.object,
            manifest: wanted.manifest,
            before: existing.and_then(|object| Applied::of(object, OWN)),
        };
        self.push(why.subject, action, why.reason, why.caution, why.cures);
        true
    }

    fn grant(&mut self, identity: &Identity, config: &Config, now: Timestamp) {
        let Some(rbac) = self.observed.rbac.seen() else {
            return;
        };
        let account = &identity.account;
        let lacks = lacks(identity, self.observed, config, now);
        if !lacks.iter().any(Lack::is_curable) {
            return;
        }
        let scope = config.scope();
        let grant = grant(identity, &scope, rbac, config, &self.observed.members);
        let cures = vec![key(NOT_GRANTED, account), key(NOT_ACCEPTED, account)];
        let main = name(account, &scope);
        let carried = carried_name(&main);
        for wanted in grant.objects() {
            let existing = self
                .observed
                .objects
                .get(&format!("{}/{}", wanted.object.kind, wanted.object.name));
            let why = Why {
                subject: account.subject(),
                reason: reason(&wanted.object, &carried, &grant),
                caution: caution(&wanted.object, &main, &grant),
                cures: cures.clone(),
            };
            self.apply(Server::ControlPlane, wanted, existing, why);
        }
    }

    fn bind(&mut self, identity: &Identity, role: &str) {
        let account = &identity.account;
        for member in self
            .observed
            .members
            .iter()
            .filter(|member| !member.is_being_deleted())
        {
            let Part::Seen(works) = &member.role_works else {
                continue;
            };
            if member.member_role == Part::Seen(false) {
                continue;
            }
            let (object, manifest) = member_role::work(member.name(), account, role);
            let existing = works
                .iter()
                .find(|work| work.name == object.name)
                .map(|work| &work.object);
            let why = Why {
                subject: account.subject(),
                reason: format!(
                    "Karmada delivers it to {}, where it binds {account} to the ClusterRole {role}, and keeps it",
                    member.name()
                ),
                caution: role_caution(account, role),
                cures: vec![
                    key(ROLE_NOT_BOUND, account),
                    key("no-rights-in-member", account),
                ],
            };
            self.apply(
                Server::ControlPlane,
                Wanted { object, manifest },
                existing,
                why,
            );
        }
    }

    /// An identity is tried when something was done for it.
    fn proof(
        &self,
        identity: &Identity,
        helped: &BTreeSet<String>,
        findings: &[Finding],
        config: &Config,
        now: Timestamp,
    ) -> Option<Proof> {
        let account = &identity.account;
        let subject = account.subject();
        let has_steps = self.steps.iter().any(|step| step.subject == subject);
        let members: Vec<&str> = self
            .observed
            .members
            .iter()
            .filter(|member| {
                let passes = matches!(
                    standing(member, identity, self.observed, config, now),
                    Standing::Passes
                );
                let reachable = match obstacle(member, self.observed, now) {
                    None => true,
                    Some(Obstacle::BeingDeleted) => false,
                    Some(Obstacle::Frozen { .. }) if passes => true,
                    Some(_) => helped.contains(member.name()),
                };
                reachable && (has_steps || (helped.contains(member.name()) && !passes))
            })
            .map(Member::name)
            .collect();
        let stuck = findings
            .iter()
            .any(|finding| finding.key == key(NOT_GRANTED, account))
            && !has_steps;
        if members.is_empty() || stuck {
            return None;
        }
        Some(Proof {
            subject,
            summary: format!(
                "that {account} reaches {}: clusters/proxy is asked as {account}, and answers 200",
                members.join(", ")
            ),
            // Where nobody may try on its behalf, only the proof tells.
            cures: vec![key(NOT_VERIFIED, account)],
            awaits: vec![key(NOT_ACCEPTED, account)],
        })
    }
}

/// Why an object is applied.
struct Why {
    subject: Subject,
    reason: String,
    caution: Option<String>,
    cures: Vec<FindingKey>,
}

/// What the identity lacks, member by member.
fn lacks(identity: &Identity, observed: &Observed, config: &Config, now: Timestamp) -> Vec<Lack> {
    observed
        .members
        .iter()
        .filter(|member| !member.is_being_deleted())
        .filter_map(
            |member| match standing(member, identity, observed, config, now) {
                Standing::NotGranted(lack) => Some(lack),
                _ => None,
            },
        )
        .collect()
}

/// The whole grant: what it gave before is kept, and a group that nobody else's binding makes known is carried.
fn grant<'a>(
    identity: &'a Identity,
    scope: &'a Scope,
    rbac: &Rbac,
    config: &Config,
    members: &[Member],
) -> Grant<'a> {
    let account = &identity.account;
    let main = name(account, scope);
    let verbs_of = |name: &str| {
        rbac.roles
            .get(name)
            .filter(|role| role.metadata.is_own())
            .into_iter()
            .flat_map(|role| {
                role.rules
                    .iter()
                    .flat_map(|rule| rule.verbs.iter().cloned())
            })
    };
    let kept = rbac
        .bindings
        .get(&carried_name(&main))
        .filter(|binding| binding.is_own())
        .into_iter()
        .flat_map(|binding| binding.subjects.iter().map(|bound| bound.name.clone()));
    // Without any grant of this plugin: each of them may go at any time.
    let foreign = Rbac {
        bindings: rbac
            .bindings
            .iter()
            .filter(|(_, binding)| !binding.is_own())
            .map(|(name, binding)| (name.clone(), binding.clone()))
            .collect(),
        ..rbac.clone()
    };
    let carried = members
        .iter()
        .filter(|member| !member.is_being_deleted())
        .flat_map(|member| foreign.accepted_by(member.name()).lacks(identity).groups)
        .filter(|group| group != crate::account::MASTERS);
    Grant {
        account,
        scope,
        verbs: config
            .verbs
            .iter()
            .cloned()
            .chain(verbs_of(&main))
            .collect(),
        carried: carried.chain(kept).collect(),
    }
}

fn reason(object: &ObjectReference, carried: &str, grant: &Grant<'_>) -> String {
    let (account, place) = (grant.account, grant.scope.words());
    let groups = || {
        grant
            .carried
            .iter()
            .map(|group| format!("{group:?}"))
            .collect::<Vec<_>>()
            .join(", ")
    };
    match (object.kind.as_str(), object.name == carried) {
        ("ClusterRole", false) => format!(
            "it lets {} clusters/proxy of {place}, and Karmada makes its subjects known to the members",
            grant.verbs.iter().cloned().collect::<Vec<_>>().join(", ")
        ),
        ("ClusterRole", true) => {
            "its verb matches no request: Karmada makes its subjects known to the members, and they get no right by it"
                .to_owned()
        }
        (_, false) => format!("{account} gets the role"),
        (_, true) => format!("{account} carries {}, which members must accept", groups()),
    }
}

fn caution(object: &ObjectReference, main: &str, grant: &Grant<'_>) -> Option<String> {
    if object.kind != "ClusterRoleBinding" || object.name != main {
        return None;
    }
    match grant.account {
        Account::ServiceAccount { name, .. } => Some(format!(
            "Karmada tells members the name {name:?} without its namespace; service accounts of that name elsewhere still need rights of their own in the control plane"
        )),
        Account::Group { name } => Some(format!(
            "everybody in {name:?} gets it whose user name members accept"
        )),
        Account::User { .. } => None,
    }
}

fn role_caution(account: &Account, role: &str) -> Option<String> {
    let masters =
        (role == "cluster-admin").then(|| "cluster-admin may do everything there".to_owned());
    let same_name = match account {
        Account::ServiceAccount { namespace, name } => Some(format!(
            "the member's own service account {namespace}/{name} has the same name there, and gets it, too"
        )),
        Account::User { .. } | Account::Group { .. } => Some(format!(
            "whoever the member itself knows as {account} gets it, too"
        )),
    };
    let cautions: Vec<String> = masters.into_iter().chain(same_name).collect();
    Some(cautions.join("; "))
}

#[cfg(test)]
mod tests;
