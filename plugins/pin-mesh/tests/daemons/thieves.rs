//! A pin is no reservation while its container stands still, unless Docker takes its own choices from elsewhere.

use crate::Show;
use crate::machine::{A, HOST, MESH, Machine};

pub(crate) fn scenarios() -> Vec<(&'static str, Show)> {
    vec![
        ("a_range_keeps_dynamic_neighbours_off_the_pins", range),
        ("a_node_whose_pin_was_stolen_is_started_again", stolen),
        ("an_address_that_somebody_holds_is_not_asked_for", held),
        (
            "an_address_that_a_stopped_container_has_is_not_asked_for",
            held_by_a_stopped_one,
        ),
    ]
}

/// The trap: on a network without a range the lowest free address is that of a node that stands still.
fn range(machine: &mut Machine) {
    machine.clusters();
    machine
        .docker
        .create_network("open", Some("172.30.0.0/24"))
        .unwrap();
    machine
        .docker
        .connect("open", A, Some("172.30.0.2"))
        .unwrap();
    machine.docker.act(A, "stop").unwrap();
    machine.docker.run("thief", "open", &[]).unwrap();
    assert_eq!(machine.docker.address("thief", "open"), "172.30.0.2");
    let failure = machine.docker.act(A, "start").unwrap_err();
    assert!(
        failure.message.contains("ddress already in use"),
        "{failure}"
    );
    machine.docker.disconnect("open", A).unwrap();
    machine.docker.act(A, "start").unwrap();

    machine.pinned();
    machine.docker.act(A, "stop").unwrap();
    for number in 0..20 {
        machine
            .docker
            .run(&format!("neighbour-{number}"), MESH, &[])
            .unwrap();
    }
    machine.docker.act(A, "start").unwrap();
    assert_eq!(machine.docker.address(A, MESH), "172.28.0.11");
}

fn stolen(machine: &mut Machine) {
    machine.clusters();
    machine
        .docker
        .create_network(MESH, Some("172.28.0.0/24"))
        .unwrap();
    machine.docker.connect(MESH, A, Some("172.28.0.2")).unwrap();
    machine.docker.act(A, "stop").unwrap();
    machine.docker.run("thief", MESH, &[]).unwrap();
    assert_eq!(machine.docker.address("thief", MESH), "172.28.0.2");
    assert!(machine.docker.act(A, "start").is_err());

    let said = machine.pin_mesh(&["cluster-a", "--yes"]);
    said.exits(0).reports("pin-stolen");
    assert!(machine.runs(A));
    assert_eq!(machine.docker.address(A, MESH), "172.28.0.2");
    assert_ne!(machine.docker.address("thief", MESH), "172.28.0.2");
    assert_ne!(machine.docker.address("thief", MESH), "");
}

fn held(machine: &mut Machine) {
    machine.clusters();
    machine
        .docker
        .create_network(MESH, Some("172.28.0.0/24"))
        .unwrap();
    machine.docker.run("holder", MESH, &[]).unwrap();
    machine.docker.disconnect(MESH, "holder").unwrap();
    machine
        .docker
        .connect(MESH, "holder", Some("172.28.0.99"))
        .unwrap();
    machine
        .pin_mesh(&["cluster-a=172.28.0.99", "--yes"])
        .exits(1)
        .reports("pin-shared");
    let entry = &machine.docker.inspect(A)["NetworkSettings"]["Networks"][MESH];
    assert!(entry.is_null(), "{entry}");
}

/// Docker's own list of a network shows the running ones only.
fn held_by_a_stopped_one(machine: &mut Machine) {
    machine.clusters();
    machine.pinned();
    machine.docker.act(HOST, "stop").unwrap();
    machine
        .pin_mesh(&["cluster-a=172.28.0.10", "--yes"])
        .exits(1)
        .reports("pin-shared");
    assert_eq!(machine.docker.address(A, MESH), "172.28.0.11");
    machine.docker.act(HOST, "start").unwrap();
}
