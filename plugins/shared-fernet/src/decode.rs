//! What Airflow makes of the text of a Fernet key. Pure.
//!
//! Airflow hands each part of the text between commas, as UTF-8, to `cryptography.fernet.Fernet`, which decodes it with
//! Python's `base64.urlsafe_b64decode`. That decoder (CPython, `binascii.a2b_base64`, non-strict) reads both alphabets,
//! drops what is in neither, and stops at complete padding.

use std::fmt;

use zeroize::Zeroizing;

use crate::key::{FernetKey, KEY_LENGTH};

/// What Airflow reads in a part of the text, and how it is written.
#[derive(Debug, Clone)]
pub struct Decoded {
    /// The key.
    pub key: FernetKey,
    /// Whether the text is what every other program reads too.
    pub form: Form,
}

/// How the text of a key that Airflow accepts is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Form {
    /// 43 letters of the URL-safe alphabet and one `=`.
    Canonical,
    /// Airflow accepts it; programs with a strict decoder do not. Why, in the order of the text.
    Lenient(Vec<Oddity>),
}

/// What makes a text that Airflow accepts different from the canonical one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Oddity {
    /// `+` or `/`, as `openssl rand -base64 32` writes them.
    StandardAlphabet,
    /// White space, such as a newline at the end.
    WhiteSpace,
    /// Characters of no alphabet, such as quotes.
    ForeignCharacters,
    /// More after the padding that ends it.
    TrailingData,
    /// `=` where none belongs.
    ExtraPadding,
    /// The last letter carries bits that nobody reads.
    UnusedBits,
}

impl fmt::Display for Oddity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Oddity::StandardAlphabet => "it has + or / instead of - and _",
            Oddity::WhiteSpace => "there is white space in it or around it",
            Oddity::ForeignCharacters => {
                "there are characters in it that belong to no alphabet of base64"
            }
            Oddity::TrailingData => "something follows its padding",
            Oddity::ExtraPadding => "there is more = in it than belongs there",
            Oddity::UnusedBits => "its last letter carries bits that are not part of the key",
        })
    }
}

/// Why Airflow cannot use a text as a key; no variant carries a part of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Rejection {
    /// Nothing between two commas, or beside one.
    #[error("a part of the list is empty: there is a comma too many")]
    EmptyPart,
    /// The `=` at the end is missing.
    #[error("the = at its end is missing")]
    Unpadded,
    /// The letters do not come out even.
    #[error("it is no base64: the number of its letters does not come out even")]
    Uneven,
    /// Base64 of a text that is a key itself.
    #[error("it is base64 of a key: encoded once too often")]
    EncodedTwice,
    /// 32 characters that were never encoded.
    #[error("it is 32 characters that were never encoded as base64")]
    NeverEncoded,
    /// Hexadecimal digits.
    #[error("it is {0} hexadecimal digits, not base64 of 32 bytes")]
    Hexadecimal(usize),
    /// A word that stands for a value that was never filled in.
    #[error("it is a placeholder, not a key")]
    Placeholder,
    /// Base64 of another number of bytes.
    #[error("it is base64 of {0} bytes, and a key has 32")]
    Length(usize),
}

/// What Airflow reads in one part of a list of keys; `text` is as UTF-8.
///
/// # Errors
/// Where `cryptography.fernet.Fernet` raises `ValueError`.
pub fn decode(text: &[u8]) -> Result<Decoded, Rejection> {
    let key = match url_safe(text) {
        Ok(bytes) => FernetKey::from_slice(&bytes).ok_or_else(|| explain(text, Some(&bytes)))?,
        Err(Uneven) => return Err(explain(text, None)),
    };
    let form = match oddities(text, &key) {
        oddities if oddities.is_empty() => Form::Canonical,
        oddities => Form::Lenient(oddities),
    };
    Ok(Decoded { key, form })
}

