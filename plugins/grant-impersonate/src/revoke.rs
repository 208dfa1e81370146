//! Access that this plugin gave, taken away (`--revoke`). Pure.

use std::collections::BTreeSet;

use karmada_repair::cluster::object::ObjectReference;
use karmada_repair::finding::{Finding, Severity};
use karmada_repair::part::Part;
use karmada_repair::plan::{Action, Plan, Server, Step};
use karmada_repair::text::shell_word;

use crate::account::Account;
use crate::config::Config;
use crate::diagnose::{PAGE, key, unreadable_rbac};
use crate::grant::{binding, role};
use crate::member_role;
use crate::observed::{Member, Observed};
use crate::rbac::{Metadata, Rbac, granted_to};

/// What of this plugin's grants is still there, and what is left without them.
pub fn diagnose(observed: &Observed, config: &Config) -> Vec<Finding> {
    let mut findings = Vec::new();
    let rbac = match &observed.rbac {
        Part::Seen(rbac) => rbac,
        Part::Unreadable(reason) => return vec![unreadable_rbac(observed, reason)],
        Part::Absent => return findings,
    };
    for identity in &observed.identities {
        let account = &identity.account;
        let about = |code: &str, severity, message: String| {
            Finding::new(PAGE, code, severity, account.subject(), message)
        };
        let own = own(account, observed, config);
        if !own.is_empty() {
            let names: Vec<String> = own.iter().map(Own::to_string).collect();
            let message = format!(
                "{account} still has what this plugin granted: {}",
                names.join(", ")
            );
            findings.push(about(STILL_GRANTED, Severity::Error, message));
        }
        let (flag, value) = account.flag();
        for (name, members) in wider(account, rbac, config) {
            let place = match &members {
                None => "all members".to_owned(),
                Some(members) => members.iter().cloned().collect::<Vec<_>>().join(", "),
            };
            let message = format!(
                "{account} is granted access to {place} at once, by {name}: it cannot be revoked for {} alone",
                config.members.join(", ")
            );
            findings.push(about("granted-more-widely", Severity::Error, message).hint(format!(
                "revoke it whole, then grant what is to stay: {own} {flag} {value} --revoke && {own} MEMBER {flag} {value}",
                own = observed.control_plane.own_command,
                value = shell_word(&value)
            )));
        }
        let others = rbac.without_grants_to(account);
        let through: BTreeSet<&str> = observed
            .members
            .iter()
            .filter(|member| {
                others
                    .accepted_by(member.name())
                    .lacks(identity)
                    .is_nothing()
            })
            .filter_map(|member| others.lets_through(identity, member.name(), "get"))
            .map(|binding| binding.metadata.name.as_str())
            .collect();
        if !through.is_empty() {
            let message = format!(
                "{account} keeps access by what this plugin did not grant to it: {}",
                through.iter().copied().collect::<Vec<_>>().join(", ")
            );
            findings.push(
                about("still-passes", Severity::Warning, message).hint(format!(
                    "{} --list {flag} {}",
                    observed.control_plane.own_command,
                    shell_word(&value)
                )),
            );
        } else if own.is_empty() {
            findings.extend(lingering(identity, rbac, observed, config, &about));
        }
    }
    for member in &observed.members {
        if let Part::Unreadable(reason) = &member.role_works {
            let message = format!("whether roles are bound there cannot be told: {reason}");
            findings.push(Finding::new(
                PAGE,
                "works-unreadable",
                Severity::Unknown,
                karmada_repair::finding::Subject::cluster(member.name()),
                message,
            ));
        }
    }
    findings
}

/// What has not come of a revocation yet: the member still accepts, or still answers 200.
fn lingering(
    identity: &crate::account::Identity,
    rbac: &Rbac,
    observed: &Observed,
    config: &Config,
    about: &dyn Fn(&str, Severity, String) -> Finding,
) -> Option<Finding> {
    let account = &identity.account;
    if !wider(account, rbac, config).is_empty() {
        return None;
    }
    let passing: Vec<&str> = observed
        .members
        .iter()
        .filter(|member| {
            member
                .answer(account)
                .is_some_and(crate::answer::Answer::passes)
        })
        .map(Member::name)
        .collect();
    let message = format!(
        "{account} still reaches {}, although no binding lets it",
        passing.join(", ")
    );
    (!passing.is_empty() && !identity.is_superuser())
        .then(|| about("still-reached", Severity::Error, message))
}

