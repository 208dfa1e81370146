use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use rcgen::{CertificateParams, KeyPair};

use super::*;

fn certificate() -> (String, String) {
    let key = KeyPair::generate().expect("the provider makes keys");
    let certificate = CertificateParams::new(vec!["localhost".to_owned()])
        .expect("the name is valid")
        .self_signed(&key)
        .expect("a certificate signs itself");
    (certificate.pem(), key.serialize_pem())
}

/// What is found, in words, with the way to it.
fn words(bytes: &[u8], expectation: Expectation) -> Vec<String> {
    read(bytes, expectation)
        .into_iter()
        .map(|found| {
            let what = match found.what {
                Material::Certificates(certificates) => {
                    format!("{} certificates", certificates.len())
                }
                Material::Key(key) => match key.public {
                    Some(_) => format!("key {:?}", key.form),
                    None => "key without public half".to_owned(),
                },
                Material::Token(token) => format!("token of {}", token.subject.unwrap_or_default()),
                Material::Context(context) => {
                    format!(
                        "context {} of {}",
                        context.name,
                        context.server.unwrap_or_default()
                    )
                }
                Material::Fault(fault) => format!("{fault:?}"),
            };
            match found.inside.is_empty() {
                true => what,
                false => format!("{}: {what}", found.inside),
            }
        })
        .collect()
}

fn der_of(pem: &str) -> Vec<u8> {
    let base64: String = pem.lines().filter(|line| !line.starts_with('-')).collect();
    STANDARD.decode(base64).expect("PEM holds base64")
}

#[test]
fn values_are_recognised_whatever_they_are_called() {
    let (certificate, key) = certificate();
    let nothing = Expectation::Nothing;
    let both = format!("{certificate}{key}{certificate}");
    assert_eq!(words(certificate.as_bytes(), nothing), ["1 certificates"]);
    assert_eq!(words(key.as_bytes(), nothing), ["key Pkcs8"]);
    assert_eq!(
        words(both.as_bytes(), nothing),
        ["key Pkcs8", "2 certificates"]
    );
    assert_eq!(
        words(&der_of(&certificate), nothing),
        ["1 certificates", "Der"]
    );
    assert_eq!(words(&der_of(&key), nothing), ["key Pkcs8", "Der"]);
    for other in [
        "",
        "   ",
        "hunter2",
        "a: b\n",
        "{}",
        "MTIzNDU2Nzg5MDEyMzQ1Ng==",
    ] {
        assert_eq!(words(other.as_bytes(), nothing), [""; 0], "{other}");
    }
}

#[test]
fn base64_is_opened_as_often_as_it_was_made_up_to_a_limit() {
    let (certificate, _) = certificate();
    let once = STANDARD.encode(&certificate);
    let twice = STANDARD.encode(&once);
    let often = (0..8).fold(certificate.clone(), |text, _| STANDARD.encode(text));
    let of = |text: &str| words(text.as_bytes(), Expectation::Certificate);
    assert_eq!(of(&once), ["1 certificates", "DoubleEncoded(1)"]);
    assert_eq!(of(&twice), ["1 certificates", "DoubleEncoded(2)"]);
    assert!(of(&often)[0].starts_with("Unparsable"));
}

