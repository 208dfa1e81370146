//! What the same key of different clusters means for each other. Pure.

use karmada_repair::finding::{Finding, Severity};

use crate::airflow::KeyKind;
use crate::compare::Relation;
use crate::config::{Config, Operation};
use crate::diagnose::{finding, key_subject};
use crate::group::{Chosen, Group};
use crate::observed::Observed;

/// A finding for each instance whose key is not that of the reference.
pub(super) fn diagnose(
    group: &Group<'_>,
    kind: KeyKind,
    observed: &Observed,
    config: &Config,
) -> Vec<Finding> {
    let named = match &config.operation {
        Operation::Sync(sync) => Some(sync.from.as_str()),
        _ => None,
    };
    let Some(reference) = group.reference(kind, named) else {
        return Vec::new();
    };
    group
        .members
        .iter()
        .filter(|chosen| chosen.cluster.name != reference.cluster.name)
        .filter_map(|chosen| match kind {
            KeyKind::Fernet => of_lists(group, reference, *chosen, observed),
            _ => of_values(group, kind, reference, *chosen, observed),
        })
        .collect()
}

fn of_lists(
    group: &Group<'_>,
    reference: Chosen<'_>,
    chosen: Chosen<'_>,
    observed: &Observed,
) -> Option<Finding> {
    let kind = KeyKind::Fernet;
    let relation = group.relation(kind, reference, chosen)?;
    let (code, severity) = match relation {
        Relation::Identical => return None,
        Relation::SamePrimary => ("keys-same-primary", Severity::Warning),
        Relation::SameSet => ("keys-same-set", Severity::Warning),
        Relation::Mutual => ("keys-mutual", Severity::Warning),
        Relation::FirstReads | Relation::SecondReads => ("keys-one-way", Severity::Error),
        Relation::Disjoint => ("keys-disjoint", Severity::Error),
    };
    let consequence = relation.consequence(&reference.cluster.name, &chosen.cluster.name);
    let found = finding(code, severity, key_subject(chosen, kind), consequence)
        .expected(shown(group, kind, reference))
        .actual(shown(group, kind, chosen));
    Some(found.hint(sync(reference, observed)))
}

fn of_values(
    group: &Group<'_>,
    kind: KeyKind,
    reference: Chosen<'_>,
    chosen: Chosen<'_>,
    observed: &Observed,
) -> Option<Finding> {
    if group.relation(kind, reference, chosen)? == Relation::Identical {
        return None;
    }
    let (one, other) = (
        reference.instance.value(kind)?,
        chosen.instance.value(kind)?,
    );
    let how = match one.trimmed == other.trimmed {
        true => " only by the white space around it, which counts",
        false => "",
    };
    Some(
        finding(
            "secrets-differ",
            Severity::Error,
            key_subject(chosen, kind),
            format!(
                "it differs from that of {}{how}: {}",
                reference.cluster.name,
                kind.symptom()
            ),
        )
        .expected(shown(group, kind, reference))
        .actual(shown(group, kind, chosen))
        .hint(sync(reference, observed)),
    )
}

/// The letters of a list.
pub(crate) fn shown(group: &Group<'_>, kind: KeyKind, chosen: Chosen<'_>) -> String {
    let letters = group.letters(kind);
    let digests = chosen
        .instance
        .value(kind)
        .map_or(&[][..], |value| value.digests.as_slice());
    let shown: Vec<&str> = digests
        .iter()
        .filter_map(|digest| letters.get(digest).map(String::as_str))
        .collect();
    shown.join(",")
}

fn sync(reference: Chosen<'_>, observed: &Observed) -> String {
    format!(
        "{} sync --from {}",
        observed.own_command, reference.cluster.name
    )
}
