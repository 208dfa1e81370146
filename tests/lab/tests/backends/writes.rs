//! What an API server of every backend makes of the writes of repairs.

use std::io::Write;
use std::process::Stdio;

use karmada_lab::{Lab, Spec};
use serde_json::{Value, json};

use crate::Scenario;

pub(crate) const SCENARIOS: &[Scenario] = &[
    (
        "takes_a_missing_value_for_null_in_the_tests_of_a_patch",
        Spec::default,
        takes_a_missing_value_for_null_in_the_tests_of_a_patch,
    ),
    (
        "reads_the_options_of_a_deletion_from_its_body",
        Spec::default,
        reads_the_options_of_a_deletion_from_its_body,
    ),
    (
        "applies_to_the_object_of_the_uid_alone",
        Spec::default,
        applies_to_the_object_of_the_uid_alone,
    ),
    (
        "gives_new_pods_to_a_restarted_workload",
        Spec::default,
        gives_new_pods_to_a_restarted_workload,
    ),
];

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const MAP: &str = "/api/v1/namespaces/default/configmaps/map";

fn with_map(lab: &dyn Lab) {
    let map = json!({"metadata": {"name": "map"}, "data": {"a": "1"}});
    lab.member("cluster-a").create(MAPS, &map).unwrap();
}

/// What kubectl says to these words about cluster-a, with this on its standard input.
fn kubectl(lab: &dyn Lab, arguments: &[&str], input: &Value) -> String {
    let mut child = lab
        .command("kubectl")
        .args(["--context", "k3d-cluster-a"])
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(input.to_string().as_bytes()).unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    String::from_utf8([output.stdout, output.stderr].concat()).unwrap()
}

fn takes_a_missing_value_for_null_in_the_tests_of_a_patch(lab: &dyn Lab) {
    with_map(lab);
    let member = lab.member("cluster-a");
    let set = |map: &str, value: Value| json!([{"op": "test", "path": map, "value": null}, {"op": "add", "path": map, "value": value}]);
    for (path, value) in [
        ("/data/b", json!("2")),
        ("/metadata/labels", json!({"x": "y"})),
    ] {
        let patch = set(path, value.clone());
        let patched = member.json_patch(MAP, &patch).unwrap();
        assert_eq!(patched.pointer(path), Some(&value));
        assert_eq!(member.json_patch(MAP, &patch).unwrap_err().code, 422);
    }
}

fn reads_the_options_of_a_deletion_from_its_body(lab: &dyn Lab) {
    with_map(lab);
    let member = lab.member("cluster-a");
    let mut options = json!({"apiVersion": "v1", "kind": "DeleteOptions", "dryRun": ["All"]});
    let raw =
        |path: &str, options: &Value| kubectl(lab, &["delete", "--raw", path, "-f", "-"], options);
    let said = raw(MAP, &options);
    assert!(member.read(MAP).is_ok(), "{said}");
    options["dryRun"] = Value::Null;
    options["preconditions"] = json!({"uid": "another"});
    let said = raw(MAP, &options);
    assert!(
        said.contains("precondition") && member.read(MAP).is_ok(),
        "{said}"
    );
    options["preconditions"] = Value::Null;
    let said = raw(&format!("{MAP}?dryRun=All"), &options);
    assert!(member.read(MAP).is_err(), "{said}");
}

fn applies_to_the_object_of_the_uid_alone(lab: &dyn Lab) {
    with_map(lab);
    let member = lab.member("cluster-a");
    let apply = |name: &str, uid: &Value| {
        let manifest = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": name, "namespace": "default", "uid": uid}, "data": {"b": "2"},
        });
        let arguments = ["apply", "--server-side", "--field-manager=m", "-f", "-"];
        kubectl(lab, &arguments, &manifest)
    };
    let uid = member.read(MAP).unwrap()["metadata"]["uid"].clone();
    let said = apply("map", &json!("another"));
    assert!(member.read(MAP).unwrap()["data"]["b"].is_null(), "{said}");
    let said = apply("none", &json!("another"));
    assert!(
        said.contains("uid mismatch") || said.contains("Conflict"),
        "{said}"
    );
    assert!(member.read(&format!("{MAPS}/none")).is_err(), "{said}");
    let said = apply("map", &uid);
    assert_eq!(
        member.read(MAP).unwrap()["data"],
        json!({"a": "1", "b": "2"}),
        "{said}"
    );
    let entries = member.read(MAP).unwrap()["metadata"]["managedFields"].clone();
    let own = entries
        .as_array()
        .unwrap()
        .iter()
        .find(|entry| entry["manager"] == "m");
    assert_eq!(own.unwrap()["fieldsV1"], json!({"f:data": {"f:b": {}}}));
}

fn gives_new_pods_to_a_restarted_workload(lab: &dyn Lab) {
    let member = lab.member("cluster-a");
    let apps = "/apis/apps/v1/namespaces/default";
    for (resource, count) in [("deployments", 2), ("statefulsets", 2), ("daemonsets", 1)] {
        let mut workload = json!({
            "metadata": {"name": resource},
            "spec": {
                "selector": {"matchLabels": {"app": resource}},
                "template": {
                    "metadata": {"labels": {"app": resource}},
                    "spec": {"containers": [{"name": "main", "image": "app:1"}]},
                },
            },
        });
        if resource != "daemonsets" {
            workload["spec"]["replicas"] = json!(2);
        }
        member
            .create(&format!("{apps}/{resource}"), &workload)
            .unwrap();
        let path = format!("/api/v1/namespaces/default/pods?labelSelector=app%3D{resource}");
        let uids = || -> Vec<Value> {
            let list = member.read(&path).unwrap();
            let pods = list["items"].as_array().cloned().unwrap_or_default();
            let ready = pods
                .iter()
                .filter(|pod| pod["status"]["phase"] == "Running");
            ready.map(|pod| pod["metadata"]["uid"].clone()).collect()
        };
        assert!(
            lab.wait_for(lab.patience(), || uids().len() == count),
            "{resource}"
        );
        let before = uids();
        let word = &resource[..resource.len() - 1];
        let said = kubectl(lab, &["rollout", "restart", word, resource], &Value::Null);
        assert!(said.contains("restarted"), "{said}");
        let replaced = || {
            let now = uids();
            now.len() == count && now.iter().all(|uid| !before.contains(uid))
        };
        assert!(lab.wait_for(lab.patience(), replaced), "{resource}");
        let arguments = ["rollout", "status", word, resource, "--timeout=20s"];
        let said = kubectl(lab, &arguments, &Value::Null);
        assert!(
            said.contains("successfully rolled out") || said.contains("roll out complete"),
            "{said}"
        );
    }
}
