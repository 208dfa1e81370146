//! What stands in everybody's way, and what is done about it.

use std::time::Duration;

use karmada_lab::{Backend, Federation, Mode, Spec, Works};
use karmada_scenarios::background::until;
use karmada_scenarios::plugin::Plugin;
use karmada_scenarios::scenario::{Scenario, anywhere, embedded};
use karmada_scenarios::state::{self, cluster_path, secret_path};
use serde_json::{Value, json};

use crate::world::{self, PATIENTLY, accepts, freeze, kind, label, open, settle, small};

pub(super) fn scenarios() -> Vec<Scenario> {
    let mut scenarios = anywhere![
        thaws_a_frozen_role,
        leaves_a_role_edited_by_hand_to_karmada,
        repairs_the_others_when_a_member_is_unreachable,
        wakes_a_work_that_sleeps,
    ];
    scenarios.extend(embedded![
        never_takes_the_label_off_again,
        leaves_a_frozen_role_that_it_cannot_reach,
        takes_a_missing_token_from_the_member,
        takes_an_empty_token_from_the_member,
        takes_a_rejected_token_from_the_member,
        names_the_secret_of_a_cluster_that_names_none,
        tells_what_is_known_of_a_member_in_pull_mode,
    ]);
    scenarios
}

fn thaws_a_frozen_role(backend: &Backend) {
    let lab = backend.start(small()).unwrap();
    let lab = &*lab;
    settle(lab);
    freeze(lab, "member1", "eve");
    let said = Plugin::on(lab)
        .args(&["--user", "jane", "--yes"])
        .args(&PATIENTLY)
        .run();
    said.exits(0)
        .reports("role-frozen")
        .reports("by hand it accepts user \"eve\"")
        .reports("karmada-grant-impersonate member1 --user eve")
        .reports("user/jane: proven");
    assert_eq!(label(lab, "member1"), "true");
    assert!(accepts(lab, "member1", "jane"));
    assert!(!accepts(lab, "member1", "eve"));
    Plugin::on(lab)
        .args(&["--user", "jane"])
        .run()
        .exits(0)
        .reports("Nothing to repair.");
}

fn leaves_a_role_edited_by_hand_to_karmada(backend: &Backend) {
    let lab = backend.start(small()).unwrap();
    let lab = &*lab;
    settle(lab);
    let rule = json!({"apiGroups": [""], "resources": ["users"], "verbs": ["impersonate"], "resourceNames": ["eve"]});
    lab.member("member1")
        .patch(world::ROLE, &json!({"rules": [rule]}))
        .unwrap();
    let said = Plugin::on(lab)
        .args(&["--user", "jane", "--yes"])
        .args(&PATIENTLY)
        .run();
    said.exits(0).reports("user/jane: proven");
    assert!(lab.wait_for(lab.patience(), || !accepts(lab, "member1", "eve")));
    assert_eq!(label(lab, "member1"), "true");
}

fn repairs_the_others_when_a_member_is_unreachable(backend: &Backend) {
    let lab = backend.start(open()).unwrap();
    let lab = &*lab;
    settle(lab);
    lab.docker()
        .stop(&lab.spec().member("member2").first_server())
        .unwrap();
    state::wait_unready(lab, "member2");
    let said = Plugin::on(lab)
        .args(&["--user", "jane", "--yes"])
        .args(&PATIENTLY)
        .run();
    said.exits(1)
        .reports("user/jane: proven: member1 answers 200")
        .reports("member-unreachable")
        .reports("kubectl karmada-fix-endpoints");
}

fn wakes_a_work_that_sleeps(backend: &Backend) {
    let lab = backend
        .start(Spec {
            works: Works::Asleep,
            ..small()
        })
        .unwrap();
    let lab = &*lab;
    settle(lab);
    let server = lab.spec().member("member1").first_server();
    lab.docker().pause(&server).unwrap();
    state::wait_unready(lab, "member1");
    world::bind(lab, "by-hand", &["get"], &[world::user("jane")]);
    let failed = || {
        let path = "/apis/work.karmada.io/v1alpha1/namespaces/karmada-es-member1/works/karmada-impersonator-7cbb6bd5c9";
        let work = lab.control_plane().read(path).unwrap();
        work["spec"].to_string().contains("\"jane\"")
            && work["status"].to_string().contains("Dispatching")
    };
    assert!(lab.wait_for(lab.patience(), failed));
    lab.docker().unpause(&server).unwrap();
    assert!(lab.wait_ready("member1", lab.patience()));
    // What has just been written may still be on its way.
    let asleep = until(Duration::from_secs(60), || {
        let said = Plugin::on(lab).args(&["--user", "jane"]).run();
        said.stdout.contains("work-not-delivered").then_some(said)
    });
    asleep.unwrap().exits(1).reports("--host-context CONTEXT");
    let said = Plugin::with_host(lab).args(&["--user", "jane"]).run();
    said.exits(0)
        .reports("restart deployment/karmada-system/karmada-controller-manager")
        .reports("user/jane: proven");
}

