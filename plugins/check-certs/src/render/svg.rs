//! A timeline of the federation's certificates as one SVG picture, without anything from elsewhere. Pure.

use std::fmt::Write;

use jiff::Timestamp;

use super::markup::{Text, cut, cut_middle};
use super::scale::Scale;
use super::{Picture, mark, status};
use crate::rows::{Kind, Row};
use crate::words::{length, second};

/// The picture as a file of its own.
pub(super) fn document(picture: &Picture<'_>) -> String {
    let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    write_picture(&mut text, picture);
    text
}

/// The picture as an element.
pub(super) fn write_picture(text: &mut String, picture: &Picture<'_>) {
    let rows = picture.rows;
    let times = rows.iter().flat_map(|row| [row.since, row.until]).flatten();
    let scale = Scale::over(times, picture.now, LINE);
    let bottom = HEAD + ROW * rows.len() as f64;
    let height = bottom + FOOT;
    let _ = writeln!(
        text,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" \
         role=\"img\" aria-label=\"Timeline of certificates\" class=\"timeline\">\n<style>{STYLE}</style>\n\
         <rect class=\"ground\" width=\"{WIDTH}\" height=\"{height}\"/>"
    );
    let _ = writeln!(
        text,
        "<text class=\"title\" x=\"16\" y=\"30\">Certificates of the federation</text>\n\
         <text class=\"small\" x=\"16\" y=\"50\">{} · {}</text>",
        Text(&second(picture.now)),
        Text(&picture.summary())
    );
    write_legend(text);
    for (index, _) in rows.iter().enumerate().filter(|(index, _)| index % 2 == 0) {
        let top = HEAD + ROW * index as f64;
        let _ = writeln!(
            text,
            "<rect class=\"stripe\" y=\"{top}\" width=\"{WIDTH}\" height=\"{ROW}\"/>"
        );
    }
    write_grid(text, &scale, bottom);
    for (index, row) in rows.iter().enumerate() {
        write_row(text, row, &scale, (HEAD + ROW * index as f64, picture.now));
    }
    if rows.is_empty() {
        let y = HEAD + 16.0;
        let _ = writeln!(
            text,
            "<text class=\"small\" x=\"16\" y=\"{y}\">Nothing was examined.</text>"
        );
    }
    text.push_str("</svg>\n");
}

fn write_legend(text: &mut String) {
    let words = ["error", "warning", "unknown", "fine"];
    for (index, class) in words.into_iter().enumerate() {
        let x = LINE.0 + 84.0 * index as f64;
        let _ = writeln!(
            text,
            "<rect class=\"{class}\" x=\"{x}\" y=\"21\" width=\"12\" height=\"10\" rx=\"2\"/>\
             <text class=\"small\" x=\"{}\" y=\"30\">{class}</text>",
            x + 17.0
        );
    }
    let _ = writeln!(
        text,
        "<text class=\"small\" x=\"{}\" y=\"30\">pale: the part of the life that is over; near now, days are drawn wider than years</text>",
        LINE.0 + 84.0 * words.len() as f64
    );
}

fn write_grid(text: &mut String, scale: &Scale, bottom: f64) {
    for (x, name) in scale.ticks() {
        let class = if name == "now" { "now" } else { "grid" };
        let _ = writeln!(
            text,
            "<line class=\"{class}\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{}\" y2=\"{bottom}\"/>\
             <text class=\"tick\" x=\"{x:.1}\" y=\"{}\">{name}</text>\
             <text class=\"tick\" x=\"{x:.1}\" y=\"{}\">{name}</text>",
            HEAD - 4.0,
            HEAD - 10.0,
            bottom + 16.0,
        );
    }
}

fn write_row(text: &mut String, row: &Row<'_>, scale: &Scale, (top, now): (f64, Timestamp)) {
    let (class, sign) = mark(row.severity);
    let place = row.subject.to_string();
    let (upper, lower) = (top + 15.0, top + 29.0);
    let name = match row.title.is_empty() {
        true => cut_middle(&place, NAME),
        false => cut(&row.title, NAME),
    };
    let below = match (row.kind, row.places.len()) {
        (Kind::Other, _) => String::new(),
        (kind, 0 | 1) => format!("{} · {}", kind.word(), cut_middle(&place, PLACE)),
        (kind, places) => {
            let more = format!(" and {} more", places - 1);
            let room = PLACE - more.len();
            format!("{} · {}{more}", kind.word(), cut_middle(&place, room))
        }
    };
    let _ = writeln!(
        text,
        "<g><title>{}</title><text class=\"sign {class}\" x=\"22\" y=\"{}\">{sign}</text>\
         <text class=\"name\" x=\"40\" y=\"{upper}\">{}</text>\
         <text class=\"small\" x=\"40\" y=\"{lower}\">{}</text>",
        Text(&told(row)),
        top + 22.0,
        Text(&name),
        Text(&below),
    );
    write_life(text, row, scale, (top, class));
    let _ = writeln!(
        text,
        "<text class=\"name {class}\" x=\"{SAID}\" y=\"{upper}\">{}</text>\
         <text class=\"small\" x=\"{SAID}\" y=\"{lower}\">{}</text></g>",
        Text(&cut(&status(row), STATUS)),
        Text(&end(row, now)),
    );
}

