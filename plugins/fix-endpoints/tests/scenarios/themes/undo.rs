//! A run is taken back from its backup, and nothing else is.

use karmada_lab::{Backend, Effect, Fault, Federation, Lab, Spec};
use karmada_scenarios::plugin::Plugin;
use karmada_scenarios::said::Said;
use karmada_scenarios::scenario::{Program, Scenario, anywhere, embedded};
use karmada_scenarios::state::{self, cluster_path};
use serde_json::json;

use crate::endpoints;

pub(super) fn scenarios() -> Vec<Scenario> {
    let mut scenarios = anywhere![
        takes_a_repair_back,
        finds_nothing_to_take_back_twice,
        asks_before_it_takes_back,
        takes_back_an_undo,
        does_not_take_back_what_others_changed,
    ];
    scenarios.extend(embedded![
        does_not_take_back_the_work_of_another_run,
        takes_back_what_was_done_of_an_incomplete_repair,
        refuses_the_backup_of_another_control_plane,
        refuses_the_backup_of_clusters_that_were_made_anew,
        restores_a_secret_byte_by_byte,
        takes_back_although_a_container_is_gone,
        reads_no_backup_of_another_version,
    ]);
    scenarios.extend(
        embedded![is_taken_back_by_the_command_that_it_names]
            .into_iter()
            .map(|scenario| scenario.needs(&[Program::Kubectl])),
    );
    scenarios
}

/// A repair of the federation of the field report, with its backup.
fn repaired(lab: &dyn Lab) -> String {
    let said = Plugin::with_host(lab).args(&["-o", "json"]).run();
    said.exits(0);
    backup(&said)
}

fn backup(said: &Said) -> String {
    said.json()["backup"].as_str().unwrap().to_owned()
}

fn undo(lab: &dyn Lab, backup: &str) -> Said {
    Plugin::with_host(lab).args(&["--undo", backup]).run()
}

fn takes_a_repair_back(backend: &Backend) {
    let lab = backend.start(Spec::default()).unwrap();
    let before = state::restorable(&*lab);
    let backup = repaired(&*lab);
    let said = undo(&*lab, &backup);
    said.exits(0)
        .reports("Taken back")
        .does_not_report("Repaired");
    state::is_same(&state::restorable(&*lab), &before, &said);
}

fn finds_nothing_to_take_back_twice(backend: &Backend) {
    let lab = backend.start(Spec::default()).unwrap();
    let backup = repaired(&*lab);
    undo(&*lab, &backup).exits(0);
    let before = state::of(&*lab);
    undo(&*lab, &backup)
        .exits(0)
        .reports("Nothing to take back");
    assert_eq!(state::of(&*lab), before);
}

fn asks_before_it_takes_back(backend: &Backend) {
    let lab = backend.start(Spec::default()).unwrap();
    let context = lab.spec().host.context();
    let backup = repaired(&*lab);
    let before = state::of(&*lab);
    let undo = || Plugin::on(&*lab).args(&["--undo", &backup, "--host-context", &context]);
    undo()
        .run()
        .exits(1)
        .reports("Plan, ")
        .tells("nothing was written");
    undo().args(&["--dry-run"]).run().reports("Plan, ");
    assert_eq!(state::of(&*lab), before);
}

fn takes_back_an_undo(backend: &Backend) {
    let lab = backend.start(Spec::default()).unwrap();
    let first = repaired(&*lab);
    let said = Plugin::with_host(&*lab)
        .args(&["--undo", &first, "-o", "json"])
        .run();
    said.exits(0);
    undo(&*lab, &backup(&said)).exits(0);
    for cluster in ["cluster-a", "cluster-b"] {
        assert_eq!(
            endpoints::endpoint(&*lab, cluster),
            endpoints::home_endpoint(&*lab, cluster)
        );
    }
}

fn does_not_take_back_what_others_changed(backend: &Backend) {
    let lab = backend.start(Spec::default()).unwrap();
    let backup = repaired(&*lab);
    endpoints::set_endpoint(&*lab, "cluster-b", "https://10.1.2.3:6443");
    let before = state::of(&*lab);
    undo(&*lab, &backup)
        .exits(1)
        .tells("cluster/cluster-b")
        .tells("nothing was written");
    assert_eq!(state::of(&*lab), before);
}

/// Two repairs after each other; the second one's backup knows of its own steps only.
fn does_not_take_back_the_work_of_another_run() {
    let federation = Federation::start(Spec::default()).unwrap();
    let run = |cluster: &str| {
        let said = Plugin::with_host(&federation)
            .args(&[cluster, "-o", "json"])
            .run();
        said.exits(0);
        backup(&said)
    };
    run("cluster-a");
    let between = state::restorable(&federation);
    let second = run("cluster-b");
    let said = undo(&federation, &second);
    said.exits(0);
    state::is_same(&state::restorable(&federation), &between, &said);
}

