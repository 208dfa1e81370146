//! What the documents promise of the findings.

use std::collections::BTreeSet;
use std::path::Path;

use crate::page;
use crate::scenario::{Scenario, embedded};
use crate::under_test::UnderTest;

pub(super) fn scenarios() -> Vec<Scenario> {
    embedded![
        explains_every_finding,
        explains_no_finding_that_is_not_there,
    ]
}

fn explains_every_finding() {
    let (codes, explained) = (codes(), page::explained());
    assert_ne!(codes, BTreeSet::new());
    let missing: Vec<&String> = codes.difference(explained).collect();
    assert!(
        missing.is_empty(),
        "{} explains no {missing:?}",
        page::path().display()
    );
}

fn explains_no_finding_that_is_not_there() {
    let codes = codes();
    let gone: Vec<&String> = page::explained().difference(&codes).collect();
    assert!(
        gone.is_empty(),
        "{} explains {gone:?}, which no diagnosis finds",
        page::path().display()
    );
}

/// The codes of findings: words with dashes in quotes, in the files that make findings.
fn codes() -> BTreeSet<String> {
    let plugin = UnderTest::of_this_process();
    let source = Path::new(plugin.folder).join("src");
    let more = plugin.more_codes.iter().map(|code| (*code).to_owned());
    let mut codes: BTreeSet<String> = more.collect();
    for text in texts(&source) {
        let text = text.split("#[cfg(test)]").next().unwrap_or_default();
        if text.contains("Severity::") {
            codes.extend(
                text.split('"')
                    .filter(|word| is_code(word))
                    .map(str::to_owned),
            );
        }
    }
    codes
}

fn is_code(word: &str) -> bool {
    let edges = [word.chars().next(), word.chars().last()];
    word.contains('-')
        && edges
            .iter()
            .all(|edge| edge.is_some_and(|letter| letter != '-'))
        && word
            .chars()
            .all(|letter| letter.is_ascii_lowercase() || letter == '-')
        && !UnderTest::of_this_process().no_codes.contains(&word)
}

/// The Rust files of a folder that hold no tests alone.
fn texts(folder: &Path) -> Vec<String> {
    let mut texts = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            texts.extend(self::texts(&path));
        } else if path.extension().is_some_and(|kind| kind == "rs") && !path.ends_with("tests.rs") {
            texts.push(std::fs::read_to_string(&path).unwrap());
        }
    }
    texts
}
