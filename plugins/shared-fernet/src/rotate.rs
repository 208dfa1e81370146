//! The course of a rotation of the fernet key through all clusters. Pure.

use karmada_repair::finding::{Finding, Severity, Subject};
use karmada_repair::part::Part;

use crate::airflow::KeyKind;
use crate::blocked::blocked;
use crate::compare::Relation;
use crate::config::{Config, Operation, Rotate};
use crate::diagnose::finding;
use crate::group::{Chosen, Group, groups_of};
use crate::keyring::Keyring;
use crate::observed::{ClusterSeen, Observed, Workload};
use crate::rotation::{Entangled, Goal, Phase, unfinished};
use crate::stale::{stale, tasks};

/// Where a rotation stands, and what can be done.
#[derive(Debug)]
pub enum Course<'a> {
    /// There is nothing to do.
    Done,
    /// No step may be taken; why.
    Blocked(Box<Finding>),
    /// Steps can be taken.
    Open(Open<'a>),
}

/// A rotation that can go on.
#[derive(Debug)]
pub struct Open<'a> {
    /// What it is to bring about.
    pub goal: &'a Goal,
    /// The instances with how far it has come there; `None` = it has not come there.
    pub stands: Vec<(Chosen<'a>, &'a Keyring, Option<Phase>)>,
    /// Why no more than one stage can be done in one run; `None` = all can.
    pub pause: Option<String>,
    /// Whether the rows have been encrypted anew by hand.
    pub rotated: bool,
}

/// The rotation that earlier runs began and did not finish; `None` = there is none.
///
/// # Errors
/// When the clusters tell of more than one.
pub fn begun(clusters: &[ClusterSeen]) -> Result<Option<Goal>, Entangled> {
    let groups = groups_of(clusters);
    let [group] = groups.as_slice() else {
        return Ok(None);
    };
    let lists = group.members.iter().filter_map(|chosen| {
        let note = chosen.instance.secret(KeyKind::Fernet)?.note.as_ref();
        Some((chosen.keyring()?, note))
    });
    if let Some(goal) = unfinished(lists)? {
        return Ok(Some(goal));
    }
    // All lists are trimmed, and pods still run with what was before: a restart is missing.
    let waiting = group.members.iter().find_map(|chosen| {
        let note = chosen.instance.secret(KeyKind::Fernet)?.note.as_ref()?;
        let key = note.new_key(chosen.keyring()?)?;
        (!stale(chosen.instance).is_empty()).then(|| Goal {
            rotation: note.rotation.clone(),
            key: key.clone(),
            begun: true,
        })
    });
    Ok(waiting)
}

/// The course of the rotation that this run is to go on with.
pub fn course<'a>(group: &Group<'a>, observed: &'a Observed, rotate: &Rotate) -> Course<'a> {
    let goal = match &observed.goal {
        None => return Course::Done,
        Some(Ok(goal)) => goal,
        Some(Err(entangled)) => return Course::Blocked(Box::new(of_entangled(entangled))),
    };
    if let Some(why) = unreadable(observed) {
        return Course::Blocked(Box::new(why));
    }
    let mut stands = Vec::new();
    for chosen in &group.members {
        if let Some(why) = blocked(*chosen, KeyKind::Fernet, observed) {
            return Course::Blocked(Box::new(stops(chosen, &why)));
        }
        match chosen.keyring() {
            Some(keyring) => stands.push((*chosen, keyring, Phase::of(keyring, &goal.key))),
            None => {
                let why = "Airflow there has no fernet key that it can use";
                return Course::Blocked(Box::new(stops(chosen, why)));
            }
        }
    }
    if let Some(why) = differing(group, &stands, goal, observed) {
        return Course::Blocked(Box::new(why));
    }
    let is_done = |(chosen, _, phase): &(Chosen<'_>, &Keyring, Option<Phase>)| {
        *phase == Some(Phase::Trimmed) && restartable(*chosen).is_empty()
    };
    if stands.iter().all(is_done) {
        return Course::Done;
    }
    if rotate.rotated
        && stands
            .iter()
            .any(|(_, _, phase)| *phase < Some(Phase::Switched))
    {
        let why = "--rotated speaks of a rotation in which all clusters encrypt with the new key already, and this one has not come so far";
        return Course::Blocked(Box::new(finding(
            "rotation-blocked",
            Severity::Error,
            subject(goal),
            why,
        )));
    }
    Course::Open(Open {
        goal,
        pause: pause(&stands),
        stands,
        rotated: rotate.rotated,
    })
}

/// What the steps and the progress of a rotation are about.
pub fn subject(goal: &Goal) -> Subject {
    Subject::new("rotation", &goal.rotation)
}

