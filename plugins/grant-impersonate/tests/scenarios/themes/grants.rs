//! Who gets in by a grant, and who does not.

use karmada_lab::Backend;
use karmada_scenarios::plugin::Plugin;
use karmada_scenarios::scenario::{Program, Scenario, anywhere, embedded};
use karmada_scenarios::state;
use serde_json::json;

use crate::world::{PATIENTLY, RBAC, accepts, asks, bind, kubeconfig, open, settle, small, user};

pub(super) fn scenarios() -> Vec<Scenario> {
    let typed = anywhere![
        lets_one_person_in_and_not_a_colleague_of_the_group,
        lets_a_service_account_in,
        lets_members_of_a_group_in,
        restricts_a_grant_to_named_members,
    ];
    let mut scenarios: Vec<Scenario> = typed
        .into_iter()
        .map(|scenario| scenario.needs(&[Program::Kubectl]))
        .collect();
    scenarios.extend(anywhere![
        gives_the_caller_access,
        grants_names_of_all_kinds,
        writes_nothing_where_a_binding_suffices,
    ]);
    scenarios.extend(embedded![
        understands_the_wording_of_kubernetes_1_36,
        grants_two_hundred_at_once,
        takes_a_grant_back,
        hands_on_manifests_that_an_administrator_applies,
    ]);
    scenarios
}

fn lets_one_person_in_and_not_a_colleague_of_the_group(backend: &Backend) {
    let lab = backend.start(open()).unwrap();
    let lab = &*lab;
    settle(lab);
    let file = kubeconfig(lab, "jane", &["devs"]);
    let grant = || Plugin::on(lab).args(&["--from-kubeconfig", &file.display().to_string()]);
    assert!(asks(lab, "jane", &["devs"], "member1").code != Some(0));
    let said = grant().args(&["--yes"]).args(&PATIENTLY).run();
    said.exits(0)
        .reports("not-granted")
        .reports("user/jane: proven: member1 answers 200 in ");
    for member in ["member1", "member2"] {
        asks(lab, "jane", &["devs"], member).exits(0);
        asks(lab, "bob", &["devs"], member)
            .exits(1)
            .tells("cannot get resource \"clusters/proxy\"");
    }
    grant().run().exits(0).reports("Nothing to repair.");
}

fn lets_a_service_account_in(backend: &Backend) {
    let lab = backend.start(small()).unwrap();
    let lab = &*lab;
    settle(lab);
    let said = Plugin::on(lab)
        .args(&["--serviceaccount", "default:bot", "--yes"])
        .args(&PATIENTLY)
        .run();
    said.exits(0).reports("serviceaccount/default/bot: proven");
    let groups = ["system:serviceaccounts", "system:serviceaccounts:default"];
    asks(lab, "system:serviceaccount:default:bot", &groups, "member1").exits(0);
    asks(
        lab,
        "system:serviceaccount:default:other",
        &groups,
        "member1",
    )
    .exits(1)
    .tells("cannot get resource \"clusters/proxy\"");
}

fn lets_members_of_a_group_in(backend: &Backend) {
    let lab = backend.start(small()).unwrap();
    let lab = &*lab;
    settle(lab);
    Plugin::on(lab)
        .args(&["--group", "devs"])
        .run()
        .exits(1)
        .reports("group-needs-users");
    let said = Plugin::on(lab)
        .args(&[
            "--group", "devs", "--user", "jane", "--user", "bob", "--yes",
        ])
        .args(&PATIENTLY)
        .run();
    said.exits(0)
        .reports("user/bob: proven")
        .reports("user/jane: proven");
    asks(lab, "jane", &["devs"], "member1").exits(0);
    asks(lab, "bob", &["devs"], "member1").exits(0);
    // Let through as one of the group, and unknown to the member.
    asks(lab, "eve", &["devs"], "member1")
        .exits(1)
        .tells("users \"eve\" is forbidden");
}

fn restricts_a_grant_to_named_members(backend: &Backend) {
    let lab = backend.start(open()).unwrap();
    let lab = &*lab;
    settle(lab);
    Plugin::on(lab)
        .args(&["-C", "member1", "--user", "jane", "--yes"])
        .args(&PATIENTLY)
        .run()
        .exits(0);
    asks(lab, "jane", &[], "member1").exits(0);
    asks(lab, "jane", &[], "member2").exits(1);
    assert!(!accepts(lab, "member2", "jane"));
}

fn gives_the_caller_access(backend: &Backend) {
    let lab = backend.start(small()).unwrap();
    let lab = &*lab;
    settle(lab);
    // As operators before Karmada 1.12 leave it.
    let binding = format!("{RBAC}/clusterrolebindings/karmada-cluster-proxy-admin");
    lab.control_plane().delete(&binding).unwrap();
    assert!(lab.wait_for(lab.patience(), || !accepts(lab, "member1", "system:admin")));
    let said = Plugin::on(lab).args(&["--yes"]).args(&PATIENTLY).run();
    said.exits(0)
        .reports("user/system:admin: proven")
        .does_not_report("--group");
    assert!(accepts(lab, "member1", "system:admin"));
    let roles = lab
        .control_plane()
        .read(&format!("{RBAC}/clusterroles"))
        .unwrap();
    let own: Vec<_> = roles["items"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|role| {
            role["metadata"]["name"]
                .as_str()
                .unwrap()
                .starts_with("karmada-proxy:")
        })
        .collect();
    assert_eq!(
        own.len(),
        1,
        "system:masters is known to members, and never granted"
    );
    Plugin::on(lab).run().exits(0).reports("Nothing to repair.");
}

