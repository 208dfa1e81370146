//! Input that cannot be followed, and objects of others in the way.

use karmada_lab::Federation;
use karmada_scenarios::plugin::Plugin;
use karmada_scenarios::refusal::refuses;
use karmada_scenarios::scenario::{Scenario, anywhere, embedded};
use serde_json::json;

use crate::world::{PATIENTLY, RBAC, create, kubeconfig, settle, small};

pub(super) fn scenarios() -> Vec<Scenario> {
    let mut scenarios = anywhere![shows_a_conflict_and_forces_nothing];
    scenarios.extend(embedded![
        refuses_names_that_cannot_be_granted,
        refuses_clusters_that_it_does_not_know,
        reads_kubeconfigs_of_every_kind,
        tells_who_may_read_nothing_what_to_ask_for,
    ]);
    scenarios
}

fn refuses_names_that_cannot_be_granted() {
    let federation = Federation::start(small()).unwrap();
    for (words, text) in [
        (vec!["--user", ""], "has no name"),
        (vec!["--group", "system:masters"], "superuser"),
        (vec!["--group", "system:authenticated"], "everybody"),
        (vec!["--serviceaccount", "bot"], "NAMESPACE:NAME"),
        (vec!["--verbs", "list"], "matches no request"),
    ] {
        refuses(
            &federation,
            Plugin::on(&federation).args(&words),
            2,
            &[text],
        );
    }
}

fn refuses_clusters_that_it_does_not_know() {
    let federation = Federation::start(small()).unwrap();
    refuses(
        &federation,
        Plugin::on(&federation).args(&["member"]),
        2,
        &["cluster \"member\" is not known", "did you mean member1?"],
    );
}

/// Somebody else owns an object of the name that the grant would have.
fn shows_a_conflict_and_forces_nothing(backend: &karmada_lab::Backend) {
    let lab = backend.start(small()).unwrap();
    let lab = &*lab;
    settle(lab);
    let plan = Plugin::on(lab)
        .args(&["--user", "jane", "-o", "json"])
        .run()
        .json();
    let target = plan["steps"][0]["target"].as_str().unwrap().to_owned();
    let name = target.strip_prefix("clusterrole/").unwrap().to_owned();
    let rule = json!({"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]});
    create(
        lab,
        "clusterroles",
        &json!({"metadata": {"name": name}, "rules": [rule]}),
    );
    let said = Plugin::on(lab)
        .args(&["--user", "jane", "--yes"])
        .args(&PATIENTLY)
        .run();
    assert!(said.code != Some(0), "{said}");
    said.tells("onflict");
    let role = lab
        .control_plane()
        .read(&format!("{RBAC}/clusterroles/{name}"))
        .unwrap();
    assert_eq!(role["rules"], json!([rule]), "{said}");
}

fn reads_kubeconfigs_of_every_kind() {
    let federation = Federation::start(small()).unwrap();
    let file = |user: &str| {
        let path = federation.directory().join("given.config");
        let text = format!(
            "{{current-context: c, contexts: [{{name: c, context: {{cluster: c, user: u}}}}], clusters: [{{name: c, cluster: {{server: 'https://127.0.0.1:1'}}}}], users: [{{name: u, user: {{{user}}}}}]}}"
        );
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let of = |user: &str| {
        Plugin::on(&federation)
            .args(&["--from-kubeconfig", &file(user)])
            .run()
    };
    let path = "/api/v1/namespaces/default/serviceaccounts";
    let control_plane = federation.control_plane();
    control_plane
        .create(path, &json!({"metadata": {"name": "bot"}}))
        .unwrap();
    let token = control_plane
        .create(&format!("{path}/bot/token"), &json!({}))
        .unwrap()["status"]["token"]
        .as_str()
        .unwrap()
        .to_owned();
    of(&format!("token: {token}"))
        .exits(1)
        .reports("serviceaccount/default/bot");
    of("as: bob, as-groups: [devs], token: t")
        .exits(1)
        .reports("user/bob");
    of("token: unknown")
        .exits(2)
        .tells("does not know its token");
    of("exec: {apiVersion: client.authentication.k8s.io/v1, command: touch, args: [ran], interactiveMode: Never}")
        .exits(2)
        .tells("is not run here");
    assert!(!federation.directory().join("ran").exists());
    of("").exits(2).tells("presents nothing");
    Plugin::on(&federation)
        .args(&["--from-kubeconfig", "/nowhere/config"])
        .run()
        .exits(2)
        .tells("/nowhere/config");
}

fn tells_who_may_read_nothing_what_to_ask_for() {
    let federation = Federation::start(small()).unwrap();
    settle(&federation);
    let file = kubeconfig(&federation, "jane", &[]).display().to_string();
    let jane = |words: &[&str]| {
        Plugin::on(&federation)
            .env("KUBECONFIG", &file)
            .args(words)
            .run()
    };
    jane(&["member1", "--yes"])
        .exits(1)
        .reports("not-granted")
        .reports("may-not-grant")
        .reports("rbac-unreadable");
    jane(&["member1", "-o", "manifests"])
        .reports("kind: ClusterRole")
        .reports("name: jane");
    jane(&[]).tells("forbidden");
}