fn never_takes_the_label_off_again() {
    let federation = Federation::start(small()).unwrap();
    settle(&federation);
    freeze(&federation, "member1", "eve");
    let said = Plugin::on(&federation)
        .args(&["--user", "jane", "--yes"])
        .args(&PATIENTLY)
        .run();
    said.exits(0);
    let backup = said.line_with("backup: ").trim_start_matches("backup: ");
    Plugin::on(&federation)
        .args(&["--undo", backup, "--yes"])
        .run();
    assert_eq!(label(&federation, "member1"), "true");
    Plugin::on(&federation)
        .args(&["--user", "jane", "--revoke", "--yes"])
        .run();
    assert_eq!(label(&federation, "member1"), "true");
}

/// Only the control plane's own kubeconfig, and nobody who passes to the member.
fn leaves_a_frozen_role_that_it_cannot_reach() {
    let federation = Federation::start(small()).unwrap();
    settle(&federation);
    let role = json!({"metadata": {"labels": {"karmada.io/managed": null}}, "rules": []});
    federation
        .member("member1")
        .patch(world::ROLE, &role)
        .unwrap();
    let file = federation.karmada_kubeconfig().display().to_string();
    world::bind(&federation, "by-hand", &["get"], &[world::user("jane")]);
    let said = until(Duration::from_secs(20), || {
        let said = Plugin::on(&federation)
            .env("KUBECONFIG", &file)
            .args(&["--user", "jane", "--yes", "--timeout", "1s"])
            .run();
        said.stdout.contains("role-frozen").then_some(said)
    });
    said.unwrap()
        .reports("label clusterrole karmada-impersonator karmada.io/managed=true");
    assert_eq!(label(&federation, "member1"), Value::Null);
}

/// The impersonator's secret is broken by this patch; a run finds it by this code and puts it right.
#[track_caller]
fn heals(broken: &Value, code: &str) {
    let federation = Federation::start(small()).unwrap();
    settle(&federation);
    let path = secret_path("member1-impersonator");
    let before = federation.control_plane().read(&path).unwrap()["data"].clone();
    if broken.is_null() {
        federation.control_plane().delete(&path).unwrap();
    } else {
        federation.control_plane().patch(&path, broken).unwrap();
    }
    let said = Plugin::on(&federation)
        .args(&["--yes"])
        .args(&PATIENTLY)
        .run();
    said.exits(0)
        .reports(code)
        .reports("user/system:admin: proven");
    let after = federation.control_plane().read(&path).unwrap()["data"].clone();
    assert_eq!(after, before, "{said}");
}

fn takes_a_missing_token_from_the_member() {
    heals(&Value::Null, "impersonator-secret-missing");
}

fn takes_an_empty_token_from_the_member() {
    heals(&json!({"data": {"token": ""}}), "impersonator-secret-empty");
}

fn takes_a_rejected_token_from_the_member() {
    heals(
        &json!({"data": {"token": "Z2FyYmFnZQ=="}}),
        "impersonator-token-rejected",
    );
}

fn names_the_secret_of_a_cluster_that_names_none() {
    let federation = Federation::start(small()).unwrap();
    settle(&federation);
    let nothing = json!({"spec": {"impersonatorSecretRef": null}});
    federation
        .control_plane()
        .patch(&cluster_path("member1"), &nothing)
        .unwrap();
    let said = Plugin::on(&federation)
        .args(&["--user", "jane", "--yes"])
        .args(&PATIENTLY)
        .run();
    said.exits(0)
        .reports("impersonator-not-named")
        .reports("user/jane: proven");
    let cluster = federation
        .control_plane()
        .read(&cluster_path("member1"))
        .unwrap();
    assert_eq!(
        cluster["spec"]["impersonatorSecretRef"],
        json!({"namespace": "karmada-cluster", "name": "member1-impersonator"})
    );
}

/// The lab plays no agent: nothing was ever reported or delivered.
fn tells_what_is_known_of_a_member_in_pull_mode() {
    let mut pulled = kind("member1");
    pulled.mode = Mode::Pull;
    let federation = Federation::start(world::of([pulled])).unwrap();
    let said = Plugin::on(&federation)
        .args(&["--user", "jane", "--yes", "-o", "wide", "--timeout", "1s"])
        .run();
    said.reports("Pull")
        .reports("not-ready")
        .reports("its rules were never applied");
    assert!(said.code != Some(0), "{said}");
}
