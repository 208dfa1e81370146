//! Each state of a container in which Docker does something else than it says has a way of its own.

use serde_json::json;

use crate::Show;
use crate::machine::{A, HOST, MESH, Machine};

pub(crate) fn scenarios() -> Vec<(&'static str, Show)> {
    vec![
        ("a_ghost_is_cured", ghost),
        ("a_ghost_leaves_with_a_release", released_ghost),
        ("a_stopped_container_gets_the_new_address", stopped),
        ("a_crash_loop_is_stopped_for_the_change", crash_loop),
        ("a_paused_container_is_pinned", paused),
        ("a_dynamic_address_becomes_a_fixed_one", dynamic),
        ("names_on_the_network_are_kept", aliases),
        ("exchanged_addresses_are_exchanged", exchanged),
        (
            "containers_without_a_network_of_their_own_are_refused",
            no_network,
        ),
        ("a_home_address_becomes_a_fixed_one", home),
    ]
}

/// The trap: a connection that fails leaves an entry that stops the next start.
fn ghost(machine: &mut Machine) {
    machine.clusters();
    machine.pinned();
    machine.docker.disconnect(MESH, A).unwrap();
    assert!(
        machine
            .docker
            .connect(MESH, A, Some("172.28.0.12"))
            .is_err()
    );
    let entry = machine.docker.inspect(A)["NetworkSettings"]["Networks"][MESH].clone();
    assert_eq!(entry["IPAMConfig"]["IPv4Address"], "172.28.0.12");
    assert!(machine.docker.disconnect(MESH, A).is_err());

    let said = machine.pin_mesh(&["cluster-a=172.28.0.11", "--yes"]);
    said.exits(0).reports("ghost-endpoint");
    assert_eq!(machine.docker.address(A, MESH), "172.28.0.11");
    machine.docker.act(A, "restart").unwrap();
    assert_eq!(machine.docker.address(A, MESH), "172.28.0.11");
}

fn released_ghost(machine: &mut Machine) {
    machine.clusters();
    machine.pinned();
    machine.docker.disconnect(MESH, A).unwrap();
    assert!(
        machine
            .docker
            .connect(MESH, A, Some("172.28.0.12"))
            .is_err()
    );
    machine.pin_mesh(&["--release", "--yes"]).exits(0);
    let entry = &machine.docker.inspect(A)["NetworkSettings"]["Networks"][MESH];
    assert!(entry.is_null(), "{entry}");
    machine.docker.act(A, "restart").unwrap();
}

