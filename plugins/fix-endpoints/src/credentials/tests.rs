use karmada_repair::finding::Severity;
use serde_json::Value;

use super::*;
use crate::config::Config;
use crate::diagnose::CLUSTER_ID_STALE;
use crate::direct::{Direct, Kin};
use crate::fixture::*;
use crate::observed::Observed;
use crate::proxy_answer::ProxyAnswer;

/// A member on which everything is right but its credentials, and what the member itself holds.
fn rotated(authority: &str, token: &str, impersonator: &str) -> Observed {
    let mut observed = field_report();
    observed.members.truncate(1);
    let names = ["172.20.0.3", "k3d-cluster-a-server-0"];
    let (certificate, new) = served(&names);
    let member = &mut observed.members[0];
    member.cluster.spec.api_endpoint = Some("https://172.20.0.3:6443".to_owned());
    let stored = member
        .secret
        .seen()
        .and_then(|secret| secret.ca_bundle.clone());
    let authority = match authority {
        "new" => {
            serve(member, certificate);
            new
        }
        _ => stored.unwrap_or_default(),
    };
    let seen = |object: Value| Part::Seen(StoredSecret::read(&object));
    member.direct = Direct::Seen(Box::new(DirectView {
        context: "k3d-cluster-a".to_owned(),
        is_given: true,
        kin: Kin::Recorded,
        uid: "u-1".to_owned(),
        server: "https://0.0.0.0:6551".to_owned(),
        served: Part::Absent,
        doors: Vec::new(),
        account: seen(secret(&[("token", token), ("ca.crt", &authority)])),
        impersonator: seen(secret(&[("token", impersonator)])),
    }));
    attach(
        found(&mut observed, HOST),
        "k3d-cluster-a",
        Some("172.20.0.4"),
    );
    observed
}

#[track_caller]
fn check(observed: &Observed, expected: &[Renewal]) {
    assert_eq!(renewals(&observed.members[0], now()), expected);
}

const SAME: (&str, &str, &str) = ("same", "a token", "another token");

#[test]
fn what_the_member_holds_in_another_version_is_read_again() {
    check(&rotated(SAME.0, SAME.1, SAME.2), &[]);
    check(&rotated("new", SAME.1, SAME.2), &[Renewal::Authority]);
    check(&rotated(SAME.0, "new", SAME.2), &[Renewal::Token]);
    check(&rotated(SAME.0, SAME.1, "new"), &[Renewal::Impersonator]);
    check(
        &rotated("new", "new", "new"),
        &[Renewal::Authority, Renewal::Token, Renewal::Impersonator],
    );
}

#[test]
fn credentials_that_work_are_left_alone() {
    let mut observed = rotated("same", "new", "new");
    make_ready(&mut observed.members[0]);
    check(&observed, &[]);
    observed.members[0].proxy = Some(ProxyAnswer::Unauthorized);
    check(&observed, &[Renewal::Impersonator]);
    observed.members[0].proxy = Some(ProxyAnswer::Ready);
    check(&observed, &[]);
}

#[test]
fn a_ca_that_did_not_sign_what_the_members_own_server_presents_is_not_taken() {
    let mut observed = rotated("new", SAME.1, SAME.2);
    if let Direct::Seen(view) = &mut observed.members[0].direct {
        view.served = Part::Seen(served(&["172.20.0.3"]).0);
    }
    check(&observed, &[]);
}

#[test]
fn missing_keys_come_from_the_member() {
    let mut observed = rotated(SAME.0, SAME.1, SAME.2);
    let member = &mut observed.members[0];
    member.secret = Part::Seen(crate::observe::secret(&serde_json::json!({})));
    member.impersonator = Part::Seen(StoredSecret::read(&secret(&[("token", "")])));
    make_ready(member);
    check(
        &observed,
        &[Renewal::Authority, Renewal::Token, Renewal::Impersonator],
    );
    let plan = sentences(&planned(&observed, &Config::default()));
    assert_eq!(
        plan[..2],
        [
            "patch secret/karmada-cluster/cluster-a: set data to ***",
            "patch secret/karmada-cluster/cluster-a-impersonator: set data.token to ***",
        ]
    );
    observed.members[0].direct = Direct::NoWay;
    assert_eq!(
        codes(&observed, &Config::default()),
        [
            "error secret-token-missing cluster-a",
            "error secret-ca-missing cluster-a",
            "error impersonator-missing cluster-a",
        ]
    );
}

