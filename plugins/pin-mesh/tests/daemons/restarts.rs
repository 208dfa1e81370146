//! Addresses, interfaces and routes survive whatever ends a daemon; a second run writes nothing; a release leaves no trace.

use crate::Show;
use crate::machine::{A, B, HOST, MESH, Machine, PINS, SERVERS};

pub(crate) fn scenarios() -> Vec<(&'static str, Show)> {
    vec![
        ("survives_a_daemon_that_is_killed_hard", killed),
        ("survives_a_daemon_that_is_shut_down", shut_down),
        ("survives_twenty_restarts_of_a_node", twenty_restarts),
        ("a_drill_restarts_every_node_and_sees_it_unchanged", drill),
        ("a_second_run_writes_nothing", second_run),
        ("a_release_leaves_no_trace", release),
        ("an_undo_puts_everything_back", undo),
        ("a_declined_plan_changes_nothing", declined),
    ]
}

/// The field report's network: dynamic neighbours, and addresses that are dealt out anew.
fn killed(machine: &mut Machine) {
    machine.clusters();
    machine.mesh_of_the_field_report();
    for number in 0..3 {
        machine
            .docker
            .run(&format!("neighbour-{number}"), MESH, &[])
            .unwrap();
    }
    // No address of that network can be fixed, whatever the field report hoped for.
    let refused = machine
        .docker
        .connect(MESH, "k3d-cluster-a-agent-0", Some("172.18.0.77"));
    assert!(refused.is_err());
    let pinned = machine.pinned();
    for number in 0..3 {
        let name = format!("neighbour-{number}");
        assert!(
            machine.docker.address(&name, MESH).starts_with("172.28.0."),
            "{name}"
        );
    }
    for _ in 0..2 {
        machine.docker.kill();
        machine.docker.launch().unwrap();
        machine.is_as(&pinned);
    }
    machine
        .pin_mesh(&["--all", "--yes"])
        .exits(0)
        .does_not_report("Plan");
}

fn shut_down(machine: &mut Machine) {
    machine.clusters();
    let pinned = machine.pinned();
    for number in 0..3 {
        machine
            .docker
            .run(&format!("neighbour-{number}"), MESH, &[])
            .unwrap();
    }
    machine.docker.terminate();
    machine.docker.launch().unwrap();
    machine.is_as(&pinned);
}

fn twenty_restarts(machine: &mut Machine) {
    machine.clusters();
    if machine.deals_out_eth0() {
        // The trap: pinned as the field report does it, eth0 becomes the mesh in some of the restarts.
        machine
            .docker
            .create_network(MESH, Some("172.28.0.0/24"))
            .unwrap();
        machine
            .docker
            .connect(MESH, A, Some("172.28.0.11"))
            .unwrap();
        let flips = (0..40).any(|_| {
            machine.docker.act(A, "restart").unwrap();
            machine.look(A).contains("172.28.0.0/24 behind eth0")
        });
        assert!(flips, "40 restarts without the trap: {}", machine.look(A));
        machine.docker.disconnect(MESH, A).unwrap();
        machine
            .docker
            .call("DELETE", "/networks/karmada-mesh", &serde_json::Value::Null)
            .unwrap();
    }
    let pinned = machine.pinned();
    let look = pinned.iter().find(|line| line.starts_with(A)).unwrap();
    for number in 0..20 {
        machine.docker.act(A, "restart").unwrap();
        assert_eq!(&machine.look(A), look, "after restart {number}");
    }
}

fn drill(machine: &mut Machine) {
    machine.clusters();
    let pinned = machine.pinned();
    let said = machine.pin_mesh(&["--drill", "--yes"]);
    said.exits(0);
    for (node, _) in PINS {
        let line = format!(
            "restart container {node} and see that its addresses, interfaces and routes are unchanged: applied, unchanged: "
        );
        assert!(said.stderr.contains(&line), "{line} in {}", said.stderr);
    }
    machine.is_as(&pinned);
}

fn second_run(machine: &mut Machine) {
    machine.clusters();
    machine.pinned();
    let state = |machine: &Machine| SERVERS.map(|node| machine.docker.inspect(node));
    let before = state(machine);
    machine
        .pin_mesh(&["--yes"])
        .exits(0)
        .reports("Nothing to repair.")
        .does_not_report("Plan");
    assert_eq!(state(machine), before);
}

fn release(machine: &mut Machine) {
    machine.clusters();
    let before = traces(machine);
    machine.pinned();
    machine
        .pin_mesh(&["cluster-a", "--release", "--yes"])
        .exits(0);
    assert_eq!(machine.docker.address(A, MESH), "");
    assert_eq!(machine.docker.address(B, MESH), "172.28.0.12");
    machine.pin_mesh(&["--release", "--yes"]).exits(0);
    assert_eq!(traces(machine), before);
    machine
        .pin_mesh(&["--release", "--yes"])
        .exits(0)
        .does_not_report("Plan");
}

fn undo(machine: &mut Machine) {
    machine.clusters();
    let before = traces(machine);
    let said = machine.pin_mesh(&["--all", "--yes", "-o", "json"]);
    said.exits(0);
    let report: serde_json::Value = serde_json::from_str(&said.stdout).unwrap();
    let backup = report["backup"].as_str().unwrap();
    machine
        .pin_mesh(&["--undo", backup, "--yes"])
        .exits(0)
        .reports("Taken back");
    assert_eq!(traces(machine), before);
}

fn declined(machine: &mut Machine) {
    machine.clusters();
    let before = traces(machine);
    machine.pin_mesh(&["--all"]).exits(1).reports("Plan, ");
    machine.pin_mesh(&["--all", "--dry-run"]).exits(1);
    machine
        .pin_mesh(&["--all", "--print-commands"])
        .exits(1)
        .reports("docker network create");
    machine.pin_mesh(&[]).exits(0).reports("nothing-selected");
    assert_eq!(traces(machine), before);
}

/// The networks there are, and on which of them each node is.
fn traces(machine: &Machine) -> Vec<String> {
    let listed = machine
        .docker
        .call("GET", "/networks", &serde_json::Value::Null)
        .unwrap();
    let networks = listed.as_array().unwrap().iter();
    let mut traces: Vec<String> = networks
        .map(|network| network["Name"].as_str().unwrap().to_owned())
        .collect();
    for node in [HOST, A, B] {
        let seen = machine.docker.inspect(node);
        let on = seen["NetworkSettings"]["Networks"].as_object().unwrap();
        traces.push(format!("{node}: {:?}", on.keys().collect::<Vec<_>>()));
    }
    traces.sort();
    traces
}
