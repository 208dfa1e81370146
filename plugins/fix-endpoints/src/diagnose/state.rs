//! Findings about what the controllers and the proxy say of a member. Pure.

use karmada_repair::finding::{Finding, Severity};
use karmada_repair::text::shell_word;

use crate::bypass;
use crate::diagnose::{PAGE, about};
use crate::examine::{Block, Examination, Fault, Remedy};
use crate::observed::{Member, Observed};
use crate::proxy_answer::ProxyAnswer;
use crate::route::NoRoute;

/// What the controllers and the proxy say, where the address itself shows no fault.
pub(super) fn of_state(
    member: &Member,
    examination: &Examination<'_>,
    observed: &Observed,
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
                member,
                "proxy-unauthorized",
                Severity::Warning,
                "it is reached, and refuses the impersonator's token (401)".to_owned(),
            )
            .hint(access()),
        ),
        Some(ProxyAnswer::Forbidden { message }) if ready => Some(
            about(
                member,
                "proxy-forbidden",
                Severity::Warning,
                format!("it is reached, and does not let you in through the proxy (403): {message}"),
            )
            .hint(access()),
        ),
        Some(ProxyAnswer::ForbiddenHere { message }) if ready => Some(
            about(
                member,
                "proxy-not-allowed",
                Severity::Warning,
                format!("it is ready; the proxy could not be tried, because the control plane does not let you use it: {message}"),
            )
            .hint(access()),
        ),
        Some(ProxyAnswer::Failed { failure, message }) if ready => Some(
            about(
                member,
                "proxy-failed",
                Severity::Error,
                format!("it is reported ready, but its proxy fails: {}: {message}", failure.words()),
            )
            .hint(format!("{kubectl} get --raw {}/readyz shows the answer", proxy_of(member))),
        ),
        Some(ProxyAnswer::Ready) | None if ready => None,
        _ if bypass::fails(member) => Some(of_proxy_server(member, kubectl)),
        answer => Some(not_ready(member, answer.as_ref(), kubectl)),
    }
}

/// What is to be said of a proxy that fails where nothing shows that the member is reached without it.
fn of_proxy_server(member: &Member, kubectl: &str) -> Finding {
    let server = bypass::server(member);
    let at = server
        .as_ref()
        .map(|server| format!("{}:{}", server.host(), server.port()))
        .unwrap_or_default();
    let tried = server.as_ref().and_then(|server| member.tried_at(server));
    let how = match (&server, tried) {
        (Some(server), _) if server.is_own_host() => {
            "leads the control plane back to itself".to_owned()
        }
        (_, Some(tried)) if tried.reach.refutes() => tried.words(),
        _ => "does not let the control plane through".to_owned(),
    };
    let directly = member
        .endpoint()
        .and_then(|endpoint| Some((member.tried_at(&endpoint)?.words(), endpoint)));
    let without = match directly {
        Some((words, endpoint)) => format!("without it, {endpoint} {words}"),
        None => "whether its endpoint answers without it was not tried".to_owned(),
    };
    about(
        member,
        "proxy-url-failing",
        Severity::Error,
        format!("it is dialled through the proxy at {at} (spec.proxyURL), which {how}; {without}"),
    )
    .hint(format!(
        "if the control plane reaches it without the proxy: {kubectl} patch clusters.cluster.karmada.io {} --type=json \
         -p '[{{\"op\":\"remove\",\"path\":\"/spec/proxyURL\"}}]'",
        shell_word(member.name())
    ))
}

fn not_ready(member: &Member, answer: Option<&ProxyAnswer>, kubectl: &str) -> Finding {
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
        member,
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

fn proxy_of(member: &Member) -> String {
    karmada_repair::karmada::proxy_path(member.name())
}

/// The code of a member that is not ready, although its address shows no fault.
pub const NOT_READY: &str = "not-ready";