#[test]
fn new_credentials_are_noted_proven_and_shown_to_nobody() {
    let observed = rotated("new", "n3w-t0ken", "n3w-t00");
    assert_eq!(
        codes(&observed, &Config::default()),
        [
            "error credentials-ca-stale cluster-a",
            "error credentials-token-stale cluster-a",
            "error credentials-impersonator-stale cluster-a",
        ]
    );
    let plan = planned(&observed, &Config::default());
    assert_eq!(
        sentences(&plan),
        [
            "patch secret/karmada-cluster/cluster-a: set data.caBundle to ***, set data.token to ***",
            "patch secret/karmada-cluster/cluster-a-impersonator: set data.token to ***",
            "patch cluster/cluster-a: annotate karmada-repair/delivery-unproven=2026-11-30T12:00:00Z",
        ]
    );
    assert_eq!(plan.proofs.len(), 1);
    let after = carried_out(&observed, &plan);
    assert!(codes(&after, &Config::default()).is_empty());
    let findings = crate::diagnose::diagnose(&observed, &Config::default(), now());
    let shown: String = plan
        .steps
        .iter()
        .map(|step| format!("{} {} {}", step.reason, step.command, step.action.masked()))
        .chain([
            format!("{findings:?} {observed:?}"),
            serde_json::json!(observed).to_string(),
        ])
        .collect();
    use base64::Engine;
    for token in ["n3w-t0ken", "n3w-t00"] {
        let encoded = base64::engine::general_purpose::STANDARD.encode(token);
        assert!(
            !shown.contains(&encoded) && !shown.contains(token),
            "{token}"
        );
    }
}

#[test]
fn an_address_that_is_wrong_as_well_is_repaired_on_the_word_of_the_new_ca() {
    let mut observed = rotated("new", "new", "new");
    observed.members[0].cluster.spec.api_endpoint = Some("https://0.0.0.0:6551".to_owned());
    let plan = sentences(&planned(&observed, &Config::default()));
    assert_eq!(
        plan,
        [
            "patch cluster/cluster-a: set spec.apiEndpoint to https://172.20.0.3:6443, annotate karmada-repair/delivery-unproven=2026-11-30T12:00:00Z",
            "patch secret/karmada-cluster/cluster-a: set data.caBundle to ***, set data.token to ***",
            "patch secret/karmada-cluster/cluster-a-impersonator: set data.token to ***",
        ]
    );
}

#[test]
fn a_rebuilt_member_gets_its_new_uid_recorded() {
    let mut observed = rotated("new", "new", "new");
    observed.members[0].cluster.spec.id = Some("u-0".to_owned());
    if let Direct::Seen(view) = &mut observed.members[0].direct {
        view.kin = Kin::Rebuilt;
    }
    let plan = planned(&observed, &Config::default());
    assert!(sentences(&plan).contains(&"patch cluster/cluster-a: set spec.id to u-1".to_owned()));
    let finding = crate::diagnose::diagnose(&observed, &Config::default(), now())
        .into_iter()
        .find(|finding| finding.key.code == CLUSTER_ID_STALE)
        .expect("it is found");
    assert_eq!(finding.severity, Severity::Warning);
    assert!(plan.cures(&finding.key));
}

#[test]
fn only_a_cluster_that_serves_in_the_members_name_is_taken_for_it_rebuilt() {
    let (certificate, authority) = served(&["172.20.0.3"]);
    let (stranger, _) = served(&["172.20.0.3"]);
    let account = Part::Seen(StoredSecret::read(&secret(&[("ca.crt", &authority)])));
    assert!(is_rebuilt(&account, &[&certificate], now()));
    assert!(!is_rebuilt(&account, &[&stranger], now()));
    assert!(!is_rebuilt(&account, &[], now()));
    assert!(!is_rebuilt(&Part::Absent, &[&certificate], now()));
}

#[test]
fn a_context_of_another_cluster_is_an_error() {
    let mut observed = rotated(SAME.0, SAME.1, SAME.2);
    observed.members[0].direct =
        Direct::Refused("context \"x\" leads to another cluster".to_owned());
    assert_eq!(
        codes(&observed, &Config::default())[0],
        "error member-context-refused cluster-a"
    );
}

#[test]
fn doubt_comes_from_what_is_missing_or_refused() {
    let mut observed = rotated(SAME.0, SAME.1, SAME.2);
    let member = &mut observed.members[0];
    let cases = [
        (Some(ProxyAnswer::Unauthorized), true),
        (Some(ProxyAnswer::Ready), true),
        (
            Some(ProxyAnswer::read(
                503,
                "x509: certificate signed by unknown authority",
            )),
            true,
        ),
        (
            Some(ProxyAnswer::read(503, "dial tcp: connection refused")),
            false,
        ),
        (None, false),
    ];
    for (answer, expected) in cases {
        member.proxy = answer;
        assert_eq!(are_doubtful(member), expected, "{:?}", member.proxy);
    }
    make_ready(member);
    member.proxy = Some(ProxyAnswer::Ready);
    assert!(!are_doubtful(member));
}

