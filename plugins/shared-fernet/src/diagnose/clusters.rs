//! What can be said of whole clusters. Pure.

use karmada_repair::finding::{Finding, Severity, Subject};
use karmada_repair::part::Part;

use crate::diagnose::finding;
use crate::observed::Observed;

pub(super) fn diagnose(observed: &Observed) -> Vec<Finding> {
    let mut findings = Vec::new();
    for cluster in &observed.clusters {
        let subject = || Subject::cluster(&cluster.name);
        match &cluster.instances {
            Part::Unreadable(reason) => findings.push(
                finding(
                    "cluster-unreadable",
                    Severity::Unknown,
                    subject(),
                    format!("its keys cannot be read: {reason}"),
                )
                .hint(format!(
                    "give a context of its own: --cluster-context {}=CONTEXT",
                    cluster.name
                )),
            ),
            _ if cluster.found().is_empty() && cluster.unlisted.is_none() => {
                findings.push(finding(
                    "airflow-absent",
                    Severity::Info,
                    subject(),
                    "no Airflow was found there",
                ));
            }
            _ => {}
        }
        if let Some(reason) = &cluster.unlisted {
            findings.push(
                finding(
                    "workloads-unlisted",
                    Severity::Unknown,
                    subject(),
                    format!("what runs Airflow there cannot be told, and with it what its pods really read: {reason}"),
                )
                .hint("name the namespace, so that rights in it suffice: --namespace NAMESPACE"),
            );
        }
    }
    let nowhere = observed
        .clusters
        .iter()
        .all(|cluster| cluster.found().is_empty());
    if nowhere
        && !findings
            .iter()
            .any(|finding| finding.severity == Severity::Unknown)
    {
        findings.push(
            finding(
                "airflow-nowhere",
                Severity::Unknown,
                Subject::new("control-plane", "clusters"),
                "no cluster runs an Airflow that was recognized, so no keys were compared",
            )
            .hint("say where it is: --map CLUSTER=NAMESPACE/RELEASE"),
        );
    }
    findings.extend(clocks(observed));
    findings
}

/// Clocks that are so far apart that tokens of one cluster are refused in another.
fn clocks(observed: &Observed) -> Vec<Finding> {
    let told = observed
        .clusters
        .iter()
        .filter_map(|cluster| Some((cluster, cluster.clock_offset?)));
    let told: Vec<_> = told.collect();
    let Some((reference, offset)) = told.iter().min_by_key(|(_, offset)| offset.abs()) else {
        return Vec::new();
    };
    told.iter()
        .filter(|(_, other)| (other - offset).abs() > TOLERANCE)
        .map(|(cluster, other)| {
            let difference = other - offset;
            let direction = if difference > 0 { "ahead of" } else { "behind" };
            finding(
                "clock-skew",
                Severity::Warning,
                Subject::cluster(&cluster.name),
                format!(
                    "its clock is {} s {direction} that of {}: Airflow refuses tokens of one in the other although the keys agree",
                    difference.abs(),
                    reference.name
                ),
            )
            .hint("synchronize the clocks of the nodes, as with chrony or systemd-timesyncd")
        })
        .collect()
}

/// Airflow's leeway for tokens (`[api_auth] jwt_leeway`), in seconds.
const TOLERANCE: i64 = 10;
