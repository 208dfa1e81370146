//! What is wrong with one key of one instance by itself. Pure.

use karmada_repair::finding::{Finding, Severity};
use karmada_repair::part::Part;

use crate::airflow::{KeyKind, is_public};
use crate::decode::{Rejection, is_placeholder};
use crate::diagnose::{finding, key_subject};
use crate::discovery::Source;
use crate::group::{Chosen, Group};
use crate::keyring::{Reading, Refused, oddities};
use crate::observed::{KeyUse, Observed, Value};

pub(super) fn diagnose(
    chosen: Chosen<'_>,
    kind: KeyKind,
    group: &Group<'_>,
    observed: &Observed,
) -> Vec<Finding> {
    let uses = chosen
        .instance
        .keys
        .get(&kind)
        .map_or(&[][..], Vec::as_slice);
    let mut findings: Vec<Finding> = Vec::new();
    if uses.is_empty() {
        findings.extend(not_read(chosen, kind, group));
    }
    for one in uses {
        for found in of_use(chosen, kind, one, observed) {
            // A code is told once for a key, however many places it has.
            if !findings.iter().any(|known| known.key == found.key) {
                findings.push(found);
            }
        }
    }
    findings.extend(differing(chosen, kind, uses));
    findings
}

/// Nothing there reads the key.
fn not_read(chosen: Chosen<'_>, kind: KeyKind, group: &Group<'_>) -> Option<Finding> {
    let subject = key_subject(chosen, kind);
    let elsewhere = group
        .members
        .iter()
        .any(|other| other.instance.main_use(kind).is_some());
    match (kind, elsewhere) {
        (KeyKind::Fernet, _) => Some(
            finding(
                "key-not-found",
                Severity::Unknown,
                subject,
                format!(
                    "none of its workloads takes it from {}: it may be in airflow.cfg, which is not read",
                    kind.variable()
                ),
            )
            .hint(format!(
                "keep it in a Secret, and name that to the chart: {}",
                kind.chart_secret_value()
            )),
        ),
        (_, true) => Some(finding(
            "key-not-read",
            Severity::Info,
            subject,
            "nothing there reads it, as in a standby without that component",
        )),
        (_, false) => None,
    }
}

fn of_use(chosen: Chosen<'_>, kind: KeyKind, one: &KeyUse, observed: &Observed) -> Vec<Finding> {
    let place = one.source.place(&chosen.instance.namespace);
    let about = |code: &str, severity, message: String| {
        finding(code, severity, key_subject(chosen, kind), message)
    };
    match &one.value {
        Part::Absent => vec![missing(chosen, kind, one, observed)],
        Part::Unreadable(reason) => {
            vec![about(
                "key-unreadable",
                Severity::Unknown,
                format!("it cannot be read from {place}: {reason}"),
            )]
        }
        Part::Seen(value) => {
            let mut findings = of_value(chosen, kind, value, &place);
            if matches!(
                one.source,
                Source::Template { .. } | Source::ConfigMapKey { .. }
            ) {
                findings.push(
                    about(
                        "key-in-clear",
                        Severity::Warning,
                        format!("it stands in {place}, where everybody who may read that reads it"),
                    )
                    .hint(format!(
                        "keep it in a Secret, and name that to the chart: {}",
                        kind.chart_secret_value()
                    )),
                );
            }
            findings
        }
    }
}

fn missing(chosen: Chosen<'_>, kind: KeyKind, one: &KeyUse, observed: &Observed) -> Finding {
    let namespace = &chosen.instance.namespace;
    let readers = one.readers.join(", ");
    let message = match &one.source {
        Source::SecretKey(key) => match chosen.instance.secrets.get(&key.secret) {
            Some(Part::Seen(secret)) => {
                let present = match secret.keys.as_slice() {
                    [] => "no key at all".to_owned(),
                    keys => keys.join(", "),
                };
                format!(
                    "{readers} wants key {} of secret/{namespace}/{}, which has {present}",
                    key.key, key.secret
                )
            }
            _ => format!(
                "{readers} wants secret/{namespace}/{}, which is not there",
                key.secret
            ),
        },
        other => format!(
            "{readers} wants {}, which is not there",
            other.place(namespace)
        ),
    };
    finding(
        "key-missing",
        Severity::Error,
        key_subject(chosen, kind),
        message,
    )
    .hint(format!(
        "take it from a cluster that has it: {} sync --from CLUSTER",
        observed.own_command
    ))
}

