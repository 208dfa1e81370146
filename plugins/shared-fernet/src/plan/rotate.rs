//! The steps of a rotation: all clusters add, all switch, rows are encrypted anew once, all trim. Pure.

use karmada_repair::finding::Finding;
use karmada_repair::plan::Step;

use crate::airflow::KeyKind;
use crate::config::Rotate;
use crate::discovery::SecretKey;
use crate::group::{Chosen, Group};
use crate::key::Opaque;
use crate::keyring::Keyring;
use crate::observed::{Observed, Workload};
use crate::plan::draft::{Draft, Undo, Write};
use crate::rotate::{Course, Open, course, restartable, subject};
use crate::rotation::{Note, Phase};
use crate::stages::Stages;

/// The steps that bring the rotation as far as it can come in one run.
pub(super) fn steps(
    group: &Group<'_>,
    observed: &Observed,
    findings: &[Finding],
    options: &Rotate,
) -> Vec<Step> {
    let Course::Open(open) = course(group, observed, options) else {
        return Vec::new();
    };
    let whole = open.pause.is_none() && runner(&open).is_some();
    let cured = findings.iter().map(|finding| &finding.key).filter(|key| {
        whole
            && matches!(
                key.code.as_str(),
                "rotation-unfinished" | "pods-stale" | "key-public"
            )
    });
    let mut draft = Draft::new(observed, subject(open.goal), cured.cloned().collect());
    let wanted = Keyring::single(open.goal.key.clone());
    let lists = |keyring: &Keyring| Stages::of(Some(keyring), &wanted);

    let behind = |limit: Phase| open.stands.iter().any(|(_, _, phase)| *phase < Some(limit));
    let adds = behind(Phase::Added);
    // What an interrupted run wrote and did not restart. Older API servers do not tell when the same writer changed a value
    // again, so no pod is taken for young on their word.
    for (chosen, _, phase) in &open.stands {
        if phase.is_some() && open.goal.begun {
            let read = chosen.instance.secret_key(KeyKind::Fernet);
            let why = "an earlier run may have ended before its pods had this list";
            draft.restart(*chosen, read.map_or(&[], std::slice::from_ref), why);
        }
    }
    let left_over = open
        .stands
        .iter()
        .any(|(chosen, _, _)| !restartable(*chosen).is_empty());
    for (chosen, keyring, phase) in &open.stands {
        if phase.is_none() {
            let mut stage = Stage::new(&mut draft, &open, *chosen, Phase::Added);
            stage.write(&lists(keyring).add.value());
        }
    }
    if open.pause.is_some() && (adds || left_over) {
        return draft.steps;
    }
    if behind(Phase::Switched) {
        for (chosen, keyring, phase) in &open.stands {
            if *phase < Some(Phase::Switched) {
                let mut stage = Stage::new(&mut draft, &open, *chosen, Phase::Switched);
                stage.write(&lists(keyring).switch.value());
            }
        }
        if open.pause.is_some() {
            return draft.steps;
        }
    }
    if !behind(Phase::Trimmed) {
        return draft.steps;
    }
    if !open.rotated {
        let Some((chosen, workload)) = runner(&open) else {
            return draft.steps;
        };
        draft.run(
            chosen,
            workload,
            &["airflow", "rotate-fernet-key"],
            "the rows of the database are encrypted with the old key; one cluster does it for all, in one transaction",
        );
    }
    for (chosen, keyring, phase) in &open.stands {
        if *phase < Some(Phase::Trimmed) {
            let mut stage = Stage::new(&mut draft, &open, *chosen, Phase::Trimmed);
            stage.write(&lists(keyring).trim.value());
        }
    }
    draft.steps
}

/// One stage of one cluster: the list is written, and what reads it restarted.
struct Stage<'d, 'a> {
    draft: &'d mut Draft<'a>,
    chosen: Chosen<'a>,
    note: Note,
}

impl<'d, 'a> Stage<'d, 'a> {
    fn new(draft: &'d mut Draft<'a>, open: &Open<'a>, chosen: Chosen<'a>, phase: Phase) -> Self {
        Stage {
            draft,
            chosen,
            note: Note {
                rotation: open.goal.rotation.clone(),
                phase,
            },
        }
    }

    fn write(&mut self, value: &Opaque) {
        let (why, meanwhile) = match self.note.phase {
            Phase::Added => (
                "gets the new key at its end: it is read from now on, and not yet used",
                "its pods must read the new key before anybody encrypts with it",
            ),
            Phase::Switched => (
                "gets the new key first: it encrypts from now on",
                "its pods must encrypt with the new key before rows are encrypted anew",
            ),
            Phase::Trimmed => (
                "becomes the new key alone: nothing is left that the old one encrypted",
                "its pods still hold the old key",
            ),
        };
        let write = Write {
            kind: KeyKind::Fernet,
            value,
            note: Some(&self.note),
            // A key that somebody may have encrypted with is never taken away.
            undo: match self.note.phase {
                Phase::Added => Undo::Never,
                Phase::Switched | Phase::Trimmed => Undo::Possible,
            },
            reason: why,
        };
        let written: Vec<SecretKey> = self.draft.write(self.chosen, &write);
        if !written.is_empty() {
            self.draft.restart(self.chosen, &written, meanwhile);
        }
    }
}

/// A workload in whose pods the command of Airflow can be run, where the list is the longest: a scheduler before others.
pub(super) fn runner<'a>(open: &Open<'a>) -> Option<(Chosen<'a>, &'a Workload)> {
    let mut stands: Vec<_> = open.stands.iter().collect();
    stands.sort_by_key(|(_, _, phase)| *phase == Some(Phase::Trimmed));
    let rank = |workload: &Workload| match workload.component.as_deref() {
        Some("scheduler") => 0,
        Some("api-server" | "webserver" | "worker" | "triggerer" | "dag-processor") => 1,
        _ => 2,
    };
    stands.into_iter().find_map(|(chosen, _, _)| {
        let mut able: Vec<&Workload> = chosen
            .instance
            .workloads
            .iter()
            .filter(|workload| workload.replicas > 0 && workload.container.is_some())
            .collect();
        able.sort_by_key(|workload| rank(workload));
        Some((*chosen, *able.first()?))
    })
}
