//! The steps of a sync: everybody can read all keys before anybody encrypts with another one. Pure.

use karmada_repair::finding::Finding;
use karmada_repair::plan::Step;

use crate::airflow::KeyKind;
use crate::config::Sync;
use crate::discovery::SecretKey;
use crate::group::Group;
use crate::key::Opaque;
use crate::keyring::Keyring;
use crate::observed::Observed;
use crate::plan::draft::{Draft, Undo, Write};
use crate::stages::Stages;
use crate::sync::{subject, wanted};

/// The steps that bring every instance to what the source has.
pub(super) fn steps(
    group: &Group<'_>,
    observed: &Observed,
    findings: &[Finding],
    options: &Sync,
) -> Vec<Step> {
    let Ok(wanted) = wanted(group, observed, options) else {
        return Vec::new();
    };
    let cures = findings
        .iter()
        .map(|finding| &finding.key)
        .filter(|key| ENDED.contains(&key.code.as_str()))
        .cloned()
        .collect();
    let mut draft = Draft::new(observed, subject(options), cures);
    for stage in 0..3 {
        for chosen in &group.members {
            let mut written: Vec<SecretKey> = Vec::new();
            if let Some(fernet) = &wanted.fernet
                && chosen.instance.main_use(KeyKind::Fernet).is_some()
            {
                let (list, why) = list(stage, chosen.keyring(), fernet, options);
                if stage < 2 || options.replace {
                    let value = list.value();
                    written.extend(draft.write(*chosen, &write(KeyKind::Fernet, &value, why)));
                }
            }
            if stage == 0 {
                for (kind, raw) in &wanted.others {
                    let why = format!("becomes that of {}", options.from);
                    written.extend(draft.write(*chosen, &write(*kind, raw, &why)));
                }
            }
            // Without a change, the first stage restarts what an interrupted run left behind.
            if stage == 0 || !written.is_empty() {
                draft.restart(
                    *chosen,
                    &written,
                    "its pods keep the keys that they started with",
                );
            }
        }
    }
    draft.steps
}

fn write<'w>(kind: KeyKind, value: &'w Opaque, reason: &'w str) -> Write<'w> {
    Write {
        kind,
        value,
        note: None,
        undo: Undo::Possible,
        reason,
    }
}

fn list(
    stage: usize,
    current: Option<&Keyring>,
    wanted: &Keyring,
    options: &Sync,
) -> (Keyring, &'static str) {
    let stages = Stages::of(current, wanted);
    match stage {
        0 if stages.add == *wanted => (stages.add, "becomes the common one"),
        0 => (
            stages.add,
            "gets the keys of others at its end: it reads them from now on, and encrypts as before",
        ),
        1 if options.replace => (
            stages.switch,
            "begins with the keys of the source: it encrypts with them from now on",
        ),
        1 => (
            stages.switch,
            "becomes the common one: all clusters encrypt with the same key",
        ),
        _ => (
            stages.trim,
            "keeps the keys of the source alone, as --replace says: what others encrypted cannot be read any more",
        ),
    }
}

/// The codes of what a sync ends.
const ENDED: [&str; 11] = [
    "sync-unfinished",
    "keys-disjoint",
    "keys-one-way",
    "keys-mutual",
    "keys-same-set",
    "keys-same-primary",
    "secrets-differ",
    "key-missing",
    "key-invalid",
    "key-empty",
    "pods-stale",
];
