//! The Docker daemon, through bollard.

use std::collections::HashMap;

use bollard::models::{
    EndpointIpamConfig, EndpointSettings, NetworkConnectRequest, NetworkDisconnectRequest,
};
use bollard::query_parameters::{
    InspectNetworkOptions, ListContainersOptionsBuilder, ListNetworksOptionsBuilder,
};
use karmada_lab::{ClusterSpec, Engine, Federation, MemberSpec, Spec, State};

use crate::clients::HOST;

const SERVER_A: &str = "k3d-cluster-a-server-0";

struct Bollard {
    runtime: tokio::runtime::Runtime,
    docker: bollard::Docker,
}

impl Bollard {
    fn new(federation: &Federation) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let docker = {
            let _context = runtime.enter();
            bollard::Docker::connect_with_host(&federation.docker_host()).unwrap()
        };
        Self { runtime, docker }
    }

    fn connect(
        &self,
        network: &str,
        container: &str,
        address: Option<&str>,
    ) -> Result<(), (u16, String)> {
        let ipam = address.map(|address| EndpointIpamConfig {
            ipv4_address: Some(address.to_owned()),
            ..Default::default()
        });
        let request = NetworkConnectRequest {
            container: container.to_owned(),
            endpoint_config: Some(EndpointSettings {
                ipam_config: ipam,
                ..Default::default()
            }),
        };
        self.runtime
            .block_on(self.docker.connect_network(network, request))
            .map_err(answered)
    }

    fn disconnect(&self, network: &str, container: &str) -> Result<(), (u16, String)> {
        let request = NetworkDisconnectRequest {
            container: container.to_owned(),
            force: None,
        };
        self.runtime
            .block_on(self.docker.disconnect_network(network, request))
            .map_err(answered)
    }
}

fn answered(error: bollard::errors::Error) -> (u16, String) {
    match error {
        bollard::errors::Error::DockerResponseServerError {
            status_code,
            message,
        } => (status_code, message),
        other => panic!("not an answer of the daemon: {other}"),
    }
}

fn pinned(engine: Engine) -> Federation {
    Federation::start(Spec {
        engine,
        ..Spec::with_members([MemberSpec::k3d("cluster-a")
            .subnet("172.20.0.0/16")
            .user_subnet()])
    })
    .unwrap()
}

#[test]
fn lists_stopped_containers_with_labels_and_networks() {
    let federation = Federation::start(Spec::default()).unwrap();
    federation.docker().stop(SERVER_A).unwrap();
    let bollard = Bollard::new(&federation);
    let list = |all: bool| {
        let filters = HashMap::from([("label".to_owned(), vec!["k3d.role=server".to_owned()])]);
        let options = ListContainersOptionsBuilder::new()
            .all(all)
            .filters(&filters)
            .build();
        bollard
            .runtime
            .block_on(bollard.docker.list_containers(Some(options)))
            .unwrap()
    };
    assert_eq!((list(true).len(), list(false).len()), (3, 2));
    let containers = list(true);
    let stopped = containers
        .iter()
        .find(|container| container.names.as_deref() == Some(&[format!("/{SERVER_A}")]))
        .unwrap();
    let labels = stopped.labels.as_ref().unwrap();
    assert_eq!(
        labels["k3d.server.api.port"],
        federation.member("cluster-a").port().to_string()
    );
    let endpoint = &stopped
        .network_settings
        .as_ref()
        .unwrap()
        .networks
        .as_ref()
        .unwrap()["k3d-cluster-a"];
    assert_eq!(endpoint.ip_address.as_deref(), Some(""));
    let networks = bollard.runtime.block_on(
        bollard.docker.list_networks(Some(
            ListNetworksOptionsBuilder::new()
                .filters(&HashMap::from([("name", vec!["^k3d-cluster-a$"])]))
                .build(),
        )),
    );
    assert_eq!(networks.unwrap().len(), 1);
}

