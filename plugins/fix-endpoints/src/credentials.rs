//! Credentials that the member knows better than the control plane: which of them to read again, and how. Pure.
//!
//! The control plane stores copies of what the member's service accounts hold (`pkg/util/credential.go` and
//! `RegisterClusterInControllerPlane` of Karmada), and never reads them again: not after a CA was rotated, a token
//! replaced or a member rebuilt.

mod makings;
mod rewrites;

use jiff::Timestamp;
use karmada_repair::cluster::object::ObjectReference;
use karmada_repair::part::Part;
use karmada_repair::tls::{ServingCertificate, Verdict};

use crate::direct::DirectView;
use crate::observed::Member;
use crate::proxy_answer::{Failure, ProxyAnswer};
use crate::stored::StoredSecret;

pub use makings::{Making, makings};
pub use rewrites::{Rewrite, rewrites};

/// A credential that the control plane stores and the member holds in another version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Renewal {
    /// `caBundle` of the member's secret.
    Authority,
    /// `token` of the member's secret.
    Token,
    /// `token` of the impersonator's secret.
    Impersonator,
}

/// Whether something speaks against the credentials that the control plane stores, so that the member is to be asked.
pub fn are_doubtful(member: &Member) -> bool {
    let missing_here = member.secret.seen().is_some_and(|secret| {
        !secret.has_token || (secret.ca_bundle.is_none() && needs_authority(member))
    });
    let missing_there = member
        .impersonator
        .seen()
        .is_some_and(|secret| secret.value("token").is_none());
    let refused = match &member.proxy {
        Some(ProxyAnswer::Unauthorized) => true,
        Some(ProxyAnswer::Failed { failure, .. }) => {
            matches!(failure, Failure::TlsAuthority | Failure::Secret)
        }
        // The proxy acts with the impersonator's token, the health check with the member's.
        Some(answer) => answer.proves_the_address() && !member.cluster.is_ready(),
        None => false,
    };
    let is_absent =
        matches!(member.secret, Part::Absent) || matches!(member.impersonator, Part::Absent);
    let spec = &member.cluster.spec;
    let is_unnamed = spec.secret_ref.is_none() || spec.impersonator_secret_ref.is_none();
    missing_here || missing_there || refused || is_absent || is_unnamed
}

/// What is to be read again from the member; nothing when it was not read, or when nothing speaks against what is stored.
pub fn renewals(member: &Member, now: Timestamp) -> Vec<Renewal> {
    let Some(view) = member.direct.seen() else {
        return Vec::new();
    };
    let mut renewals = Vec::new();
    if let (Some(secret), Some(account)) = (member.secret.seen(), view.account.seen()) {
        let stored = &secret.stored;
        if account.value("ca.crt").is_some()
            && !stored.agrees("caBundle", account, "ca.crt")
            && needs_authority(member)
            && authority_is_refuted(member, secret.ca_bundle.as_deref(), now)
            && fits(view, now)
        {
            renewals.push(Renewal::Authority);
        }
        let fails = !secret.has_token || !member.cluster.is_ready();
        if fails && account.value("token").is_some() && !stored.agrees("token", account, "token") {
            renewals.push(Renewal::Token);
        }
    }
    if let (Some(stored), Some(account)) = (member.impersonator.seen(), view.impersonator.seen()) {
        let fails = stored.value("token").is_none()
            || match &member.proxy {
                Some(ProxyAnswer::Unauthorized) => true,
                Some(answer) if answer.proves_the_address() => false,
                Some(_) | None => !member.cluster.is_ready(),
            };
        if fails && account.value("token").is_some() && !stored.agrees("token", account, "token") {
            renewals.push(Renewal::Impersonator);
        }
    }
    renewals
}

/// The CA certificates that the control plane trusts for the member once the plan is done, in PEM.
pub fn authority(member: &Member, now: Timestamp) -> Option<String> {
    let is_new = renewals(member, now).contains(&Renewal::Authority)
        || makings(member, now).contains(&Making::Secret);
    if is_new {
        return member.direct.seen()?.account.seen()?.text("ca.crt");
    }
    member.secret.seen()?.ca_bundle.clone()
}

