use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::*;

fn from<T: DeserializeOwned>(answer: Value) -> T {
    serde_json::from_value(answer).unwrap()
}

fn inspected(answer: Value) -> Container {
    inspected_container(from(answer))
}

/// An inspection with these parts of `State`, `HostConfig` and `NetworkSettings`.
fn inspection(state: Value, host: Value, settings: Value) -> Value {
    json!({
        "Id": ID,
        "Name": "/k3d-a-server-0",
        "State": state,
        "HostConfig": host,
        "Config": {"Env": ["K3S_TOKEN=s3cret"], "Labels": {"k3d.cluster": "a", "k3d.cluster.token": "s3cret"}},
        "NetworkSettings": settings,
    })
}

fn ports(container: &Container) -> Vec<(u16, u16)> {
    container
        .ports
        .iter()
        .map(|port| (port.host_port, port.container_port))
        .collect()
}

#[test]
fn reads_a_running_container_on_two_networks() {
    let container = inspected(inspection(
        json!({"Status": "running", "Running": true}),
        json!({"NetworkMode": "k3d-a", "PortBindings": {"6443/tcp": [{"HostIp": "0.0.0.0", "HostPort": "6550"}]}}),
        json!({
            "Ports": {"6443/tcp": [{"HostIp": "0.0.0.0", "HostPort": "6550"}]},
            "Networks": {
                "k3d-a": {"IPAMConfig": null, "NetworkID": "aa", "EndpointID": "e1", "IPAddress": "172.19.0.2",
                    "Aliases": ["k3d-a-server-0", "238f254558d1"]},
                "mesh": {"IPAMConfig": {"IPv4Address": "172.28.0.11"}, "NetworkID": "bb", "EndpointID": "e2",
                    "IPAddress": "172.28.0.11", "GwPriority": -100, "Aliases": ["west"],
                    "DriverOpts": {"com.docker.network.endpoint.ifname": "mesh0"}},
            },
        }),
    ));
    let home = Attachment {
        network_id: Some("aa".to_owned()),
        address: Some(Ipv4Addr::new(172, 19, 0, 2)),
        ..Attachment::default()
    };
    let mesh = Attachment {
        network_id: Some("bb".to_owned()),
        address: Some(Ipv4Addr::new(172, 28, 0, 11)),
        pinned: Some(Ipv4Addr::new(172, 28, 0, 11)),
        interface: Some("mesh0".to_owned()),
        aliases: vec!["west".to_owned()],
        gateway_priority: -100,
    };
    let expected = Container {
        id: ID.to_owned(),
        name: "k3d-a-server-0".to_owned(),
        state: ContainerState::Running,
        network_mode: "k3d-a".to_owned(),
        labels: Labels::of([("k3d.cluster", "a")]),
        ports: vec![PublishedPort {
            host_port: 6550,
            container_port: 6443,
            host_ip: Some(IpAddr::from([0, 0, 0, 0])),
        }],
        attachments: BTreeMap::from([("k3d-a".to_owned(), home), ("mesh".to_owned(), mesh)]),
    };
    assert_eq!(container, expected);
}

#[test]
fn keeps_no_secret_of_a_container() {
    let container = inspected(inspection(json!({}), json!({}), json!({})));
    let kept = format!(
        "{container:?} {}",
        serde_json::to_string(&container).unwrap()
    );
    assert!(!kept.contains("s3cret"), "{kept}");
}

#[test]
fn a_stopped_container_has_its_configured_ports_and_its_pin_but_no_address() {
    let container = inspected(inspection(
        json!({"Status": "exited", "Running": false}),
        json!({"NetworkMode": "k3d-a", "PortBindings": {"6443/tcp": [{"HostIp": "", "HostPort": "6550"}]}}),
        json!({"Ports": {}, "Networks": {"k3d-a": {"IPAMConfig": {"IPv4Address": "172.19.0.3"},
            "NetworkID": "aa", "EndpointID": "", "IPAddress": "", "GlobalIPv6Address": ""}}}),
    ));
    assert_eq!(container.state, ContainerState::Exited);
    assert_eq!(ports(&container), [(6550, 6443)]);
    assert_eq!(container.ports[0].host_ip, None);
    let attachment = &container.attachments["k3d-a"];
    assert_eq!(attachment.address, None);
    assert_eq!(attachment.pinned, Some(Ipv4Addr::new(172, 19, 0, 3)));
    assert!(!container.is_ghost(attachment));
}

