//! What is only printed: the set-up as code, and what crosses the borders of clusters.

use karmada_lab::{Federation, Spec};
use karmada_scenarios::plugin::Plugin;
use karmada_scenarios::scenario::{Scenario, embedded};
use serde_json::json;

pub(super) fn scenarios() -> Vec<Scenario> {
    embedded![
        prints_the_set_up_in_every_form,
        says_where_the_pods_of_one_cluster_find_the_services_of_another,
    ]
}

fn prints_the_set_up_in_every_form() {
    let federation = Federation::start(Spec::default()).unwrap();
    let before = federation.docker().networks("k3d-cluster-a-server-0");
    for (form, expected) in [
        ("k3d", "--tls-san=172.28.0.11"),
        ("k3d", "subnet: auto"),
        (
            "terraform",
            "\"k3d-cluster-a-server-0\"    = \"172.28.0.11\"",
        ),
        ("commands", "--ip 172.28.0.11 --gw-priority -100"),
    ] {
        let said = Plugin::on(&federation).args(&["--print", form]).run();
        said.exits(0).reports(expected).does_not_report("flannel");
    }
    let after = federation.docker().networks("k3d-cluster-a-server-0");
    assert_eq!(after, before);
}

fn says_where_the_pods_of_one_cluster_find_the_services_of_another() {
    let federation = Federation::start(Spec::default()).unwrap();
    Plugin::on(&federation).args(&["--yes"]).run().exits(0);
    let service = json!({
        "metadata": {"name": "postgresql"},
        "spec": {"type": "NodePort", "ports": [{"port": 5432, "nodePort": 30432, "protocol": "TCP"}]}
    });
    federation
        .host()
        .create("/api/v1/namespaces/default/services", &service)
        .unwrap();
    let said = Plugin::on(&federation).args(&["--services"]).run();
    said.exits(0)
        .reports("172.28.0.10:30432")
        .reports("default/postgresql")
        .reports("172.28.0.11:6443");
    let json = Plugin::on(&federation)
        .args(&["--services", "-o", "json"])
        .run();
    let services = json.json()["services"].as_array().unwrap().clone();
    assert!(
        services
            .iter()
            .any(|service| service["address"] == "172.28.0.10:30432"),
        "{services:?}"
    );
}
