//! The cases: what is made, what must be found, what `openssl verify` must say.

mod algorithms;
mod form;
mod keys;
mod paths;
mod values;

use crate::folder::{Days, Folder, Made, P256};

/// One case.
pub(crate) struct Case {
    /// A fact in the present tense.
    pub(crate) name: &'static str,
    /// Makes its files.
    pub(crate) make: fn(&Folder),
    /// When it is looked at.
    pub(crate) now: Days,
    /// What must be found, sorted.
    pub(crate) expected: &'static [&'static str],
    /// What `openssl verify` must say of `leaf.crt`; `None` = it is not asked, since it judges by other rules than Go.
    pub(crate) openssl: Option<bool>,
}

const SAN: &str = "subjectAltName=DNS:localhost,IP:10.0.0.1";

const fn case(
    name: &'static str,
    make: fn(&Folder),
    expected: &'static [&'static str],
    openssl: Option<bool>,
) -> Case {
    Case {
        name,
        make,
        now: Days(0),
        expected,
        openssl,
    }
}

const fn later(days: i64, case: Case) -> Case {
    Case {
        now: Days(days),
        ..case
    }
}

fn made(by: Option<&'static str>) -> Made<'static> {
    Made {
        name: "leaf",
        key: P256,
        subject: "/CN=leaf",
        extensions: &[SAN],
        by,
        with: "-days 300",
    }
}

fn plain(folder: &Folder) {
    folder.ca();
    folder.leaf(&[SAN]);
}

fn keyed(folder: &Folder, key: &'static str) {
    folder.ca();
    folder.make(Made {
        key,
        ..made(Some("ca"))
    });
}

fn authority(
    folder: &Folder,
    key: &'static str,
    extensions: &'static [&'static str],
    with: &'static str,
) {
    folder.make(Made {
        name: "ca",
        key,
        subject: "/CN=ca",
        extensions,
        by: None,
        with,
    });
}

fn between(folder: &Folder, extensions: &'static [&'static str]) {
    folder.make(Made {
        name: "between",
        key: P256,
        subject: "/CN=between",
        extensions,
        by: Some("ca"),
        with: "-days 3000",
    });
    folder.make(made(Some("between")));
}

/// All cases.
pub(crate) fn all() -> impl Iterator<Item = &'static Case> {
    [
        algorithms::CASES,
        form::CASES,
        keys::CASES,
        paths::CASES,
        values::CASES,
    ]
    .into_iter()
    .flatten()
}
