//! How far a rotation of the fernet key has come, as the clusters themselves tell it. Pure.

use std::fmt;

use jiff::Timestamp;
use serde::{Serialize, Serializer};

use crate::key::FernetKey;
use crate::keyring::Keyring;

/// The annotation of a Secret that says which rotation wrote it last, and how far that had come.
pub const ANNOTATION: &str = "karmada-repair/fernet-rotation";

/// The value of that annotation: `ROTATION.PHASE`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Note {
    /// The rotation's name.
    pub rotation: String,
    /// How far it had come there.
    pub phase: Phase,
}

/// How far a rotation has come in one cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// The new key can be read, and the old one encrypts.
    Added,
    /// The new key encrypts, and the old one can be read.
    Switched,
    /// The new key is alone.
    Trimmed,
}

impl Phase {
    /// The word of reports and annotations.
    pub fn word(self) -> &'static str {
        match self {
            Phase::Added => "added",
            Phase::Switched => "switched",
            Phase::Trimmed => "trimmed",
        }
    }

    /// Where a list stands in a rotation to this key; `None` = the rotation has not come there.
    pub fn of(keyring: &Keyring, new: &FernetKey) -> Option<Phase> {
        match keyring.keys() {
            [only] if only == new => Some(Phase::Trimmed),
            [first, ..] if first == new => Some(Phase::Switched),
            _ if keyring.reads(new) => Some(Phase::Added),
            _ => None,
        }
    }
}

impl Note {
    /// Reads an annotation; `None` = it is none of ours.
    pub fn parse(text: &str) -> Option<Note> {
        let (rotation, phase) = text.rsplit_once('.')?;
        let phase = [Phase::Added, Phase::Switched, Phase::Trimmed]
            .into_iter()
            .find(|known| known.word() == phase)?;
        (!rotation.is_empty()).then(|| Note {
            rotation: rotation.to_owned(),
            phase,
        })
    }

    /// The new key of the rotation, in a list that it wrote.
    pub fn new_key<'a>(&self, keyring: &'a Keyring) -> Option<&'a FernetKey> {
        match self.phase {
            Phase::Added => keyring.keys().last().filter(|_| keyring.keys().len() > 1),
            Phase::Switched => Some(keyring.primary()),
            Phase::Trimmed => Some(keyring.primary()).filter(|_| keyring.keys().len() == 1),
        }
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.rotation, self.phase.word())
    }
}

impl Serialize for Note {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// The name of a rotation that begins now; `salt` tells apart two that begin in one second.
pub fn name(now: Timestamp, salt: u16) -> String {
    format!("{}-{salt:04x}", now.strftime("%Y%m%dT%H%M%SZ"))
}

/// What a run of `rotate` is to bring about: fixed by its first observation, so that later ones know the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Goal {
    /// The rotation's name.
    pub rotation: String,
    /// The key that is to be alone in the end.
    pub key: FernetKey,
    /// Whether an earlier run began it.
    pub begun: bool,
}

/// Why a rotation cannot go on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Entangled {
    /// Annotations name several rotations.
    #[error("annotations tell of two rotations that were begun: {0} and {1}")]
    TwoRotations(String, String),
    /// The lists do not agree on the new key.
    #[error("the lists of rotation {0} do not agree on its new key")]
    TwoKeys(String),
}