/// `base64.urlsafe_b64decode` of Python, which Airflow also reads tokens with.
///
/// # Errors
/// Where Python raises `binascii.Error`.
pub fn url_safe(text: &[u8]) -> Result<Zeroizing<Vec<u8>>, Uneven> {
    // Never grown, so that no copy of the bytes is left behind.
    let mut bytes = Zeroizing::new(Vec::with_capacity(text.len() / 4 * 3 + 3));
    let (mut position, mut padding, mut left) = (0_u8, 0_u8, 0_u8);
    for &letter in text {
        if letter == b'=' {
            if position >= 2 {
                padding += 1;
                if position + padding >= 4 {
                    return Ok(bytes);
                }
            }
            continue;
        }
        let Some(value) = value(letter) else { continue };
        padding = 0;
        match position {
            0 => left = value,
            1 => {
                bytes.push(left << 2 | value >> 4);
                left = value & 0x0f;
            }
            2 => {
                bytes.push(left << 4 | value >> 2);
                left = value & 0x03;
            }
            _ => bytes.push(left << 6 | value),
        }
        position = (position + 1) % 4;
    }
    match position {
        0 => Ok(bytes),
        _ => Err(Uneven),
    }
}

/// The letters of a base64 text do not come out even, or its padding is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it is no base64")]
pub struct Uneven;

/// Whether this is a word that stands for a value that was never filled in.
pub fn is_placeholder(text: &[u8]) -> bool {
    let text = text.trim_ascii().to_ascii_lowercase();
    PLACEHOLDERS.contains(&text.as_slice())
        || (text.first() == Some(&b'<') && text.last() == Some(&b'>'))
        || text.starts_with(b"{{")
}

fn value(letter: u8) -> Option<u8> {
    match letter {
        b'A'..=b'Z' => Some(letter - b'A'),
        b'a'..=b'z' => Some(letter - b'a' + 26),
        b'0'..=b'9' => Some(letter - b'0' + 52),
        b'+' | b'-' => Some(62),
        b'/' | b'_' => Some(63),
        _ => None,
    }
}

/// Why a text is no key; `bytes` is what it decodes to, if it decodes.
fn explain(text: &[u8], bytes: Option<&[u8]>) -> Rejection {
    let text = text.trim_ascii();
    let letters = text.iter().filter(|&&letter| value(letter).is_some());
    if text.is_empty() {
        return Rejection::EmptyPart;
    }
    if is_placeholder(text) {
        return Rejection::Placeholder;
    }
    if text.len() >= 16 && text.iter().all(u8::is_ascii_hexdigit) {
        return Rejection::Hexadecimal(text.len());
    }
    if text.len() == KEY_LENGTH {
        return Rejection::NeverEncoded;
    }
    match bytes {
        Some(bytes) if decode_is_key(bytes) => Rejection::EncodedTwice,
        Some(bytes) => Rejection::Length(bytes.len()),
        None if letters.count() == UNPADDED_LENGTH => Rejection::Unpadded,
        None => Rejection::Uneven,
    }
}

fn decode_is_key(bytes: &[u8]) -> bool {
    bytes.is_ascii() && url_safe(bytes).is_ok_and(|inner| inner.len() == KEY_LENGTH)
}

fn oddities(text: &[u8], key: &FernetKey) -> Vec<Oddity> {
    if key.text().as_bytes() == text {
        return Vec::new();
    }
    let mut found = Vec::new();
    let mut letters = 0;
    let mut last = 0;
    let mut ended = false;
    for &letter in text {
        let oddity = match letter {
            b'=' if letters == UNPADDED_LENGTH && !ended => {
                ended = true;
                None
            }
            b'=' => Some(Oddity::ExtraPadding),
            _ if letter.is_ascii_whitespace() => Some(Oddity::WhiteSpace),
            _ if value(letter).is_none() => Some(Oddity::ForeignCharacters),
            _ if ended => Some(Oddity::TrailingData),
            _ => {
                letters += 1;
                last = value(letter).unwrap_or_default();
                matches!(letter, b'+' | b'/').then_some(Oddity::StandardAlphabet)
            }
        };
        found.extend(oddity);
    }
    if last & 0x03 != 0 {
        found.push(Oddity::UnusedBits);
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// The letters of 32 bytes in base64, padding aside.
const UNPADDED_LENGTH: usize = 43;

/// In lower case.
const PLACEHOLDERS: &[&[u8]] = &[
    b"deadbeef",
    b"changeme",
    b"change-me",
    b"change_me",
    b"placeholder",
    b"null",
    b"none",
    b"nil",
    b"todo",
    b"xxx",
    b"your-fernet-key",
    b"your_fernet_key",
    b"fernet_key",
    b"temporary_key",
    b"secret",
];

#[cfg(test)]
mod tests;
