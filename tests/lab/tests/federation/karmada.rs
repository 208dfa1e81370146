//! Karmada's behaviour.

use karmada_lab::{
    ClusterSpec, Endpoint, Federation, ImpersonationWording, MemberSpec, Spec, User, Works,
};
use serde_json::json;

use crate::clients::{CLUSTER_A, HOST, Kube, SOON, refusal, repair, repaired};

fn proxy(
    federation: &Federation,
    kubeconfig: &std::path::Path,
    path: &str,
) -> Result<String, kube::Error> {
    let _ = federation;
    Kube::new(kubeconfig).read(&format!("{CLUSTER_A}/proxy{path}"))
}

fn proxy_refusal(federation: &Federation) -> (u16, String) {
    refusal(proxy(federation, &federation.kubeconfig(), "/readyz"))
}

fn set_endpoint(federation: &Federation, endpoint: &str) {
    federation
        .control_plane()
        .patch(CLUSTER_A, &json!({"spec": {"apiEndpoint": endpoint}}))
        .unwrap();
}

#[test]
fn starts_with_members_joined_at_unspecified_addresses_and_not_ready() {
    let federation = Federation::start(Spec::default()).unwrap();
    for name in ["cluster-a", "cluster-b"] {
        let cluster = federation
            .control_plane()
            .read(&format!(
                "/apis/cluster.karmada.io/v1alpha1/clusters/{name}"
            ))
            .unwrap();
        let port = federation.member(name).port();
        assert_eq!(
            cluster["spec"]["apiEndpoint"],
            format!("https://0.0.0.0:{port}")
        );
        let ready = federation.readiness(name).unwrap();
        assert_eq!(
            (&ready["status"], &ready["reason"]),
            (&json!("False"), &json!("ClusterNotReachable"))
        );
    }
    assert_eq!(federation.writes(), []);
}

#[test]
fn becomes_ready_when_connected_and_patched() {
    let federation = Federation::start(Spec::default()).unwrap();
    let patch = json!({"spec": {"apiEndpoint": "https://172.20.0.3:6443"}});
    federation.control_plane().patch(CLUSTER_A, &patch).unwrap();
    assert_eq!(
        proxy_refusal(&federation),
        (500, "dial tcp 172.20.0.3:6443: i/o timeout".to_owned())
    );
    federation
        .docker()
        .connect("k3d-cluster-a", HOST, None)
        .unwrap();
    assert!(federation.wait_ready("cluster-a", SOON));
    let cluster = federation.control_plane().read(CLUSTER_A).unwrap();
    assert_eq!(cluster["status"]["kubernetesVersion"], "v1.33.6+k3s1");
    assert_eq!(
        federation.readiness("cluster-b").unwrap()["status"],
        "False"
    );
}

#[test]
fn tells_dial_and_certificate_failures_in_the_words_of_go() {
    let federation = Federation::start(Spec::default()).unwrap();
    let port = federation.member("cluster-a").port();
    federation
        .docker()
        .connect("k3d-cluster-a", HOST, None)
        .unwrap();
    let names = "0.0.0.0, 10.43.0.1, 127.0.0.1, 172.20.0.3, ::1";
    for (endpoint, message) in [
        (
            format!("https://0.0.0.0:{port}"),
            format!("dial tcp 0.0.0.0:{port}: connect: connection refused"),
        ),
        (
            "https://172.20.0.3:7777".to_owned(),
            "dial tcp 172.20.0.3:7777: connect: connection refused".to_owned(),
        ),
        (
            "https://172.20.0.250:6443".to_owned(),
            "dial tcp 172.20.0.250:6443: connect: no route to host".to_owned(),
        ),
        (
            "https://172.21.0.3:6443".to_owned(),
            "dial tcp 172.21.0.3:6443: i/o timeout".to_owned(),
        ),
        (
            "https://nowhere:6443".to_owned(),
            "dial tcp: lookup nowhere on 127.0.0.11:53: no such host".to_owned(),
        ),
        (
            "https://172.20.0.4:6443".to_owned(),
            format!(
                "tls: failed to verify certificate: x509: certificate is valid for {names}, not 172.20.0.4"
            ),
        ),
        (
            "https://172.19.0.3:6443".to_owned(),
            "tls: failed to verify certificate: x509: certificate signed by unknown authority"
                .to_owned(),
        ),
    ] {
        set_endpoint(&federation, &endpoint);
        let (code, said) = proxy_refusal(&federation);
        assert_eq!((code, said), (500, message));
    }
    set_endpoint(&federation, "http://172.20.0.3:6443");
    let plain = proxy(&federation, &federation.kubeconfig(), "/readyz").unwrap_err();
    assert!(
        format!("{plain:?}").contains("Client sent an HTTP request to an HTTPS server"),
        "{plain:?}"
    );
    set_endpoint(&federation, "https://k3d-cluster-a-server-0:6443");
    assert_eq!(proxy_refusal(&federation).0, 403);
}

