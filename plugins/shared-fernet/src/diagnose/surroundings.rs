//! What surrounds the keys of one instance: its pods, its Secrets, and who else writes them. Pure.

use karmada_repair::finding::{Finding, Severity};
use karmada_repair::part::Part;
use karmada_repair::plan::Server;
use karmada_repair::text::shell_word;

use crate::airflow::KeyKind;
use crate::diagnose::{finding, instance_subject};
use crate::group::Chosen;
use crate::observed::{Observed, SecretSeen};
use crate::secret::LAST_APPLIED;
use crate::stale::stale;

pub(super) fn diagnose(chosen: Chosen<'_>, observed: &Observed) -> Vec<Finding> {
    let mut findings: Vec<Finding> = pods(chosen, observed).into_iter().collect();
    findings.extend(
        chosen
            .instance
            .wrong_variables
            .first()
            .map(|(wrong, kind)| {
                finding(
                    "variable-unread",
                    Severity::Warning,
                    instance_subject(chosen),
                    format!(
                        "its pods have {wrong}, which Airflow does not read; it reads {}",
                        kind.variable()
                    ),
                )
            }),
    );
    findings.extend(secrets(chosen, observed));
    findings
}

fn pods(chosen: Chosen<'_>, observed: &Observed) -> Option<Finding> {
    let instance = chosen.instance;
    if let Part::Unreadable(reason) = &instance.pods {
        return Some(finding(
            "pods-unreadable",
            Severity::Unknown,
            instance_subject(chosen),
            format!("whether its pods run with what the Secrets hold now cannot be told: {reason}"),
        ));
    }
    let stale = stale(instance);
    let first = stale.first()?;
    let mut workloads: Vec<String> = stale
        .iter()
        .filter_map(|stale| stale.workload)
        .map(|workload| {
            format!(
                "{}/{}",
                workload.object.kind.to_lowercase(),
                workload.object.name
            )
        })
        .collect();
    workloads.sort();
    workloads.dedup();
    let tasks: Vec<&str> = stale
        .iter()
        .filter(|stale| stale.workload.is_none())
        .map(|stale| stale.pod.name.as_str())
        .collect();
    let mut who = workloads.clone();
    who.extend(tasks.iter().take(3).map(|name| format!("pod/{name}")));
    if tasks.len() > 3 {
        who.push(format!("{} more pods", tasks.len() - 3));
    }
    let kubectl = observed
        .commands
        .of(&Server::Member(chosen.cluster.name.clone()));
    let namespace = shell_word(&instance.namespace);
    let hint = match workloads.is_empty() {
        true => format!("wait until these pods have ended: {kubectl} -n {namespace} get pods"),
        false => format!(
            "{kubectl} -n {namespace} rollout restart {}",
            workloads.join(" ")
        ),
    };
    Some(
        finding(
            "pods-stale",
            Severity::Error,
            instance_subject(chosen),
            format!(
                "these started before secret/{}/{} was written, and go on with what it held before: {}",
                instance.namespace,
                first.secret,
                who.join(", ")
            ),
        )
        .hint(hint),
    )
}

/// The Secrets that hold a key of this instance, each with the kinds.
fn holders<'a>(chosen: Chosen<'a>) -> Vec<(&'a SecretSeen, Vec<KeyKind>)> {
    let mut holders: Vec<(&SecretSeen, Vec<KeyKind>)> = Vec::new();
    for kind in KeyKind::ALL {
        let Some(secret) = chosen.instance.secret(kind) else {
            continue;
        };
        match holders
            .iter_mut()
            .find(|(known, _)| known.name == secret.name)
        {
            Some((_, kinds)) => kinds.push(kind),
            None => holders.push((secret, vec![kind])),
        }
    }
    holders
}

