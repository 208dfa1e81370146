//! The cases: what is made, what must be found, what `openssl verify` must say.

use crate::folder::{CA, Days, Folder, Made, P256};

/// One case.
pub(crate) struct Case {
    /// A fact in the present tense.
    pub(crate) name: &'static str,
    /// Makes its files.
    pub(crate) make: fn(&Folder),
    /// When it is looked at.
    pub(crate) now: Days,
    /// What must be found, sorted.
    pub(crate) expected: &'static [&'static str],
    /// What `openssl verify` must say of `leaf.crt`; `None` = it is not asked, since it judges by other rules than Go.
    pub(crate) openssl: Option<bool>,
}

const SAN: &str = "subjectAltName=DNS:localhost,IP:10.0.0.1";

const fn case(
    name: &'static str,
    make: fn(&Folder),
    expected: &'static [&'static str],
    openssl: Option<bool>,
) -> Case {
    Case {
        name,
        make,
        now: Days(0),
        expected,
        openssl,
    }
}

const fn later(days: i64, case: Case) -> Case {
    Case {
        now: Days(days),
        ..case
    }
}

fn made(by: Option<&'static str>) -> Made<'static> {
    Made {
        name: "leaf",
        key: P256,
        subject: "/CN=leaf",
        extensions: &[SAN],
        by,
        with: "-days 300",
    }
}

fn plain(folder: &Folder) {
    folder.ca();
    folder.leaf(&[SAN]);
}

fn keyed(folder: &Folder, key: &'static str) {
    folder.ca();
    folder.make(Made {
        key,
        ..made(Some("ca"))
    });
}

fn authority(
    folder: &Folder,
    key: &'static str,
    extensions: &'static [&'static str],
    with: &'static str,
) {
    folder.make(Made {
        name: "ca",
        key,
        subject: "/CN=ca",
        extensions,
        by: None,
        with,
    });
}

fn between(folder: &Folder, extensions: &'static [&'static str]) {
    folder.make(Made {
        name: "between",
        key: P256,
        subject: "/CN=between",
        extensions,
        by: Some("ca"),
        with: "-days 3000",
    });
    folder.make(made(Some("between")));
}

