use super::*;

/// The key of the Fernet specification.
const KEY: &str = "cw_0x689RpI-jtRR7oE8h_eQsKImvJapLeSbXpwF4e4=";

fn bytes() -> Vec<u8> {
    url_safe(KEY.as_bytes())
        .map(|bytes| bytes.to_vec())
        .unwrap_or_default()
}

#[track_caller]
fn accepted(text: &str, oddities: &[Oddity]) {
    match decode(text.as_bytes()) {
        Ok(decoded) => {
            assert_eq!(decoded.key.bytes(), bytes(), "the key of {text:?}");
            let form = match oddities {
                [] => Form::Canonical,
                oddities => Form::Lenient(oddities.to_vec()),
            };
            assert_eq!(decoded.form, form, "{text:?}");
        }
        Err(rejection) => panic!("{text:?}: {rejection}"),
    }
}

#[track_caller]
fn rejected(text: &str, rejection: Rejection) {
    match decode(text.as_bytes()) {
        Ok(_) => panic!("{text:?} is accepted"),
        Err(found) => assert_eq!(found, rejection, "{text:?}"),
    }
}

#[test]
fn the_halves_are_those_of_the_specification() {
    let decoded = decode(KEY.as_bytes()).expect("it is the specification's");
    let hexadecimal = |bytes: &[u8]| {
        bytes
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect::<String>()
    };
    assert_eq!(
        hexadecimal(decoded.key.signing()),
        "730ff4c7af3d46923e8ed451ee813c87"
    );
    assert_eq!(
        hexadecimal(decoded.key.encryption()),
        "f790b0a226bc96a92de49b5e9c05e1ee"
    );
    assert_eq!(*decoded.key.text(), KEY);
}

#[test]
fn what_python_is_lenient_about_gives_the_same_key() {
    use Oddity::*;
    accepted(KEY, &[]);
    accepted(
        &KEY.replace('-', "+").replace('_', "/"),
        &[StandardAlphabet],
    );
    accepted(&format!("{KEY}\n"), &[WhiteSpace]);
    accepted(&format!("{KEY}\r\n"), &[WhiteSpace]);
    accepted(&format!(" {KEY}"), &[WhiteSpace]);
    accepted(&format!("{}\n{}", &KEY[..20], &KEY[20..]), &[WhiteSpace]);
    accepted(&format!("\"{KEY}\""), &[ForeignCharacters]);
    accepted(&format!("!!{KEY}**"), &[ForeignCharacters]);
    accepted(&format!("\u{feff}{KEY}"), &[ForeignCharacters]);
    accepted(&format!("\u{a0}{KEY}"), &[ForeignCharacters]);
    accepted(&format!("{KEY}="), &[ExtraPadding]);
    accepted(&format!("={KEY}"), &[ExtraPadding]);
    accepted(&format!("{}={}", &KEY[..10], &KEY[10..]), &[ExtraPadding]);
    accepted(&format!("{KEY}AAAA"), &[TrailingData]);
    accepted(&format!("{}5=", &KEY[..42]), &[UnusedBits]);
}

#[test]
fn what_python_refuses_is_refused_with_its_reason() {
    rejected(&KEY[..43], Rejection::Unpadded);
    rejected(&format!("{}\n", &KEY[..43]), Rejection::Unpadded);
    rejected("", Rejection::EmptyPart);
    rejected(" ", Rejection::EmptyPart);
    rejected("deadbeef", Rejection::Placeholder);
    rejected("<no value>", Rejection::Placeholder);
    rejected(&"ab".repeat(32), Rejection::Hexadecimal(64));
    rejected(&"ab".repeat(16), Rejection::Hexadecimal(32));
    rejected(&"x".repeat(32), Rejection::NeverEncoded);
    rejected(
        "Y3dfMHg2ODlScEktanRSUjdvRThoX2VRc0tJbXZKYXBMZVNiWHB3RjRlND0=",
        Rejection::EncodedTwice,
    );
    rejected(
        "ZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZ",
        Rejection::Length(33),
    );
    rejected("gQ==", Rejection::Length(1));
    rejected("gQ", Rejection::Uneven);
    rejected(
        &format!("{}=={}", &KEY[..10], &KEY[10..]),
        Rejection::Length(7),
    );
    rejected(
        &format!("{}={}", &KEY[..3], &KEY[3..]),
        Rejection::Length(2),
    );
}

#[test]
fn no_reason_repeats_the_text() {
    for text in ["hunter2hunter2", "deadbeef", "Zm9vYmFyYmF6"] {
        let rejection = decode(text.as_bytes()).expect_err("it is no key");
        assert!(!rejection.to_string().contains(text), "{rejection}");
        assert!(!format!("{rejection:?}").contains(text), "{rejection:?}");
    }
}