fn secrets(chosen: Chosen<'_>, observed: &Observed) -> Vec<Finding> {
    let holders = holders(chosen);
    let namespace = &chosen.instance.namespace;
    let named = |wanted: &dyn Fn(&SecretSeen) -> bool| -> Vec<String> {
        holders
            .iter()
            .filter(|(secret, _)| wanted(secret))
            .map(|(secret, _)| secret.name.clone())
            .collect()
    };
    let about = |code: &str, severity, message: String| {
        finding(code, severity, instance_subject(chosen), message)
    };
    let mut findings = Vec::new();
    let values = |wanted: &dyn Fn(&SecretSeen) -> bool| -> String {
        holders
            .iter()
            .filter(|(secret, _)| wanted(secret))
            .flat_map(|(_, kinds)| kinds)
            .map(|kind| format!("--set {}=NAME", kind.chart_secret_value()))
            .collect::<Vec<_>>()
            .join(" ")
    };
    let hooks = named(&|secret| secret.helm_hook);
    if !hooks.is_empty() {
        findings.push(
            about(
                "helm-hook",
                Severity::Warning,
                format!("a hook of Helm makes {} anew at every install, and Argo CD runs it at every sync", hooks.join(", ")),
            )
            .hint(format!(
                "give the chart Secrets that are not its own: {}",
                values(&|secret| secret.helm_hook)
            )),
        );
    }
    let rendered = |secret: &SecretSeen| secret.helm_release.is_some() && !secret.helm_hook;
    let all_rendered = named(&rendered);
    if !all_rendered.is_empty() {
        findings.push(
            about(
                "helm-renders",
                Severity::Warning,
                format!(
                    "Helm renders {} again at every upgrade, with a new value unless one is set",
                    all_rendered.join(", ")
                ),
            )
            .hint(format!(
                "give the chart Secrets that are not its own: {}",
                values(&rendered)
            )),
        );
    }
    let argo = named(&|secret| secret.argo_cd);
    if !argo.is_empty() {
        findings.push(
            about(
                "argo-cd",
                Severity::Warning,
                format!("Argo CD makes {} what its application says, whatever is written there", argo.join(", ")),
            )
            .hint("keep the keys in Secrets that the application does not hold, and name those to the chart"),
        );
    }
    let immutable = named(&|secret| secret.immutable);
    if !immutable.is_empty() {
        findings.push(
            about(
                "secret-immutable",
                Severity::Info,
                format!("{} cannot be changed (immutable): another key needs a Secret of another name", immutable.join(", ")),
            )
            .hint("make one with kubectl karmada-shared-fernet generate, and name it to the chart; deleting and creating it again can leave old values in kubelets"),
        );
    }
    let typed = named(&|secret| !matches!(secret.kind.as_str(), "" | "Opaque"));
    if !typed.is_empty() {
        findings.push(about(
            "secret-type",
            Severity::Info,
            format!(
                "{} has a type of its own, which cannot be changed and is left alone",
                typed.join(", ")
            ),
        ));
    }
    let applied = named(&|secret| secret.last_applied);
    if let Some(first) = applied.first() {
        let kubectl = observed
            .commands
            .of(&Server::Member(chosen.cluster.name.clone()));
        findings.push(
            about(
                "secret-last-applied",
                Severity::Warning,
                format!(
                    "{} holds its value a second time, in the annotation of kubectl apply",
                    applied.join(", ")
                ),
            )
            .hint(format!(
                "{kubectl} -n {} annotate secret {} {LAST_APPLIED}-",
                shell_word(namespace),
                shell_word(first)
            )),
        );
    }
    findings.extend(managed(
        chosen,
        &named(&|secret| secret.karmada_managed),
        observed,
    ));
    findings
}

/// Secrets that Karmada keeps as the control plane has them.
fn managed(chosen: Chosen<'_>, names: &[String], observed: &Observed) -> Vec<Finding> {
    let template = |name: &String| {
        observed
            .templates
            .get(&format!("{}/{name}", chosen.instance.namespace))
    };
    let subject = || instance_subject(chosen);
    let mut findings = Vec::new();
    let with: Vec<&str> = names
        .iter()
        .filter(|name| matches!(template(name), Some(Part::Seen(_))))
        .map(String::as_str)
        .collect();
    if !with.is_empty() {
        findings.push(finding(
            "karmada-managed",
            Severity::Info,
            subject(),
            format!(
                "Karmada keeps {} as the control plane has it: changes are made there",
                with.join(", ")
            ),
        ));
    }
    if let Some(name) = names
        .iter()
        .find(|name| matches!(template(name), Some(Part::Absent)))
    {
        findings.push(
            finding(
                "template-missing",
                Severity::Error,
                subject(),
                format!("{name} is marked as managed by Karmada, and the control plane has no such Secret: nothing says where to write"),
            )
            .hint("create it in the control plane with a PropagationPolicy, or take the label karmada.io/managed off"),
        );
    }
    for name in names {
        if let Some(Part::Unreadable(reason)) = template(name) {
            findings.push(finding(
                "template-unreadable",
                Severity::Unknown,
                subject(),
                format!("{name} is managed by Karmada, and the control plane's own cannot be read: {reason}"),
            ));
            break;
        }
    }
    findings
}
