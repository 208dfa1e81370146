//! Textual encodings (RFC 7468), read more freely than Go does, with a note of what Go passes over. Pure.

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

/// A block between BEGIN and END.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Block {
    /// The label, as `CERTIFICATE`.
    pub label: String,
    /// The header fields above the base64 (RFC 1421), as `Proc-Type`.
    pub headers: Vec<(String, String)>,
    /// What the base64 holds; `None` = it is none.
    pub content: Option<Vec<u8>>,
    /// Why Go's `encoding/pem` passes over it; `None` = it does not.
    pub passed_over: Option<&'static str>,
}

/// Whether anything in these bytes looks like PEM.
pub(super) fn looks_like_pem(bytes: &[u8]) -> bool {
    find(bytes, BEGIN).is_some()
}

/// The blocks in order; text between them is skipped, whatever its encoding.
pub(super) fn blocks(bytes: &[u8]) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut rest = bytes;
    let mut before: Option<u8> = None;
    while let Some(at) = find(rest, BEGIN) {
        let previous = match at {
            0 => before,
            at => Some(rest[at - 1]),
        };
        let after = &rest[at + BEGIN.len()..];
        let Some(label_end) = find(after, DASHES).filter(|end| *end <= LONGEST_LABEL) else {
            before = Some(b'-');
            rest = after;
            continue;
        };
        let label = String::from_utf8_lossy(&after[..label_end]).into_owned();
        let body = &after[label_end + DASHES.len()..];
        let end = format!("-----END {label}-----");
        let next = find(body, BEGIN).unwrap_or(body.len());
        let Some(end_at) = find(&body[..next], end.as_bytes()) else {
            blocks.push(Block {
                label,
                headers: Vec::new(),
                content: None,
                passed_over: Some("has no END line"),
            });
            before = Some(b'-');
            rest = body;
            continue;
        };
        blocks.push(block(label, &body[..end_at], previous));
        rest = &body[end_at + end.len()..];
        before = Some(b'-');
    }
    blocks
}

fn block(label: String, body: &[u8], previous: Option<u8>) -> Block {
    let text = String::from_utf8_lossy(body);
    let mut headers = Vec::new();
    let mut base64 = String::with_capacity(body.len());
    for line in text.split(['\n', '\r']) {
        match line.split_once(':') {
            Some((name, value)) if base64.is_empty() => {
                headers.push((name.trim().to_owned(), value.trim().to_owned()));
            }
            _ => base64.extend(line.chars().filter(|character| !character.is_whitespace())),
        }
    }
    let content = LENIENT
        .decode(&base64)
        .ok()
        .filter(|content| !content.is_empty());
    let passed_over = if content.is_none() {
        Some("holds no base64")
    } else if !body.contains(&b'\n') {
        Some("has lines that end in CR alone")
    } else if previous.is_some_and(|byte| byte != b'\n') {
        Some("does not begin at the start of a line")
    } else {
        None
    };
    Block {
        label,
        headers,
        content,
        passed_over,
    }
}

/// Where a short text begins in a long one.
fn find(bytes: &[u8], text: &[u8]) -> Option<usize> {
    let (&first, _) = text.split_first()?;
    let mut from = 0;
    while let Some(at) = bytes[from..].iter().position(|&byte| byte == first) {
        if bytes[from + at..].starts_with(text) {
            return Some(from + at);
        }
        from += at + 1;
    }
    None
}

const BEGIN: &[u8] = b"-----BEGIN ";
const DASHES: &[u8] = b"-----";
const LONGEST_LABEL: usize = 64;

const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(text: &[u8]) -> Vec<(String, Option<&'static str>)> {
        blocks(text)
            .into_iter()
            .map(|block| (block.label, block.passed_over))
            .collect()
    }

    #[test]
    fn text_around_blocks_is_skipped_whatever_its_bytes() {
        let text = b"Bag Attributes\n  \xff\xfe friendlyName: \xe9\n-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n\xffnext\n-----BEGIN EC PARAMETERS-----\nAAAA\n-----END EC PARAMETERS-----\n";
        assert_eq!(
            labels(text),
            [
                ("CERTIFICATE".to_owned(), None),
                ("EC PARAMETERS".to_owned(), None)
            ]
        );
    }

    #[test]
    fn blocks_that_go_passes_over_are_told() {
        let cases: [(&[u8], Option<&str>); 6] = [
            (b"-----BEGIN A-----\nAAAA\n-----END A-----\n", None),
            (b"-----BEGIN A-----\r\n  AAAA\r\n-----END A-----\r\n", None),
            (
                b"-----BEGIN A-----\rAAAA\r-----END A-----\r",
                Some("has lines that end in CR alone"),
            ),
            (
                b"x: -----BEGIN A-----\nAAAA\n-----END A-----\n",
                Some("does not begin at the start of a line"),
            ),
            (b"-----BEGIN A-----\nAAAA\n", Some("has no END line")),
            (
                b"-----BEGIN A-----\n!!\n-----END A-----\n",
                Some("holds no base64"),
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(
                labels(text),
                [("A".to_owned(), expected)],
                "{}",
                text.escape_ascii()
            );
        }
    }

    #[test]
    fn a_block_without_an_end_does_not_swallow_the_next() {
        let text = b"-----BEGIN A-----\nAAAA\n-----BEGIN B-----\nAAAA\n-----END B-----\n";
        let found = blocks(text);
        assert_eq!(found.len(), 2);
        assert_eq!(found[1].content.as_deref(), Some(&[0, 0, 0][..]));
    }

    #[test]
    fn headers_are_kept_apart() {
        let text = b"-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,00\n\nAAAA\n-----END RSA PRIVATE KEY-----\n";
        let found = blocks(text);
        assert_eq!(
            found[0].headers[0],
            ("Proc-Type".to_owned(), "4,ENCRYPTED".to_owned())
        );
        assert_eq!(found[0].content.as_deref(), Some(&[0, 0, 0][..]));
    }
}
