//! Which container is the member: never a stranger's, whatever its port or name says.

use karmada_lab::{Endpoint, Federation, Lab, MemberSpec, Spec, Works};
use karmada_scenarios::plugin::Plugin;
use karmada_scenarios::scenario::{Scenario, embedded};
use karmada_scenarios::state;
use serde_json::json;

use crate::endpoints;

pub(super) fn scenarios() -> Vec<Scenario> {
    embedded![
        finds_the_member_although_another_container_took_its_port,
        does_not_follow_a_port_to_a_stranger,
        refuses_a_namesake_that_is_another_cluster,
        refuses_a_namesake_even_where_the_certificate_is_not_checked,
        puts_swapped_addresses_right,
        puts_swapped_addresses_right_while_both_are_still_ready,
        tells_two_namesakes_apart_by_their_certificates,
        leaves_a_ready_member_alone_whose_namesake_is_another_cluster,
        does_not_take_the_members_own_container_for_the_control_plane,
        says_so_where_docker_is_on_another_machine,
    ]
}

fn one() -> Spec {
    Spec {
        works: Works::Awake,
        ..Spec::with_members([MemberSpec::k3d("one").subnet("172.20.0.0/16")])
    }
}

/// Two members on one network, as on kind, joined at their internal addresses.
fn neighbours(failure_threshold: std::time::Duration) -> Federation {
    let member = |name: &str| {
        MemberSpec::k3d(name)
            .no_load_balancer()
            .network("lab")
            .subnet("172.20.0.0/16")
            .joined_at(Endpoint::Internal)
    };
    let mut spec = Spec {
        works: Works::Awake,
        ..Spec::with_members([member("one"), member("two")])
    };
    spec.timing.failure_threshold = failure_threshold;
    let federation = Federation::start(spec).unwrap();
    Plugin::with_host(&federation).run().exits(0);
    federation
}

/// Both servers stop, and get each other's address as they start again.
fn swap(federation: &Federation) {
    let (one, two) = ("k3d-one-server-0", "k3d-two-server-0");
    let docker = federation.docker();
    let addresses = || [one, two].map(|server| docker.address(server, "lab").unwrap());
    let [first, second] = addresses();
    docker.stop(one).unwrap();
    docker.stop(two).unwrap();
    docker.start(one).unwrap();
    docker.start(two).unwrap();
    assert_eq!(addresses(), [second, first]);
}

#[track_caller]
fn plans_the_home_endpoints(federation: &Federation) {
    let said = Plugin::on(federation)
        .args(&["--dry-run", "-o", "json"])
        .run();
    said.exits(1);
    let right = ["one", "two"].map(|name| endpoints::home_endpoint(federation, name));
    assert_eq!(endpoints::planned(&said), right, "{said}");
    let findings = said.findings();
    assert!(
        !findings.iter().any(|finding| finding.contains("authority")),
        "{said}"
    );
}

fn puts_swapped_addresses_right() {
    let federation = neighbours(std::time::Duration::from_millis(300));
    swap(&federation);
    for name in ["one", "two"] {
        state::wait_unready(&federation, name);
    }
    plans_the_home_endpoints(&federation);
    Plugin::with_host(&federation).run().exits(0);
    let lab: &dyn Lab = &federation;
    for name in ["one", "two"] {
        assert!(lab.wait_ready(name, lab.patience()));
    }
}

fn puts_swapped_addresses_right_while_both_are_still_ready() {
    let federation = neighbours(std::time::Duration::from_secs(60));
    swap(&federation);
    assert!(state::is_ready(&federation, "one") && state::is_ready(&federation, "two"));
    plans_the_home_endpoints(&federation);
}

/// The port changed hands; the member is found by its name, and by the CA that signed its certificate.
fn finds_the_member_although_another_container_took_its_port() {
    let federation = Federation::start(one()).unwrap();
    federation
        .docker()
        .run_publishing("stranger", "k3d-one", 17_001)
        .unwrap();
    endpoints::set_endpoint(&federation, "one", "https://0.0.0.0:17001");
    let said = Plugin::on(&federation)
        .args(&["--dry-run", "-o", "json"])
        .run();
    assert_eq!(
        endpoints::planned(&said),
        ["https://172.20.0.3:6443"],
        "{said}"
    );
}

