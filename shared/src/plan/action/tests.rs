#![allow(clippy::unwrap_used)]

use super::*;
use crate::cluster::object::Kind;
use crate::plan::{Entry, joined, on_object, set_data, set_label};

fn commands() -> Commands {
    Commands {
        kubectl: "kubectl --context karmada".to_owned(),
        host: "kubectl --context host".to_owned(),
        docker: "docker".to_owned(),
        members: [("b".to_owned(), "kubectl --context b".to_owned())].into(),
        control_plane: "https://karmada:5443".to_owned(),
        field_manager: "kubectl-karmada-test".to_owned(),
    }
}

fn member(name: &str) -> Server {
    Server::Member(name.to_owned())
}

fn role() -> Value {
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "r", "labels": {"a": "b"}},
        "rules": [{"verbs": ["get"]}]
    })
}

fn secret() -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": "s",
            "namespace": "n",
            "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "c2VjcmV0"}
        },
        "data": {"key": "c2VjcmV0", "empty": ""},
        "stringData": {"other": "c2VjcmV0"}
    })
}

fn created(server: Server, manifest: Value) -> Action {
    Action::CreateObject {
        server,
        object: ObjectReference::of_manifest(&manifest).unwrap(),
        manifest,
    }
}

#[test]
fn each_action_has_a_sentence_and_a_command() {
    let deployment = ObjectReference::namespaced(Kind::Deployment, "n", "d");
    let set = ObjectReference::namespaced(Kind::StatefulSet, "n", "s");
    let role_object = ObjectReference::cluster_scoped(Kind::ClusterRole, "r");
    let (patch, inverse) = joined(on_object("u"), set_label("x/y", Entry::Is("1"), None));
    let table = [
        (
            created(Server::ControlPlane, role()),
            "create clusterrole/r",
            format!(
                "printf %s '{}' | kubectl --context karmada create -f -",
                role()
            ),
        ),
        (
            created(member("a"), secret()),
            "create secret/n/s in a",
            "kubectl --context karmada --server https://karmada:5443/apis/cluster.karmada.io/v1alpha1/clusters/a/proxy \
             -n n create -f FILE"
                .to_owned(),
        ),
        (
            Action::ApplyObject {
                server: member("b"),
                object: role_object.clone(),
                manifest: role(),
                before: None,
            },
            "apply clusterrole/r in b: rules, labels",
            format!(
                "printf %s '{}' | kubectl --context b apply --server-side --field-manager=kubectl-karmada-test -f -",
                role()
            ),
        ),
        (
            Action::DeleteObject {
                server: Server::Host,
                object: role_object.clone(),
                uid: "u".to_owned(),
                resource_version: None,
            },
            "delete clusterrole/r",
            "kubectl --context host delete clusterroles.rbac.authorization.k8s.io r".to_owned(),
        ),
        (
            Action::PatchObject {
                server: member("b"),
                object: role_object,
                patch: patch.clone(),
                inverse,
            },
            "patch clusterrole/r in b: remove metadata.labels.x~1y",
            format!(
                "kubectl --context b patch clusterroles.rbac.authorization.k8s.io r --type=json -p '{}'",
                serde_json::to_string(&patch).unwrap()
            ),
        ),
        (
            Action::Restart {
                server: member("b"),
                object: set,
                uid: "u".to_owned(),
            },
            "restart statefulset/n/s in b and wait for its roll-out",
            "kubectl --context b -n n rollout restart statefulset s && kubectl --context b -n n rollout status \
             statefulset s"
                .to_owned(),
        ),
        (
            Action::Exec(PodCommand {
                server: Server::Host,
                object: deployment,
                uid: "u".to_owned(),
                container: Some("c".to_owned()),
                argv: vec!["airflow".to_owned(), "rotate fernet key".to_owned()],
                timeout_seconds: 60,
            }),
            "run airflow 'rotate fernet key' in deployment/n/d",
            "kubectl --context host -n n exec deployment/d -c c -- airflow 'rotate fernet key'".to_owned(),
        ),
    ];
    for (action, sentence, command) in table {
        assert_eq!(action.sentence(), sentence);
        assert_eq!(action.command(&commands()), command);
    }
}

