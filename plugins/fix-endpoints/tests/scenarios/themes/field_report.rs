//! The federation of the field report: two k3d members joined at `https://0.0.0.0:PORT`.

use karmada_lab::{Backend, Federation, Lab, Spec};
use karmada_scenarios::plugin::Plugin;
use karmada_scenarios::scenario::{Program, Scenario, anywhere, embedded};
use karmada_scenarios::state;
use serde_json::json;

use crate::endpoints;

pub(super) fn scenarios() -> Vec<Scenario> {
    let mut scenarios = anywhere![
        repairs_the_field_report,
        changes_nothing_when_nothing_is_wrong,
        finds_nothing_to_do_in_a_second_run,
        leaves_delivery_unproven_without_access_to_the_host,
        says_in_later_runs_that_delivery_was_never_proven,
        does_not_prove_delivery_when_told_so,
        says_that_it_did_not_wait,
        repairs_only_the_named_members,
        takes_members_as_karmadactl_does,
    ];
    scenarios.extend(embedded![asks_few_questions]);
    scenarios.extend(
        anywhere![proves_delivery_with_the_command_that_it_names]
            .into_iter()
            .map(|scenario| scenario.needs(&[Program::Kubectl])),
    );
    scenarios
}

fn repairs_the_field_report(backend: &Backend) {
    let lab = backend.start(Spec::default()).unwrap();
    Plugin::with_host(&*lab)
        .run()
        .exits(0)
        .reports("Repaired, and proven")
        .reports("cluster/cluster-a: proven")
        .reports("cluster/cluster-b: proven");
    for cluster in ["cluster-a", "cluster-b"] {
        assert_eq!(
            endpoints::endpoint(&*lab, cluster),
            endpoints::home_endpoint(&*lab, cluster)
        );
        assert!(state::is_ready(&*lab, cluster));
        assert!(!endpoints::unproven(&*lab, cluster));
    }
}

fn changes_nothing_when_nothing_is_wrong(backend: &Backend) {
    let lab = repaired(backend);
    let before = state::of(&*lab);
    Plugin::on(&*lab)
        .run()
        .exits(0)
        .reports("Nothing to repair.");
    assert_eq!(state::of(&*lab), before);
}

fn finds_nothing_to_do_in_a_second_run(backend: &Backend) {
    let lab = repaired(backend);
    let before = state::of(&*lab);
    if let Some(federation) = lab.embedded() {
        federation.forget_requests();
    }
    Plugin::with_host(&*lab)
        .run()
        .exits(0)
        .reports("Nothing to repair.")
        .does_not_tell("backup");
    assert_eq!(state::of(&*lab), before);
    assert_eq!(
        lab.embedded().map(Federation::writes).unwrap_or_default(),
        []
    );
}

fn repaired(backend: &Backend) -> Box<dyn Lab> {
    let lab = backend.start(Spec::default()).unwrap();
    Plugin::with_host(&*lab).run().exits(0);
    lab
}

/// Repaired and Ready, but the Works that failed meanwhile sleep until somebody restarts karmada-controller-manager.
fn unproven(backend: &Backend) -> Box<dyn Lab> {
    let lab = backend.start(Spec::default()).unwrap();
    Plugin::on(&*lab)
        .args(&["--yes"])
        .soon(&*lab)
        .run()
        .exits(4);
    lab
}

fn leaves_delivery_unproven_without_access_to_the_host(backend: &Backend) {
    let lab = backend.start(Spec::default()).unwrap();
    Plugin::on(&*lab)
        .args(&["--yes"])
        .soon(&*lab)
        .run()
        .exits(4)
        .reports("delivery-unproven")
        .reports("rollout restart deployment karmada-controller-manager");
    for cluster in ["cluster-a", "cluster-b"] {
        assert!(state::is_ready(&*lab, cluster));
        assert!(endpoints::unproven(&*lab, cluster));
    }
}

