//! Endpoints by name, which stay when addresses change.

use karmada_lab::{Federation, Lab, MemberSpec, Spec, Works};
use karmada_scenarios::plugin::Plugin;
use karmada_scenarios::scenario::{Scenario, embedded};

use crate::endpoints;

pub(super) fn scenarios() -> Vec<Scenario> {
    embedded![
        dials_a_member_by_the_name_of_its_container,
        needs_no_repair_after_a_change_of_addresses,
        tries_a_name_in_the_control_planes_container,
        takes_an_address_where_the_certificate_does_not_name_the_container,
    ]
}

fn one() -> Federation {
    Federation::start(Spec {
        works: Works::Awake,
        ..Spec::with_members([MemberSpec::k3d("one").subnet("172.20.0.0/16")])
    })
    .unwrap()
}

const NAME: &str = "https://k3d-one-server-0:6443";

fn dials_a_member_by_the_name_of_its_container() {
    let federation = one();
    let said = Plugin::with_host(&federation).args(&["--by-name"]).run();
    said.exits(0)
        .reports("could not be tried beforehand")
        .reports("proven");
    assert_eq!(endpoints::endpoint(&federation, "one"), NAME, "{said}");
    Plugin::with_host(&federation)
        .args(&["--by-name"])
        .run()
        .exits(0)
        .reports("Nothing to repair.");
    // Without the flag a name that works is as good as an address.
    Plugin::with_host(&federation)
        .run()
        .exits(0)
        .reports("Nothing to repair.");
}

fn needs_no_repair_after_a_change_of_addresses() {
    let federation = one();
    Plugin::with_host(&federation)
        .args(&["--by-name"])
        .run()
        .exits(0);
    let docker = federation.docker();
    docker.stop("k3d-one-server-0").unwrap();
    docker.run("squatter", "k3d-one").unwrap();
    docker.start("k3d-one-server-0").unwrap();
    let address = docker.address("k3d-one-server-0", "k3d-one").unwrap();
    assert_ne!(address.to_string(), "172.20.0.3");
    let lab: &dyn Lab = &federation;
    assert!(lab.wait_ready("one", lab.patience()));
    Plugin::with_host(&federation)
        .args(&["--by-name"])
        .run()
        .exits(0)
        .reports("Nothing to repair.");
}

/// The networks are shared already.
fn tries_a_name_in_the_control_planes_container() {
    let federation = one();
    Plugin::with_host(&federation).run().exits(0);
    let said = Plugin::with_host(&federation).args(&["--by-name"]).run();
    said.exits(0)
        .reports("endpoint-not-by-name")
        .reports("answers from inside k3d-karmada-host-server-0")
        .reports("pods ask a DNS of their own");
    assert_eq!(endpoints::endpoint(&federation, "one"), NAME, "{said}");
}

fn takes_an_address_where_the_certificate_does_not_name_the_container() {
    let federation = one();
    let member = federation.member("one");
    let kept: Vec<String> = member
        .names()
        .into_iter()
        .filter(|name| name != "k3d-one-server-0")
        .collect();
    member.set_names(kept);
    let said = Plugin::with_host(&federation).args(&["--by-name"]).run();
    said.exits(0)
        .reports("name-not-usable")
        .reports("does not name k3d-one-server-0");
    assert_eq!(
        endpoints::endpoint(&federation, "one"),
        "https://172.20.0.3:6443",
        "{said}"
    );
}
