//! The whole diagnosis as one page, without anything from elsewhere. Pure.

use std::cmp::Reverse;
use std::fmt::Write;

use karmada_repair::finding::Finding;

use super::markup::Text;
use super::{Picture, mark, status, svg};
use crate::rows::Row;
use crate::words::{second, short_length};

/// The page.
pub(super) fn document(picture: &Picture<'_>) -> String {
    let mut text = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>Certificates of the federation, {}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n",
        Text(&second(picture.now))
    );
    text.push_str("<div class=\"wide\">\n");
    svg::write_picture(&mut text, picture);
    text.push_str("</div>\n");
    write_findings(&mut text, picture.findings);
    write_rows(&mut text, picture);
    text.push_str("</body>\n</html>\n");
    text
}

fn write_findings(text: &mut String, findings: &[Finding]) {
    let mut findings: Vec<&Finding> = findings.iter().collect();
    findings.sort_by_key(|finding| Reverse(finding.severity));
    text.push_str("<h2>Findings</h2>\n");
    if findings.is_empty() {
        text.push_str("<p>Nothing was found.</p>\n");
        return;
    }
    for finding in findings {
        // What is only worth knowing is not fine: there may be no such thing.
        let word = finding.severity.word();
        let _ = writeln!(
            text,
            "<section class=\"finding\"><h3><span class=\"badge {word}\">{word}</span> {} <code>{}</code></h3>\n<p>{}</p>",
            Text(&finding.key.code),
            Text(&finding.key.subject.to_string()),
            Text(&finding.message)
        );
        for (name, value) in [("expected", &finding.expected), ("actual", &finding.actual)] {
            if let Some(value) = value {
                let _ = writeln!(text, "<p>{name}: <code>{}</code></p>", Text(value));
            }
        }
        if let Some(hint) = &finding.hint {
            let _ = writeln!(text, "<pre>{}</pre>", Text(hint));
        }
        text.push_str("</section>\n");
    }
}

fn write_rows(text: &mut String, picture: &Picture<'_>) {
    text.push_str(
        "<h2>Everything examined</h2>\n<div class=\"wide\"><table>\n<thead><tr><th>Status</th><th>Name</th><th>Kind</th>\
         <th>Places</th><th>From</th><th>Until</th><th>Left</th></tr></thead>\n<tbody>\n",
    );
    for row in picture.rows {
        write_row(text, row, picture);
    }
    text.push_str("</tbody>\n</table></div>\n");
}

fn write_row(text: &mut String, row: &Row<'_>, picture: &Picture<'_>) {
    let (class, sign) = mark(row.severity);
    let left = row
        .until
        .map(|until| short_length(until.duration_since(picture.now)));
    let _ = write!(
        text,
        "<tr><td class=\"{class}\">{sign} {}</td><td>{}</td><td>{}</td><td>",
        Text(&status(row)),
        Text(&row.title),
        row.kind.word()
    );
    let subject = row.subject.to_string();
    let _ = write!(text, "<code>{}</code>", Text(&subject));
    if row.places.len() > 1 {
        let more = row.places.len() - 1;
        let _ = write!(text, "<details><summary>and {more} more</summary>");
        for place in row.places.iter().skip(1) {
            let _ = write!(text, "<code>{}</code><br>", Text(&place.to_string()));
        }
        text.push_str("</details>");
    }
    let _ = writeln!(
        text,
        "</td><td>{}</td><td>{}</td><td class=\"number\">{}</td></tr>",
        row.since.map(second).unwrap_or_default(),
        row.until.map(second).unwrap_or_default(),
        left.unwrap_or_default()
    );
}

const STYLE: &str = "\
:root{color-scheme:light dark}\
body{margin:24px auto;max-width:1352px;padding:0 16px;background:#fff;color:#1f2328;\
font:14px/1.5 system-ui,-apple-system,'Segoe UI','DejaVu Sans',sans-serif}\
h2{font-size:18px;margin:28px 0 10px}h3{font-size:14px;margin:0 0 4px}p{margin:4px 0}\
.wide{overflow-x:auto}svg.timeline{max-width:none}\
code,pre{font:12px/1.5 ui-monospace,'SF Mono',Consolas,'DejaVu Sans Mono',monospace;overflow-wrap:anywhere}\
code{unicode-bidi:isolate}pre{white-space:pre-wrap;background:#f0f3f6;padding:8px 10px;border-radius:6px;margin:6px 0 0}\
.finding{border-left:3px solid #d1d9e0;padding:2px 0 2px 12px;margin:0 0 14px}\
.badge{display:inline-block;border:1px solid currentColor;border-radius:9px;padding:0 8px;font-size:12px}\
table{border-collapse:collapse;width:100%;font-size:13px}th,td{text-align:left;vertical-align:top;padding:5px 10px 5px 0;\
border-bottom:1px solid #d1d9e0}th{font-weight:600}.number{text-align:right;white-space:nowrap}\
td.error,.badge.error{color:#c11c28}td.warning,.badge.warning{color:#8f5f00}td.unknown,.badge.unknown{color:#7a45d6}\
td.fine{color:#1a7437}.badge.info{color:#59636e}\
@media (prefers-color-scheme:dark){body{background:#0d1117;color:#f0f6fc}pre{background:#1c232c}\
.finding{border-color:#3d444d}th,td{border-color:#3d444d}\
td.error,.badge.error{color:#ff6a63}td.warning,.badge.warning{color:#e0a32e}td.unknown,.badge.unknown{color:#b48cff}\
td.fine{color:#4fc463}.badge.info{color:#9198a1}}\
@media print{.finding,tr{break-inside:avoid}}";
