//! What can be tried from inside the control plane's container, and what is read of the member's where nothing can.

use karmada_lab::{Effect, Endpoint, Fault, Federation, MemberSpec, Spec, Works};
use karmada_scenarios::plugin::Plugin;
use karmada_scenarios::scenario::{Scenario, embedded};
use karmada_scenarios::state;

use crate::endpoints;

pub(super) fn scenarios() -> Vec<Scenario> {
    embedded![
        repairs_where_the_container_takes_no_command,
        repairs_behind_a_socket_proxy_that_forbids_exec,
        repairs_where_a_command_in_the_container_never_ends,
        reads_the_certificate_from_the_container_where_its_port_refuses,
        repairs_where_neither_port_nor_file_tell_the_certificate,
        believes_the_containers_file_where_another_machine_answers_at_its_port,
    ]
}

fn one() -> Spec {
    Spec {
        works: Works::Awake,
        ..Spec::with_members([MemberSpec::k3d("one").subnet("172.20.0.0/16")])
    }
}

/// A member whose address went stale on a network that is shared already, so that the new one can be tried.
fn stale() -> Federation {
    let federation = Federation::start(one()).unwrap();
    Plugin::with_host(&federation).run().exits(0);
    endpoints::set_endpoint(&federation, "one", "https://172.20.0.77:6443");
    state::wait_unready(&federation, "one");
    federation
}

const HOST: &str = "k3d-karmada-host-server-0";
const RIGHT: &str = "https://172.20.0.3:6443";

/// In the words of Docker 28.
fn repairs_where_the_container_takes_no_command() {
    let federation = stale();
    let paused = format!("Container {HOST} is paused, unpause the container before exec");
    federation.inject(Fault::on("/exec", Effect::Message(409, paused)));
    let said = Plugin::with_host(&federation).run();
    said.exits(0).does_not_report("answers from inside");
    assert_eq!(endpoints::endpoint(&federation, "one"), RIGHT, "{said}");
}

fn repairs_behind_a_socket_proxy_that_forbids_exec() {
    let federation = stale();
    federation.inject(Fault::on(
        "/exec",
        Effect::Message(
            403,
            "<html><body><h1>403 Forbidden</h1></body></html>".to_owned(),
        ),
    ));
    let said = Plugin::with_host(&federation).run();
    said.exits(0).does_not_report("answers from inside");
    assert_eq!(endpoints::endpoint(&federation, "one"), RIGHT, "{said}");
}

fn repairs_where_a_command_in_the_container_never_ends() {
    let federation = stale();
    federation.inject(Fault::on("/exec/", Effect::Never).method("GET"));
    let said = Plugin::with_host(&federation).run();
    said.exits(0).does_not_report("answers from inside");
    assert_eq!(endpoints::endpoint(&federation, "one"), RIGHT, "{said}");
}

fn reads_the_certificate_from_the_container_where_its_port_refuses() {
    for member in [
        MemberSpec::k3d("one").subnet("172.20.0.0/16"),
        MemberSpec::kind("one").subnet("172.18.0.0/16"),
        MemberSpec::minikube("one"),
    ] {
        let federation = Federation::start(Spec {
            works: Works::Awake,
            ..Spec::with_members([member])
        })
        .unwrap();
        federation.member("one").set_refusing(true);
        let said = Plugin::with_host(&federation).args(&["-o", "json"]).run();
        said.exits(0);
        let steps = said.json()["steps"].to_string();
        let named = ["serving-kube-apiserver.crt", "apiserver.crt"];
        assert!(named.iter().any(|file| steps.contains(file)), "{said}");
    }
}

fn repairs_where_neither_port_nor_file_tell_the_certificate() {
    let federation = Federation::start(one()).unwrap();
    federation.member("one").set_refusing(true);
    federation.inject(Fault::on("/archive", Effect::Status(403)));
    let said = Plugin::with_host(&federation).run();
    said.exits(0)
        .reports("the serving certificate could not be read from here");
    assert_eq!(endpoints::endpoint(&federation, "one"), RIGHT, "{said}");
}

/// Two daemons have a cluster of one name: what answers at the port of this machine is the member, what Docker shows is not.
fn believes_the_containers_file_where_another_machine_answers_at_its_port() {
    let federation = Federation::start(Spec {
        works: Works::Awake,
        ..Spec::with_members([MemberSpec::k3d("one")
            .subnet("172.20.0.0/16")
            .joined_at(Endpoint::Published)])
    })
    .unwrap();
    federation.member("one").set_foreign_file();
    federation.forget_requests();
    let kubeconfig = federation.karmada_kubeconfig().display().to_string();
    let said = Plugin::on(&federation)
        .env("KUBECONFIG", kubeconfig)
        .args(&["--yes"])
        .run();
    said.exits(1).reports("authority-mismatch");
    assert_eq!(federation.writes(), [], "{said}");
}
