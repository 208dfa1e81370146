//! The lines of the overview: one per member and identity. Pure.

use jiff::Timestamp;
use karmada_repair::finding::{Finding, Severity, Subject};
use karmada_repair::part::Part;
use karmada_repair::report::{Column, Overview, Row};

use crate::account::Identity;
use crate::answer::Answer;
use crate::audit;
use crate::config::{Config, Task};
use crate::examine::{Standing, obstacle, standing};
use crate::observed::{Applied, Member, Observed};

/// One line per member and identity, or the list of who has access.
pub fn overview(
    observed: &Observed,
    findings: &[Finding],
    config: &Config,
    now: Timestamp,
) -> Overview {
    if config.task == Task::List {
        return audit::overview(observed, config);
    }
    let column = |key, title, wide| Column { key, title, wide };
    Overview {
        columns: vec![
            column("cluster", "CLUSTER", false),
            column("subject", "SUBJECT", false),
            column("granted", "GRANTED", false),
            column("answer", "ANSWER", false),
            column("rights", "MAY", false),
            column("status", "STATUS", false),
            column("mode", "MODE", true),
            column("ready", "READY", true),
            column("groups", "GROUPS", true),
            column("through", "THROUGH", true),
            column("work", "WORK", true),
            column("seen", "SEEN", true),
        ],
        rows: observed
            .members
            .iter()
            .flat_map(|member| {
                observed
                    .identities
                    .iter()
                    .map(move |identity| row(member, identity, observed, findings, config, now))
            })
            .collect(),
    }
}

fn row(
    member: &Member,
    identity: &Identity,
    observed: &Observed,
    findings: &[Finding],
    config: &Config,
    now: Timestamp,
) -> Row {
    let account = &identity.account;
    let standing = standing(member, identity, observed, config, now);
    let granted = match (&observed.rbac, &standing) {
        (Part::Unreadable(_) | Part::Absent, _) => "unknown",
        (_, Standing::NotGranted(_)) => "no",
        _ => "yes",
    };
    let rights = match member.rights(account) {
        Some(Part::Seen(rights)) => Some(rights.words().to_owned()),
        Some(Part::Unreadable(_)) => Some("unknown".to_owned()),
        Some(Part::Absent) | None => None,
    };
    let ready = member.cluster.ready();
    Row {
        subject: Subject::cluster(member.name()),
        cells: vec![
            Some(member.name().to_owned()),
            Some(account.subject().to_string()),
            Some(granted.to_owned()),
            member.answer(account).map(Answer::words),
            rights,
            Some(status(member, identity, observed, findings, config, now)),
            Some(format!("{:?}", member.cluster.spec.sync_mode)),
            Some(
                ready
                    .map_or("Unknown", |ready| ready.status.as_str())
                    .to_owned(),
            ),
            Some(identity.groups.join(",")).filter(|groups| !groups.is_empty()),
            observed.rbac.seen().and_then(|rbac| {
                let binding = rbac.lets_through(identity, member.name(), "get")?;
                Some(binding.metadata.name.clone())
            }),
            work(member),
            member.copy.seen().map(|copy| copy.way.clone()),
        ],
    }
}

fn status(
    member: &Member,
    identity: &Identity,
    observed: &Observed,
    findings: &[Finding],
    config: &Config,
    now: Timestamp,
) -> String {
    let about_the_member = findings
        .iter()
        .filter(|finding| finding.key.subject == Subject::cluster(member.name()))
        .max_by_key(|finding| finding.severity)
        .map(|finding| finding.key.code.clone());
    if config.task == Task::Revoke {
        let about_the_account = findings
            .iter()
            .filter(|finding| finding.key.subject == identity.account.subject())
            .max_by_key(|finding| finding.severity)
            .map(|finding| finding.key.code.clone());
        return about_the_account
            .or(about_the_member)
            .unwrap_or_else(|| "nothing granted".to_owned());
    }
    match standing(member, identity, observed, config, now) {
        Standing::NotGranted(lack) if lack.is_curable() => "not-granted".to_owned(),
        Standing::NotGranted(_) => "masters-not-accepted".to_owned(),
        Standing::NotAccepted(_) => "not-accepted".to_owned(),
        Standing::NotVerified(_) => "not-verified".to_owned(),
        Standing::Blocked => about_the_member.unwrap_or_else(|| "blocked".to_owned()),
        Standing::Granted => match obstacle(member, observed, now) {
            Some(_) => about_the_member.unwrap_or_else(|| "blocked".to_owned()),
            None => "granted".to_owned(),
        },
        Standing::Passes => {
            let about_both = findings.iter().find(|finding| {
                finding.key.subject == identity.account.subject()
                    && finding.severity > Severity::Info
                    && finding.message.contains(member.name())
            });
            about_the_member
                .or(about_both.map(|finding| finding.key.code.clone()))
                .unwrap_or_else(|| "passes".to_owned())
        }
    }
}

fn work(member: &Member) -> Option<String> {
    Some(match &member.role_work {
        Part::Seen(work) => match &work.applied {
            Applied::Yes => "applied".to_owned(),
            Applied::No(_) => "failed".to_owned(),
            Applied::Never => "never applied".to_owned(),
        },
        Part::Absent => return None,
        Part::Unreadable(_) => "unknown".to_owned(),
    })
}
