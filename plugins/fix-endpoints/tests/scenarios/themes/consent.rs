//! Nothing is written without consent.

use karmada_lab::{Backend, Federation, Lab, Spec};
use karmada_scenarios::plugin::Plugin;
use karmada_scenarios::scenario::{Program, Scenario, anywhere, embedded};
use karmada_scenarios::state;
use karmada_scenarios::terminal::Session;

use crate::endpoints;

pub(super) fn scenarios() -> Vec<Scenario> {
    let mut scenarios = anywhere![
        writes_nothing_without_a_terminal_and_without_yes,
        is_not_talked_into_it_by_a_pipe,
        repairs_after_a_yes_at_the_terminal,
        writes_nothing_after_a_no_at_the_terminal,
        writes_nothing_when_the_terminal_is_closed_at_the_prompt,
        writes_nothing_after_an_interrupt_at_the_prompt,
        writes_nothing_when_run_dry,
        sends_patches_to_be_rehearsed_only,
    ];
    scenarios.extend(embedded![
        only_reads_without_consent,
        only_reads_when_run_dry,
        rehearses_with_the_server,
        finds_a_conflict_with_somebody_who_wrote_while_it_asked,
        keeps_an_annotation_that_somebody_wrote_while_it_asked,
    ]);
    scenarios.extend(
        anywhere![prints_commands_that_repair]
            .into_iter()
            .map(|scenario| scenario.needs(&[Program::Kubectl, Program::Docker])),
    );
    scenarios
}

const PROMPT: &str = "Carry out this plan? (y/n): ";

#[track_caller]
fn writes_nothing(lab: &dyn Lab, run: impl FnOnce()) {
    let before = state::of(lab);
    run();
    assert_eq!(state::of(lab), before);
}

fn start(backend: &Backend) -> Box<dyn Lab> {
    backend.start(Spec::default()).unwrap()
}

/// A session that waits at the prompt.
fn asked(lab: &dyn Lab) -> Session {
    let context = lab.spec().host.context();
    let session = Plugin::on(lab)
        .args(&["--host-context", &context])
        .at_terminal();
    session.wait_for(PROMPT);
    session
}

fn writes_nothing_without_a_terminal_and_without_yes(backend: &Backend) {
    let lab = start(backend);
    writes_nothing(&*lab, || {
        Plugin::on(&*lab)
            .run()
            .exits(1)
            .reports("Plan, ")
            .tells("there is no terminal to ask at: nothing was written")
            .tells("hint: add --yes");
    });
}

fn is_not_talked_into_it_by_a_pipe(backend: &Backend) {
    let lab = start(backend);
    writes_nothing(&*lab, || {
        Plugin::on(&*lab)
            .input("y\nyes\n")
            .run()
            .exits(1)
            .tells("nothing was written");
    });
}

fn repairs_after_a_yes_at_the_terminal(backend: &Backend) {
    let lab = start(backend);
    let mut session = asked(&*lab);
    session.type_in("y\n");
    session.finish().exits(0).reports("Repaired, and proven");
    assert!(state::is_ready(&*lab, "cluster-a"));
}

fn writes_nothing_after_a_no_at_the_terminal(backend: &Backend) {
    let lab = start(backend);
    writes_nothing(&*lab, || {
        let mut session = asked(&*lab);
        session.type_in("n\n");
        session
            .finish()
            .exits(1)
            .reports("declined: nothing was written");
    });
}

fn writes_nothing_when_the_terminal_is_closed_at_the_prompt(backend: &Backend) {
    let lab = start(backend);
    writes_nothing(&*lab, || {
        let mut session = asked(&*lab);
        session.type_in("\x04");
        session
            .finish()
            .exits(1)
            .reports("closed before an answer: nothing was written");
    });
}

fn writes_nothing_after_an_interrupt_at_the_prompt(backend: &Backend) {
    let lab = start(backend);
    writes_nothing(&*lab, || {
        let mut session = asked(&*lab);
        session.type_in("\x03");
        session.finish().exits(130).reports("nothing was written");
    });
}

