//! From an observation to findings. Pure.

mod obstacles;
mod words;

use std::collections::BTreeMap;

use jiff::Timestamp;
use karmada_repair::finding::{Finding, FindingKey, Severity, Subject};
use karmada_repair::part::Part;
use karmada_repair::text::shell_word;

use crate::account::{Account, Identity};
use crate::audit;
use crate::config::{Config, Task};
use crate::examine::{Standing, obstacle, standing};
use crate::member_role;
use crate::observed::{Applied, Member, Observed, Rights};
use crate::revoke;

pub use words::lack_in_words;

/// What is wrong.
pub fn diagnose(observed: &Observed, config: &Config, now: Timestamp) -> Vec<Finding> {
    match config.task {
        Task::List => audit::diagnose(observed, config),
        Task::Revoke => revoke::diagnose(observed, config),
        Task::Grant => of_access(observed, config, now),
    }
}

fn of_access(observed: &Observed, config: &Config, now: Timestamp) -> Vec<Finding> {
    let mut findings = Vec::new();
    if let Part::Unreadable(reason) = &observed.rbac {
        findings.push(unreadable_rbac(observed, reason));
    }
    for member in &observed.members {
        if let Some(obstacle) = obstacle(member, observed, now) {
            findings.push(obstacles::finding(member, &obstacle, observed));
        }
    }
    for identity in &observed.identities {
        findings.extend(of_identity(identity, observed, config, now));
    }
    let needs_a_grant = findings
        .iter()
        .any(|finding| finding.key.code == NOT_GRANTED);
    if let (Some(may), true) = (observed.may_grant.seen(), needs_a_grant)
        && !may.is_enough()
    {
        findings.push(may_not_grant(observed, config));
    }
    if let (Part::Unreadable(reason), true) = (
        &observed.controller_manager,
        findings
            .iter()
            .any(|finding| finding.key.code == UNDELIVERED),
    ) {
        let message = format!("what delivers to members cannot be restarted: {reason}");
        let subject = Subject::new("host", "karmada-controller-manager");
        findings.push(
            Finding::new(PAGE, "host-unreadable", Severity::Unknown, subject, message).hint(
                format!(
                    "{} get deployments -A",
                    observed.control_plane.commands.host
                ),
            ),
        );
    }
    findings
}

/// The finding that RBAC cannot be read.
pub fn unreadable_rbac(observed: &Observed, reason: &str) -> Finding {
    let message = format!("what is granted cannot be told: {reason}");
    Finding::new(
        PAGE,
        "rbac-unreadable",
        Severity::Unknown,
        control_plane(),
        message,
    )
    .hint(format!(
        "{} auth can-i list clusterrolebindings",
        observed.control_plane.commands.kubectl
    ))
}

fn may_not_grant(observed: &Observed, config: &Config) -> Finding {
    let may = observed.may_grant.seen();
    let lacks = may
        .map(|may| may.lacks.join(", "))
        .filter(|lacks| !lacks.is_empty());
    let message = match lacks {
        Some(lacks) => format!("you may not grant this: you lack {lacks}"),
        None => "you may not grant this: nobody may give more than he holds, and you hold less; \
                 the API server would refuse it as an escalation"
            .to_owned(),
    };
    Finding::new(
        PAGE,
        "may-not-grant",
        Severity::Error,
        control_plane(),
        message,
    )
    .hint(format!(
        "an administrator can apply what this prints: {} -o manifests",
        own_command(observed, config)
    ))
}

fn of_identity(
    identity: &Identity,
    observed: &Observed,
    config: &Config,
    now: Timestamp,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    let about = |code: &str, severity, message: String| {
        Finding::new(PAGE, code, severity, identity.account.subject(), message)
    };
    let account = &identity.account;
    let mut lacks: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    let mut refused: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    let mut unverified: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    let mut masters: Vec<&str> = Vec::new();
    for member in observed
        .members
        .iter()
        .filter(|member| !member.is_being_deleted())
    {
        match standing(member, identity, observed, config, now) {
            Standing::NotGranted(lack) => {
                if lack.masters
                    && !member
                        .answer(account)
                        .is_some_and(crate::answer::Answer::passes)
                {
                    masters.push(member.name());
                }
                if lack.is_curable() {
                    lacks
                        .entry(lack_in_words(&lack))
                        .or_default()
                        .push(member.name());
                }
            }
            Standing::NotAccepted(message) => {
                refused.entry(message).or_default().push(member.name())
            }
            Standing::NotVerified(why) => unverified.entry(why).or_default().push(member.name()),
            Standing::Passes | Standing::Blocked | Standing::Granted => {}
        }
    }
    if !lacks.is_empty() {
        let reasons = places(&lacks);
        let message = format!("{account} is not granted access to {reasons}");
        findings.push(about(NOT_GRANTED, Severity::Error, message));
    }
    if !masters.is_empty() {
        let message = format!(
            "{account} carries the group system:masters, which {} not accept and which is never granted",
            does(&masters)
        );
        findings.push(about("masters-not-accepted", Severity::Error, message).hint(
            "use credentials without that group, or restore the ClusterRoleBinding cluster-admin of the control plane",
        ));
    }
    if !refused.is_empty() {
        let message = format!(
            "{account} is granted access and still refused by {}",
            places(&refused)
        );
        findings.push(about(NOT_ACCEPTED, Severity::Error, message));
    }
    if !unverified.is_empty() {
        findings.push(not_verified(identity, &unverified, observed));
    }
    findings.extend(of_groups(identity, observed));
    findings.extend(of_rights(identity, observed, config));
    if let Some(role) = &config.member_role {
        findings.extend(of_member_role(identity, role, observed, now));
    }
    findings
}

