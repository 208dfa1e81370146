//! From an observation to findings. Pure.

mod block;

use jiff::Timestamp;
use karmada_repair::finding::{Finding, Severity, Subject};
use karmada_repair::part::Part;
use karmada_repair::text::shell_word;

use crate::agent;
use crate::collision::collisions;
use crate::config::{Config, DeliveryCheck};
use crate::credentials::{self, Renewal};
use crate::doors;
use crate::endpoint::Endpoint;
use crate::examine::{Block, Examination, Fault, Remedy, examine};
use crate::observed::{Member, MemberSecret, Observed, SecretKubeconfig};
use crate::proxy_answer::ProxyAnswer;
use crate::route::NoRoute;
use crate::secret_kubeconfig;

/// What is wrong with the addresses of the selected members.
pub fn diagnose(observed: &Observed, config: &Config, now: Timestamp) -> Vec<Finding> {
    let mut findings: Vec<Finding> = observed
        .members
        .iter()
        .flat_map(|member| of_member(member, observed, config, now))
        .collect();
    let own = &observed.control_plane.own_command;
    for (name, collision) in collisions(observed, config, now) {
        let message = format!(
            "it would be dialled at {}, and so would {}; two members cannot be one cluster",
            collision.place, collision.other
        );
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
pub fn rules_out_proof(findings: &[Finding], cluster: &str) -> bool {
    let subject = Subject::cluster(cluster);
    findings.iter().any(|finding| {
        finding.key.subject == subject
            && finding.severity >= Severity::Unknown
            && (finding.key.code.starts_with("secret-") || finding.key.code == SAME_ADDRESS)
    })
}

/// The code of an address fault.
pub fn code(fault: &Fault) -> &'static str {
    match fault {
        Fault::Missing => "endpoint-missing",
        Fault::Malformed(_) => "endpoint-malformed",
        Fault::OwnHost => "endpoint-own-host",
        Fault::Stale => "endpoint-stale",
        Fault::WrongPort(_) => "endpoint-wrong-port",
        Fault::NotCertified => "endpoint-not-certified",
        Fault::NotShared(_) => "network-not-shared",
        Fault::NotAsGiven => "endpoint-not-as-given",
        Fault::UnknownName => "endpoint-unknown-name",
        Fault::FinalSlash => "endpoint-final-slash",
        Fault::Unreached => "endpoint-unreached",
    }
}

/// The code of a kubeconfig with another address in a member's secret.
pub const KUBECONFIG_KEY_STALE: &str = "kubeconfig-key-stale";

/// The code of an empty kubeconfig in a member's secret.
pub const KUBECONFIG_KEY_EMPTY: &str = "kubeconfig-key-empty";

/// The code of a member that is not ready, although its address shows no fault.
pub const NOT_READY: &str = "not-ready";

/// The code of an estimator's kubeconfig with another address.
pub const ESTIMATOR_STALE: &str = "estimator-stale";

/// The code of a repair that was never proven to deliver.
pub const DELIVERY_UNPROVEN: &str = "delivery-unproven";

/// The code of a plan that leads to another member.
const SAME_ADDRESS: &str = "same-address";

/// The code of an address that was tried from where the control plane dials, in vain.
const NOT_ANSWERING: &str = "address-not-answering";

/// The page that explains the codes.
pub const PAGE: &str = "fix-endpoints";

fn of_member(
    member: &Member,
    observed: &Observed,
    config: &Config,
    now: Timestamp,
) -> Vec<Finding> {
    let about = |code: &str, severity, message: String| {
        Finding::new(
            PAGE,
            code,
            severity,
            Subject::cluster(member.name()),
            message,
        )
    };
    if member.cluster.metadata.deletion_timestamp.is_some() {
        let message = "it is being deleted, and is not examined".to_owned();
        return vec![about("being-deleted", Severity::Info, message)];
    }
    if !member.is_dialled() {
        return vec![agent::diagnose(member, observed, config)];
    }
    let examination = examine(member, observed, config, now);
    let renewals = credentials::renewals(member, now);
    let mut findings = of_secret(member, observed, &renewals, &about);
    findings.extend(credentials::diagnose(member, observed, now));
    if let Some(fault) = &examination.fault {
        findings.push(of_fault(member, fault, &examination, &about));
    }
    if let Remedy::Blocked(block) = &examination.remedy {
        findings.extend(block::of_block(member, block, observed, &about));
        if let Some(why) = doors::all_refused(member, now).filter(|_| block.leaves_the_place_open())
        {
            let message = format!("none of the addresses that it tells of can be dialled: {why}");
            findings
                .push(about(NOT_ANSWERING, Severity::Error, message).hint(block::by_hand(member)));
        }
    }
    if renewals.is_empty() {
        findings.extend(of_state(member, &examination, observed, &about));
    }
    findings.extend(of_kubeconfig_key(member, &examination, &about));
    findings.extend(of_estimator(member, &examination, observed, &about));
    findings.extend(of_delivery(member, observed, config, &about));
    findings
}

fn of_fault(
    member: &Member,
    fault: &Fault,
    examination: &Examination<'_>,
    about: &dyn Fn(&str, Severity, String) -> Finding,
) -> Finding {
    let actual = member.cluster.spec.api_endpoint.clone();
    let shown = actual.clone().unwrap_or_default();
    let severity = match fault {
        Fault::FinalSlash => Severity::Warning,
        Fault::NotShared(_) if member.cluster.is_ready() => Severity::Warning,
        _ => Severity::Error,
    };
    let message = match fault {
        Fault::Missing => "it has no endpoint to dial".to_owned(),
        Fault::Malformed(error) => format!("its endpoint {shown} cannot be dialled: {error}"),
        Fault::OwnHost => format!("the control plane dials {shown}, which leads back to itself"),
        Fault::Stale => {
            format!("the control plane dials {shown}, an address that the member does not hold now")
        }
        Fault::WrongPort(port) => {
            format!("the control plane dials {shown}, and the member listens on port {port}")
        }
        Fault::NotCertified => {
            format!("the control plane dials {shown}, which the member's certificate does not name")
        }
        Fault::NotShared(containers) => format!(
            "{} and the member share no network over which {shown} could be reached",
            containers.join(", ")
        ),
        Fault::NotAsGiven => {
            format!("the control plane dials {shown}, not the endpoint given with --endpoint")
        }
        Fault::UnknownName => {
            format!("the control plane dials {shown}, a name that it does not know")
        }
        Fault::Unreached => format!(
            "the control plane fails to reach it at {shown}, and the member tells of another address"
        ),
        Fault::FinalSlash => format!(
            "its endpoint {shown} ends in a slash, for which the proxy answers 404 to requests for single objects"
        ),
    };
    let mut finding = about(code(fault), severity, message);
    finding.actual = actual;
    finding.expected = match &examination.remedy {
        Remedy::Take(route) => Some(route.endpoint.to_string()),
        Remedy::Dial(door) => Some(door.endpoint.to_string()),
        Remedy::Write(endpoint) => Some(endpoint.to_string()),
        Remedy::Nothing | Remedy::Blocked(_) => None,
    };
    finding
}

/// What the controllers and the proxy say, where the address itself shows no fault.
fn of_state(
    member: &Member,
    examination: &Examination<'_>,
    observed: &Observed,
    about: &dyn Fn(&str, Severity, String) -> Finding,
) -> Option<Finding> {
    let by_fault = examination
        .fault
        .as_ref()
        .is_some_and(|fault| *fault != Fault::FinalSlash);
    // A member that does not run is not ready for that reason.
    let by_block = matches!(
        examination.remedy,
        Remedy::Blocked(Block::NoRoute(
            NoRoute::NotRunning(_) | NoRoute::NoNetwork(..)
        ))
    );
    let explained = by_fault || by_block;
    let kubectl = &observed.control_plane.commands.kubectl;
    let ready = member.cluster.is_ready();
    let access = || {
        let own = &observed.control_plane.own_command;
        format!(
            "{} {}",
            own.replacen(PAGE, "grant-impersonate", 1),
            shell_word(member.name())
        )
    };
    match &member.proxy {
        _ if explained => None,
        Some(ProxyAnswer::Unauthorized) if ready => Some(
            about(
                "proxy-unauthorized",
                Severity::Warning,
                "it is reached, and refuses the impersonator's token (401)".to_owned(),
            )
            .hint(access()),
        ),
        Some(ProxyAnswer::Forbidden { message }) if ready => Some(
            about(
                "proxy-forbidden",
                Severity::Warning,
                format!("it is reached, and does not let you in through the proxy (403): {message}"),
            )
            .hint(access()),
        ),
        Some(ProxyAnswer::ForbiddenHere { message }) if ready => Some(
            about(
                "proxy-not-allowed",
                Severity::Warning,
                format!("it is ready; the proxy could not be tried, because the control plane does not let you use it: {message}"),
            )
            .hint(access()),
        ),
        Some(ProxyAnswer::Failed { failure, message }) if ready => Some(
            about(
                "proxy-failed",
                Severity::Error,
                format!("it is reported ready, but its proxy fails: {}: {message}", failure.words()),
            )
            .hint(format!("{kubectl} get --raw {}/readyz shows the answer", proxy_of(member))),
        ),
        Some(ProxyAnswer::Ready) | None if ready => None,
        answer => Some(not_ready(member, answer.as_ref(), kubectl, about)),
    }
}

fn not_ready(
    member: &Member,
    answer: Option<&ProxyAnswer>,
    kubectl: &str,
    about: &dyn Fn(&str, Severity, String) -> Finding,
) -> Finding {
    let (state, report) = match member.cluster.ready() {
        Some(ready) => (
            format!("Ready={} {}", ready.status, ready.reason),
            format!("{}: {}", ready.reason, ready.message),
        ),
        None => (
            "no condition".to_owned(),
            "its state was never reported".to_owned(),
        ),
    };
    let proxy = match answer {
        None if member.cluster.spec.proxy_url.is_some() => {
            "; it is dialled through spec.proxyURL".to_owned()
        }
        None => String::new(),
        Some(ProxyAnswer::Failed { failure, message }) => {
            format!("; through the proxy: {}: {message}", failure.words())
        }
        Some(ProxyAnswer::ForbiddenHere { .. }) => {
            "; you may not try it through the proxy".to_owned()
        }
        Some(_) => "; the control plane reaches it through the proxy".to_owned(),
    };
    let mut finding = about(
        NOT_READY,
        Severity::Error,
        format!("it is not ready ({report}){proxy}"),
    )
    .expected("Ready=True")
    .actual(state);
    finding.hint = Some(match answer {
        Some(answer) if answer.proves_the_address() => {
            format!(
                "if its address was changed just now: {kubectl} wait --for=condition=Ready cluster/{} --timeout=120s; \
                 else see the log of karmada-controller-manager on the host cluster",
                member.name()
            )
        }
        _ => format!(
            "{kubectl} get --raw {}/readyz shows how the control plane fails to reach it",
            proxy_of(member)
        ),
    });
    finding
}

fn of_secret(
    member: &Member,
    observed: &Observed,
    renewals: &[Renewal],
    about: &dyn Fn(&str, Severity, String) -> Finding,
) -> Vec<Finding> {
    let Some(reference) = &member.cluster.spec.secret_ref else {
        return vec![
            about(
                "secret-not-referenced",
                Severity::Error,
                "it names no secret (spec.secretRef), so it was joined only in part".to_owned(),
            )
            .hint(format!(
                "{} get secrets -A shows whether a secret {} is there",
                observed.control_plane.commands.kubectl,
                member.name()
            )),
        ];
    };
    let secret = format!("{}/{}", reference.namespace, reference.name);
    let name = shell_word(member.name());
    let from_member = format!(
        "{} {name} --cluster-context {name}=CONTEXT takes it from the member",
        observed.control_plane.own_command
    );
    match &member.secret {
        Part::Seen(seen) => missing_keys(member, seen, renewals)
            .into_iter()
            .map(|(code, key)| {
                about(
                    code,
                    Severity::Error,
                    format!("its secret {secret} has no value for {key:?}"),
                )
                .hint(from_member.clone())
            })
            .collect(),
        Part::Absent => vec![
            about(
                "secret-missing",
                Severity::Error,
                format!("its secret {secret} is not there"),
            )
            .hint(credentials::copied(member, observed, Renewal::Token)),
        ],
        Part::Unreadable(reason) => vec![
            about(
                "credentials-unreadable",
                Severity::Unknown,
                format!("its secret {secret} cannot be read: {reason}"),
            )
            .hint(format!(
                "{} auth can-i get secrets -n {}",
                observed.control_plane.commands.kubectl, reference.namespace
            )),
        ],
    }
}

/// The keys that have no value and get none by the plan.
fn missing_keys(
    member: &Member,
    secret: &MemberSecret,
    renewals: &[Renewal],
) -> Vec<(&'static str, &'static str)> {
    let mut missing = Vec::new();
    if !secret.has_token && !renewals.contains(&Renewal::Token) {
        missing.push(("secret-token-missing", "token"));
    }
    if secret.ca_bundle.is_none()
        && !member.cluster.spec.insecure_skip_tls_verification
        && !renewals.contains(&Renewal::Authority)
    {
        missing.push(("secret-ca-missing", "caBundle"));
    }
    missing
}

fn of_kubeconfig_key(
    member: &Member,
    examination: &Examination<'_>,
    about: &dyn Fn(&str, Severity, String) -> Finding,
) -> Option<Finding> {
    match &member.secret.seen()?.kubeconfig {
        SecretKubeconfig::Absent => None,
        SecretKubeconfig::Empty => Some(about(
            KUBECONFIG_KEY_EMPTY,
            Severity::Warning,
            "its secret holds an empty key \"kubeconfig\", which Karmada never reads".to_owned(),
        )),
        SecretKubeconfig::Other => Some(about(
            "kubeconfig-key-unreadable",
            Severity::Info,
            "its secret holds a key \"kubeconfig\" that is no kubeconfig; Karmada never reads it"
                .to_owned(),
        )),
        SecretKubeconfig::Kubeconfig { servers, .. } => {
            let wanted = wanted_endpoint(member, examination)?;
            let stale = secret_kubeconfig::stale_servers(servers, member, &wanted);
            let first = stale.first()?;
            Some(
                about(
                    KUBECONFIG_KEY_STALE,
                    Severity::Warning,
                    format!("the kubeconfig in its secret, which Karmada never reads, still has the server {first}"),
                )
                .expected(wanted.to_string())
                .actual(first.clone()),
            )
        }
    }
}

fn of_estimator(
    member: &Member,
    examination: &Examination<'_>,
    observed: &Observed,
    about: &dyn Fn(&str, Severity, String) -> Finding,
) -> Option<Finding> {
    let secret = observed.host.seen()?.estimators.get(member.name())?;
    let SecretKubeconfig::Kubeconfig { servers, .. } = &secret.kubeconfig else {
        return None;
    };
    let wanted = wanted_endpoint(member, examination)?;
    let stale = secret_kubeconfig::stale_servers(servers, member, &wanted);
    let first = stale.first()?;
    let message = format!(
        "the scheduler's estimator dials {first}, which is in {} on the host cluster",
        secret.object
    );
    Some(
        about(ESTIMATOR_STALE, Severity::Warning, message)
            .expected(wanted.to_string())
            .actual(first.clone()),
    )
}

fn of_delivery(
    member: &Member,
    observed: &Observed,
    config: &Config,
    about: &dyn Fn(&str, Severity, String) -> Finding,
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
    Some(about(DELIVERY_UNPROVEN, severity, message).hint(hint))
}

/// Where the member is to be dialled in the end: the remedy's endpoint, else the one that is there.
pub fn wanted_endpoint(member: &Member, examination: &Examination<'_>) -> Option<Endpoint> {
    match &examination.remedy {
        Remedy::Take(route) => Some(route.endpoint.clone()),
        Remedy::Dial(door) => Some(door.endpoint.clone()),
        Remedy::Write(endpoint) => Some(endpoint.clone()),
        Remedy::Nothing => Endpoint::parse(member.cluster.spec.api_endpoint.as_deref()?).ok(),
        Remedy::Blocked(_) => None,
    }
}

fn proxy_of(member: &Member) -> String {
    karmada_repair::karmada::proxy_path(member.name())
}

#[cfg(test)]
mod tests;
