//! Every place in which a member or the control plane can run.

use karmada_lab::{
    Backend, ClusterSpec, Endpoint, Engine, Federation, Lab, MemberSpec, Spec, Works,
};
use karmada_scenarios::plugin::Plugin;
use karmada_scenarios::said::Said;
use karmada_scenarios::scenario::{Scenario, anywhere, embedded};
use karmada_scenarios::state::{self, secret_path};
use serde_json::json;

use crate::endpoints;

pub(super) fn scenarios() -> Vec<Scenario> {
    let mut scenarios = anywhere![
        repairs_k3d_without_a_load_balancer,
        pins_the_control_plane_on_a_subnet_of_the_users,
        repairs_kind_beside_k3d,
        repairs_minikube_at_its_own_port,
        rewrites_a_kubeconfig_in_the_secret,
        removes_an_empty_kubeconfig_key,
    ];
    scenarios.extend(embedded![
        repairs_k3d_behind_a_load_balancer,
        repairs_k3d_with_several_servers_and_agents,
        repairs_k3d_on_a_network_of_its_users_name,
        repairs_k3d_on_a_network_that_was_there_before,
        repairs_kind_with_one_step_when_the_network_is_shared,
        repairs_a_container_that_no_tool_made,
        repairs_a_member_of_another_name_than_its_cluster,
        connects_every_node_of_the_host_cluster,
        repairs_with_karmada_on_kind,
        repairs_with_karmada_without_a_load_balancer,
        repairs_on_docker_before_28,
        keeps_the_default_route_of_the_control_plane,
        warns_of_the_default_route_on_docker_before_28,
        leaves_a_garbage_kubeconfig_key_alone,
        takes_off_a_final_slash,
        takes_the_endpoint_from_the_command_line_without_docker,
        needs_no_docker_when_all_endpoints_are_given,
        is_told_the_control_planes_container,
        repairs_an_address_that_went_stale,
        repairs_a_port_that_is_the_published_one,
        repairs_an_address_that_the_certificate_does_not_name,
        connects_what_shares_no_network,
        leaves_healthy_members_of_all_kinds_alone,
    ]);
    scenarios
}

/// A federation of one member, whose Works are delivered as soon as it is Ready.
fn with(member: MemberSpec) -> Federation {
    Federation::start(awake(Spec::with_members([member]))).unwrap()
}

fn awake(spec: Spec) -> Spec {
    Spec {
        works: Works::Awake,
        ..spec
    }
}

fn k3d(name: &str) -> MemberSpec {
    MemberSpec::k3d(name).subnet("172.20.0.0/16")
}

/// The endpoint becomes this, the member Ready, and a second run has nothing to do.
#[track_caller]
fn repairs(lab: &dyn Lab, cluster: &str, endpoint: &str) -> Said {
    let said = Plugin::with_host(lab).args(&["-o", "json"]).run();
    said.exits(0);
    assert_eq!(endpoints::endpoint(lab, cluster), endpoint, "{said}");
    assert_eq!(said.json()["verdict"], "repaired", "{said}");
    assert!(state::is_ready(lab, cluster));
    let before = state::of(lab);
    Plugin::with_host(lab)
        .run()
        .exits(0)
        .reports("Nothing to repair.");
    state::is_same(&state::of(lab), &before, &said);
    said
}

/// The same on any backend, with the address that the member's server has at home.
#[track_caller]
fn repairs_at_home(backend: &Backend, member: MemberSpec) -> Box<dyn Lab> {
    let lab = backend.start(awake(Spec::with_members([member]))).unwrap();
    let endpoint = endpoints::home_endpoint(&*lab, "one");
    repairs(&*lab, "one", &endpoint);
    lab
}

fn planned(federation: &Federation, arguments: &[&str]) -> Vec<String> {
    let said = Plugin::on(federation)
        .args(&["--dry-run", "-o", "json"])
        .args(arguments)
        .run();
    steps(&said)
}

/// The targets of the steps.
fn steps(said: &Said) -> Vec<String> {
    let report = said.json();
    let steps = report["steps"].as_array().unwrap();
    steps
        .iter()
        .map(|step| step["target"].as_str().unwrap().to_owned())
        .collect()
}

fn repairs_k3d_behind_a_load_balancer() {
    let federation = with(k3d("one"));
    repairs(&federation, "one", "https://172.20.0.3:6443");
}

