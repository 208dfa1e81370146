//! Findings about credentials that the member knows better than the control plane. Pure.

use jiff::Timestamp;
use karmada_repair::finding::{Finding, Severity};
use karmada_repair::part::Part;
use karmada_repair::text::shell_word;

use crate::credentials::{
    Making, Renewal, account_object, impersonator_account_object, impersonator_object, makings,
    namespace, renewals, stored_object,
};
use crate::diagnose::about;
use crate::diagnose::secret::made_by;
use crate::direct::{Direct, DirectView, Kin};
use crate::observed::{Member, Observed};

/// What is wrong with the credentials, as far as the member was read or something is missing.
pub(super) fn of_credentials(member: &Member, observed: &Observed, now: Timestamp) -> Vec<Finding> {
    let own = &observed.control_plane.own_command;
    let name = member.name();
    let renewals = renewals(member, now);
    let makings = makings(member, now);
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
        let hint = match makings.contains(&Making::Impersonator) {
            true => made_by(member, observed),
            false => copied(member, observed, Renewal::Impersonator),
        };
        findings.push(about(member, IMPERSONATOR_MISSING, Severity::Error, message).hint(hint));
    }
    if member.cluster.spec.impersonator_secret_ref.is_none() {
        let message = "it names no secret of the impersonator (spec.impersonatorSecretRef), so nobody gets through the proxy";
        let hint = match makings.contains(&Making::ImpersonatorReference) {
            true => made_by(member, observed),
            false => copied(member, observed, Renewal::Impersonator),
        };
        findings.push(
            about(
                member,
                IMPERSONATOR_NOT_REFERENCED,
                Severity::Error,
                message.to_owned(),
            )
            .hint(hint),
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

/// The command that makes a missing secret of the control plane from the member's.
pub(super) fn copied(member: &Member, observed: &Observed, what: Renewal) -> String {
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

/// The code of a secret that is not there.
pub const SECRET_MISSING: &str = "secret-missing";

/// The code of a `Cluster` without `spec.secretRef`.
pub const SECRET_NOT_REFERENCED: &str = "secret-not-referenced";

/// The code of an impersonator's secret that is not there or holds no token.
pub const IMPERSONATOR_MISSING: &str = "impersonator-missing";

/// The code of a `Cluster` without `spec.impersonatorSecretRef`.
pub const IMPERSONATOR_NOT_REFERENCED: &str = "impersonator-not-referenced";
