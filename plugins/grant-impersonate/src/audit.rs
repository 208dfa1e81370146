//! Who can pass to members, and through which binding (`--list`). Pure.

use std::collections::BTreeSet;

use karmada_repair::finding::{Finding, Severity, Subject};
use karmada_repair::part::Part;
use karmada_repair::report::{Column, Overview, Row};

use crate::account::{Account, STAY_BEHIND};
use crate::config::Config;
use crate::diagnose::{PAGE, unreadable_rbac};
use crate::grant::CARRIED;
use crate::observed::Observed;
use crate::rbac::{Binding, Role, Rule};

/// One subject of one binding that leads to members.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry<'a> {
    /// Who.
    pub account: Account,
    /// Through which binding.
    pub binding: &'a Binding,
    /// To which role.
    pub role: &'a Role,
    /// The members, sorted; `None` = all.
    pub members: Option<BTreeSet<&'a str>>,
    /// What the control plane lets it do through the proxy, sorted; nothing = members accept the name, and that is all.
    pub verbs: BTreeSet<&'a str>,
    /// Where it comes from.
    pub origin: Origin,
}

/// Where a binding comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// This plugin.
    Own,
    /// The API server itself (label `kubernetes.io/bootstrapping`).
    Bootstrap,
    /// One of Karmada's installers.
    Installer,
    /// Somebody.
    Other,
}

impl Origin {
    fn of(binding: &Binding) -> Origin {
        let labels = &binding.metadata.labels;
        let name = &binding.metadata.name;
        if binding.is_own() {
            Origin::Own
        } else if labels.contains_key("kubernetes.io/bootstrapping") || name.starts_with("system:")
        {
            Origin::Bootstrap
        } else if name == INSTALLED || name.ends_with(&format!("-{INSTALLED}")) {
            Origin::Installer
        } else {
            Origin::Other
        }
    }

    fn words(self) -> &'static str {
        match self {
            Origin::Own => "this plugin",
            Origin::Bootstrap => "bootstrap",
            Origin::Installer => "installer",
            Origin::Other => "unexpected",
        }
    }
}

impl Entry<'_> {
    /// Whether the role leads to members because it leads everywhere.
    pub fn is_wildcard(&self) -> bool {
        self.role
            .rules
            .iter()
            .any(|rule| rule.leads_to_members() && rule.is_wildcard())
    }

    fn is_everybody(&self) -> bool {
        matches!(&self.account, Account::Group { name } if STAY_BEHIND.contains(&name.as_str()))
    }
}

/// All entries, sorted by who and through what.
pub fn entries<'a>(observed: &'a Observed, config: &Config) -> Vec<Entry<'a>> {
    let Some(rbac) = observed.rbac.seen() else {
        return Vec::new();
    };
    let mut entries: Vec<Entry<'a>> = rbac
        .pairs()
        .flat_map(|(binding, role)| {
            let rules: Vec<&Rule> = role
                .rules
                .iter()
                .filter(|rule| rule.leads_to_members())
                .collect();
            let members = members(&rules);
            let verbs: BTreeSet<&str> = rules
                .iter()
                .filter(|rule| rule.is_about_the_proxy())
                .flat_map(|rule| rule.verbs.iter().map(String::as_str))
                .filter(|verb| *verb != CARRIED)
                .collect();
            let lead = !rules.is_empty();
            binding
                .subjects
                .iter()
                .filter(move |_| lead)
                .filter_map(|bound| bound.account())
                .map(move |account| Entry {
                    account,
                    binding,
                    role,
                    members: members.clone(),
                    verbs: verbs.clone(),
                    origin: Origin::of(binding),
                })
        })
        .filter(|entry| is_meant(entry, observed, config))
        .collect();
    entries.sort_by(|a, b| {
        let name =
            |entry: &Entry<'_>| (entry.account.subject(), entry.binding.metadata.name.clone());
        name(a).cmp(&name(b))
    });
    entries
}

