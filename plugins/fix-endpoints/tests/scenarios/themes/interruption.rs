//! A run that is interrupted says what was done and what was not, and a later run goes on.

use std::time::Duration;

use karmada_lab::{Effect, Fault, Federation, MemberSpec, Mode, Spec, Works};
use karmada_scenarios::plugin::Plugin;
use karmada_scenarios::scenario::{Scenario, embedded};
use karmada_scenarios::state::{self, cluster_path};
use rustix::process::Signal;
use serde_json::json;

use crate::endpoints;

pub(super) fn scenarios() -> Vec<Scenario> {
    embedded![
        ends_at_once_while_it_reads,
        ends_at_once_when_asked_to_while_it_reads,
        ends_at_once_while_it_reads_at_a_terminal_that_goes_away,
        finishes_the_running_step_and_skips_the_rest,
        finishes_the_running_step_when_the_terminal_goes_away,
        says_what_it_still_waited_for,
        removes_what_it_delivered_to_prove_delivery,
        is_taken_back_after_a_kill_at_any_step,
        is_taken_back_after_an_interruption_at_any_kind_of_step,
        is_completed_by_a_later_run_after_an_interruption_at_any_kind_of_step,
        is_taken_back_after_an_interruption_at_any_step_of_an_agents_member,
        is_deaf_to_hangups_under_nohup,
        is_completed_by_a_later_run,
        is_completed_by_a_later_run_after_a_kill_at_any_step,
        survives_two_runs_at_once,
    ]
}

fn awake() -> Federation {
    Federation::start(Spec {
        works: Works::Awake,
        ..Spec::default()
    })
    .unwrap()
}

const SLOW: Effect = Effect::Slow(Duration::from_millis(700));
const CLUSTERS: &str = "/apis/cluster.karmada.io/v1alpha1/clusters";

#[track_caller]
fn ends_while_it_reads(signal: Signal, code: i32) {
    let federation = awake();
    federation.inject(Fault::on(CLUSTERS, Effect::Never).at("karmada-apiserver"));
    let running = Plugin::on(&federation).args(&["--yes"]).start();
    let asked = karmada_scenarios::background::until(Duration::from_secs(10), || {
        let requests = federation.requests();
        requests
            .iter()
            .any(|request| !request.own && request.path.contains("clusters"))
            .then_some(())
    });
    assert!(asked.is_some());
    running.signal(signal);
    running.finish().exits(code).tells("nothing was written");
    assert_eq!(federation.writes(), []);
}

fn ends_at_once_while_it_reads() {
    ends_while_it_reads(Signal::INT, 130);
}

fn ends_at_once_when_asked_to_while_it_reads() {
    ends_while_it_reads(Signal::TERM, 143);
}

fn ends_at_once_while_it_reads_at_a_terminal_that_goes_away() {
    ends_while_it_reads(Signal::HUP, 129);
}

/// The patch of cluster-a runs when the signal comes.
#[track_caller]
fn finishes_the_step(signal: Signal) {
    let federation = awake();
    federation.inject(Fault::on(&cluster_path("cluster-a"), SLOW).method("PATCH"));
    let mut running = Plugin::on(&federation).args(&["--yes"]).start();
    running.wait_for("network k3d-cluster-a at");
    running.signal(signal);
    let said = running.finish();
    said.exits(4)
        .reports("Interrupted")
        .reports("2 of 4 steps")
        .tells("skipped: interrupted")
        .tells("--undo")
        .does_not_report("Repaired");
    assert_eq!(
        endpoints::endpoint(&federation, "cluster-a"),
        "https://172.20.0.3:6443"
    );
    assert!(
        endpoints::endpoint(&federation, "cluster-b").starts_with("https://0.0.0.0:"),
        "{said}"
    );
}

fn finishes_the_running_step_and_skips_the_rest() {
    finishes_the_step(Signal::INT);
}

fn finishes_the_running_step_when_the_terminal_goes_away() {
    finishes_the_step(Signal::HUP);
}

fn says_what_it_still_waited_for() {
    for signal in [Signal::INT, Signal::TERM] {
        let mut spec = Spec::default();
        // Readiness takes longer than anybody waits here.
        spec.timing.success_threshold = Duration::from_secs(600);
        let federation = Federation::start(spec).unwrap();
        let mut running = Plugin::on(&federation).args(&["--yes"]).start();
        running.wait_for("waiting up to");
        running.signal(signal);
        let said = running.finish();
        said.exits(4)
            .reports("Interrupted")
            .reports("not ready")
            .does_not_report("Repaired");
        assert_eq!(
            endpoints::endpoint(&federation, "cluster-b"),
            "https://172.21.0.3:6443",
            "{said}"
        );
    }
}

