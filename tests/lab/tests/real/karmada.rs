//! Karmada's behaviour on every backend.

use karmada_lab::{Lab, Spec};
use serde_json::json;

use crate::Scenario;

pub(crate) const SCENARIOS: &[Scenario] = &[
    (
        "starts_with_members_that_are_not_ready",
        Spec::default,
        starts_with_members_that_are_not_ready,
    ),
    (
        "becomes_ready_when_connected_and_patched",
        Spec::default,
        becomes_ready_when_connected_and_patched,
    ),
];

fn starts_with_members_that_are_not_ready(lab: &dyn Lab) {
    for name in ["cluster-a", "cluster-b"] {
        let ready = lab.readiness(name).unwrap();
        assert_eq!(
            (&ready["status"], &ready["reason"]),
            (&json!("False"), &json!("ClusterNotReachable"))
        );
        let path = format!("/apis/cluster.karmada.io/v1alpha1/clusters/{name}");
        let cluster = lab.control_plane().read(&path).unwrap();
        let port = lab.member(name).port();
        assert_eq!(
            cluster["spec"]["apiEndpoint"],
            format!("https://0.0.0.0:{port}")
        );
    }
    let before = lab.state();
    assert!(before.len() > 40, "{before:#?}");
    assert_eq!(before, lab.state());
}

fn becomes_ready_when_connected_and_patched(lab: &dyn Lab) {
    repair(lab, "cluster-a");
    assert!(lab.wait_ready("cluster-a", lab.patience()));
    assert_eq!(lab.readiness("cluster-b").unwrap()["status"], "False");
}

/// Does by hand what repairs a member.
fn repair(lab: &dyn Lab, name: &str) {
    let cluster = lab.spec().member(name);
    let network = cluster.home_network();
    lab.docker()
        .connect(&network, &lab.spec().host.first_server(), None)
        .unwrap();
    let address = lab
        .docker()
        .address(&cluster.first_server(), &network)
        .unwrap();
    let patch =
        json!({"spec": {"apiEndpoint": format!("https://{address}:{}", cluster.api_port())}});
    lab.control_plane()
        .patch(
            &format!("/apis/cluster.karmada.io/v1alpha1/clusters/{name}"),
            &patch,
        )
        .unwrap();
}
