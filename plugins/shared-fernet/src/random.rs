//! Randomness of the operating system, taken in this file only.

use zeroize::Zeroizing;

use crate::key::{FernetKey, KEY_LENGTH};

/// The operating system gave no randomness, so nothing secret can be made.
#[derive(Debug, thiserror::Error)]
#[error("the operating system gives no random bytes: {0}")]
pub struct NoRandomness(String);

/// This many random bytes.
///
/// # Errors
/// When the operating system gives none.
pub fn bytes(count: usize) -> Result<Zeroizing<Vec<u8>>, NoRandomness> {
    let mut bytes = Zeroizing::new(vec![0; count]);
    getrandom::fill(&mut bytes).map_err(|error| NoRandomness(error.to_string()))?;
    Ok(bytes)
}

/// A new Fernet key, as `Fernet.generate_key` of Python makes it.
///
/// # Errors
/// When the operating system gives no random bytes.
pub fn fernet_key() -> Result<FernetKey, NoRandomness> {
    let bytes = bytes(KEY_LENGTH)?;
    Ok(FernetKey::from_slice(&bytes).expect("it has the length of a key"))
}

/// A new secret of this many bytes, as hexadecimal digits, which no shell and no configuration file changes.
///
/// # Errors
/// When the operating system gives no random bytes.
pub fn hexadecimal(count: usize) -> Result<Zeroizing<String>, NoRandomness> {
    let mut text = Zeroizing::new(String::with_capacity(count * 2));
    for byte in bytes(count)?.iter() {
        for digit in [byte >> 4, byte & 0x0f] {
            text.push(char::from_digit(u32::from(digit), 16).expect("it is below 16"));
        }
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_keys_are_equal_and_none_is_like_those_of_charts() {
        let (one, other) = (fernet_key(), fernet_key());
        let (one, other) = (one.expect("there is randomness"), other.expect("there is"));
        assert_ne!(one, other);
        assert!(!one.is_chart_made());
    }

    #[test]
    fn digits_are_those_of_the_bytes() {
        let text = hexadecimal(32).expect("there is randomness");
        assert_eq!(text.len(), 64);
        assert!(text.chars().all(|digit| digit.is_ascii_hexdigit()));
    }
}