#[test]
fn a_container_that_never_started_knows_its_network_by_name_only() {
    let container = inspected(inspection(
        json!({"Status": "created"}),
        json!({"NetworkMode": "mesh"}),
        json!({"Networks": {"mesh": {"IPAMConfig": {"IPv4Address": "172.28.0.11"}, "NetworkID": "", "IPAddress": ""}}}),
    ));
    assert_eq!(container.state, ContainerState::Created);
    assert_eq!(container.attachments["mesh"].network_id, None);
    assert!(
        container
            .attachment_to(&named_network("bb", "mesh"))
            .is_some()
    );
    assert!(
        container
            .attachment_to(&named_network("cc", "other"))
            .is_none()
    );
}

#[test]
fn a_network_id_that_leads_nowhere_counts_for_a_stopped_container_by_name_and_for_a_running_one_not()
 {
    let on_removed = |status: &str, address: &str| {
        inspected(inspection(
            json!({"Status": status}),
            json!({}),
            json!({"Networks": {"mesh": {"NetworkID": "before", "IPAddress": address}}}),
        ))
    };
    let anew = named_network("after", "mesh");
    assert!(on_removed("exited", "").attachment_to(&anew).is_some());
    assert!(
        on_removed("running", "10.0.0.2")
            .attachment_to(&anew)
            .is_none()
    );
}

#[test]
fn host_and_none_and_foreign_namespaces_can_join_no_network() {
    let cases = [
        (
            "host",
            json!({"host": {"NetworkID": "hh", "IPAddress": ""}}),
            Some("is on the host's network"),
        ),
        (
            "none",
            json!({"none": {"NetworkID": "nn", "IPAddress": ""}}),
            Some("has no network"),
        ),
        (
            "container:abc",
            json!({}),
            Some("shares the network of another container"),
        ),
        (
            "bridge",
            json!({"bridge": {"NetworkID": "bb", "IPAddress": "172.17.0.2"}}),
            None,
        ),
    ];
    for (mode, networks, expected) in cases {
        let container = inspected(inspection(
            json!({"Status": "running"}),
            json!({"NetworkMode": mode}),
            json!({"Networks": networks}),
        ));
        assert_eq!(container.joins_no_network(), expected, "{mode}");
        assert!(
            !container
                .attachments
                .values()
                .any(|place| container.is_ghost(place) && mode == "host")
        );
    }
}

#[test]
fn the_state_is_what_the_status_says_and_not_what_running_says() {
    let cases = [
        (
            json!({"Status": "running", "Running": true}),
            ContainerState::Running,
        ),
        (
            json!({"Status": "paused", "Running": true, "Paused": true}),
            ContainerState::Paused,
        ),
        (
            json!({"Status": "restarting", "Running": true, "Restarting": true}),
            ContainerState::Restarting,
        ),
        (
            json!({"Running": true, "Restarting": true}),
            ContainerState::Restarting,
        ),
        (
            json!({"Status": "", "Running": true}),
            ContainerState::Running,
        ),
        (json!({"Status": "dead"}), ContainerState::Dead),
        (json!({"Status": "removing"}), ContainerState::Removing),
        (json!({"Status": "stopping"}), ContainerState::Unknown),
        (json!({}), ContainerState::Unknown),
    ];
    for (state, expected) in cases {
        let container = inspected(inspection(state.clone(), json!({}), json!({})));
        assert_eq!(container.state, expected, "{state}");
    }
}

#[test]
fn an_attachment_without_address_on_a_running_container_is_a_ghost() {
    let ghost = |status: &str| {
        let container = inspected(inspection(
            json!({"Status": status}),
            json!({"NetworkMode": "k3d-a"}),
            json!({"Networks": {"mesh": {"IPAMConfig": {"IPv4Address": "10.0.0.2"}, "NetworkID": "bb", "IPAddress": ""}}}),
        ));
        container.is_ghost(&container.attachments["mesh"])
    };
    let cases = [
        ("running", true),
        ("paused", true),
        ("restarting", false),
        ("exited", false),
        ("created", false),
    ];
    for (status, expected) in cases {
        assert_eq!(ghost(status), expected, "{status}");
    }
}

#[test]
fn a_port_left_to_docker_is_known_while_it_is_open() {
    let with = |bindings: Value, open: Value| {
        let container = inspected(inspection(
            json!({}),
            json!({"PortBindings": bindings}),
            json!({"Ports": open}),
        ));
        ports(&container)
    };
    let open = json!({"8443/tcp": [{"HostIp": "127.0.0.1", "HostPort": "32771"}], "22/tcp": null});
    let left = json!({"8443/tcp": [{"HostIp": "127.0.0.1", "HostPort": ""}], "22/tcp": [{"HostPort": "0"}]});
    let odd = json!({"53/udp": [{"HostPort": "53"}], "80/tcp": [{"HostPort": "8000-8010"}], "x/tcp": null});
    assert_eq!(with(left.clone(), open), [(32771, 8443)]);
    assert_eq!(with(left, json!({})), []);
    assert_eq!(with(odd, Value::Null), []);
}

