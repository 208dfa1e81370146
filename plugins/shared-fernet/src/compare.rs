//! What two clusters can read of each other, given their lists of keys. Pure.

/// How the lists of two clusters relate: the first key of a list encrypts, all of them decrypt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relation {
    /// The same keys in the same order.
    Identical,
    /// The same first key, and other keys behind it.
    SamePrimary,
    /// The same keys with another one first.
    SameSet,
    /// Another key first, which the other has too, and keys that it lacks.
    Mutual,
    /// Only the first cluster reads what the second one writes.
    FirstReads,
    /// Only the second cluster reads what the first one writes.
    SecondReads,
    /// Neither reads what the other writes.
    Disjoint,
}

impl Relation {
    /// The relation of two lists, neither of them empty.
    pub fn of<T: PartialEq>(first: &[T], second: &[T]) -> Relation {
        if first == second {
            return Relation::Identical;
        }
        let reads =
            |list: &[T], writer: &[T]| writer.first().is_some_and(|primary| list.contains(primary));
        let holds_all = |list: &[T], of: &[T]| of.iter().all(|key| list.contains(key));
        match (reads(first, second), reads(second, first)) {
            (true, true) if first.first() == second.first() => Relation::SamePrimary,
            (true, true) if holds_all(first, second) && holds_all(second, first) => {
                Relation::SameSet
            }
            (true, true) => Relation::Mutual,
            (true, false) => Relation::FirstReads,
            (false, true) => Relation::SecondReads,
            (false, false) => Relation::Disjoint,
        }
    }

    /// Whether each reads what the other writes from now on.
    pub fn is_mutual(self) -> bool {
        matches!(
            self,
            Relation::Identical | Relation::SamePrimary | Relation::SameSet | Relation::Mutual
        )
    }

    /// What it means for these two clusters, without a final period.
    pub fn consequence(self, first: &str, second: &str) -> String {
        match self {
            Relation::Identical => {
                format!("{first} and {second} read everything that either of them writes")
            }
            Relation::SamePrimary => format!(
                "{first} and {second} encrypt with the same key and read what the other writes; rows of the keys behind it can be \
                 read only where those keys are"
            ),
            Relation::SameSet => format!(
                "{first} and {second} read what the other writes, and encrypt with different keys: a rotation that stands still \
                 looks like this"
            ),
            Relation::Mutual => format!(
                "{first} and {second} read what the other writes, and encrypt with different keys; rows of keys that only one of \
                 them has can be read only there"
            ),
            Relation::FirstReads => format!(
                "{first} reads what {second} writes; {second} raises InvalidToken on what {first} writes"
            ),
            Relation::SecondReads => format!(
                "{second} reads what {first} writes; {first} raises InvalidToken on what {second} writes"
            ),
            Relation::Disjoint => {
                format!("{first} and {second} raise InvalidToken on what the other writes")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_relate_by_who_reads_whose_first_key() {
        let table: [(&[u8], &[u8], Relation); 12] = [
            (&[1], &[1], Relation::Identical),
            (&[1, 2], &[1, 2], Relation::Identical),
            (&[1], &[1, 2], Relation::SamePrimary),
            (&[1, 2, 3], &[1, 3, 2], Relation::SamePrimary),
            (&[1, 2], &[2, 1], Relation::SameSet),
            (&[1, 2], &[2, 1, 3], Relation::Mutual),
            (&[1, 2], &[2], Relation::FirstReads),
            (&[1], &[2, 1], Relation::SecondReads),
            (&[1, 2], &[2, 3], Relation::FirstReads),
            (&[1], &[2], Relation::Disjoint),
            (&[1, 3], &[2, 3], Relation::Disjoint),
            (&[1, 3], &[3, 2], Relation::FirstReads),
        ];
        for (first, second, expected) in table {
            assert_eq!(
                Relation::of(first, second),
                expected,
                "{first:?} {second:?}"
            );
        }
    }

    /// Who reads is what decrypting by hand says, for every pair of lists of three keys at most.
    #[test]
    fn every_relation_agrees_with_decrypting() {
        let lists = lists();
        for first in &lists {
            for second in &lists {
                let (a, b) = (first.contains(&second[0]), second.contains(&first[0]));
                let relation = Relation::of(first, second);
                let expected = match relation {
                    Relation::FirstReads => (true, false),
                    Relation::SecondReads => (false, true),
                    Relation::Disjoint => (false, false),
                    _ => (true, true),
                };
                assert_eq!((a, b), expected, "{first:?} {second:?} {relation:?}");
                assert_eq!(relation.is_mutual(), a && b);
                assert_eq!(relation == Relation::Identical, first == second);
            }
        }
    }

    fn lists() -> Vec<Vec<u8>> {
        let mut lists = vec![vec![]];
        for length in 0..3 {
            let longer: Vec<Vec<u8>> = lists
                .iter()
                .filter(|list: &&Vec<u8>| list.len() == length)
                .flat_map(|list| {
                    (1..=4)
                        .filter(|key| !list.contains(key))
                        .map(|key| [list.as_slice(), &[key]].concat())
                })
                .collect();
            lists.extend(longer);
        }
        lists.retain(|list| !list.is_empty());
        lists
    }
}
