//! Which instances of different clusters belong together: those that share a metadata database. Pure.

use std::collections::BTreeMap;

use crate::airflow::KeyKind;
use crate::compare::Relation;
use crate::digest::Digest;
use crate::keyring::Keyring;
use crate::observed::{ClusterSeen, Instance, Observed};

/// Instances that share their keys, at most one of each cluster.
#[derive(Debug, Clone)]
pub struct Group<'a> {
    /// The instances, in the order of their clusters' names.
    pub members: Vec<Chosen<'a>>,
}

/// An instance and its cluster.
#[derive(Debug, Clone, Copy)]
pub struct Chosen<'a> {
    /// The cluster.
    pub cluster: &'a ClusterSeen,
    /// The instance.
    pub instance: &'a Instance,
}

impl<'a> Chosen<'a> {
    /// `cluster/namespace/release`, as reports name it.
    pub fn name(&self) -> String {
        self.instance.name(&self.cluster.name)
    }

    /// The list of Fernet keys that Airflow uses there; `None` = none that it can use was read.
    pub fn keyring(&self) -> Option<&'a Keyring> {
        let value = self.instance.value(KeyKind::Fernet)?;
        value.reading.as_ref()?.keyring()
    }
}

/// All instances that were observed, in groups.
pub fn groups(observed: &Observed) -> Vec<Group<'_>> {
    groups_of(&observed.clusters)
}

/// All instances of these clusters, in groups: where no cluster has two, all of them are one group whatever their names; else those of
/// the same namespace and release are.
pub fn groups_of(clusters: &[ClusterSeen]) -> Vec<Group<'_>> {
    let all: Vec<Chosen<'_>> = clusters
        .iter()
        .flat_map(|cluster| {
            let instances = cluster.found().iter();
            instances.map(move |instance| Chosen { cluster, instance })
        })
        .collect();
    if clusters.iter().all(|cluster| cluster.found().len() < 2) {
        return match all.is_empty() {
            true => Vec::new(),
            false => vec![Group { members: all }],
        };
    }
    let mut by_name: BTreeMap<(&str, &str), Vec<Chosen<'_>>> = BTreeMap::new();
    for chosen in all {
        let key = (
            chosen.instance.namespace.as_str(),
            chosen.instance.release.as_str(),
        );
        by_name.entry(key).or_default().push(chosen);
    }
    by_name
        .into_values()
        .map(|members| Group { members })
        .collect()
}

impl<'a> Group<'a> {
    /// The instance of a cluster.
    pub fn of_cluster(&self, cluster: &str) -> Option<Chosen<'a>> {
        self.members
            .iter()
            .find(|chosen| chosen.cluster.name == cluster)
            .copied()
    }

    /// The one that the others are compared with: that of the cluster that is named, else one of those that most others
    /// agree with.
    pub fn reference(&self, kind: KeyKind, named: Option<&str>) -> Option<Chosen<'a>> {
        let digests = |chosen: &Chosen<'a>| -> Option<&'a [Digest]> {
            let value = chosen.instance.value(kind)?;
            (!value.digests.is_empty()).then_some(value.digests.as_slice())
        };
        if let Some(chosen) = named.and_then(|name| self.of_cluster(name))
            && digests(&chosen).is_some()
        {
            return Some(chosen);
        }
        let agreeing = |chosen: &Chosen<'a>| {
            let own = digests(chosen);
            self.members
                .iter()
                .filter(|other| own.is_some() && digests(other) == own)
                .count()
        };
        let usable = self
            .members
            .iter()
            .filter(|chosen| digests(chosen).is_some());
        // The first of equals.
        usable.rev().max_by_key(|chosen| agreeing(chosen)).copied()
    }

    /// Letters for the keys of this kind, in the order in which they are met: equal keys have equal letters.
    pub fn letters(&self, kind: KeyKind) -> BTreeMap<Digest, String> {
        let mut letters = BTreeMap::new();
        for chosen in &self.members {
            let uses = chosen.instance.keys.get(&kind).into_iter().flatten();
            let values = uses.filter_map(|one| one.value.seen());
            for digest in values.flat_map(|value| &value.digests) {
                let next = letters.len();
                letters.entry(*digest).or_insert_with(|| letter(next));
            }
        }
        letters
    }

    /// How the lists of two instances relate; `None` = one of them has none that can be used.
    pub fn relation(
        &self,
        kind: KeyKind,
        first: Chosen<'_>,
        second: Chosen<'_>,
    ) -> Option<Relation> {
        let digests = |chosen: Chosen<'a>| chosen.instance.value(kind).map(|value| &value.digests);
        let first = self.of_cluster(&first.cluster.name).and_then(digests)?;
        let second = self.of_cluster(&second.cluster.name).and_then(digests)?;
        match first.is_empty() || second.is_empty() {
            true => None,
            false => Some(Relation::of(first, second)),
        }
    }
}

/// A, B, ... Z, A1, B1, ...
fn letter(index: usize) -> String {
    let letter = char::from(b'A' + (index % 26) as u8);
    match index / 26 {
        0 => letter.to_string(),
        round => format!("{letter}{round}"),
    }
}
