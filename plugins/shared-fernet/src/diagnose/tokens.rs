//! Which clusters can decrypt the tokens on stdin. Pure.

use karmada_repair::finding::{Finding, Severity, Subject};

use crate::airflow::KeyKind;
use crate::diagnose::{finding, key_subject};
use crate::group::{Chosen, Group};
use crate::observed::Observed;
use crate::token::Token;

pub(super) fn diagnose(groups: &[Group<'_>], observed: &Observed) -> Vec<Finding> {
    let Some(tokens) = &observed.tokens else {
        return Vec::new();
    };
    let mut findings = Vec::new();
    let wrong: Vec<String> = tokens
        .iter()
        .enumerate()
        .filter_map(|(index, token)| Some(format!("line {}: {}", index + 1, token.as_ref().err()?)))
        .collect();
    if !wrong.is_empty() {
        findings.push(finding(
            "token-malformed",
            Severity::Error,
            Subject::new("ciphertext", "stdin"),
            format!("what is on stdin is no Fernet token: {}", wrong.join("; ")),
        ));
    }
    let whole: Vec<(usize, &Token)> = tokens
        .iter()
        .enumerate()
        .filter_map(|(index, token)| Some((index + 1, token.as_ref().ok()?)))
        .collect();
    if whole.is_empty() {
        return findings;
    }
    let members = groups.iter().flat_map(|group| &group.members);
    findings.extend(members.filter_map(|chosen| of_instance(*chosen, &whole)));
    findings
}

fn of_instance(chosen: Chosen<'_>, tokens: &[(usize, &Token)]) -> Option<Finding> {
    let keyring = chosen.keyring()?;
    let subject = key_subject(chosen, KeyKind::Fernet);
    let unread: Vec<String> = tokens
        .iter()
        .filter(|(_, token)| token.decrypted_by(keyring).is_none())
        .map(|(line, _)| line.to_string())
        .collect();
    if !unread.is_empty() {
        let message = format!(
            "none of its {} decrypts {}",
            counted(keyring.keys().len(), "key"),
            match tokens.len() {
                1 => "the value".to_owned(),
                all => format!(
                    "{} of {all} values, on line {}",
                    unread.len(),
                    unread.join(", ")
                ),
            }
        );
        return Some(
            finding("token-undecryptable", Severity::Error, subject, message).hint(
                "find the key that encrypted it, in a backup or another cluster, and put it at the end of the list",
            ),
        );
    }
    let mut by: Vec<usize> = tokens
        .iter()
        .filter_map(|(_, token)| token.decrypted_by(keyring))
        .collect();
    by.sort_unstable();
    by.dedup();
    let by: Vec<String> = by.iter().map(usize::to_string).collect();
    let message = match (tokens.len(), keyring.keys().len()) {
        (1, 1) => "it decrypts the value".to_owned(),
        (all, _) => format!(
            "its list decrypts {}, with key {} of it",
            counted(all, "value"),
            by.join(", ")
        ),
    };
    Some(finding("token-decrypted", Severity::Info, subject, message))
}

fn counted(count: usize, what: &str) -> String {
    match count {
        1 => format!("1 {what}"),
        count => format!("{count} {what}s"),
    }
}
