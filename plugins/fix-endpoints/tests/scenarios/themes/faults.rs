//! Servers that fail: what was done is told, and nothing is claimed that was not seen.

use std::time::Duration;

use karmada_lab::{Effect, Fault, Federation, MemberSpec, Spec, Works};
use karmada_scenarios::plugin::Plugin;
use karmada_scenarios::said::Said;
use karmada_scenarios::scenario::{Scenario, embedded};
use karmada_scenarios::state::cluster_path;

use crate::endpoints;

pub(super) fn scenarios() -> Vec<Scenario> {
    embedded![
        does_not_know_what_an_api_server_that_fails_would_say,
        gives_up_on_an_api_server_that_is_down,
        gives_up_on_an_api_server_that_is_slow,
        gives_up_on_an_api_server_that_never_answers,
        is_patient_with_an_api_server_that_is_busy,
        does_not_know_what_a_garbled_answer_says,
        knows_what_it_may_not_list,
        does_not_know_secrets_that_cannot_be_read,
        repairs_although_secrets_cannot_be_read,
        does_not_know_docker_when_it_fails,
        gives_up_on_a_docker_that_never_answers,
        writes_nothing_that_it_cannot_back_up,
        says_that_nothing_was_written_when_the_first_write_is_refused,
        goes_on_with_other_members_when_a_connection_fails,
        does_not_patch_a_member_whose_connection_failed,
        tells_a_refused_patch,
        tells_a_patch_that_was_cut_before_it_was_done,
        sees_that_a_patch_was_done_whose_answer_was_lost,
        sees_that_a_connection_was_made_whose_answer_was_lost,
        verifies_through_a_time_of_failures,
        does_not_claim_a_repair_that_it_cannot_verify,
        tells_a_refused_restart,
        cannot_prove_without_the_right_to_make_works,
        names_what_it_had_to_leave_behind,
        shows_the_warnings_of_the_server_once,
        tells_a_proxy_that_fails_from_one_that_refuses,
        says_that_the_cluster_group_is_unavailable,
        does_not_wait_for_members_whose_patch_was_refused,
    ]
}

const CLUSTERS: &str = "/apis/cluster.karmada.io/v1alpha1/clusters";
const KARMADA: &str = "karmada-apiserver";

fn one() -> Federation {
    Federation::start(Spec {
        works: Works::Awake,
        ..Spec::with_members([MemberSpec::k3d("one").subnet("172.20.0.0/16")])
    })
    .unwrap()
}

/// A run with consent that meets this fault.
fn meets(federation: &Federation, fault: Fault) -> Said {
    federation.inject(fault);
    let said = Plugin::on(federation)
        .args(&["--yes", "--timeout", "2s", "--request-timeout", "8s"])
        .run();
    federation.heal();
    said
}

#[track_caller]
fn wrote_nothing(federation: &Federation, said: &Said) {
    let endpoint = endpoints::endpoint(federation, "one");
    assert!(endpoint.starts_with("https://0.0.0.0:"), "{said}");
    let host = federation.docker().networks("k3d-karmada-host-server-0");
    assert_eq!(host, ["k3d-karmada-host"], "{said}");
}

fn does_not_know_what_an_api_server_that_fails_would_say() {
    for code in [401, 404, 500, 503, 504] {
        let federation = one();
        let said = meets(
            &federation,
            Fault::on(CLUSTERS, Effect::Status(code)).at(KARMADA),
        );
        said.exits(3)
            .tells("error: ")
            .does_not_report("Nothing to repair");
        wrote_nothing(&federation, &said);
    }
}

fn gives_up_on_an_api_server_that_is_down() {
    let federation = one();
    federation.control_plane().set_refusing(true);
    let said = Plugin::on(&federation).args(&["--yes"]).run();
    said.exits(3)
        .tells("error: ")
        .tells("127.0.0.1")
        .tells("refused");
    wrote_nothing(&federation, &said);
}

fn gives_up_on_an_api_server_that_is_slow() {
    let federation = one();
    let said = meets(
        &federation,
        Fault::on(CLUSTERS, Effect::Slow(Duration::from_secs(30))),
    );
    said.exits(3).tells("error: ").tells("8s");
    wrote_nothing(&federation, &said);
}

