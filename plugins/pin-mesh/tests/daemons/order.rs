//! The default route and `eth0` stay on a node's own network.

use crate::Show;
use crate::machine::{A, MESH, Machine};

pub(crate) fn scenarios() -> Vec<(&'static str, Show)> {
    vec![
        (
            "a_name_that_sorts_first_does_not_take_the_default_route",
            sorts_first,
        ),
        (
            "a_network_that_would_take_the_default_route_is_refused_or_tamed",
            existing,
        ),
        ("a_taken_subnet_is_told_with_a_free_one", overlap),
        ("addresses_are_kept_in_a_file", file),
    ]
}

/// The trap: the network whose name sorts first becomes the default route of a running container at once.
fn sorts_first(machine: &mut Machine) {
    machine.clusters();
    machine
        .docker
        .create_network("aaa-trap", Some("172.30.0.0/24"))
        .unwrap();
    machine
        .docker
        .connect("aaa-trap", A, Some("172.30.0.11"))
        .unwrap();
    assert!(
        !machine.look(A).contains("default by eth0"),
        "{}",
        machine.look(A)
    );
    machine.docker.disconnect("aaa-trap", A).unwrap();

    machine
        .pin_mesh(&["--all", "--network", "aaa-mesh", "--yes"])
        .exits(0);
    for _ in 0..3 {
        let look = machine.look(A);
        assert!(look.contains("default by eth0"), "{look}");
        machine.docker.act(A, "restart").unwrap();
    }
}

fn existing(machine: &mut Machine) {
    machine.clusters();
    machine
        .docker
        .create_network("aaa-mesh", Some("172.28.0.0/24"))
        .unwrap();
    let words = ["cluster-a", "--network", "aaa-mesh", "--yes"];
    let said = machine.pin_mesh(&words);
    if machine.deals_out_eth0() {
        said.exits(0).reports("network-not-internal");
    } else {
        said.exits(1).reports("default-route-at-risk");
        assert_eq!(machine.docker.address(A, "aaa-mesh"), "");
        machine
            .pin_mesh(&[&words[..], &["--replace-network"]].concat())
            .exits(0);
    }
    assert!(
        machine.look(A).contains("default by eth0"),
        "{}",
        machine.look(A)
    );
}

fn overlap(machine: &mut Machine) {
    machine.clusters();
    machine
        .docker
        .create_network("taken", Some("172.28.0.0/16"))
        .unwrap();
    let said = machine.pin_mesh(&["--all", "--yes"]);
    said.exits(1).reports("subnet-overlap");
    let hint = said
        .stdout
        .lines()
        .find(|line| line.contains("--subnet"))
        .unwrap();
    let free = hint.split("--subnet ").nth(1).unwrap().trim();
    machine
        .pin_mesh(&["--all", "--subnet", free, "--yes"])
        .exits(0);
    assert!(!machine.docker.address(A, MESH).is_empty());
}

fn file(machine: &mut Machine) {
    machine.clusters();
    let environment = machine.docker.environment();
    let file = format!("{}/mesh.yaml", environment["HOME"]);
    machine
        .pin_mesh(&["--all", "--file", &file, "--yes"])
        .exits(0);
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(
        text.contains("k3d-cluster-a-server-0: \"172.28.0.11\""),
        "{text}"
    );
    machine
        .pin_mesh(&["--all", "--file", &file, "--yes"])
        .exits(0)
        .does_not_report("Plan");
    machine.pin_mesh(&["--release", "--yes"]).exits(0);
    std::fs::write(&file, text.replace("172.28.0.11", "172.28.0.31")).unwrap();
    machine.pin_mesh(&["--file", &file, "--yes"]).exits(0);
    assert_eq!(machine.docker.address(A, MESH), "172.28.0.31");
}
