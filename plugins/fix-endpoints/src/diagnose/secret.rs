//! Findings about the secret that the control plane keeps for a member. Pure.

use karmada_repair::finding::{Finding, Severity};
use karmada_repair::part::Part;
use karmada_repair::text::shell_word;

use crate::credentials::{Making, Renewal};
use crate::diagnose::credentials::copied;
use crate::diagnose::{SECRET_MISSING, SECRET_NOT_REFERENCED, about, wanted_endpoint};
use crate::examine::Examination;
use crate::observed::{Member, MemberSecret, Observed, SecretKubeconfig};
use crate::secret_kubeconfig;

pub(super) fn of_secret(
    member: &Member,
    observed: &Observed,
    renewals: &[Renewal],
    makings: &[Making],
) -> Vec<Finding> {
    let Some(reference) = &member.cluster.spec.secret_ref else {
        return vec![
            about(
                member,
                SECRET_NOT_REFERENCED,
                Severity::Error,
                "it names no secret (spec.secretRef), so it was joined only in part".to_owned(),
            )
            .hint(match makings.contains(&Making::SecretReference) {
                true => made_by(member, observed),
                false => from_member(member, observed),
            }),
        ];
    };
    let secret = format!("{}/{}", reference.namespace, reference.name);
    match &member.secret {
        Part::Seen(seen) => missing_keys(member, seen, renewals)
            .into_iter()
            .map(|(code, key)| {
                about(
                    member,
                    code,
                    Severity::Error,
                    format!("its secret {secret} has no value for {key:?}"),
                )
                .hint(from_member(member, observed))
            })
            .collect(),
        Part::Absent => vec![
            about(
                member,
                SECRET_MISSING,
                Severity::Error,
                format!("its secret {secret} is not there"),
            )
            .hint(match makings.contains(&Making::Secret) {
                true => made_by(member, observed),
                false => copied(member, observed, Renewal::Token),
            }),
        ],
        Part::Unreadable(reason) => vec![
            about(
                member,
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

fn from_member(member: &Member, observed: &Observed) -> String {
    let name = shell_word(member.name());
    format!(
        "{} {name} --cluster-context {name}=CONTEXT takes it from the member",
        observed.control_plane.own_command
    )
}

/// The command that makes what is missing.
pub(super) fn made_by(member: &Member, observed: &Observed) -> String {
    format!(
        "{} {} --yes makes it as karmadactl join does",
        observed.control_plane.own_command,
        shell_word(member.name())
    )
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

pub(super) fn of_kubeconfig_key(member: &Member, examination: &Examination<'_>) -> Option<Finding> {
    match &member.secret.seen()?.kubeconfig {
        SecretKubeconfig::Absent => None,
        SecretKubeconfig::Empty => Some(about(
            member,
            KUBECONFIG_KEY_EMPTY,
            Severity::Warning,
            "its secret holds an empty key \"kubeconfig\", which Karmada never reads".to_owned(),
        )),
        SecretKubeconfig::Other => Some(about(
            member,
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
                    member,
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

/// The code of a kubeconfig with another address in a member's secret.
pub const KUBECONFIG_KEY_STALE: &str = "kubeconfig-key-stale";

/// The code of an empty kubeconfig in a member's secret.
pub const KUBECONFIG_KEY_EMPTY: &str = "kubeconfig-key-empty";
