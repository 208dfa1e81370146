//! A proxy between the control plane and a member (`spec.proxyURL`) that fails where the direct way works. Pure.

use crate::endpoint::Endpoint;
use crate::observed::Member;
use crate::proxy_answer::{Failure, ProxyAnswer};
use crate::vantage::Reach;

/// The server of the proxy through which a member is dialled; `None` = it is dialled directly, or the URL cannot be read.
pub fn server(member: &Member) -> Option<Endpoint> {
    Endpoint::proxy(member.cluster.spec.proxy_url.as_deref()?)
}

/// Whether the proxy is what fails: it leads the control plane back to itself, does not answer where the control plane
/// dials, or the control plane says that it cannot be reached.
pub fn fails(member: &Member) -> bool {
    if member.is_reached() {
        return false;
    }
    let Some(server) = server(member) else {
        return false;
    };
    let by_its_word = matches!(
        &member.proxy,
        Some(ProxyAnswer::Failed {
            failure: Failure::ProxyServer,
            ..
        })
    );
    let by_attempt = member
        .tried_at(&server)
        .is_some_and(|tried| tried.reach.refutes());
    server.is_own_host() || by_its_word || by_attempt
}

/// Whether the member is behind a proxy that fails, and whether it answers directly was not tried.
pub fn is_open_question(member: &Member) -> bool {
    fails(member)
        && member
            .endpoint()
            .is_some_and(|endpoint| member.tried_at(&endpoint).is_none())
}

/// Whether an endpoint answers where the control plane dials without its proxy.
pub fn answers_directly(member: &Member, endpoint: &Endpoint) -> bool {
    let tried = member.tried_at(endpoint).map(|tried| &tried.reach);
    tried.is_some_and(Reach::proves)
}

/// The server of a proxy that a member fails behind, if nobody tried it from where the control plane dials.
pub fn untried_proxy(member: &Member) -> Option<Endpoint> {
    let server = server(member)?;
    let is_open =
        !member.is_reached() && !server.is_own_host() && member.tried_at(&server).is_none();
    is_open.then_some(server)
}

/// Whether the URL holds a password or a user, so that it is neither shown nor kept in a backup.
pub fn is_confidential(proxy_url: &str) -> bool {
    let authority = proxy_url
        .split_once("://")
        .map_or(proxy_url, |(_, rest)| rest)
        .split('/')
        .next()
        .unwrap_or_default();
    authority.contains('@')
}
