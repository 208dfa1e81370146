//! What a sync is to bring about: one list of fernet keys, and one value of each other key, everywhere. Pure.

use karmada_repair::finding::{Finding, Severity, Subject};
use karmada_repair::part::Part;

use crate::airflow::KeyKind;
use crate::blocked::blocked;
use crate::config::Sync;
use crate::diagnose::finding;
use crate::group::{Chosen, Group};
use crate::key::{FernetKey, Opaque};
use crate::keyring::{Keyring, Reading};
use crate::observed::Observed;
use crate::stale::stale;

/// What every instance of the group is to have.
#[derive(Debug)]
pub struct Wanted<'a> {
    /// The instance whose keys come first.
    pub source: Chosen<'a>,
    /// The list of fernet keys; `None` = it is left alone, and a finding says why.
    pub fernet: Option<Keyring>,
    /// The other keys, as far as the source has them and they can be written.
    pub others: Vec<(KeyKind, Opaque)>,
    /// What stands in the way.
    pub problems: Vec<Finding>,
}

/// What a sync of this group is to bring about; `None` = the source has no Airflow, which a finding says.
///
/// # Errors
/// The finding that says why nothing can be taken from the source.
pub fn wanted<'a>(
    group: &Group<'a>,
    observed: &Observed,
    options: &Sync,
) -> Result<Wanted<'a>, Box<Finding>> {
    let Some(source) = group.of_cluster(&options.from) else {
        return Err(Box::new(finding(
            "source-unusable",
            Severity::Error,
            subject(options),
            format!(
                "no Airflow was found in {} that keys could be taken from",
                options.from
            ),
        )));
    };
    let mut problems = unreadable(observed, options);
    let clear = problems.is_empty();
    let mut fernet = None;
    let mut others = Vec::new();
    for kind in KeyKind::ALL {
        let Some(used) = source.instance.main_use(kind) else {
            continue;
        };
        let Some(value) = used.value.seen().filter(|value| !value.digests.is_empty()) else {
            problems.push(finding(
                "source-unusable",
                Severity::Error,
                Subject::new(kind.name(), source.name()),
                format!(
                    "{} has no {} that others could take",
                    options.from,
                    kind.name()
                ),
            ));
            continue;
        };
        let stopped = stopped(group, kind, observed);
        let is_stopped = !stopped.is_empty();
        problems.extend(stopped);
        if is_stopped || !clear {
            continue;
        }
        match value.reading.as_ref().and_then(Reading::keyring) {
            Some(keyring) => fernet = Some(list(group, keyring, options)),
            None => others.push((kind, value.raw.clone())),
        }
    }
    Ok(Wanted {
        source,
        fernet,
        others,
        problems,
    })
}

impl Wanted<'_> {
    /// The instances that read a kind and do not have what they are to have, or run with older values.
    pub fn missing<'g>(&self, group: &Group<'g>) -> Vec<(Chosen<'g>, &'static str)> {
        let mut missing = Vec::new();
        for chosen in &group.members {
            if let Some(fernet) = &self.fernet
                && chosen.instance.main_use(KeyKind::Fernet).is_some()
                && chosen.keyring() != Some(fernet)
            {
                missing.push((*chosen, KeyKind::Fernet.name()));
            }
            for (kind, raw) in &self.others {
                let differs = |one: &crate::observed::KeyUse| {
                    one.value.seen().is_none_or(|value| value.raw != *raw)
                };
                let uses = chosen.instance.keys.get(kind).into_iter().flatten();
                if uses.into_iter().any(differs) {
                    missing.push((*chosen, kind.name()));
                }
            }
            if stale(chosen.instance)
                .iter()
                .any(|stale| stale.workload.is_some())
            {
                missing.push((*chosen, "pods"));
            }
        }
        missing
    }
}

/// What the steps and the progress of a sync are about.
pub fn subject(options: &Sync) -> Subject {
    Subject::new("sync", &options.from)
}

/// What is not as the sync wants it, and what stands in the way.
pub fn progress(group: &Group<'_>, observed: &Observed, options: &Sync) -> Vec<Finding> {
    let wanted = match wanted(group, observed, options) {
        Ok(wanted) => wanted,
        Err(problem) => return vec![*problem],
    };
    let mut findings = wanted.problems.clone();
    let missing: Vec<String> = wanted
        .missing(group)
        .iter()
        .map(|(chosen, what)| format!("{} {what}", chosen.name()))
        .collect();
    if !missing.is_empty() {
        findings.push(finding(
            "sync-unfinished",
            Severity::Error,
            subject(options),
            format!("not as in {} yet: {}", options.from, missing.join(", ")),
        ));
    }
    findings
}

/// The source's list; and unless others are to be dropped, every other key in use behind it.
fn list(group: &Group<'_>, source: &Keyring, options: &Sync) -> Keyring {
    if options.replace {
        return source.clone();
    }
    group
        .members
        .iter()
        .fold(source.clone(), |all, chosen| all.and(&keys(*chosen)))
}

/// Every key of an instance that may have encrypted something, those of lists that Airflow refuses included.
fn keys(chosen: Chosen<'_>) -> Vec<FernetKey> {
    let uses = chosen
        .instance
        .keys
        .get(&KeyKind::Fernet)
        .into_iter()
        .flatten();
    uses.filter_map(|one| one.value.seen()?.reading.as_ref())
        .flat_map(|reading| match reading {
            Reading::Usable(keyring) => keyring.keys().to_vec(),
            Reading::Rejected(refused) => refused.usable.clone(),
            Reading::Empty => Vec::new(),
        })
        .collect()
}

fn unreadable(observed: &Observed, options: &Sync) -> Vec<Finding> {
    let away = observed.clusters.iter().filter(|cluster| {
        matches!(cluster.instances, Part::Unreadable(_)) || cluster.unlisted.is_some()
    });
    away.map(|cluster| {
        finding(
            "sync-blocked",
            Severity::Error,
            Subject::cluster(&cluster.name),
            "what its Airflow reads cannot be told, so it could not read what others write afterwards: nothing is written",
        )
        .hint(format!(
            "make it readable, or name the clusters that share a database: sync --from {} --clusters CLUSTER,CLUSTER",
            options.from
        ))
    })
    .collect()
}

/// Where a kind cannot be written, it is written nowhere.
fn stopped(group: &Group<'_>, kind: KeyKind, observed: &Observed) -> Vec<Finding> {
    group
        .members
        .iter()
        .filter_map(|chosen| {
            let why = blocked(*chosen, kind, observed)?;
            Some(
                finding(
                    "sync-blocked",
                    Severity::Error,
                    Subject::new(kind.name(), chosen.name()),
                    format!(
                        "it is brought along nowhere, because it cannot be written there: {why}"
                    ),
                )
                .hint("move the key to a Secret of another name, and name that to the chart"),
            )
        })
        .collect()
}