/// The bar of a life: pale as far as it is over, and a mark where it ends.
fn write_life(text: &mut String, row: &Row<'_>, scale: &Scale, (top, class): (f64, &str)) {
    let Some(since) = row.since.or(row.until) else {
        return;
    };
    let begin = scale.at(since);
    // What ends before it begins is drawn as if it were nothing.
    let end = row
        .until
        .map_or(scale.right(), |until| scale.at(until))
        .max(begin);
    let (y, now) = (top + 12.0, scale.now());
    let mut bar = |from: f64, to: f64, pale: &str| {
        if to > from {
            let _ = write!(
                text,
                "<rect class=\"{class}{pale}\" x=\"{from:.1}\" y=\"{y}\" width=\"{:.1}\" height=\"12\" rx=\"2\"/>",
                to - from
            );
        }
    };
    bar(begin, end.min(now), " over");
    bar(begin.max(now), end, "");
    if row.until.is_some() {
        let _ = write!(
            text,
            "<rect class=\"{class}\" x=\"{:.1}\" y=\"{}\" width=\"3\" height=\"20\" rx=\"1\"/>",
            end - 1.5,
            top + 8.0
        );
    }
}

/// When it ends, from now.
fn end(row: &Row<'_>, now: Timestamp) -> String {
    let Some(until) = row.until else {
        return match row.kind {
            Kind::Other => String::new(),
            _ => "does not end".to_owned(),
        };
    };
    let distance = until.duration_since(now);
    let day = until.strftime("%Y-%m-%d");
    match distance.is_negative() || distance.is_zero() {
        true => format!("ended {} ago, {day}", length(distance.abs())),
        false => format!("{} left, until {day}", length(distance)),
    }
}

/// Everything about a line, for whoever points at it.
fn told(row: &Row<'_>) -> String {
    let mut lines: Vec<String> = row.places.iter().map(ToString::to_string).collect();
    if lines.is_empty() {
        lines.push(row.subject.to_string());
    }
    let from = row.since.map(|since| format!("from {}", second(since)));
    let until = row.until.map(|until| format!("until {}", second(until)));
    lines.extend([from, until].into_iter().flatten());
    lines.push(status(row));
    lines.join("; ")
}

const WIDTH: f64 = 1320.0;
const HEAD: f64 = 92.0;
const ROW: f64 = 36.0;
const FOOT: f64 = 30.0;
/// Where the line of times is.
const LINE: (f64, f64) = (440.0, 1030.0);
/// Where what is said about a line begins.
const SAID: f64 = 1050.0;
/// How many characters there is room for.
const NAME: usize = 52;
const PLACE: usize = 62;
const STATUS: usize = 36;

/// Colours of both kinds have a contrast of at least 4.5 to 1 as text (WCAG 2.2, 1.4.3).
pub(super) const STYLE: &str = "\
.timeline{font-family:system-ui,-apple-system,'Segoe UI','DejaVu Sans',sans-serif;font-size:12px}\
.ground{fill:#fff}.stripe{fill:#f5f7f9}\
.timeline text{fill:#1f2328}.timeline .title{font-size:18px;font-weight:600}\
.timeline .small,.timeline .tick{font-size:11px;fill:#59636e}.timeline .tick{text-anchor:middle}\
.timeline .sign{font-weight:700;text-anchor:middle;font-size:14px}\
.grid{stroke:#d1d9e0;stroke-width:1}.now{stroke:#1f2328;stroke-width:1.5}\
.error,.timeline text.error{fill:#c11c28}.warning,.timeline text.warning{fill:#8f5f00}\
.unknown,.timeline text.unknown{fill:#7a45d6}.fine,.timeline text.fine{fill:#1a7437}.over{opacity:.3}\
@media (prefers-color-scheme:dark){.ground{fill:#0d1117}.stripe{fill:#151b23}\
.timeline text{fill:#f0f6fc}.timeline .small,.timeline .tick{fill:#9198a1}\
.grid{stroke:#3d444d}.now{stroke:#f0f6fc}\
.error,.timeline text.error{fill:#ff6a63}.warning,.timeline text.warning{fill:#e0a32e}\
.unknown,.timeline text.unknown{fill:#b48cff}.fine,.timeline text.fine{fill:#4fc463}}";
