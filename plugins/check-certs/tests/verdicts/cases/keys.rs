//! Private keys, and public keys of every kind.

use crate::cases::{Case, SAN, authority, case, keyed, made, plain};
use crate::folder::{CA, Made, P256};

pub(super) const CASES: &[Case] = &[
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
        "an_authority_that_was_signed_again_with_its_key_is_fine",
        |folder| {
            folder.ca();
            folder.leaf(&[SAN, "authorityKeyIdentifier=keyid"]);
            folder.sign(Made {
                name: "ca",
                subject: "/CN=ca",
                extensions: CA,
                by: None,
                with: "-days 5000",
                key: P256,
            });
        },
        &[],
        Some(true),
    ),
    case(
        "a_key_of_kind_rsa_pss_is_refused_by_go",
        |folder| {
            authority(
                folder,
                "-algorithm RSA-PSS -pkeyopt rsa_keygen_bits:2048",
                CA,
                "-days 3650",
            );
            folder.make(made(Some("ca")));
        },
        &[
            "ca.crt error unsupported-key",
            "ca.key error key-damaged",
            "leaf.crt error unsupported-signature",
        ],
        Some(true),
    ),
    case(
        "a_key_on_a_brainpool_curve_is_refused_by_go",
        |folder| {
            authority(
                folder,
                "-algorithm EC -pkeyopt ec_paramgen_curve:brainpoolP256r1",
                CA,
                "-days 3650",
            );
            folder.make(made(Some("ca")));
        },
        &[
            "ca.crt error unsupported-key",
            "ca.key error key-damaged",
            "leaf.crt error unsupported-key",
        ],
        Some(true),
    ),
    case(
        "two_authorities_of_one_name_are_told_apart_by_their_keys",
        |folder| {
            plain(folder);
            folder.join("one.pem", &["ca.crt"]);
            folder.make(Made {
                name: "ca",
                key: P256,
                subject: "/CN=ca",
                extensions: CA,
                by: None,
                with: "-days 3650",
            });
            folder.join("both.pem", &["ca.crt", "one.pem"]);
            folder.join("ca.crt", &["both.pem"]);
            folder.remove("one.pem");
            folder.remove("both.pem");
        },
        &[],
        Some(true),
    ),
];
