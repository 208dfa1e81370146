//! What the documents promise.

use karmada_lab::{Federation, Lab, Spec, User, Works};
use karmada_scenarios::plugin::Plugin;
use karmada_scenarios::scenario::{Scenario, embedded};
use serde_json::{Value, json};

use crate::endpoints;

pub(super) fn scenarios() -> Vec<Scenario> {
    embedded![
        needs_no_more_rights_than_are_published,
        needs_every_right_that_is_published_of_the_control_plane,
    ]
}

const CONTROL_PLANE: &str = include_str!("../../../../../docs/rbac/fix-endpoints.yaml");
const HOST: &str = include_str!("../../../../../docs/rbac/fix-endpoints-host.yaml");
const MEMBER: &str = include_str!("../../../../../docs/rbac/fix-endpoints-member.yaml");

fn documents(yaml: &str) -> Vec<Value> {
    yaml.split("\n---\n")
        .map(|document| serde_saphyr::from_str(document).unwrap())
        .collect()
}

/// Creates the objects of a manifest.
fn grant(cluster: &dyn karmada_lab::Cluster, manifest: &[Value]) {
    for object in manifest {
        let kind = object["kind"].as_str().unwrap().to_lowercase();
        let place = match object["metadata"]["namespace"].as_str() {
            Some(namespace) => format!("namespaces/{namespace}/"),
            None => String::new(),
        };
        let path = format!("/apis/rbac.authorization.k8s.io/v1/{place}{kind}s");
        cluster.create(&path, object).unwrap();
    }
}

/// A federation in which jane has these rights and those that are published for host and members.
fn janes(control_plane: &[Value]) -> Federation {
    let federation = Federation::start(Spec {
        works: Works::Awake,
        ..Spec::default()
    })
    .unwrap();
    let lab: &dyn Lab = &federation;
    grant(&*lab.control_plane(), control_plane);
    grant(&*lab.host(), &documents(HOST));
    for member in &lab.spec().members {
        grant(&*lab.member(member.name()), &documents(MEMBER));
    }
    federation
}

/// The plugin as jane runs it, with consent and access to the host.
fn jane(federation: &Federation) -> Plugin {
    let kubeconfig = |cluster: karmada_lab::Administrator<'_>| {
        let path = cluster.kubeconfig_for(User::new("jane", &[])).unwrap();
        path.display().to_string()
    };
    Plugin::with_host(federation)
        .env("KUBECONFIG", kubeconfig(federation.control_plane()))
        .args(&[
            "--host-kubeconfig",
            &kubeconfig(federation.host()),
            "--timeout",
            "10s",
        ])
}

fn needs_no_more_rights_than_are_published() {
    let federation = janes(&documents(CONTROL_PLANE));
    let said = jane(&federation).run();
    said.exits(0).reports("Repaired, and proven");
    let refused: Vec<String> = federation
        .requests()
        .into_iter()
        .filter(|request| {
            !request.own && request.status == Some(403) && !request.path.contains("/proxy/")
        })
        .map(|request| format!("{} {} {}", request.server, request.method, request.path))
        .collect();
    assert_eq!(refused, [""; 0]);
    let backup = said.line_with("backup: ").trim_start_matches("backup: ");
    jane(&federation).args(&["--undo", backup]).run().exits(0);
    assert!(endpoints::endpoint(&federation, "cluster-a").starts_with("https://0.0.0.0:"));
}

/// Without the right to patch clusters, nothing is written and it is said so; without the secrets, they stay unknown.
fn needs_every_right_that_is_published_of_the_control_plane() {
    let mut without_patch = documents(CONTROL_PLANE);
    for object in &mut without_patch {
        for rule in object["rules"].as_array_mut().into_iter().flatten() {
            if rule["resources"] == json!(["clusters"]) {
                rule["verbs"] = json!(["list", "get"]);
            }
        }
    }
    let federation = janes(&without_patch);
    let said = jane(&federation).run();
    said.exits(4).tells("forbidden").does_not_report("Repaired");

    let mut without_secrets = documents(CONTROL_PLANE);
    without_secrets.retain(|object| object["metadata"]["namespace"].is_null());
    let federation = janes(&without_secrets);
    jane(&federation)
        .run()
        .exits(3)
        .reports("credentials-unreadable");
}
