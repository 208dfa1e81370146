//! Versions, names, extensions and serial numbers.

use crate::cases::{Case, SAN, authority, case, made, plain};
use crate::folder::{CA, Made, P256};

pub(super) const CASES: &[Case] = &[
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
        "an_address_of_three_octets_is_refused_by_go",
        |folder| {
            folder.ca();
            folder.leaf(&["subjectAltName=DER:30:05:87:03:01:02:03"]);
        },
        &["leaf.crt error malformed"],
        Some(true),
    ),
    case(
        "a_name_that_is_not_ascii_is_refused_by_go",
        |folder| {
            folder.ca();
            folder.leaf(&["subjectAltName=DER:30:04:82:02:C3:A9"]);
        },
        &["leaf.crt error malformed"],
        Some(true),
    ),
];
