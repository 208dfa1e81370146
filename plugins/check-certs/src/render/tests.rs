use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use karmada_repair::finding::{Finding, Severity, Subject};

use super::{Picture, html, prometheus, svg};
use crate::place::{Holder, Origin};
use crate::rows::{Kind, Row};

/// A name that tries to become markup, a label, another line, and to be read from right to left.
const HOSTILE: &str = "a\"}\\ 1\nb <script src=//x>alert(1)</script>&amp;\u{202e}\u{7}";

fn time(text: &str) -> Timestamp {
    text.parse().expect("the test's times are valid")
}

fn row(
    name: &str,
    kind: Kind,
    life: (Option<&str>, Option<&str>),
    severity: Option<Severity>,
) -> Row<'static> {
    let place = Holder::Secret {
        origin: Origin::Host,
        namespace: "karmada-system".to_owned(),
        name: "karmada-cert".to_owned(),
    }
    .at(name);
    Row {
        subject: place.subject(),
        kind,
        title: name.to_owned(),
        since: life.0.map(time),
        until: life.1.map(time),
        codes: match severity {
            Some(severity) => vec![format!("code-of-{}", severity.word())],
            None => Vec::new(),
        },
        severity,
        places: match kind {
            Kind::Other => Vec::new(),
            _ => vec![place.clone(), place.nth(1)],
        },
        certificate: None,
    }
}

/// One line of every kind.
fn lines() -> Vec<Row<'static>> {
    let year = (Some("2026-01-01T00:00:00Z"), Some("2027-01-01T00:00:00Z"));
    let severity = |severity| Some(severity);
    vec![
        row(
            "gone",
            Kind::Server,
            (Some("2025-01-01T00:00:00Z"), Some("2026-01-01T00:00:00Z")),
            severity(Severity::Error),
        ),
        row(
            "unread",
            Kind::Other,
            (None, None),
            severity(Severity::Unknown),
        ),
        row(
            "soon",
            Kind::Client,
            (Some("2025-06-10T00:00:00Z"), Some("2026-06-10T00:00:00Z")),
            severity(Severity::Warning),
        ),
        row(
            "later",
            Kind::Leaf,
            (Some("2026-07-01T00:00:00Z"), Some("2026-08-01T00:00:00Z")),
            severity(Severity::Error),
        ),
        row(
            "reversed",
            Kind::Leaf,
            (Some("2027-07-01T00:00:00Z"), Some("2025-08-01T00:00:00Z")),
            severity(Severity::Error),
        ),
        row(
            "endless",
            Kind::Token,
            (Some("2026-01-01T00:00:00Z"), None),
            None,
        ),
        row("timeless", Kind::Token, (None, None), None),
        row(
            "far",
            Kind::Authority,
            (Some("1970-01-01T00:00:00Z"), Some("9999-12-30T22:00:00Z")),
            None,
        ),
        row(HOSTILE, Kind::Server, year, None),
        row("", Kind::Server, year, severity(Severity::Info)),
    ]
}

fn findings() -> Vec<Finding> {
    let about = |code: &str, severity, name: &str| {
        Finding::new(
            "check-certs",
            code,
            severity,
            Subject::new("secret", name),
            format!("it is {HOSTILE}"),
        )
    };
    vec![
        about(
            "expired",
            Severity::Error,
            "karmada-system/karmada-cert/gone",
        )
        .hint("kubectl get secret <NAME>"),
        about("expired", Severity::Error, HOSTILE)
            .expected(HOSTILE)
            .actual(HOSTILE),
        about("not-examined", Severity::Info, "host"),
    ]
}

fn drawn(rows: &[Row<'_>], findings: &[Finding], draw: fn(&Picture<'_>) -> String) -> String {
    draw(&Picture {
        rows,
        findings,
        member_of: &|subject| subject.name.ends_with("soon").then(|| "member1".to_owned()),
        now: time("2026-06-01T00:00:00Z"),
    })
}

