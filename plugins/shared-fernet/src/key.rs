//! The values that must not be seen: Fernet keys and secrets that are used as they are. Pure.
//!
//! Their memory is overwritten when they are dropped, and their `Debug` shows nothing of them.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE;
use serde::{Serialize, Serializer};
use zeroize::Zeroizing;

/// A Fernet key: 16 bytes that sign, 16 bytes that encrypt (Fernet specification, Key Format).
#[derive(Clone)]
pub struct FernetKey(Zeroizing<Vec<u8>>);

impl FernetKey {
    /// The key of these 32 bytes; `None` for any other number of them.
    pub fn from_slice(bytes: &[u8]) -> Option<FernetKey> {
        (bytes.len() == KEY_LENGTH).then(|| FernetKey(Zeroizing::new(bytes.to_vec())))
    }

    /// All 32 bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// The half that signs tokens (HMAC-SHA256).
    pub fn signing(&self) -> &[u8] {
        &self.0[..KEY_LENGTH / 2]
    }

    /// The half that encrypts (AES-128).
    pub fn encryption(&self) -> &[u8] {
        &self.0[KEY_LENGTH / 2..]
    }

    /// The canonical text: base64url with padding, 44 characters.
    pub fn text(&self) -> Zeroizing<String> {
        let mut text = Zeroizing::new(String::with_capacity(TEXT_LENGTH));
        URL_SAFE.encode_string(&*self.0, &mut text);
        text
    }

    /// Whether the official chart made it: its keys are 32 letters and digits, which a random key never is.
    pub fn is_chart_made(&self) -> bool {
        self.0.iter().all(u8::is_ascii_alphanumeric)
    }
}

impl PartialEq for FernetKey {
    fn eq(&self, other: &FernetKey) -> bool {
        // Without a way out on the first difference.
        let differences = self.0.iter().zip(other.0.iter()).map(|(a, b)| a ^ b);
        differences.fold(0, |all, one| all | one) == 0
    }
}

impl Eq for FernetKey {}

impl fmt::Debug for FernetKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}

/// The bytes of a value as a Secret holds them, used as they are.
#[derive(Clone, PartialEq, Eq)]
pub struct Opaque(Zeroizing<Vec<u8>>);

impl Opaque {
    /// These bytes.
    pub fn new(bytes: Vec<u8>) -> Opaque {
        Opaque(Zeroizing::new(bytes))
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Opaque {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}

impl Serialize for Opaque {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(MASK)
    }
}

/// The bytes of a key.
pub const KEY_LENGTH: usize = 32;

/// The characters of its text.
const TEXT_LENGTH: usize = 44;

/// What is shown instead of a secret.
pub const MASK: &str = "***";

#[cfg(test)]
mod tests {
    use super::*;

    fn key(byte: u8) -> FernetKey {
        FernetKey::from_slice(&[byte; KEY_LENGTH]).expect("it is 32 bytes")
    }

    #[test]
    fn neither_debug_nor_json_shows_it() {
        assert_eq!(format!("{:?}", key(65)), "***");
        let opaque = Opaque::new(b"hunter22".to_vec());
        assert_eq!(format!("{opaque:?}"), "***");
        assert_eq!(
            serde_json::to_string(&opaque).ok().as_deref(),
            Some("\"***\"")
        );
    }

    #[test]
    fn has_32_bytes_and_no_other_number() {
        for length in [0, 31, 33] {
            assert!(
                FernetKey::from_slice(&vec![0; length]).is_none(),
                "{length}"
            );
        }
        assert_eq!(key(7).text().len(), TEXT_LENGTH);
    }

    #[test]
    fn keys_are_equal_by_all_their_bytes() {
        let mut bytes = [7; KEY_LENGTH];
        bytes[31] = 8;
        assert_eq!(key(7), key(7));
        assert_ne!(Some(key(7)), FernetKey::from_slice(&bytes));
    }

    #[test]
    fn a_key_of_letters_and_digits_was_made_by_a_chart() {
        assert!(key(b'x').is_chart_made());
        assert!(!key(b'-').is_chart_made());
    }
}
