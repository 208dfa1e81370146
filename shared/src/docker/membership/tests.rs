use super::*;
use crate::docker::model::{ContainerState, Labels, PublishedPort};

fn container(name: &str, labels: &[(&str, &str)], networks: &[(&str, Option<&str>)]) -> Container {
    Container {
        id: format!("id-of-{name}"),
        name: name.to_owned(),
        state: ContainerState::Running,
        network_mode: networks
            .first()
            .map(|(name, _)| (*name).to_owned())
            .unwrap_or_default(),
        labels: Labels::of(labels.iter().copied()),
        ports: Vec::new(),
        attachments: networks
            .iter()
            .map(|(name, address)| ((*name).to_owned(), on(name, *address, None)))
            .collect(),
    }
}

fn on(network: &str, address: Option<&str>, pinned: Option<&str>) -> Attachment {
    Attachment {
        network_id: Some(format!("id-of-{network}")),
        address: address.map(|text| text.parse().unwrap()),
        pinned: pinned.map(|text| text.parse().unwrap()),
        ..Attachment::default()
    }
}

fn k3d(name: &str, cluster: &str, role: &str) -> Container {
    let network = format!("k3d-{cluster}");
    let labels = [
        ("k3d.cluster", cluster),
        ("k3d.role", role),
        ("k3d.cluster.network", network.as_str()),
    ];
    container(name, &labels, &[(&network, Some("172.19.0.2"))])
}

fn kind(name: &str, cluster: &str, role: &str) -> Container {
    let labels = [
        ("io.x-k8s.kind.cluster", cluster),
        ("io.x-k8s.kind.role", role),
    ];
    container(name, &labels, &[("kind", Some("172.20.0.2"))])
}

fn publishes(mut container: Container, host_port: u16, container_port: u16) -> Container {
    container.ports.push(PublishedPort {
        host_port,
        container_port,
        host_ip: None,
    });
    container
}

fn network(name: &str, subnet: &str, gateway: Option<&str>, ip_range: Option<&str>) -> Network {
    Network {
        id: format!("id-of-{name}"),
        name: name.to_owned(),
        driver: "bridge".to_owned(),
        internal: false,
        subnets: vec![Subnet {
            subnet: subnet.parse().unwrap(),
            gateway: gateway.map(|text| text.parse().unwrap()),
            ip_range: ip_range.map(|text| text.parse().unwrap()),
            reserved: Vec::new(),
        }],
        labels: Labels::default(),
    }
}

fn names(containers: &[&Container]) -> Vec<String> {
    containers
        .iter()
        .map(|container| container.name.clone())
        .collect()
}

fn owner(tool: Tool, cluster: &str, role: Role, home_network: &str, api_port: u16) -> Owner {
    Owner {
        tool,
        cluster: Some(cluster.to_owned()),
        role,
        home_network: Some(home_network.to_owned()),
        api_port: Some(api_port),
    }
}

#[test]
fn reads_the_owner_from_the_labels_of_each_tool() {
    let minikube = |machine: &str, network: &str| {
        container(
            machine,
            &[("name.minikube.sigs.k8s.io", machine)],
            &[(network, Some("192.168.49.2"))],
        )
    };
    let cases = [
        (
            k3d("k3d-a-server-0", "a", "server"),
            owner(Tool::K3d, "a", Role::Server, "k3d-a", 6443),
        ),
        (
            k3d("k3d-a-serverlb", "a", "loadbalancer"),
            owner(Tool::K3d, "a", Role::LoadBalancer, "k3d-a", 6443),
        ),
        (
            k3d("k3d-a-tools", "a", "noRole"),
            owner(Tool::K3d, "a", Role::Other, "k3d-a", 6443),
        ),
        (
            kind("a-worker", "a", "worker"),
            owner(Tool::Kind, "a", Role::Agent, "kind", 6443),
        ),
        (
            kind("a-external-load-balancer", "a", "external-load-balancer"),
            owner(Tool::Kind, "a", Role::LoadBalancer, "kind", 6443),
        ),
        (
            minikube("west", "west"),
            owner(Tool::Minikube, "west", Role::Server, "west", 8443),
        ),
        (
            minikube("west-m02", "west"),
            owner(Tool::Minikube, "west", Role::Agent, "west", 8443),
        ),
        (
            minikube("lab-m02", "lab-m02"),
            owner(Tool::Minikube, "lab-m02", Role::Server, "lab-m02", 8443),
        ),
    ];
    for (container, expected) in cases {
        assert_eq!(Owner::of(&container), expected, "{}", container.name);
    }
}

