//! Karmada's behaviour on every backend.

use karmada_lab::{Certificate, Lab, MemberSpec, Spec, Works};
use serde_json::{Value, json};

use crate::Scenario;

pub(crate) const SCENARIOS: &[Scenario] = &[
    (
        "starts_with_members_that_are_not_ready",
        Spec::default,
        starts_with_members_that_are_not_ready,
    ),
    (
        "becomes_ready_when_connected_and_patched",
        Spec::default,
        becomes_ready_when_connected_and_patched,
    ),
    (
        "lets_works_sleep_until_the_controller_manager_is_rolled_out",
        Spec::default,
        lets_works_sleep_until_the_controller_manager_is_rolled_out,
    ),
    (
        "follows_the_state_of_containers",
        Spec::default,
        follows_the_state_of_containers,
    ),
    (
        "believes_only_certificates_that_name_the_address",
        Spec::default,
        believes_only_certificates_that_name_the_address,
    ),
    (
        "goes_blind_after_a_move_until_it_restarts",
        awake,
        goes_blind_after_a_move_until_it_restarts,
    ),
    (
        "lets_members_in_whom_they_know",
        awake,
        lets_members_in_whom_they_know,
    ),
    (
        "takes_members_of_every_tool",
        every_tool,
        takes_members_of_every_tool,
    ),
];

const CLUSTERS: &str = "/apis/cluster.karmada.io/v1alpha1/clusters";
const MAP: &str = "/api/v1/namespaces/default/configmaps/probe";

fn awake() -> Spec {
    Spec {
        works: Works::Awake,
        ..Spec::default()
    }
}

fn every_tool() -> Spec {
    let mut spec = Spec::with_members([MemberSpec::kind("one"), MemberSpec::minikube("two")]);
    spec.host.agents = 1;
    spec
}

fn starts_with_members_that_are_not_ready(lab: &dyn Lab) {
    for name in ["cluster-a", "cluster-b"] {
        let ready = lab.readiness(name).unwrap();
        assert_eq!(
            (&ready["status"], &ready["reason"]),
            (&json!("False"), &json!("ClusterNotReachable"))
        );
        let cluster = lab
            .control_plane()
            .read(&format!("{CLUSTERS}/{name}"))
            .unwrap();
        let port = lab.member(name).port();
        assert_eq!(
            cluster["spec"]["apiEndpoint"],
            format!("https://0.0.0.0:{port}")
        );
    }
    assert_eq!(lab.docker().names().len(), 6);
    let before = lab.state();
    assert!(before.len() > 40, "{}", before.len());
    assert_eq!(lab.changes_since(&before), [""; 0]);
    let secret = "/api/v1/namespaces/karmada-cluster/secrets/cluster-a";
    let patch = json!({"data": {"token": "Z2FyYmFnZQ=="}});
    lab.control_plane().patch(secret, &patch).unwrap();
    let changes = lab.changes_since(&before);
    assert!(
        changes.len() == 1 && changes[0].contains("secrets/cluster-a"),
        "{changes:?}"
    );
    assert!(lab.secrets().iter().any(|secret| secret == "garbage"));
}

fn becomes_ready_when_connected_and_patched(lab: &dyn Lab) {
    repair(lab, "cluster-a");
    assert_eq!(status(lab, "cluster-b"), "False");
    let unknown = lab
        .member("cluster-a")
        .read("/api/v1/namespaces/nowhere")
        .unwrap_err();
    assert_eq!((unknown.code, unknown.reason.as_str()), (404, "NotFound"));
}

fn lets_works_sleep_until_the_controller_manager_is_rolled_out(lab: &dyn Lab) {
    repair(lab, "cluster-a");
    let role = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/karmada-impersonator";
    assert!(lab.member("cluster-a").read(role).is_err());
    let deployment =
        "/apis/apps/v1/namespaces/karmada-system/deployments/karmada-controller-manager";
    let restart = json!({"spec": {"template": {"metadata": {"annotations": {"kubectl.kubernetes.io/restartedAt": "now"}}}}});
    let changed = lab.host().patch(deployment, &restart).unwrap();
    assert!(lab.wait_for(lab.patience(), || {
        let current = lab.host().read(deployment).unwrap();
        current["status"]["observedGeneration"] == changed["metadata"]["generation"]
    }));
    assert!(lab.wait_for(lab.patience(), || {
        lab.member("cluster-a").read(role).is_ok()
    }));
}