/// A family as a scraper reads it: its samples by their labels.
type Families = BTreeMap<String, BTreeMap<BTreeMap<String, String>, f64>>;

/// Reads the text format 0.0.4 as strictly as it is written down: metadata once and before the samples, a family in one
/// piece, every set of labels once.
fn scraped(text: &str) -> Families {
    assert!(text.ends_with('\n'));
    let mut families = Families::new();
    let (mut helped, mut family) = (BTreeSet::new(), String::new());
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let (name, help) = rest.split_once(' ').expect("a help text");
            assert!(!help.is_empty() && helped.insert(name.to_owned()), "{line}");
        } else if let Some(rest) = line.strip_prefix("# TYPE ") {
            let name = rest.strip_suffix(" gauge").expect("a gauge");
            assert!(helped.contains(name), "{line}");
            assert!(
                families.insert(name.to_owned(), BTreeMap::new()).is_none(),
                "{line}"
            );
            name.clone_into(&mut family);
        } else {
            let end = line.find(['{', ' ']).expect("a name");
            assert_eq!(&line[..end], family, "{line}");
            let (labels, value) = labels(&line[end..]);
            let value = value.strip_prefix(' ').expect("a space before the value");
            let value = value
                .parse()
                .unwrap_or_else(|_| panic!("one value and no time: {line}"));
            let samples = families
                .get_mut(&family)
                .expect("a type before its samples");
            assert!(samples.insert(labels, value).is_none(), "{line}");
        }
    }
    families
}

fn labels(text: &str) -> (BTreeMap<String, String>, &str) {
    let mut labels = BTreeMap::new();
    let Some(mut rest) = text.strip_prefix('{') else {
        return (labels, text);
    };
    loop {
        let (name, after) = rest.split_once("=\"").expect("a label");
        assert!(
            name.bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte == b'_'),
            "{name}"
        );
        let (mut value, mut characters) = (String::new(), after.char_indices());
        let end = loop {
            match characters.next().expect("the end of the value") {
                (at, '"') => break at,
                (_, '\\') => value.push(match characters.next() {
                    Some((_, 'n')) => '\n',
                    Some((_, other @ ('\\' | '"'))) => other,
                    other => panic!("{other:?} is no escape"),
                }),
                (_, other) => value.push(other),
            }
        };
        assert!(labels.insert(name.to_owned(), value).is_none(), "{name}");
        rest = &after[end + 1..];
        match rest.strip_prefix(',') {
            Some(more) => rest = more,
            None => {
                return (
                    labels,
                    rest.strip_prefix('}').expect("the end of the labels"),
                );
            }
        }
    }
}

#[test]
fn metrics_are_what_a_scraper_reads() {
    let families = scraped(&drawn(&lines(), &findings(), prometheus::text));
    let names: Vec<&str> = families.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        [
            "karmada_check_certs_finding",
            "karmada_check_certs_findings",
            "karmada_check_certs_not_after_timestamp_seconds",
            "karmada_check_certs_not_before_timestamp_seconds",
            "karmada_check_certs_run_timestamp_seconds",
        ]
    );
    let sample = |family: &str, wanted: &[(&str, &str)]| {
        let wanted = wanted
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let wanted: BTreeMap<String, String> = wanted.collect();
        families[&format!("karmada_check_certs_{family}")]
            .get(&wanted)
            .copied()
    };
    let soon = [
        ("kind", "client"),
        ("member", "member1"),
        ("name", "soon"),
        ("subject", "secret/karmada-system/karmada-cert/soon"),
    ];
    assert_eq!(
        sample("not_after_timestamp_seconds", &soon),
        Some(1_781_049_600.0)
    );
    assert_eq!(
        sample("not_before_timestamp_seconds", &soon),
        Some(1_749_513_600.0)
    );
    let endless = [
        ("kind", "token"),
        ("name", "endless"),
        ("subject", "secret/karmada-system/karmada-cert/endless"),
    ];
    assert_eq!(sample("not_after_timestamp_seconds", &endless), None);
    assert!(sample("not_before_timestamp_seconds", &endless).is_some());
    for (severity, count) in [
        ("error", 2.0),
        ("warning", 0.0),
        ("unknown", 0.0),
        ("info", 1.0),
    ] {
        assert_eq!(
            sample("findings", &[("severity", severity)]),
            Some(count),
            "{severity}"
        );
    }
    assert_eq!(sample("run_timestamp_seconds", &[]), Some(1_780_272_000.0));
    let hostile = &families["karmada_check_certs_finding"];
    let as_read = HOSTILE.replace('\u{7}', "\u{fffd}");
    assert!(
        hostile
            .keys()
            .any(|labels| labels["subject"] == format!("secret/{as_read}"))
    );
}