/// The trap: Docker takes another address for a stopped container, and changes nothing.
fn stopped(machine: &mut Machine) {
    machine.clusters();
    machine.pinned();
    machine.docker.act(A, "stop").unwrap();
    machine
        .docker
        .connect(MESH, A, Some("172.28.0.21"))
        .unwrap();
    let pin = |machine: &Machine| {
        let place = machine.docker.inspect(A)["NetworkSettings"]["Networks"][MESH].clone();
        place["IPAMConfig"]["IPv4Address"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    assert_eq!(pin(machine), "172.28.0.11");

    machine
        .pin_mesh(&["cluster-a=172.28.0.21", "--yes"])
        .exits(0);
    assert_eq!(pin(machine), "172.28.0.21");
    machine.docker.act(A, "start").unwrap();
    assert_eq!(machine.docker.address(A, MESH), "172.28.0.21");
}

/// The trap: between two starts a connection is refused.
fn crash_loop(machine: &mut Machine) {
    machine.clusters();
    machine.docker.create_network("k3d-broken", None).unwrap();
    let labels = [
        ("k3d.cluster", "broken"),
        ("k3d.role", "server"),
        ("k3d.cluster.network", "k3d-broken"),
    ];
    let node = "k3d-broken-server-0";
    machine
        .docker
        .run_program(node, "k3d-broken", &labels, &["false"])
        .unwrap();
    let restarting = machine.becomes(|machine| {
        machine.docker.inspect(node)["RestartCount"].as_u64() > Some(7)
            && machine.docker.state(node) == "restarting"
    });
    assert!(restarting, "{}", machine.docker.state(node));
    machine
        .docker
        .create_network("trap", Some("172.31.7.0/24"))
        .unwrap();
    let trapped = machine.docker.connect("trap", node, Some("172.31.7.10"));
    assert!(trapped.is_err() || !machine.deals_out_eth0(), "{trapped:?}");

    let said = machine.pin_mesh(&["broken", "--yes", "--timeout", "5s"]);
    assert!(said.stdout.contains("crash-loop"), "{said:?}");
    let place = machine.docker.inspect(node)["NetworkSettings"]["Networks"][MESH].clone();
    assert_eq!(
        place["IPAMConfig"]["IPv4Address"], "172.28.0.11",
        "{said:?}"
    );
}

fn paused(machine: &mut Machine) {
    machine.clusters();
    machine.docker.act(A, "pause").unwrap();
    machine
        .pin_mesh(&["--all", "--yes"])
        .exits(0)
        .reports("container-paused");
    assert_eq!(machine.docker.address(A, MESH), "172.28.0.11");
    machine.docker.act(A, "unpause").unwrap();
}

/// The trap: a connected container is refused another address.
fn dynamic(machine: &mut Machine) {
    machine.clusters();
    machine
        .docker
        .create_network(MESH, Some("172.28.0.0/24"))
        .unwrap();
    machine.docker.connect(MESH, A, None).unwrap();
    let failure = machine
        .docker
        .connect(MESH, A, Some("172.28.0.201"))
        .unwrap_err();
    assert!(failure.message.contains("already exists"), "{failure}");
    machine
        .pin_mesh(&["cluster-a", "--yes"])
        .exits(0)
        .reports("address-dynamic");
    assert_eq!(machine.docker.address(A, MESH), "172.28.0.201");
    // Without a range, everything below belongs to whoever comes.
    machine
        .pin_mesh(&["cluster-a"])
        .exits(0)
        .reports("network-without-range");
}

/// The trap: a disconnection loses the names that a user gave.
fn aliases(machine: &mut Machine) {
    machine.clusters();
    machine.mesh_of_the_field_report();
    machine.docker.disconnect(MESH, HOST).unwrap();
    let settings = json!({"Container": HOST, "EndpointConfig": {"Aliases": ["database"]}});
    machine
        .docker
        .call("POST", "/networks/karmada-mesh/connect", &settings)
        .unwrap();
    machine.pinned();
    let answer = machine
        .docker
        .exec(A, &["ping", "-c", "1", "-W", "2", "database"])
        .unwrap();
    assert!(answer.contains("172.28.0.10"), "{answer}");
}

fn exchanged(machine: &mut Machine) {
    machine.clusters();
    machine.pinned();
    machine
        .pin_mesh(&["karmada-host=172.28.0.11", "cluster-a=172.28.0.10", "--yes"])
        .exits(0);
    assert_eq!(machine.docker.address(A, MESH), "172.28.0.10");
    assert_eq!(machine.docker.address(HOST, MESH), "172.28.0.11");
    // What was assigned is kept for ever.
    machine
        .pin_mesh(&["--all", "--yes"])
        .exits(0)
        .does_not_report("Plan");
}

fn no_network(machine: &mut Machine) {
    machine.docker.run("on-host", "host", &[]).unwrap();
    machine.docker.run("on-none", "none", &[]).unwrap();
    for container in ["on-host", "on-none"] {
        machine
            .pin_mesh(&[container, "--yes"])
            .exits(1)
            .reports("cannot-join");
    }
}

fn home(machine: &mut Machine) {
    machine
        .docker
        .create_network("k3d-static", Some("172.29.0.0/24"))
        .unwrap();
    machine.node("static", "server", 0);
    let node = "k3d-static-server-0";
    let before = machine.docker.address(node, "k3d-static");
    machine
        .pin_mesh(&["static", "--yes"])
        .exits(0)
        .reports("home-dynamic");
    machine.pin_mesh(&["static", "--home", "--yes"]).exits(0);
    let place = machine.docker.inspect(node)["NetworkSettings"]["Networks"]["k3d-static"].clone();
    assert_eq!(place["IPAMConfig"]["IPv4Address"], before);
    assert_eq!(place["IPAddress"], before);
    let look = machine.look(node);
    assert!(look.contains("default by eth0"), "{look}");
    machine.docker.act(node, "restart").unwrap();
    assert_eq!(machine.look(node), look);
}
