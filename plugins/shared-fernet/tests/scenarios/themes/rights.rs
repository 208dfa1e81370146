//! The published rules suffice, and no more is asked for.

use karmada_lab::{Cluster, Execution, Lab, PodExec, User};
use karmada_scenarios::plugin::Plugin;
use karmada_scenarios::scenario::{Scenario, embedded};
use serde_json::Value;

use crate::airflow;

pub(super) fn scenarios() -> Vec<Scenario> {
    embedded![
        needs_no_more_rights_than_are_published,
        compares_with_rights_to_read_alone,
    ]
}

const CONTROL_PLANE: &str = include_str!("../../../../../docs/rbac/shared-fernet.yaml");
const MEMBER: &str = include_str!("../../../../../docs/rbac/shared-fernet-member.yaml");

fn documents(yaml: &str) -> Vec<Value> {
    yaml.split("\n---\n")
        .map(|document| serde_saphyr::from_str(document).unwrap())
        .collect()
}

fn grant(cluster: &dyn Cluster, manifest: &[Value]) {
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

/// A federation in which jane has the rights of these documents.
fn janes(member: &[Value]) -> Box<dyn Lab> {
    let backends = karmada_lab::backends();
    let embedded = backends
        .iter()
        .find(|backend| backend.name == "embedded")
        .unwrap();
    let lab = airflow::with_chart_made_keys(embedded);
    grant(&*lab.control_plane(), &documents(CONTROL_PLANE));
    for name in ["cluster-a", "cluster-b"] {
        grant(&*lab.member(name), member);
        let allowed = lab.wait_for(lab.patience(), || {
            let role = "/apis/rbac.authorization.k8s.io/v1/clusterroles/karmada-impersonator";
            let role = lab.member(name).read(role).unwrap_or_default();
            role.to_string().contains("jane")
        });
        assert!(allowed, "jane may be impersonated in {name}");
    }
    lab
}

fn jane(lab: &dyn Lab) -> Plugin {
    let kubeconfig = lab
        .control_plane()
        .kubeconfig_for(User::new("jane", &[]))
        .unwrap();
    airflow::plugin(lab)
        .env("KUBECONFIG", kubeconfig.display().to_string())
        .args(&["-n", "airflow"])
}

fn needs_no_more_rights_than_are_published() {
    let lab = janes(&documents(MEMBER));
    let federation = lab.embedded().unwrap();
    for member in ["cluster-a", "cluster-b"] {
        federation
            .member(member)
            .on_exec(|_: &PodExec| Execution::said(""));
    }
    jane(&*lab)
        .args(&["sync", "--from", "cluster-a", "--yes"])
        .run()
        .exits(0);
    jane(&*lab).args(&["rotate", "--yes"]).run().exits(0);
    let refused: Vec<String> = federation
        .requests()
        .into_iter()
        .filter(|request| !request.own && request.status == Some(403))
        .map(|request| format!("{} {} {}", request.server, request.method, request.path))
        .collect();
    assert_eq!(refused, [""; 0]);
}

fn compares_with_rights_to_read_alone() {
    let mut reads = documents(MEMBER);
    for object in &mut reads {
        for rule in object["rules"].as_array_mut().into_iter().flatten() {
            let verbs = rule["verbs"].as_array_mut().unwrap();
            verbs.retain(|verb| ["get", "list"].contains(&verb.as_str().unwrap()));
        }
    }
    let lab = janes(&reads);
    jane(&*lab).run().exits(1).reports("[keys-disjoint]");
    let said = jane(&*lab)
        .args(&["sync", "--from", "cluster-a", "--yes"])
        .run();
    said.exits(1).tells("forbidden");
}
