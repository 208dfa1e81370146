//! From an observation to findings. Pure.

mod address;
mod agent;
mod block;
mod credentials;
mod delivery;
mod secret;
mod state;

use jiff::Timestamp;
use karmada_repair::finding::{Finding, Severity, Subject};
use karmada_repair::part::Part;
use karmada_repair::text::shell_word;

use crate::collision::collisions;
use crate::config::Config;
use crate::credentials::{Making, makings, renewals};
use crate::diagnose::block::NOT_ANSWERING;
use crate::doors;
use crate::examine::{Block, Remedy, examine};
use crate::observed::{Member, Observed};

pub use address::{code, wanted_endpoint};
pub use agent::AGENT_FLAG_STALE;
pub use credentials::{
    CLUSTER_ID_STALE, IMPERSONATOR_MISSING, IMPERSONATOR_NOT_REFERENCED, SECRET_MISSING,
    SECRET_NOT_REFERENCED,
};
pub use delivery::{DELIVERY_UNPROVEN, ESTIMATOR_STALE};
pub use secret::{KUBECONFIG_KEY_EMPTY, KUBECONFIG_KEY_STALE};
pub use state::NOT_READY;

/// What is wrong with the addresses of the selected members.
pub fn diagnose(observed: &Observed, config: &Config, now: Timestamp) -> Vec<Finding> {
    let mut findings: Vec<Finding> = observed
        .members
        .iter()
        .flat_map(|member| of_member(member, observed, config, now))
        .collect();
    let own = &observed.control_plane.own_command;
    for (name, collision) in collisions(observed, config, now) {
        let message = match collision.is_planned {
            true => format!(
                "it would be dialled at {}, and so would {}; two members cannot be one cluster",
                collision.place, collision.other
            ),
            false => format!(
                "it is dialled at {}, and so is {}; two members cannot be one cluster",
                collision.place, collision.other
            ),
        };
        let subject = Subject::cluster(name.clone());
        findings.push(
            Finding::new(PAGE, SAME_ADDRESS, Severity::Error, subject, message).hint(format!(
                "say where it is: {own} {name} --endpoint {name}=https://HOST:PORT",
                name = shell_word(&name)
            )),
        );
    }
    let blocked = observed.members.iter().find(|member| {
        let remedy = examine(member, observed, config, now).remedy;
        matches!(remedy, Remedy::Blocked(Block::NoDocker(_)))
    });
    if let (Some(member), Part::Unreadable(reason)) = (blocked, &observed.docker) {
        let message = format!(
            "where members run cannot be told, because Docker could not be asked: {reason}"
        );
        findings.push(
            Finding::new(PAGE, "docker-unreadable", Severity::Unknown, Subject::new("docker", "daemon"), message).hint(
                format!(
                    "name the daemon with --docker-host or --docker-context, or give addresses by hand: --endpoint {}=https://HOST:PORT",
                    member.name()
                ),
            ),
        );
    }
    if let Part::Unreadable(reason) = &observed.host {
        let message = format!("what keeps connections to members cannot be told: {reason}");
        let subject = Subject::new(
            "host",
            observed
                .control_plane
                .host_context
                .clone()
                .unwrap_or_default(),
        );
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

/// Whether these findings keep a member from being proven whatever its address is, or show that it is taken for another
/// one, so that it is left alone.
pub fn rules_out_proof(findings: &[Finding], member: &Member, now: Timestamp) -> bool {
    let subject = Subject::cluster(member.name());
    let makings = makings(member, now);
    let is_made = |code: &str| match code {
        SECRET_MISSING => makings.contains(&Making::Secret),
        SECRET_NOT_REFERENCED => makings.contains(&Making::SecretReference),
        _ => false,
    };
    findings.iter().any(|finding| {
        let code = finding.key.code.as_str();
        finding.key.subject == subject
            && finding.severity >= Severity::Unknown
            && (code == SAME_ADDRESS || (code.starts_with("secret-") && !is_made(code)))
    })
}

/// The code of a plan that leads to another member.
const SAME_ADDRESS: &str = "same-address";

/// The page that explains the codes.
pub const PAGE: &str = "fix-endpoints";

/// A finding about a member.
pub(crate) fn about(member: &Member, code: &str, severity: Severity, message: String) -> Finding {
    let subject = Subject::cluster(member.name());
    Finding::new(PAGE, code, severity, subject, message)
}

fn of_member(
    member: &Member,
    observed: &Observed,
    config: &Config,
    now: Timestamp,
) -> Vec<Finding> {
    if member.cluster.metadata.deletion_timestamp.is_some() {
        let message = "it is being deleted, and is not examined".to_owned();
        return vec![about(member, "being-deleted", Severity::Info, message)];
    }
    if !member.is_dialled() {
        return agent::of_agent(member, observed, config, now);
    }
    let examination = examine(member, observed, config, now);
    let renewals = renewals(member, now);
    let mut findings = secret::of_secret(member, observed, &renewals, &makings(member, now));
    findings.extend(credentials::of_credentials(member, observed, now));
    if let Some(fault) = &examination.fault {
        findings.push(address::of_fault(member, fault, &examination));
    }
    if let Some(why) = &examination.unnamed {
        let message = format!("it is not dialled by the name of its container: {why}");
        findings.push(about(member, "name-not-usable", Severity::Warning, message));
    }
    if let Remedy::Blocked(block) = &examination.remedy {
        findings.extend(block::of_block(member, block, observed));
        if let Some(why) = doors::all_refused(member, now).filter(|_| block.leaves_the_place_open())
        {
            let message = format!("none of the addresses that it tells of can be dialled: {why}");
            findings.push(
                about(member, NOT_ANSWERING, Severity::Error, message).hint(block::by_hand(member)),
            );
        }
    }
    if renewals.is_empty() {
        findings.extend(state::of_state(member, &examination, observed));
    }
    findings.extend(secret::of_kubeconfig_key(member, &examination));
    findings.extend(delivery::of_estimator(member, &examination, observed, now));
    findings.extend(delivery::of_delivery(member, observed, config));
    findings
}

#[cfg(test)]
mod tests;
