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
        makes_a_missing_secret_of_the_member,
        makes_a_missing_secret_of_the_impersonator,
        completes_a_member_that_was_joined_in_part,
        takes_what_it_made_back,
        gives_the_estimator_the_new_ca,
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

fn remove(federation: &Federation, secret: &str) {
    federation
        .control_plane()
        .delete(&secret_path(secret))
        .unwrap();
}

fn secret(federation: &Federation, name: &str) -> Value {
    let mut secret = federation.control_plane().read(&secret_path(name)).unwrap();
    for field in [
        "uid",
        "resourceVersion",
        "creationTimestamp",
        "managedFields",
    ] {
        secret["metadata"][field] = json!(null);
    }
    secret
}

fn makes_a_missing_secret_of_the_member() {
    let federation = repaired();
    let before = secret(&federation, "one");
    remove(&federation, "one");
    state::wait_unready(&federation, "one");
    let said = Plugin::with_host(&federation).run();
    said.exits(0)
        .reports("secret-missing")
        .reports("create secret/karmada-cluster/one")
        .reports("proven");
    assert_eq!(secret(&federation, "one"), before, "{said}");
    Plugin::with_host(&federation)
        .run()
        .exits(0)
        .reports("Nothing to repair.");
}

fn makes_a_missing_secret_of_the_impersonator() {
    let federation = repaired();
    let before = secret(&federation, "one-impersonator");
    remove(&federation, "one-impersonator");
    let said = Plugin::with_host(&federation).run();
    said.exits(0).reports("impersonator-missing");
    assert_eq!(secret(&federation, "one-impersonator"), before, "{said}");
}

fn completes_a_member_that_was_joined_in_part() {
    let federation = repaired();
    let before = state::cluster(&federation, "one")["spec"].clone();
    remove(&federation, "one");
    remove(&federation, "one-impersonator");
    let without = json!({"spec": {"secretRef": null, "impersonatorSecretRef": null}});
    state::patch_cluster(&federation, "one", &without);
    state::wait_unready(&federation, "one");
    let said = Plugin::with_host(&federation).run();
    said.exits(0)
        .reports("secret-not-referenced")
        .reports("impersonator-not-referenced")
        .reports("proven");
    assert_eq!(state::cluster(&federation, "one")["spec"], before, "{said}");
}

fn takes_what_it_made_back() {
    let federation = repaired();
    remove(&federation, "one");
    let without = json!({"spec": {"secretRef": null}});
    state::patch_cluster(&federation, "one", &without);
    state::wait_unready(&federation, "one");
    let said = Plugin::with_host(&federation).args(&["-o", "json"]).run();
    said.exits(0);
    let backup = said.json()["backup"].as_str().unwrap().to_owned();
    let said = Plugin::with_host(&federation)
        .args(&["--undo", &backup, "--timeout", "1s"])
        .run();
    said.reports("Taken back");
    assert!(
        federation
            .control_plane()
            .read(&secret_path("one"))
            .is_err(),
        "{said}"
    );
    assert_eq!(
        state::cluster(&federation, "one")["spec"]["secretRef"],
        json!(null),
        "{said}"
    );
}

/// The estimator's kubeconfig has the CA of before the rotation.
fn gives_the_estimator_the_new_ca() {
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    let federation = repaired();
    let host = federation.host();
    let system = "/karmada-system";
    let deployment = json!({
        "metadata": {"name": "karmada-scheduler-estimator-one"},
        "spec": {"replicas": 1, "selector": {"matchLabels": {"app": "e"}}, "template": {
            "metadata": {"labels": {"app": "e"}}, "spec": {"containers": [{"name": "e", "image": "karmada/karmada-scheduler-estimator:v1.18.2"}]},
        }},
    });
    host.create(
        &format!("/apis/apps/v1/namespaces{system}/deployments"),
        &deployment,
    )
    .unwrap();
    let kubeconfig = |authority: &str| {
        format!(
            "clusters:\n- cluster: {{server: 'https://172.20.0.3:6443', certificate-authority-data: {}}}\n  name: one\n",
            STANDARD.encode(authority)
        )
    };
    let old = federation.control_plane().authority().to_owned();
    let secrets = format!("/api/v1/namespaces{system}/secrets");
    let secret = json!({
        "metadata": {"name": "one-kubeconfig"},
        "data": {"one-kubeconfig": STANDARD.encode(kubeconfig(&old))},
    });
    host.create(&secrets, &secret).unwrap();
    let said = Plugin::with_host(&federation).run();
    said.exits(0)
        .reports("estimator-stale")
        .reports("restart deployment/karmada-system/karmada-scheduler-estimator-one");
    let secret = host.read(&format!("{secrets}/one-kubeconfig")).unwrap();
    let new = federation.member("one").authority().to_owned();
    assert_eq!(
        secret["data"]["one-kubeconfig"],
        json!(STANDARD.encode(kubeconfig(&new))),
        "{said}"
    );
}
