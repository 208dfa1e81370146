//! What keeps an identity from a member, of all that was observed. Pure.

use jiff::{SignedDuration, Timestamp};
use karmada_repair::karmada::{Condition, SecretReference};
use karmada_repair::part::Part;

use crate::account::{Account, Identity, MASTERS};
use crate::answer::Answer;
use crate::config::Config;
use crate::observed::{Applied, Copy, Delivered, Member, Observed, Work};
use crate::rbac::{Missing, Rbac};

/// What stands in the way of everybody, whatever is granted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Obstacle {
    /// The cluster is being deleted.
    BeingDeleted,
    /// `spec.impersonatorSecretRef` names no secret.
    NoReference,
    /// The secret is not there.
    SecretMissing,
    /// The secret has no token.
    SecretEmpty,
    /// The member does not know the token.
    TokenRejected,
    /// The control plane cannot reach the member; what its proxy says.
    Unreachable(String),
    /// The controllers report the member as not ready, so that nothing is delivered to it.
    NotReady {
        /// The condition's reason.
        reason: String,
        /// Since when, as the condition has it.
        since: Option<String>,
    },
    /// Somebody took the label `karmada.io/managed` off what Karmada delivers.
    Frozen {
        /// The kinds of the objects.
        kinds: Vec<&'static str>,
        /// Whom the role accepts by hand alone.
        by_hand: Vec<String>,
    },
    /// What Karmada has to deliver does not arrive, and will not by itself; why.
    Undelivered(String),
}

/// How an identity stands with a member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// It reaches the member.
    Passes,
    /// The control plane does not grant what it takes.
    NotGranted(Lack),
    /// It is granted, and still refused; in whose words.
    NotAccepted(String),
    /// It is granted, and nobody could try; why.
    NotVerified(String),
    /// It is granted, and an [`Obstacle`] is in the way.
    Blocked,
    /// It is granted, and there is nothing to try: a group sends no requests.
    Granted,
}

/// What the control plane does not grant.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lack {
    /// Verbs on `clusters/proxy`, sorted.
    pub verbs: Vec<String>,
    /// What Karmada does not make known to the member.
    pub missing: Missing,
    /// Whether the identity carries `system:masters`, which is not made known and not to be granted.
    pub masters: bool,
    /// Whether it reaches the member all the same, by what somebody wrote there.
    pub passes_by_hand: bool,
}

impl Lack {
    /// Whether a grant would change anything.
    pub fn is_curable(&self) -> bool {
        !self.verbs.is_empty() || !self.missing.is_nothing()
    }
}

/// What stands in everybody's way to a member; `None` = nothing.
pub fn obstacle(member: &Member, observed: &Observed, now: Timestamp) -> Option<Obstacle> {
    if member.is_being_deleted() {
        return Some(Obstacle::BeingDeleted);
    }
    if member.unreadable.is_some() {
        return of_the_answers(member);
    }
    if reference(member).is_none() {
        return Some(Obstacle::NoReference);
    }
    let answers = || member.answers.values();
    let reached = is_reached(member);
    match &member.secret {
        Part::Absent => return Some(Obstacle::SecretMissing),
        Part::Seen(secret) if !secret.has_token => return Some(Obstacle::SecretEmpty),
        Part::Unreadable(_) if !reached && answers().any(is_without_credentials) => {
            return Some(Obstacle::SecretMissing);
        }
        _ => {}
    }
    if let Some(obstacle) = of_the_answers(member) {
        return Some(obstacle);
    }
    let everybody_passes = !member.answers.is_empty() && answers().all(Answer::passes);
    if !member.cluster.is_ready() && !everybody_passes {
        let ready = member.cluster.ready();
        return Some(Obstacle::NotReady {
            reason: ready.map_or("never reported".to_owned(), |ready| ready.reason.clone()),
            since: ready.and_then(|ready| ready.last_transition_time.clone()),
        });
    }
    frozen(member, observed).or_else(|| {
        (member.cluster.is_ready() && !everybody_passes)
            .then(|| undelivered(member, observed, now))
            .flatten()
            .map(Obstacle::Undelivered)
    })
}

