//! Members and daemons on other machines: members that are no containers here, and daemons with clusters of the same names.

use karmada_lab::{Federation, Lab, MemberSpec, Spec, Works};
use karmada_scenarios::plugin::Plugin;
use karmada_scenarios::scenario::{Scenario, embedded};
use karmada_scenarios::state;
use serde_json::{Value, json};

use crate::endpoints;

pub(super) fn scenarios() -> Vec<Scenario> {
    embedded![
        dials_what_the_endpoint_slice_of_the_member_tells,
        dials_what_the_endpoints_of_an_older_member_tell,
        dials_a_node_where_the_service_tells_nothing,
        refuses_a_context_of_another_cluster,
        takes_a_rebuilt_member_for_the_member,
        refuses_the_cluster_of_another_daemon,
        does_not_lead_a_member_to_one_that_was_not_selected,
    ]
}

fn spec() -> Spec {
    Spec {
        works: Works::Awake,
        ..Spec::with_members([MemberSpec::k3d("one").subnet("172.20.0.0/16")])
    }
}

const RIGHT: &str = "https://172.20.0.3:6443";

/// No Docker daemon tells of the member, which answers where these objects say.
#[track_caller]
fn dials(objects: &[(&str, Value)], tells: &str) {
    let federation = Federation::start(spec()).unwrap();
    federation
        .docker()
        .connect("k3d-one", "k3d-karmada-host-server-0", None)
        .unwrap();
    for (collection, object) in objects {
        let member = federation.member("one");
        member.create(collection, object).unwrap();
    }
    let said = Plugin::with_host(&federation)
        .env("DOCKER_HOST", "unix:///nowhere.sock")
        .args(&["--cluster-context", "one=k3d-one"])
        .run();
    said.exits(0)
        .reports(tells)
        .reports("was not tried from where the control plane dials");
    assert_eq!(endpoints::endpoint(&federation, "one"), RIGHT, "{said}");
}

fn dials_what_the_endpoint_slice_of_the_member_tells() {
    let slice = json!({
        "metadata": {"name": "kubernetes"}, "addressType": "IPv4",
        "endpoints": [{"addresses": ["172.20.0.3"]}], "ports": [{"name": "https", "port": 6443}],
    });
    let path = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";
    dials(&[(path, slice)], "the endpoints of its Service kubernetes");
}

fn dials_what_the_endpoints_of_an_older_member_tell() {
    let endpoints = json!({
        "metadata": {"name": "kubernetes"},
        "subsets": [{"addresses": [{"ip": "172.20.0.3"}], "ports": [{"name": "https", "port": 6443}]}],
    });
    let path = "/api/v1/namespaces/default/endpoints";
    dials(
        &[(path, endpoints)],
        "the endpoints of its Service kubernetes",
    );
}

fn dials_a_node_where_the_service_tells_nothing() {
    dials(&[], "an InternalIP of its nodes");
}

fn two() -> Federation {
    Federation::start(Spec {
        works: Works::Awake,
        ..Spec::with_members([
            MemberSpec::k3d("one").subnet("172.20.0.0/16"),
            MemberSpec::k3d("two").subnet("172.21.0.0/16"),
        ])
    })
    .unwrap()
}

fn refuses_a_context_of_another_cluster() {
    let federation = two();
    Plugin::with_host(&federation).run().exits(0);
    let garbage = json!({"data": {"token": "Z2FyYmFnZQ=="}});
    federation
        .control_plane()
        .patch(&state::secret_path("one"), &garbage)
        .unwrap();
    state::wait_unready(&federation, "one");
    federation.forget_requests();
    let said = Plugin::with_host(&federation)
        .args(&["one", "--cluster-context", "k3d-two", "--timeout", "1s"])
        .run();
    said.reports("member-context-refused");
    assert!(said.code != Some(0), "{said}");
    assert_eq!(federation.writes(), [], "{said}");
}

/// Its namespace kube-system has another UID than the recorded one; account and CA are those of its containers.
fn takes_a_rebuilt_member_for_the_member() {
    let federation = Federation::start(spec()).unwrap();
    Plugin::with_host(&federation).run().exits(0);
    let id = |federation: &Federation| state::cluster(federation, "one")["spec"]["id"].clone();
    let before = id(&federation);
    let old = json!({"spec": {"id": "00000000-0000-4000-8000-000000000000"}});
    state::patch_cluster(&federation, "one", &old);
    let garbage = json!({"data": {"token": "Z2FyYmFnZQ=="}});
    federation
        .control_plane()
        .patch(&state::secret_path("one"), &garbage)
        .unwrap();
    state::wait_unready(&federation, "one");
    let said = Plugin::with_host(&federation)
        .args(&["--cluster-context", "one=k3d-one"])
        .run();
    said.exits(0)
        .reports("cluster-id-stale")
        .reports("credentials-token-stale");
    assert_eq!(id(&federation), before, "{said}");
}

/// The daemon that is asked has a cluster of the same name, and the member runs on another one.
fn refuses_the_cluster_of_another_daemon() {
    let federation = Federation::start(spec()).unwrap();
    let other = Federation::start(spec()).unwrap();
    federation.forget_requests();
    other.forget_requests();
    let said = Plugin::with_host(&federation)
        .env("DOCKER_HOST", other.docker_host())
        .run();
    said.exits(1).reports("authority-mismatch");
    assert_eq!(federation.writes(), [], "{said}");
    assert_eq!(other.writes(), [], "{said}");
}

/// Both have the same private address, in networks that do not know each other.
fn does_not_lead_a_member_to_one_that_was_not_selected() {
    let federation = two();
    Plugin::with_host(&federation).args(&["two"]).run().exits(0);
    let lab: &dyn Lab = &federation;
    assert!(lab.wait_ready("two", lab.patience()));
    federation.forget_requests();
    let there = endpoints::endpoint(&federation, "two");
    let said = Plugin::with_host(&federation)
        .args(&["one", "--endpoint", &format!("one={there}")])
        .run();
    said.exits(1)
        .reports("same-address")
        .reports("and so would two");
    assert_eq!(federation.writes(), [], "{said}");
}