fn gives_up_on_an_api_server_that_never_answers() {
    let federation = one();
    let said = meets(&federation, Fault::on("/", Effect::Never).at(KARMADA));
    said.exits(3).tells("error: ");
    wrote_nothing(&federation, &said);
}

/// 429 with `Retry-After`, and 503 while it starts.
fn is_patient_with_an_api_server_that_is_busy() {
    for effect in [Effect::RetryAfter(429, 1), Effect::RetryAfter(503, 1)] {
        let federation = one();
        federation.inject(
            Fault::on(CLUSTERS, effect)
                .at(KARMADA)
                .method("GET")
                .times(1),
        );
        Plugin::on(&federation)
            .run()
            .exits(1)
            .reports("endpoint-own-host");
    }
}

fn does_not_know_what_a_garbled_answer_says() {
    for effect in [
        Effect::Truncated,
        Effect::MalformedJson,
        Effect::ResetBefore,
        Effect::ResetAfter,
    ] {
        let federation = one();
        let said = meets(
            &federation,
            Fault::on(CLUSTERS, effect).at(KARMADA).method("GET"),
        );
        said.exits(3).tells("error: ");
        wrote_nothing(&federation, &said);
    }
}

fn knows_what_it_may_not_list() {
    let federation = one();
    let said = meets(
        &federation,
        Fault::on(CLUSTERS, Effect::Status(403)).at(KARMADA),
    );
    said.exits(3).tells("forbidden").tells("hint: ");
    wrote_nothing(&federation, &said);
}

fn does_not_know_secrets_that_cannot_be_read() {
    for effect in [
        Effect::Status(500),
        Effect::Status(403),
        Effect::MalformedJson,
        Effect::Never,
    ] {
        let federation = one();
        Plugin::on(&federation).args(&["--yes"]).run().exits(0);
        let said = meets(&federation, Fault::on("/secrets", effect).at(KARMADA));
        said.exits(3)
            .reports("credentials-unreadable")
            .does_not_report("Nothing to repair");
    }
}

/// Without the stored CA, the name of the cluster decides; what was not read stays unknown.
fn repairs_although_secrets_cannot_be_read() {
    let federation = one();
    federation.inject(Fault::on("/secrets", Effect::Status(403)).at(KARMADA));
    Plugin::on(&federation)
        .args(&["--yes", "--no-delivery-check"])
        .run()
        .exits(3)
        .reports("credentials-unreadable");
    assert_eq!(
        endpoints::endpoint(&federation, "one"),
        "https://172.20.0.3:6443"
    );
}

fn does_not_know_docker_when_it_fails() {
    for (path, effect) in [
        ("/containers/json", Effect::Status(500)),
        ("/networks", Effect::Status(500)),
        ("/containers/json", Effect::Status(403)),
        ("/containers/json", Effect::MalformedJson),
        ("/containers/json", Effect::Truncated),
        ("/containers/json", Effect::ResetBefore),
    ] {
        let federation = one();
        let said = meets(&federation, Fault::on(path, effect).at("docker"));
        said.exits(1).reports("docker-unreadable");
        wrote_nothing(&federation, &said);
    }
}

fn gives_up_on_a_docker_that_never_answers() {
    let federation = one();
    let said = meets(&federation, Fault::on("/", Effect::Never).at("docker"));
    said.exits(1).reports("docker-unreadable");
    wrote_nothing(&federation, &said);
}

fn writes_nothing_that_it_cannot_back_up() {
    let federation = one();
    let said = meets(
        &federation,
        Fault::on(&cluster_path("one"), Effect::Status(500)).method("GET"),
    );
    said.exits(1)
        .tells("cannot back up")
        .tells("nothing was written");
    wrote_nothing(&federation, &said);
}