/// The deletions, bindings before their roles.
pub fn plan(observed: &Observed, config: &Config) -> Plan {
    let mut steps = Vec::new();
    for identity in &observed.identities {
        let account = &identity.account;
        for own in own(account, observed, config) {
            let action = Action::DeleteObject {
                server: Server::ControlPlane,
                object: own.object,
                uid: own.uid,
                resource_version: own.version,
            };
            steps.push(Step {
                subject: account.subject(),
                command: action.command(&observed.control_plane.commands),
                action,
                reason: own.reason,
                caution: None,
                cures: vec![key(STILL_GRANTED, account)],
            });
        }
    }
    Plan {
        steps,
        proofs: Vec::new(),
    }
}

/// An object of this plugin.
struct Own {
    object: ObjectReference,
    uid: String,
    version: Option<String>,
    reason: String,
}

impl std::fmt::Display for Own {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.object.fmt(f)
    }
}

/// What this plugin made for an account, as far as it is for the named members alone.
fn own(account: &Account, observed: &Observed, config: &Config) -> Vec<Own> {
    let Some(rbac) = observed.rbac.seen() else {
        return Vec::new();
    };
    let mine = granted_to(account);
    let is_mine = |metadata: &Metadata| {
        metadata.granted_to() == Some(mine.as_str())
            && within(members_of(&metadata.name, rbac).as_ref(), config)
    };
    let of = |object: ObjectReference, metadata: &Metadata, reason: String| Own {
        object,
        uid: metadata.uid.clone(),
        version: Some(metadata.resource_version.clone()),
        reason,
    };
    let bindings = rbac
        .bindings
        .values()
        .filter(|found| is_mine(&found.metadata))
        .map(|found| {
            let reason = format!("this plugin made it for {account}");
            of(binding(&found.metadata.name), &found.metadata, reason)
        });
    let roles = rbac
        .roles
        .values()
        .filter(|found| is_mine(&found.metadata))
        .map(|found| {
            let reason = "it is the role of that binding".to_owned();
            of(role(&found.metadata.name), &found.metadata, reason)
        });
    let works = observed.members.iter().flat_map(|member| {
        let works = member.role_works.seen().into_iter().flatten();
        works
            .filter(|work| work.granted_to == mine && !work.is_being_deleted)
            .map(|work| Own {
                object: member_role::reference(&member_role::namespace(member.name()), &work.name),
                uid: work.uid.clone(),
                // Its status changes all the time.
                version: None,
                reason: format!(
                    "with it Karmada removes the binding of {account} from {}",
                    member.name()
                ),
            })
    });
    bindings.chain(roles).chain(works).collect()
}

/// The grants that are for more members than those that were named: their names, and for which (`None` = all).
fn wider(
    account: &Account,
    rbac: &Rbac,
    config: &Config,
) -> Vec<(String, Option<BTreeSet<String>>)> {
    let mine = granted_to(account);
    rbac.bindings
        .values()
        .filter(|found| found.metadata.granted_to() == Some(mine.as_str()))
        .map(|found| {
            let name = found.metadata.name.clone();
            let members = members_of(&name, rbac);
            (name, members)
        })
        .filter(|(_, members)| {
            let touches = members
                .as_ref()
                .is_none_or(|members| members.iter().any(|name| config.members.contains(name)));
            touches && !within(members.as_ref(), config)
        })
        .collect()
}

/// Whether a grant for these members (`None` = all) is for named ones alone.
fn within(members: Option<&BTreeSet<String>>, config: &Config) -> bool {
    config.members.is_empty()
        || members.is_some_and(|members| members.iter().all(|name| config.members.contains(name)))
}

/// The members that the role of this name leads to; `None` = all.
fn members_of(name: &str, rbac: &Rbac) -> Option<BTreeSet<String>> {
    let role = rbac.roles.get(name)?;
    let named: BTreeSet<String> = role
        .rules
        .iter()
        .flat_map(|rule| rule.resource_names.iter().cloned())
        .collect();
    (!named.is_empty()).then_some(named)
}

/// The code of a grant that is to be revoked.
const STILL_GRANTED: &str = "still-granted";

#[cfg(test)]
mod tests;
