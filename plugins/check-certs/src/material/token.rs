//! Bearer tokens that are JWTs (RFC 7519): their claims about time and bearer. Pure.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;

/// What a token says of itself; the token is not kept.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Token {
    /// The claim `sub`; `None` = it names nobody.
    pub subject: Option<String>,
    /// The claim `iat`, else `nbf`; `None` = it does not say since when it is valid.
    pub issued: Option<Timestamp>,
    /// The claim `nbf`; `None` = valid at once.
    pub not_before: Option<Timestamp>,
    /// The claim `exp`; `None` = it never ends, as the tokens in Secrets of Kubernetes do not.
    pub expires: Option<Timestamp>,
}

/// The claims of a text that is a JWT; `None` = it is none.
pub(super) fn token(text: &str) -> Option<Token> {
    let text = text.trim();
    if text.len() > LONGEST || !text.starts_with("ey") {
        return None;
    }
    let mut parts = text.split('.');
    let (header, claims, _signature) = (parts.next()?, parts.next()?, parts.next()?);
    if parts.next().is_some() {
        return None;
    }
    let header: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(header).ok()?).ok()?;
    header.get("alg")?;
    let claims: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(claims).ok()?).ok()?;
    let claims = claims.as_object()?;
    let time = |name: &str| {
        let seconds = claims.get(name)?;
        // RFC 7519 allows fractions (NumericDate).
        let seconds = seconds.as_i64().or_else(|| {
            let seconds = seconds.as_f64()?;
            (seconds.abs() < 9e15).then_some(seconds as i64)
        })?;
        Some(Timestamp::from_second(seconds).unwrap_or(if seconds < 0 {
            Timestamp::MIN
        } else {
            Timestamp::MAX
        }))
    };
    Some(Token {
        subject: claims.get("sub").and_then(Value::as_str).map(str::to_owned),
        issued: time("iat").or_else(|| time("nbf")),
        not_before: time("nbf"),
        expires: time("exp"),
    })
}

const LONGEST: usize = 64 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    fn jwt(claims: &str) -> String {
        let part = |text: &str| URL_SAFE_NO_PAD.encode(text);
        format!("{}.{}.c2ln", part(r#"{"alg":"RS256"}"#), part(claims))
    }

    #[test]
    fn claims_are_read_whatever_their_numbers_look_like() {
        let cases = [
            (
                r#"{"sub":"a","iat":1700000000,"exp":1800000000}"#,
                Some(1_800_000_000),
            ),
            (r#"{"sub":"a","exp":1800000000.9}"#, Some(1_800_000_000)),
            (r#"{"sub":"a"}"#, None),
            (r#"{"sub":"a","exp":"soon"}"#, None),
        ];
        for (claims, expires) in cases {
            let token = token(&jwt(claims)).expect("it is a token");
            assert_eq!(token.expires.map(Timestamp::as_second), expires, "{claims}");
            assert_eq!(token.subject.as_deref(), Some("a"));
        }
    }

    #[test]
    fn other_texts_are_no_tokens() {
        for text in [
            "",
            "a.b.c",
            "eyJ.eyJ.x",
            "eyJhbGciOiJub25lIn0",
            "abcdef.0123456789abcdef",
        ] {
            assert_eq!(token(text), None, "{text}");
        }
    }
}