#[test]
fn metrics_of_nothing_still_say_that_it_was_looked() {
    let families = scraped(&drawn(&[], &[], prometheus::text));
    assert_eq!(families["karmada_check_certs_findings"].len(), 4);
    assert_eq!(
        families["karmada_check_certs_run_timestamp_seconds"].len(),
        1
    );
}

/// The names of the elements that are open, checked as XML demands it.
fn elements(text: &str, void: &[&str]) -> Vec<String> {
    let (mut open, mut all): (Vec<&str>, Vec<String>) = (Vec::new(), Vec::new());
    let mut rest = text;
    while let Some(start) = rest.find('<') {
        let end = start + rest[start..].find('>').expect("the end of a tag");
        let (tag, after) = (&rest[start + 1..end], &rest[end + 1..]);
        assert!(!tag.contains('<'), "<{tag}>");
        let name = tag.trim_matches('/').split(' ').next().unwrap_or_default();
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name));
        } else if !tag.starts_with(['?', '!']) {
            all.push(name.to_owned());
            if !tag.ends_with('/') && !void.contains(&name) {
                open.push(name);
            }
        }
        rest = after;
    }
    assert_eq!(open, [""; 0]);
    all
}

#[test]
fn pictures_are_well_formed_whatever_names_say() {
    let page = drawn(&lines(), &findings(), html::document);
    let picture = drawn(&lines(), &findings(), svg::document);
    for (text, void) in [(&page, &["meta", "br"][..]), (&picture, &[])] {
        let elements = elements(text, void);
        assert!(!elements.iter().any(|name| name == "script"));
        assert!(text.contains("&lt;script src=//x&gt;"));
        assert!(!text.contains(['\u{202e}', '\u{7}']));
    }
}

/// Whoever opens one asks nobody for anything: no address but the name of the SVG language.
#[test]
fn pictures_need_nothing_from_elsewhere() {
    let rows: Vec<Row<'_>> = lines()
        .into_iter()
        .filter(|row| row.title != HOSTILE)
        .collect();
    for draw in [html::document, svg::document] {
        let text = drawn(&rows, &[], draw).replace("http://www.w3.org/2000/svg", "");
        for trace in ["http:", "https:", "url(", "@import", "src=", "href=", "//"] {
            assert!(!text.contains(trace), "{trace}");
        }
    }
}

#[test]
fn every_line_is_drawn_inside_the_picture() {
    let text = drawn(&lines(), &[], svg::document);
    assert_eq!(text.matches("<title>").count(), lines().len());
    for attribute in [" x=\"", " width=\"", " x1=\""] {
        for rest in text.split(attribute).skip(1) {
            let number: f64 = rest
                .split('"')
                .next()
                .and_then(|text| text.parse().ok())
                .expect("a number");
            assert!((0.0..=1320.0).contains(&number), "{attribute}{number}");
        }
    }
}

#[test]
fn a_picture_of_nothing_says_so() {
    assert!(drawn(&[], &[], svg::document).contains("Nothing was examined."));
    assert!(drawn(&[], &[], html::document).contains("Nothing was found."));
}
