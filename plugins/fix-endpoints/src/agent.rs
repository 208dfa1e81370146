//! Members whose agent dials the control plane (pull mode): explained, never written to. Pure.

use karmada_repair::finding::{Finding, Severity};
use karmada_repair::text::shell_word;

use crate::config::Config;
use crate::diagnose::about;
use crate::observed::{Member, Observed};

/// What is to be said of an agent's member.
///
/// Its workloads do not depend on the endpoint; the control plane's proxy does. The agent writes the endpoint of its
/// flags into the `Cluster` when it starts, and since Karmada v1.12 it may not, and ends: so the control plane is
/// changed first, after which the agent finds nothing to write.
pub fn diagnose(member: &Member, observed: &Observed, config: &Config) -> Finding {
    let name = member.name();
    let is_own_host = member
        .endpoint()
        .is_some_and(|endpoint| endpoint.is_own_host());
    let is_named = config.members.iter().any(|given| given == name);
    if !is_own_host || !is_named {
        let message = "its agent dials the control plane (pull mode); its endpoint is not examined";
        return about(member, "pull-mode", Severity::Info, message.to_owned());
    }
    let shown = member.cluster.spec.api_endpoint.clone().unwrap_or_default();
    let kubectl = &observed.control_plane.commands.kubectl;
    let mut finding = about(
        member,
        "pull-endpoint-own-host",
        Severity::Warning,
        format!(
            "its agent dials the control plane (pull mode), so workloads arrive; but the proxy dials {shown}, which leads \
             the control plane back to itself. It is changed by hand, in this order: first spec.apiEndpoint, then the \
             agent's flag --cluster-api-endpoint, to the same URL. The other way round the agent tries to write the URL \
             itself, may not since Karmada v1.12, and ends again and again"
        ),
    )
    .hint(format!(
        "{kubectl} patch clusters.cluster.karmada.io {} --type=merge -p '{{\"spec\":{{\"apiEndpoint\":\"https://HOST:PORT\"}}}}' && \
         kubectl --context MEMBER-CONTEXT -n karmada-system get deployment karmada-agent -o yaml | \
         sed 's#--cluster-api-endpoint=[^\", ]*#--cluster-api-endpoint=https://HOST:PORT#' | \
         kubectl --context MEMBER-CONTEXT replace -f -",
        shell_word(name)
    ));
    finding.actual = Some(shown);
    finding
}

#[cfg(test)]
mod tests {
    use karmada_repair::karmada::SyncMode;

    use super::*;
    use crate::fixture::*;

    fn pulled(endpoint: &str) -> Observed {
        let mut observed = field_report();
        observed.members.truncate(1);
        let spec = &mut observed.members[0].cluster.spec;
        spec.sync_mode = SyncMode::Pull;
        spec.api_endpoint = Some(endpoint.to_owned());
        observed
    }

    #[test]
    fn the_order_is_told_for_a_member_that_is_named_and_leads_back() {
        let named = Config {
            members: vec!["cluster-a".to_owned()],
            ..Config::default()
        };
        let back = pulled("https://0.0.0.0:6551");
        assert_eq!(
            codes(&back, &named),
            ["warning pull-endpoint-own-host cluster-a"]
        );
        assert_eq!(
            codes(&back, &Config::default()),
            ["info pull-mode cluster-a"]
        );
        let elsewhere = pulled("https://172.20.0.3:6443");
        assert_eq!(codes(&elsewhere, &named), ["info pull-mode cluster-a"]);
        assert!(planned(&back, &named).is_empty());
        let finding = diagnose(&back.members[0], &back, &named);
        let hint = finding.hint.unwrap_or_default();
        let (first, second) = (hint.find("apiEndpoint"), hint.find("karmada-agent"));
        assert!(first.is_some() && first < second, "{hint}");
    }
}