/// The workloads with pods that run with an older value, and with pods at all.
pub fn restartable<'a>(chosen: Chosen<'a>) -> Vec<&'a Workload> {
    let stale = stale(chosen.instance);
    chosen
        .instance
        .workloads
        .iter()
        .filter(|workload| {
            stale
                .iter()
                .any(|stale| stale.workload.is_some_and(|own| own.uid == workload.uid))
        })
        .collect()
}

/// A finding about how far it has come, for a run that is to bring it further, or for one that only compares.
pub fn progress(group: &Group<'_>, observed: &Observed, config: &Config) -> Option<Finding> {
    let (rotate, severity) = match &config.operation {
        Operation::Rotate(rotate) => (rotate.clone(), Severity::Error),
        _ => (Rotate::default(), Severity::Warning),
    };
    let own = &observed.own_command;
    match course(group, observed, &rotate) {
        Course::Done => None,
        Course::Blocked(why) if severity == Severity::Error => Some(*why),
        // A comparison says what is wrong with the lists by itself.
        Course::Blocked(why) => {
            matches!(why.key.code.as_str(), "rotation-entangled").then_some(*why)
        }
        Course::Open(open) => {
            let stands = open.stands.iter().map(|(chosen, _, phase)| {
                let phase = phase.map_or("not begun", Phase::word);
                format!("{} {phase}", chosen.cluster.name)
            });
            let message = format!(
                "the fernet key is not replaced everywhere: {}",
                stands.collect::<Vec<_>>().join(", ")
            );
            let hint = match &open.pause {
                Some(pause) => format!("{pause}; then: {own} rotate --resume"),
                None => format!("{own} rotate --resume"),
            };
            Some(finding("rotation-unfinished", severity, subject(open.goal), message).hint(hint))
        }
    }
}

fn unreadable(observed: &Observed) -> Option<Finding> {
    let cluster = observed.clusters.iter().find(|cluster| {
        matches!(cluster.instances, Part::Unreadable(_)) || cluster.unlisted.is_some()
    })?;
    Some(
        finding(
            "rotation-blocked",
            Severity::Error,
            Subject::cluster(&cluster.name),
            "what its Airflow reads cannot be told, and it may use the old key: no key is replaced",
        )
        .hint("make it readable, or name the clusters that share a database: --clusters CLUSTER,CLUSTER"),
    )
}

fn stops(chosen: &Chosen<'_>, why: &str) -> Finding {
    let subject = Subject::new("rotation", chosen.name());
    finding(
        "rotation-blocked",
        Severity::Error,
        subject,
        format!("no key is replaced anywhere, because it cannot be replaced there: {why}"),
    )
}

fn of_entangled(entangled: &Entangled) -> Finding {
    finding(
        "rotation-entangled",
        Severity::Error,
        Subject::new("rotation", "annotations"),
        entangled.to_string(),
    )
    .hint("bring all clusters to one list that holds every key: kubectl karmada-shared-fernet sync --from CLUSTER")
}

/// The lists must agree but for the new key.
fn differing(
    group: &Group<'_>,
    stands: &[(Chosen<'_>, &Keyring, Option<Phase>)],
    goal: &Goal,
    observed: &Observed,
) -> Option<Finding> {
    let old = |keyring: &Keyring| {
        let keys = keyring.keys().iter().filter(|key| **key != goal.key);
        keys.cloned().collect::<Vec<_>>()
    };
    let mut open = stands
        .iter()
        .filter(|(_, _, phase)| *phase != Some(Phase::Trimmed));
    let (first, list, _) = open.next()?;
    let (other, _, _) = open.find(|(_, other, _)| {
        Relation::of(&old(list), &old(other)) != Relation::Identical && !old(other).is_empty()
    })?;
    let reference = group.reference(KeyKind::Fernet, None).unwrap_or(*first);
    Some(
        finding(
            "rotation-needs-sync",
            Severity::Error,
            subject(goal),
            format!(
                "{} and {} do not have the same list, so a new key would not be readable everywhere",
                first.cluster.name, other.cluster.name
            ),
        )
        .hint(format!(
            "{} sync --from {}",
            observed.own_command, reference.cluster.name
        )),
    )
}

/// Pods of tasks take the list that is there when they start, and nothing replaces them.
fn pause(stands: &[(Chosen<'_>, &Keyring, Option<Phase>)]) -> Option<String> {
    let launching = stands.iter().find(|(chosen, _, _)| {
        !tasks(chosen.instance).is_empty()
            || chosen
                .instance
                .workloads
                .iter()
                .any(|workload| workload.launches_pods)
    });
    launching.map(|(chosen, _, _)| {
        format!(
            "wait until the tasks that run in {} now have ended, because their pods keep the list they started with",
            chosen.cluster.name
        )
    })
}