fn repairs_k3d_without_a_load_balancer(backend: &Backend) {
    repairs_at_home(backend, k3d("one").no_load_balancer());
}

fn repairs_k3d_with_several_servers_and_agents() {
    let mut member = k3d("one");
    member.cluster.servers = 3;
    member.cluster.agents = 2;
    let federation = with(member);
    repairs(&federation, "one", "https://172.20.0.3:6443");
}

fn repairs_k3d_on_a_network_of_its_users_name() {
    let federation = with(k3d("one").network("lab"));
    repairs(&federation, "one", "https://172.20.0.3:6443");
}

/// Two clusters on one network, made for the first.
fn repairs_k3d_on_a_network_that_was_there_before() {
    let members = [k3d("one").network("lab"), k3d("two").network("lab")];
    let federation = Federation::start(awake(Spec::with_members(members))).unwrap();
    let steps = planned(&federation, &[]);
    assert_eq!(
        steps
            .iter()
            .filter(|step| step.starts_with("cluster/"))
            .count(),
        2,
        "{steps:?}"
    );
    assert_eq!(steps.len(), 3, "one connection serves both: {steps:?}");
    Plugin::on(&federation).args(&["--yes"]).run().exits(0);
    let address = federation
        .docker()
        .address("k3d-two-server-0", "lab")
        .unwrap();
    assert_eq!(
        endpoints::endpoint(&federation, "two"),
        format!("https://{address}:6443")
    );
}

fn pins_the_control_plane_on_a_subnet_of_the_users(backend: &Backend) {
    let lab = repairs_at_home(backend, k3d("one").user_subnet());
    let place = lab
        .docker()
        .inspect(&lab.spec().host.first_server())
        .unwrap();
    let pinned = &place["NetworkSettings"]["Networks"]["k3d-one"]["IPAMConfig"]["IPv4Address"];
    assert!(pinned.is_string(), "{place:#}");
}

/// On kind's one network, nothing is to be connected.
fn repairs_kind_with_one_step_when_the_network_is_shared() {
    let host = ClusterSpec {
        subnet: "172.18.0.0/16".to_owned(),
        ..ClusterSpec::kind("karmada-host")
    };
    let federation = Federation::start(awake(Spec {
        host,
        ..Spec::with_members([MemberSpec::kind("one")])
    }))
    .unwrap();
    assert_eq!(planned(&federation, &[]), ["cluster/one"]);
    let address = federation
        .docker()
        .address("one-control-plane", "kind")
        .unwrap();
    repairs(&federation, "one", &format!("https://{address}:6443"));
}

fn repairs_kind_beside_k3d(backend: &Backend) {
    repairs_at_home(backend, MemberSpec::kind("one").subnet("172.18.0.0/16"));
}

fn repairs_minikube_at_its_own_port(backend: &Backend) {
    let lab = repairs_at_home(backend, MemberSpec::minikube("one"));
    assert!(endpoints::endpoint(&*lab, "one").ends_with(":8443"));
}

/// A container without the labels of any tool, found by its published port and the CA that signed its certificate.
fn repairs_a_container_that_no_tool_made() {
    let federation = with(k3d("one").no_load_balancer());
    let docker = federation.docker();
    for label in [
        "app",
        "k3d.cluster",
        "k3d.role",
        "k3d.server.api.port",
        "k3d.cluster.network",
    ] {
        docker.set_label("k3d-one-server-0", label, None).unwrap();
    }
    repairs(&federation, "one", "https://172.20.0.3:6443");
}

fn repairs_a_member_of_another_name_than_its_cluster() {
    let federation = with(k3d("one").joined_as("production"));
    repairs(&federation, "production", "https://172.20.0.3:6443");
}

/// karmada-controller-manager may run on any of them.
fn connects_every_node_of_the_host_cluster() {
    let host = ClusterSpec {
        servers: 2,
        agents: 1,
        ..Spec::default().host
    };
    let federation = Federation::start(awake(Spec {
        host,
        ..Spec::with_members([k3d("one")])
    }))
    .unwrap();
    federation.move_karmada_to("k3d-karmada-host-agent-0");
    repairs(&federation, "one", "https://172.20.0.3:6443");
    for node in [
        "k3d-karmada-host-server-0",
        "k3d-karmada-host-server-1",
        "k3d-karmada-host-agent-0",
    ] {
        let networks = federation.docker().networks(node);
        assert!(
            networks.contains(&"k3d-one".to_owned()),
            "{node}: {networks:?}"
        );
    }
    let balancer = federation.docker().networks("k3d-karmada-host-serverlb");
    assert_eq!(balancer, ["k3d-karmada-host"]);
}

