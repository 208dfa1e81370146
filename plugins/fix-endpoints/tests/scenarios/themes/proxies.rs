//! Members behind a proxy that fails.

use karmada_lab::{Federation, MemberSpec, Spec, Works};
use karmada_scenarios::plugin::Plugin;
use karmada_scenarios::scenario::{Scenario, embedded};
use karmada_scenarios::state;
use serde_json::json;

pub(super) fn scenarios() -> Vec<Scenario> {
    embedded![
        removes_a_proxy_that_is_in_the_way,
        explains_a_proxy_where_nothing_answers_without_it,
        leaves_a_proxy_with_a_password_to_the_user,
        gives_a_proxy_back,
    ]
}

/// A member that was reached, until its kubeconfig's proxy was recorded for it.
fn behind(proxy: &str) -> Federation {
    let federation = Federation::start(Spec {
        works: Works::Awake,
        ..Spec::with_members([MemberSpec::k3d("one").subnet("172.20.0.0/16")])
    })
    .unwrap();
    Plugin::with_host(&federation).run().exits(0);
    set_proxy(&federation, proxy);
    federation
}

fn set_proxy(federation: &Federation, proxy: &str) {
    state::patch_cluster(federation, "one", &json!({"spec": {"proxyURL": proxy}}));
    state::wait_unready(federation, "one");
}

fn proxy(federation: &Federation) -> serde_json::Value {
    state::cluster(federation, "one")["spec"]["proxyURL"].clone()
}

fn removes_a_proxy_that_is_in_the_way() {
    for url in ["http://127.0.0.1:3128", "socks5://172.20.0.77:1080"] {
        let federation = behind(url);
        let said = Plugin::with_host(&federation).run();
        said.exits(0)
            .reports("proxy-url-in-the-way")
            .reports("remove spec.proxyURL")
            .reports("answers from inside k3d-karmada-host-server-0");
        assert_eq!(proxy(&federation), json!(null), "{said}");
        Plugin::with_host(&federation)
            .run()
            .exits(0)
            .reports("Nothing to repair.");
    }
}

fn explains_a_proxy_where_nothing_answers_without_it() {
    let federation = behind("http://172.20.0.77:3128");
    federation
        .docker()
        .disconnect("k3d-one", "k3d-karmada-host-server-0")
        .unwrap();
    federation.forget_requests();
    let said = Plugin::with_host(&federation).run();
    said.exits(1)
        .reports("proxy-url-failing")
        .reports("without it")
        .reports("/spec/proxyURL");
    assert_eq!(federation.writes(), [], "{said}");
}

fn leaves_a_proxy_with_a_password_to_the_user() {
    let federation = behind("http://me:hunter2-of-the-proxy@127.0.0.1:3128");
    federation.forget_requests();
    for format in ["table", "wide", "json", "yaml"] {
        let said = Plugin::with_host(&federation)
            .secret("hunter2-of-the-proxy")
            .args(&["-o", format])
            .run();
        said.exits(1).reports("proxy-url-failing");
    }
    assert_eq!(federation.writes(), []);
}

fn gives_a_proxy_back() {
    let url = "http://127.0.0.1:3128";
    let federation = behind(url);
    let said = Plugin::with_host(&federation).args(&["-o", "json"]).run();
    said.exits(0);
    let backup = said.json()["backup"].as_str().unwrap().to_owned();
    Plugin::with_host(&federation)
        .args(&["--undo", &backup, "--timeout", "1s"])
        .run()
        .reports("Taken back");
    assert_eq!(proxy(&federation), json!(url));
}