fn takes_back_what_was_done_of_an_incomplete_repair() {
    let federation = Federation::start(Spec::default()).unwrap();
    let before = state::restorable(&federation);
    federation.inject(Fault::on(&cluster_path("cluster-b"), Effect::Status(403)).method("PATCH"));
    let said = Plugin::on(&federation)
        .args(&["--yes", "--timeout", "3s", "-o", "json"])
        .run();
    said.exits(4);
    federation.heal();
    let said = undo(&federation, &backup(&said));
    said.exits(0);
    state::is_same(&state::restorable(&federation), &before, &said);
}

fn is_taken_back_by_the_command_that_it_names() {
    let federation = Federation::start(Spec::default()).unwrap();
    let before = state::restorable(&federation);
    federation.inject(Fault::on(&cluster_path("cluster-b"), Effect::Status(403)).method("PATCH"));
    let kubeconfig = federation.karmada_kubeconfig().display().to_string();
    let said = Plugin::on(&federation)
        .without("KUBECONFIG")
        .args(&["--kubeconfig", &kubeconfig, "--yes", "--timeout", "3s"])
        .run();
    said.exits(4);
    federation.heal();
    let hint = said.line_with("hint: run again");
    let (_, command) = hint.split_once("take it back with: ").unwrap();
    let said = Plugin::shell(&federation, &format!("{command} --yes"))
        .without("KUBECONFIG")
        .run();
    said.exits(0).reports("Taken back");
    state::is_same(&state::restorable(&federation), &before, &said);
}

fn refuses_the_backup_of_another_control_plane() {
    let federation = Federation::start(Spec::default()).unwrap();
    let other = Federation::start(Spec::default()).unwrap();
    let backup = repaired(&other);
    let before = state::of(&federation);
    undo(&federation, &backup).exits(2).tells("control plane");
    assert_eq!(state::of(&federation), before);
}

/// The same URL, and other clusters behind it.
fn refuses_the_backup_of_clusters_that_were_made_anew() {
    let federation = Federation::start(Spec::default()).unwrap();
    let backup = repaired(&federation);
    let control_plane = federation.control_plane();
    let path = cluster_path("cluster-a");
    let mut cluster = control_plane.read(&path).unwrap();
    control_plane.delete(&path).unwrap();
    control_plane
        .patch(&path, &json!({"metadata": {"finalizers": null}}))
        .unwrap();
    assert!(
        federation.wait_for(std::time::Duration::from_secs(10), |federation| {
            federation.control_plane().read(&path).is_err()
        })
    );
    cluster["metadata"] = json!({"name": "cluster-a"});
    control_plane.create(CLUSTERS, &cluster).unwrap();
    let endpoint = endpoints::endpoint(&federation, "cluster-a");
    let said = undo(&federation, &backup);
    assert!(matches!(said.code, Some(1 | 2)), "{said}");
    assert_eq!(
        endpoints::endpoint(&federation, "cluster-a"),
        endpoint,
        "{said}"
    );
}

const CLUSTERS: &str = "/apis/cluster.karmada.io/v1alpha1/clusters";

fn restores_a_secret_byte_by_byte() {
    let mut spec = Spec::default();
    spec.members[0].secret_kubeconfig =
        Some("clusters:\n- cluster: {server: '{SERVER}'} # by hand\n".to_owned());
    spec.members[1].secret_kubeconfig = Some(String::new());
    let federation = Federation::start(spec).unwrap();
    let before = state::restorable(&federation);
    let backup = repaired(&federation);
    assert_ne!(state::restorable(&federation), before);
    let said = undo(&federation, &backup);
    said.exits(0);
    state::is_same(&state::restorable(&federation), &before, &said);
}

/// Its networks went with it.
fn takes_back_although_a_container_is_gone() {
    let mut spec = Spec::default();
    spec.host.servers = 2;
    let federation = Federation::start(spec).unwrap();
    let backup = repaired(&federation);
    federation
        .docker()
        .remove("k3d-karmada-host-server-1")
        .unwrap();
    undo(&federation, &backup).exits(0).reports("Taken back");
    assert_eq!(
        federation.docker().networks("k3d-karmada-host-server-0"),
        ["k3d-karmada-host"]
    );
}

fn reads_no_backup_of_another_version() {
    let federation = Federation::start(Spec::default()).unwrap();
    let backup = repaired(&federation);
    let text = std::fs::read_to_string(&backup).unwrap();
    let mut value: serde_json::Value = serde_json::from_str(&text).unwrap();
    value["schemaVersion"] = json!(99);
    std::fs::write(&backup, value.to_string()).unwrap();
    undo(&federation, &backup).exits(2).tells("99");
}
