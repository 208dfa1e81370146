//! Members and containers in states that cannot be repaired, or not yet.

use karmada_lab::{Endpoint, Federation, MemberSpec, Mode, Spec, User, Works};
use karmada_scenarios::plugin::Plugin;
use karmada_scenarios::scenario::{Scenario, embedded};
use karmada_scenarios::state::{self, secret_path};
use serde_json::json;

use crate::endpoints;

pub(super) fn scenarios() -> Vec<Scenario> {
    embedded![
        names_the_command_that_starts_a_stopped_member,
        names_the_command_that_thaws_a_paused_member,
        names_the_logs_of_a_member_that_crashes,
        reports_one_fault_for_a_stopped_member_whose_address_was_right,
        cannot_share_the_network_of_the_machine,
        cannot_share_no_network,
        does_not_examine_members_with_agents_unless_they_are_named,
        does_not_examine_members_that_are_deleted,
        finds_a_missing_endpoint,
        finds_an_endpoint_without_scheme,
        leaves_the_address_alone_while_the_secret_is_missing,
        leaves_the_address_alone_while_the_token_is_missing,
        leaves_the_address_alone_while_the_ca_is_missing,
        accepts_a_missing_ca_where_it_is_not_checked,
        finds_a_half_joined_member,
        does_not_know_what_it_may_not_read,
        reads_secrets_one_by_one_where_listing_is_forbidden,
        warns_of_a_proxy_that_refuses_its_token,
        warns_of_a_proxy_that_refuses_its_user,
        says_what_a_user_may_not_try,
        is_not_fooled_by_a_readiness_that_lags,
        is_not_fooled_by_an_empty_endpoint_while_ready,
        repairs_a_name_that_the_control_plane_does_not_know,
        finds_a_certificate_that_names_no_address,
        says_what_to_do_where_docker_is_not_needed,
    ]
}

fn one() -> Spec {
    Spec {
        works: Works::Awake,
        ..Spec::with_members([MemberSpec::k3d("one").subnet("172.20.0.0/16")])
    }
}

fn start(spec: Spec) -> Federation {
    Federation::start(spec).unwrap()
}

fn repaired() -> Federation {
    let federation = start(one());
    Plugin::on(&federation).args(&["--yes"]).run().exits(0);
    federation
}

/// Nothing is planned for the one member, and these are the findings, however consent is given.
#[track_caller]
fn only_finds(federation: &Federation, code: i32, findings: &[&str]) {
    federation.forget_requests();
    let said = Plugin::on(federation)
        .args(&["--yes", "--timeout", "1s", "-o", "json"])
        .run();
    let findings: Vec<String> = findings
        .iter()
        .map(|finding| format!("one {finding}"))
        .collect();
    assert_eq!(said.findings(), findings, "{said}");
    said.exits(code);
    assert_eq!(federation.writes(), [], "{said}");
}

const SERVER: &str = "k3d-one-server-0";
const SOON: std::time::Duration = std::time::Duration::from_secs(10);

fn names_the_command_that_starts_a_stopped_member() {
    let federation = start(one());
    federation.docker().stop(SERVER).unwrap();
    only_finds(
        &federation,
        1,
        &["endpoint-own-host", "container-not-running"],
    );
    Plugin::on(&federation)
        .run()
        .exits(1)
        .reports("hint: docker")
        .reports("start k3d-one-server-0");
}

fn names_the_command_that_thaws_a_paused_member() {
    let federation = start(one());
    federation.docker().pause(SERVER).unwrap();
    Plugin::on(&federation)
        .run()
        .exits(1)
        .reports("container-not-running")
        .reports("unpause k3d-one-server-0");
}

fn names_the_logs_of_a_member_that_crashes() {
    let federation = start(one());
    federation.docker().crash(SERVER).unwrap();
    Plugin::on(&federation)
        .run()
        .exits(1)
        .reports("container-not-running")
        .reports("logs --tail 50 k3d-one-server-0");
}