#[test]
fn values_of_secrets_are_shown_nowhere() {
    let work = json!({
        "apiVersion": "work.karmada.io/v1alpha1",
        "kind": "Work",
        "metadata": {"name": "w", "namespace": "karmada-es-a"},
        "spec": {"workload": {"manifests": [secret()]}}
    });
    let of_secret = ObjectReference::secret("n", "s");
    let of_work = ObjectReference::namespaced(Kind::Work, "karmada-es-a", "w");
    let patched = |object: &ObjectReference, path: &str, value: Value| Action::PatchObject {
        server: Server::ControlPlane,
        object: object.clone(),
        patch: serde_json::from_value(json!([{"op": "add", "path": path, "value": value}]))
            .unwrap(),
        inverse: Patch::default(),
    };
    let actions = [
        created(Server::ControlPlane, secret()),
        created(Server::ControlPlane, work.clone()),
        Action::ApplyObject {
            server: Server::ControlPlane,
            object: of_secret.clone(),
            manifest: secret(),
            before: Some(Applied {
                uid: "u".to_owned(),
                manifest: secret(),
            }),
        },
        patched(&of_secret, "/data/key", json!("c2VjcmV0")),
        patched(&of_secret, "/metadata", secret()["metadata"].clone()),
        patched(
            &of_secret,
            "/metadata/annotations",
            secret()["metadata"]["annotations"].clone(),
        ),
        patched(&of_work, "/spec/workload/manifests/0", secret()),
        patched(&of_work, "/spec/workload/manifests", json!([secret()])),
        patched(
            &of_work,
            "/spec/workload/manifests/0/data/key",
            json!("c2VjcmV0"),
        ),
        patched(
            &of_work,
            "/spec/workload/manifests/0/stringData",
            json!({"key": "c2VjcmV0"}),
        ),
    ];
    for action in actions {
        let shown = format!(
            "{} {} {} {action:?}",
            action.masked(),
            action.sentence(),
            action.command(&commands())
        );
        assert!(!shown.contains("c2VjcmV0"), "{shown}");
        assert!(shown.contains("FILE"), "{shown}");
        let kept = serde_json::to_value(&action).unwrap();
        assert!(kept.to_string().contains("c2VjcmV0"), "{kept}");
        assert_eq!(serde_json::from_value::<Action>(kept).unwrap(), action);
    }
}

#[test]
fn labels_of_a_secret_are_no_secret() {
    let (patch, inverse) = joined(on_object("u"), set_label("app", Entry::NoMap, Some("x")));
    let action = Action::PatchObject {
        server: Server::ControlPlane,
        object: ObjectReference::secret("n", "s"),
        patch,
        inverse,
    };
    assert_eq!(
        action.sentence(),
        r#"patch secret/n/s: set metadata.labels to {"app":"x"}"#
    );
    let (patch, inverse) = set_data("k", Entry::Missing, "dg==");
    let action = Action::PatchObject {
        server: Server::ControlPlane,
        object: ObjectReference::secret("n", "s"),
        patch,
        inverse,
    };
    assert_eq!(action.sentence(), "patch secret/n/s: set data.k to ***");
}

#[test]
fn an_action_is_taken_back_by_its_opposite() {
    let now = json!({"metadata": {"uid": "u", "resourceVersion": "7"}});
    let create = created(member("a"), role());
    let object = ObjectReference::cluster_scoped(Kind::ClusterRole, "r");
    let delete = Action::DeleteObject {
        server: member("a"),
        object: object.clone(),
        uid: "u".to_owned(),
        resource_version: Some("7".to_owned()),
    };
    assert_eq!(create.inverse(&Value::Null, &now), Some(delete.clone()));
    assert_eq!(create.inverse(&Value::Null, &Value::Null), None);
    let mut before = role();
    before["metadata"]["uid"] = json!("u");
    before["metadata"]["managedFields"] = json!([]);
    before["status"] = json!({});
    assert_eq!(delete.inverse(&before, &Value::Null), Some(create));
    let applied = |manifest: Value, before: Option<Value>| Action::ApplyObject {
        server: member("a"),
        object: object.clone(),
        manifest,
        before: before.map(|manifest| Applied {
            uid: "u".to_owned(),
            manifest,
        }),
    };
    assert_eq!(
        applied(role(), None).inverse(&Value::Null, &now),
        Some(delete)
    );
    assert_eq!(
        applied(role(), Some(json!({"a": 1}))).inverse(&before, &now),
        Some(applied(json!({"a": 1}), Some(role())))
    );
}
