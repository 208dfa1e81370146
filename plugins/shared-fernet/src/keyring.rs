//! The list of keys that one value of `fernet_key` is: the first encrypts, all decrypt (MultiFernet). Pure.

use zeroize::Zeroizing;

use crate::decode::{Decoded, Form, Rejection, decode};
use crate::key::{FernetKey, Opaque};

/// What Airflow makes of a value of `fernet_key`.
#[derive(Debug, Clone)]
pub enum Reading {
    /// Nothing: Airflow stores connections and variables in clear.
    Empty,
    /// A list that it uses.
    Usable(Keyring),
    /// Nothing: Airflow raises "Could not create Fernet object".
    Rejected(Refused),
}

/// A value that Airflow refuses.
#[derive(Debug, Clone)]
pub struct Refused {
    /// Each part that is no key: its place in the list, from 1, and why. Empty = the value is no text.
    pub parts: Vec<(usize, Rejection)>,
    /// The parts that are keys all the same, and that may have been in use.
    pub usable: Vec<FernetKey>,
}

/// A list of one key or more, without repetitions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keyring {
    keys: Vec<FernetKey>,
}

impl Reading {
    /// What Airflow makes of these bytes of a Secret.
    pub fn of(value: &Opaque) -> Reading {
        let Ok(text) = std::str::from_utf8(value.bytes()) else {
            return Reading::Rejected(Refused {
                parts: Vec::new(),
                usable: Vec::new(),
            });
        };
        if text.is_empty() {
            return Reading::Empty;
        }
        let parts = || text.split(',').map(|part| decode(part.as_bytes()));
        let rejected: Vec<(usize, Rejection)> = parts()
            .enumerate()
            .filter_map(|(index, part)| Some((index + 1, part.err()?)))
            .collect();
        let keys: Vec<FernetKey> = parts().filter_map(|part| Some(part.ok()?.key)).collect();
        match (rejected.is_empty(), Keyring::of(keys.clone())) {
            (true, Some(keyring)) => Reading::Usable(keyring),
            _ => Reading::Rejected(Refused {
                parts: rejected,
                usable: keys,
            }),
        }
    }

    /// The list that Airflow uses; `None` = it uses none.
    pub fn keyring(&self) -> Option<&Keyring> {
        match self {
            Reading::Usable(keyring) => Some(keyring),
            Reading::Empty | Reading::Rejected(_) => None,
        }
    }
}

/// The oddities of each part that Airflow accepts although it is not canonical, in words.
pub fn oddities(value: &Opaque) -> Vec<String> {
    let text = std::str::from_utf8(value.bytes()).unwrap_or_default();
    let parts = text.split(',').map(|part| decode(part.as_bytes()));
    let mut all: Vec<String> = parts
        .filter_map(Result::ok)
        .filter_map(|Decoded { form, .. }| match form {
            Form::Canonical => None,
            Form::Lenient(oddities) => Some(oddities),
        })
        .flatten()
        .map(|oddity| oddity.to_string())
        .collect();
    all.sort();
    all.dedup();
    all
}

impl Keyring {
    /// The list of these keys without repetitions; `None` = there are none.
    pub fn of(keys: impl IntoIterator<Item = FernetKey>) -> Option<Keyring> {
        let mut unique: Vec<FernetKey> = Vec::new();
        for key in keys {
            if !unique.contains(&key) {
                unique.push(key);
            }
        }
        (!unique.is_empty()).then_some(Keyring { keys: unique })
    }

    /// The list of one key.
    pub fn single(key: FernetKey) -> Keyring {
        Keyring { keys: vec![key] }
    }

    /// The keys, the one that encrypts first.
    pub fn keys(&self) -> &[FernetKey] {
        &self.keys
    }

    /// The key that encrypts.
    pub fn primary(&self) -> &FernetKey {
        &self.keys[0]
    }

    /// Whether tokens of this key can be decrypted.
    pub fn reads(&self, key: &FernetKey) -> bool {
        self.keys.contains(key)
    }

    /// This list with these keys at its end, as far as they are not in it.
    #[must_use]
    pub fn and<'a>(&self, keys: impl IntoIterator<Item = &'a FernetKey>) -> Keyring {
        let own = self.keys.iter().cloned();
        let all = own.chain(keys.into_iter().cloned());
        Keyring::of(all).expect("a list that is not empty stays so")
    }

    /// The value of `fernet_key`: canonical texts with commas between them.
    pub fn value(&self) -> Opaque {
        let mut text = Zeroizing::new(String::with_capacity(self.keys.len() * 45));
        for (index, key) in self.keys.iter().enumerate() {
            if index > 0 {
                text.push(',');
            }
            text.push_str(&key.text());
        }
        Opaque::new(text.as_bytes().to_vec())
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A key that is this byte 32 times.
    pub(crate) fn key(byte: u8) -> FernetKey {
        FernetKey::from_slice(&[byte; 32]).expect("it is 32 bytes")
    }

    /// A list of such keys.
    pub(crate) fn ring(bytes: &[u8]) -> Keyring {
        Keyring::of(bytes.iter().map(|&byte| key(byte))).expect("it has keys")
    }

    fn reading(text: &str) -> Reading {
        Reading::of(&Opaque::new(text.as_bytes().to_vec()))
    }

    #[test]
    fn a_list_is_read_in_its_order() {
        let (one, two) = (key(1).text(), key(2).text());
        let cases = [
            (one.to_string(), ring(&[1])),
            (format!("{},{}", *one, *two), ring(&[1, 2])),
            (format!("{}, {}", *two, *one), ring(&[2, 1])),
            (format!("{},{}", *one, *one), ring(&[1])),
        ];
        for (text, expected) in cases {
            let found = reading(&text);
            assert_eq!(found.keyring(), Some(&expected));
        }
    }

    #[test]
    fn a_comma_too_many_makes_the_whole_list_useless() {
        let one = key(1).text();
        for (text, place) in [(format!("{},", *one), 2), (format!(",{}", *one), 1)] {
            let Reading::Rejected(refused) = reading(&text) else {
                panic!("it is accepted");
            };
            assert_eq!(refused.parts, [(place, Rejection::EmptyPart)]);
            assert_eq!(refused.usable, [key(1)]);
        }
    }

    #[test]
    fn an_empty_value_means_no_encryption_and_white_space_means_an_error() {
        assert!(matches!(reading(""), Reading::Empty));
        assert!(matches!(reading("\n"), Reading::Rejected(_)));
        let no_text = Reading::of(&Opaque::new(vec![0xff; 44]));
        assert!(matches!(no_text, Reading::Rejected(refused) if refused.parts.is_empty()));
    }

    #[test]
    fn a_value_is_read_back_as_the_list_that_was_written() {
        let written = ring(&[3, 1, 2]);
        assert_eq!(Reading::of(&written.value()).keyring(), Some(&written));
        assert!(oddities(&written.value()).is_empty());
    }

    #[test]
    fn keys_are_added_at_the_end_once() {
        assert_eq!(ring(&[1, 2]).and(&[key(3), key(1)]), ring(&[1, 2, 3]));
    }
}
