//! Values that are not plain PEM.

use crate::cases::{Case, case, made, plain};
use crate::folder::Made;

pub(super) const CASES: &[Case] = &[
    case(
        "der_is_read_and_told",
        |folder| {
            plain(folder);
            folder.openssl("x509 -in leaf.crt -outform DER -out leaf.der");
            folder.join("leaf.crt", &["leaf.der"]);
            folder.remove("leaf.der");
        },
        &["leaf.crt warning der-encoded"],
        None,
    ),
    case(
        "base64_once_too_often_is_read_and_told",
        |folder| {
            plain(folder);
            folder.openssl("base64 -in leaf.crt -out again.b64");
            folder.join("leaf.crt", &["again.b64"]);
            folder.remove("again.b64");
        },
        &["leaf.crt error double-encoded"],
        None,
    ),
    case(
        "an_empty_certificate_is_told",
        |folder| {
            plain(folder);
            folder.write("leaf.crt", "");
        },
        &["leaf.crt error empty-value"],
        None,
    ),
    case(
        "a_truncated_certificate_is_told",
        |folder| {
            plain(folder);
            let mut text = folder.read("leaf.crt");
            text.truncate(text.len() / 2);
            folder.write("leaf.crt", text);
        },
        &["leaf.crt error unparsable"],
        Some(false),
    ),
    case(
        "text_around_the_blocks_is_fine",
        |folder| {
            plain(folder);
            let text = [
                b"Bag Attributes\n  \xff\xfe\n".to_vec(),
                folder.read("leaf.crt"),
                b"\nmore \xff\n".to_vec(),
            ]
            .concat();
            folder.write("leaf.crt", text);
        },
        &[],
        Some(true),
    ),
    case(
        "windows_line_ends_are_fine",
        |folder| {
            plain(folder);
            let text = String::from_utf8(folder.read("leaf.crt"))
                .expect("PEM is text")
                .replace('\n', "\r\n");
            folder.write("leaf.crt", text);
        },
        &[],
        Some(true),
    ),
    case(
        "a_trusted_certificate_is_passed_over_by_go",
        |folder| {
            plain(folder);
            folder.openssl("x509 -in leaf.crt -trustout -addtrust serverAuth -out trusted.pem");
            folder.join("leaf.crt", &["trusted.pem"]);
            folder.remove("trusted.pem");
        },
        &["leaf.crt error passed-over"],
        Some(true),
    ),
    case(
        "a_request_is_no_certificate",
        |folder| {
            plain(folder);
            folder.join("leaf.crt", &["leaf.csr"]);
        },
        &["leaf.crt error unparsable"],
        Some(false),
    ),
    case(
        "a_keystore_is_not_opened",
        |folder| {
            plain(folder);
            folder.openssl(
                "pkcs12 -export -in leaf.crt -inkey leaf.key -passout pass:x -out leaf.p12",
            );
        },
        &["leaf.p12 unknown unopened"],
        Some(true),
    ),
    case(
        "a_renewed_copy_beside_the_old_one_is_told",
        |folder| {
            plain(folder);
            folder.join("copy.crt", &["leaf.crt"]);
            folder.sign(Made {
                with: "-days 400",
                ..made(Some("ca"))
            });
        },
        &["copy.crt warning copies-differ"],
        Some(true),
    ),
    case(
        "an_indented_block_is_not_seen_by_go",
        |folder| {
            plain(folder);
            let text = String::from_utf8(folder.read("leaf.crt")).expect("PEM is text");
            folder.write(
                "leaf.crt",
                text.lines()
                    .map(|line| format!("  {line}\n"))
                    .collect::<String>(),
            );
        },
        &["leaf.crt error passed-over"],
        Some(false),
    ),
];
