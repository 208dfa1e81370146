//! The vectors of the Fernet specification, and what its last three say that Python does not.

use super::*;
use crate::decode::decode;
use crate::keyring::tests::ring;

const VALID: &str = "gAAAAAAdwJ6wAAECAwQFBgcICQoLDA0ODy021cpGVWKZ_eEwCGM4BLLF_5CV9dOPmrhuVUPgJobwOz7JcbmrR64jVmpU4IwqDA==";

fn key() -> FernetKey {
    decode(b"cw_0x689RpI-jtRR7oE8h_eQsKImvJapLeSbXpwF4e4=")
        .expect("it is the specification's")
        .key
}

fn time(text: &str) -> Timestamp {
    text.parse().expect("it is RFC 3339")
}

/// What the specification's verifier says with a lifetime of 60 s, which Airflow does not use.
fn verified(text: &str, now: &str) -> Result<Vec<u8>, String> {
    let token = Token::parse(text.as_bytes()).map_err(|error| error.to_string())?;
    let message = token.decrypt(&key()).map_err(|error| error.to_string())?;
    match token.age(time(now)).map(|age| age.as_secs()) {
        Some(age) if age > 60 => Err("expired".to_owned()),
        Some(age) if age < -60 => Err("from the future".to_owned()),
        _ => Ok(message.to_vec()),
    }
}

const NOW: &str = "1985-10-26T01:20:01-07:00";

#[test]
fn the_vectors_that_verify_do() {
    assert_eq!(verified(VALID, NOW), Ok(b"hello".to_vec()));
    let token = Token::parse(VALID.as_bytes()).expect("it is a token");
    assert_eq!(token.made_at(), Some(time("1985-10-26T01:20:00-07:00")));
}

#[test]
fn the_vectors_that_are_invalid_are() {
    let other_key = InvalidToken::OtherKey.to_string();
    let damaged = InvalidToken::Damaged.to_string();
    let table = [
        (
            "gAAAAAAdwJ6xAAECAwQFBgcICQoLDA0OD3HkMATM5lFqGaerZ-fWPAl1-szkFVzXTuGb4hR8AKtwcaX1YdykQUFBQUFBQUFBQQ==",
            NOW,
            other_key.clone(),
        ),
        (
            "gAAAAAAdwJ6xAAECAwQFBgcICQoLDA0OD3HkMATM5lFqGaerZ-fWPA==",
            NOW,
            NoToken::TooShort.to_string(),
        ),
        (
            "%%%%%%%%%%%%%AECAwQFBgcICQoLDA0OD3HkMATM5lFqGaerZ-fWPAl1-szkFVzXTuGb4hR8AKtwcaX1YdykRtfsH-p1YsUD2Q==",
            NOW,
            NoToken::NotEncoded.to_string(),
        ),
        (
            "gAAAAAAdwJ6xAAECAwQFBgcICQoLDA0OD3HkMATM5lFqGaerZ-fWPOm73QeoCk9uGib28Xe5vz6oxq5nmxbx_v7mrfyudzUm",
            NOW,
            damaged.clone(),
        ),
        (
            "gAAAAAAdwJ6xAAECAwQFBgcICQoLDA0ODz4LEpdELGQAad7aNEHbf-JkLPIpuiYRLQ3RtXatOYREu2FWke6CnJNYIbkuKNqOhw==",
            NOW,
            damaged.clone(),
        ),
        (
            "gAAAAAAdwStRAAECAwQFBgcICQoLDA0OD3HkMATM5lFqGaerZ-fWPAnja1xKYyhd-Y6mSkTOyTGJmw2Xc2a6kBd-iX9b_qXQcw==",
            NOW,
            "from the future".to_owned(),
        ),
        (
            "gAAAAAAdwJ6xAAECAwQFBgcICQoLDA0OD3HkMATM5lFqGaerZ-fWPAl1-szkFVzXTuGb4hR8AKtwcaX1YdykRtfsH-p1YsUD2Q==",
            "1985-10-26T01:21:31-07:00",
            "expired".to_owned(),
        ),
        (
            "gAAAAAAdwJ6xBQECAwQFBgcICQoLDA0OD3HkMATM5lFqGaerZ-fWPAkLhFLHpGtDBRLRTZeUfWgHSv49TF2AUEZ1TIvcZjK1zQ==",
            NOW,
            damaged,
        ),
    ];
    for (text, now, expected) in table {
        assert_eq!(verified(text, now), Err(expected), "{text}");
    }
}

/// The specification asks for strict base64; Python, and so Airflow, reads these three.
#[test]
fn the_vectors_of_strict_base64_are_read_as_python_reads_them() {
    for text in [
        "gAAAAAAdwJ6wAAECAwQFBgcICQoLDA0ODy021cpGVWKZ_eEwCGM4BLLF_5CV9dOPmrhuVUPgJobwOz7JcbmrR64jVmpU4IwqDA==trailingdata",
        "*gAAAAAAdwJ6wAAECAwQFBgcI!CQoLDA0ODy021?cpGVWKZ_eEwC@GM4BLLF_5CV9dOPmrhuVUPgJobwOz7JcbmrR64jVmpU4IwqDA==",
        "gAAAAAAdwJ6wAAECAwQFBgcICQoLDA0ODy021cpGVWKZ/eEwCGM4BLLF/5CV9dOPmrhuVUPgJobwOz7JcbmrR64jVmpU4IwqDA==",
    ] {
        assert_eq!(verified(text, NOW), Ok(b"hello".to_vec()), "{text}");
    }
}

#[test]
fn a_token_is_decrypted_by_any_key_of_the_list() {
    let token = Token::parse(VALID.as_bytes()).expect("it is a token");
    assert_eq!(token.decrypted_by(&ring(&[1, 2])), None);
    assert_eq!(token.decrypted_by(&ring(&[1, 2]).and(&[key()])), Some(3));
    assert_eq!(token.decrypted_by(&Keyring::single(key())), Some(1));
}

#[test]
fn what_is_no_token_is_called_so() {
    for (text, expected) in [
        ("", NoToken::Empty),
        ("hello", NoToken::NotEncoded),
        ("aGVsbG8gd29ybGQh", NoToken::OtherVersion),
        ("gAAAAA==", NoToken::TooShort),
    ] {
        assert_eq!(
            Token::parse(text.as_bytes()).err(),
            Some(expected),
            "{text:?}"
        );
    }
}