#[test]
fn tells_broken_credentials_apart() {
    let federation = repaired();
    let control_plane = federation.control_plane();
    let secret = "/api/v1/namespaces/karmada-cluster/secrets/cluster-a";
    let impersonator = "/api/v1/namespaces/karmada-cluster/secrets/cluster-a-impersonator";
    let read = || proxy(&federation, &federation.kubeconfig(), "/readyz");
    assert_eq!(read().unwrap(), "ok");

    let good = control_plane.read(impersonator).unwrap()["data"]["token"].clone();
    control_plane
        .patch(impersonator, &json!({"data": {"token": "Z2FyYmFnZQ=="}}))
        .unwrap();
    assert_eq!(refusal(read()), (401, "Unauthorized".to_owned()));
    control_plane
        .patch(impersonator, &json!({"data": {"token": null}}))
        .unwrap();
    let message = "failed to get impresonateToken for cluster cluster-a: the impresonate token of cluster cluster-a is empty";
    assert_eq!(refusal(read()), (500, message.to_owned()));
    control_plane
        .patch(impersonator, &json!({"data": {"token": good}}))
        .unwrap();
    assert_eq!(read().unwrap(), "ok");

    control_plane
        .patch(secret, &json!({"data": {"caBundle": null}}))
        .unwrap();
    assert!(federation.wait_for(SOON, |federation| {
        federation.readiness("cluster-a").is_some_and(|ready| {
            ready["reason"] == "StatusCollectionFailed"
                && ready["message"]
                    == "failed to create a ClusterClient: the secret for cluster cluster-a is missing the CA data key \"caBundle\""
        })
    }));
    control_plane
        .patch(CLUSTER_A, &json!({"spec": {"impersonatorSecretRef": null}}))
        .unwrap();
    assert_eq!(
        refusal(read()),
        (
            500,
            "the impersonatorSecretRef of cluster cluster-a is nil".to_owned()
        )
    );
}

#[test]
fn lets_works_sleep_until_the_controller_manager_restarts() {
    let federation = Federation::start(Spec {
        wording: ImpersonationWording::Constrained,
        ..Spec::default()
    })
    .unwrap();
    repair(&federation);
    assert!(federation.wait_ready("cluster-a", SOON));
    let message = "forbidden: User \"system:serviceaccount:karmada-cluster:karmada-impersonator\" cannot impersonate-on:user-info:get path \"/readyz\"";
    assert_eq!(proxy_refusal(&federation), (403, message.to_owned()));

    let deployment =
        "/apis/apps/v1/namespaces/karmada-system/deployments/karmada-controller-manager";
    let restart = json!({"spec": {"template": {"metadata": {"annotations": {"kubectl.kubernetes.io/restartedAt": "now"}}}}});
    let changed = federation.host().patch(deployment, &restart).unwrap();
    assert!(federation.wait_for(SOON, |federation| {
        let current = federation.host().read(deployment).unwrap();
        current["status"]["observedGeneration"] == changed["metadata"]["generation"]
    }));
    assert!(federation.wait_for(SOON, |federation| {
        proxy(federation, &federation.kubeconfig(), "/readyz").is_ok()
    }));
}

