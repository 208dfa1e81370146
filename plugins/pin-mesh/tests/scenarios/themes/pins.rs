//! Nodes are pinned on every Docker, with and without a control plane.

use karmada_lab::{Backend, Effect, Engine, Fault, Federation, Lab, MemberSpec, Spec};
use karmada_scenarios::plugin::Plugin;
use karmada_scenarios::scenario::{Scenario, anywhere, embedded};

pub(super) fn scenarios() -> Vec<Scenario> {
    let mut scenarios = anywhere![
        pins_the_federation,
        replaces_the_network_of_the_field_report
    ];
    scenarios.extend(embedded![
        pins_on_every_docker,
        pins_without_a_kubeconfig,
        keeps_an_address_for_ever,
        tells_which_step_a_read_only_socket_refuses,
        leaves_kind_alone_where_it_would_break,
        releases_what_it_made,
        warns_where_the_control_plane_dials_an_address_that_is_left,
    ]);
    scenarios
}

const MESH: &str = "karmada-mesh";
const HOST: &str = "k3d-karmada-host-server-0";
const A: &str = "k3d-cluster-a-server-0";
const B: &str = "k3d-cluster-b-server-0";

#[track_caller]
fn is_pinned(lab: &dyn Lab) {
    let docker = lab.docker();
    for (node, address) in [
        (HOST, "172.28.0.10"),
        (A, "172.28.0.11"),
        (B, "172.28.0.12"),
    ] {
        let seen = docker.inspect(node).unwrap();
        let place = &seen["NetworkSettings"]["Networks"][MESH];
        assert_eq!(place["IPAddress"], address, "{node}: {place}");
        assert_eq!(
            place["IPAMConfig"]["IPv4Address"], address,
            "{node}: {place}"
        );
    }
}

fn pins_the_federation(backend: &Backend) {
    let lab = backend.start(Spec::default()).unwrap();
    Plugin::on(&*lab)
        .args(&["--yes"])
        .run()
        .exits(0)
        .reports("Repaired, and verified");
    is_pinned(&*lab);
    let before = lab.state();
    Plugin::on(&*lab)
        .args(&["--yes"])
        .run()
        .exits(0)
        .reports("Nothing to repair.")
        .does_not_report("Plan");
    assert_eq!(lab.changes_since(&before), Vec::<String>::new());
}

fn replaces_the_network_of_the_field_report(backend: &Backend) {
    let lab = backend.start(Spec::default()).unwrap();
    lab.docker().create_network(MESH, None).unwrap();
    for node in [HOST, A, B] {
        lab.docker().connect(MESH, node, None).unwrap();
    }
    lab.docker().run("neighbour", MESH, None).unwrap();
    Plugin::on(&*lab)
        .args(&["--yes"])
        .run()
        .exits(0)
        .reports("network-cannot-pin")
        .reports("neighbour at an address that Docker chooses");
    is_pinned(&*lab);
    assert!(lab.docker().address("neighbour", MESH).is_some());
}

fn pins_on_every_docker() {
    for engine in [Engine::V20, Engine::V26, Engine::V28] {
        let federation = Federation::start(Spec {
            engine,
            ..Spec::default()
        })
        .unwrap();
        Plugin::on(&federation)
            .args(&["--all", "--yes"])
            .run()
            .exits(0);
        is_pinned(&federation);
        for node in [HOST, A, B] {
            federation.docker().restart(node).unwrap();
            let home = node.trim_end_matches("-server-0");
            let route = federation.docker().default_route(node);
            assert_eq!(route.as_deref(), Some(home), "{engine:?}");
        }
        Plugin::on(&federation)
            .args(&["--all", "--yes"])
            .run()
            .exits(0)
            .does_not_report("Plan");
    }
}

fn pins_without_a_kubeconfig() {
    let federation = Federation::start(Spec::default()).unwrap();
    let without = || {
        Plugin::on(&federation)
            .without("KUBECONFIG")
            .env("HOME", "/nonexistent")
    };
    without().run().exits(0).reports("nothing-selected");
    without().args(&["--all", "--yes"]).run().exits(0);
    is_pinned(&federation);
}

fn keeps_an_address_for_ever() {
    let federation = Federation::start(Spec::default()).unwrap();
    let run = |arguments: &[&str]| Plugin::on(&federation).args(arguments).run();
    run(&["cluster-b=172.28.0.11", "--yes"]).exits(0);
    federation.docker().stop(B).unwrap();
    run(&["--all", "--yes"]).exits(0);
    federation.docker().start(B).unwrap();
    let address = |node: &str| federation.docker().address(node, MESH).unwrap().to_string();
    assert_eq!(address(B), "172.28.0.11");
    assert_eq!(address(A), "172.28.0.12");
}

fn tells_which_step_a_read_only_socket_refuses() {
    let federation = Federation::start(Spec::default()).unwrap();
    let before = federation.docker().networks(A);
    federation.inject(
        Fault::on("/networks", Effect::Status(403))
            .at("docker")
            .method("POST"),
    );
    Plugin::on(&federation)
        .args(&["--all", "--yes"])
        .run()
        .exits(1)
        .tells("create network karmada-mesh")
        .tells("refused")
        .reports("Nothing was written.");
    assert_eq!(federation.docker().networks(A), before);
}

fn leaves_kind_alone_where_it_would_break() {
    let spec = |engine| Spec {
        engine,
        ..Spec::with_members([MemberSpec::kind("one").subnet("172.22.0.0/16")])
    };
    let federation = Federation::start(spec(Engine::V28)).unwrap();
    Plugin::on(&federation)
        .args(&["one", "--yes"])
        .run()
        .exits(1)
        .reports("kind-would-move")
        .does_not_report("Plan");
    let federation = Federation::start(spec(Engine::V26)).unwrap();
    Plugin::on(&federation)
        .args(&["one", "--yes"])
        .run()
        .exits(0);
}

fn releases_what_it_made() {
    let federation = Federation::start(Spec::default()).unwrap();
    let before = federation.docker().networks(A);
    Plugin::on(&federation).args(&["--yes"]).run().exits(0);
    Plugin::on(&federation)
        .args(&["--release", "--yes"])
        .run()
        .exits(0)
        .reports("on-network");
    assert_eq!(federation.docker().networks(A), before);
    assert!(federation.docker().inspect_network(MESH).is_none());
}

fn warns_where_the_control_plane_dials_an_address_that_is_left() {
    let federation = Federation::start(Spec::default()).unwrap();
    federation
        .docker()
        .create_network(MESH, Some("172.28.0.0/24"))
        .unwrap();
    federation.docker().connect(MESH, A, None).unwrap();
    let held = federation.docker().address(A, MESH).unwrap();
    let path = "/apis/cluster.karmada.io/v1alpha1/clusters/cluster-a";
    let endpoint = serde_json::json!({"spec": {"apiEndpoint": format!("https://{held}:6443")}});
    federation.control_plane().patch(path, &endpoint).unwrap();
    Plugin::on(&federation)
        .args(&["cluster-a"])
        .run()
        .exits(1)
        .reports("kubectl karmada-fix-endpoints cluster-a");
}
