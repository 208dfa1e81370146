//! The API server's rules.

use http::Method;
use karmada_lab::{Federation, Spec, User};
use serde_json::{Value, json};

use crate::clients::{CLUSTER_A, Kube, SOON, refusal};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const MAP: &str = "/api/v1/namespaces/default/configmaps/map";
const JSON_PATCH: &str = "application/json-patch+json";

fn with_map() -> (Federation, Kube) {
    let federation = Federation::start(Spec::default()).unwrap();
    let map = json!({"metadata": {"name": "map"}, "data": {"a": "1"}});
    federation.control_plane().create(MAPS, &map).unwrap();
    let kube = Kube::new(&federation.kubeconfig());
    (federation, kube)
}

fn parsed(text: Result<String, kube::Error>) -> Value {
    serde_json::from_str(&text.unwrap()).unwrap()
}

#[test]
fn a_failed_test_operation_rejects_the_whole_patch() {
    let (federation, kube) = with_map();
    let patch = json!([{"op": "replace", "path": "/data/a", "value": "2"}, {"op": "test", "path": "/data/a", "value": "1"}]);
    let refused = refusal(kube.send(Method::PATCH, MAP, JSON_PATCH, &patch));
    assert_eq!(
        refused,
        (
            422,
            "the server rejected our request due to an error in our request".to_owned()
        )
    );
    assert_eq!(
        federation.control_plane().read(MAP).unwrap()["data"]["a"],
        "1"
    );
}

#[test]
fn replacing_a_missing_key_adds_it() {
    let (_federation, kube) = with_map();
    let patch = json!([{"op": "replace", "path": "/data/b", "value": "2"}]);
    assert_eq!(
        parsed(kube.send(Method::PATCH, MAP, JSON_PATCH, &patch))["data"]["b"],
        "2"
    );
    let patch = json!([{"op": "remove", "path": "/data/c"}]);
    assert_eq!(
        refusal(kube.send(Method::PATCH, MAP, JSON_PATCH, &patch)).0,
        422
    );
}

#[test]
fn long_lists_come_in_pages() {
    let (federation, kube) = with_map();
    for name in ["a", "b", "z"] {
        let map = json!({"metadata": {"name": name}});
        federation.control_plane().create(MAPS, &map).unwrap();
    }
    let (mut names, mut next, mut pages) = (Vec::new(), String::new(), 0);
    loop {
        let list = parsed(kube.read(&format!("{MAPS}?limit=3&continue={next}")));
        for item in list["items"].as_array().unwrap() {
            names.push(item["metadata"]["name"].as_str().unwrap().to_owned());
        }
        pages += 1;
        match list["metadata"]["continue"].as_str() {
            Some(token) => token.clone_into(&mut next),
            None => break,
        }
    }
    let all = parsed(kube.read(MAPS))["items"].as_array().unwrap().len();
    assert_eq!((names.len(), pages), (all, all.div_ceil(3)));
    assert!(names.is_sorted());
    let refused = refusal(kube.read(&format!("{MAPS}?limit=3&continue=no-token")));
    assert_eq!(refused, (400, "continue key is not valid".to_owned()));
}

#[test]
fn an_old_resource_version_is_a_conflict() {
    let (federation, kube) = with_map();
    let old = federation.control_plane().read(MAP).unwrap();
    kube.merge(MAP, &json!({"data": {"a": "2"}})).unwrap();
    let (code, message) = refusal(kube.send(Method::PUT, MAP, "application/json", &old));
    assert_eq!(code, 409);
    assert!(
        message.starts_with(
            "Operation cannot be fulfilled on configmaps \"map\": the object has been modified"
        ),
        "{message}"
    );
}

#[test]
fn a_write_that_changes_nothing_keeps_the_resource_version() {
    let (federation, kube) = with_map();
    let before = federation.control_plane().read(MAP).unwrap();
    kube.merge(MAP, &json!({"data": {"a": "1"}})).unwrap();
    assert_eq!(federation.control_plane().read(MAP).unwrap(), before);
}

#[test]
fn a_dry_run_stores_nothing() {
    let (federation, kube) = with_map();
    let patched = parsed(kube.merge(&format!("{MAP}?dryRun=All"), &json!({"data": {"a": "2"}})));
    assert_eq!(patched["data"]["a"], "2");
    assert_eq!(
        federation.control_plane().read(MAP).unwrap()["data"]["a"],
        "1"
    );
    assert_eq!(federation.writes(), []);
}

#[test]
fn generation_counts_changes_of_the_spec_alone() {
    let (federation, _kube) = with_map();
    let generation = |federation: &Federation| {
        federation.control_plane().read(CLUSTER_A).unwrap()["metadata"]["generation"].as_u64()
    };
    let before = generation(&federation);
    federation
        .control_plane()
        .patch(CLUSTER_A, &json!({"metadata": {"labels": {"a": "b"}}}))
        .unwrap();
    assert_eq!(generation(&federation), before);
    federation
        .control_plane()
        .patch(CLUSTER_A, &json!({"spec": {"region": "here"}}))
        .unwrap();
    assert_eq!(
        generation(&federation),
        before.map(|generation| generation + 1)
    );
}