fn removes_what_it_delivered_to_prove_delivery() {
    let federation = awake();
    Plugin::on(&federation).args(&["--yes"]).run().exits(0);
    // The proof waits for what it cannot see.
    federation.inject(
        Fault::on("/configmaps/karmada-repair", Effect::Status(404))
            .method("GET")
            .times(20),
    );
    let works = |federation: &Federation| {
        let path = "/apis/work.karmada.io/v1alpha1/namespaces/karmada-es-cluster-a/works";
        let list = federation.control_plane().read(path).unwrap();
        list["items"].as_array().unwrap().len()
    };
    let before = works(&federation);
    let running = Plugin::on(&federation)
        .args(&["cluster-a", "--check-delivery", "--yes"])
        .start();
    assert!(
        federation.wait_for(Duration::from_secs(10), |federation| works(federation)
            > before)
    );
    running.signal(Signal::INT);
    let said = running.finish();
    assert!(said.code != Some(0), "{said}");
    said.reports("nterrupted").does_not_report("Proven.");
    assert_eq!(works(&federation), before, "{said}");
}

fn is_completed_by_a_later_run() {
    let federation = awake();
    federation.inject(Fault::on(&cluster_path("cluster-a"), SLOW).method("PATCH"));
    let mut running = Plugin::on(&federation).args(&["--yes"]).start();
    running.wait_for("network k3d-cluster-a at");
    running.signal(Signal::INT);
    running.finish().exits(4);
    federation.heal();
    Plugin::on(&federation).args(&["--yes"]).run().exits(0);
    for cluster in ["cluster-a", "cluster-b"] {
        assert!(state::is_ready(&federation, cluster));
    }
}

/// The steps of the field report's plan, as they are announced once they are done; the first is the backup.
const STEPS: [&str; 5] = [
    "backup: ",
    "network k3d-cluster-a at",
    "patch cluster/cluster-a",
    "network k3d-cluster-b at",
    "patch cluster/cluster-b",
];

/// A run that is killed once this was said.
fn killed(federation: &Federation, step: &str) -> String {
    for path in ["/connect", "v1alpha1/clusters/cluster"] {
        let slow = Effect::Slow(Duration::from_millis(150));
        federation.inject(Fault::on(path, slow));
    }
    let mut running = Plugin::on(federation).args(&["--yes"]).start();
    running.wait_for(step);
    running.signal(Signal::KILL);
    let said = running.finish();
    assert_eq!(said.code, None, "{said}");
    federation.heal();
    said.line_with("backup: ")
        .trim_start_matches("backup: ")
        .to_owned()
}

fn is_completed_by_a_later_run_after_a_kill_at_any_step() {
    for step in STEPS {
        let federation = awake();
        killed(&federation, step);
        let said = Plugin::with_host(&federation).run();
        said.exits(0);
        for cluster in ["cluster-a", "cluster-b"] {
            assert!(state::is_ready(&federation, cluster), "{said}");
            assert!(!endpoints::unproven(&federation, cluster), "{said}");
        }
    }
}

fn is_taken_back_after_a_kill_at_any_step() {
    for step in STEPS {
        let federation = awake();
        let before = state::restorable(&federation);
        let backup = killed(&federation, step);
        let said = Plugin::on(&federation)
            .args(&["--yes", "--undo", &backup])
            .run();
        said.exits(0);
        state::is_same(&state::restorable(&federation), &before, &said);
    }
}

fn is_deaf_to_hangups_under_nohup() {
    let federation = awake();
    federation.inject(Fault::on(&cluster_path("cluster-a"), SLOW).method("PATCH"));
    let script = format!(
        "trap '' HUP; exec {} --yes",
        karmada_scenarios::plugin::binary()
    );
    let mut running = Plugin::shell(&federation, &script).start();
    running.wait_for("network k3d-cluster-a at");
    running.signal(Signal::HUP);
    running.finish().exits(0).reports("Repaired, and proven");
}

