//! The proof that workloads arrive, and a control plane that went blind.

use karmada_lab::{Backend, Certificate, Effect, Fault, Federation, Lab, MemberSpec, Spec};
use karmada_scenarios::plugin::Plugin;
use karmada_scenarios::scenario::{Scenario, anywhere, embedded};
use karmada_scenarios::state;
use serde_json::{Value, json};

use crate::endpoints;

pub(super) fn scenarios() -> Vec<Scenario> {
    let mut scenarios = anywhere![
        heals_the_blindness_after_a_move,
        heals_a_move_behind_a_load_balancer,
        finds_a_blind_control_plane_by_its_delivery_check,
        heals_a_blindness_that_was_made_by_hand,
        proves_delivery_alone,
        needs_consent_for_a_delivery_check,
        leaves_nothing_behind_after_a_delivery_check,
        cannot_prove_what_it_may_not_read,
        restarts_only_what_keeps_connections,
    ];
    scenarios.extend(embedded![
        reads_members_by_their_own_context_where_the_proxy_refuses,
        writes_only_works_and_configmaps_to_prove_delivery,
    ]);
    scenarios
}

/// The federation of the field report, repaired and proven.
fn repaired(backend: &Backend) -> Box<dyn Lab> {
    let lab = backend.start(Spec::default()).unwrap();
    Plugin::with_host(&*lab).run().exits(0);
    lab
}

/// Works of Karmada's own controllers carry a ConfigMap of this name.
fn deliver(lab: &dyn Lab, name: &str) {
    let work = json!({
        "metadata": {"name": name, "finalizers": ["karmada.io/execution-controller"]},
        "spec": {"workload": {"manifests": [{
            "apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "1"},
            "metadata": {"name": name, "namespace": "default", "labels": {"karmada.io/managed": "true"}},
        }]}},
    });
    lab.control_plane().create(WORKS, &work).unwrap();
}

fn value(lab: &dyn Lab, name: &str) -> Option<Value> {
    let map = lab
        .member("cluster-a")
        .read(&format!("{MAPS}/{name}"))
        .ok()?;
    Some(map["data"]["a"].clone())
}

fn edit(lab: &dyn Lab, name: &str) {
    let edit = json!({"data": {"a": "by hand"}});
    lab.member("cluster-a")
        .patch(&format!("{MAPS}/{name}"), &edit)
        .unwrap();
}

#[track_caller]
fn arrives(lab: &dyn Lab, name: &str) {
    let arrived = lab.wait_for(lab.patience(), || value(lab, name) == Some(json!("1")));
    assert!(arrived, "{name} does not arrive: {:?}", value(lab, name));
}

const WORKS: &str = "/apis/work.karmada.io/v1alpha1/namespaces/karmada-es-cluster-a/works";
const MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// Moves cluster-a to a network that the control plane is not on, with a delivered ConfigMap in it.
fn moved(backend: &Backend, spec: Spec) -> Box<dyn Lab> {
    let lab = backend.start(spec).unwrap();
    Plugin::with_host(&*lab).run().exits(0);
    deliver(&*lab, "before");
    arrives(&*lab, "before");
    lab.docker()
        .create_network("lab-mesh", Some("10.77.0.0/24"))
        .unwrap();
    let address = "10.77.0.9".parse().unwrap();
    lab.move_member("cluster-a", "lab-mesh", Some(address), Certificate::Follows)
        .unwrap();
    lab
}

/// One member whose server publishes its port itself.
fn without_load_balancer() -> Spec {
    Spec::with_members([MemberSpec::k3d("cluster-a")
        .subnet("172.20.0.0/16")
        .no_load_balancer()])
}

fn heals_the_blindness_after_a_move(backend: &Backend) {
    heals(&*moved(backend, without_load_balancer()));
}

/// The load balancer stays behind, and leads nowhere.
fn heals_a_move_behind_a_load_balancer(backend: &Backend) {
    heals(&*moved(backend, Spec::default()));
}

#[track_caller]
fn heals(lab: &dyn Lab) {
    state::wait_unready(lab, "cluster-a");
    edit(lab, "before");
    Plugin::with_host(lab)
        .run()
        .exits(0)
        .reports("cluster/cluster-a: proven");
    assert_eq!(
        endpoints::endpoint(lab, "cluster-a"),
        "https://10.77.0.9:6443"
    );
    arrives(lab, "before");
    deliver(lab, "after");
    arrives(lab, "after");
}

