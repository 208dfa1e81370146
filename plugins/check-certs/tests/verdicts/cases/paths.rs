//! Lifetimes, and the way to an authority.

use crate::cases::{Case, SAN, authority, between, case, later, made, plain};
use crate::folder::{CA, Made, P256};

pub(super) const CASES: &[Case] = &[
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
        "a_leaf_that_is_trusted_as_an_authority_is_a_warning",
        |folder| {
            plain(folder);
            folder.join("other-ca.crt", &["leaf.crt"]);
        },
        &["leaf.crt warning leaf-as-ca"],
        Some(true),
    ),
    case(
        "an_authority_of_the_same_text_in_another_encoding_is_refused_by_go",
        |folder| {
            plain(folder);
            folder.write("request.cnf", "[req]\nprompt=no\ndistinguished_name=dn\nx509_extensions=ext\nstring_mask=nombstr\n[dn]\n[ext]\nbasicConstraints=critical,CA:TRUE\n");
            folder.openssl(
                "req -x509 -config request.cnf -key ca.key -subj /CN=ca -days 3650 -out ca.crt",
            );
            folder.remove("request.cnf");
        },
        &["leaf.crt error issuer-name-differs"],
        Some(true),
    ),
    case(
        "an_authority_with_another_serial_number_than_is_named_is_refused_by_openssl",
        |folder| {
            folder.ca();
            folder.leaf(&[SAN, "authorityKeyIdentifier=keyid,issuer:always"]);
            folder.sign(Made {
                name: "ca",
                subject: "/CN=ca",
                extensions: CA,
                by: None,
                with: "-days 3650 -set_serial 77",
                key: P256,
            });
        },
        &["leaf.crt warning authority-identifier-differs"],
        Some(false),
    ),
    case(
        "an_intermediate_that_is_nowhere_is_missed",
        |folder| {
            folder.ca();
            between(folder, CA);
            folder.remove("between.crt");
            folder.remove("between.key");
        },
        &["leaf.crt warning issuer-not-found"],
        Some(false),
    ),
];