/// What the proxy's answers alone tell.
fn of_the_answers(member: &Member) -> Option<Obstacle> {
    if is_reached(member) {
        return None;
    }
    let mut answers = member.answers.values();
    if answers
        .clone()
        .any(|answer| *answer == Answer::TokenRejected)
    {
        return Some(Obstacle::TokenRejected);
    }
    answers.find_map(|answer| match answer {
        Answer::Unreachable { message } | Answer::NoCredentials { message } => {
            Some(Obstacle::Unreachable(message.clone()))
        }
        _ => None,
    })
}

/// Whether the member itself has answered somebody, by means of its impersonator.
fn is_reached(member: &Member) -> bool {
    member
        .answers
        .values()
        .any(|answer| answer.passes() || matches!(answer, Answer::NotAccepted { .. }))
}

/// How an identity stands with a member.
pub fn standing(
    member: &Member,
    identity: &Identity,
    observed: &Observed,
    config: &Config,
    now: Timestamp,
) -> Standing {
    let answer = member.answer(&identity.account);
    if let Some(lack) = observed
        .rbac
        .seen()
        .and_then(|rbac| lack(member, identity, rbac, config))
    {
        return Standing::NotGranted(lack);
    }
    if let (None, Some(Answer::NotLetThrough { .. })) = (observed.rbac.seen(), answer) {
        return Standing::NotGranted(Lack {
            verbs: vec!["get".to_owned()],
            ..Lack::default()
        });
    }
    if matches!(identity.account, Account::Group { .. }) {
        return Standing::Granted;
    }
    if answer.is_some_and(Answer::passes) {
        return Standing::Passes;
    }
    if obstacle(member, observed, now).is_some() {
        return Standing::Blocked;
    }
    match answer {
        Some(Answer::NotLetThrough { message } | Answer::NotAccepted { message, .. }) => {
            Standing::NotAccepted(message.clone())
        }
        Some(Answer::MayNotTry { message } | Answer::Odd { message }) => {
            Standing::NotVerified(message.clone())
        }
        Some(Answer::NoCluster) => {
            Standing::NotVerified("the cluster is gone meanwhile".to_owned())
        }
        _ => Standing::NotVerified("nobody has tried".to_owned()),
    }
}

/// The impersonator's secret that the cluster names.
pub fn reference(member: &Member) -> Option<&SecretReference> {
    let reference = member.cluster.spec.impersonator_secret_ref.as_ref()?;
    (!reference.name.is_empty()).then_some(reference)
}

/// The impersonator's secret that the cluster names, else the one that Karmada would name.
pub fn expected_reference(cluster: &karmada_repair::karmada::Cluster) -> SecretReference {
    let spec = &cluster.spec;
    let named = spec
        .impersonator_secret_ref
        .as_ref()
        .filter(|reference| !reference.name.is_empty());
    named.cloned().unwrap_or_else(|| SecretReference {
        namespace: spec
            .secret_ref
            .as_ref()
            .map(|reference| reference.namespace.clone())
            .filter(|namespace| !namespace.is_empty())
            .unwrap_or_else(|| CLUSTER_NAMESPACE.to_owned()),
        name: format!("{}-impersonator", cluster.metadata.name),
    })
}

/// Karmada's namespace for credentials, unless a member was joined with another.
pub const CLUSTER_NAMESPACE: &str = "karmada-cluster";

fn is_without_credentials(answer: &Answer) -> bool {
    matches!(answer, Answer::NoCredentials { .. })
}

/// What the control plane does not grant; `None` = it grants all. What this plugin granted to others does not count: it
/// may go at any time.
fn lack(member: &Member, identity: &Identity, rbac: &Rbac, config: &Config) -> Option<Lack> {
    let rbac = rbac.without_grants_to_others(&identity.account);
    let passes = member.answer(&identity.account).is_some_and(Answer::passes);
    let verbs: Vec<String> = config
        .verbs
        .iter()
        .filter(|_| !identity.is_superuser())
        .filter(|verb| !passes || *verb != "get")
        .filter(|verb| rbac.lets_through(identity, member.name(), verb).is_none())
        .cloned()
        .collect();
    let mut missing = rbac.accepted_by(member.name()).lacks(identity);
    let masters = missing.groups.iter().any(|group| group == MASTERS);
    missing.groups.retain(|group| group != MASTERS);
    let lack = Lack {
        passes_by_hand: passes && verbs.is_empty(),
        verbs,
        missing,
        masters,
    };
    (lack.is_curable() || (lack.masters && !passes)).then_some(lack)
}