fn not_verified(
    identity: &Identity,
    unverified: &BTreeMap<String, Vec<&str>>,
    observed: &Observed,
) -> Finding {
    let account = &identity.account;
    let message = format!(
        "whether {account} reaches its members cannot be told: {}",
        places(unverified)
    );
    let member = unverified
        .values()
        .flatten()
        .next()
        .copied()
        .unwrap_or_default();
    Finding::new(
        PAGE,
        NOT_VERIFIED,
        Severity::Unknown,
        account.subject(),
        message,
    )
    .hint(format!(
        "with the credentials of {account}: kubectl --kubeconfig FILE get --raw {}/api, against {}",
        karmada_repair::karmada::proxy_path(member),
        observed.control_plane.server,
    ))
}

/// A group reaches members only in company of a user, and a user only with all groups.
fn of_groups(identity: &Identity, observed: &Observed) -> Option<Finding> {
    let about = |code: &str, severity, message: String| {
        Finding::new(PAGE, code, severity, identity.account.subject(), message)
    };
    match &identity.account {
        Account::Group { name } => {
            let has_user = observed
                .identities
                .iter()
                .any(|other| other.groups.contains(name));
            (!has_user).then(|| {
                about(
                    "group-needs-users",
                    Severity::Warning,
                    format!(
                        "members accept {} only together with a user name that they accept, too",
                        identity.account
                    ),
                )
                .hint(format!(
                    "name who is in it: {} --group {} --user USER",
                    observed.control_plane.own_command,
                    shell_word(name)
                ))
            })
        }
        Account::User { name } if !identity.groups_are_known && identity.groups.is_empty() => {
            let message = format!(
                "the groups that the credentials of {} carry are not known; members must accept each",
                identity.account
            );
            let hint = format!(
                "if they carry some: {} --user {} --in-group GROUP, or --from-kubeconfig FILE",
                observed.control_plane.own_command,
                shell_word(name)
            );
            Some(about("groups-unknown", Severity::Info, message).hint(hint))
        }
        _ => None,
    }
}

/// Impersonation that works, and leads to somebody without rights, is another fault.
fn of_rights(identity: &Identity, observed: &Observed, config: &Config) -> Option<Finding> {
    let account = &identity.account;
    let without: Vec<&str> = observed
        .members
        .iter()
        .filter(|member| member.rights(account) == Some(&Part::Seen(Rights::Nothing)))
        .filter(|member| match &config.member_role {
            None => true,
            Some(role) => has_role(member, account, role),
        })
        .map(Member::name)
        .collect();
    if without.is_empty() {
        return None;
    }
    let places = without.join(", ");
    let about = |message: String| {
        Finding::new(
            PAGE,
            "no-rights-in-member",
            Severity::Warning,
            account.subject(),
            message,
        )
    };
    if let Some(role) = &config.member_role {
        return Some(about(format!(
            "{account} has the role {role:?} in {places}, and may not list pods there cluster-wide: the role gives something else, or nothing"
        )));
    }
    let (flag, value) = account.flag();
    Some(
        about(format!(
            "{account} reaches {places}, and may not list pods there cluster-wide: impersonation works, a role in the member is missing"
        ))
        .hint(format!(
            "{} {} {flag} {} --member-role view",
            observed.control_plane.own_command,
            without.join(" "),
            shell_word(&value)
        )),
    )
}

/// Whether Karmada has delivered the role of `--member-role`.
fn has_role(member: &Member, account: &Account, role: &str) -> bool {
    let name = member_role::name(account, role);
    member
        .role_works
        .seen()
        .into_iter()
        .flatten()
        .any(|work| work.name == name && work.applied == Applied::Yes)
}

