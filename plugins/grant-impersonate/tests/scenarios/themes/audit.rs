//! Who can pass to members.

use karmada_lab::Backend;
use karmada_scenarios::plugin::Plugin;
use karmada_scenarios::scenario::{Scenario, anywhere};
use karmada_scenarios::state;
use serde_json::json;

use crate::world::{PATIENTLY, accepts, create, settle, small, user};

pub(super) fn scenarios() -> Vec<Scenario> {
    anywhere![lists_who_passes_and_through_what]
}

fn lists_who_passes_and_through_what(backend: &Backend) {
    let lab = backend.start(small()).unwrap();
    let lab = &*lab;
    settle(lab);
    Plugin::on(lab)
        .args(&["--user", "jane", "--in-group", "devs", "--yes"])
        .args(&PATIENTLY)
        .run()
        .exits(0);
    create(
        lab,
        "clusterroles",
        &json!({"metadata": {"name": "root"}, "rules": [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]}),
    );
    create(
        lab,
        "clusterrolebindings",
        &json!({
            "metadata": {"name": "root"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "root"},
            "subjects": [user("eve")],
        }),
    );
    assert!(lab.wait_for(lab.patience(), || accepts(lab, "member1", "eve")));
    let before = state::of(lab);
    let said = Plugin::on(lab).args(&["--list"]).run();
    said.exits(0)
        .reports("user/jane")
        .reports("this plugin")
        .reports("none: only accepted")
        .reports("karmada-cluster-proxy-admin")
        .reports("cluster-admin (wildcard)")
        .reports("wildcard-role");
    state::is_same(&state::of(lab), &before, &said);
    let report = Plugin::on(lab)
        .args(&["--list", "--user", "jane", "-o", "json"])
        .run()
        .report();
    assert_eq!(report["subjects"].as_array().unwrap().len(), 1);
    assert_eq!(report["subjects"][0]["columns"]["verbs"], "get");
}