#[test]
fn a_container_without_labels_is_of_no_tool() {
    let plain = container("registry", &[], &[("bridge", Some("172.17.0.2"))]);
    let expected = Owner {
        tool: Tool::Unknown,
        cluster: None,
        role: Role::Other,
        home_network: Some("bridge".to_owned()),
        api_port: None,
    };
    assert_eq!(Owner::of(&plain), expected);
}

#[test]
fn the_home_network_is_the_one_that_the_container_was_made_on() {
    let mesh = ("karmada-mesh", Some("172.28.0.9"));
    let at_home = ("k3d-a", Some("172.19.0.2"));
    let kind_labels = [
        ("io.x-k8s.kind.cluster", "a"),
        ("io.x-k8s.kind.role", "control-plane"),
    ];
    // k3d makes its nodes in network mode `bridge` and joins them to the cluster's network: the label tells.
    let mut labelled = k3d("k3d-a-server-0", "a", "server");
    labelled.network_mode = "bridge".to_owned();
    labelled
        .attachments
        .insert(mesh.0.to_owned(), on(mesh.0, mesh.1, None));
    let own_kind_network = container("a-control-plane", &kind_labels, &[("lab", None), mesh]);
    let shared_kind_network = container("a-control-plane", &kind_labels, &[("kind", None), mesh]);
    let mut default_bridge = container("plain", &[], &[("bridge", None), mesh]);
    default_bridge.network_mode = "default".to_owned();
    let mut nowhere_marked = container("plain", &[], &[at_home, mesh]);
    nowhere_marked.network_mode = String::new();
    let cases = [
        (labelled, Some("k3d-a")),
        (own_kind_network, Some("lab")),
        (shared_kind_network, Some("kind")),
        (default_bridge, Some("bridge")),
        (nowhere_marked, None),
        (container("bare", &[], &[]), None),
    ];
    for (container, expected) in cases {
        assert_eq!(
            Owner::of(&container).home_network.as_deref(),
            expected,
            "{container:?}"
        );
    }
}

#[test]
fn nodes_are_servers_then_agents_by_number() {
    let containers = [
        k3d("k3d-a-agent-0", "a", "agent"),
        k3d("k3d-a-server-10", "a", "server"),
        k3d("k3d-a-server-2", "a", "server"),
        k3d("k3d-a-serverlb", "a", "loadbalancer"),
        k3d("k3d-ab-server-0", "ab", "server"),
        kind("a-control-plane", "a", "control-plane"),
    ];
    assert_eq!(
        names(&nodes_of(&containers, Tool::K3d, "a")),
        ["k3d-a-server-2", "k3d-a-server-10", "k3d-a-agent-0"]
    );
    assert_eq!(
        names(&nodes_of(&containers, Tool::Kind, "a")),
        ["a-control-plane"]
    );
    assert!(nodes_of(&containers, Tool::K3d, "b").is_empty());
}

#[test]
fn servers_stand_for_the_load_balancer_that_publishes_their_port() {
    let containers = [
        publishes(k3d("k3d-a-serverlb", "a", "loadbalancer"), 6550, 6443),
        k3d("k3d-a-server-1", "a", "server"),
        k3d("k3d-a-server-0", "a", "server"),
        k3d("k3d-a-agent-0", "a", "agent"),
        publishes(
            kind("b-external-load-balancer", "b", "external-load-balancer"),
            6551,
            6443,
        ),
        kind("b-control-plane2", "b", "control-plane"),
        kind("b-control-plane", "b", "control-plane"),
    ];
    let cases: [(u16, &[&str]); 3] = [
        (6550, &["k3d-a-server-0", "k3d-a-server-1"]),
        (6551, &["b-control-plane", "b-control-plane2"]),
        (6552, &[]),
    ];
    for (port, expected) in cases {
        assert_eq!(names(&publishing(&containers, port)), expected, "{port}");
    }
}

