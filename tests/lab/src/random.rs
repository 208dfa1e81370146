//! Random identifiers, good enough to be unique in tests.

use std::hash::{BuildHasher, Hasher, RandomState};

/// A random number.
pub(crate) fn number() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// A UUID of version 4.
pub(crate) fn uuid() -> String {
    let (high, low) = (number(), number());
    format!(
        "{:08x}-{:04x}-4{:03x}-8{:03x}-{:012x}",
        high >> 32,
        (high >> 16) & 0xffff,
        high & 0xfff,
        low >> 52,
        low & 0xffff_ffff_ffff
    )
}

/// `digits` random hexadecimal digits.
pub(crate) fn hexadecimal(digits: usize) -> String {
    let mut text = String::new();
    while text.len() < digits {
        text.push_str(&format!("{:016x}", number()));
    }
    text.truncate(digits);
    text
}