fn of_value(chosen: Chosen<'_>, kind: KeyKind, value: &Value, place: &str) -> Vec<Finding> {
    let about = |code: &str, severity, message: String| {
        finding(code, severity, key_subject(chosen, kind), message)
    };
    let raw = value.raw.bytes();
    let mut findings = Vec::new();
    match &value.reading {
        Some(Reading::Empty) => findings.push(about(
            "key-empty",
            Severity::Error,
            "it is empty: Airflow stores connections and variables in clear, and cannot read what others encrypted".to_owned(),
        )),
        Some(Reading::Rejected(refused)) => findings.push(invalid(chosen, kind, refused)),
        Some(Reading::Usable(keyring)) => {
            let lenient = oddities(&value.raw);
            if !lenient.is_empty() {
                findings.push(about(
                    "key-not-canonical",
                    Severity::Info,
                    format!(
                        "Airflow reads it, and programs with a strict decoder do not: {}",
                        lenient.join(", ")
                    ),
                ));
            }
            if keyring
                .keys()
                .iter()
                .any(|key| is_public(kind, key.text().as_bytes()))
            {
                findings.push(public(chosen, kind));
            }
        }
        None if raw.is_empty() => findings.push(about(
            "key-empty",
            Severity::Error,
            format!("{place} is empty: each process makes a key of its own, and refuses what others signed"),
        )),
        None if is_public(kind, raw) => findings.push(public(chosen, kind)),
        None if is_placeholder(raw) => findings.push(about(
            "key-placeholder",
            Severity::Error,
            "it is a placeholder that was never filled in, and everybody can guess it".to_owned(),
        )),
        None if raw.trim_ascii().len() != raw.len() => findings.push(about(
            "key-white-space",
            Severity::Info,
            "there is white space around it, which is part of the key: it is used as it is".to_owned(),
        )),
        None => {}
    }
    findings
}

fn invalid(chosen: Chosen<'_>, kind: KeyKind, refused: &Refused) -> Finding {
    let all_placeholders = !refused.parts.is_empty()
        && refused
            .parts
            .iter()
            .all(|(_, rejection)| *rejection == Rejection::Placeholder);
    let code = if all_placeholders {
        "key-placeholder"
    } else {
        "key-invalid"
    };
    let reason = match (refused.parts.as_slice(), refused.usable.len()) {
        ([], _) => "it is no text".to_owned(),
        ([(_, rejection)], 0) => rejection.to_string(),
        (parts, _) => parts
            .iter()
            .map(|(place, rejection)| format!("part {place}: {rejection}"))
            .collect::<Vec<_>>()
            .join("; "),
    };
    finding(
        code,
        Severity::Error,
        key_subject(chosen, kind),
        format!("Airflow cannot use it (Could not create Fernet object): {reason}"),
    )
    .hint("give it the base64url text of 32 bytes, 44 characters; kubectl karmada-shared-fernet generate makes one")
}

fn public(chosen: Chosen<'_>, kind: KeyKind) -> Finding {
    finding(
        "key-public",
        Severity::Error,
        key_subject(chosen, kind),
        "it is a default or an example that everybody knows: whoever has the database can read it, whoever reaches Airflow can sign",
    )
    .hint(match kind {
        KeyKind::Fernet => "replace it: kubectl karmada-shared-fernet rotate",
        _ => "make another one: kubectl karmada-shared-fernet generate",
    })
}

/// Workloads of one instance that do not get the same key.
fn differing(chosen: Chosen<'_>, kind: KeyKind, uses: &[KeyUse]) -> Option<Finding> {
    let values = uses
        .iter()
        .filter_map(|one| Some((one, &one.value.seen()?.digests)));
    let mut values = values.clone().collect::<Vec<_>>().into_iter();
    let (first, digests) = values.next()?;
    let (other, _) = values.find(|(_, others)| *others != digests)?;
    let namespace = &chosen.instance.namespace;
    Some(finding(
        "workloads-differ",
        Severity::Error,
        key_subject(chosen, kind),
        format!(
            "{} takes it from {}, {} from {}, and these hold different keys",
            first.readers.join(", "),
            first.source.place(namespace),
            other.readers.join(", "),
            other.source.place(namespace)
        ),
    ))
}