#[test]
fn a_stopped_server_of_k3d_is_found_by_the_port_in_its_label() {
    let mut server = k3d("k3d-a-server-0", "a", "server");
    server.state = ContainerState::Exited;
    server.labels = Labels::of([
        ("k3d.cluster", "a"),
        ("k3d.role", "server"),
        ("k3d.server.api.port", "6550"),
    ]);
    // An agent bears no such label; one that does is no API server all the same.
    let mut agent = server.clone();
    agent.id = "another".to_owned();
    agent.name = "k3d-a-agent-0".to_owned();
    agent.labels = Labels::of([
        ("k3d.cluster", "a"),
        ("k3d.role", "agent"),
        ("k3d.server.api.port", "6550"),
    ]);
    let containers = [agent, server];
    assert_eq!(names(&publishing(&containers, 6550)), ["k3d-a-server-0"]);
}

#[test]
fn a_server_that_the_load_balancer_and_its_label_name_is_counted_once() {
    let mut server = k3d("k3d-a-server-0", "a", "server");
    server.labels = Labels::of([
        ("k3d.cluster", "a"),
        ("k3d.role", "server"),
        ("k3d.server.api.port", "6550"),
    ]);
    let containers = [
        server,
        publishes(k3d("k3d-a-serverlb", "a", "loadbalancer"), 6550, 6443),
    ];
    assert_eq!(names(&publishing(&containers, 6550)), ["k3d-a-server-0"]);
}

#[test]
fn two_clusters_on_one_port_are_two_claims() {
    let mut stopped = publishes(
        kind("old-control-plane", "old", "control-plane"),
        6550,
        6443,
    );
    stopped.state = ContainerState::Exited;
    let containers = [
        stopped,
        publishes(
            kind("new-control-plane", "new", "control-plane"),
            6550,
            6443,
        ),
    ];
    assert_eq!(
        names(&publishing(&containers, 6550)),
        ["new-control-plane", "old-control-plane"]
    );
}

#[test]
fn tells_the_port_behind_a_published_one() {
    let minikube = publishes(container("west", &[], &[]), 32771, 8443);
    assert_eq!(container_port(&minikube, 32771), Some(8443));
    assert_eq!(container_port(&minikube, 8443), None);
}

#[test]
fn a_pin_proves_that_a_network_takes_fixed_addresses_even_when_its_container_is_stopped() {
    let network = network("k3d-a", "172.28.0.0/16", Some("172.28.0.1"), None);
    let mut pinned = k3d("k3d-a-server-0", "a", "server");
    pinned.state = ContainerState::Exited;
    pinned
        .attachments
        .insert("k3d-a".to_owned(), on("k3d-a", None, Some("172.28.0.3")));
    let elsewhere = container("other", &[], &[("mesh", Some("172.28.0.3"))]);
    assert!(takes_fixed_addresses(&network, &[pinned]));
    assert!(!takes_fixed_addresses(&network, &[elsewhere]));
}

#[test]
fn a_network_without_ipv4_subnet_has_no_free_address() {
    let mut network = network("six", "10.0.0.0/24", None, None);
    network.subnets.clear();
    assert_eq!(highest_free_address(&network, &[]), None);
}

