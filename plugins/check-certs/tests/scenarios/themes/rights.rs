//! The rules that suffice.

use std::time::Duration;

use karmada_lab::{Cluster, Federation, Lab, MemberSpec, Spec, User, Works};
use karmada_scenarios::plugin::Plugin;
use karmada_scenarios::scenario::{Scenario, embedded};
use serde_json::{Value, json};

use crate::karmada_cert;

pub(super) fn scenarios() -> Vec<Scenario> {
    embedded![
        needs_no_more_rights_than_are_published,
        what_a_missing_right_hides_is_unknown,
    ]
}

pub(super) const CONTROL_PLANE: &str = include_str!("../../../../../docs/rbac/check-certs.yaml");
pub(super) const HOST: &str = include_str!("../../../../../docs/rbac/check-certs-host.yaml");
const MEMBER: &str = include_str!("../../../../../docs/rbac/check-certs-member.yaml");

pub(super) fn documents(yaml: &str) -> Vec<Value> {
    yaml.split("\n---\n")
        .map(|document| serde_saphyr::from_str(document).unwrap())
        .collect()
}

/// Creates the objects of a manifest.
pub(super) fn create(cluster: &dyn Cluster, manifest: &[Value]) {
    for object in manifest {
        let version = object["apiVersion"].as_str().unwrap();
        let root = match version.contains('/') {
            true => format!("/apis/{version}"),
            false => format!("/api/{version}"),
        };
        let place = match object["metadata"]["namespace"].as_str() {
            Some(namespace) => format!("namespaces/{namespace}/"),
            None => String::new(),
        };
        let kind = object["kind"].as_str().unwrap().to_lowercase();
        cluster
            .create(&format!("{root}/{place}{kind}s"), object)
            .unwrap();
    }
}

/// A federation in which jane has these rights.
fn janes(control_plane: &[Value], host: &[Value]) -> Federation {
    let federation = Federation::start(Spec {
        works: Works::Awake,
        ..Spec::with_members([MemberSpec::k3d("cluster-a")]).joined_internally()
    })
    .unwrap();
    let lab: &dyn Lab = &federation;
    let host_container = lab.spec().host.first_server();
    federation
        .docker()
        .connect("k3d-cluster-a", &host_container, None)
        .unwrap();
    karmada_cert::store(&*lab.host(), 10);
    let namespace = json!({"metadata": {"name": "karmada-system"}});
    // It may be there already.
    let _ = lab
        .member("cluster-a")
        .create("/api/v1/namespaces", &namespace);
    create(&*lab.control_plane(), control_plane);
    create(&*lab.host(), host);
    create(&*lab.member("cluster-a"), &documents(MEMBER));
    federation
}

/// The plugin as jane runs it, with access to the host.
fn jane(federation: &Federation) -> Plugin {
    let kubeconfig = |cluster: karmada_lab::Administrator<'_>| {
        let path = cluster.kubeconfig_for(User::new("jane", &[])).unwrap();
        path.display().to_string()
    };
    Plugin::on(federation)
        .env("KUBECONFIG", kubeconfig(federation.control_plane()))
        .args(&["--host-kubeconfig", &kubeconfig(federation.host())])
}

/// Only of members in pull mode the agent's kubeconfig is read.
fn set_to_pull(federation: &Federation) {
    let pull = json!({"spec": {"syncMode": "Pull"}});
    let cluster = "/apis/cluster.karmada.io/v1alpha1/clusters/cluster-a";
    federation.control_plane().patch(cluster, &pull).unwrap();
}

fn needs_no_more_rights_than_are_published() {
    let federation = janes(&documents(CONTROL_PLANE), &documents(HOST));
    assert!(federation.wait_ready("cluster-a", Duration::from_secs(60)));
    set_to_pull(&federation);
    federation.forget_requests();
    let said = jane(&federation).run();
    assert!(federation.requests().iter().any(|request| {
        request.server == "k3d-cluster-a" && request.path.contains("karmada-system/secrets")
    }));
    said.exits(1)
        .reports("secret/karmada-system/karmada-cert/karmada.crt");
    said.does_not_report("forbidden")
        .does_not_report("source-unreadable");
    let refused: Vec<String> = federation
        .requests()
        .into_iter()
        .filter(|request| !request.own && request.status == Some(403))
        .map(|request| format!("{} {} {}", request.server, request.method, request.path))
        .collect();
    assert_eq!(refused, [""; 0]);
    assert_eq!(federation.writes(), []);
}

/// A rule at a time is taken away.
fn what_a_missing_right_hides_is_unknown() {
    for (yaml, others, is_host) in [(CONTROL_PLANE, HOST, false), (HOST, CONTROL_PLANE, true)] {
        let (whole, others) = (documents(yaml), documents(others));
        for (index, object) in whole.iter().enumerate() {
            for rule in 0..object["rules"].as_array().map_or(0, Vec::len) {
                let mut lacking = whole.clone();
                let rules = lacking[index]["rules"].as_array_mut().unwrap();
                let taken = rules.remove(rule);
                // Only where there are pods that a connection can be forwarded to.
                if taken["resources"] == json!(["pods/portforward"]) {
                    continue;
                }
                let federation = match is_host {
                    true => janes(&others, &lacking),
                    false => janes(&lacking, &others),
                };
                set_to_pull(&federation);
                let said = jane(&federation).args(&["--fail-on", "error"]).run();
                assert_eq!(said.code, Some(3), "without {taken}\n{}", said.stdout);
                said.reports("source-unreadable").reports("forbidden");
            }
        }
    }
}