#[test]
fn refuses_users_by_control_plane_and_by_member() {
    let federation = repaired();
    let control_plane = federation.control_plane();
    let jane = control_plane
        .kubeconfig_for(User::new("jane", &[]))
        .unwrap();
    let read = || proxy(&federation, &jane, "/readyz");
    let refused = "clusters.cluster.karmada.io \"cluster-a\" is forbidden: User \"jane\" cannot get resource \"clusters/proxy\" in API group \"cluster.karmada.io\" at the cluster scope";
    assert_eq!(refusal(read()), (403, refused.to_owned()));

    let rbac = "/apis/rbac.authorization.k8s.io/v1";
    let rule = json!({"apiGroups": ["cluster.karmada.io"], "resources": ["clusters/proxy"], "resourceNames": ["cluster-a"], "verbs": ["get"]});
    control_plane
        .create(
            &format!("{rbac}/clusterroles"),
            &json!({"metadata": {"name": "jane"}, "rules": [rule]}),
        )
        .unwrap();
    let binding = json!({
        "metadata": {"name": "jane"}, "roleRef": {"kind": "ClusterRole", "name": "jane"},
        "subjects": [{"kind": "User", "name": "jane"}],
    });
    control_plane
        .create(&format!("{rbac}/clusterrolebindings"), &binding)
        .unwrap();
    // The rule reaches the member by a Work; jane has no rights of her own there.
    let refused = "forbidden: User \"jane\" cannot get path \"/readyz\"";
    let arrived = |_: &Federation| {
        refusal(Kube::new(&jane).read(&format!("{CLUSTER_A}/proxy/metrics")))
            .1
            .contains("User \"jane\" cannot get path")
    };
    assert!(federation.wait_for(SOON, arrived), "{refused}");
    assert_eq!(read().unwrap(), "ok");
}

#[test]
fn goes_blind_after_a_change_of_address() {
    let federation = repaired();
    let work = json!({
        "metadata": {"name": "probe", "finalizers": ["karmada.io/execution-controller"]},
        "spec": {"workload": {"manifests": [{
            "apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "1"},
            "metadata": {"name": "probe", "namespace": "default", "labels": {"karmada.io/managed": "true"}},
        }]}},
    });
    let works = "/apis/work.karmada.io/v1alpha1/namespaces/karmada-es-cluster-a/works";
    federation.control_plane().create(works, &work).unwrap();
    let map = "/api/v1/namespaces/default/configmaps/probe";
    let value = |federation: &Federation| {
        federation
            .member("cluster-a")
            .read(map)
            .map(|map| map["data"]["a"].clone())
            .ok()
    };
    let edit = |text: &str| {
        federation
            .member("cluster-a")
            .patch(map, &json!({"data": {"a": text}}))
            .unwrap()
    };
    assert!(federation.wait_for(SOON, |federation| value(federation) == Some(json!("1"))));
    edit("by hand");
    assert!(federation.wait_for(SOON, |federation| value(federation) == Some(json!("1"))));

    // The server moves to another address, and Karmada is told.
    federation.docker().stop("k3d-cluster-a-server-0").unwrap();
    federation
        .docker()
        .run("squatter", "k3d-cluster-a")
        .unwrap();
    federation.docker().start("k3d-cluster-a-server-0").unwrap();
    let moved = federation
        .docker()
        .address("k3d-cluster-a-server-0", "k3d-cluster-a")
        .unwrap();
    assert_ne!(moved.to_string(), "172.20.0.3");
    set_endpoint(&federation, &format!("https://{moved}:6443"));
    assert!(federation.wait_for(SOON, |federation| {
        proxy(federation, &federation.kubeconfig(), "/readyz").is_ok()
    }));
    assert!(federation.wait_ready("cluster-a", SOON));
    edit("by hand");
    let complained = |federation: &Federation| {
        federation
            .controller_log()
            .iter()
            .any(|line| line.contains("Failed to watch"))
    };
    assert!(federation.wait_for(SOON, complained));
    assert_eq!(value(&federation), Some(json!("by hand")));

    federation.docker().restart(HOST).unwrap();
    assert!(federation.wait_for(SOON, |federation| value(federation) == Some(json!("1"))));

    federation
        .control_plane()
        .delete(&format!("{works}/probe"))
        .unwrap();
    assert!(federation.wait_for(SOON, |federation| value(federation).is_none()));
}

#[test]
fn follows_addresses_with_certificates_unless_frozen() {
    let federation = Federation::start(Spec::default()).unwrap();
    let docker = federation.docker();
    let move_server = |squatter: &str| {
        docker.stop("k3d-cluster-a-server-0").unwrap();
        docker.run(squatter, "k3d-cluster-a").unwrap();
        docker.start("k3d-cluster-a-server-0").unwrap();
        docker
            .address("k3d-cluster-a-server-0", "k3d-cluster-a")
            .unwrap()
            .to_string()
    };
    let first = move_server("one");
    assert!(federation.member("cluster-a").names().contains(&first));
    federation.member("cluster-a").freeze_names();
    let second = move_server("two");
    let moved = move_server("three");
    assert!(
        !federation.member("cluster-a").names().contains(&moved),
        "{first} {second} {moved}"
    );
}

