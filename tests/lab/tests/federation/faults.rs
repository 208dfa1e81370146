//! Faults on demand.

use std::time::{Duration, Instant};

use karmada_lab::{Effect, Fault, Federation, Spec};
use serde_json::json;

use crate::clients::{CLUSTER_A, Kube, refusal};

fn faulty(effect: Effect) -> (Federation, Kube) {
    let federation = Federation::start(Spec::default()).unwrap();
    federation.inject(Fault::on("clusters/cluster-a", effect));
    let kube = Kube::new(&federation.kubeconfig());
    (federation, kube)
}

#[test]
fn answers_what_it_was_told() {
    let (federation, kube) = faulty(Effect::Status(503));
    assert_eq!(refusal(kube.read(CLUSTER_A)).0, 503);
    assert!(
        kube.read("/apis/cluster.karmada.io/v1alpha1/clusters/cluster-b")
            .is_ok()
    );
    federation.heal();
    assert!(kube.read(CLUSTER_A).is_ok());
}

#[test]
fn strikes_by_turn_method_and_server() {
    let federation = Federation::start(Spec::default()).unwrap();
    federation.inject(
        Fault::on("clusters", Effect::RetryAfter(429, 1))
            .method("GET")
            .after(1)
            .times(1)
            .at("karmada-apiserver"),
    );
    let kube = Kube::new(&federation.kubeconfig());
    let codes: Vec<bool> = (0..3).map(|_| kube.read(CLUSTER_A).is_ok()).collect();
    assert_eq!(codes, [true, false, true]);
    federation.inject(Fault::on("clusters", Effect::Status(500)).at("k3d-cluster-a"));
    assert!(kube.read(CLUSTER_A).is_ok());
}

#[test]
fn a_broken_connection_tells_nothing_of_what_was_done() {
    let patch = json!({"spec": {"region": "here"}});
    for (effect, done) in [(Effect::ResetBefore, false), (Effect::ResetAfter, true)] {
        let (federation, kube) = faulty(effect);
        let broken = kube.merge(CLUSTER_A, &patch).unwrap_err();
        assert!(!matches!(broken, kube::Error::Api(_)), "{broken}");
        assert_eq!(
            federation.control_plane().read(CLUSTER_A).unwrap()["spec"]["region"] == "here",
            done
        );
        assert_eq!(federation.writes().len(), 1);
    }
}

#[test]
fn spoils_answers() {
    for effect in [Effect::Truncated, Effect::MalformedJson] {
        let (_federation, kube) = faulty(effect);
        let spoilt = kube
            .read(CLUSTER_A)
            .map(|text| serde_json::from_str::<serde_json::Value>(&text).is_ok());
        assert!(!matches!(spoilt, Ok(true)), "{spoilt:?}");
    }
    let (_federation, kube) = faulty(Effect::Slow(Duration::from_millis(300)));
    let before = Instant::now();
    kube.read(CLUSTER_A).unwrap();
    assert!(before.elapsed() >= Duration::from_millis(300));
}

#[test]
fn reaches_docker_too() {
    let federation = Federation::start(Spec::default()).unwrap();
    federation.inject(Fault::on("/containers/json", Effect::Status(500)).at("docker"));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let listed = runtime.block_on(async {
        bollard::Docker::connect_with_host(&federation.docker_host())
            .unwrap()
            .list_containers(None)
            .await
    });
    assert!(
        listed
            .unwrap_err()
            .to_string()
            .contains("the daemon was told to fail")
    );
}