pub(crate) const CASES: &[Case] = &[
    case("a_fresh_leaf_of_a_fresh_ca_is_fine", plain, &[], Some(true)),
    later(
        280,
        case(
            "a_leaf_within_thirty_days_of_its_end_is_a_warning",
            plain,
            &["leaf.crt warning expiring"],
            Some(true),
        ),
    ),
    later(
        301,
        case(
            "a_leaf_after_its_end_has_expired",
            plain,
            &["leaf.crt error expired"],
            Some(false),
        ),
    ),
    later(
        -1,
        case(
            "a_leaf_before_its_beginning_is_not_yet_valid",
            plain,
            &[
                "ca.crt error not-yet-valid",
                "leaf.crt error ca-not-yet-valid",
                "leaf.crt error not-yet-valid",
            ],
            Some(false),
        ),
    ),
    case(
        "a_leaf_that_lives_for_an_hour_is_not_warned_of_for_thirty_days",
        |folder| {
            folder.ca();
            folder.make(Made {
                with: "-days 3",
                ..made(Some("ca"))
            });
        },
        &[],
        Some(true),
    ),
    later(
        400,
        case(
            "an_expired_ca_breaks_its_leaves",
            |folder| {
                authority(folder, P256, CA, "-days 365");
                folder.make(Made {
                    with: "-days 1825",
                    ..made(Some("ca"))
                });
            },
            &["ca.crt error expired", "leaf.crt error ca-expired"],
            Some(false),
        ),
    ),
    case(
        "a_leaf_that_outlives_its_ca_is_a_warning",
        |folder| {
            authority(folder, P256, CA, "-days 365");
            folder.make(Made {
                with: "-days 1825",
                ..made(Some("ca"))
            });
        },
        &["leaf.crt warning ca-ends-first"],
        Some(true),
    ),
    case(
        "a_ca_of_the_same_name_with_another_key_is_told",
        |folder| {
            plain(folder);
            folder.make(Made {
                name: "ca",
                key: P256,
                subject: "/CN=ca",
                extensions: CA,
                by: None,
                with: "-days 3650",
            });
        },
        &["leaf.crt error issuer-key-differs"],
        Some(false),
    ),
    case(
        "both_the_old_and_the_new_ca_in_a_bundle_are_fine",
        |folder| {
            plain(folder);
            folder.join("old.pem", &["ca.crt"]);
            folder.make(Made {
                name: "ca",
                key: P256,
                subject: "/CN=ca",
                extensions: CA,
                by: None,
                with: "-days 3650",
            });
            folder.join("both.crt", &["ca.crt", "old.pem"]);
            folder.remove("old.pem");
            folder.join("ca.crt", &["both.crt"]);
            folder.remove("both.crt");
        },
        &[],
        Some(true),
    ),
    case(
        "a_ca_of_another_name_is_not_the_issuer",
        |folder| {
            plain(folder);
            folder.make(Made {
                name: "ca",
                key: P256,
                subject: "/CN=other",
                extensions: CA,
                by: None,
                with: "-days 3650",
            });
        },
        &["leaf.crt warning issuer-not-found"],
        Some(false),
    ),
    case(
        "a_key_of_another_certificate_is_told",
        |folder| {
            plain(folder);
            folder.openssl("genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out leaf.key");
        },
        &["leaf.key error key-mismatch"],
        Some(true),
    ),
    case(
        "keys_on_p384_match",
        |folder| keyed(folder, "-algorithm EC -pkeyopt ec_paramgen_curve:P-384"),
        &[],
        Some(true),
    ),
    case(
        "keys_on_p521_match",
        |folder| keyed(folder, "-algorithm EC -pkeyopt ec_paramgen_curve:P-521"),
        &[],
        Some(true),
    ),
    case(
        "ed25519_keys_match",
        |folder| keyed(folder, "-algorithm ED25519"),
        &[],
        Some(true),
    ),
    case(
        "rsa_keys_match",
        |folder| keyed(folder, "-algorithm RSA -pkeyopt rsa_keygen_bits:2048"),
        &[],
        Some(true),
    ),
    case(
        "sec1_keys_with_parameters_before_them_match",
        |folder| {
            plain(folder);
            folder.openssl("ec -in leaf.key -out sec1.pem");
            folder.openssl("ecparam -name prime256v1 -out parameters.pem");
            folder.join("leaf.key", &["parameters.pem", "sec1.pem"]);
            folder.remove("parameters.pem");
            folder.remove("sec1.pem");
        },
        &[],
        Some(true),
    ),
    case(
        "pkcs1_keys_match",
        |folder| {
            keyed(folder, "-algorithm RSA -pkeyopt rsa_keygen_bits:2048");
            folder.openssl("rsa -in leaf.key -traditional -out pkcs1.pem");
            folder.join("leaf.key", &["pkcs1.pem"]);
            folder.remove("pkcs1.pem");
        },
        &[],
        Some(true),
    ),
    case(
        "an_encrypted_key_is_unknown",
        |folder| {
            plain(folder);
            folder.openssl("pkcs8 -topk8 -in leaf.key -passout pass:x -out encrypted.pem");
            folder.join("leaf.key", &["encrypted.pem"]);
            folder.remove("encrypted.pem");
        },
        &["leaf.key unknown key-encrypted"],
        Some(true),
    ),
    case(
        "a_short_rsa_key_is_a_warning",
        |folder| keyed(folder, "-algorithm RSA -pkeyopt rsa_keygen_bits:1024"),
        &["leaf.crt warning weak-key"],
        Some(true),
    ),
    case(
        "a_very_short_rsa_key_is_an_error",
        |folder| keyed(folder, "-algorithm RSA -pkeyopt rsa_keygen_bits:512"),
        &["leaf.crt error weak-key"],
        None,
    ),
    case(
        "a_key_on_p224_is_an_error",
        |folder| keyed(folder, "-algorithm EC -pkeyopt ec_paramgen_curve:P-224"),
        &["leaf.crt error unsupported-key"],
        Some(true),
    ),
    case(
        "a_key_on_secp256k1_is_an_error",
        |folder| keyed(folder, "-algorithm EC -pkeyopt ec_paramgen_curve:secp256k1"),
        &[
            "leaf.crt error unsupported-key",
            "leaf.key error key-damaged",
        ],
        Some(true),
    ),
    case(
        "an_ed448_key_is_an_error",
        |folder| keyed(folder, "-algorithm ED448"),
        &[
            "leaf.crt error unsupported-key",
            "leaf.key error key-damaged",
        ],
        Some(true),
    ),
    case(
        "a_leaf_signed_with_sha1_is_refused",
        |folder| {
            authority(
                folder,
                "-algorithm RSA -pkeyopt rsa_keygen_bits:2048",
                CA,
                "-days 3650",
            );
            folder.make(Made {
                with: "-days 300 -sha1",
                ..made(Some("ca"))
            });
        },
        &["leaf.crt error weak-signature"],
        None,
    ),
    case(
        "a_leaf_signed_with_md5_is_refused",
        |folder| {
            authority(
                folder,
                "-algorithm RSA -pkeyopt rsa_keygen_bits:2048",
                CA,
                "-days 3650",
            );
            folder.make(Made {
                with: "-days 300 -md5",
                ..made(Some("ca"))
            });
        },
        &["leaf.crt error weak-signature"],
        None,
    ),
    case(
        "a_root_signed_with_sha1_is_fine",
        |folder| {
            authority(
                folder,
                "-algorithm RSA -pkeyopt rsa_keygen_bits:2048",
                CA,
                "-days 3650 -sha1",
            );
            folder.make(made(Some("ca")));
        },
        &[],
        Some(true),
    ),
    case(
        "a_ca_on_p521_is_fine",
        |folder| {
            authority(
                folder,
                "-algorithm EC -pkeyopt ec_paramgen_curve:P-521",
                CA,
                "-days 3650",
            );
            folder.make(made(Some("ca")));
        },
        &[],
        Some(true),
    ),
    case(
        "a_p256_ca_that_signs_with_sha512_is_fine",
        |folder| {
            folder.ca();
            folder.make(Made {
                with: "-days 300 -sha512",
                ..made(Some("ca"))
            });
        },
        &[],
        Some(true),
    ),
    case(
        "an_ed25519_ca_is_fine",
        |folder| {
            authority(folder, "-algorithm ED25519", CA, "-days 3650");
            folder.make(made(Some("ca")));
        },
        &[],
        Some(true),
    ),
    case(
        "an_rsa_4096_ca_that_signs_with_sha384_is_fine",
        |folder| {
            authority(
                folder,
                "-algorithm RSA -pkeyopt rsa_keygen_bits:4096",
                CA,
                "-days 3650",
            );
            folder.make(Made {
                with: "-days 300 -sha384",
                ..made(Some("ca"))
            });
        },
        &[],
        Some(true),
    ),
    case(
        "an_rsa_pss_signature_is_fine",
        |folder| {
            authority(
                folder,
                "-algorithm RSA -pkeyopt rsa_keygen_bits:2048",
                CA,
                "-days 3650",
            );
            folder.make(Made { with: "-days 300 -sha256 -sigopt rsa_padding_mode:pss -sigopt rsa_pss_saltlen:32 -sigopt rsa_mgf1_md:sha256", ..made(Some("ca")) });
        },
        &[],
        Some(true),
    ),
    case(
        "a_short_rsa_ca_is_a_warning",
        |folder| {
            authority(
                folder,
                "-algorithm RSA -pkeyopt rsa_keygen_bits:1024",
                CA,
                "-days 3650",
            );
            folder.make(made(Some("ca")));
        },
        &["ca.crt warning weak-key"],
        Some(true),
    ),
    case(
        "a_self_signed_leaf_is_its_own_anchor",
        |folder| {
            folder.make(Made {
                extensions: &[SAN, "basicConstraints=CA:FALSE"],
                ..made(None)
            });
            folder.join("ca.crt", &["leaf.crt"]);
        },
        &[],
        Some(true),
    ),
    case(
        "a_ca_that_is_shown_as_a_leaf_is_a_warning",
        |folder| {
            folder.make(Made {
                extensions: &[SAN, "basicConstraints=critical,CA:TRUE"],
                ..made(None)
            });
        },
        &["leaf.crt warning ca-as-leaf"],
        None,
    ),
    case(
        "a_version_1_leaf_is_a_warning",
        |folder| {
            folder.ca();
            folder.leaf(&[]);
        },
        &["leaf.crt warning old-version"],
        Some(true),
    ),
    case(
        "a_version_1_root_is_fine",
        |folder| {
            authority(folder, P256, &[], "-days 3650");
            folder.make(made(Some("ca")));
        },
        &[],
        Some(true),
    ),
    case(
        "a_version_3_root_without_constraints_is_refused",
        |folder| {
            authority(folder, P256, &["subjectKeyIdentifier=hash"], "-days 3650");
            folder.make(made(Some("ca")));
        },
        &["leaf.crt error leaf-as-ca"],
        None,
    ),
    case(
        "an_authority_that_may_not_sign_is_refused",
        |folder| {
            authority(
                folder,
                P256,
                &[
                    "basicConstraints=critical,CA:TRUE",
                    "keyUsage=digitalSignature",
                ],
                "-days 3650",
            );
            folder.make(made(Some("ca")));
        },
        &["leaf.crt error ca-may-not-sign"],
        Some(false),
    ),
    case(
        "an_intermediate_is_fine",
        |folder| {
            folder.ca();
            between(folder, CA);
            folder.join("leaf-chain.crt", &["leaf.crt", "between.crt"]);
        },
        &[],
        Some(true),
    ),
    case(
        "an_intermediate_that_is_no_ca_is_refused",
        |folder| {
            folder.ca();
            between(folder, &["basicConstraints=CA:FALSE"]);
        },
        &["leaf.crt error leaf-as-ca"],
        Some(false),
    ),
    case(
        "a_path_that_is_too_long_is_refused",
        |folder| {
            authority(
                folder,
                P256,
                &[
                    "basicConstraints=critical,CA:TRUE,pathlen:0",
                    "keyUsage=keyCertSign",
                ],
                "-days 3650",
            );
            between(folder, CA);
        },
        &["leaf.crt error path-too-long"],
        Some(false),
    ),
    case(
        "a_name_outside_the_constraints_is_refused",
        |folder| {
            authority(
                folder,
                P256,
                &[
                    "basicConstraints=critical,CA:TRUE",
                    "keyUsage=keyCertSign",
                    "nameConstraints=critical,permitted;DNS:example.org",
                ],
                "-days 3650",
            );
            folder.leaf(&["subjectAltName=DNS:localhost"]);
        },
        &["leaf.crt error name-not-allowed"],
        Some(false),
    ),
    case(
        "a_name_inside_the_constraints_is_fine",
        |folder| {
            authority(
                folder,
                P256,
                &[
                    "basicConstraints=critical,CA:TRUE",
                    "keyUsage=keyCertSign",
                    "nameConstraints=critical,permitted;DNS:example.org,permitted;IP:10.0.0.0/255.0.0.0",
                ],
                "-days 3650",
            );
            folder.leaf(&["subjectAltName=DNS:a.example.org,IP:10.1.1.1"]);
        },
        &[],
        Some(true),
    ),
    case(
        "an_unknown_critical_extension_is_refused",
        |folder| {
            folder.ca();
            folder.leaf(&[SAN, "1.2.3.4=critical,ASN1:UTF8String:x"]);
        },
        &["leaf.crt error malformed"],
        Some(false),
    ),
    case(
        "an_unknown_extension_that_is_not_critical_is_fine",
        |folder| {
            folder.ca();
            folder.leaf(&[SAN, "1.2.3.4=ASN1:UTF8String:x"]);
        },
        &[],
        Some(true),
    ),
    case(
        "a_negative_serial_number_is_refused_by_go",
        |folder| {
            folder.ca();
            folder.make(made(Some("ca")));
            folder.sign(Made {
                with: "-days 300 -set_serial -5",
                ..made(Some("ca"))
            });
        },
        &["leaf.crt error malformed"],
        Some(true),
    ),
    case(
        "a_serial_number_of_twenty_five_octets_is_fine",
        |folder| {
            folder.ca();
            folder.make(made(Some("ca")));
            folder.sign(Made {
                with: "-days 300 -set_serial 0x11223344556677889900112233445566778899001122334455",
                ..made(Some("ca"))
            });
        },
        &[],
        Some(true),
    ),
    case(
        "a_subject_with_a_repeated_name_is_fine",
        |folder| {
            folder.ca();
            folder.make(Made {
                subject: "/O=a/O=b/OU=x/CN=leaf+OU=y",
                ..made(Some("ca"))
            });
        },
        &[],
        Some(true),
    ),
    case(
        "a_subject_without_a_name_is_fine",
        |folder| {
            folder.ca();
            folder.make(Made {
                subject: "/",
                extensions: &["subjectAltName=critical,DNS:localhost"],
                ..made(Some("ca"))
            });
        },
        &[],
        Some(true),
    ),
    case(
        "a_certificate_for_clients_only_is_fine_in_a_file",
        |folder| {
            folder.ca();
            folder.leaf(&["extendedKeyUsage=clientAuth"]);
        },
        &[],
        Some(true),
    ),
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
        &["leaf.crt warning passed-over"],
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
        "a_leaf_that_is_trusted_as_an_authority_is_a_warning",
        |folder| {
            plain(folder);
            folder.join("other-ca.crt", &["leaf.crt"]);
        },
        &["leaf.crt warning leaf-as-ca"],
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
];