fn reports_one_fault_for_a_stopped_member_whose_address_was_right() {
    let federation = repaired();
    federation.docker().stop(SERVER).unwrap();
    assert!(federation.wait_for(SOON, |federation| {
        federation.readiness("one").unwrap()["status"] == "False"
    }));
    only_finds(&federation, 1, &["container-not-running"]);
}

fn cannot_share_the_network_of_the_machine() {
    let federation = start(Spec {
        works: Works::Awake,
        ..Spec::with_members([MemberSpec::k3d("one").no_load_balancer().network("host")])
    });
    let said = Plugin::on(&federation).run();
    said.exits(1).reports("container-without-network");
    assert_eq!(federation.writes(), []);
}

fn cannot_share_no_network() {
    let federation = start(one());
    federation.docker().disconnect("k3d-one", SERVER).unwrap();
    only_finds(
        &federation,
        1,
        &["endpoint-own-host", "container-without-network"],
    );
}

fn does_not_examine_members_with_agents_unless_they_are_named() {
    let mut member = MemberSpec::k3d("one").subnet("172.20.0.0/16");
    member.mode = Mode::Pull;
    let federation = start(Spec::with_members([member]));
    only_finds(&federation, 0, &["pull-mode"]);
}

fn does_not_examine_members_that_are_deleted() {
    let federation = start(one());
    federation
        .control_plane()
        .delete(&state::cluster_path("one"))
        .unwrap();
    only_finds(&federation, 0, &["being-deleted"]);
}

fn finds_a_missing_endpoint() {
    let federation = start(one());
    endpoints::set_endpoint(&federation, "one", "");
    let said = Plugin::on(&federation)
        .args(&["--dry-run", "-o", "json"])
        .run();
    assert_eq!(said.findings(), ["one endpoint-missing"]);
    assert_eq!(endpoints::planned(&said), ["https://172.20.0.3:6443"]);
}

/// The API server refuses it today; older versions did not.
fn finds_an_endpoint_without_scheme() {
    let federation = start(one());
    let refused = federation.control_plane().patch(
        &state::cluster_path("one"),
        &json!({"spec": {"apiEndpoint": "http://172.20.0.3:6443"}}),
    );
    assert!(refused.is_ok());
    let said = Plugin::on(&federation)
        .args(&["--dry-run", "-o", "json"])
        .run();
    assert_eq!(said.findings(), ["one endpoint-malformed"]);
    assert_eq!(endpoints::planned(&said), ["https://172.20.0.3:6443"]);
}

/// With the control plane's kubeconfig alone, so that no member can be asked for its credentials.
#[track_caller]
fn leaves_alone(federation: &Federation, code: &str) {
    federation.forget_requests();
    let kubeconfig = federation.karmada_kubeconfig().display().to_string();
    Plugin::on(federation)
        .env("KUBECONFIG", kubeconfig)
        .args(&["--yes", "--timeout", "1s"])
        .run()
        .exits(1)
        .reports(code);
    assert_eq!(federation.writes(), []);
}

fn leaves_the_address_alone_while_the_secret_is_missing() {
    let federation = start(one());
    federation
        .control_plane()
        .delete(&secret_path("one"))
        .unwrap();
    leaves_alone(&federation, "secret-missing");
}

fn leaves_the_address_alone_while_the_token_is_missing() {
    let federation = start(one());
    set_secret(&federation, &json!({"token": ""}));
    leaves_alone(&federation, "secret-token-missing");
}

fn leaves_the_address_alone_while_the_ca_is_missing() {
    let federation = start(one());
    set_secret(&federation, &json!({"caBundle": null}));
    leaves_alone(&federation, "secret-ca-missing");
}

fn set_secret(federation: &Federation, data: &serde_json::Value) {
    let patch = json!({"data": data});
    federation
        .control_plane()
        .patch(&secret_path("one"), &patch)
        .unwrap();
}

