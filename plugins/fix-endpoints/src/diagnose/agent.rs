//! Findings about members whose agent dials the control plane (pull mode). Pure.

use jiff::Timestamp;
use karmada_repair::finding::{Finding, Severity};
use karmada_repair::part::Part;
use karmada_repair::text::shell_word;

use crate::config::Config;
use crate::diagnose::{about, address, block, state, wanted_endpoint};
use crate::endpoint::Endpoint;
use crate::examine::{Examination, Remedy, examine};
use crate::observed::{Member, Observed};

/// What is to be said of an agent's member. Its workloads do not depend on the endpoint; the control plane's proxy does.
pub(super) fn of_agent(
    member: &Member,
    observed: &Observed,
    config: &Config,
    now: Timestamp,
) -> Vec<Finding> {
    let mut findings: Vec<Finding> = silence(member).into_iter().collect();
    if config.names(member.name()) {
        let examination = examine(member, observed, config, now);
        if let Some(fault) = &examination.fault {
            let mut finding = address::of_fault(member, fault, &examination);
            finding.message += "; its workloads do not depend on that, because its agent fetches them (pull mode), but the proxy does";
            findings.push(finding);
            if let Remedy::Blocked(block) = &examination.remedy {
                findings.extend(block::of_block(member, block, observed));
            }
        }
        if member.cluster.is_ready() {
            findings.extend(state::of_state(member, &examination, observed));
        }
        findings.extend(of_deployment(member, &examination, observed));
    }
    if findings.is_empty() {
        let message = match config.names(member.name()) {
            true => {
                "its agent dials the control plane (pull mode), and its endpoint shows no fault"
            }
            false => {
                "its agent dials the control plane (pull mode); its endpoint is not examined unless it is named"
            }
        };
        findings.push(about(
            member,
            "pull-mode",
            Severity::Info,
            message.to_owned(),
        ));
    }
    findings
}

/// The code of an agent that would undo the endpoint of its `Cluster`.
pub const AGENT_FLAG_STALE: &str = "agent-flag-stale";

/// An agent that stopped reporting.
fn silence(member: &Member) -> Option<Finding> {
    let ready = member.cluster.ready()?;
    if ready.status != "Unknown" {
        return None;
    }
    let since = match &ready.last_transition_time {
        Some(time) => format!(" since {time}"),
        None => String::new(),
    };
    let message = format!(
        "its agent does not report{since} ({}: {}), so nothing arrives there",
        ready.reason, ready.message
    );
    let hint = "kubectl --context MEMBER-CONTEXT -n karmada-system logs deployment/karmada-agent --tail 50 shows why; \
                the address and the CA of the control plane are in its secret karmada-kubeconfig";
    Some(about(member, "agent-silent", Severity::Error, message).hint(hint))
}

fn of_deployment(
    member: &Member,
    examination: &Examination<'_>,
    observed: &Observed,
) -> Vec<Finding> {
    let wanted = wanted_endpoint(member, examination);
    let agent = match &member.agent {
        Part::Seen(agent) => agent,
        Part::Absent => return Vec::new(),
        Part::Unreadable(why) => {
            let is_moved = examination.fault.is_some();
            return is_moved
                .then(|| out_of_reach(member, wanted.as_ref(), why, observed))
                .into_iter()
                .collect();
        }
    };
    let mut findings = Vec::new();
    let stale = wanted.as_ref().filter(|wanted| !agent.agrees(wanted));
    match (agent.obstacle(), stale) {
        (Some(why), Some(wanted)) => {
            findings.push(out_of_reach(member, Some(wanted), &why, observed));
        }
        (None, Some(wanted)) => findings.push(
            about(
                member,
                AGENT_FLAG_STALE,
                Severity::Error,
                format!(
                    "its agent has another endpoint in --cluster-api-endpoint of {}: at its next start it writes that into the \
                     Cluster, or, since Karmada v1.12, may not and ends again and again",
                    agent.object
                ),
            )
            .expected(wanted.to_string())
            .actual(agent.flag.url().to_owned()),
        ),
        (_, None) => {}
    }
    if let Some(unfinished) = &agent.unfinished {
        let namespace = agent.object.namespace.clone().unwrap_or_default();
        findings.push(
            about(
                member,
                "agent-not-rolled-out",
                Severity::Error,
                format!(
                    "the roll-out of its agent ({}) is not complete: {unfinished}",
                    agent.object
                ),
            )
            .hint(format!(
                "kubectl --context MEMBER-CONTEXT -n {} logs {} --tail 50",
                shell_word(&namespace),
                shell_word(&agent.object.to_string())
            )),
        );
    }
    findings
}

/// The endpoint is changed by hand where the agent cannot be changed from here.
fn out_of_reach(
    member: &Member,
    wanted: Option<&Endpoint>,
    why: &str,
    observed: &Observed,
) -> Finding {
    let url = wanted.map_or_else(|| "https://HOST:PORT".to_owned(), Endpoint::to_string);
    let kubectl = &observed.control_plane.commands.kubectl;
    about(
        member,
        "agent-out-of-reach",
        Severity::Warning,
        format!(
            "the flags of its agent cannot be changed from here: {why}. Nothing is planned, because an agent with another \
             endpoint than its Cluster undoes the change at its next start, or ends again and again"
        ),
    )
    .hint(format!(
        "in this order: {kubectl} patch clusters.cluster.karmada.io {} --type=merge -p '{{\"spec\":{{\"apiEndpoint\":\"{url}\"}}}}' && \
         kubectl --context MEMBER-CONTEXT -n karmada-system get deployment karmada-agent -o yaml | \
         sed 's#--cluster-api-endpoint=[^\", ]*#--cluster-api-endpoint={url}#' | \
         kubectl --context MEMBER-CONTEXT replace -f -",
        shell_word(member.name())
    ))
}

