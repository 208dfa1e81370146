//! Who passes to members: roles of the control plane, what Karmada makes of them, and what hands in members do to it.

use karmada_lab::{Federation, ImpersonationWording, Spec, User, Works};
use serde_json::{Value, json};

use crate::clients::{CLUSTER_A, Kube, SOON, refusal, repair, repaired};

const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";
const ROLE: &str = "/apis/rbac.authorization.k8s.io/v1/clusterroles/karmada-impersonator";
const ROLE_WORK: &str = "/apis/work.karmada.io/v1alpha1/namespaces/karmada-es-cluster-a/works/karmada-impersonator-7cbb6bd5c9";

fn bind(federation: &Federation, name: &str, verb: &str, subject: &Value) {
    let control_plane = federation.control_plane();
    let rule = json!({"apiGroups": ["cluster.karmada.io"], "resources": ["clusters/proxy"], "verbs": [verb]});
    let role = json!({"metadata": {"name": name}, "rules": [rule]});
    control_plane
        .create(&format!("{RBAC}/clusterroles"), &role)
        .unwrap();
    let binding = json!({
        "metadata": {"name": name}, "roleRef": {"kind": "ClusterRole", "name": name}, "subjects": [subject],
    });
    control_plane
        .create(&format!("{RBAC}/clusterrolebindings"), &binding)
        .unwrap();
}

fn user(name: &str) -> Value {
    json!({"kind": "User", "name": name})
}

/// Whether the member's role accepts the name.
fn accepts(federation: &Federation, name: &str) -> bool {
    let role = federation.member("cluster-a").read(ROLE);
    role.is_ok_and(|role| role["rules"].to_string().contains(&format!("\"{name}\"")))
}

#[test]
fn a_group_bound_with_a_verb_of_no_request_is_accepted_and_let_in_nowhere() {
    let federation = repaired();
    bind(&federation, "jane", "get", &user("jane"));
    bind(
        &federation,
        "jane-groups",
        "impersonation-only",
        &json!({"kind": "Group", "name": "devs"}),
    );
    assert!(federation.wait_for(SOON, |federation| accepts(federation, "devs")));
    let read = |name: &str, groups: &[&str]| {
        let user = User::new(name, groups);
        let kubeconfig = federation.control_plane().kubeconfig_for(user).unwrap();
        Kube::new(&kubeconfig).read(&format!("{CLUSTER_A}/proxy/api"))
    };
    assert!(read("jane", &["devs"]).is_ok());
    let (code, said) = refusal(read("bob", &["devs"]));
    assert_eq!(code, 403);
    assert!(
        said.contains("User \"bob\" cannot get resource \"clusters/proxy\""),
        "{said}"
    );
    let (code, said) = refusal(read("jane", &["others"]));
    assert_eq!(code, 403);
    assert!(said.starts_with("groups \"others\" is forbidden"), "{said}");
}

#[test]
fn a_role_without_its_label_is_frozen_until_it_has_it_again() {
    let federation = repaired();
    assert!(federation.wait_for(SOON, |federation| accepts(federation, "system:admin")));
    let member = federation.member("cluster-a");
    let label = |value: Value| json!({"metadata": {"labels": {"karmada.io/managed": value}}});
    member.patch(ROLE, &label(Value::Null)).unwrap();
    bind(&federation, "jane", "get", &user("jane"));
    let failed = |federation: &Federation| {
        let work = federation.control_plane().read(ROLE_WORK).unwrap();
        work["status"]["conditions"]
            .to_string()
            .contains("Karmada will not manage this resource")
    };
    assert!(federation.wait_for(SOON, failed));
    assert!(!accepts(&federation, "jane"));
    member.patch(ROLE, &label(json!("true"))).unwrap();
    assert!(federation.wait_for(SOON, |federation| accepts(federation, "jane")));
}