/// The member is on a network of the control plane already, so the patch is the first write.
fn says_that_nothing_was_written_when_the_first_write_is_refused() {
    let federation = one();
    federation
        .docker()
        .connect("k3d-one", "k3d-karmada-host-server-0", None)
        .unwrap();
    let said = meets(
        &federation,
        Fault::on(&cluster_path("one"), Effect::Status(403)).method("PATCH"),
    );
    said.exits(1)
        .tells("refused")
        .reports("Nothing was written")
        .does_not_tell("--undo");
    assert!(endpoints::endpoint(&federation, "one").starts_with("https://0.0.0.0:"));
}

fn goes_on_with_other_members_when_a_connection_fails() {
    let federation = Federation::start(Spec {
        works: Works::Awake,
        ..Spec::default()
    })
    .unwrap();
    let fault = Fault::on("/connect", Effect::Status(500))
        .at("docker")
        .times(1);
    let said = meets(&federation, fault);
    said.exits(4).tells("failed").reports("cluster-a");
    assert!(
        endpoints::endpoint(&federation, "cluster-a").starts_with("https://0.0.0.0:"),
        "{said}"
    );
    assert_eq!(
        endpoints::endpoint(&federation, "cluster-b"),
        "https://172.21.0.3:6443"
    );
}

fn does_not_patch_a_member_whose_connection_failed() {
    for effect in [
        Effect::Status(403),
        Effect::Status(404),
        Effect::Status(409),
        Effect::Status(500),
        Effect::ResetBefore,
        Effect::Never,
    ] {
        let federation = one();
        let said = meets(&federation, Fault::on("/connect", effect).at("docker"));
        said.tells("skipped: an earlier step of cluster/one failed");
        assert!(matches!(said.code, Some(1 | 4)), "{said}");
        wrote_nothing(&federation, &said);
    }
}

fn tells_a_refused_patch() {
    for code in [400, 401, 403, 409, 422, 500, 503] {
        let federation = one();
        let said = meets(
            &federation,
            Fault::on(&cluster_path("one"), Effect::Status(code)).method("PATCH"),
        );
        // The network was connected before.
        said.exits(4)
            .tells("--undo")
            .does_not_report("Repaired")
            .reports("1 of 2 steps");
        assert!(
            endpoints::endpoint(&federation, "one").starts_with("https://0.0.0.0:"),
            "{said}"
        );
    }
}

fn tells_a_patch_that_was_cut_before_it_was_done() {
    let federation = one();
    let said = meets(
        &federation,
        Fault::on(&cluster_path("one"), Effect::ResetBefore).method("PATCH"),
    );
    said.exits(4)
        .tells("was read again and is unchanged")
        .does_not_report("Repaired");
    assert!(
        endpoints::endpoint(&federation, "one").starts_with("https://0.0.0.0:"),
        "{said}"
    );
}

fn sees_that_a_patch_was_done_whose_answer_was_lost() {
    for effect in [Effect::ResetAfter, Effect::Truncated, Effect::MalformedJson] {
        let federation = one();
        federation.inject(
            Fault::on(&cluster_path("one"), effect)
                .method("PATCH")
                .times(1),
        );
        Plugin::on(&federation)
            .args(&["--yes"])
            .run()
            .exits(0)
            .tells("applied")
            .reports("Repaired, and proven");
        assert_eq!(
            endpoints::endpoint(&federation, "one"),
            "https://172.20.0.3:6443"
        );
    }
}

fn sees_that_a_connection_was_made_whose_answer_was_lost() {
    let member = MemberSpec::k3d("one").subnet("172.20.0.0/16").user_subnet();
    let federation = Federation::start(Spec {
        works: Works::Awake,
        ..Spec::with_members([member])
    })
    .unwrap();
    federation.inject(Fault::on("/connect", Effect::ResetAfter).at("docker"));
    Plugin::on(&federation)
        .args(&["--yes"])
        .run()
        .exits(0)
        .reports("Repaired, and proven");
}

fn verifies_through_a_time_of_failures() {
    let federation = one();
    // The second LIST and those after it are of the verification.
    federation.inject(
        Fault::on("clusters?", Effect::Status(503))
            .method("GET")
            .after(1)
            .times(3),
    );
    federation.inject(
        Fault::on("clusters", Effect::ResetBefore)
            .method("GET")
            .after(9)
            .times(2),
    );
    Plugin::on(&federation)
        .args(&["--yes", "--no-delivery-check"])
        .run()
        .exits(0)
        .reports("Repaired, and verified");
}

