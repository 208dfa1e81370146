use jiff::Timestamp;
use rcgen::{CertificateParams, KeyPair};

use super::*;
use crate::der::{self, GENERALIZED_TIME, SEQUENCE, UTC_TIME};

fn made() -> Vec<u8> {
    let key = KeyPair::generate().expect("the provider makes keys");
    let certificate = CertificateParams::new(vec!["localhost".to_owned()])
        .expect("the name is valid")
        .self_signed(&key)
        .expect("a certificate signs itself");
    certificate.der().to_vec()
}

fn element(tag: u8, content: &[u8]) -> Vec<u8> {
    let length = content.len();
    let mut bytes = vec![tag];
    match u8::try_from(length) {
        Ok(short @ 0..=0x7f) => bytes.push(short),
        _ => {
            bytes.push(0x82);
            bytes.extend(u16::try_from(length).expect("it is short").to_be_bytes());
        }
    }
    bytes.extend(content);
    bytes
}

/// A certificate whose signed part has another field in the place of one, which breaks its signature and nothing else.
fn with_field(index: usize, field: &[u8]) -> Vec<u8> {
    let der = made();
    let outer = der::only(&der).expect("it is a sequence");
    let mut parts = outer.children();
    let signed = parts.next().expect("it has a signed part");
    let fields: Vec<u8> = signed
        .children()
        .enumerate()
        .flat_map(|(at, element)| match at == index {
            true => field.to_vec(),
            false => element.whole.to_vec(),
        })
        .collect();
    let rest: Vec<u8> = parts.flat_map(|part| part.whole.to_vec()).collect();
    element(SEQUENCE, &[element(SEQUENCE, &fields), rest].concat())
}

fn with_times(tag: u8, times: [&str; 2]) -> Vec<u8> {
    let times = times.map(|time| element(tag, time.as_bytes()));
    with_field(VALIDITY, &element(SEQUENCE, &times.concat()))
}

const SERIAL: usize = 1;
const VALIDITY: usize = 4;

#[test]
fn times_are_read_in_every_form_that_go_reads() {
    let cases = [
        (UTC_TIME, "260101000000Z", "2026-01-01T00:00:00Z", 0),
        (UTC_TIME, "490101000000Z", "2049-01-01T00:00:00Z", 0),
        (UTC_TIME, "500101000000Z", "1950-01-01T00:00:00Z", 0),
        (UTC_TIME, "991231235959Z", "1999-12-31T23:59:59Z", 0),
        (
            GENERALIZED_TIME,
            "20260101000000Z",
            "2026-01-01T00:00:00Z",
            0,
        ),
        (
            GENERALIZED_TIME,
            "20500101000000Z",
            "2050-01-01T00:00:00Z",
            0,
        ),
    ];
    for (tag, text, expected, defects) in cases {
        let parsed = Certificate::parse(&with_times(tag, [text, text])).expect("it parses");
        assert_eq!(parsed.not_after.to_string(), expected, "{text}");
        assert_eq!(parsed.defects.len(), defects, "{text}");
    }
}

#[test]
fn the_end_of_time_is_the_latest_that_can_be_held() {
    let der = with_times(GENERALIZED_TIME, ["20260101000000Z", "99991231235959Z"]);
    let parsed = Certificate::parse(&der).expect("it parses");
    assert_eq!(parsed.not_after, Timestamp::MAX);
    assert_eq!(parsed.defects, []);
}

#[test]
fn odd_times_are_never_fine() {
    let cases = [
        (UTC_TIME, "2601010000Z"),
        (UTC_TIME, "260101000000+0100"),
        (GENERALIZED_TIME, "20260101000000.5Z"),
        (GENERALIZED_TIME, "20260101000000"),
        (UTC_TIME, "261301000000Z"),
        (UTC_TIME, ""),
        (GENERALIZED_TIME, "hello"),
    ];
    for (tag, text) in cases {
        let fine = Certificate::parse(&with_times(tag, [text, text]))
            .is_ok_and(|parsed| parsed.defects.is_empty());
        assert!(!fine, "{text}");
    }
}

#[test]
fn serial_numbers_of_any_sign_and_length_are_read() {
    let cases: [(&[u8], bool); 4] = [
        (&[0x00], false),
        (&[0x7f; 25], false),
        (&[0x80], true),
        (&[0xff, 0x01], true),
    ];
    for (serial, negative) in cases {
        let der = with_field(SERIAL, &element(der::INTEGER, serial));
        let parsed = Certificate::parse(&der).expect("it parses");
        assert_eq!(parsed.serial, hexadecimal(serial));
        let told = parsed.defects.contains(&Defect::NegativeSerial);
        assert_eq!(told, negative, "{serial:?}");
    }
}

#[test]
fn bytes_after_a_certificate_are_a_defect_of_it() {
    let mut der = made();
    let whole = Certificate::parse(&der).expect("it parses").fingerprint;
    der.extend(b"xx");
    let parsed = Certificate::parse(&der).expect("it parses");
    assert_eq!(parsed.fingerprint, whole);
    assert_eq!(parsed.defects, [Defect::TrailingBytes(2)]);
}

#[test]
fn no_bytes_make_the_parser_fall_over() {
    let der = made();
    for length in 0..der.len() {
        assert!(Certificate::parse(&der[..length]).is_err(), "{length}");
    }
    for at in 0..der.len() {
        for bit in [0x01, 0x80] {
            let mut broken = der.clone();
            broken[at] ^= bit;
            let _ = Certificate::parse(&broken);
        }
    }
}
