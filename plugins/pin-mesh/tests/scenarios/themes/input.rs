//! What cannot be followed is refused before anything is sent.

use karmada_lab::{Federation, Spec};
use karmada_scenarios::plugin::Plugin;
use karmada_scenarios::scenario::{Scenario, embedded};

pub(super) fn scenarios() -> Vec<Scenario> {
    embedded![
        refuses_what_cannot_be_followed,
        refuses_addresses_that_no_node_can_have,
        gives_up_on_a_docker_that_is_not_there,
        reads_no_file_that_is_no_mesh_file,
    ]
}

fn refuses_what_cannot_be_followed() {
    let federation = Federation::start(Spec::default()).unwrap();
    let cases: [(&[&str], &str); 7] = [
        (&["--subnet", "banana"], "is no subnet"),
        (&["--subnet", "172.28.0.5/24"], "host bits set"),
        (&["--subnet", "fd00::/64"], "IPv6"),
        (&["cluster-a=fd00::1"], "IPv6"),
        (
            &["cluster-a=172.28.0.10", "cluster-b=172.28.0.10"],
            "given to both",
        ),
        (&["clustr-a"], "did you mean cluster-a"),
        (&["k3d-cluster-a-serverlb"], "load balancer"),
    ];
    for (arguments, expected) in cases {
        Plugin::on(&federation)
            .args(arguments)
            .run()
            .exits(2)
            .tells(expected);
    }
}

fn refuses_addresses_that_no_node_can_have() {
    let federation = Federation::start(Spec::default()).unwrap();
    for (address, expected) in [
        ("172.29.0.10", "is not in 172.28.0.0/24"),
        ("172.28.0.0", "network address"),
        ("172.28.0.255", "broadcast address"),
        ("172.28.0.1", "gateway"),
    ] {
        let word = format!("cluster-a={address}");
        Plugin::on(&federation)
            .args(&[word.as_str(), "--yes"])
            .run()
            .exits(2)
            .tells(expected);
    }
    let networks = federation.docker().networks("k3d-cluster-a-server-0");
    assert_eq!(networks, ["k3d-cluster-a"]);
}

fn gives_up_on_a_docker_that_is_not_there() {
    let federation = Federation::start(Spec::default()).unwrap();
    Plugin::on(&federation)
        .env("DOCKER_HOST", "unix:///nonexistent/docker.sock")
        .run()
        .exits(3)
        .tells("no Docker daemon listens");
}

fn reads_no_file_that_is_no_mesh_file() {
    let federation = Federation::start(Spec::default()).unwrap();
    let file = federation.karmada_kubeconfig().display().to_string();
    Plugin::on(&federation)
        .args(&["--file", &file])
        .run()
        .exits(2)
        .tells("cannot use the mesh file");
}