#[cfg(test)]
mod tests {
    use karmada_repair::karmada::SyncMode;

    use super::*;
    use crate::agent::Agent;
    use crate::fixture::*;
    use crate::proxy_answer::{Failure, ProxyAnswer};

    const BACK: &str = "https://0.0.0.0:6551";
    const RIGHT: &str = "https://172.20.0.3:6443";

    /// A member with an agent that reports, its endpoint, and the flag of its agent; `None` = no way leads to the agent.
    fn pulled(endpoint: &str, flag: Option<&str>) -> Observed {
        let mut observed = field_report();
        observed.members.truncate(1);
        let member = &mut observed.members[0];
        make_ready(member);
        member.cluster.spec.sync_mode = SyncMode::Pull;
        member.cluster.spec.api_endpoint = Some(endpoint.to_owned());
        member.agent = match flag {
            Some(flag) => {
                let deployment = agent_deployment(&format!("--cluster-api-endpoint={flag}"));
                Part::Seen(Agent::read(&deployment).expect("it is an agent"))
            }
            None => Part::Unreadable("no way leads there".to_owned()),
        };
        member.proxy = Some(match endpoint {
            RIGHT => ProxyAnswer::Ready,
            _ => ProxyAnswer::Failed {
                failure: Failure::Dial,
                message: "connection refused".to_owned(),
            },
        });
        if endpoint == RIGHT {
            attach(
                found(&mut observed, HOST),
                "k3d-cluster-a",
                Some("172.20.0.4"),
            );
        }
        observed
    }

    fn named() -> Config {
        Config {
            members: vec!["cluster-a".to_owned()],
            ..Config::default()
        }
    }

    #[track_caller]
    fn check(observed: &Observed, config: &Config, findings: &[&str], steps: &[&str]) {
        let found: Vec<String> = codes(observed, config)
            .iter()
            .map(|code| code.trim_end_matches(" cluster-a").to_owned())
            .collect();
        assert_eq!(found, findings);
        let plan = planned(observed, config);
        assert_eq!(sentences(&plan), steps);
        assert!(plan.proofs.is_empty(), "an agent needs no new connection");
        if !plan.steps.is_empty() {
            let mut after = carried_out(observed, &plan);
            after.members[0].proxy = Some(ProxyAnswer::Ready);
            assert_eq!(codes(&after, config), ["info pull-mode cluster-a"]);
            assert!(planned(&after, config).is_empty());
        }
    }

    #[test]
    fn the_control_plane_is_changed_before_the_agent() {
        check(
            &pulled(BACK, Some(BACK)),
            &named(),
            &["error endpoint-own-host", "error agent-flag-stale"],
            &[
                "connect container k3d-karmada-host-server-0 to network k3d-cluster-a at 172.20.255.254 if Docker allows it",
                "patch cluster/cluster-a: set spec.apiEndpoint to https://172.20.0.3:6443",
                "patch deployment/karmada-system/karmada-agent in cluster-a: set spec.template.spec.containers.0.command.1 to --cluster-api-endpoint=https://172.20.0.3:6443",
            ],
        );
    }

    #[test]
    fn nothing_is_changed_without_a_way_to_the_agent() {
        check(
            &pulled(BACK, None),
            &named(),
            &["error endpoint-own-host", "warning agent-out-of-reach"],
            &[],
        );
        let mut forbidden = pulled(BACK, Some(BACK));
        if let Part::Seen(agent) = &mut forbidden.members[0].agent {
            agent.refusal = Some("you may not patch it".to_owned());
        }
        check(
            &forbidden,
            &named(),
            &["error endpoint-own-host", "warning agent-out-of-reach"],
            &[],
        );
        let findings = crate::diagnose::diagnose(&pulled(BACK, None), &named(), now());
        let hint = findings[1].hint.clone().unwrap_or_default();
        let (first, second) = (hint.find("apiEndpoint"), hint.find("karmada-agent"));
        assert!(first.is_some() && first < second, "{hint}");
        assert!(hint.contains(RIGHT), "{hint}");
    }

    #[test]
    fn an_agent_that_would_undo_a_change_is_changed_too() {
        check(
            &pulled(RIGHT, Some(BACK)),
            &named(),
            &["error agent-flag-stale"],
            &[
                "patch deployment/karmada-system/karmada-agent in cluster-a: set spec.template.spec.containers.0.command.1 to --cluster-api-endpoint=https://172.20.0.3:6443",
            ],
        );
    }

    #[test]
    fn members_with_agents_are_examined_when_they_are_named() {
        let back = pulled(BACK, Some(BACK));
        check(&back, &Config::default(), &["info pull-mode"], &[]);
        check(
            &pulled(RIGHT, Some(RIGHT)),
            &named(),
            &["info pull-mode"],
            &[],
        );
    }

    #[test]
    fn an_agent_that_stopped_reporting_is_an_error() {
        let mut observed = pulled(RIGHT, Some(RIGHT));
        observed.members[0].cluster.status.conditions =
            vec![condition("Unknown", "ClusterStatusUnknown")];
        for config in [Config::default(), named()] {
            check(&observed, &config, &["error agent-silent"], &[]);
        }
    }

    #[test]
    fn a_roll_out_that_is_not_complete_is_an_error() {
        let mut observed = pulled(RIGHT, Some(RIGHT));
        if let Part::Seen(agent) = &mut observed.members[0].agent {
            agent.unfinished = Some("0 of 1 replicas are available".to_owned());
        }
        check(&observed, &named(), &["error agent-not-rolled-out"], &[]);
    }
}
