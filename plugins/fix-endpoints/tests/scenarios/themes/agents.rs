//! Members in pull mode: the control plane is changed first, then the agent, and never one without the other.

use karmada_lab::{Effect, Fault, Federation, MemberSpec, Mode, Spec};
use karmada_scenarios::plugin::Plugin;
use karmada_scenarios::scenario::{Scenario, embedded};
use karmada_scenarios::state;
use serde_json::json;

use crate::endpoints;

pub(super) fn scenarios() -> Vec<Scenario> {
    embedded![
        changes_the_control_plane_before_the_agent,
        changes_nothing_of_a_member_whose_agent_it_may_not_change,
        changes_nothing_of_a_member_whose_agent_it_cannot_reach,
        changes_the_agent_where_somebody_changed_the_control_plane_alone,
        takes_the_endpoint_of_an_agents_member_from_the_command_line,
        takes_both_back,
        finds_an_agent_that_stopped_reporting,
    ]
}

/// A member in pull mode, registered with the endpoint of the machine's kubeconfig.
fn pulled() -> Federation {
    let mut member = MemberSpec::k3d("one").subnet("172.20.0.0/16");
    member.mode = Mode::Pull;
    let federation = Federation::start(Spec::with_members([member])).unwrap();
    assert!(federation.wait_for(SOON, |federation| {
        federation.member("one").read(AGENT).unwrap()["status"]["availableReplicas"] == 1
    }));
    federation
}

const SOON: std::time::Duration = std::time::Duration::from_secs(10);
const AGENT: &str = "/apis/apps/v1/namespaces/karmada-system/deployments/karmada-agent";
const RIGHT: &str = "https://172.20.0.3:6443";

fn flag(federation: &Federation) -> String {
    let agent = federation.member("one").read(AGENT).unwrap();
    let words = agent["spec"]["template"]["spec"]["containers"][0]["command"].clone();
    let mut flag = words
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|word| word.as_str()?.strip_prefix("--cluster-api-endpoint="));
    flag.next_back().unwrap().to_owned()
}

fn changes_the_control_plane_before_the_agent() {
    let federation = pulled();
    let said = Plugin::on(&federation).args(&["one", "--yes"]).run();
    said.exits(0).reports("agent-flag-stale");
    assert_eq!(endpoints::endpoint(&federation, "one"), RIGHT);
    assert_eq!(flag(&federation), RIGHT);
    assert_eq!(federation.agent_crashes("one"), 0, "{said}");
    let text = said.to_string();
    let of_cluster = text.find("patch cluster/one").unwrap();
    let of_agent = text
        .find("patch deployment/karmada-system/karmada-agent in one")
        .unwrap();
    assert!(of_cluster < of_agent, "{said}");
    Plugin::on(&federation)
        .args(&["one", "--yes"])
        .run()
        .exits(0)
        .reports("pull-mode")
        .reports("Nothing to repair.");
}

#[track_caller]
fn changes_nothing(federation: &Federation) {
    let before = endpoints::endpoint(federation, "one");
    federation.forget_requests();
    let said = Plugin::on(federation).args(&["one", "--yes"]).run();
    said.exits(1)
        .reports("agent-out-of-reach")
        .reports("in this order: ");
    assert_eq!(federation.writes(), [], "{said}");
    assert_eq!(endpoints::endpoint(federation, "one"), before);
    assert_eq!(federation.agent_crashes("one"), 0);
}

fn changes_nothing_of_a_member_whose_agent_it_may_not_change() {
    let federation = pulled();
    federation.inject(Fault::on(AGENT, Effect::Status(403)).method("PATCH"));
    changes_nothing(&federation);
}

/// With the control plane's kubeconfig alone, and a proxy that leads nowhere.
fn changes_nothing_of_a_member_whose_agent_it_cannot_reach() {
    let federation = pulled();
    federation.forget_requests();
    let kubeconfig = federation.karmada_kubeconfig().display().to_string();
    let said = Plugin::on(&federation)
        .env("KUBECONFIG", kubeconfig)
        .args(&["one", "--yes"])
        .run();
    said.exits(1)
        .reports("agent-out-of-reach")
        .reports("--cluster-context one=CONTEXT")
        .reports(RIGHT);
    assert_eq!(federation.writes(), [], "{said}");
}

/// As it is after a run that was killed between both steps.
fn changes_the_agent_where_somebody_changed_the_control_plane_alone() {
    let federation = pulled();
    federation
        .docker()
        .connect("k3d-one", "k3d-karmada-host-server-0", None)
        .unwrap();
    endpoints::set_endpoint(&federation, "one", RIGHT);
    let said = Plugin::on(&federation)
        .args(&["one", "--yes", "-o", "json"])
        .run();
    said.exits(0);
    assert_eq!(flag(&federation), RIGHT);
    assert_eq!(federation.agent_crashes("one"), 0, "{said}");
    assert_eq!(said.json()["steps"].as_array().unwrap().len(), 1, "{said}");
}

fn takes_the_endpoint_of_an_agents_member_from_the_command_line() {
    let federation = pulled();
    federation
        .docker()
        .connect("k3d-one", "k3d-karmada-host-server-0", None)
        .unwrap();
    let given = format!("one={RIGHT}");
    Plugin::on(&federation)
        .args(&["--yes", "--endpoint", &given])
        .run()
        .exits(0);
    assert_eq!(endpoints::endpoint(&federation, "one"), RIGHT);
    assert_eq!(flag(&federation), RIGHT);
}

fn takes_both_back() {
    let federation = pulled();
    let before = (endpoints::endpoint(&federation, "one"), flag(&federation));
    let said = Plugin::on(&federation)
        .args(&["one", "--yes", "-o", "json"])
        .run();
    said.exits(0);
    let backup = said.json()["backup"].as_str().unwrap().to_owned();
    let said = Plugin::on(&federation)
        .args(&["--yes", "--undo", &backup])
        .run();
    said.exits(0);
    let after = (endpoints::endpoint(&federation, "one"), flag(&federation));
    assert_eq!(after, before, "{said}");
}

fn finds_an_agent_that_stopped_reporting() {
    let federation = pulled();
    let silent = json!({"status": {"conditions": [{
        "type": "Ready", "status": "Unknown", "reason": "ClusterStatusUnknown",
        "message": "Cluster status controller stopped posting cluster status.",
    }]}});
    let path = format!("{}/status", state::cluster_path("one"));
    federation.control_plane().patch(&path, &silent).unwrap();
    Plugin::on(&federation)
        .run()
        .exits(1)
        .reports("agent-silent")
        .reports("logs deployment/karmada-agent");
}