fn accepts_a_missing_ca_where_it_is_not_checked() {
    let federation = start(one());
    let without = json!({"data": {"caBundle": null}});
    federation
        .control_plane()
        .patch(&secret_path("one"), &without)
        .unwrap();
    state::patch_cluster(
        &federation,
        "one",
        &json!({"spec": {"insecureSkipTLSVerification": true}}),
    );
    Plugin::on(&federation)
        .run()
        .does_not_report("secret-ca-missing");
}

/// Nothing of its credentials is there, and the member cannot be asked.
fn finds_a_half_joined_member() {
    let federation = start(one());
    federation
        .control_plane()
        .delete(&secret_path("one"))
        .unwrap();
    state::patch_cluster(&federation, "one", &json!({"spec": {"secretRef": null}}));
    leaves_alone(&federation, "secret-not-referenced");
}

/// Somebody who may read clusters and use the proxy, but no secrets.
fn does_not_know_what_it_may_not_read() {
    let federation = repaired();
    let jane = user(
        &federation,
        &json!([
            {"apiGroups": ["cluster.karmada.io"], "resources": ["clusters"], "verbs": ["get", "list"]},
        ]),
    );
    Plugin::on(&federation)
        .env("KUBECONFIG", jane)
        .run()
        .exits(3)
        .reports("credentials-unreadable")
        .reports("the answer is unknown")
        .does_not_report("Nothing to repair");
}

fn reads_secrets_one_by_one_where_listing_is_forbidden() {
    let federation = repaired();
    let jane = user(
        &federation,
        &json!([
            {"apiGroups": ["cluster.karmada.io"], "resources": ["clusters"], "verbs": ["get", "list"]},
            {"apiGroups": ["cluster.karmada.io"], "resources": ["clusters/proxy"], "verbs": ["*"]},
            {"apiGroups": [""], "resources": ["secrets"], "resourceNames": ["one"], "verbs": ["get"]},
        ]),
    );
    Plugin::on(&federation)
        .env("KUBECONFIG", jane)
        .run()
        .exits(0)
        .does_not_report("credentials-unreadable");
}

/// The kubeconfig of jane, who may do just this.
fn user(federation: &Federation, rules: &serde_json::Value) -> String {
    let control_plane = federation.control_plane();
    let rbac = "/apis/rbac.authorization.k8s.io/v1";
    let role = json!({"metadata": {"name": "jane"}, "rules": rules});
    control_plane
        .create(&format!("{rbac}/clusterroles"), &role)
        .unwrap();
    let binding = json!({
        "metadata": {"name": "jane"}, "roleRef": {"kind": "ClusterRole", "name": "jane"},
        "subjects": [{"kind": "User", "name": "jane"}],
    });
    control_plane
        .create(&format!("{rbac}/clusterrolebindings"), &binding)
        .unwrap();
    let kubeconfig = control_plane
        .kubeconfig_for(User::new("jane", &[]))
        .unwrap();
    kubeconfig.display().to_string()
}

fn warns_of_a_proxy_that_refuses_its_token() {
    let federation = start(one());
    let garbage = json!({"data": {"token": "Z2FyYmFnZQ=="}});
    let impersonator = secret_path("one-impersonator");
    federation
        .control_plane()
        .patch(&impersonator, &garbage)
        .unwrap();
    Plugin::on(&federation)
        .args(&["--yes", "--no-delivery-check"])
        .run()
        .exits(0)
        .reports("proxy-unauthorized")
        .reports("karmada-grant-impersonate");
}

fn warns_of_a_proxy_that_refuses_its_user() {
    let federation = start(Spec {
        works: Works::Asleep,
        ..one()
    });
    Plugin::on(&federation)
        .args(&["--yes", "--no-delivery-check"])
        .run()
        .exits(0)
        .reports("proxy-forbidden")
        .reports("karmada-grant-impersonate");
    Plugin::on(&federation)
        .args(&["--no-delivery-check", "--fail-on", "warning"])
        .run()
        .exits(1)
        .reports("proxy-forbidden");
}

