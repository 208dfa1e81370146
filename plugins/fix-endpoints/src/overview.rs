//! The line of each member in the overview. Pure.

use karmada_repair::finding::{Finding, Severity, Subject};
use karmada_repair::report::{Column, Overview, Row};

use crate::config::Config;
use crate::examine::examine;
use crate::observed::{Member, Observed};

use jiff::Timestamp;

/// One line per member, in the order of their names.
pub fn overview(
    observed: &Observed,
    findings: &[Finding],
    config: &Config,
    now: Timestamp,
) -> Overview {
    let column = |key, title, wide| Column { key, title, wide };
    Overview {
        columns: vec![
            column("cluster", "CLUSTER", false),
            column("mode", "MODE", false),
            column("ready", "READY", false),
            column("endpoint", "ENDPOINT", false),
            column("status", "STATUS", false),
            column("reason", "REASON", true),
            column("container", "CONTAINER", true),
            column("address", "ADDRESS", true),
            column("certificate", "CERTIFICATE-NAMES", true),
        ],
        rows: observed
            .members
            .iter()
            .map(|member| row(member, observed, findings, config, now))
            .collect(),
    }
}

fn row(
    member: &Member,
    observed: &Observed,
    findings: &[Finding],
    config: &Config,
    now: Timestamp,
) -> Row {
    let ready = member.cluster.ready();
    let home = examine(member, observed, config, now).home;
    let server = home.as_ref().and_then(|home| home.servers.first());
    let addresses = server.map(|server| {
        server
            .attachments
            .iter()
            .filter_map(|(network, attachment)| {
                attachment
                    .address
                    .map(|address| format!("{network}:{address}"))
            })
            .collect::<Vec<_>>()
            .join(",")
    });
    Row {
        subject: Subject::cluster(member.name()),
        cells: vec![
            Some(member.name().to_owned()),
            Some(format!("{:?}", member.cluster.spec.sync_mode)),
            Some(
                ready
                    .map_or("Unknown", |ready| ready.status.as_str())
                    .to_owned(),
            ),
            member.cluster.spec.api_endpoint.clone(),
            Some(status(member, findings, config)),
            ready.map(|ready| ready.reason.clone()),
            server.map(|server| server.name.clone()),
            addresses.filter(|addresses| !addresses.is_empty()),
            home.as_ref()
                .and_then(|home| member.certificate_of(home))
                .map(|certificate| certificate.names.join(",")),
        ],
    }
}

/// The codes of what was found, the worst first; `healthy` without any, `not examined` for an agent's member.
fn status(member: &Member, findings: &[Finding], config: &Config) -> String {
    let subject = Subject::cluster(member.name());
    let mut found: Vec<&Finding> = findings
        .iter()
        .filter(|finding| finding.key.subject == subject && finding.severity > Severity::Info)
        .collect();
    if found.is_empty() {
        return if config.examines(member) {
            "healthy"
        } else {
            "not examined"
        }
        .to_owned();
    }
    found.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    found
        .iter()
        .map(|finding| finding.key.code.as_str())
        .collect::<Vec<_>>()
        .join(",")
}