#[test]
fn apply_conflicts_unless_forced() {
    let (federation, kube) = with_map();
    let apply = |manager: &str, value: &str, force: bool| {
        let path = format!("{MAP}?fieldManager={manager}&force={force}");
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "map"}, "data": {"a": value}});
        kube.send(
            Method::PATCH,
            &path,
            "application/apply-patch+yaml",
            &object,
        )
    };
    let message = "Apply failed with 1 conflict: conflict with \"lab\" using v1: .data.a";
    assert_eq!(refusal(apply("one", "2", false)), (409, message.to_owned()));
    apply("one", "2", true).unwrap();
    apply("two", "2", false).unwrap();
    let message = "Apply failed with 1 conflict: conflict with \"one\": .data.a";
    assert_eq!(refusal(apply("two", "3", false)), (409, message.to_owned()));
    assert_eq!(
        federation.control_plane().read(MAP).unwrap()["data"]["a"],
        "2"
    );
}

#[test]
fn what_an_applier_no_longer_names_is_removed() {
    let (federation, kube) = with_map();
    let apply = |data: Value| {
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "new"}, "data": data});
        kube.send(
            Method::PATCH,
            &format!("{MAPS}/new?fieldManager=one"),
            "application/apply-patch+yaml",
            &object,
        )
        .unwrap()
    };
    apply(json!({"a": "1", "b": "2"}));
    apply(json!({"a": "1"}));
    assert_eq!(
        federation
            .control_plane()
            .read(&format!("{MAPS}/new"))
            .unwrap()["data"],
        json!({"a": "1"})
    );
}

#[test]
fn rules_grant_by_verb_name_and_subresource() {
    let (federation, _kube) = with_map();
    let control_plane = federation.control_plane();
    let rbac = "/apis/rbac.authorization.k8s.io/v1";
    let rules = json!([
        {"apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["map"], "verbs": ["get"]},
        {"apiGroups": ["cluster.karmada.io"], "resources": ["clusters/status"], "verbs": ["patch"]},
    ]);
    let role = json!({"metadata": {"name": "some"}, "rules": rules});
    control_plane
        .create(&format!("{rbac}/clusterroles"), &role)
        .unwrap();
    let binding = json!({
        "metadata": {"name": "some"}, "roleRef": {"kind": "ClusterRole", "name": "some"},
        "subjects": [{"kind": "Group", "name": "readers"}],
    });
    control_plane
        .create(&format!("{rbac}/namespaces/default/rolebindings"), &binding)
        .unwrap();
    let kube = Kube::new(
        &control_plane
            .kubeconfig_for(User::new("bob", &["readers"]))
            .unwrap(),
    );
    assert!(kube.read(MAP).is_ok());
    let (code, message) = refusal(kube.read(MAPS));
    assert_eq!(code, 403);
    assert_eq!(
        message,
        "configmaps is forbidden: User \"bob\" cannot list resource \"configmaps\" in API group \"\" in the namespace \"default\""
    );
    let (_, message) = refusal(kube.merge(MAP, &json!({"data": {"a": "2"}})));
    assert_eq!(
        message,
        "configmaps \"map\" is forbidden: User \"bob\" cannot patch resource \"configmaps\" in API group \"\" in the namespace \"default\""
    );
    // A role binding grants nothing at cluster scope.
    let (_, message) = refusal(kube.merge(&format!("{CLUSTER_A}/status"), &json!({"status": {}})));
    assert!(message.contains("cannot patch resource \"clusters/status\" in API group \"cluster.karmada.io\" at the cluster scope"), "{message}");
}

#[test]
fn knows_who_asks() {
    let (federation, kube) = with_map();
    let review = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"});
    let path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
    let answer = parsed(kube.send(Method::POST, path, "application/json", &review));
    assert_eq!(
        answer["status"]["userInfo"],
        json!({"username": "system:admin", "groups": ["system:masters", "system:authenticated"]})
    );
    let last = federation.requests().pop().unwrap();
    assert_eq!(
        (last.user.as_deref(), last.path.as_str(), last.status),
        (Some("system:admin"), path, Some(201))
    );
    assert_eq!(federation.writes(), []);
}

#[test]
fn validates_endpoints_as_karmada_does() {
    let (_federation, kube) = with_map();
    for (endpoint, part) in [
        (
            "172.20.0.3:6443",
            "first path segment in URL cannot contain colon",
        ),
        ("https://", "host must be provided"),
        ("https://u@172.20.0.3", "user information is not permitted"),
        (
            "https://172.20.0.3?a=b",
            "query parameters are not permitted",
        ),
        ("https://172.20.0.3#a", "fragments are not permitted"),
    ] {
        let (code, message) =
            refusal(kube.merge(CLUSTER_A, &json!({"spec": {"apiEndpoint": endpoint}})));
        assert_eq!(code, 422, "{endpoint}");
        assert!(
            message.contains("spec.apiEndpoint: Invalid value") && message.contains(part),
            "{message}"
        );
    }
    assert!(
        kube.merge(
            CLUSTER_A,
            &json!({"spec": {"apiEndpoint": "https://[fd00::1]:6443/prefix"}})
        )
        .is_ok()
    );
}

#[test]
fn deleting_a_cluster_takes_its_secrets_along() {
    let (federation, _kube) = with_map();
    let control_plane = federation.control_plane();
    let secret = "/api/v1/namespaces/karmada-cluster/secrets/cluster-a";
    assert!(control_plane.read(secret).is_ok());
    control_plane.delete(CLUSTER_A).unwrap();
    assert!(!control_plane.read(CLUSTER_A).unwrap()["metadata"]["deletionTimestamp"].is_null());
    control_plane
        .patch(CLUSTER_A, &json!({"metadata": {"finalizers": null}}))
        .unwrap();
    assert_eq!(control_plane.read(CLUSTER_A).unwrap_err().code, 404);
    assert_eq!(control_plane.read(secret).unwrap_err().code, 404);
    assert!(federation.wait_for(SOON, |federation| {
        federation.readiness("cluster-a").is_none()
    }));
}
