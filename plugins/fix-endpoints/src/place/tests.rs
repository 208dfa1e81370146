use karmada_repair::docker::model::Container;

use super::*;
use crate::fixture::{HOST, container, k3d_server, publish};

#[track_caller]
fn check(name: &str, endpoint: &str, containers: &[Container], expected: &[&str]) {
    let endpoint = Endpoint::parse(endpoint).expect("the endpoint of a test is a URL");
    let found: Vec<String> = candidates(name, Some(&endpoint), containers)
        .iter()
        .map(|home| {
            let servers: Vec<&str> = home
                .servers
                .iter()
                .map(|server| server.name.as_str())
                .collect();
            let namesake = if home.is_namesake { ", a namesake" } else { "" };
            format!(
                "{} port {} by {}{namesake}",
                servers.join("+"),
                home.api_port,
                home.evidence.words()
            )
        })
        .collect();
    assert_eq!(found, expected);
}

#[test]
fn a_published_port_leads_to_the_container_whatever_the_names_are() {
    let a = k3d_server("a", "172.20.0.3", 6551);
    let mut plain = container("my-cluster", &[]);
    publish(&mut plain, 7000, 6444);
    let all = [a, plain];
    let by_port = |text| [text];
    check(
        "prod",
        "https://0.0.0.0:6551",
        &all,
        &by_port("k3d-a-server-0 port 6443 by its published port"),
    );
    check(
        "prod",
        "https://127.0.0.1:7000",
        &all,
        &by_port("my-cluster port 6444 by its published port"),
    );
    check("prod", "https://0.0.0.0:7001", &all, &[]);
}

#[test]
fn the_name_leads_to_k3d_kind_and_minikube_with_and_without_prefix() {
    let kind = container(
        "m-control-plane",
        &[
            ("io.x-k8s.kind.cluster", "m"),
            ("io.x-k8s.kind.role", "control-plane"),
        ],
    );
    let minikube = container("mini", &[("name.minikube.sigs.k8s.io", "mini")]);
    let all = [k3d_server("a", "172.20.0.3", 6551), kind, minikube];
    let stale = "https://10.9.9.9:6443";
    let a = "k3d-a-server-0 port 6443 by its cluster's name, a namesake";
    check("a", stale, &all, &[a]);
    check("k3d-a", stale, &all, &[a]);
    check(
        "kind-m",
        stale,
        &all,
        &["m-control-plane port 6443 by its cluster's name, a namesake"],
    );
    check(
        "mini",
        stale,
        &all,
        &["mini port 8443 by its cluster's name, a namesake"],
    );
    check("kind-a", stale, &all, &[]);
}

#[test]
fn a_port_comes_before_a_name_and_each_place_stands_once() {
    let all = [
        k3d_server("a", "172.20.0.3", 6551),
        k3d_server("b", "172.21.0.3", 6551),
    ];
    check(
        "b",
        "https://0.0.0.0:6551",
        &all,
        &[
            "k3d-a-server-0 port 6443 by its published port",
            "k3d-b-server-0 port 6443 by its published port, a namesake",
        ],
    );
    let mut stranger = container("stranger", &[]);
    publish(&mut stranger, 6552, 6443);
    let all = [stranger, k3d_server("b", "172.21.0.3", 6553)];
    check(
        "b",
        "https://0.0.0.0:6552",
        &all,
        &[
            "stranger port 6443 by its published port",
            "k3d-b-server-0 port 6443 by its cluster's name, a namesake",
        ],
    );
}

#[test]
fn a_name_comes_before_an_address() {
    let all = [
        k3d_server("a", "172.20.0.3", 6551),
        k3d_server("b", "172.21.0.3", 6552),
    ];
    check(
        "prod",
        "https://172.20.0.3:6443",
        &all,
        &["k3d-a-server-0 port 6443 by its address"],
    );
    check(
        "prod",
        "https://k3d-a-server-0:6443",
        &all,
        &["k3d-a-server-0 port 6443 by its address"],
    );
    check(
        "b",
        "https://172.20.0.3:6443",
        &all,
        &[
            "k3d-b-server-0 port 6443 by its cluster's name, a namesake",
            "k3d-a-server-0 port 6443 by its address",
        ],
    );
}

#[test]
fn the_control_plane_is_found_by_port_address_context_or_name() {
    let mut host = k3d_server("karmada-host", "172.19.0.3", 6550);
    publish(&mut host, 5443, 30443);
    let all = [k3d_server("a", "172.20.0.3", 6551), host];
    let names = |server: &str, context: Option<&str>, given: &[String]| {
        control_plane(server, context, given, &all).map(|nodes| {
            nodes
                .iter()
                .map(|node| node.name.clone())
                .collect::<Vec<_>>()
        })
    };
    let found = Ok(vec![HOST.to_owned()]);
    assert_eq!(names("https://127.0.0.1:5443", None, &[]), found);
    assert_eq!(names("https://172.19.0.3:5443", None, &[]), found);
    assert_eq!(
        names("https://karmada.example", Some("k3d-karmada-host"), &[]),
        found
    );
    assert_eq!(
        names("https://karmada.example", None, &[HOST.to_owned()]),
        found
    );
    assert!(names("https://karmada.example", None, &[]).is_err());
    assert_eq!(
        names("https://127.0.0.1:5443", None, &["nope".to_owned()]),
        Err("there is no container \"nope\"".to_owned())
    );
}
