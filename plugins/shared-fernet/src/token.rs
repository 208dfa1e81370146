//! A Fernet token as it stands in Airflow's database, and whether a key decrypts it. Pure.
//!
//! Airflow decrypts with `cryptography.fernet.MultiFernet` and without a lifetime, so the time in a token is only told.

use aes::Aes128;
use cbc::cipher::block_padding::Pkcs7;
use cbc::cipher::{BlockDecryptMut, KeyIvInit};
use hmac::{Hmac, Mac};
use jiff::{SignedDuration, Timestamp};
use sha2::Sha256;
use zeroize::Zeroizing;

use crate::decode::url_safe;
use crate::key::FernetKey;
use crate::keyring::Keyring;

/// A token (Fernet specification, Token Format): version, time, initialization vector, ciphertext, HMAC.
#[derive(Debug, Clone)]
pub struct Token {
    bytes: Vec<u8>,
}

impl Token {
    /// Reads a token as Python does.
    ///
    /// # Errors
    /// When the text is no token of version 0x80 with all its parts.
    pub fn parse(text: &[u8]) -> Result<Token, NoToken> {
        let bytes = url_safe(text).map_err(|_| NoToken::NotEncoded)?.to_vec();
        match bytes.first() {
            None => Err(NoToken::Empty),
            Some(&VERSION) if bytes.len() >= OVERHEAD => Ok(Token { bytes }),
            Some(&VERSION) => Err(NoToken::TooShort),
            Some(_) => Err(NoToken::OtherVersion),
        }
    }

    /// When it was made, by the clock of the cluster that made it; `None` = no calendar has the time.
    pub fn made_at(&self) -> Option<Timestamp> {
        let seconds: [u8; 8] = self.bytes[1..9].try_into().ok()?;
        Timestamp::from_second(i64::from_be_bytes(seconds)).ok()
    }

    /// How long ago that was; negative = it lies in the future.
    pub fn age(&self, now: Timestamp) -> Option<SignedDuration> {
        Some(now.duration_since(self.made_at()?))
    }

    /// What the token says, if this key made it.
    ///
    /// # Errors
    /// Where Python raises `InvalidToken`.
    pub fn decrypt(&self, key: &FernetKey) -> Result<Zeroizing<Vec<u8>>, InvalidToken> {
        let (signed, signature) = self.bytes.split_at(self.bytes.len() - SIGNATURE);
        let mut mac = <Hmac<Sha256> as Mac>::new_from_slice(key.signing())
            .expect("HMAC takes a key of any length");
        mac.update(signed);
        mac.verify_slice(signature)
            .map_err(|_| InvalidToken::OtherKey)?;
        let (vector, ciphertext) = signed[9..].split_at(BLOCK);
        let cipher = cbc::Decryptor::<Aes128>::new_from_slices(key.encryption(), vector)
            .map_err(|_| InvalidToken::Damaged)?;
        let mut buffer = Zeroizing::new(ciphertext.to_vec());
        let length = cipher
            .decrypt_padded_mut::<Pkcs7>(&mut buffer)
            .map_err(|_| InvalidToken::Damaged)?
            .len();
        buffer.truncate(length);
        Ok(buffer)
    }

    /// Which key of the list decrypts it, counted from 1; `None` = none does.
    pub fn decrypted_by(&self, keyring: &Keyring) -> Option<usize> {
        let mut keys = keyring.keys().iter();
        keys.position(|key| self.decrypt(key).is_ok())
            .map(|index| index + 1)
    }
}

/// Why a text is no token; no part of it is repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoToken {
    /// There is nothing.
    #[error("it is empty")]
    Empty,
    /// It is no base64.
    #[error("it is not base64; tokens begin with gAAAAA")]
    NotEncoded,
    /// Its first byte is another one.
    #[error("it does not begin as a token does, with gAAAAA")]
    OtherVersion,
    /// Parts are missing.
    #[error("it is too short: a part of it was cut off")]
    TooShort,
}

/// Why a key does not decrypt a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidToken {
    /// Another key made it, or it was changed since.
    #[error("another key made it")]
    OtherKey,
    /// The key made it, and its ciphertext is damaged.
    #[error("its ciphertext is damaged")]
    Damaged,
}

const VERSION: u8 = 0x80;
const BLOCK: usize = 16;
const SIGNATURE: usize = 32;

/// The bytes of a token beside its ciphertext.
const OVERHEAD: usize = 1 + 8 + BLOCK + SIGNATURE;

#[cfg(test)]
mod tests;
