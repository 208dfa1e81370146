//! What the documents promise.

use karmada_lab::{Federation, Lab};
use karmada_scenarios::plugin::Plugin;
use karmada_scenarios::scenario::{Scenario, embedded};
use serde_json::Value;

use crate::world::{PATIENTLY, asks, bind, freeze, kubeconfig, label, settle, small, user};

pub(super) fn scenarios() -> Vec<Scenario> {
    embedded![needs_no_more_rights_than_are_published]
}

const CONTROL_PLANE: &str = include_str!("../../../../../docs/rbac/grant-impersonate.yaml");
const HOST: &str = include_str!("../../../../../docs/rbac/grant-impersonate-host.yaml");
const MEMBER: &str = include_str!("../../../../../docs/rbac/grant-impersonate-member.yaml");

/// Creates the objects of a manifest.
fn publish(cluster: &dyn karmada_lab::Cluster, yaml: &str) {
    for document in yaml.split("\n---\n") {
        let object: Value = serde_saphyr::from_str(document).unwrap();
        let kind = object["kind"].as_str().unwrap().to_lowercase();
        let place = match object["metadata"]["namespace"].as_str() {
            Some(namespace) => format!("namespaces/{namespace}/"),
            None => String::new(),
        };
        let path = format!("/apis/rbac.authorization.k8s.io/v1/{place}{kind}s");
        cluster.create(&path, &object).unwrap();
    }
}

/// Jane grants bob access and a role, thaws a role on the way, and takes all of it back.
fn needs_no_more_rights_than_are_published() {
    let federation = Federation::start(small()).unwrap();
    let lab: &dyn Lab = &federation;
    settle(lab);
    publish(&*lab.control_plane(), CONTROL_PLANE);
    publish(&*lab.host(), HOST);
    publish(&*lab.member("member1"), MEMBER);
    bind(lab, "jane", &["get"], &[user("jane")]);
    assert!(lab.wait_for(lab.patience(), || crate::world::accepts(
        lab, "member1", "jane"
    )));
    freeze(lab, "member1", "eve");
    let file = kubeconfig(lab, "jane", &[]).display().to_string();
    let host = lab
        .host()
        .kubeconfig_for(karmada_lab::User::new("jane", &[]))
        .unwrap()
        .display()
        .to_string();
    federation.forget_requests();
    let jane = |more: &[&str]| {
        Plugin::on(lab)
            .env("KUBECONFIG", &file)
            .args(&[
                "--user",
                "bob",
                "--in-group",
                "devs",
                "--host-kubeconfig",
                &host,
                "--yes",
            ])
            .args(more)
            .args(&PATIENTLY)
            .run()
    };
    jane(&["--member-role", "view"])
        .exits(0)
        .reports("role-frozen")
        .reports("user/bob: proven")
        .reports("may list pods");
    assert_eq!(label(lab, "member1"), "true");
    asks(lab, "bob", &["devs"], "member1").exits(0);
    jane(&["--revoke"]).exits(0);
    // Whether the role exists there is nice to know and not needed; before the grant bob is refused, and shall be.
    let refused: Vec<String> = federation
        .requests()
        .into_iter()
        .filter(|request| !request.own && request.status == Some(403))
        .filter(|request| {
            !request.path.ends_with("/proxy/api") && !request.path.ends_with("clusterroles/view")
        })
        .map(|request| format!("{} {} {}", request.server, request.method, request.path))
        .collect();
    assert_eq!(refused, [""; 0]);
}