#[test]
fn gives_the_lowest_free_address() {
    let federation = Federation::start(Spec::default()).unwrap();
    let docker = federation.docker();
    assert_eq!(
        docker
            .address(SERVER_A, "k3d-cluster-a")
            .unwrap()
            .to_string(),
        "172.20.0.3"
    );
    assert_eq!(
        docker
            .address("k3d-cluster-a-serverlb", "k3d-cluster-a")
            .unwrap()
            .to_string(),
        "172.20.0.4"
    );
    let bollard = Bollard::new(&federation);
    bollard.connect("k3d-cluster-a", HOST, None).unwrap();
    assert_eq!(
        docker.address(HOST, "k3d-cluster-a").unwrap().to_string(),
        "172.20.0.2"
    );
    let network = bollard
        .runtime
        .block_on(
            bollard
                .docker
                .inspect_network("k3d-cluster-a", None::<InspectNetworkOptions>),
        )
        .unwrap();
    assert_eq!(network.containers.unwrap().len(), 3);
}

#[test]
fn refuses_connections_as_the_engine_does() {
    let federation = pinned(Engine::V28);
    let bollard = Bollard::new(&federation);
    let settings = "user specified IP address is supported only when connecting to networks with user configured subnets";
    assert_eq!(
        bollard.connect("k3d-karmada-host", SERVER_A, Some("172.19.0.99")),
        Err((400, format!("invalid endpoint settings:\n{settings}")))
    );
    assert_eq!(
        bollard.connect("k3d-cluster-a", HOST, Some("172.20.0.3")),
        Err((403, "Address already in use".to_owned()))
    );
    let outside = "invalid endpoint settings:\nno configured subnet or ip-range contain the IP address 10.0.0.1";
    assert_eq!(
        bollard.connect("k3d-cluster-a", HOST, Some("10.0.0.1")),
        Err((400, outside.to_owned()))
    );
    let twice = format!("endpoint with name {SERVER_A} already exists in network k3d-cluster-a");
    assert_eq!(
        bollard.connect("k3d-cluster-a", SERVER_A, None),
        Err((403, twice))
    );
    assert_eq!(
        bollard.connect("nowhere", SERVER_A, None),
        Err((404, "network nowhere not found".to_owned()))
    );
    assert_eq!(
        bollard.connect("k3d-cluster-a", "nobody", None),
        Err((404, "No such container: nobody".to_owned()))
    );
    let (code, message) = bollard
        .disconnect("k3d-karmada-host", SERVER_A)
        .unwrap_err();
    assert_eq!(code, 500);
    assert!(
        message.ends_with("is not connected to network k3d-karmada-host"),
        "{message}"
    );
}

#[test]
fn leaves_a_ghost_that_breaks_the_next_start() {
    let federation = pinned(Engine::V28);
    let bollard = Bollard::new(&federation);
    let docker = federation.docker();
    bollard
        .connect("k3d-cluster-a", HOST, Some("172.20.0.3"))
        .unwrap_err();
    assert_eq!(docker.networks(HOST), ["k3d-cluster-a", "k3d-karmada-host"]);
    assert_eq!(
        bollard.disconnect("k3d-cluster-a", HOST).unwrap_err().0,
        500
    );
    let failed = docker.restart(HOST).unwrap_err();
    assert!(
        failed.message.contains("Address already in use"),
        "{failed}"
    );
    assert_eq!(docker.state(HOST), Some(State::Exited));
    bollard.disconnect("k3d-cluster-a", HOST).unwrap();
    docker.start(HOST).unwrap();
    // A successful connection cures it, too.
    bollard
        .connect("k3d-cluster-a", HOST, Some("172.20.0.3"))
        .unwrap_err();
    bollard
        .connect("k3d-cluster-a", HOST, Some("172.20.0.200"))
        .unwrap();
    docker.restart(HOST).unwrap();
    assert_eq!(
        docker.address(HOST, "k3d-cluster-a").unwrap().to_string(),
        "172.20.0.200"
    );
}

#[test]
fn changes_nothing_when_a_configured_container_is_stopped() {
    let federation = pinned(Engine::V28);
    let (bollard, docker) = (Bollard::new(&federation), federation.docker());
    bollard
        .connect("k3d-cluster-a", HOST, Some("172.20.0.200"))
        .unwrap();
    docker.stop(HOST).unwrap();
    bollard
        .connect("k3d-cluster-a", HOST, Some("172.20.0.201"))
        .unwrap();
    docker.start(HOST).unwrap();
    assert_eq!(
        docker.address(HOST, "k3d-cluster-a").unwrap().to_string(),
        "172.20.0.200"
    );
}