fn does_not_claim_a_repair_that_it_cannot_verify() {
    let federation = one();
    // Everything is readable until the patch is sent.
    federation.inject(
        Fault::on("v1alpha1/clusters", Effect::Status(503))
            .method("GET")
            .after(2),
    );
    let said = Plugin::on(&federation)
        .args(&["--yes", "--timeout", "2s"])
        .run();
    said.exits(4)
        .reports("Not proven")
        .does_not_report("Repaired");
}

fn tells_a_refused_restart() {
    let federation = Federation::start(Spec::with_members([
        MemberSpec::k3d("one").subnet("172.20.0.0/16")
    ]))
    .unwrap();
    let fault = Fault::on(
        "/deployments/karmada-controller-manager",
        Effect::Status(403),
    )
    .method("PATCH");
    federation.inject(fault);
    Plugin::with_host(&federation)
        .args(&["--timeout", "3s"])
        .run()
        .exits(4)
        .does_not_report("Repaired, and");
    assert!(endpoints::unproven(&federation, "one"));
}

fn cannot_prove_without_the_right_to_make_works() {
    let federation = one();
    federation.inject(Fault::on("/works", Effect::Status(403)).method("POST"));
    Plugin::on(&federation)
        .args(&["--yes", "--timeout", "4s"])
        .run()
        .exits(4)
        .reports("could not be proven")
        .reports("no Work can be made");
    assert!(endpoints::unproven(&federation, "one"));
}

fn names_what_it_had_to_leave_behind() {
    let federation = one();
    federation.inject(Fault::on("/works/karmada-repair", Effect::Status(500)).method("DELETE"));
    Plugin::on(&federation)
        .args(&["--yes", "--timeout", "4s"])
        .run()
        .exits(4)
        .reports("left behind")
        .reports("karmada-repair-delivery-");
}

fn shows_the_warnings_of_the_server_once() {
    let federation = one();
    let warning = Effect::Warning("clusters are old".to_owned());
    federation.inject(Fault::on(CLUSTERS, warning).at(KARMADA));
    let said = Plugin::on(&federation).run();
    assert_eq!(
        said.stderr.matches("Warning: clusters are old").count(),
        1,
        "{said}"
    );
}

fn tells_a_proxy_that_fails_from_one_that_refuses() {
    let federation = one();
    Plugin::on(&federation).args(&["--yes"]).run().exits(0);
    for (code, message, said) in [
        (
            503,
            "error trying to reach service: dial tcp 172.20.0.3:6443: i/o timeout",
            "proxy-failed",
        ),
        (
            503,
            "error trying to reach service: x509: certificate signed by unknown authority",
            "proxy-failed",
        ),
        (401, "Unauthorized", "proxy-unauthorized"),
        (403, "forbidden: by the member", "proxy-forbidden"),
    ] {
        federation.inject(Fault::on(
            "/proxy/readyz",
            Effect::Message(code, message.to_owned()),
        ));
        Plugin::on(&federation).run().reports(said);
        federation.heal();
    }
}

/// karmada-aggregated-apiserver is down: the group is there, and answers nothing.
fn says_that_the_cluster_group_is_unavailable() {
    let federation = one();
    let said = meets(
        &federation,
        Fault::on("/apis/cluster.karmada.io", Effect::Status(503)).at(KARMADA),
    );
    said.exits(3)
        .tells("error: ")
        .does_not_tell("not a Karmada control plane");
    wrote_nothing(&federation, &said);
}

fn does_not_wait_for_members_whose_patch_was_refused() {
    let federation = Federation::start(Spec {
        works: Works::Awake,
        ..Spec::default()
    })
    .unwrap();
    federation.inject(Fault::on(&cluster_path("cluster-b"), Effect::Status(403)).method("PATCH"));
    let began = std::time::Instant::now();
    Plugin::on(&federation)
        .args(&["--yes", "--timeout", "60s"])
        .run()
        .exits(4)
        .reports("cluster/cluster-a: proven");
    assert!(began.elapsed() < Duration::from_secs(30));
}
