//! Credentials that the member knows better than the control plane: which of them to read again, and how. Pure.
//!
//! The control plane stores copies of what the member's service accounts hold (`pkg/util/credential.go` and
//! `RegisterClusterInControllerPlane` of Karmada), and never reads them again: not after a CA was rotated, a token
//! replaced or a member rebuilt.

use jiff::Timestamp;
use karmada_repair::cluster::object::ObjectReference;
use karmada_repair::finding::{Finding, Severity};
use karmada_repair::part::Part;
use karmada_repair::plan::{Action, Server, set_value};
use karmada_repair::text::shell_word;
use karmada_repair::tls::{ServingCertificate, Verdict};

use crate::diagnose::about;
use crate::direct::{Direct, DirectView, Kin};
use crate::observed::{Member, Observed};
use crate::proxy_answer::{Failure, ProxyAnswer};
use crate::stored::StoredSecret;

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

impl Renewal {
    /// The code of the finding.
    pub fn code(self) -> &'static str {
        match self {
            Renewal::Authority => "credentials-ca-stale",
            Renewal::Token => "credentials-token-stale",
            Renewal::Impersonator => "credentials-impersonator-stale",
        }
    }
}

/// The code of a recorded UID that is not the member's.
pub const CLUSTER_ID_STALE: &str = "cluster-id-stale";

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
    missing_here || missing_there || refused
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
    if renewals(member, now).contains(&Renewal::Authority) {
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

/// What is wrong with the credentials, as far as the member was read or something is missing.
pub fn diagnose(member: &Member, observed: &Observed, now: Timestamp) -> Vec<Finding> {
    let own = &observed.control_plane.own_command;
    let name = member.name();
    let renewals = renewals(member, now);
    let mut findings: Vec<Finding> = renewals
        .iter()
        .map(|renewal| {
            let message = match renewal {
                Renewal::Authority => "the CA stored for it (caBundle) is not the one that signed what it serves; the member holds another one",
                Renewal::Token => "the token stored for it is missing or not accepted; the member holds another one",
                Renewal::Impersonator => "the impersonator's token stored for it is missing or not accepted; the member holds another one",
            };
            about(member, renewal.code(), Severity::Error, message.to_owned())
                .hint(format!("{own} {} --yes reads it again from the member", shell_word(name)))
        })
        .collect();
    let impersonator_misses = match &member.impersonator {
        Part::Absent => Some("is not there"),
        Part::Seen(stored) if stored.value("token").is_none() => Some("has no value for \"token\""),
        Part::Seen(_) | Part::Unreadable(_) => None,
    };
    if let Some(what) = impersonator_misses
        && !renewals.contains(&Renewal::Impersonator)
    {
        let secret = impersonator_object(member);
        let message = format!("its {secret} {what}, so nobody gets through the proxy");
        findings.push(
            about(member, "impersonator-missing", Severity::Error, message).hint(copied(
                member,
                observed,
                Renewal::Impersonator,
            )),
        );
    }
    match &member.direct {
        Direct::Refused(why) => findings.push(
            about(
                member,
                "member-context-refused",
                Severity::Error,
                why.clone(),
            )
            .hint(format!(
                "name a context that leads to it: --cluster-context {}=CONTEXT",
                shell_word(name)
            )),
        ),
        Direct::Unreadable(why) => findings.push(
            about(
                member,
                "member-unreadable",
                Severity::Unknown,
                format!("it could not be read past the control plane: {why}"),
            )
            .hint(format!(
                "name a context that leads to it: --cluster-context {}=CONTEXT",
                shell_word(name)
            )),
        ),
        Direct::Seen(view) => findings.extend(of_view(member, view)),
        Direct::NotAsked | Direct::NoWay => {}
    }
    findings
}

fn of_view(member: &Member, view: &DirectView) -> Vec<Finding> {
    let mut findings = Vec::new();
    let context = shell_word(&view.context);
    let object = account_object(member);
    let account = match &view.account {
        Part::Absent => Some((
            "member-account-missing",
            Severity::Error,
            format!(
                "the member has no {object}, so the control plane has no account there: it was rebuilt, or never joined"
            ),
            format!(
                "kubectl --context {context} get serviceaccounts,secrets -n {} shows what is left",
                namespace(member)
            ),
        )),
        Part::Unreadable(why) => Some((
            "member-account-unreadable",
            Severity::Unknown,
            format!("{object} of the member cannot be read: {why}"),
            format!(
                "kubectl --context {context} auth can-i get secrets -n {}",
                namespace(member)
            ),
        )),
        Part::Seen(_) => None,
    };
    if let Some((code, severity, message, hint)) = account {
        findings.push(about(member, code, severity, message).hint(hint));
    }
    if view.kin == Kin::Rebuilt {
        let recorded = member.cluster.spec.id.clone().unwrap_or_default();
        findings.push(
            about(
                member,
                CLUSTER_ID_STALE,
                Severity::Warning,
                "the UID recorded for it (spec.id) is not that of its namespace kube-system: the member was rebuilt".to_owned(),
            )
            .expected(view.uid.clone())
            .actual(recorded),
        );
    }
    findings
}

/// A change of the control plane's records, with why it is made and the codes that it cures.
pub struct Rewrite {
    /// The patch.
    pub action: Action,
    /// Why.
    pub reason: String,
    /// The codes of the findings that end with it.
    pub cures: Vec<&'static str>,
}

/// The patches that bring what is stored to what the member holds.
pub fn rewrites(member: &Member, now: Timestamp) -> Vec<Rewrite> {
    let Some(view) = member.direct.seen() else {
        return Vec::new();
    };
    let renewals = renewals(member, now);
    let mut rewrites = Vec::new();
    let changes: Vec<(Renewal, &str, &str)> = renewals
        .iter()
        .filter_map(|renewal| {
            let account = view.account.seen()?;
            match renewal {
                Renewal::Authority => Some((*renewal, "caBundle", account.value("ca.crt")?)),
                Renewal::Token => Some((*renewal, "token", account.value("token")?)),
                Renewal::Impersonator => None,
            }
        })
        .collect();
    if let (Some(secret), Some(reference), [_, ..]) = (
        member.secret.seen(),
        &member.cluster.spec.secret_ref,
        changes.as_slice(),
    ) {
        let values: Vec<(&str, &str)> = changes
            .iter()
            .map(|(_, key, value)| (*key, *value))
            .collect();
        rewrites.push(Rewrite {
            action: of_secret(
                ObjectReference::secret(reference.namespace.clone(), reference.name.clone()),
                &secret.stored,
                &values,
            ),
            reason: format!(
                "{} of the member holds it, read with the context {}",
                account_object(member),
                view.context
            ),
            cures: changes.iter().map(|(renewal, ..)| renewal.code()).collect(),
        });
    }
    if renewals.contains(&Renewal::Impersonator)
        && let (Some(stored), Some(token)) = (
            member.impersonator.seen(),
            view.impersonator
                .seen()
                .and_then(|account| account.value("token")),
        )
    {
        rewrites.push(Rewrite {
            action: of_secret(impersonator_object(member), stored, &[("token", token)]),
            reason: format!(
                "{} of the member holds it, read with the context {}",
                ObjectReference::secret(namespace(member), IMPERSONATOR),
                view.context
            ),
            cures: vec![Renewal::Impersonator.code()],
        });
    }
    if view.kin == Kin::Rebuilt
        && let Some(recorded) = &member.cluster.spec.id
    {
        let (patch, inverse) = set_value("/spec/id", Some(recorded), 0, &view.uid);
        rewrites.push(Rewrite {
            action: Action::PatchObject {
                server: Server::ControlPlane,
                object: member.cluster.reference(),
                patch,
                inverse,
            },
            reason: format!(
                "the context {}, given for it, leads to its rebuilt successor",
                view.context
            ),
            cures: vec![CLUSTER_ID_STALE],
        });
    }
    rewrites
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

/// The command that makes a missing secret of the control plane from the member's.
pub fn copied(member: &Member, observed: &Observed, what: Renewal) -> String {
    let kubectl = &observed.control_plane.commands.kubectl;
    let context = match member.direct.seen() {
        Some(view) => shell_word(&view.context),
        None => "MEMBER-CONTEXT".to_owned(),
    };
    let (from, to, data) = match what {
        Renewal::Impersonator => (
            impersonator_account_object(member),
            impersonator_object(member),
            r#""token":"{{.data.token}}""#,
        ),
        Renewal::Authority | Renewal::Token => (
            account_object(member),
            stored_object(member),
            r#""token":"{{.data.token}}","caBundle":"{{index .data "ca.crt"}}""#,
        ),
    };
    let (namespace, to_namespace) = (
        from.namespace.unwrap_or_default(),
        to.namespace.unwrap_or_default(),
    );
    let template = format!(
        r#"{{"apiVersion":"v1","kind":"Secret","metadata":{{"name":"{}","namespace":"{to_namespace}","labels":{{"karmada.io/system":"true"}}}},"data":{{{data}}}}}"#,
        to.name
    );
    format!(
        "kubectl --context {context} -n {} get secret {} -o go-template={} | {kubectl} create -f -",
        shell_word(&namespace),
        shell_word(&from.name),
        shell_word(&template)
    )
}

fn of_secret(object: ObjectReference, stored: &StoredSecret, values: &[(&str, &str)]) -> Action {
    let (patch, inverse) = stored.replacing(values);
    Action::PatchObject {
        server: Server::ControlPlane,
        object,
        patch,
        inverse,
    }
}

fn stored_object(member: &Member) -> ObjectReference {
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
fn namespace(member: &Member) -> String {
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
        judged(served, stored, now) == Verdict::UnknownAuthority
            && judged(served, &new, now) != Verdict::UnknownAuthority
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