#[test]
fn records_the_endpoint_of_a_crash_looping_container_and_says_404() {
    let federation = pinned(Engine::V28);
    let (bollard, docker) = (Bollard::new(&federation), federation.docker());
    docker.crash(HOST).unwrap();
    let (code, message) = bollard.connect("k3d-cluster-a", HOST, None).unwrap_err();
    assert_eq!(code, 404);
    assert!(
        message.starts_with("network sandbox for container"),
        "{message}"
    );
    assert_eq!(docker.networks(HOST), ["k3d-cluster-a", "k3d-karmada-host"]);
    assert_eq!(
        bollard.disconnect("k3d-cluster-a", HOST).unwrap_err().0,
        500
    );
}

#[test]
fn shuffles_dynamic_addresses_when_the_daemon_restarts() {
    let federation = Federation::start(Spec::default()).unwrap();
    let docker = federation.docker();
    docker.connect("k3d-cluster-a", HOST, None).unwrap();
    docker.restart_daemon(&["k3d-cluster-a-serverlb", HOST, SERVER_A]);
    let address = |name: &str| docker.address(name, "k3d-cluster-a").unwrap().to_string();
    assert_eq!(
        (
            address("k3d-cluster-a-serverlb"),
            address(HOST),
            address(SERVER_A)
        ),
        (
            "172.20.0.2".to_owned(),
            "172.20.0.3".to_owned(),
            "172.20.0.4".to_owned()
        )
    );
    assert_eq!(
        docker
            .address(SERVER_A, "k3d-cluster-a")
            .map(|address| address.to_string())
            .as_deref(),
        Some("172.20.0.4")
    );
}

#[test]
fn a_pinned_address_is_no_reservation_while_its_container_is_stopped() {
    let federation = pinned(Engine::V28);
    let docker = federation.docker();
    docker.stop(SERVER_A).unwrap();
    docker.run("one", "k3d-cluster-a").unwrap();
    docker.run("two", "k3d-cluster-a").unwrap();
    assert_eq!(
        docker.address("two", "k3d-cluster-a").unwrap().to_string(),
        "172.20.0.3"
    );
    assert!(
        docker
            .start(SERVER_A)
            .unwrap_err()
            .message
            .contains("Address already in use")
    );
}

#[test]
fn moves_the_default_route_to_networks_that_sort_first() {
    let federation = pinned(Engine::V28);
    let docker = federation.docker();
    docker.connect("k3d-cluster-a", HOST, None).unwrap();
    assert_eq!(docker.default_route(HOST).as_deref(), Some("k3d-cluster-a"));
    docker.disconnect("k3d-cluster-a", HOST).unwrap();
    let settings = serde_json::json!({"GwPriority": -100, "DriverOpts": {"com.docker.network.endpoint.ifname": "mesh0"}});
    docker
        .connect_with("k3d-cluster-a", HOST, &settings)
        .unwrap();
    assert_eq!(
        docker.default_route(HOST).as_deref(),
        Some("k3d-karmada-host")
    );
    assert_eq!(
        docker.interface(HOST, "k3d-karmada-host").as_deref(),
        Some("eth0")
    );
    assert_eq!(
        docker.interface(HOST, "k3d-cluster-a").as_deref(),
        Some("mesh0")
    );
}

#[test]
fn isolates_host_and_none_modes() {
    let on = |network: &str| {
        let host = ClusterSpec {
            network: Some(network.to_owned()),
            ..Spec::default().host
        };
        Federation::start(Spec {
            host,
            ..Spec::default()
        })
        .unwrap()
    };
    let federation = on("host");
    let bollard = Bollard::new(&federation);
    let (code, message) = bollard.connect("k3d-cluster-a", HOST, None).unwrap_err();
    assert!(
        code == 400 && message.starts_with("container sharing network namespace"),
        "{message}"
    );
    let federation = on("none");
    let bollard = Bollard::new(&federation);
    let (code, message) = bollard.connect("k3d-cluster-a", HOST, None).unwrap_err();
    assert!(
        code == 400 && message.contains("private (none) mode"),
        "{message}"
    );
}

#[test]
fn old_engines_speak_old_words() {
    let federation = pinned(Engine::V20);
    let bollard = Bollard::new(&federation);
    let outside = "Invalid address 10.0.0.1: It does not belong to any of this network's subnets";
    assert_eq!(
        bollard.connect("k3d-cluster-a", HOST, Some("10.0.0.1")),
        Err((500, outside.to_owned()))
    );
    let version = bollard.runtime.block_on(bollard.docker.version()).unwrap();
    assert_eq!(version.api_version.as_deref(), Some("1.41"));
}
