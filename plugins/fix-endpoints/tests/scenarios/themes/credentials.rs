//! Credentials that the member knows better than the control plane.

use karmada_lab::{Federation, MemberSpec, Spec, Works};
use karmada_scenarios::plugin::Plugin;
use karmada_scenarios::scenario::{Scenario, embedded};
use karmada_scenarios::state::{self, secret_path};
use serde_json::{Value, json};

pub(super) fn scenarios() -> Vec<Scenario> {
    embedded![
        takes_a_missing_token_from_the_member,
        takes_a_rejected_token_from_the_member,
        takes_a_missing_ca_from_the_member,
        takes_another_ca_from_the_member,
        takes_the_impersonators_token_from_the_member,
        shows_no_token_in_what_it_plans,
        gives_a_repaired_secret_back,
        keeps_credentials_of_a_member_that_is_another_cluster,
    ]
}

fn one() -> Federation {
    Federation::start(Spec {
        works: Works::Awake,
        ..Spec::with_members([MemberSpec::k3d("one").subnet("172.20.0.0/16")])
    })
    .unwrap()
}

fn repaired() -> Federation {
    let federation = one();
    Plugin::with_host(&federation).run().exits(0);
    federation
}

fn data(federation: &Federation, secret: &str) -> Value {
    let secret = federation
        .control_plane()
        .read(&secret_path(secret))
        .unwrap();
    secret["data"].clone()
}

fn set(federation: &Federation, secret: &str, data: &Value) {
    let patch = json!({"data": data});
    federation
        .control_plane()
        .patch(&secret_path(secret), &patch)
        .unwrap();
}

/// The secret is broken by this; a run finds it by this code, and puts it right with the member's own context.
#[track_caller]
fn heals(secret: &str, broken: &Value, code: &str) {
    let federation = repaired();
    let before = data(&federation, secret);
    set(&federation, secret, broken);
    assert_ne!(data(&federation, secret), before);
    if secret == "one" {
        state::wait_unready(&federation, "one");
    }
    let said = Plugin::with_host(&federation).run();
    said.exits(0).reports(code).reports("Repaired");
    assert_eq!(data(&federation, secret), before, "{said}");
    Plugin::with_host(&federation)
        .run()
        .exits(0)
        .reports("Nothing to repair.");
}

/// `garbage`.
const GARBAGE: &str = "Z2FyYmFnZQ==";

fn takes_a_missing_token_from_the_member() {
    heals("one", &json!({"token": ""}), "credentials-token-stale");
}

fn takes_a_rejected_token_from_the_member() {
    heals("one", &json!({"token": GARBAGE}), "credentials-token-stale");
}

fn takes_a_missing_ca_from_the_member() {
    heals("one", &json!({"caBundle": null}), "credentials-ca-stale");
}

fn takes_another_ca_from_the_member() {
    let federation = repaired();
    let before = data(&federation, "one");
    let other = base64::Engine::encode(
        &base64::engine::general_purpose::STANDARD,
        federation.control_plane().authority(),
    );
    set(&federation, "one", &json!({"caBundle": other}));
    state::wait_unready(&federation, "one");
    let said = Plugin::with_host(&federation).run();
    said.exits(0).reports("credentials-ca-stale");
    assert_eq!(data(&federation, "one"), before, "{said}");
}

fn takes_the_impersonators_token_from_the_member() {
    let federation = repaired();
    let before = data(&federation, "one-impersonator");
    set(&federation, "one-impersonator", &json!({"token": GARBAGE}));
    let said = Plugin::with_host(&federation).run();
    assert_eq!(data(&federation, "one-impersonator"), before, "{said}");
    Plugin::with_host(&federation)
        .run()
        .exits(0)
        .reports("Nothing to repair.");
}

fn shows_no_token_in_what_it_plans() {
    let federation = repaired();
    set(&federation, "one", &json!({"token": ""}));
    state::wait_unready(&federation, "one");
    // Every run is searched for secrets.
    for arguments in [
        &["--dry-run"][..],
        &["-o", "json"],
        &["-o", "wide"],
        &["--print-commands"],
    ] {
        Plugin::on(&federation).args(arguments).run().exits(1);
    }
}

fn gives_a_repaired_secret_back() {
    let federation = repaired();
    set(&federation, "one", &json!({"token": GARBAGE}));
    state::wait_unready(&federation, "one");
    let before = data(&federation, "one");
    let said = Plugin::with_host(&federation).args(&["-o", "json"]).run();
    said.exits(0);
    assert_ne!(data(&federation, "one"), before, "{said}");
    let backup = said.json()["backup"].as_str().unwrap().to_owned();
    Plugin::with_host(&federation)
        .args(&["--undo", &backup])
        .run()
        .exits(0);
    assert_eq!(data(&federation, "one"), before);
}

/// The context has the member's name, and the cluster behind it another UID.
fn keeps_credentials_of_a_member_that_is_another_cluster() {
    let federation = repaired();
    let id = json!({"spec": {"id": "00000000-0000-4000-8000-000000000000"}});
    state::patch_cluster(&federation, "one", &id);
    set(&federation, "one", &json!({"token": GARBAGE}));
    state::wait_unready(&federation, "one");
    let before = data(&federation, "one");
    let said = Plugin::with_host(&federation)
        .args(&["--timeout", "2s"])
        .run();
    assert!(said.code != Some(0), "{said}");
    assert_eq!(data(&federation, "one"), before, "{said}");
}