#[test]
fn reads_a_container_of_the_list() {
    let container = listed_container(from(json!({
        "Id": ID,
        "Names": ["/web/api", "/k3d-a-serverlb"],
        "State": "running",
        "HostConfig": {"NetworkMode": "k3d-a"},
        "Labels": {"k3d.cluster": "a", "k3d.role": "loadbalancer", "k3d.cluster.token": "s3cret"},
        "Ports": [
            {"IP": "::", "PrivatePort": 6443, "PublicPort": 6550, "Type": "tcp"},
            {"IP": "0.0.0.0", "PrivatePort": 6443, "PublicPort": 6550, "Type": "tcp"},
            {"PrivatePort": 80, "Type": "tcp"},
            {"IP": "0.0.0.0", "PrivatePort": 53, "PublicPort": 53, "Type": "udp"},
        ],
        "NetworkSettings": {"Networks": {"k3d-a": {"NetworkID": "aa", "IPAddress": "172.19.0.4"}}},
    })));
    assert_eq!(container.name, "k3d-a-serverlb");
    assert_eq!(ports(&container), [(6550, 6443), (6550, 6443)]);
    assert_eq!(container.labels.value("k3d.role"), Some("loadbalancer"));
    assert_eq!(container.labels.value("k3d.cluster.token"), None);
    assert_eq!(
        container.attachments["k3d-a"].address,
        Some(Ipv4Addr::new(172, 19, 0, 4))
    );
}

#[test]
fn fields_that_podman_leaves_out_are_unknown() {
    let listed = listed_container(from(
        json!({"Id": ID, "Names": null, "Labels": null, "NetworkSettings": null}),
    ));
    assert_eq!(listed.name, "238f254558d1");
    assert_eq!(listed.state, ContainerState::Unknown);
    assert_eq!(listed.network_mode, "");
    let rootless = listed_container(from(json!({
        "Id": ID,
        "Names": ["/west"],
        "State": "running",
        "NetworkSettings": {"Networks": {"podman": {"IPAddress": "", "NetworkID": "podman"}}},
    })));
    assert_eq!(rootless.attachments["podman"].address, None);
    let bare = inspected(json!({"Id": ID}));
    assert!(bare.attachments.is_empty() && bare.ports.is_empty());
}

#[test]
fn reads_the_ipv4_subnets_of_a_network() {
    let network = listed_network(from(json!({
        "Id": "aa",
        "Name": "mesh",
        "Driver": "bridge",
        "Internal": true,
        "Labels": {"app": "k3d", "owner": "me"},
        "IPAM": {"Driver": "default", "Config": [
            {"Subnet": "fc00:f853:ccd:e793::/64"},
            {"Subnet": "172.28.0.0/24", "Gateway": "172.28.0.1", "IPRange": "172.28.0.128/25",
                "AuxiliaryAddresses": {"printer": "172.28.0.9", "router": "172.28.0.3"}},
        ]},
    })));
    let expected = Network {
        id: "aa".to_owned(),
        name: "mesh".to_owned(),
        driver: "bridge".to_owned(),
        internal: true,
        subnets: vec![Subnet {
            subnet: "172.28.0.0/24".parse().unwrap(),
            gateway: Some(Ipv4Addr::new(172, 28, 0, 1)),
            ip_range: Some("172.28.0.128/25".parse().unwrap()),
            reserved: vec![Ipv4Addr::new(172, 28, 0, 3), Ipv4Addr::new(172, 28, 0, 9)],
        }],
        labels: Labels::of([("app", "k3d")]),
    };
    assert_eq!(network, expected);
}

#[test]
fn a_network_without_address_management_has_no_subnets() {
    for ipam in [
        json!(null),
        json!({"Driver": "null", "Config": null}),
        json!({"Config": []}),
    ] {
        let network = listed_network(from(json!({"Id": "hh", "Name": "host", "IPAM": ipam})));
        assert!(network.subnets.is_empty(), "{ipam}");
    }
}

fn named_network(id: &str, name: &str) -> Network {
    listed_network(from(json!({"Id": id, "Name": name})))
}

const ID: &str = "238f254558d1b714e508500fe61e899410747cebaca54e7ff1e1816f3bdf2bc5";