#[test]
fn serves_kind_and_minikube_members() {
    let members = [
        MemberSpec::kind("red"),
        MemberSpec::minikube("blue"),
        MemberSpec::k3d("green").joined_at(Endpoint::Internal),
    ];
    let federation = Federation::start(Spec {
        works: Works::Awake,
        ..Spec::with_members(members)
    })
    .unwrap();
    let endpoint = |name: &str| {
        let path = format!("/apis/cluster.karmada.io/v1alpha1/clusters/{name}");
        federation.control_plane().read(&path).unwrap()["spec"]["apiEndpoint"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    assert_eq!(
        endpoint("red"),
        format!("https://127.0.0.1:{}", federation.member("red").port())
    );
    let docker = federation.docker();
    assert_eq!(docker.networks("red-control-plane"), ["kind"]);
    let blue = docker.address("blue", "blue").unwrap();
    assert_eq!(blue.to_string(), "192.168.49.2");
    docker
        .connect("blue", HOST, Some("192.168.49.250".parse().unwrap()))
        .unwrap();
    let patch = json!({"spec": {"apiEndpoint": "https://192.168.49.2:8443"}});
    federation
        .control_plane()
        .patch("/apis/cluster.karmada.io/v1alpha1/clusters/blue", &patch)
        .unwrap();
    docker.connect("k3d-green", HOST, None).unwrap();
    assert!(federation.wait_ready("blue", SOON));
    assert!(federation.wait_ready("green", SOON));
}

#[test]
fn dials_from_the_node_on_which_it_runs() {
    let host = ClusterSpec {
        servers: 2,
        agents: 1,
        ..Spec::default().host
    };
    let federation = Federation::start(Spec {
        host,
        ..Spec::default()
    })
    .unwrap();
    federation.move_karmada_to("k3d-karmada-host-agent-0");
    repair(&federation);
    assert_eq!(
        proxy_refusal(&federation),
        (500, "dial tcp 172.20.0.3:6443: i/o timeout".to_owned())
    );
    federation
        .docker()
        .connect("k3d-cluster-a", "k3d-karmada-host-agent-0", None)
        .unwrap();
    assert!(federation.wait_ready("cluster-a", SOON));
    // The NodePort answers on every node behind the load balancer.
    federation.docker().stop(HOST).unwrap();
    assert_eq!(
        Kube::new(&federation.kubeconfig()).read("/readyz").unwrap(),
        "ok"
    );
    federation.control_plane().set_refusing(true);
    assert!(Kube::new(&federation.kubeconfig()).read("/readyz").is_err());
}

#[test]
fn keeps_the_secrets_of_the_report_that_has_a_kubeconfig_in_them() {
    let member = MemberSpec {
        secret_kubeconfig: Some("server: {SERVER}".to_owned()),
        ..MemberSpec::k3d("cluster-a")
    };
    let federation = Federation::start(Spec::with_members([member])).unwrap();
    let secret = federation
        .control_plane()
        .read("/api/v1/namespaces/karmada-cluster/secrets/cluster-a")
        .unwrap();
    assert!(
        secret["data"]["kubeconfig"]
            .as_str()
            .unwrap()
            .starts_with("c2VydmVyOiBodHRwczovLzAuMC4wLjA6"),
        "{secret}"
    );
    let token = secret["data"]["token"].as_str().unwrap().to_owned();
    assert!(federation.secrets().contains(&token));
}

#[test]
fn stops_with_its_container() {
    let federation = repaired();
    federation.docker().stop("k3d-cluster-a-server-0").unwrap();
    assert!(federation.wait_for(
        SOON,
        |federation| federation.readiness("cluster-a").unwrap()["status"] == "False"
    ));
    federation.docker().stop(HOST).unwrap();
    let unreachable = Kube::new(&federation.kubeconfig())
        .read("/readyz")
        .unwrap_err();
    assert!(!matches!(unreachable, kube::Error::Api(_)), "{unreachable}");
    federation.docker().start(HOST).unwrap();
    assert_eq!(
        Kube::new(&federation.kubeconfig()).read("/readyz").unwrap(),
        "ok"
    );
}