fn proves_delivery_with_the_command_that_it_names(backend: &Backend) {
    let lab = backend.start(Spec::default()).unwrap();
    let said = Plugin::on(&*lab)
        .args(&["cluster-a", "--yes"])
        .soon(&*lab)
        .run();
    said.exits(4);
    let restart = format!("hint: kubectl --context {}", lab.spec().host.context());
    let command = said.line_with(&restart).trim_start_matches("hint: ");
    Plugin::shell(&*lab, command)
        .run()
        .exits(0)
        .reports("proven");
    Plugin::on(&*lab).args(&["cluster-a"]).run().exits(0);
}

fn says_in_later_runs_that_delivery_was_never_proven(backend: &Backend) {
    let lab = unproven(backend);
    let before = state::of(&*lab);
    Plugin::on(&*lab)
        .run()
        .exits(1)
        .reports("delivery-unproven")
        .does_not_report("healthy");
    assert_eq!(state::of(&*lab), before);
}

fn does_not_prove_delivery_when_told_so(backend: &Backend) {
    let lab = backend.start(Spec::default()).unwrap();
    Plugin::on(&*lab)
        .args(&["--yes", "--no-delivery-check"])
        .run()
        .exits(0)
        .reports("Repaired, and verified")
        .does_not_report("proven:");
}

fn says_that_it_did_not_wait(backend: &Backend) {
    let lab = backend.start(Spec::default()).unwrap();
    let said = Plugin::on(&*lab)
        .args(&["--yes", "--wait=false", "-o", "json"])
        .run();
    said.exits(0);
    let report = said.json();
    assert_eq!(report["verdict"], "not-verified");
    assert_eq!(report["verification"], json!({"state": "switched-off"}));
    assert_eq!(
        endpoints::endpoint(&*lab, "cluster-a"),
        endpoints::home_endpoint(&*lab, "cluster-a")
    );
}

fn repairs_only_the_named_members(backend: &Backend) {
    let lab = backend.start(Spec::default()).unwrap();
    Plugin::with_host(&*lab)
        .args(&["cluster-b"])
        .run()
        .exits(0)
        .does_not_report("cluster-a");
    assert!(endpoints::endpoint(&*lab, "cluster-a").starts_with("https://0.0.0.0:"));
    assert_eq!(
        endpoints::endpoint(&*lab, "cluster-b"),
        endpoints::home_endpoint(&*lab, "cluster-b")
    );
}

fn takes_members_as_karmadactl_does(backend: &Backend) {
    let lab = backend.start(Spec::default()).unwrap();
    let said = Plugin::on(&*lab)
        .args(&["-C", "cluster-b,cluster-a", "-o", "json"])
        .run();
    assert_eq!(
        said.findings(),
        ["cluster-a endpoint-own-host", "cluster-b endpoint-own-host"]
    );
}

/// Two LIST requests to Kubernetes and two to Docker, whatever the number of clusters; while a change is fresh, the proxy
/// is asked too.
fn asks_few_questions() {
    let federation = Federation::start(Spec::default()).unwrap();
    Plugin::with_host(&federation).run().exits(0);
    federation.forget_requests();
    Plugin::on(&federation).run().exits(0);
    let mut asked: Vec<String> = federation
        .requests()
        .into_iter()
        .filter(|request| !request.own && !request.path.contains("/proxy/"))
        .map(|request| {
            let path = request
                .path
                .split('?')
                .next()
                .unwrap_or_default()
                .to_owned();
            let version = path.find("/v1.").map_or(0, |_| "/v1.51".len());
            format!(
                "{} {}",
                request.server,
                path.get(version..).unwrap_or_default()
            )
        })
        .collect();
    asked.sort();
    asked.dedup();
    assert_eq!(
        asked,
        [
            "docker /containers/json",
            "docker /networks",
            "karmada-apiserver /api/v1/namespaces/karmada-cluster/secrets",
            "karmada-apiserver /apis/cluster.karmada.io/v1alpha1/clusters",
        ]
    );
}