#[test]
fn a_cluster_that_names_its_secret_later_waits_for_the_next_role() {
    let federation = repaired();
    let control_plane = federation.control_plane();
    let reference = |value: Value| json!({"spec": {"impersonatorSecretRef": value}});
    control_plane
        .patch(CLUSTER_A, &reference(Value::Null))
        .unwrap();
    bind(&federation, "jane", "get", &user("jane"));
    let accepted_elsewhere = |federation: &Federation| {
        let path = ROLE_WORK.replace("cluster-a", "cluster-b");
        let work = federation.control_plane().read(&path).unwrap();
        work["spec"].to_string().contains("\"jane\"")
    };
    assert!(federation.wait_for(SOON, accepted_elsewhere));
    let named = json!({"namespace": "karmada-cluster", "name": "cluster-a-impersonator"});
    control_plane.patch(CLUSTER_A, &reference(named)).unwrap();
    assert!(!accepts(&federation, "jane"));
    bind(&federation, "bob", "get", &user("bob"));
    assert!(federation.wait_for(SOON, |federation| accepts(federation, "bob")));
    assert!(accepts(&federation, "jane"));
}

#[test]
fn kubernetes_1_36_words_refusals_of_resources_and_paths_alike() {
    let federation = Federation::start(Spec {
        wording: ImpersonationWording::Constrained,
        works: Works::Asleep,
        ..Spec::default()
    })
    .unwrap();
    repair(&federation);
    let read = |path: &str| {
        refusal(Kube::new(&federation.kubeconfig()).read(&format!("{CLUSTER_A}/proxy{path}"))).1
    };
    let who = "User \"system:serviceaccount:karmada-cluster:karmada-impersonator\"";
    assert_eq!(
        read("/api"),
        format!("forbidden: {who} cannot impersonate-on:user-info:get path \"/api\"")
    );
    assert_eq!(
        read("/api/v1/pods"),
        format!(
            "pods is forbidden: {who} cannot impersonate-on:user-info:list resource \"pods\" in API group \"\" at the cluster scope"
        )
    );
}

#[test]
fn nobody_grants_more_than_he_holds() {
    let federation = Federation::start(Spec::default()).unwrap();
    let control_plane = federation.control_plane();
    let writer = json!({
        "metadata": {"name": "writer"},
        "rules": [{"apiGroups": ["rbac.authorization.k8s.io"], "resources": ["clusterroles", "clusterrolebindings"], "verbs": ["create", "get", "patch"]}],
    });
    control_plane
        .create(&format!("{RBAC}/clusterroles"), &writer)
        .unwrap();
    let binding = json!({
        "metadata": {"name": "writer"}, "roleRef": {"kind": "ClusterRole", "name": "writer"}, "subjects": [user("jane")],
    });
    control_plane
        .create(&format!("{RBAC}/clusterrolebindings"), &binding)
        .unwrap();
    let kubeconfig = control_plane
        .kubeconfig_for(User::new("jane", &[]))
        .unwrap();
    let jane = Kube::new(&kubeconfig);
    let role = |names: &[&str]| {
        json!({"metadata": {"name": "proxy"}, "rules": [
            {"apiGroups": ["cluster.karmada.io"], "resources": ["clusters/proxy"], "resourceNames": names, "verbs": ["get"]},
        ]})
    };
    let (code, said) = refusal(jane.create(&format!("{RBAC}/clusterroles"), &role(&["cluster-a"])));
    assert_eq!(code, 403);
    assert!(
        said.contains("is attempting to grant RBAC permissions not currently held"),
        "{said}"
    );
    bind(&federation, "held", "get", &user("jane"));
    jane.create(&format!("{RBAC}/clusterroles"), &role(&["cluster-a"]))
        .unwrap();
    let all = json!({"metadata": {"name": "all"}, "roleRef": {"kind": "ClusterRole", "name": "cluster-admin"}, "subjects": [user("jane")]});
    let (code, _) = refusal(jane.create(&format!("{RBAC}/clusterrolebindings"), &all));
    assert_eq!(code, 403);
}
