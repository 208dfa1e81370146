//! The lines of the table. Pure.

use jiff::Timestamp;
use karmada_repair::finding::Finding;
use karmada_repair::report::{Column, Overview, Row as Line};

use crate::bar::bar;
use crate::config::Config;
use crate::observed::Observed;
use crate::place::Place;
use crate::rows::{Kind, Row, rows};
use crate::rustls_verdict;
use crate::view::View;
use crate::words::{second, short_length, some};

/// One line per certificate, token and unreadable value, those that hurt first first.
pub fn overview(
    observed: &Observed,
    findings: &[Finding],
    config: &Config,
    now: Timestamp,
) -> Overview {
    let view = View::new(observed, config, now);
    let column = |key, title, wide| Column { key, title, wide };
    Overview {
        columns: vec![
            column("place", "PLACE", false),
            column("name", "NAME", false),
            column("kind", "KIND", false),
            column("expires", "EXPIRES", false),
            column("left", "LEFT", false),
            column("life", "LIFE", false),
            column("places", "PLACES", false),
            column("status", "STATUS", false),
            column("subject", "SUBJECT", true),
            column("issuer", "ISSUER", true),
            column("names", "NAMES", true),
            column("usages", "USAGES", true),
            column("key", "KEY", true),
            column("signature", "SIGNATURE", true),
            column("validFrom", "VALID-FROM", true),
            column("fingerprint", "FINGERPRINT", true),
            column("rustls", "RUSTLS", true),
            column("alsoIn", "ALSO-IN", true),
        ],
        rows: rows(&view, findings)
            .iter()
            .map(|row| line(&view, row, now))
            .collect(),
    }
}

fn line(view: &View<'_>, row: &Row<'_>, now: Timestamp) -> Line {
    let certificate = row.certificate;
    let also: Vec<String> = row.places.iter().skip(1).map(Place::to_string).collect();
    let filled = |text: String| (!text.is_empty()).then_some(text);
    Line {
        subject: row.subject.clone(),
        cells: vec![
            Some(row.place()),
            filled(row.title.clone()),
            Some(row.kind.word().to_owned()),
            row.until.map(second),
            row.until
                .map(|until| short_length(until.duration_since(now))),
            row.until
                .map(|until| bar(row.since.unwrap_or(until), until, now)),
            Some(row.places.len().to_string()).filter(|_| row.kind != Kind::Other),
            Some(status(row)),
            certificate.and_then(|certificate| filled(certificate.subject.clone())),
            certificate.and_then(|certificate| filled(certificate.issuer.clone())),
            certificate
                .and_then(|certificate| certificate.names.as_deref())
                .map(|names| some(names, usize::MAX)),
            certificate
                .and_then(|certificate| certificate.extended_usages.as_deref())
                .map(|usages| some(usages, usize::MAX)),
            certificate.map(|certificate| certificate.public_key.name()),
            certificate.map(|certificate| certificate.signature_algorithm.to_string()),
            row.since.map(second),
            certificate.map(|certificate| certificate.fingerprint.to_string()),
            certificate.and_then(|certificate| rustls_verdict::of(view, certificate)),
            filled(also.join(" ")),
        ],
    }
}

fn status(row: &Row<'_>) -> String {
    match row.is_fine() {
        true => "fine".to_owned(),
        false => row.codes.join(","),
    }
}