fn writes_nothing_when_run_dry(backend: &Backend) {
    let lab = start(backend);
    writes_nothing(&*lab, || {
        Plugin::on(&*lab)
            .args(&["--dry-run"])
            .run()
            .exits(1)
            .reports("Plan, 4 steps")
            .does_not_tell("backup");
    });
}

fn sends_patches_to_be_rehearsed_only(backend: &Backend) {
    let lab = start(backend);
    writes_nothing(&*lab, || {
        Plugin::on(&*lab)
            .args(&["--dry-run=server"])
            .run()
            .exits(1)
            .tells("cluster/cluster-a applied (server dry run)")
            .tells("Docker has no dry run");
    });
}

fn only_reads_without_consent() {
    let federation = Federation::start(Spec::default()).unwrap();
    Plugin::on(&federation).run().exits(1);
    assert_eq!(federation.writes(), []);
}

fn only_reads_when_run_dry() {
    let federation = Federation::start(Spec::default()).unwrap();
    let context = federation.spec().host.context();
    Plugin::on(&federation)
        .args(&["--dry-run=client", "--host-context", &context])
        .run()
        .exits(1);
    let methods: Vec<String> = federation
        .requests()
        .into_iter()
        .filter(|request| !request.own && request.method != "GET" && request.method != "HEAD")
        .map(|request| format!("{} {}", request.method, request.path))
        .collect();
    assert_eq!(methods, [""; 0]);
}

fn rehearses_with_the_server() {
    let federation = Federation::start(Spec::default()).unwrap();
    let context = federation.spec().host.context();
    Plugin::on(&federation)
        .args(&["--dry-run=server", "--host-context", &context])
        .run()
        .exits(1);
    assert_eq!(federation.writes(), []);
    let rehearsed = federation
        .requests()
        .into_iter()
        .filter(|request| request.method == "PATCH" && request.path.contains("dryRun=All"));
    assert_eq!(rehearsed.count(), 3);
}

fn finds_a_conflict_with_somebody_who_wrote_while_it_asked() {
    let federation = Federation::start(Spec::default()).unwrap();
    let mut session = Plugin::on(&federation)
        .args(&["--timeout", "2s"])
        .at_terminal();
    session.wait_for(PROMPT);
    endpoints::set_endpoint(&federation, "cluster-b", "https://172.21.0.99:6443");
    session.type_in("y\n");
    session
        .finish()
        .exits(4)
        .reports("conflict: spec.apiEndpoint of cluster/cluster-b is no longer what was diagnosed");
    assert_eq!(
        endpoints::endpoint(&federation, "cluster-b"),
        "https://172.21.0.99:6443"
    );
    assert_eq!(
        endpoints::endpoint(&federation, "cluster-a"),
        "https://172.20.0.3:6443"
    );
}

fn keeps_an_annotation_that_somebody_wrote_while_it_asked() {
    let federation = Federation::start(Spec::default()).unwrap();
    let mut session = Plugin::on(&federation)
        .args(&["cluster-a", "--timeout", "2s"])
        .at_terminal();
    session.wait_for(PROMPT);
    let note = serde_json::json!({"metadata": {"annotations": {"team": "blue"}}});
    state::patch_cluster(&federation, "cluster-a", &note);
    session.type_in("y\n");
    session.finish();
    assert_eq!(state::annotations(&federation, "cluster-a")["team"], "blue");
}

/// The printed script, typed into a shell, does what the plugin would have done.
fn prints_commands_that_repair(backend: &Backend) {
    let lab = start(backend);
    let context = lab.spec().host.context();
    let printed = Plugin::on(&*lab)
        .args(&["--print-commands", "--host-context", &context])
        .run();
    printed.exits(1);
    Plugin::shell(&*lab, &printed.stdout).run().exits(0);
    for cluster in ["cluster-a", "cluster-b"] {
        assert_eq!(
            endpoints::endpoint(&*lab, cluster),
            endpoints::home_endpoint(&*lab, cluster)
        );
        assert!(lab.wait_ready(cluster, lab.patience()));
    }
    Plugin::on(&*lab)
        .args(&["--check-delivery", "--yes"])
        .run()
        .exits(0);
}