fn does_not_follow_a_port_to_a_stranger() {
    let federation = Federation::start(one()).unwrap();
    let docker = federation.docker();
    docker.remove("k3d-one-server-0").unwrap();
    docker.remove("k3d-one-serverlb").unwrap();
    docker
        .run_publishing("stranger", "k3d-karmada-host", 17_001)
        .unwrap();
    endpoints::set_endpoint(&federation, "one", "https://0.0.0.0:17001");
    federation.forget_requests();
    let said = Plugin::on(&federation)
        .args(&["--yes", "--timeout", "1s"])
        .run();
    said.exits(1).reports("container-unproven");
    assert_eq!(federation.writes(), []);
}

/// Somebody made a cluster of the same name anew.
fn refuses_a_namesake_that_is_another_cluster() {
    let federation = Federation::start(one()).unwrap();
    federation.member("one").set_foreign_authority();
    federation.forget_requests();
    let said = Plugin::on(&federation)
        .args(&["--yes", "--timeout", "1s"])
        .run();
    said.exits(1).reports("authority-mismatch");
    assert_eq!(federation.writes(), []);
}

/// Where Karmada does not check certificates, the token of the old cluster would go to the new one.
fn refuses_a_namesake_even_where_the_certificate_is_not_checked() {
    let federation = Federation::start(one()).unwrap();
    state::patch_cluster(
        &federation,
        "one",
        &json!({"spec": {"insecureSkipTLSVerification": true}}),
    );
    federation.member("one").set_foreign_authority();
    federation.forget_requests();
    let said = Plugin::on(&federation)
        .args(&["--yes", "--timeout", "1s"])
        .run();
    said.exits(1).reports("authority-mismatch");
    assert_eq!(federation.writes(), []);
}

/// A k3d and a kind cluster of one name: the stored CA tells which of them was joined.
fn tells_two_namesakes_apart_by_their_certificates() {
    let mut other = MemberSpec::kind("one")
        .subnet("172.18.0.0/16")
        .joined_as("other");
    other.joined = false;
    let federation = Federation::start(Spec {
        works: Works::Awake,
        ..Spec::with_members([MemberSpec::k3d("one").subnet("172.20.0.0/16"), other])
    })
    .unwrap();
    endpoints::set_endpoint(&federation, "one", "https://172.31.0.1:6443");
    let said = Plugin::on(&federation)
        .args(&["--dry-run", "-o", "json"])
        .run();
    assert_eq!(
        endpoints::planned(&said),
        ["https://172.20.0.3:6443"],
        "{said}"
    );
}

/// A member that runs elsewhere, with a cluster of the same name on this machine.
fn leaves_a_ready_member_alone_whose_namesake_is_another_cluster() {
    let federation = Federation::start(one()).unwrap();
    Plugin::with_host(&federation).run().exits(0);
    let lab: &dyn Lab = &federation;
    // What the container serves is not what Karmada stored; Ready lags, and nothing here says that it is wrong.
    let before = state::of(lab);
    federation.member("one").set_foreign_authority();
    let said = Plugin::on(lab)
        .args(&["--yes", "--timeout", "1s", "-o", "json"])
        .run();
    assert_eq!(said.json()["steps"], json!([]), "{said}");
    assert_eq!(state::of(lab), before);
}

fn does_not_take_the_members_own_container_for_the_control_plane() {
    let federation = Federation::start(one()).unwrap();
    let said = Plugin::on(&federation)
        .args(&[
            "--control-plane-container",
            "k3d-one-server-0",
            "--yes",
            "--timeout",
            "1s",
        ])
        .run();
    assert!(said.code != Some(0), "{said}");
    assert!(
        endpoints::endpoint(&federation, "one").starts_with("https://0.0.0.0:"),
        "{said}"
    );
}

/// Another daemon, on which no member runs.
fn says_so_where_docker_is_on_another_machine() {
    let federation = Federation::start(one()).unwrap();
    let elsewhere = Federation::start(Spec::with_members([])).unwrap();
    Plugin::on(&federation)
        .args(&[
            "--docker-host",
            &elsewhere.docker_host(),
            "--yes",
            "--timeout",
            "1s",
        ])
        .run()
        .exits(1)
        .reports("container-not-found");
    assert!(endpoints::endpoint(&federation, "one").starts_with("https://0.0.0.0:"));
}
