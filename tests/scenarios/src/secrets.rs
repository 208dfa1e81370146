//! Values that must never be seen, in whatever encoding.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};

/// Values that must never be seen.
#[derive(Clone, Default)]
pub(crate) struct Secrets {
    /// Every text as which one of them may be written, with its encoding.
    written: BTreeMap<String, &'static str>,
}

impl Secrets {
    /// Adds a value. One that was emptied, or that is too short not to be met by accident, is no secret.
    pub(crate) fn add(&mut self, secret: &str) {
        if secret.len() < SHORTEST {
            return;
        }
        self.add_bytes(secret.as_bytes());
        // A key in its textual form is as secret as its bytes.
        for engine in [STANDARD, URL_SAFE] {
            if let Ok(bytes) = engine.decode(secret)
                && bytes.len() >= SHORTEST
            {
                self.add_bytes(&bytes);
            }
        }
    }

    /// The encoding in which one of them occurs in a text; `None` = it holds none.
    pub(crate) fn encoding_in(&self, text: &str) -> Option<&'static str> {
        let mut written = self.written.iter();
        let found = written.find(|(written, _)| text.contains(*written));
        found.map(|(_, encoding)| *encoding)
    }

    fn add_bytes(&mut self, bytes: &[u8]) {
        if let Ok(text) = std::str::from_utf8(bytes) {
            self.insert("plain text", text.to_owned());
            self.insert("JSON", in_json(text));
        }
        self.insert("hexadecimal", hexadecimal(bytes));
        self.insert("hexadecimal", hexadecimal(bytes).to_uppercase());
        self.insert("a URL", in_url(bytes));
        for start in 0..3 {
            self.insert("base64", within_base64(&STANDARD_NO_PAD, bytes, start));
            self.insert("base64url", within_base64(&URL_SAFE_NO_PAD, bytes, start));
        }
    }

    fn insert(&mut self, encoding: &'static str, text: String) {
        self.written.entry(text).or_insert(encoding);
    }
}

impl<S: AsRef<str>> FromIterator<S> for Secrets {
    fn from_iter<I: IntoIterator<Item = S>>(values: I) -> Secrets {
        let mut secrets = Secrets::default();
        for value in values {
            secrets.add(value.as_ref());
        }
        secrets
    }
}

/// The part of a longer base64 text that is the same whatever surrounds the bytes, which begin at this offset modulo 3.
fn within_base64(engine: &impl Engine, bytes: &[u8], start: usize) -> String {
    let mut longer = vec![0; start];
    longer.extend_from_slice(bytes);
    let text = engine.encode(&longer);
    // A letter holds six bits; those that it shares with a neighbour are not known.
    let first = (start * 8).div_ceil(6);
    let last = longer.len() * 8 / 6;
    text[first..last].to_owned()
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn in_json(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    quoted.trim_matches('"').to_owned()
}

/// As RFC 3986, section 2.1, escapes everything that is not unreserved.
fn in_url(bytes: &[u8]) -> String {
    let escaped = bytes.iter().map(|byte| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
            char::from(*byte).to_string()
        }
        byte => format!("%{byte:02X}"),
    });
    escaped.collect()
}

const SHORTEST: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "hunter2?hunter2>\"";

    #[track_caller]
    fn is_found_in(secret: &str, text: &str, encoding: &str) {
        let secrets: Secrets = [secret].into_iter().collect();
        assert_eq!(secrets.encoding_in(text), Some(encoding), "{text}");
    }

    #[test]
    fn finds_a_secret_in_every_encoding() {
        for (text, encoding) in [
            ("it is hunter2?hunter2>\".", "plain text"),
            (r#"{"it": "hunter2?hunter2>\""}"#, "JSON"),
            ("68756e746572323f68756e746572323e22", "hexadecimal"),
            ("68756E746572323F68756E746572323E22", "hexadecimal"),
            ("https://me:hunter2%3Fhunter2%3E%22@here", "a URL"),
            ("aHVudGVyMj9odW50ZXIyPiI=", "base64"),
        ] {
            is_found_in(SECRET, text, encoding);
        }
    }

    #[test]
    fn finds_a_secret_within_longer_base64() {
        for before in ["", "a", "ab", "abc", "user: "] {
            for after in ["", "\n", "zz", "zzz"] {
                let text = format!("{before}{SECRET}{after}");
                is_found_in(SECRET, &STANDARD.encode(&text), "base64");
            }
        }
        is_found_in(
            "??>>??>>??>>",
            &URL_SAFE.encode("user ??>>??>>??>>"),
            "base64url",
        );
    }

    #[test]
    fn finds_the_bytes_of_a_key_that_was_given_as_base64() {
        let bytes: Vec<u8> = (200..232).collect();
        let key = URL_SAFE.encode(&bytes);
        is_found_in(&key, &STANDARD.encode(&bytes), "base64");
        is_found_in(&key, &hexadecimal(&bytes), "hexadecimal");
    }

    #[test]
    fn finds_nothing_in_other_texts_and_takes_nothing_short_for_a_secret() {
        let secrets: Secrets = [SECRET, "", "short"].into_iter().collect();
        assert_eq!(secrets.encoding_in("a short text about a hunter"), None);
    }
}