/// What deserves a second look.
pub fn diagnose(observed: &Observed, config: &Config) -> Vec<Finding> {
    let mut findings = Vec::new();
    if let Part::Unreadable(reason) = &observed.rbac {
        findings.push(unreadable_rbac(observed, reason));
    }
    let kubectl = &observed.control_plane.commands.kubectl;
    for entry in entries(observed, config) {
        let binding = &entry.binding.metadata.name;
        let show = format!(
            "{kubectl} describe clusterrolebinding {}",
            karmada_repair::text::shell_word(binding)
        );
        let about = |code: &str, severity, message: String| {
            Finding::new(PAGE, code, severity, entry.account.subject(), message).hint(show.clone())
        };
        let places = place(&entry);
        if entry.is_everybody() && !entry.verbs.is_empty() {
            let message =
                format!("everybody may use clusters/proxy of {places}, by the binding {binding}");
            findings.push(about("everybody-passes", Severity::Warning, message));
        } else if entry.is_wildcard() && entry.origin == Origin::Other {
            let message = format!(
                "{} passes to {places} by the wildcard role {} (binding {binding})",
                entry.account, entry.role.metadata.name
            );
            findings.push(about("wildcard-role", Severity::Warning, message));
        } else if entry.origin == Origin::Other {
            let message = format!(
                "{} passes to {places} by the binding {binding}, which neither an installer nor this plugin made",
                entry.account
            );
            findings.push(about("unexpected-binding", Severity::Info, message));
        }
    }
    findings.extend(by_hand(observed));
    findings
}

/// Whom members accept although no binding names them.
fn by_hand(observed: &Observed) -> Vec<Finding> {
    let Some(rbac) = observed.rbac.seen() else {
        return Vec::new();
    };
    observed
        .members
        .iter()
        .filter_map(|member| {
            let role = member.copy.seen()?.role.seen()?;
            let beyond = role.accepted.beyond(&rbac.accepted_by(member.name()));
            let message = format!(
                "its role karmada-impersonator accepts {}, whom no binding of the control plane names",
                beyond.join(", ")
            );
            let subject = Subject::cluster(member.name());
            (!beyond.is_empty()).then(|| {
                Finding::new(PAGE, "accepted-by-hand", Severity::Warning, subject, message)
                    .hint(format!("{} {}", observed.control_plane.own_command, member.name()))
            })
        })
        .collect()
}

/// One line per subject and binding.
pub fn overview(observed: &Observed, config: &Config) -> Overview {
    let column = |key, title, wide| Column { key, title, wide };
    Overview {
        columns: vec![
            column("subject", "SUBJECT", false),
            column("members", "MEMBERS", false),
            column("verbs", "VERBS", false),
            column("binding", "BINDING", false),
            column("role", "ROLE", false),
            column("origin", "ORIGIN", false),
        ],
        rows: entries(observed, config)
            .iter()
            .map(|entry| {
                let subject = entry.account.subject();
                let role = &entry.role.metadata.name;
                let verbs: Vec<&str> = entry.verbs.iter().copied().collect();
                Row {
                    cells: vec![
                        Some(subject.to_string()),
                        Some(place(entry)),
                        Some(match verbs.as_slice() {
                            [] => "none: only accepted".to_owned(),
                            verbs => verbs.join(","),
                        }),
                        Some(entry.binding.metadata.name.clone()),
                        Some(match entry.is_wildcard() {
                            true => format!("{role} (wildcard)"),
                            false => role.clone(),
                        }),
                        Some(entry.origin.words().to_owned()),
                    ],
                    subject,
                }
            })
            .collect(),
    }
}

fn place(entry: &Entry<'_>) -> String {
    match &entry.members {
        None => "all members".to_owned(),
        Some(names) => names.iter().copied().collect::<Vec<_>>().join(","),
    }
}

fn members<'a>(rules: &[&'a Rule]) -> Option<BTreeSet<&'a str>> {
    if rules.iter().any(|rule| rule.resource_names.is_empty()) {
        return None;
    }
    Some(
        rules
            .iter()
            .flat_map(|rule| rule.resource_names.iter().map(String::as_str))
            .collect(),
    )
}

fn is_meant(entry: &Entry<'_>, observed: &Observed, config: &Config) -> bool {
    let subject = config.names_nobody()
        || observed
            .identities
            .iter()
            .any(|identity| identity.account == entry.account);
    let place = config.members.is_empty()
        || entry.members.as_ref().is_none_or(|members| {
            config
                .members
                .iter()
                .any(|name| members.contains(name.as_str()))
        });
    subject && place
}

/// What Karmada's installers call the binding; the Helm chart puts the release's name before it.
const INSTALLED: &str = "cluster-proxy-admin";

#[cfg(test)]
mod tests;
