//! The objects that every API server makes for itself when it starts. Data.

use serde_json::{Value, json};

use super::kinds;
use super::registry::{Options, Registry};

/// Creates the namespaces and RBAC that every cluster begins with.
pub(crate) fn seed(registry: &Registry) {
    let options = Options {
        manager: "kube-apiserver".to_owned(),
        ..Options::default()
    };
    for name in ["default", "kube-node-lease", "kube-public", "kube-system"] {
        let namespace =
            json!({"metadata": {"name": name, "labels": {"kubernetes.io/metadata.name": name}}});
        create(registry, "", "namespaces", namespace, &options);
    }
    for (name, rules) in roles() {
        let labels = json!({"kubernetes.io/bootstrapping": "rbac-defaults"});
        create(
            registry,
            RBAC,
            "clusterroles",
            json!({"metadata": {"name": name, "labels": labels}, "rules": rules}),
            &options,
        );
    }
    for (name, role, subjects) in bindings() {
        let labels = json!({"kubernetes.io/bootstrapping": "rbac-defaults"});
        let reference = json!({"apiGroup": RBAC, "kind": "ClusterRole", "name": role});
        let binding = json!({"metadata": {"name": name, "labels": labels}, "roleRef": reference, "subjects": subjects});
        create(registry, RBAC, "clusterrolebindings", binding, &options);
    }
}

fn create(registry: &Registry, group: &str, resource: &str, object: Value, options: &Options) {
    let created = registry.create(kinds::known(group, resource), "", object, options);
    created.expect("bootstrap objects are valid and made once");
}

const RBAC: &str = "rbac.authorization.k8s.io";

fn roles() -> Vec<(&'static str, Value)> {
    let everything = json!([
        {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]},
        {"nonResourceURLs": ["*"], "verbs": ["*"]},
    ]);
    let reviews = json!([
        {"apiGroups": ["authentication.k8s.io"], "resources": ["selfsubjectreviews"], "verbs": ["create"]},
        {"apiGroups": ["authorization.k8s.io"], "resources": ["selfsubjectaccessreviews", "selfsubjectrulesreviews"], "verbs": ["create"]},
    ]);
    let public = json!(["/healthz", "/livez", "/readyz", "/version", "/version/"]);
    let discovery = json!([
        "/api",
        "/api/*",
        "/apis",
        "/apis/*",
        "/healthz",
        "/livez",
        "/openapi",
        "/openapi/*",
        "/readyz",
        "/version",
        "/version/"
    ]);
    let of_users = |verbs: Value| {
        json!([
            {"apiGroups": [""], "resources": ["configmaps", "pods", "pods/log", "services"], "verbs": verbs},
            {"apiGroups": ["apps"], "resources": ["daemonsets", "deployments", "statefulsets"], "verbs": verbs},
        ])
    };
    let read = json!(["get", "list", "watch"]);
    let write = json!([
        "create",
        "delete",
        "deletecollection",
        "get",
        "list",
        "patch",
        "update",
        "watch"
    ]);
    vec![
        ("cluster-admin", everything),
        ("edit", of_users(write)),
        ("view", of_users(read)),
        ("system:basic-user", reviews),
        (
            "system:discovery",
            json!([{"nonResourceURLs": discovery, "verbs": ["get"]}]),
        ),
        (
            "system:public-info-viewer",
            json!([{"nonResourceURLs": public, "verbs": ["get"]}]),
        ),
        (
            "system:kube-controller-manager",
            json!([{"apiGroups": ["*"], "resources": ["*"], "verbs": ["list", "watch"]}]),
        ),
        (
            "system:controller:generic-garbage-collector",
            json!([{"apiGroups": ["*"], "resources": ["*"], "verbs": ["delete", "get", "list", "patch", "update", "watch"]}]),
        ),
        (
            "system:controller:namespace-controller",
            json!([{"apiGroups": ["*"], "resources": ["*"], "verbs": ["delete", "deletecollection", "get", "list"]}]),
        ),
        (
            "system:controller:resourcequota-controller",
            json!([{"apiGroups": ["*"], "resources": ["*"], "verbs": ["list", "watch"]}]),
        ),
    ]
}

fn bindings() -> Vec<(&'static str, &'static str, Value)> {
    let group = |name: &str| json!({"apiGroup": RBAC, "kind": "Group", "name": name});
    let user = |name: &str| json!({"apiGroup": RBAC, "kind": "User", "name": name});
    let account =
        |name: &str| json!({"kind": "ServiceAccount", "name": name, "namespace": "kube-system"});
    let everybody = json!([
        group("system:authenticated"),
        group("system:unauthenticated")
    ]);
    vec![
        (
            "cluster-admin",
            "cluster-admin",
            json!([group("system:masters")]),
        ),
        (
            "system:basic-user",
            "system:basic-user",
            json!([group("system:authenticated")]),
        ),
        (
            "system:discovery",
            "system:discovery",
            json!([group("system:authenticated")]),
        ),
        (
            "system:public-info-viewer",
            "system:public-info-viewer",
            everybody,
        ),
        (
            "system:kube-controller-manager",
            "system:kube-controller-manager",
            json!([user("system:kube-controller-manager")]),
        ),
        (
            "system:controller:generic-garbage-collector",
            "system:controller:generic-garbage-collector",
            json!([account("generic-garbage-collector")]),
        ),
        (
            "system:controller:namespace-controller",
            "system:controller:namespace-controller",
            json!([account("namespace-controller")]),
        ),
        (
            "system:controller:resourcequota-controller",
            "system:controller:resourcequota-controller",
            json!([account("resourcequota-controller")]),
        ),
    ]
}
