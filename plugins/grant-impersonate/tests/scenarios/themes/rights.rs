//! Rights in members, and what is told of them.

use karmada_lab::{Backend, Federation, Lab};
use karmada_scenarios::plugin::Plugin;
use karmada_scenarios::scenario::{Scenario, anywhere, embedded};
use serde_json::json;

use crate::world::{PATIENTLY, RBAC, bind, create, kubeconfig, settle, small, user};

pub(super) fn scenarios() -> Vec<Scenario> {
    let mut scenarios = anywhere![binds_a_role_in_members_by_a_work];
    scenarios.extend(embedded![
        tells_impersonation_without_rights_apart,
        refuses_a_role_that_is_not_there,
        tells_that_it_may_not_try_on_somebodys_behalf,
    ]);
    scenarios
}

/// The bindings in the member that are for jane.
fn bindings(lab: &dyn Lab) -> usize {
    let list = lab
        .member("member1")
        .read(&format!("{RBAC}/clusterrolebindings"))
        .unwrap();
    let items = list["items"].as_array().unwrap();
    items
        .iter()
        .filter(|binding| binding["subjects"].to_string().contains("\"jane\""))
        .count()
}

fn binds_a_role_in_members_by_a_work(backend: &Backend) {
    let lab = backend.start(small()).unwrap();
    let lab = &*lab;
    settle(lab);
    // Nobody fills the aggregated roles, view and edit, of a member that is an API server alone.
    let reader = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "pod-reader"},
        "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}],
    });
    lab.member("member1")
        .create(&format!("{RBAC}/clusterroles"), &reader)
        .unwrap();
    let grant = |more: &[&str]| {
        Plugin::on(lab)
            .args(&["--user", "jane", "--member-role", "pod-reader"])
            .args(more)
            .args(&PATIENTLY)
            .run()
    };
    grant(&["--yes"])
        .exits(0)
        .reports("member-role-not-bound")
        .reports("may list pods");
    assert_eq!(bindings(lab), 1);
    grant(&[]).exits(0).reports("Nothing to repair.");
    let control_plane = lab
        .control_plane()
        .read(&format!("{RBAC}/clusterrolebindings"))
        .unwrap();
    assert!(!control_plane.to_string().contains("\"pod-reader\""));
    Plugin::on(lab)
        .args(&["--user", "jane", "--revoke", "--yes"])
        .args(&PATIENTLY)
        .run()
        .exits(0);
    assert!(lab.wait_for(lab.patience(), || bindings(lab) == 0));
}

fn tells_impersonation_without_rights_apart() {
    let federation = Federation::start(small()).unwrap();
    settle(&federation);
    let said = Plugin::on(&federation)
        .args(&["--user", "jane", "--yes"])
        .args(&PATIENTLY)
        .run();
    said.exits(0)
        .reports("no-rights-in-member")
        .reports("--user jane --member-role view");
    Plugin::on(&federation)
        .args(&["--user", "jane", "--fail-on", "warning"])
        .run()
        .exits(1);
}

fn refuses_a_role_that_is_not_there() {
    let federation = Federation::start(small()).unwrap();
    settle(&federation);
    let said = Plugin::on(&federation)
        .args(&["--user", "jane", "--member-role", "veiw", "--dry-run"])
        .run();
    said.exits(1).reports("member-role-unknown");
    assert!(!said.stdout.contains("karmada-es-member1"), "{said}");
}

/// Bob may grant, and may not act as others.
fn tells_that_it_may_not_try_on_somebodys_behalf() {
    let federation = Federation::start(small()).unwrap();
    settle(&federation);
    bind(
        &federation,
        "bob",
        &["get", "impersonation-only"],
        &[user("bob")],
    );
    let rules = json!([
        {"apiGroups": ["rbac.authorization.k8s.io"], "resources": ["clusterroles", "clusterrolebindings"], "verbs": ["create", "get", "list", "patch"]},
        {"apiGroups": ["cluster.karmada.io"], "resources": ["clusters"], "verbs": ["get", "list"]},
        {"apiGroups": ["work.karmada.io"], "resources": ["works"], "verbs": ["get"]},
    ]);
    create(
        &federation,
        "clusterroles",
        &json!({"metadata": {"name": "granter"}, "rules": rules}),
    );
    create(
        &federation,
        "clusterrolebindings",
        &json!({
            "metadata": {"name": "granter"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "granter"},
            "subjects": [user("bob")],
        }),
    );
    let file = kubeconfig(&federation, "bob", &[]).display().to_string();
    let bob = |more: &[&str]| {
        Plugin::on(&federation)
            .env("KUBECONFIG", &file)
            .args(&["--user", "jane", "--timeout", "4s"])
            .args(more)
            .run()
    };
    bob(&["--yes"]).exits(4).reports("could not be proven");
    bob(&[])
        .exits(3)
        .reports("not-verified")
        .reports("get --raw");
}
