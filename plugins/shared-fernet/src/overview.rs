//! The line of each instance in the overview: equal letters are equal keys. Pure.

use karmada_repair::finding::{Finding, Severity, Subject};
use karmada_repair::part::Part;
use karmada_repair::report::{Column, Overview, Row};

use crate::airflow::KeyKind;
use crate::config::Config;
use crate::diagnose::instance_subject;
use crate::group::{Chosen, Group, groups};
use crate::keyring::Reading;
use crate::observed::{ClusterSeen, Observed};

/// One line per instance, and one per cluster without any.
pub fn overview(observed: &Observed, findings: &[Finding], config: &Config) -> Overview {
    let column = |key, title, wide| Column { key, title, wide };
    let mut columns = vec![
        column("cluster", "CLUSTER", false),
        column("namespace", "NAMESPACE", false),
        column("release", "RELEASE", false),
    ];
    let groups = groups(observed);
    let kinds: Vec<KeyKind> = KeyKind::ALL
        .into_iter()
        .filter(|kind| config.kinds().contains(kind))
        .filter(|kind| {
            let mut members = groups.iter().flat_map(|group| &group.members);
            *kind == KeyKind::Fernet
                || members.any(|chosen| chosen.instance.keys.contains_key(kind))
        })
        .collect();
    columns.extend(kinds.iter().map(|kind| {
        let (key, title) = kind.column();
        column(key, title, false)
    }));
    columns.push(column("status", "STATUS", false));
    columns.push(column("places", "PLACES", true));
    let mut rows = Vec::new();
    for cluster in &observed.clusters {
        if cluster.found().is_empty() {
            rows.push(without(cluster, kinds.len(), findings));
        }
        for group in &groups {
            let chosen = group
                .members
                .iter()
                .filter(|chosen| chosen.cluster.name == cluster.name);
            rows.extend(chosen.map(|chosen| row(group, *chosen, &kinds, findings)));
        }
    }
    Overview { columns, rows }
}

fn without(cluster: &ClusterSeen, kinds: usize, findings: &[Finding]) -> Row {
    let subject = Subject::cluster(&cluster.name);
    let status = match codes(findings, &cluster.name) {
        codes if codes.is_empty() => "no airflow".to_owned(),
        codes => codes,
    };
    let mut cells = vec![Some(cluster.name.clone())];
    cells.extend(vec![None; 2 + kinds]);
    cells.extend([Some(status), None]);
    Row { subject, cells }
}

fn row(group: &Group<'_>, chosen: Chosen<'_>, kinds: &[KeyKind], findings: &[Finding]) -> Row {
    let instance = chosen.instance;
    let mut cells = vec![
        Some(chosen.cluster.name.clone()),
        Some(instance.namespace.clone()),
        Some(instance.release.clone()).filter(|release| !release.is_empty()),
    ];
    cells.extend(kinds.iter().map(|&kind| cell(group, chosen, kind)));
    let status = match codes(findings, &chosen.name()) {
        codes if codes.is_empty() => "healthy".to_owned(),
        codes => codes,
    };
    let places = kinds
        .iter()
        .filter_map(|&kind| instance.main_use(kind))
        .map(|one| one.source.place(&instance.namespace))
        .collect::<Vec<_>>();
    cells.extend([Some(status), Some(places.join("; "))]);
    Row {
        subject: instance_subject(chosen),
        cells,
    }
}

/// Letters for keys, a word for what is none; `None` = nothing there reads it.
fn cell(group: &Group<'_>, chosen: Chosen<'_>, kind: KeyKind) -> Option<String> {
    let used = chosen.instance.main_use(kind)?;
    Some(match &used.value {
        Part::Absent => "missing".to_owned(),
        Part::Unreadable(_) => "unreadable".to_owned(),
        Part::Seen(value) => match (&value.reading, value.digests.is_empty()) {
            (Some(Reading::Rejected(_)), _) => "invalid".to_owned(),
            (_, true) => "empty".to_owned(),
            (_, false) => {
                let letters = group.letters(kind);
                let shown: Vec<&str> = value
                    .digests
                    .iter()
                    .filter_map(|digest| letters.get(digest).map(String::as_str))
                    .collect();
                shown.join(",")
            }
        },
    })
}

/// The codes of what was found of this name, the worst first, each once.
fn codes(findings: &[Finding], name: &str) -> String {
    let mut found: Vec<&Finding> = findings
        .iter()
        .filter(|finding| finding.key.subject.name == name && finding.severity > Severity::Info)
        .collect();
    found.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    let mut codes: Vec<&str> = Vec::new();
    for finding in found {
        if !codes.contains(&finding.key.code.as_str()) {
            codes.push(&finding.key.code);
        }
    }
    codes.join(",")
}