/// How a CA bundle judges a certificate, whatever host it names.
pub fn judged(certificate: &ServingCertificate, authority: &str, now: Timestamp) -> Verdict {
    // Any name of the certificate will do: whether it names the right host is another question.
    let named = certificate
        .names
        .iter()
        .find(|name| certificate.covers(name));
    let name = named.map_or("kubernetes", String::as_str);
    certificate.verdict(authority.as_bytes(), name, now)
}

/// Whether a cluster with another UID than the recorded one is the member, rebuilt: it holds the member's account, and
/// its CA signed what the containers of the member's name serve.
pub fn is_rebuilt(
    account: &Part<StoredSecret>,
    namesakes: &[&ServingCertificate],
    now: Timestamp,
) -> bool {
    let authority = account.seen().and_then(|account| account.text("ca.crt"));
    authority.is_some_and(|authority| {
        namesakes
            .iter()
            .any(|served| judged(served, &authority, now) == Verdict::Valid)
    })
}

/// The member's own secret of the account that acts for the control plane there.
pub fn account_object(member: &Member) -> ObjectReference {
    ObjectReference::secret(namespace(member), format!("karmada-{}", member.name()))
}

/// The member's own secret of the account that impersonates users there.
pub fn impersonator_account_object(member: &Member) -> ObjectReference {
    ObjectReference::secret(namespace(member), IMPERSONATOR)
}

pub(crate) fn stored_object(member: &Member) -> ObjectReference {
    let name = match &member.cluster.spec.secret_ref {
        Some(reference) => reference.name.clone(),
        None => member.name().to_owned(),
    };
    ObjectReference::secret(namespace(member), name)
}

/// The control plane's secret of the impersonator.
pub fn impersonator_object(member: &Member) -> ObjectReference {
    match &member.cluster.spec.impersonator_secret_ref {
        Some(reference) => {
            ObjectReference::secret(reference.namespace.clone(), reference.name.clone())
        }
        None => {
            ObjectReference::secret(namespace(member), format!("{}-impersonator", member.name()))
        }
    }
}

/// The namespace that was chosen at join (`--cluster-namespace`), the same on both sides.
pub(crate) fn namespace(member: &Member) -> String {
    match &member.cluster.spec.secret_ref {
        Some(reference) => reference.namespace.clone(),
        None => "karmada-cluster".to_owned(),
    }
}

fn needs_authority(member: &Member) -> bool {
    !member.cluster.spec.insecure_skip_tls_verification
}

/// Whether the stored CA is missing, or did not sign what the member serves.
fn authority_is_refuted(member: &Member, stored: Option<&str>, now: Timestamp) -> bool {
    let Some(stored) = stored else {
        return true;
    };
    let by_proxy = matches!(
        &member.proxy,
        Some(ProxyAnswer::Failed {
            failure: Failure::TlsAuthority,
            ..
        })
    );
    let view = member.direct.seen();
    let new = view
        .and_then(|view| view.account.seen())
        .and_then(|account| account.text("ca.crt"))
        .unwrap_or_default();
    // A container counts only when it is the member beyond doubt: what it serves is signed by the member's own CA.
    let by_container = member.served.values().filter_map(Part::seen).any(|served| {
        let certificate = &served.certificate;
        judged(certificate, stored, now) == Verdict::UnknownAuthority
            && judged(certificate, &new, now) != Verdict::UnknownAuthority
    });
    let by_own_server = view
        .and_then(|view| view.served.seen())
        .is_some_and(|served| judged(served, stored, now) == Verdict::UnknownAuthority);
    by_proxy || (!member.cluster.is_ready() && (by_container || by_own_server))
}

/// Whether the member's CA did sign what its own server presents, as far as that was seen.
fn fits(view: &DirectView, now: Timestamp) -> bool {
    let authority = view
        .account
        .seen()
        .and_then(|account| account.text("ca.crt"));
    match (view.served.seen(), authority) {
        (Some(served), Some(authority)) => {
            judged(served, &authority, now) != Verdict::UnknownAuthority
        }
        _ => true,
    }
}

const IMPERSONATOR: &str = "karmada-impersonator";

#[cfg(test)]
mod tests;