/// Both mean the same, and neither takes the other's work for a conflict that it cannot explain.
fn survives_two_runs_at_once() {
    let federation = awake();
    let runs = [0, 1].map(|_| Plugin::on(&federation).args(&["--yes"]).start());
    for run in runs {
        let said = run.finish();
        assert!(matches!(said.code, Some(0 | 1 | 4)), "{said}");
    }
    Plugin::with_host(&federation).run().exits(0);
    for cluster in ["cluster-a", "cluster-b"] {
        assert!(state::is_ready(&federation, cluster));
    }
}

/// A member of whose join nothing is left but its `Cluster`, which leads back to the control plane.
fn half_joined() -> Federation {
    let federation = Federation::start(Spec {
        works: Works::Awake,
        ..Spec::with_members([MemberSpec::k3d("one").subnet("172.20.0.0/16")])
    })
    .unwrap();
    for secret in ["one", "one-impersonator"] {
        let path = state::secret_path(secret);
        federation.control_plane().delete(&path).unwrap();
    }
    let without = json!({"spec": {"secretRef": null, "impersonatorSecretRef": null}});
    state::patch_cluster(&federation, "one", &without);
    federation
}

/// Every kind of step, as it is announced once it is done.
const KINDS: [&str; 8] = [
    "backup: ",
    "network k3d-one at",
    "patch cluster/one: set spec.apiEndpoint",
    "create secret/karmada-cluster/one:",
    "patch cluster/one: set spec.secretRef",
    "create secret/karmada-cluster/one-impersonator:",
    "patch cluster/one: set spec.impersonatorSecretRef",
    "restart deployment/karmada-system/karmada-controller-manager",
];

/// A run that hears a signal once this was said, with its backup. What it says is not half-said.
fn interrupted(federation: &Federation, plugin: Plugin, step: &str) -> String {
    for path in [
        "/connect",
        "v1alpha1/clusters/one",
        "/secrets",
        "/deployments",
    ] {
        let slow = Effect::Slow(Duration::from_millis(100));
        federation.inject(Fault::on(path, slow).method("POST"));
        let slow = Effect::Slow(Duration::from_millis(100));
        federation.inject(Fault::on(path, slow).method("PATCH"));
    }
    let mut running = plugin.start();
    running.wait_for(step);
    running.signal(Signal::INT);
    let said = running.finish();
    federation.heal();
    assert!(matches!(said.code, Some(0 | 4)), "{step}: {said}");
    if said.code == Some(4) {
        said.tells("--undo").does_not_report("Repaired, and proven");
    }
    said.line_with("backup: ")
        .trim_start_matches("backup: ")
        .to_owned()
}

fn is_taken_back_after_an_interruption_at_any_kind_of_step() {
    for step in KINDS {
        let federation = half_joined();
        let before = state::restorable(&federation);
        let backup = interrupted(&federation, Plugin::with_host(&federation), step);
        let said = Plugin::with_host(&federation)
            .args(&["--undo", &backup, "--timeout", "5s"])
            .run();
        state::is_same(&state::restorable(&federation), &before, &said);
    }
}

fn is_completed_by_a_later_run_after_an_interruption_at_any_kind_of_step() {
    for step in KINDS {
        let federation = half_joined();
        interrupted(&federation, Plugin::with_host(&federation), step);
        let said = Plugin::with_host(&federation).run();
        said.exits(0);
        assert!(state::is_ready(&federation, "one"), "{step}: {said}");
    }
}

fn is_taken_back_after_an_interruption_at_any_step_of_an_agents_member() {
    for step in [
        "network k3d-one at",
        "patch cluster/one",
        "patch deployment/",
    ] {
        let mut member = MemberSpec::k3d("one").subnet("172.20.0.0/16");
        member.mode = Mode::Pull;
        let federation = Federation::start(Spec::with_members([member])).unwrap();
        let agent = "/apis/apps/v1/namespaces/karmada-system/deployments/karmada-agent";
        let specs = || {
            let agent = federation.member("one").read(agent).unwrap();
            let networks = federation.docker().networks("k3d-karmada-host-server-0");
            let cluster = state::cluster(&federation, "one");
            (cluster["spec"].clone(), agent["spec"].clone(), networks)
        };
        let before = specs();
        let plugin = Plugin::on(&federation).args(&["one", "--yes"]);
        let backup = interrupted(&federation, plugin, step);
        let said = Plugin::on(&federation)
            .args(&["--yes", "--undo", &backup, "--timeout", "5s"])
            .run();
        assert_eq!(specs(), before, "{step}: {said}");
    }
}
