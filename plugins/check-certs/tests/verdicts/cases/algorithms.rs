//! Signatures of every kind.

use crate::cases::{Case, authority, case, made};
use crate::folder::{CA, Made};

pub(super) const CASES: &[Case] = &[
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
        "a_signature_of_another_hash_than_go_knows_is_refused",
        |folder| {
            authority(
                folder,
                "-algorithm RSA -pkeyopt rsa_keygen_bits:2048",
                CA,
                "-days 3650",
            );
            folder.make(Made {
                with: "-days 300 -sha224",
                ..made(Some("ca"))
            });
        },
        &["leaf.crt error unsupported-signature"],
        Some(true),
    ),
    case(
        "a_p384_ca_that_signs_with_sha512_is_fine",
        |folder| {
            authority(
                folder,
                "-algorithm EC -pkeyopt ec_paramgen_curve:P-384",
                CA,
                "-days 3650",
            );
            folder.make(Made {
                with: "-days 300 -sha512",
                ..made(Some("ca"))
            });
        },
        &[],
        Some(true),
    ),
    case(
        "an_rsa_pss_signature_with_an_odd_salt_is_refused_by_go",
        |folder| {
            authority(
                folder,
                "-algorithm RSA -pkeyopt rsa_keygen_bits:2048",
                CA,
                "-days 3650",
            );
            folder.make(Made {
                with: "-days 300 -sha256 -sigopt rsa_padding_mode:pss -sigopt rsa_pss_saltlen:20",
                ..made(Some("ca"))
            });
        },
        &["leaf.crt error unsupported-signature"],
        Some(true),
    ),
];