fn follows_the_state_of_containers(lab: &dyn Lab) {
    repair(lab, "cluster-a");
    let (docker, server) = (lab.docker(), lab.spec().member("cluster-a").first_server());
    docker.pause(&server).unwrap();
    assert!(lab.wait_for(lab.patience(), || status(lab, "cluster-a") == "False"));
    docker.unpause(&server).unwrap();
    assert!(lab.wait_ready("cluster-a", lab.patience()));
    docker.stop(&server).unwrap();
    assert!(lab.wait_for(lab.patience(), || status(lab, "cluster-a") == "False"));
    docker.start(&server).unwrap();
    assert!(lab.wait_ready("cluster-a", lab.patience()));

    let home = lab.spec().member("cluster-a").home_network();
    docker.run("stranger", &home, Some(39_001)).unwrap();
    let stranger = docker.inspect("stranger").unwrap();
    let published = &stranger["NetworkSettings"]["Ports"]["6443/tcp"][0]["HostPort"];
    assert_eq!(*published, "39001");
    docker
        .create_network("elsewhere", Some("10.9.0.0/24"))
        .unwrap();
    let wanted = "10.9.0.77".parse().unwrap();
    docker
        .connect("elsewhere", "stranger", Some(wanted))
        .unwrap();
    assert_eq!(docker.address("stranger", "elsewhere"), Some(wanted));
    assert_eq!(
        docker.networks("stranger"),
        ["elsewhere".to_owned(), home.clone()]
    );
    let network = docker.inspect_network(&home).unwrap();
    assert!(
        network["IPAM"]["Config"][0]["Gateway"].is_string(),
        "{network:#}"
    );
    let taken = docker.connect(&home, "stranger", None).unwrap_err();
    assert_eq!(taken.status, 403);
}

fn believes_only_certificates_that_name_the_address(lab: &dyn Lab) {
    repair(lab, "cluster-a");
    let member = lab.member("cluster-a");
    let names = member.names();
    assert!(names.iter().any(|name| name == "0.0.0.0"), "{names:?}");
    member.set_names(&["localhost".to_owned(), "127.0.0.1".to_owned()]);
    assert!(lab.wait_for(lab.patience(), || status(lab, "cluster-a") == "False"));
    member.set_names(&names);
    assert!(lab.wait_ready("cluster-a", lab.patience()));
    member.set_foreign_authority();
    assert!(lab.wait_for(lab.patience(), || status(lab, "cluster-a") == "False"));
}

fn goes_blind_after_a_move_until_it_restarts(lab: &dyn Lab) {
    repair(lab, "cluster-a");
    let works = "/apis/work.karmada.io/v1alpha1/namespaces/karmada-es-cluster-a/works";
    let manifest = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "1"},
        "metadata": {"name": "probe", "namespace": "default", "labels": {"karmada.io/managed": "true"}},
    });
    let work =
        json!({"metadata": {"name": "probe"}, "spec": {"workload": {"manifests": [manifest]}}});
    lab.control_plane().create(works, &work).unwrap();
    let value = || {
        lab.member("cluster-a")
            .read(MAP)
            .map(|map| map["data"]["a"].clone())
            .ok()
    };
    let edit = || {
        let patch = json!({"data": {"a": "by hand"}});
        lab.member("cluster-a").patch(MAP, &patch).unwrap();
    };
    assert!(lab.wait_for(lab.patience(), || value() == Some(json!("1"))));
    edit();
    assert!(lab.wait_for(lab.patience(), || value() == Some(json!("1"))));

    let (docker, host) = (lab.docker(), lab.spec().host.first_server());
    docker.create_network("elsewhere", None).unwrap();
    docker.connect("elsewhere", &host, None).unwrap();
    let address = lab
        .move_member("cluster-a", "elsewhere", None, Certificate::Follows)
        .unwrap();
    assert!(lab.wait_for(lab.patience(), || status(lab, "cluster-a") == "False"));
    set_endpoint(lab, "cluster-a", &format!("https://{address}:6443"));
    assert!(lab.wait_ready("cluster-a", lab.patience()));
    edit();
    // Blind: what nobody sees does not come back. A new object is delivered all the same.
    let other = json!({"metadata": {"name": "other"}, "spec": {"workload": {"manifests": [{
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "other", "namespace": "default"},
    }]}}});
    lab.control_plane().create(works, &other).unwrap();
    let delivered = "/api/v1/namespaces/default/configmaps/other";
    assert!(lab.wait_for(lab.patience(), || {
        lab.member("cluster-a").read(delivered).is_ok()
    }));
    assert_eq!(value(), Some(json!("by hand")));

    docker.restart(&host).unwrap();
    assert!(lab.wait_for(lab.patience(), || value() == Some(json!("1"))));
}

