//! The order in which lists of keys may change without a moment in which one cluster could write what another cannot
//! read. Pure.
//!
//! Pods are replaced one by one, so while a list changes, a cluster runs with both the old and the new one. Each stage is
//! done in every cluster, roll-outs included, before the next one begins: first everybody can read the keys to come,
//! then everybody encrypts with the first of them, then what is not wanted any more is dropped.

use crate::keyring::Keyring;

/// The lists of one cluster, stage by stage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stages {
    /// Its own list with the wanted keys at the end.
    pub add: Keyring,
    /// The wanted keys first, then its own others.
    pub switch: Keyring,
    /// The wanted keys alone.
    pub trim: Keyring,
}

impl Stages {
    /// From a list, `None` = a cluster that can use none now, to another one.
    pub fn of(current: Option<&Keyring>, wanted: &Keyring) -> Stages {
        let Some(current) = current else {
            return Stages {
                add: wanted.clone(),
                switch: wanted.clone(),
                trim: wanted.clone(),
            };
        };
        let switch = wanted.and(current.keys());
        // With the first key it has already, the order of the others changes nothing for anybody.
        let add = match current.primary() == wanted.primary() {
            true => switch.clone(),
            false => current.and(wanted.keys()),
        };
        Stages {
            add,
            switch,
            trim: wanted.clone(),
        }
    }
}

/// The source's keys, then every other key in use, in the order of the clusters.
pub fn union<'a>(source: &Keyring, others: impl IntoIterator<Item = &'a Keyring>) -> Keyring {
    others
        .into_iter()
        .fold(source.clone(), |all, other| all.and(other.keys()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keyring::tests::{key, ring};

    #[test]
    fn a_rotation_adds_then_switches_then_trims() {
        let stages = Stages::of(Some(&ring(&[1])), &ring(&[2]));
        assert_eq!(
            stages,
            Stages {
                add: ring(&[1, 2]),
                switch: ring(&[2, 1]),
                trim: ring(&[2]),
            }
        );
    }

    #[test]
    fn a_cluster_that_encrypts_with_the_right_key_changes_once() {
        let stages = Stages::of(Some(&ring(&[1])), &ring(&[1, 2]));
        assert_eq!(stages.add, ring(&[1, 2]));
        assert_eq!(stages.switch, stages.add);
    }

    #[test]
    fn the_union_begins_with_the_source_and_has_each_key_once() {
        assert_eq!(
            union(&ring(&[2, 1]), [&ring(&[3]), &ring(&[1, 4])]),
            ring(&[2, 1, 3, 4])
        );
    }

    /// All lists of these keys, none empty.
    fn lists(keys: &[u8]) -> Vec<Vec<u8>> {
        let mut all: Vec<Vec<u8>> = vec![vec![]];
        let mut done = 0;
        while done < all.len() {
            let list = all[done].clone();
            all.extend(
                keys.iter()
                    .filter(|key| !list.contains(key))
                    .map(|key| [list.as_slice(), &[*key]].concat()),
            );
            done += 1;
        }
        all.split_off(1)
    }

    /// What the pods of a cluster run with: one list, or two during a roll-out.
    type Running = Vec<Keyring>;

    #[track_caller]
    fn all_read_all(clusters: &[Running], before: &[(usize, usize)], moment: &str) {
        for (writer, lists) in clusters.iter().enumerate() {
            for (reader, others) in clusters.iter().enumerate() {
                if before.contains(&(reader, writer)) {
                    continue;
                }
                for list in lists {
                    for other in others {
                        let read = other.reads(list.primary());
                        assert!(
                            read,
                            "{moment}: cluster {reader} cannot read what {writer} writes"
                        );
                    }
                }
            }
        }
    }

    /// Walks through all stages, cluster by cluster, with a look at every moment of every roll-out.
    fn walk(start: &[Keyring], wanted: &Keyring, trims: bool) -> Vec<Running> {
        // Who cannot read whom at the start cannot be blamed on the walk, until everybody has all keys.
        let unreadable = |clusters: &[Running]| -> Vec<(usize, usize)> {
            let pairs = (0..clusters.len())
                .flat_map(|reader| (0..clusters.len()).map(move |writer| (reader, writer)));
            pairs
                .filter(|&(reader, writer)| {
                    !clusters[reader][0].reads(clusters[writer][0].primary())
                })
                .collect()
        };
        let mut clusters: Vec<Running> = start.iter().map(|list| vec![list.clone()]).collect();
        let stages: Vec<Stages> = start
            .iter()
            .map(|list| Stages::of(Some(list), wanted))
            .collect();
        for stage in 0..if trims { 3 } else { 2 } {
            let before = unreadable(&clusters);
            for (index, stages) in stages.iter().enumerate() {
                let next = [&stages.add, &stages.switch, &stages.trim][stage].clone();
                clusters[index].push(next.clone());
                all_read_all(
                    &clusters,
                    &before,
                    &format!("stage {stage} of cluster {index}"),
                );
                clusters[index] = vec![next];
                all_read_all(
                    &clusters,
                    &before,
                    &format!("after stage {stage} of {index}"),
                );
            }
            let after = unreadable(&clusters);
            let blinded = after.iter().any(|pair| !before.contains(pair));
            assert!(!blinded, "stage {stage} blinds nobody");
        }
        assert!(unreadable(&clusters).is_empty(), "nobody is left behind");
        clusters
    }

    #[test]
    fn a_rotation_is_readable_by_all_at_every_moment() {
        for old in lists(&[1, 2]) {
            let start = vec![ring(&old); 3];
            let end = walk(&start, &ring(&[9]), true);
            assert!(end.iter().all(|cluster| cluster == &[ring(&[9])]));
        }
    }

    #[test]
    fn a_sync_takes_nothing_from_anybody_at_any_moment() {
        let lists = lists(&[1, 2, 3]);
        for first in &lists {
            for second in &lists {
                let start = [ring(first), ring(second)];
                let wanted = union(&start[0], &start[1..]);
                let end = walk(&start, &wanted, false);
                for cluster in end {
                    assert_eq!(cluster.as_slice(), std::slice::from_ref(&wanted));
                    assert!(
                        [first, second]
                            .iter()
                            .all(|list| { list.iter().all(|&byte| cluster[0].reads(&key(byte))) })
                    );
                }
            }
        }
    }

    #[test]
    fn a_sync_that_replaces_ends_with_the_source_alone() {
        let lists = lists(&[1, 2, 3]);
        for first in &lists {
            for second in &lists {
                let end = walk(&[ring(first), ring(second)], &ring(first), true);
                assert!(end.iter().all(|cluster| cluster == &[ring(first)]));
            }
        }
    }
}
