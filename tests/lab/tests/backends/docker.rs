//! What Docker 20.10 says, for what the embedded daemon plays: its refusals and their traps.

use karmada_lab::{Engine, Failure, Lab, MemberSpec, Spec, State};
use serde_json::Value;

use crate::Scenario;

pub(crate) const SCENARIOS: &[Scenario] = &[
    (
        "refuses_to_connect_as_docker_does",
        spec,
        refuses_to_connect_as_docker_does,
    ),
    (
        "refuses_states_names_and_ports_as_docker_does",
        spec,
        refuses_states_names_and_ports_as_docker_does,
    ),
    ("shows_what_docker_shows", spec, shows_what_docker_shows),
];

/// One member whose subnet is the user's, one whose subnet is Docker's.
fn spec() -> Spec {
    let pinned = MemberSpec::k3d("cluster-a")
        .subnet("172.30.0.0/24")
        .user_subnet();
    Spec {
        engine: Engine::V20,
        ..Spec::with_members([pinned, MemberSpec::k3d("cluster-b")])
    }
}

fn refuses_to_connect_as_docker_does(lab: &dyn Lab) {
    let (docker, host) = (lab.docker(), lab.spec().host.first_server());
    let to = |network: &str, address: &str| {
        docker.connect(
            network,
            &host,
            (!address.is_empty()).then(|| address.parse().unwrap()),
        )
    };
    let (a, b) = ("k3d-cluster-a", "k3d-cluster-b");
    assert_eq!(said(to(a, "172.30.0.3")), "403 Address already in use");
    // What failed that late leaves a ghost that cannot be removed.
    assert_eq!(docker.networks(&host), [a, "k3d-karmada-host"]);
    let gone = docker.disconnect(a, &host);
    assert!(said(gone).ends_with("is not connected to network k3d-cluster-a"));
    assert_eq!(said(to(a, "172.30.0.1")), "403 Address already in use");
    assert_eq!(
        said(to(a, "10.0.0.1")),
        "500 Invalid address 10.0.0.1: It does not belong to any of this network's subnets"
    );
    assert_eq!(
        said(to(b, "172.30.9.9")),
        "400 user specified IP address is supported only when connecting to networks with user configured subnets"
    );
    assert_eq!(
        said(to("bridge", "172.17.0.9")),
        "400 user specified IP address is supported on user defined networks only"
    );
    assert_eq!(
        said(to("host", "")),
        "400 container cannot be disconnected from host network or connected to host network"
    );
    assert_eq!(
        said(to("none", "")),
        "400 container cannot be connected to multiple networks with one of the networks in private (none) mode"
    );
    assert_eq!(said(to("nowhere", "")), "404 network nowhere not found");
    assert_eq!(
        said(docker.connect(a, "nobody", None)),
        "404 No such container: nobody"
    );
    to(a, "172.30.0.200").unwrap();
    assert_eq!(
        said(to(a, "")),
        "403 endpoint with name k3d-karmada-host-server-0 already exists in network k3d-cluster-a"
    );
}

fn refuses_states_names_and_ports_as_docker_does(lab: &dyn Lab) {
    let (docker, server) = (lab.docker(), lab.spec().member("cluster-b").first_server());
    docker.pause(&server).unwrap();
    assert!(said(docker.pause(&server)).ends_with(" is already paused"));
    assert_eq!(docker.state(&server), Some(State::Paused));
    docker.unpause(&server).unwrap();
    let awake = said(docker.unpause(&server));
    assert!(
        awake.starts_with("500 Container ") && awake.ends_with(" is not paused"),
        "{awake}"
    );
    docker.start(&server).unwrap();
    let again = said(docker.run(&server, "k3d-cluster-b", None));
    assert!(
        again.starts_with("409 Conflict. The container name \"/k3d-cluster-b-server-0\""),
        "{again}"
    );
    docker.run("one", "k3d-cluster-b", Some(39_002)).unwrap();
    let taken = said(docker.run("two", "k3d-cluster-b", Some(39_002)));
    assert!(
        taken.starts_with("500 driver failed programming external connectivity on endpoint two"),
        "{taken}"
    );
    assert!(
        taken.ends_with("Bind for 0.0.0.0:39002 failed: port is already allocated"),
        "{taken}"
    );
    docker.stop("one").unwrap();
    docker.stop("one").unwrap();
    assert!(said(docker.pause("one")).ends_with(" is not running"));
    docker.connect("k3d-karmada-host", "one", None).unwrap();
    assert_eq!(
        docker.networks("one"),
        ["k3d-cluster-b", "k3d-karmada-host"]
    );
    assert_eq!(docker.address("one", "k3d-cluster-b"), None);
    let overlap = docker.create_network("overlap", Some("172.30.0.0/25"));
    assert_eq!(
        said(overlap),
        "403 Pool overlaps with other one on this address space"
    );
    let twice = docker.create_network("k3d-cluster-a", None);
    assert_eq!(
        said(twice),
        "409 network with name k3d-cluster-a already exists"
    );
    let used = said(docker.remove_network("k3d-cluster-a"));
    assert!(
        used.starts_with("403 error while removing network: network k3d-cluster-a id "),
        "{used}"
    );
}

fn shows_what_docker_shows(lab: &dyn Lab) {
    let (docker, server) = (lab.docker(), lab.spec().member("cluster-a").first_server());
    let seen = docker.inspect(&server).unwrap();
    let endpoint = &seen["NetworkSettings"]["Networks"]["k3d-cluster-a"];
    assert_eq!(endpoint["IPAMConfig"]["IPv4Address"], "172.30.0.3");
    assert_eq!(
        docker
            .address(&server, "k3d-cluster-a")
            .unwrap()
            .to_string(),
        "172.30.0.3"
    );
    assert_eq!(endpoint["MacAddress"], "02:42:ac:1e:00:03");
    let short = &seen["Id"].as_str().unwrap()[..12];
    let aliases = endpoint["Aliases"].as_array().unwrap();
    assert!(aliases.iter().any(|alias| alias == short), "{aliases:?}");
    let labels = &seen["Config"]["Labels"];
    let port = lab.member("cluster-a").port().to_string();
    assert_eq!(labels["k3d.server.api.port"], port);
    let balancer = docker.inspect("k3d-cluster-a-serverlb").unwrap();
    for bindings in ["NetworkSettings", "HostConfig"] {
        let name = if bindings == "HostConfig" {
            "PortBindings"
        } else {
            "Ports"
        };
        assert_eq!(balancer[bindings][name]["6443/tcp"][0]["HostPort"], port);
    }
    for network in ["k3d-cluster-a", "k3d-cluster-b"] {
        let seen = docker.inspect_network(network).unwrap();
        assert_eq!(
            (&seen["EnableIPv4"], &seen["Labels"]["app"]),
            (&Value::Null, &Value::from("k3d"))
        );
        assert!(seen["IPAM"]["Config"][0]["Gateway"].is_string());
    }
}

fn said(result: Result<(), Failure>) -> String {
    let failure = result.unwrap_err();
    format!("{} {}", failure.status, failure.message)
}
