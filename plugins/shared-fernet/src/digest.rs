//! Values compared without being held side by side: by a digest whose key lives as long as the run. Pure.

use std::fmt;

use hmac::{Hmac, Mac};
use serde::{Serialize, Serializer};
use sha2::Sha256;
use zeroize::Zeroizing;

use crate::key::MASK;

/// Makes the digests of one run (HMAC-SHA256, RFC 2104); those of two runs cannot be compared, and no weak value can be
/// guessed from one.
#[derive(Clone)]
pub struct Digester {
    key: Zeroizing<Vec<u8>>,
}

impl Digester {
    /// With this key, which is to be random and to be used in one run.
    pub fn new(key: Zeroizing<Vec<u8>>) -> Digester {
        Digester { key }
    }

    /// The digest of a value.
    pub fn digest(&self, value: &[u8]) -> Digest {
        let mut mac = <Hmac<Sha256> as Mac>::new_from_slice(&self.key)
            .expect("HMAC takes a key of any length");
        mac.update(value);
        Digest(mac.finalize().into_bytes().into())
    }
}

impl fmt::Debug for Digester {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}

/// A digest; equal ones are of equal values.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(MASK)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_have_equal_digests_in_one_run_and_others_in_another() {
        let run = |byte: u8| Digester::new(Zeroizing::new(vec![byte; 32]));
        assert_eq!(run(1).digest(b"a"), run(1).digest(b"a"));
        assert_ne!(run(1).digest(b"a"), run(1).digest(b"b"));
        assert_ne!(run(1).digest(b"a"), run(2).digest(b"a"));
        assert_eq!(format!("{:?}", run(1).digest(b"a")), "***");
    }
}