#[test]
fn kubeconfigs_are_opened_with_all_that_they_embed() {
    let (certificate, key) = certificate();
    let part = |text: &str| URL_SAFE_NO_PAD.encode(text);
    let token = format!(
        "{}.{}.c2ln",
        part(r#"{"alg":"RS256"}"#),
        part(r#"{"sub":"me"}"#)
    );
    let kubeconfig = format!(
        "apiVersion: v1\nkind: Config\nclusters:\n- name: c\n  cluster:\n    server: https://s:1\n    certificate-authority-data: {0}\nusers:\n- name: u\n  user:\n    client-certificate-data: {0}\n    client-key-data: {1}\n    token: {token}\ncontexts:\n- name: x\n  context: {{cluster: c, user: u}}\n",
        STANDARD.encode(&certificate),
        STANDARD.encode(&key)
    );
    let expected = [
        "clusters[c]/certificate-authority-data: 1 certificates",
        "users[u]/client-certificate-data: 1 certificates",
        "users[u]/client-key-data: key Pkcs8",
        "users[u]/token: token of me",
        "context x of https://s:1",
    ];
    assert_eq!(words(kubeconfig.as_bytes(), Expectation::Nothing), expected);
    let json: serde_json::Value = serde_saphyr::from_str(&kubeconfig).expect("it is YAML");
    assert_eq!(
        words(json.to_string().as_bytes(), Expectation::Kubeconfig),
        expected
    );
}

#[test]
fn values_that_hold_nothing_are_told_where_something_was_promised() {
    let cases: [(&[u8], Expectation, &str); 8] = [
        (b"", Expectation::Certificate, "Empty"),
        (b" \n", Expectation::Token, "Empty"),
        (b"hello", Expectation::Certificate, "Unparsable"),
        (b"hello", Expectation::Key, "Unparsable"),
        (
            &[0x30, 0x82, 0x01, 0x00, 0x00],
            Expectation::Certificate,
            "Unparsable(\"looks like DER",
        ),
        (b"a: [", Expectation::Kubeconfig, "Unparsable"),
        (
            b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
            Expectation::Nothing,
            "Unparsable(\"block 1 (CERTIFICATE)",
        ),
        (
            b"-----BEGIN CERTIFICATE-----\nAAAA",
            Expectation::Nothing,
            "Unparsable(\"block 1 (CERTIFICATE) has no END",
        ),
    ];
    for (bytes, expectation, expected) in cases {
        let found = words(bytes, expectation);
        let found = found.first().map_or("", String::as_str);
        assert!(
            found.starts_with(expected),
            "{}: {found}",
            bytes.escape_ascii()
        );
    }
}

#[test]
fn ca_bundles_are_found_in_any_document() {
    let (certificate, _) = certificate();
    let encoded = STANDARD.encode(&certificate);
    let document = format!(
        "apiVersion: v1\nkind: X\nwebhooks:\n- name: w\n  clientConfig:\n    caBundle: {encoded}\n"
    );
    assert_eq!(
        words(document.as_bytes(), Expectation::Nothing),
        ["webhooks[w]/clientConfig/caBundle: 1 certificates"]
    );
}

#[test]
fn text_of_powershell_is_read_and_told() {
    let (certificate, _) = certificate();
    let mut bytes = vec![0xff, 0xfe];
    bytes.extend(certificate.encode_utf16().flat_map(u16::to_le_bytes));
    let found = words(&bytes, Expectation::Certificate);
    assert_eq!(found[0], "1 certificates");
    assert!(found[1].starts_with("Invisible"), "{found:?}");
}

#[test]
fn large_values_are_read_in_time() {
    let (certificate, _) = certificate();
    let many = certificate.repeat(10 * 1024 * 1024 / certificate.len());
    let found = read(many.as_bytes(), Expectation::Certificate);
    assert!(matches!(&found[0].what, Material::Certificates(all) if all.len() > 10_000));
    let garbage = vec![0x30; 10 * 1024 * 1024];
    assert_eq!(words(&garbage, Expectation::Nothing), [""; 0]);
    let begins = b"-----BEGIN ".repeat(1024 * 1024);
    assert!(words(&begins, Expectation::Nothing).len() <= 20);
    let huge = vec![b'A'; 33 * 1024 * 1024];
    assert_eq!(words(&huge, Expectation::Nothing), ["TooLarge(34603008)"]);
}

#[test]
fn nothing_of_a_secret_is_kept() {
    let (_, key) = certificate();
    let private = &key.lines().nth(1).expect("PEM has lines")[..40];
    let text = format!("{:?}", read(key.as_bytes(), Expectation::Key));
    assert!(!text.contains(private));
}