#[test]
fn the_highest_free_address_is_outside_the_range_and_nobodys() {
    let holders = |addresses: &[(&str, Option<&str>, Option<&str>)]| -> Vec<Container> {
        addresses
            .iter()
            .map(|(name, address, pinned)| {
                let mut holder = container(name, &[], &[]);
                holder
                    .attachments
                    .insert("n".to_owned(), on("n", *address, *pinned));
                holder
            })
            .collect()
    };
    let free = |subnet: &str, gateway, range, taken: &[(&str, Option<&str>, Option<&str>)]| {
        highest_free_address(&network("n", subnet, gateway, range), &holders(taken))
            .map(|address| address.to_string())
    };
    let gateway = Some("10.0.0.1");
    let cases = [
        (free("10.0.0.0/24", gateway, None, &[]), Some("10.0.0.254")),
        (
            free(
                "10.0.0.0/24",
                gateway,
                None,
                &[
                    ("held", Some("10.0.0.254"), None),
                    ("pinned", None, Some("10.0.0.253")),
                ],
            ),
            Some("10.0.0.252"),
        ),
        (
            free("10.0.0.0/24", Some("10.0.0.254"), None, &[]),
            Some("10.0.0.253"),
        ),
        (
            free("10.0.0.0/24", gateway, Some("10.0.0.128/25"), &[]),
            Some("10.0.0.127"),
        ),
        (
            free(
                "10.0.0.0/24",
                gateway,
                Some("10.0.0.128/25"),
                &[("held", Some("10.0.0.127"), Some("10.0.0.127"))],
            ),
            Some("10.0.0.126"),
        ),
        (
            free("10.0.0.0/24", gateway, Some("10.0.0.0/25"), &[]),
            Some("10.0.0.254"),
        ),
        (free("10.0.0.0/24", gateway, Some("10.0.0.0/24"), &[]), None),
        (free("10.0.0.0/30", gateway, None, &[]), Some("10.0.0.2")),
        // Without a gateway told it is the first address.
        (
            free("10.0.0.0/30", None, None, &[("a", Some("10.0.0.2"), None)]),
            None,
        ),
        (free("10.0.0.0/31", None, None, &[]), None),
        (free("10.0.0.0/32", None, None, &[]), None),
        (free("0.0.0.0/0", None, None, &[]), Some("255.255.255.254")),
    ];
    for (number, (found, expected)) in cases.into_iter().enumerate() {
        assert_eq!(found.as_deref(), expected, "case {number}");
    }
}

#[test]
fn a_reserved_address_is_not_free() {
    let mut network = network("n", "10.0.0.0/24", Some("10.0.0.1"), None);
    network.subnets[0].reserved = vec!["10.0.0.254".parse().unwrap()];
    assert_eq!(
        highest_free_address(&network, &[]),
        Some("10.0.0.253".parse().unwrap())
    );
}

#[test]
fn a_pin_on_a_network_that_was_made_anew_still_counts() {
    let network = network("n", "10.0.0.0/24", Some("10.0.0.1"), None);
    let mut stopped = container("stopped", &[], &[]);
    stopped.state = ContainerState::Exited;
    let mut dangling = on("n", None, Some("10.0.0.254"));
    dangling.network_id = Some("id-of-the-network-before".to_owned());
    stopped.attachments.insert("n".to_owned(), dangling);
    assert_eq!(
        highest_free_address(&network, &[stopped]),
        Some("10.0.0.253".parse().unwrap())
    );
}

#[test]
fn containers_share_the_networks_that_both_are_really_on() {
    let with = |name: &str, networks: &[(&str, Option<&str>)]| container(name, &[], networks);
    let member = with(
        "member",
        &[("kind", Some("172.20.0.2")), ("mesh", Some("10.0.0.2"))],
    );
    let stopped = {
        let mut stopped = with("stopped", &[("mesh", None)]);
        stopped.state = ContainerState::Exited;
        stopped
    };
    let renamed = {
        let mut renamed = with("renamed", &[("mesh", Some("10.0.0.4"))]);
        renamed.attachments.insert(
            "mesh".to_owned(),
            Attachment {
                network_id: Some("id-of-another-mesh".to_owned()),
                ..on("mesh", Some("10.0.0.4"), None)
            },
        );
        renamed
    };
    let on_host = with("on-host", &[("host", None)]);
    let cases: [(&Container, &Container, &[&str]); 6] = [
        (
            &member,
            &with(
                "both",
                &[("mesh", Some("10.0.0.3")), ("kind", Some("172.20.0.3"))],
            ),
            &["kind", "mesh"],
        ),
        (
            &member,
            &with("apart", &[("bridge", Some("172.17.0.2"))]),
            &[],
        ),
        (&member, &with("ghost", &[("mesh", None)]), &[]),
        (&member, &stopped, &["mesh"]),
        (&member, &renamed, &[]),
        (&on_host, &on_host, &[]),
    ];
    for (one, other, expected) in cases {
        assert_eq!(shared_networks(one, other), expected, "{}", other.name);
        assert_eq!(shared_networks(other, one), expected, "{}", other.name);
    }
}

#[test]
fn an_interface_name_fits_and_is_no_ethernet_name() {
    let id = "238f254558d1b714e508500fe61e899410747cebaca54e7ff1e1816f3bdf2bc5";
    assert_eq!(interface_name(id), "km238f2545");
    assert!(interface_name(id).len() <= 15);
}