fn repairs_with_karmada_on_kind() {
    let host = ClusterSpec {
        subnet: "172.18.0.0/16".to_owned(),
        ..ClusterSpec::kind("karmada-host")
    };
    let federation = Federation::start(awake(Spec {
        host,
        ..Spec::with_members([k3d("one")])
    }))
    .unwrap();
    repairs(&federation, "one", "https://172.20.0.3:6443");
}

fn repairs_with_karmada_without_a_load_balancer() {
    let host = ClusterSpec {
        load_balancer: false,
        ..Spec::default().host
    };
    let federation = Federation::start(awake(Spec {
        host,
        ..Spec::with_members([k3d("one")])
    }))
    .unwrap();
    repairs(&federation, "one", "https://172.20.0.3:6443");
}

fn repairs_on_docker_before_28() {
    for engine in [Engine::V20, Engine::V26] {
        let federation = Federation::start(awake(Spec {
            engine,
            ..Spec::with_members([k3d("one")])
        }))
        .unwrap();
        repairs(&federation, "one", "https://172.20.0.3:6443");
    }
}

fn keeps_the_default_route_of_the_control_plane() {
    let federation = with(k3d("one").user_subnet());
    let docker = federation.docker();
    let node = "k3d-karmada-host-server-0";
    repairs(&federation, "one", "https://172.20.0.3:6443");
    docker.restart(node).unwrap();
    assert_eq!(
        docker.default_route(node).as_deref(),
        Some("k3d-karmada-host")
    );
    assert_ne!(docker.interface(node, "k3d-one").as_deref(), Some("eth0"));
}

fn warns_of_the_default_route_on_docker_before_28() {
    let federation = Federation::start(awake(Spec {
        engine: Engine::V26,
        ..Spec::with_members([k3d("a")])
    }))
    .unwrap();
    Plugin::on(&federation)
        .run()
        .exits(1)
        .reports("caution: ")
        .reports("default route");
}

/// As the field report has it: a whole kubeconfig in the secret, with the address that does not work.
fn rewrites_a_kubeconfig_in_the_secret(backend: &Backend) {
    let mut member = k3d("one");
    member.secret_kubeconfig = Some(KUBECONFIG.to_owned());
    let lab = repairs_at_home(backend, member);
    let expected = KUBECONFIG.replace("{SERVER}", &endpoints::endpoint(&*lab, "one"));
    assert_eq!(kubeconfig_key(&*lab), Some(expected));
}

fn removes_an_empty_kubeconfig_key(backend: &Backend) {
    let mut member = k3d("one");
    member.secret_kubeconfig = Some(String::new());
    let lab = repairs_at_home(backend, member);
    assert_eq!(kubeconfig_key(&*lab), None);
}

fn leaves_a_garbage_kubeconfig_key_alone() {
    let mut member = k3d("one");
    member.secret_kubeconfig = Some("\u{1}no kubeconfig".to_owned());
    let federation = with(member);
    repairs(&federation, "one", "https://172.20.0.3:6443");
    assert_eq!(kubeconfig_key(&federation).unwrap(), "\u{1}no kubeconfig");
}

fn kubeconfig_key(lab: &dyn Lab) -> Option<String> {
    let secret = lab.control_plane().read(&secret_path("one")).unwrap();
    let value = secret["data"]["kubeconfig"].as_str()?;
    let bytes = base64::Engine::decode(&base64::engine::general_purpose::STANDARD, value).unwrap();
    Some(String::from_utf8(bytes).unwrap())
}

const KUBECONFIG: &str = "\
# kept as it is
apiVersion: v1
kind: Config
clusters:
- name: k3d-one
  cluster:
    server: {SERVER}   # by k3d
contexts: []
";

/// Karmada's proxy answers 404 to requests for single objects.
fn takes_off_a_final_slash() {
    let federation = with(k3d("one").joined_at(Endpoint::Internal));
    federation
        .docker()
        .connect("k3d-one", "k3d-karmada-host-server-0", None)
        .unwrap();
    endpoints::set_endpoint(&federation, "one", "https://172.20.0.3:6443/");
    assert!(federation.wait_ready("one", std::time::Duration::from_secs(10)));
    repairs(&federation, "one", "https://172.20.0.3:6443");
}

