//! Warnings that an API server sends along with its answers.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use http::HeaderMap;
use http::header::WARNING;

/// Who is told a warning, without the word `Warning:`.
pub type WarningSink = Arc<dyn Fn(&str) + Send + Sync>;

/// Passes each warning on once per run.
#[derive(Clone)]
pub(crate) struct Warnings {
    sink: WarningSink,
    seen: Arc<Mutex<BTreeSet<String>>>,
}

impl Warnings {
    pub(crate) fn new(sink: WarningSink) -> Warnings {
        Warnings {
            sink,
            seen: Arc::default(),
        }
    }

    /// Passes on the warnings of an answer (RFC 7234 5.5, code 299) that were not seen before.
    pub(crate) fn collect(&self, headers: &HeaderMap) {
        for value in headers.get_all(WARNING) {
            for text in warning_texts(&String::from_utf8_lossy(value.as_bytes())) {
                let is_new = self
                    .seen
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .insert(text.clone());
                if is_new {
                    (self.sink)(&text);
                }
            }
        }
    }
}

impl fmt::Debug for Warnings {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Warnings").finish_non_exhaustive()
    }
}

/// Reads `299 agent "text" "date", 299 agent "text"`; other codes and what cannot be read are left out.
fn warning_texts(header: &str) -> Vec<String> {
    let mut texts = Vec::new();
    let mut rest = header.trim_start();
    while let Some((code, after_code)) = rest.split_once(' ') {
        let Some((_agent, after_agent)) = after_code.trim_start().split_once(' ') else {
            break;
        };
        let Some((text, after_text)) = quoted(after_agent.trim_start()) else {
            break;
        };
        if code == "299" && !text.is_empty() {
            texts.push(text);
        }
        let after_date = match quoted(after_text.trim_start()) {
            Some((_date, after_date)) => after_date,
            None => after_text,
        };
        rest = after_date.trim_start_matches([' ', ',']);
    }
    texts
}

/// A quoted-string (RFC 7230 3.2.6) without control characters, and what follows it.
fn quoted(text: &str) -> Option<(String, &str)> {
    let body = text.strip_prefix('"')?;
    let mut unquoted = String::new();
    let mut characters = body.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return Some((unquoted, &body[at + 1..])),
            '\\' => unquoted.extend(characters.next().map(|(_, escaped)| escaped)),
            character if character.is_control() => {}
            character => unquoted.push(character),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_warning_headers() {
        let table: [(&str, &[&str]); 8] = [
            ("299 - \"old API\"", &["old API"]),
            ("299 - \"one\", 299 - \"two\"", &["one", "two"]),
            (
                "299 - \"one\" \"Wed, 21 Oct 2015 07:28:00 GMT\",299 - \"two\"",
                &["one", "two"],
            ),
            (
                "299 kube \"says \\\"no\\\" and \\\\\"",
                &["says \"no\" and \\"],
            ),
            ("299 - \"a\u{1b}[31mb\"", &["a[31mb"]),
            ("110 - \"stale\"", &[]),
            ("299 - unquoted", &[]),
            ("", &[]),
        ];
        for (header, expected) in table {
            assert_eq!(warning_texts(header), expected, "{header}");
        }
    }
}