fn says_what_a_user_may_not_try() {
    let federation = start(one());
    let jane = user(
        &federation,
        &json!([
            {"apiGroups": ["cluster.karmada.io"], "resources": ["clusters"], "verbs": ["get", "list", "patch"]},
            {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get", "list"]},
        ]),
    );
    Plugin::on(&federation)
        .env("KUBECONFIG", jane)
        .args(&["--yes", "--no-delivery-check"])
        .run()
        .exits(0)
        .reports("proxy-not-allowed");
}

/// For 30 seconds and more, Ready speaks of the address of before.
fn is_not_fooled_by_a_readiness_that_lags() {
    let mut spec = one();
    spec.timing.failure_threshold = std::time::Duration::from_secs(60);
    let federation = start(spec);
    Plugin::on(&federation).args(&["--yes"]).run().exits(0);
    let port = federation.member("one").port();
    for endpoint in [
        format!("https://0.0.0.0:{port}"),
        "https://172.20.0.77:6443".to_owned(),
    ] {
        endpoints::set_endpoint(&federation, "one", &endpoint);
        assert_eq!(federation.readiness("one").unwrap()["status"], "True");
        let said = Plugin::on(&federation)
            .args(&["--dry-run", "-o", "json"])
            .run();
        said.exits(1);
        assert_eq!(
            endpoints::planned(&said),
            ["https://172.20.0.3:6443"],
            "{said}"
        );
    }
}

fn is_not_fooled_by_an_empty_endpoint_while_ready() {
    let mut spec = one();
    spec.timing.failure_threshold = std::time::Duration::from_secs(60);
    let federation = start(spec);
    Plugin::on(&federation).args(&["--yes"]).run().exits(0);
    endpoints::set_endpoint(&federation, "one", "");
    assert_eq!(federation.readiness("one").unwrap()["status"], "True");
    Plugin::on(&federation)
        .args(&["--dry-run"])
        .run()
        .exits(1)
        .reports("endpoint-missing");
}

/// A name that only the machine's own resolver knows.
fn repairs_a_name_that_the_control_plane_does_not_know() {
    for host in ["apiserver.cluster.local", "k3d-one-serverlb"] {
        let url = Endpoint::Url(format!("https://{host}:6443"));
        let federation = start(Spec {
            works: Works::Awake,
            ..Spec::with_members([MemberSpec::k3d("one")
                .subnet("172.20.0.0/16")
                .joined_at(url)])
        });
        let said = Plugin::on(&federation)
            .args(&["--dry-run", "-o", "json"])
            .run();
        assert_eq!(said.findings(), ["one endpoint-unknown-name"], "{said}");
        assert_eq!(
            endpoints::planned(&said),
            ["https://172.20.0.3:6443"],
            "{said}"
        );
    }
}

fn finds_a_certificate_that_names_no_address() {
    let federation = start(one());
    let member = federation.member("one");
    let kept: Vec<String> = member
        .names()
        .into_iter()
        .filter(|name| !name.starts_with("172."))
        .collect();
    member.set_names(kept);
    only_finds(
        &federation,
        1,
        &["endpoint-own-host", "certificate-names-no-address"],
    );
    Plugin::on(&federation)
        .run()
        .reports("tls-san")
        .reports("172.20.0.3");
}

fn says_what_to_do_where_docker_is_not_needed() {
    let federation = start(one());
    federation.docker().remove(SERVER).unwrap();
    federation.docker().remove("k3d-one-serverlb").unwrap();
    let said = Plugin::on(&federation).run();
    said.exits(1)
        .reports("container-not-found")
        .reports("--endpoint one=https://");
}
