//! Findings about what keeps connections to a member's old address. Pure.

use jiff::Timestamp;
use karmada_repair::finding::{Finding, Severity};
use karmada_repair::part::Part;

use crate::config::{Config, DeliveryCheck};
use crate::diagnose::{about, wanted_endpoint};
use crate::examine::Examination;
use crate::observed::{Member, Observed, SecretKubeconfig};
use crate::secret_kubeconfig;

pub(super) fn of_estimator(
    member: &Member,
    examination: &Examination<'_>,
    observed: &Observed,
    now: Timestamp,
) -> Option<Finding> {
    let secret = observed.host.seen()?.estimators.get(member.name())?;
    let SecretKubeconfig::Kubeconfig { servers, .. } = &secret.kubeconfig else {
        return None;
    };
    let wanted = wanted_endpoint(member, examination)?;
    let stale = secret_kubeconfig::stale_servers(servers, member, &wanted);
    let authorities =
        secret_kubeconfig::stale_authorities(&secret.kubeconfig, member, examination, now);
    let Some(first) = stale.first() else {
        let message = format!(
            "the scheduler's estimator trusts a CA that did not sign what the member presents: that of {} on the host cluster",
            secret.object
        );
        return (!authorities.is_empty())
            .then(|| about(member, ESTIMATOR_STALE, Severity::Warning, message));
    };
    let message = format!(
        "the scheduler's estimator dials {first}, which is in {} on the host cluster",
        secret.object
    );
    Some(
        about(member, ESTIMATOR_STALE, Severity::Warning, message)
            .expected(wanted.to_string())
            .actual(first.clone()),
    )
}

pub(super) fn of_delivery(
    member: &Member,
    observed: &Observed,
    config: &Config,
) -> Option<Finding> {
    let since = member.unproven_since()?;
    let severity = match config.delivery {
        DeliveryCheck::Never => Severity::Info,
        DeliveryCheck::AfterRepair | DeliveryCheck::Always => Severity::Error,
    };
    let message = format!(
        "since {since}, when the way to it was changed or a delivery check failed, it was not proven that workloads are \
         delivered to it: controllers keep connections to old addresses until they restart"
    );
    let own = &observed.control_plane.own_command;
    let name = member.name();
    let hint = match &observed.host {
        Part::Seen(_) => format!("{own} {name} --yes"),
        Part::Absent | Part::Unreadable(_) => format!(
            "{} -n karmada-system rollout restart deployment karmada-controller-manager && {own} {name} --check-delivery --yes",
            observed.control_plane.commands.host
        ),
    };
    Some(about(member, DELIVERY_UNPROVEN, severity, message).hint(hint))
}

/// The code of an estimator's kubeconfig with another address.
pub const ESTIMATOR_STALE: &str = "estimator-stale";

/// The code of a repair that was never proven to deliver.
pub const DELIVERY_UNPROVEN: &str = "delivery-unproven";