fn of_member_role(
    identity: &Identity,
    role: &str,
    observed: &Observed,
    now: Timestamp,
) -> Vec<Finding> {
    let account = &identity.account;
    let name = member_role::name(account, role);
    let mut unknown = Vec::new();
    let mut unreadable: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    let mut missing = Vec::new();
    let mut pending: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for member in observed
        .members
        .iter()
        .filter(|member| !member.is_being_deleted())
    {
        if member.member_role == Part::Seen(false) {
            unknown.push(member.name());
            continue;
        }
        match &member.role_works {
            Part::Unreadable(reason) => {
                unreadable
                    .entry(reason.clone())
                    .or_default()
                    .push(member.name());
            }
            Part::Absent => {}
            Part::Seen(works) => match works.iter().find(|work| work.name == name) {
                None => missing.push(member.name()),
                Some(work) if obstacle(member, observed, now).is_none() => {
                    let why = match &work.applied {
                        Applied::Yes => continue,
                        Applied::No(message) => message.clone(),
                        Applied::Never => "it was not applied yet".to_owned(),
                    };
                    pending.entry(why).or_default().push(member.name());
                }
                Some(_) => {}
            },
        }
    }
    let about = |code: &str, severity, message: String| {
        Finding::new(PAGE, code, severity, account.subject(), message)
    };
    let mut findings = Vec::new();
    if !unknown.is_empty() {
        let message = format!("there is no ClusterRole {role:?} in {}", unknown.join(", "));
        findings.push(about("member-role-unknown", Severity::Error, message));
    }
    if !missing.is_empty() {
        let message = format!(
            "{account} does not have the role {role:?} in {} by a Work of this plugin",
            missing.join(", ")
        );
        findings.push(about(ROLE_NOT_BOUND, Severity::Error, message));
    }
    if !pending.is_empty() {
        let message = format!(
            "the role {role:?} of {account} has not arrived in {}",
            places(&pending)
        );
        findings.push(about(ROLE_NOT_BOUND, Severity::Error, message));
    }
    if !unreadable.is_empty() {
        let message = format!(
            "whether {account} has the role {role:?} cannot be told of {}",
            places(&unreadable)
        );
        findings.push(about("works-unreadable", Severity::Unknown, message));
    }
    findings
}

/// The members of each reason, as `a, b: reason; c: other reason`.
pub fn places(by_reason: &BTreeMap<String, Vec<&str>>) -> String {
    by_reason
        .iter()
        .map(|(reason, members)| format!("{}: {reason}", members.join(", ")))
        .collect::<Vec<_>>()
        .join("; ")
}

fn does(names: &[&str]) -> String {
    match names {
        [one] => format!("{one} does"),
        several => format!("{} do", several.join(", ")),
    }
}

/// This plugin with the flags that lead to the same servers and name the same subjects and members.
pub fn own_command(observed: &Observed, config: &Config) -> String {
    let mut command = observed.control_plane.own_command.clone();
    for member in &config.members {
        command.push_str(&format!(" {}", shell_word(member)));
    }
    for identity in &observed.identities {
        let (flag, value) = identity.account.flag();
        command.push_str(&format!(" {flag} {}", shell_word(&value)));
        if matches!(identity.account, Account::User { .. }) {
            let named = |group: &&String| {
                !observed.identities.iter().any(|other| {
                    other.account
                        == Account::Group {
                            name: (*group).clone(),
                        }
                })
            };
            for group in identity
                .groups
                .iter()
                .filter(|group| *group != crate::account::MASTERS)
                .filter(named)
            {
                command.push_str(&format!(" --in-group {}", shell_word(group)));
            }
        }
    }
    let usual = ["get".to_owned()];
    if !config.verbs.iter().eq(usual.iter()) {
        let verbs: Vec<&str> = config.verbs.iter().map(String::as_str).collect();
        command.push_str(&format!(" --verbs {}", shell_word(&verbs.join(","))));
    }
    command
}

/// The control plane, as findings name it.
pub fn control_plane() -> Subject {
    Subject::new("control-plane", "rbac")
}

/// The finding of this code about an identity.
pub fn key(code: &str, account: &Account) -> FindingKey {
    FindingKey {
        code: code.to_owned(),
        subject: account.subject(),
    }
}

/// The page that explains the codes.
pub const PAGE: &str = "grant-impersonate";
/// The code of an identity that the control plane does not grant what it takes.
pub const NOT_GRANTED: &str = "not-granted";
/// The code of an identity that is granted access, and refused.
pub const NOT_ACCEPTED: &str = "not-accepted";
/// The code of an identity of which nobody knows.
pub const NOT_VERIFIED: &str = "not-verified";
/// The code of a role in members that was asked for.
pub const ROLE_NOT_BOUND: &str = "member-role-not-bound";
/// The code of Works that will not arrive by themselves.
pub const UNDELIVERED: &str = "work-not-delivered";

#[cfg(test)]
mod tests;
