//! Workloads, as restarts and commands in pods need them.

use http::Method;
use karmada_lab::{Federation, Spec};
use serde_json::{Value, json};

use crate::clients::{Kube, refusal};

const APPS: &str = "/apis/apps/v1/namespaces/default";
const PODS: &str = "/api/v1/namespaces/default/pods";

fn workload() -> Value {
    json!({
        "metadata": {"name": "app"},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": {"app": "app"}},
            "template": {
                "metadata": {"labels": {"app": "app"}},
                "spec": {"containers": [{"name": "main", "image": "app:1"}]},
            },
        },
    })
}

fn pods(federation: &Federation) -> Vec<String> {
    let list = federation.member("cluster-a").read(PODS).unwrap();
    let pods = list["items"].as_array().unwrap();
    pods.iter()
        .map(|pod| pod["metadata"]["name"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn a_new_template_gets_new_pods_in_every_kind_of_workload() {
    for (kind, count) in [("deployments", 2), ("statefulsets", 2), ("daemonsets", 1)] {
        let federation = Federation::start(Spec::default()).unwrap();
        let member = federation.member("cluster-a");
        let made = member
            .create(&format!("{APPS}/{kind}"), &workload())
            .unwrap();
        assert_eq!(made["status"]["observedGeneration"], 1, "{kind}");
        let before = member.read(PODS).unwrap();
        assert_eq!(pods(&federation).len(), count, "{kind}");
        assert_eq!(before["items"][0]["spec"]["containers"][0]["name"], "main");
        let annotated =
            json!({"spec": {"template": {"metadata": {"annotations": {"restarted": "now"}}}}});
        let path = format!("{APPS}/{kind}/app");
        let after = member.patch(&path, &annotated).unwrap();
        assert_eq!(after["status"]["observedGeneration"], 2, "{kind}");
        let uids = |list: &Value| list["items"][0]["metadata"]["uid"].clone();
        assert_eq!(pods(&federation).len(), count, "{kind}");
        assert_ne!(uids(&member.read(PODS).unwrap()), uids(&before), "{kind}");
        member.delete(&path).unwrap();
        assert_eq!(pods(&federation).len(), 0, "{kind}");
    }
}

#[test]
fn pods_stay_where_a_new_template_replaces_none() {
    for (kind, changes) in [
        ("deployments", json!({"paused": true})),
        (
            "statefulsets",
            json!({"updateStrategy": {"type": "OnDelete"}}),
        ),
    ] {
        let federation = Federation::start(Spec::default()).unwrap();
        let member = federation.member("cluster-a");
        let path = format!("{APPS}/{kind}/app");
        member
            .create(&format!("{APPS}/{kind}"), &workload())
            .unwrap();
        member.patch(&path, &json!({"spec": changes})).unwrap();
        let before = pods(&federation);
        let annotated =
            json!({"spec": {"template": {"metadata": {"annotations": {"restarted": "now"}}}}});
        member.patch(&path, &annotated).unwrap();
        assert_eq!(pods(&federation), before, "{kind}");
    }
}

#[test]
fn options_in_the_body_of_a_deletion_replace_those_in_the_query() {
    let federation = Federation::start(Spec::default()).unwrap();
    let member = federation.member("cluster-a");
    let path = format!("{APPS}/deployments/app");
    member
        .create(&format!("{APPS}/deployments"), &workload())
        .unwrap();
    let kube = Kube::new(&federation.kubeconfig());
    let path = format!("/apis/cluster.karmada.io/v1alpha1/clusters/cluster-a/proxy{path}");
    // The proxy is closed before the repair; the member itself is asked.
    assert_eq!(refusal(kube.read(&path)).0, 500);
    let kube = Kube::new(
        &member
            .kubeconfig_for(karmada_lab::User::new("root", &["system:masters"]))
            .unwrap(),
    );
    let path = format!("{APPS}/deployments/app");
    let delete = |query: &str, body: &Value| {
        let path = format!("{path}{query}");
        kube.send(Method::DELETE, &path, "application/json", body)
            .unwrap();
        member.read(&path).is_ok()
    };
    assert!(delete("?dryRun=All", &Value::Null));
    assert!(delete("", &json!({"dryRun": ["All"]})));
    assert!(!delete("?dryRun=All", &json!({"kind": "DeleteOptions"})));
}