#[test]
fn the_impersonators_token_alone_needs_no_restart_and_no_proof() {
    let plan = planned(&rotated(SAME.0, SAME.1, "new"), &Config::default());
    assert_eq!(
        sentences(&plan),
        ["patch secret/karmada-cluster/cluster-a-impersonator: set data.token to ***"]
    );
    assert!(plan.proofs.is_empty());
}

/// Nothing of the control plane's records is left but the `Cluster`.
fn half_joined() -> Observed {
    let mut observed = rotated(SAME.0, SAME.1, SAME.2);
    let member = &mut observed.members[0];
    member.secret = Part::Absent;
    member.impersonator = Part::Absent;
    observed
}

#[track_caller]
fn makes(observed: &Observed, findings: &[&str], steps: &[&str]) {
    assert_eq!(codes(observed, &Config::default()), findings);
    let plan = planned(observed, &Config::default());
    assert_eq!(sentences(&plan)[..steps.len()], *steps);
    assert_eq!(plan.proofs.len(), 1, "it is to be proven");
    let shown = format!("{plan:?}");
    let made = plan.steps.iter().map(|step| &step.command);
    for text in made.chain([&shown]) {
        // The token of the fixture in base64.
        assert!(!text.contains("YSB0b2tlbg"), "{text}");
    }
    let after = carried_out(observed, &plan);
    assert_eq!(
        codes(&after, &Config::default()),
        Vec::<String>::new(),
        "{:?}",
        sentences(&plan)
    );
    assert!(planned(&after, &Config::default()).is_empty());
}

#[test]
fn missing_secrets_are_made_as_a_join_makes_them() {
    makes(
        &half_joined(),
        &[
            "error secret-missing cluster-a",
            "error impersonator-missing cluster-a",
            "error not-ready cluster-a",
        ],
        &[
            "create secret/karmada-cluster/cluster-a",
            "create secret/karmada-cluster/cluster-a-impersonator",
        ],
    );
    let plan = planned(&half_joined(), &Config::default());
    let karmada_repair::plan::Action::CreateObject { manifest, .. } = &plan.steps[0].action else {
        panic!("the first step makes the secret: {plan:?}");
    };
    let keys: Vec<&String> = manifest["data"].as_object().expect("data").keys().collect();
    assert_eq!(keys, ["caBundle", "token"]);
    assert_eq!(manifest["type"], "Opaque");
    assert_eq!(manifest["metadata"]["labels"]["karmada.io/system"], "true");
    let owner = &manifest["metadata"]["ownerReferences"][0];
    assert_eq!(owner["uid"], "uid-of-cluster-a");
    assert_eq!(owner["controller"], true);
}

#[test]
fn missing_references_are_set_to_secrets_that_are_there_or_made() {
    let mut observed = half_joined();
    let spec = &mut observed.members[0].cluster.spec;
    spec.secret_ref = None;
    spec.impersonator_secret_ref = None;
    makes(
        &observed,
        &[
            "error secret-not-referenced cluster-a",
            "error impersonator-missing cluster-a",
            "error impersonator-not-referenced cluster-a",
            "error not-ready cluster-a",
        ],
        &[
            "create secret/karmada-cluster/cluster-a",
            "patch cluster/cluster-a: set spec.secretRef to {\"name\":\"cluster-a\",\"namespace\":\"karmada-cluster\"}",
            "create secret/karmada-cluster/cluster-a-impersonator",
            "patch cluster/cluster-a: set spec.impersonatorSecretRef to {\"name\":\"cluster-a-impersonator\",\"namespace\":\"karmada-cluster\"}",
        ],
    );
    let mut observed = rotated(SAME.0, SAME.1, SAME.2);
    let spec = &mut observed.members[0].cluster.spec;
    spec.secret_ref = None;
    observed.members[0].direct = Direct::NoWay;
    makes(
        &observed,
        &[
            "error secret-not-referenced cluster-a",
            "error not-ready cluster-a",
        ],
        &[
            "patch cluster/cluster-a: set spec.secretRef to {\"name\":\"cluster-a\",\"namespace\":\"karmada-cluster\"}",
        ],
    );
}

#[test]
fn nothing_is_made_without_the_members_word_or_of_a_ca_that_did_not_sign() {
    let mut observed = half_joined();
    if let Direct::Seen(view) = &mut observed.members[0].direct {
        view.served = Part::Seen(served(&["172.20.0.3"]).0);
    }
    let plan = sentences(&planned(&observed, &Config::default()));
    assert!(plan.is_empty(), "{plan:?}");
    observed.members[0].direct = Direct::NoWay;
    let plan = sentences(&planned(&observed, &Config::default()));
    assert!(plan.is_empty(), "{plan:?}");
}