fn grants_names_of_all_kinds(backend: &Backend) {
    let lab = backend.start(small()).unwrap();
    let lab = &*lab;
    settle(lab);
    let names = [
        "oidc:https://issuer.example/jane@example.com",
        "CN=jane doe/OU=x",
        "system:someone",
        "日本 é",
        "*",
    ];
    let mut words = vec!["--yes"];
    for name in names {
        words.extend(["--user", name]);
    }
    words.extend(["--in-group", "team:a b/日"]);
    let said = Plugin::on(lab).args(&words).args(&PATIENTLY).run();
    said.exits(0);
    for name in names {
        said.reports(&format!("user/{name}: proven"));
    }
}

fn writes_nothing_where_a_binding_suffices(backend: &Backend) {
    let lab = backend.start(small()).unwrap();
    let lab = &*lab;
    settle(lab);
    let others = (0..200).map(|number| user(&format!("user-{number}")));
    let subjects: Vec<_> = others.chain([user("jane")]).collect();
    bind(lab, "by-somebody", &["*"], &subjects);
    assert!(lab.wait_for(lab.patience(), || accepts(lab, "member1", "jane")));
    let before = state::of(lab);
    let said = Plugin::on(lab).args(&["--user", "jane", "--yes"]).run();
    said.exits(0).reports("Nothing to repair.");
    state::is_same(&state::of(lab), &before, &said);
}

fn understands_the_wording_of_kubernetes_1_36() {
    let federation = karmada_lab::Federation::start(karmada_lab::Spec {
        wording: karmada_lab::ImpersonationWording::Constrained,
        ..small()
    })
    .unwrap();
    let role = json!({"metadata": {"labels": {"karmada.io/managed": null}}, "rules": []});
    assert!(federation.wait_ready("member1", std::time::Duration::from_secs(10)));
    settle(&federation);
    // No rule at all applies to the impersonator.
    federation
        .member("member1")
        .patch(crate::world::ROLE, &role)
        .unwrap();
    let said = Plugin::on(&federation).args(&["-o", "wide"]).run();
    said.exits(1)
        .reports("role-frozen")
        .reports("403 of the member");
    Plugin::on(&federation)
        .args(&["--yes"])
        .args(&PATIENTLY)
        .run()
        .exits(0);
}

fn grants_two_hundred_at_once() {
    let federation = karmada_lab::Federation::start(small()).unwrap();
    settle(&federation);
    let mut words = vec!["--yes".to_owned()];
    for number in 0..200 {
        words.extend(["--user".to_owned(), format!("user-{number}")]);
    }
    let said = Plugin::on(&federation)
        .args(&words)
        .args(&["--timeout", "100s"])
        .run();
    said.exits(0).reports("user/user-199: proven");
    Plugin::on(&federation)
        .args(&words[1..])
        .run()
        .exits(0)
        .reports("Nothing to repair.");
}

fn takes_a_grant_back() {
    let federation = karmada_lab::Federation::start(small()).unwrap();
    settle(&federation);
    let before = state::restorable(&federation);
    let said = Plugin::on(&federation)
        .args(&["--user", "jane", "--in-group", "devs", "--yes"])
        .args(&PATIENTLY)
        .run();
    said.exits(0);
    let backup = said.line_with("backup: ").trim_start_matches("backup: ");
    let undone = Plugin::on(&federation)
        .args(&["--undo", backup, "--yes"])
        .run();
    undone.exits(0);
    state::returns_to(&federation, &before, &undone);
}

/// Jane may write roles, and holds nothing of what she would give.
fn hands_on_manifests_that_an_administrator_applies() {
    let federation = karmada_lab::Federation::start(small()).unwrap();
    settle(&federation);
    crate::world::create(
        &federation,
        "clusterroles",
        &json!({"metadata": {"name": "writer"}, "rules": [
            {"apiGroups": ["rbac.authorization.k8s.io"], "resources": ["clusterroles", "clusterrolebindings"], "verbs": ["create", "get", "list", "patch"]},
            {"apiGroups": ["cluster.karmada.io"], "resources": ["clusters"], "verbs": ["get", "list"]},
        ]}),
    );
    crate::world::create(
        &federation,
        "clusterrolebindings",
        &json!({
            "metadata": {"name": "writer"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "writer"},
            "subjects": [user("jane")],
        }),
    );
    let file = kubeconfig(&federation, "jane", &["devs"])
        .display()
        .to_string();
    let before = state::of(&federation);
    let jane = || Plugin::on(&federation).env("KUBECONFIG", &file);
    let said = jane().args(&["--yes"]).run();
    said.exits(1)
        .reports("may-not-grant")
        .reports("nobody may give more than he holds")
        .reports("-o manifests");
    state::is_same(&state::of(&federation), &before, &said);
    let manifests = jane().args(&["-o", "manifests"]).run();
    manifests
        .reports("kind: ClusterRoleBinding")
        .reports("impersonation-only");
    for document in manifests
        .stdout
        .split("---\n")
        .filter(|text| !text.trim().is_empty())
    {
        let object: serde_json::Value = serde_saphyr::from_str(document).unwrap();
        let resource = format!("{}s", object["kind"].as_str().unwrap().to_lowercase());
        crate::world::create(&federation, &resource, &object);
    }
    assert!(
        federation.wait_for(std::time::Duration::from_secs(10), |federation| {
            accepts(federation, "member1", "jane")
        })
    );
    jane().run().exits(0).reports("200 in ");
}