fn takes_the_endpoint_from_the_command_line_without_docker() {
    let federation = with(k3d("one"));
    federation
        .docker()
        .connect("k3d-one", "k3d-karmada-host-server-0", None)
        .unwrap();
    Plugin::on(&federation)
        .env("DOCKER_HOST", "unix:///nowhere.sock")
        .args(&["--yes", "--endpoint", "one=https://172.20.0.3:6443"])
        .run()
        .exits(0)
        .reports("Repaired");
    assert_eq!(
        endpoints::endpoint(&federation, "one"),
        "https://172.20.0.3:6443"
    );
}

fn needs_no_docker_when_all_endpoints_are_given() {
    let federation = with(k3d("one"));
    let said = Plugin::on(&federation)
        .env("DOCKER_HOST", "unix:///nowhere.sock")
        .args(&["--endpoint", "one=https://172.20.0.3:6443", "-o", "json"])
        .run();
    assert_eq!(said.findings(), ["one endpoint-not-as-given"]);
}

fn is_told_the_control_planes_container() {
    let federation = with(k3d("one"));
    let steps = planned(
        &federation,
        &["--control-plane-container", "k3d-karmada-host-server-0"],
    );
    assert_eq!(steps.len(), 2, "{steps:?}");
    assert!(steps[0].contains("k3d-karmada-host-server-0"), "{steps:?}");
}

/// Two servers' worth of restarts: Docker hands out the lowest free address.
fn repairs_an_address_that_went_stale() {
    let federation = with(k3d("one"));
    repairs(&federation, "one", "https://172.20.0.3:6443");
    let docker = federation.docker();
    docker.stop("k3d-one-server-0").unwrap();
    docker.run("squatter", "k3d-one").unwrap();
    docker.start("k3d-one-server-0").unwrap();
    let address = docker.address("k3d-one-server-0", "k3d-one").unwrap();
    assert_ne!(address.to_string(), "172.20.0.3");
    let said = repairs(&federation, "one", &format!("https://{address}:6443"));
    assert_eq!(steps(&said)[0], "cluster/one");
}

fn repairs_a_port_that_is_the_published_one() {
    let url = Endpoint::Url("https://172.20.0.3:{PORT}".to_owned());
    let federation = with(k3d("one").joined_at(url));
    let said = Plugin::on(&federation).args(&["-o", "json"]).run();
    assert_eq!(said.findings(), ["one endpoint-wrong-port"]);
    repairs(&federation, "one", "https://172.20.0.3:6443");
}

fn repairs_an_address_that_the_certificate_does_not_name() {
    let federation = with(k3d("one"));
    let docker = federation.docker();
    docker.create_network("mesh", Some("10.77.0.0/24")).unwrap();
    docker
        .connect(
            "mesh",
            "k3d-one-server-0",
            Some("10.77.0.9".parse().unwrap()),
        )
        .unwrap();
    docker
        .connect("mesh", "k3d-karmada-host-server-0", None)
        .unwrap();
    endpoints::set_endpoint(&federation, "one", "https://10.77.0.9:6443");
    let said = Plugin::on(&federation).args(&["-o", "json"]).run();
    assert_eq!(said.findings(), ["one endpoint-not-certified"]);
    repairs(&federation, "one", "https://172.20.0.3:6443");
}

fn connects_what_shares_no_network() {
    let federation = with(k3d("one").joined_at(Endpoint::Internal));
    let said = Plugin::on(&federation).args(&["-o", "json"]).run();
    assert_eq!(said.findings(), ["one network-not-shared"]);
    repairs(&federation, "one", "https://172.20.0.3:6443");
}

fn leaves_healthy_members_of_all_kinds_alone() {
    let members = [
        k3d("one"),
        MemberSpec::kind("two").subnet("172.18.0.0/16"),
        MemberSpec::minikube("three"),
        MemberSpec::k3d("four")
            .subnet("172.24.0.0/16")
            .user_subnet(),
    ];
    let federation = Federation::start(awake(Spec::with_members(members))).unwrap();
    Plugin::on(&federation).args(&["--yes"]).run().exits(0);
    federation.forget_requests();
    let said = Plugin::on(&federation).args(&["--yes", "-o", "json"]).run();
    said.exits(0);
    assert_eq!(said.json()["findings"], json!([]), "{said}");
    assert_eq!(federation.writes(), []);
}
