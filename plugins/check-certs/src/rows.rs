//! One line for everything that was examined: a certificate, a token, or something that could not be read. Pure.

use std::collections::BTreeMap;

use jiff::Timestamp;
use karmada_repair::finding::{Finding, Severity, Subject};

use crate::certificate::{Certificate, ExtendedUsage};
use crate::inventory::Role;
use crate::place::{Holder, Place};
use crate::view::View;

/// One line.
#[derive(Debug, Clone)]
pub struct Row<'a> {
    /// What it is about: its first place.
    pub subject: Subject,
    /// What it is.
    pub kind: Kind,
    /// What people call it.
    pub title: String,
    /// The first second in which it is valid; `None` = it does not say, or is nothing that can be valid.
    pub since: Option<Timestamp>,
    /// The last second in which it is valid; `None` = it does not end, or is nothing that can be valid.
    pub until: Option<Timestamp>,
    /// Where it is, in the order of places; empty for what could not be read.
    pub places: Vec<Place>,
    /// The worst that was found about it, or in one of its places; `None` = nothing.
    pub severity: Option<Severity>,
    /// The codes of what was found, the worst first, without those of severity info.
    pub codes: Vec<String>,
    /// The certificate; `None` = it is none.
    pub certificate: Option<&'a Certificate>,
}

/// What a line is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A certificate of an authority.
    Authority,
    /// A certificate for clients.
    Client,
    /// A certificate for clients and servers, or for an unknown purpose.
    Leaf,
    /// A certificate for servers.
    Server,
    /// A bearer token.
    Token,
    /// Something that holds nothing that can be read.
    Other,
}

impl Kind {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Kind::Authority => "ca",
            Kind::Client => "client",
            Kind::Leaf => "leaf",
            Kind::Server => "server",
            Kind::Token => "token",
            Kind::Other => "-",
        }
    }

    fn of(view: &View<'_>, certificate: &Certificate) -> Kind {
        let roles = || view.holding(&certificate.fingerprint).iter();
        let has = |usage| {
            let usages = certificate.extended_usages.iter().flatten();
            usages.into_iter().any(|other| *other == usage)
        };
        let is_first = |role: Role| {
            roles().any(|bundle| {
                bundle.role == role && bundle.certificates.first() == Some(&certificate.fingerprint)
            })
        };
        if certificate.is_ca()
            || (!is_first(Role::Identity) && roles().any(|bundle| bundle.role == Role::Trust))
        {
            Kind::Authority
        } else if is_first(Role::Served) {
            Kind::Server
        } else if roles().any(|bundle| bundle.place.field.ends_with("client-certificate-data")) {
            Kind::Client
        } else {
            match (
                has(ExtendedUsage::ServerAuth),
                has(ExtendedUsage::ClientAuth),
            ) {
                (true, false) => Kind::Server,
                (false, true) => Kind::Client,
                _ => Kind::Leaf,
            }
        }
    }
}

/// All lines, those that hurt first first.
pub fn rows<'a>(view: &View<'a>, findings: &[Finding]) -> Vec<Row<'a>> {
    let mut by_subject: BTreeMap<&Subject, Vec<&Finding>> = BTreeMap::new();
    for finding in findings {
        by_subject
            .entry(&finding.key.subject)
            .or_default()
            .push(finding);
    }
    let certificates = view
        .certificates()
        .map(|certificate| of_certificate(view, certificate));
    let tokens = view.inventory().tokens.iter().map(|at| Row {
        subject: at.place.subject(),
        kind: Kind::Token,
        title: at.token.subject.clone().unwrap_or_default(),
        since: at.token.issued,
        until: at.token.expires,
        places: vec![at.place.clone()],
        severity: None,
        codes: Vec::new(),
        certificate: None,
    });
    let mut rows: Vec<Row<'a>> = certificates.chain(tokens).collect();
    for row in &mut rows {
        let mut subjects: Vec<Subject> = row.places.iter().map(Place::subject).collect();
        subjects.push(row.subject.clone());
        for subject in &subjects {
            row.take(by_subject.remove(subject).unwrap_or_default());
        }
    }
    rows.extend(rest(by_subject));
    rows.sort_by(|a, b| {
        let by_severity = b.severity.map(rank).cmp(&a.severity.map(rank));
        let end = |row: &Row<'_>| row.until.unwrap_or(Timestamp::MAX);
        by_severity
            .then_with(|| end(a).cmp(&end(b)))
            .then_with(|| a.subject.cmp(&b.subject))
    });
    rows
}

/// What was found about something that is neither a certificate nor a token; what was not examined has no line.
fn rest<'a>(by_subject: BTreeMap<&Subject, Vec<&Finding>>) -> Vec<Row<'a>> {
    by_subject
        .into_iter()
        .filter_map(|(subject, found)| {
            let mut row = Row {
                subject: subject.clone(),
                kind: Kind::Other,
                title: String::new(),
                since: None,
                until: None,
                places: Vec::new(),
                severity: None,
                codes: Vec::new(),
                certificate: None,
            };
            row.take(found);
            row.severity
                .is_some_and(|severity| severity > Severity::Info)
                .then_some(row)
        })
        .collect()
}

fn of_certificate<'a>(view: &View<'a>, certificate: &'a Certificate) -> Row<'a> {
    Row {
        subject: view.subject(&certificate.fingerprint),
        kind: Kind::of(view, certificate),
        title: certificate.title(),
        since: Some(certificate.not_before),
        until: Some(certificate.not_after),
        places: view.places(&certificate.fingerprint).to_vec(),
        severity: None,
        codes: Vec::new(),
        certificate: Some(certificate),
    }
}

impl Row<'_> {
    fn take(&mut self, found: Vec<&Finding>) {
        let mut found = found;
        found.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
        for finding in found {
            self.severity = self.severity.max(Some(finding.severity));
            let code = &finding.key.code;
            if finding.severity > Severity::Info && !self.codes.contains(code) {
                self.codes.push(code.clone());
            }
        }
    }

    /// Where it is, as a column shows it: a path, else the subject.
    pub fn place(&self) -> String {
        match self.subject.kind.as_str() {
            "file" => self.subject.name.clone(),
            _ => self.subject.to_string(),
        }
    }

    /// Whether nothing is wrong with it, as far as it was examined.
    pub fn is_fine(&self) -> bool {
        self.codes.is_empty()
    }

    /// Whether a server shows it, as far as that was asked.
    pub fn is_served(&self) -> bool {
        self.places
            .iter()
            .any(|place| matches!(place.holder, Holder::Endpoint(_)))
    }
}

/// What hurts more comes first; what is unknown hurts more than what is only a warning.
fn rank(severity: Severity) -> u8 {
    match severity {
        Severity::Info => 0,
        Severity::Warning => 1,
        Severity::Unknown => 2,
        Severity::Error => 3,
    }
}