/// Somebody repairs the move by hand: the member is Ready, and the controllers keep their old connections.
fn blind(backend: &Backend) -> Box<dyn Lab> {
    let lab = moved(backend, without_load_balancer());
    let host = lab.spec().host.first_server();
    lab.docker().connect("lab-mesh", &host, None).unwrap();
    endpoints::set_endpoint(&*lab, "cluster-a", "https://10.77.0.9:6443");
    assert!(lab.wait_ready("cluster-a", lab.patience()));
    edit(&*lab, "before");
    lab
}

fn finds_a_blind_control_plane_by_its_delivery_check(backend: &Backend) {
    let lab = blind(backend);
    Plugin::on(&*lab)
        .args(&["cluster-a", "--check-delivery", "--yes"])
        .soon(&*lab)
        .run()
        .exits(1)
        .reports("not proven")
        .reports("karmada-controller-manager")
        .does_not_report("Repaired");
    assert_eq!(value(&*lab, "before"), Some(json!("by hand")));
}

/// The restart of the controllers heals it.
fn heals_a_blindness_that_was_made_by_hand(backend: &Backend) {
    let lab = blind(backend);
    let first = Plugin::with_host(&*lab)
        .args(&["cluster-a", "--check-delivery"])
        .soon(&*lab)
        .run();
    if first.code != Some(0) {
        let hint = first.line_with("hint: ");
        let command = hint.trim_start_matches("hint: ");
        Plugin::shell(&*lab, command).run().exits(0);
    }
    arrives(&*lab, "before");
}

fn proves_delivery_alone(backend: &Backend) {
    let lab = repaired(backend);
    Plugin::on(&*lab)
        .args(&["--check-delivery", "--yes"])
        .run()
        .exits(0)
        .reports("cluster/cluster-a: proven")
        .does_not_report("Repaired");
}

fn writes_only_works_and_configmaps_to_prove_delivery() {
    let federation = Federation::start(Spec::default()).unwrap();
    Plugin::with_host(&federation).run().exits(0);
    federation.forget_requests();
    Plugin::on(&federation)
        .args(&["--check-delivery", "--yes"])
        .run()
        .exits(0);
    for request in federation.writes() {
        let path = &request.path;
        assert!(
            path.contains("/works") || path.contains("/configmaps/"),
            "{path}"
        );
    }
}

fn needs_consent_for_a_delivery_check(backend: &Backend) {
    let lab = repaired(backend);
    let before = state::of(&*lab);
    Plugin::on(&*lab)
        .args(&["--check-delivery"])
        .run()
        .tells("there is no terminal to ask at");
    assert_eq!(state::of(&*lab), before);
}

fn leaves_nothing_behind_after_a_delivery_check(backend: &Backend) {
    let lab = repaired(backend);
    let count = |list: Value| list["items"].as_array().unwrap().len();
    let works = || count(lab.control_plane().read(WORKS).unwrap());
    let maps = || count(lab.member("cluster-a").read(MAPS).unwrap());
    let before = (works(), maps(), state::of(&*lab));
    Plugin::on(&*lab)
        .args(&["--check-delivery", "--yes"])
        .run()
        .exits(0);
    assert_eq!((works(), maps(), state::of(&*lab)), before);
}

/// With the control plane's kubeconfig alone, as long as the proxy refuses.
fn cannot_prove_what_it_may_not_read(backend: &Backend) {
    let lab = backend.start(Spec::default()).unwrap();
    Plugin::on(&*lab)
        .env("KUBECONFIG", lab.karmada_kubeconfig().display().to_string())
        .args(&["--yes"])
        .soon(&*lab)
        .run()
        .exits(4)
        .reports("could not be proven");
}

fn restarts_only_what_keeps_connections(backend: &Backend) {
    let lab = backend.start(Spec::default()).unwrap();
    let context = lab.spec().host.context();
    let said = Plugin::on(&*lab)
        .args(&["--host-context", &context, "-o", "json"])
        .run();
    let report = said.json();
    let targets = report["steps"].as_array().unwrap().iter();
    let restarts: Vec<&str> = targets
        .filter_map(|step| step["target"].as_str())
        .filter(|target| target.starts_with("deployment/"))
        .collect();
    assert_eq!(
        restarts,
        ["deployment/karmada-system/karmada-controller-manager"],
        "{said}"
    );
}

fn reads_members_by_their_own_context_where_the_proxy_refuses() {
    let federation = Federation::start(Spec::default()).unwrap();
    Plugin::with_host(&federation).run().exits(0);
    let forbidden = Effect::Message(403, "forbidden: by the member".to_owned());
    federation.inject(Fault::on("/proxy/api", forbidden).at("karmada-apiserver"));
    Plugin::on(&federation)
        .args(&["--check-delivery", "--yes"])
        .run()
        .exits(0)
        .reports("with the context k3d-cluster-a");
}
