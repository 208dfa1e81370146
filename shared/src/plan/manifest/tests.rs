#![allow(clippy::unwrap_used)]

use super::*;

#[test]
fn an_object_contains_a_manifest_whatever_a_server_adds() {
    let object = json!({
        "kind": "Secret",
        "metadata": {"name": "s", "uid": "u", "labels": {"a": "b"}},
        "data": {"k": "dg=="},
        "rules": [{"verbs": ["get"], "added": 1}, {"verbs": ["list"]}]
    });
    let (whole, merged) = (Lists::Whole, Lists::Merged);
    let table = [
        (json!({"metadata": {"name": "s"}}), whole, true),
        (json!({"metadata": {"name": "t"}}), whole, false),
        (
            json!({"kind": "Secret", "stringData": {"k": "v"}}),
            whole,
            true,
        ),
        (
            json!({"kind": "Secret", "stringData": {"k": "w"}}),
            whole,
            false,
        ),
        (
            json!({"metadata": {"annotations": {}}, "x": null, "y": []}),
            whole,
            true,
        ),
        (
            json!({"rules": [{"verbs": ["get"]}, {"verbs": ["list"]}]}),
            whole,
            true,
        ),
        (
            json!({"rules": [{"verbs": ["list"]}, {"verbs": ["get"]}]}),
            whole,
            false,
        ),
        (json!({"rules": [{"verbs": ["list"]}]}), whole, false),
        (json!({"rules": [{"verbs": ["list"]}]}), merged, true),
        (json!({"rules": [{"verbs": ["watch"]}]}), merged, false),
    ];
    for (manifest, lists, expected) in table {
        assert_eq!(contains(&object, &manifest, lists), expected, "{manifest}");
    }
}

#[test]
fn what_a_manager_applied_is_read_from_the_managed_fields() {
    let object = json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": "s",
            "namespace": "n",
            "uid": "u",
            "labels": {"mine": "1", "other": "2"},
            "finalizers": ["x/mine", "x/other"],
            "managedFields": [
                {"manager": "m", "operation": "Update", "fieldsV1": {"f:spec": {"f:type": {}}}},
                {"manager": "other", "operation": "Apply", "fieldsV1": {"f:spec": {"f:type": {}}}},
                {"manager": "m", "operation": "Apply", "fieldsV1": {
                    "f:metadata": {
                        "f:labels": {".": {}, "f:mine": {}, "f:gone": {}},
                        "f:finalizers": {"v:\"x/mine\"": {}}
                    },
                    "f:spec": {"f:ports": {"k:{\"port\":80,\"protocol\":\"TCP\"}": {".": {}, "f:name": {}}}}
                }}
            ]
        },
        "spec": {
            "type": "ClusterIP",
            "ports": [
                {"port": 443, "protocol": "TCP", "name": "https"},
                {"port": 80, "protocol": "TCP", "name": "http", "targetPort": 80}
            ]
        }
    });
    let applied = Applied::of(&object, "m").unwrap();
    assert_eq!(applied.uid, "u");
    assert_eq!(
        applied.manifest,
        json!({
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {
                "name": "s",
                "namespace": "n",
                "labels": {"mine": "1"},
                "finalizers": ["x/mine"]
            },
            "spec": {"ports": [{"port": 80, "protocol": "TCP", "name": "http"}]}
        })
    );
    let nothing = Applied::of(&object, "nobody").unwrap();
    assert_eq!(
        nothing.manifest,
        json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s", "namespace": "n"}})
    );
    assert_eq!(Applied::of(&json!({"metadata": {}}), "m"), None);
    assert_eq!(format!("{applied:?}"), "Applied { uid: \"u\", .. }");
}

#[test]
fn an_object_is_created_again_without_what_only_a_server_sets() {
    let object = json!({
        "kind": "ConfigMap",
        "metadata": {"name": "c", "uid": "u", "resourceVersion": "1", "labels": {"a": "b"}, "managedFields": []},
        "data": {"k": "v"},
        "status": {}
    });
    assert_eq!(
        recreated(&object),
        Some(
            json!({"kind": "ConfigMap", "metadata": {"name": "c", "labels": {"a": "b"}}, "data": {"k": "v"}})
        )
    );
    assert_eq!(recreated(&Value::Null), None);
}