/// The rotation that was begun and not finished, by the lists and notes of the clusters; `None` = there is none.
///
/// # Errors
/// When the clusters tell of more than one.
pub fn unfinished<'a>(
    clusters: impl IntoIterator<Item = (&'a Keyring, Option<&'a Note>)>,
) -> Result<Option<Goal>, Entangled> {
    let clusters: Vec<_> = clusters.into_iter().collect();
    let mut goal: Option<Goal> = None;
    // A trimmed list tells of a rotation only as long as other lists are not; its note stays as a record.
    let open = |phase: Phase| phase != Phase::Trimmed;
    let noted = |wanted: fn(Phase) -> bool| {
        clusters
            .iter()
            .filter_map(|(keyring, note)| {
                let note = (*note)?;
                let key = note.new_key(keyring)?;
                // A list that was changed by others since says nothing.
                (Phase::of(keyring, key) == Some(note.phase) && wanted(note.phase))
                    .then_some((note, key))
            })
            .collect::<Vec<_>>()
    };
    for (note, key) in noted(open) {
        match &goal {
            None => {
                goal = Some(Goal {
                    rotation: note.rotation.clone(),
                    key: key.clone(),
                    begun: true,
                });
            }
            Some(goal) if goal.rotation != note.rotation => {
                return Err(Entangled::TwoRotations(
                    goal.rotation.clone(),
                    note.rotation.clone(),
                ));
            }
            Some(goal) if goal.key != *key => {
                return Err(Entangled::TwoKeys(goal.rotation.clone()));
            }
            Some(_) => {}
        }
    }
    Ok(goal)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keyring::tests::{key, ring};

    fn note(phase: Phase) -> Note {
        Note {
            rotation: "r1".to_owned(),
            phase,
        }
    }

    #[test]
    fn a_note_is_read_as_it_is_written() {
        for phase in [Phase::Added, Phase::Switched, Phase::Trimmed] {
            assert_eq!(Note::parse(&note(phase).to_string()), Some(note(phase)));
        }
        for text in ["", "r1", "r1.gone", ".added"] {
            assert_eq!(Note::parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn the_phase_is_read_from_the_list() {
        let table: [(&[u8], Option<Phase>); 5] = [
            (&[1], None),
            (&[1, 9], Some(Phase::Added)),
            (&[1, 9, 2], Some(Phase::Added)),
            (&[9, 1], Some(Phase::Switched)),
            (&[9], Some(Phase::Trimmed)),
        ];
        for (list, expected) in table {
            assert_eq!(Phase::of(&ring(list), &key(9)), expected, "{list:?}");
        }
    }

    #[test]
    fn a_rotation_is_found_again_wherever_it_stopped() {
        let (added, switched, trimmed) = (
            note(Phase::Added),
            note(Phase::Switched),
            note(Phase::Trimmed),
        );
        let goal = Goal {
            rotation: "r1".to_owned(),
            key: key(9),
            begun: true,
        };
        type Seen<'a> = (&'a [u8], Option<&'a Note>);
        let table: [(Seen<'_>, Seen<'_>, Option<&Goal>); 7] = [
            ((&[1], None), (&[1], None), None),
            ((&[1, 9], Some(&added)), (&[1], None), Some(&goal)),
            (
                (&[1, 9], Some(&added)),
                (&[1, 9], Some(&added)),
                Some(&goal),
            ),
            (
                (&[9, 1], Some(&switched)),
                (&[1, 9], Some(&added)),
                Some(&goal),
            ),
            (
                (&[9], Some(&trimmed)),
                (&[9, 1], Some(&switched)),
                Some(&goal),
            ),
            ((&[9], Some(&trimmed)), (&[9], Some(&trimmed)), None),
            // Somebody else changed the list since.
            ((&[3], Some(&added)), (&[3], None), None),
        ];
        for ((first, one), (second, two), expected) in table {
            let (first, second) = (ring(first), ring(second));
            let found = unfinished([(&first, one), (&second, two)]);
            assert_eq!(found.as_ref().map(Option::as_ref), Ok(expected));
        }
    }

    #[test]
    fn two_rotations_at_once_are_not_gone_on_with() {
        let (one, other) = (
            note(Phase::Added),
            Note {
                rotation: "r2".to_owned(),
                phase: Phase::Added,
            },
        );
        let (first, second) = (ring(&[1, 9]), ring(&[1, 8]));
        assert_eq!(
            unfinished([(&first, Some(&one)), (&second, Some(&other))]),
            Err(Entangled::TwoRotations("r1".to_owned(), "r2".to_owned()))
        );
        assert_eq!(
            unfinished([(&first, Some(&one)), (&second, Some(&one))]),
            Err(Entangled::TwoKeys("r1".to_owned()))
        );
    }
}