fn frozen(member: &Member, observed: &Observed) -> Option<Obstacle> {
    let copy = member.copy.seen();
    let is_frozen = |delivered: Option<&Part<Delivered>>, work: &Part<Work>| match delivered {
        Some(Part::Seen(delivered)) => delivered.is_frozen(),
        Some(Part::Absent) => false,
        _ => work.seen().is_some_and(|work| work.applied.is_frozen()),
    };
    let role = copy.map(|copy| &copy.role);
    let binding = copy.map(|copy| &copy.binding);
    let kinds: Vec<&str> = [
        ("ClusterRole", is_frozen(role, &member.role_work)),
        (
            "ClusterRoleBinding",
            is_frozen(binding, &member.binding_work),
        ),
    ]
    .into_iter()
    .filter_map(|(kind, frozen)| frozen.then_some(kind))
    .collect();
    if kinds.is_empty() {
        return None;
    }
    let expected = observed
        .rbac
        .seen()
        .map(|rbac| rbac.accepted_by(member.name()));
    let by_hand = match (role.and_then(Part::seen), expected) {
        (Some(role), Some(expected)) => role.accepted.beyond(&expected),
        _ => Vec::new(),
    };
    Some(Obstacle::Frozen { kinds, by_hand })
}

/// Why what Karmada has to deliver will not arrive by itself; `None` = it has arrived, or is on its way.
fn undelivered(member: &Member, observed: &Observed, now: Timestamp) -> Option<String> {
    let is_settled = |written| is_older_than(observed.patience, written, now);
    let ready_long = member
        .cluster
        .ready()
        .is_none_or(|ready| is_settled(since(ready)));
    if !ready_long {
        return None;
    }
    for (kind, work) in [
        ("ClusterRole", &member.role_work),
        ("ClusterRoleBinding", &member.binding_work),
    ] {
        let work = match work {
            Part::Seen(work) => work,
            Part::Absent => {
                return Some(format!(
                    "Karmada has made no Work for the {kind} karmada-impersonator"
                ));
            }
            Part::Unreadable(_) => continue,
        };
        if !is_settled(work.written) {
            continue;
        }
        match &work.applied {
            Applied::Never => {
                return Some(format!(
                    "the Work of the {kind} karmada-impersonator sleeps: it was never applied, although the member is ready"
                ));
            }
            Applied::No(message) if !work.applied.is_frozen() => {
                return Some(format!(
                    "the Work of the {kind} karmada-impersonator failed, and sleeps: {message}"
                ));
            }
            Applied::Yes | Applied::No(_) => {}
        }
    }
    let work = member.role_work.seen()?;
    if !is_settled(work.written) {
        return None;
    }
    if let Some(Copy { role, .. }) = member.copy.seen() {
        match role {
            Part::Absent => {
                return Some(
                    "the member has no ClusterRole karmada-impersonator, although its Work says that it was applied"
                        .to_owned(),
                );
            }
            Part::Seen(role) if !work.accepted.beyond(&role.accepted).is_empty() => {
                return Some(format!(
                    "the ClusterRole karmada-impersonator there lacks {}, although its Work says that it was applied",
                    work.accepted.beyond(&role.accepted).join(", ")
                ));
            }
            _ => {}
        }
    }
    let rbac = observed.rbac.seen()?;
    let unheard = rbac.accepted_by(member.name()).beyond(&work.accepted);
    let long_granted = rbac.pairs().all(|(binding, role)| {
        is_settled(binding.metadata.written) && is_settled(role.metadata.written)
    });
    (!unheard.is_empty() && long_granted).then(|| {
        format!(
            "Karmada's controller has not taken {} into the Work of the ClusterRole karmada-impersonator",
            unheard.join(", ")
        )
    })
}

fn since(condition: &Condition) -> Option<Timestamp> {
    condition.last_transition_time.as_deref()?.parse().ok()
}

/// Whether what was written then must have had its effect; `None` = nobody knows when, so long ago.
fn is_older_than(patience: SignedDuration, written: Option<Timestamp>, now: Timestamp) -> bool {
    written.is_none_or(|written| now.duration_since(written) >= patience)
}

/// How long something written may be on its way: a working control plane delivers within a second.
pub const PATIENCE: SignedDuration = SignedDuration::from_secs(10);
/// The same while a repair is verified, when whatever is on its way was written just now.
pub const PATIENCE_OF_A_REPAIR: SignedDuration = SignedDuration::from_secs(60);