fn lets_members_in_whom_they_know(lab: &dyn Lab) {
    repair(lab, "cluster-a");
    let role = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/karmada-impersonator";
    assert!(lab.wait_for(lab.patience(), || {
        lab.member("cluster-a").read(role).is_ok()
    }));
    if lab.embedded().is_some() {
        return;
    }
    let proxied = |path: &str| {
        lab.control_plane()
            .read(&format!("{CLUSTERS}/cluster-a/proxy{path}"))
    };
    assert!(lab.wait_for(lab.patience(), || proxied("/readyz") == Ok(json!("ok"))));
    let nodes = proxied("/api/v1/nodes").unwrap();
    assert_eq!(
        nodes["items"][0]["metadata"]["name"],
        lab.spec().member("cluster-a").first_server()
    );
    let jane = karmada_lab::User::new("jane", &["devs"]);
    let kubeconfig = lab.control_plane().kubeconfig_for(jane).unwrap();
    let output = lab
        .command("kubectl")
        .arg("--kubeconfig")
        .arg(kubeconfig)
        .args(["get", "clusters"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        said.contains("User \"jane\" cannot list resource \"clusters\""),
        "{said}"
    );
    let output = lab
        .command("kubectl")
        .args(["get", "clusters,works", "-A"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.contains("v1.20.2   Push   True"), "{said}");
}

fn takes_members_of_every_tool(lab: &dyn Lab) {
    let names = lab.docker().names();
    for name in ["one-control-plane", "two", "k3d-karmada-host-agent-0"] {
        assert!(names.iter().any(|known| known == name), "{names:?}");
    }
    repair(lab, "one");
    repair(lab, "two");
    let cluster = lab
        .control_plane()
        .read(&format!("{CLUSTERS}/two"))
        .unwrap();
    assert_eq!(cluster["spec"]["apiEndpoint"], "https://192.168.49.2:8443");
}

fn status(lab: &dyn Lab, cluster: &str) -> Value {
    lab.readiness(cluster)
        .map_or(Value::Null, |ready| ready["status"].clone())
}

fn set_endpoint(lab: &dyn Lab, cluster: &str, endpoint: &str) {
    let patch = json!({"spec": {"apiEndpoint": endpoint}});
    lab.control_plane()
        .patch(&format!("{CLUSTERS}/{cluster}"), &patch)
        .unwrap();
}

/// Does by hand what repairs a member, and waits until it is Ready.
fn repair(lab: &dyn Lab, name: &str) {
    let cluster = lab.spec().member(name);
    let network = cluster.home_network();
    let docker = lab.docker();
    docker
        .connect(&network, &lab.spec().host.first_server(), None)
        .unwrap();
    let address = docker.address(&cluster.first_server(), &network).unwrap();
    set_endpoint(
        lab,
        name,
        &format!("https://{address}:{}", cluster.api_port()),
    );
    assert!(
        lab.wait_ready(name, lab.patience()),
        "{:?}",
        lab.readiness(name)
    );
}
