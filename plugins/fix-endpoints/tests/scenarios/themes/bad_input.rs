//! Bad input gets a clear error, and nothing is written.

use std::path::PathBuf;

use karmada_lab::{Federation, Spec};
use karmada_scenarios::plugin::Plugin;
use karmada_scenarios::refusal::{kubeconfig, refuses};
use karmada_scenarios::scenario::{Scenario, embedded};

pub(super) fn scenarios() -> Vec<Scenario> {
    embedded![
        reads_a_kubeconfig_with_a_byte_order_mark,
        names_near_matches_of_an_unknown_cluster,
        lists_the_clusters_where_none_is_near,
        refuses_endpoints_that_are_none,
        warns_of_an_endpoint_that_is_the_own_host,
        refuses_an_endpoint_for_a_member_that_is_not_selected,
        does_not_repeat_a_password,
        says_that_docker_does_not_run,
        says_what_answers_instead_of_docker,
        refuses_two_daemons,
        refuses_flags_that_contradict_each_other,
        finds_relative_files_beside_the_kubeconfig,
        merges_several_kubeconfigs,
        refuses_a_context_of_another_member,
    ]
}

fn start() -> Federation {
    Federation::start(Spec::default()).unwrap()
}

/// As editors on Windows leave it.
fn reads_a_kubeconfig_with_a_byte_order_mark() {
    let federation = start();
    let text = std::fs::read_to_string(federation.kubeconfig()).unwrap();
    let path = kubeconfig(
        &federation,
        &format!("\u{feff}{}", text.replace('\n', "\r\n")),
    );
    Plugin::on(&federation)
        .args(&["--kubeconfig", &path])
        .run()
        .exits(1)
        .reports("endpoint-own-host");
}

fn names_near_matches_of_an_unknown_cluster() {
    let federation = start();
    for name in ["cluster-c", "clustera", "CLUSTER-A"] {
        let plugin = Plugin::on(&federation).args(&[name]);
        refuses(&federation, plugin, 2, &[name, "did you mean", "cluster-a"]);
    }
}

fn lists_the_clusters_where_none_is_near() {
    let federation = start();
    let plugin = Plugin::on(&federation).args(&["production"]);
    refuses(
        &federation,
        plugin,
        2,
        &["\"production\"", "cluster-a, cluster-b"],
    );
}

fn refuses_endpoints_that_are_none() {
    let federation = start();
    for (endpoint, reason) in [
        ("172.20.0.3:6443", "scheme"),
        ("localhost:6443", "scheme"),
        ("http://172.20.0.3:6443", "https"),
        ("https://", "host"),
        ("https://172.20.0.3:6443/prefix", "path"),
        ("https://172.20.0.3:6443?a=b", "query"),
        ("https://172.20.0.3:6443#a", "query"),
        ("https://fd00::3:6443", "IPv6"),
        ("https://172.20.0.3:99999", "port"),
        ("https://172.20.0.3:0", "port"),
        ("https://me:word@172.20.0.3:6443", "user"),
        ("", ""),
    ] {
        let given = format!("cluster-a={endpoint}");
        let plugin = Plugin::on(&federation).args(&["--endpoint", &given]);
        refuses(&federation, plugin, 2, &["cluster-a", reason, "hint: "]);
    }
    let plugin = Plugin::on(&federation).args(&["--endpoint", "https://172.20.0.3:6443"]);
    refuses(&federation, plugin, 2, &["needs the name of a cluster"]);
}

/// Right only where the control plane runs on the network of its machine.
fn warns_of_an_endpoint_that_is_the_own_host() {
    let federation = start();
    for host in ["0.0.0.0", "127.0.0.1", "localhost", "[::1]"] {
        let given = format!("cluster-a=https://{host}:6443");
        Plugin::on(&federation)
            .args(&["cluster-a", "--endpoint", &given])
            .run()
            .exits(1)
            .reports("caution: it leads the control plane back to itself");
    }
}

fn refuses_an_endpoint_for_a_member_that_is_not_selected() {
    let federation = start();
    let given = "cluster-a=https://172.20.0.3:6443";
    let plugin = Plugin::on(&federation).args(&["cluster-b", "--endpoint", given]);
    refuses(
        &federation,
        plugin,
        2,
        &["cluster-a", "not among the selected"],
    );
    let plugin = Plugin::on(&federation).args(&["--endpoint", "nobody=https://172.20.0.3:6443"]);
    refuses(&federation, plugin, 2, &["\"nobody\""]);
}

fn does_not_repeat_a_password() {
    let federation = start();
    let given = "cluster-a=https://me:hunter2@172.20.0.3:6443";
    let said = Plugin::on(&federation).args(&["--endpoint", given]).run();
    said.exits(2)
        .does_not_tell("hunter2")
        .does_not_report("hunter2");
}

fn says_that_docker_does_not_run() {
    let federation = start();
    let said = Plugin::on(&federation)
        .env("DOCKER_HOST", "unix:///nowhere/docker.sock")
        .args(&["--yes", "--timeout", "1s"])
        .run();
    said.exits(1)
        .reports("docker-unreadable")
        .reports("/nowhere/docker.sock");
    assert_eq!(federation.writes(), []);
}

/// Kubernetes, say, which also speaks HTTP.
fn says_what_answers_instead_of_docker() {
    let federation = start();
    let port = federation.control_plane().port();
    let said = Plugin::on(&federation)
        .env("DOCKER_HOST", format!("tcp://127.0.0.1:{port}"))
        .args(&["--yes", "--timeout", "1s"])
        .run();
    said.exits(1).reports("docker-unreadable");
    assert_eq!(federation.writes(), []);
}

fn refuses_two_daemons() {
    let federation = start();
    let plugin =
        Plugin::on(&federation).args(&["--docker-host", "unix:///a", "--docker-context", "b"]);
    refuses(&federation, plugin, 2, &["cannot specify both"]);
    let plugin = Plugin::on(&federation)
        .without("DOCKER_HOST")
        .args(&["--docker-context", "nowhere"]);
    federation.forget_requests();
    let said = plugin.args(&["--yes", "--timeout", "1s"]).run();
    assert!(
        said.stdout.contains("nowhere") || said.stderr.contains("nowhere"),
        "{said}"
    );
    assert_eq!(federation.writes(), []);
}

fn refuses_flags_that_contradict_each_other() {
    let federation = start();
    for flags in [
        &["--check-delivery", "--no-delivery-check"][..],
        &["--cluster-context", "k3d-cluster-a"],
        &["--cluster-context", "nobody=k3d-cluster-a"],
    ] {
        let said = Plugin::on(&federation).args(flags).run();
        said.exits(2).tells("error: ");
    }
    assert_eq!(federation.writes(), []);
}

/// Wherever the plugin runs.
fn finds_relative_files_beside_the_kubeconfig() {
    let federation = start();
    let folder = federation.directory().join("elsewhere");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(
        folder.join("ca.crt"),
        federation.control_plane().authority(),
    )
    .unwrap();
    let text = |file: &str| {
        format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: c\n\
             clusters: [{{name: c, cluster: {{server: 'https://127.0.0.1:{}', certificate-authority: {file}}}}}]\n\
             users: [{{name: c, user: {{token: not-a-token}}}}]\n\
             contexts: [{{name: c, context: {{cluster: c, user: c}}}}]\n",
            federation.control_plane().port()
        )
    };
    let given = folder.join("config");
    let run = |file: &str| {
        std::fs::write(&given, text(file)).unwrap();
        Plugin::on(&federation)
            .args(&["--kubeconfig", given.to_str().unwrap()])
            .run()
    };
    run("ca.crt").exits(3).tells("nauthorized");
    let missing: PathBuf = folder.join("gone.crt");
    run("gone.crt").tells(missing.to_str().unwrap());
}

/// One file holds the cluster, one the user, one the context, and one is not there.
fn merges_several_kubeconfigs() {
    let federation = start();
    let text = std::fs::read_to_string(federation.karmada_kubeconfig()).unwrap();
    let parts: serde_json::Value = serde_saphyr::from_str(&text).unwrap();
    let mut files = vec!["/nowhere/config".to_owned()];
    for key in ["clusters", "users", "contexts"] {
        let part = serde_json::json!({
            "apiVersion": "v1", "kind": "Config", key: parts[key],
            "current-context": if key == "contexts" { parts["current-context"].clone() } else { "".into() },
        });
        let path = federation.directory().join(key);
        std::fs::write(&path, part.to_string()).unwrap();
        files.push(path.display().to_string());
    }
    Plugin::on(&federation)
        .env("KUBECONFIG", files.join(":"))
        .run()
        .exits(1)
        .reports("endpoint-own-host");
}

/// Its kube-system has another UID than the one that is recorded.
fn refuses_a_context_of_another_member() {
    let federation = start();
    Plugin::with_host(&federation).run().exits(0);
    let wrong = [
        "--cluster-context",
        "cluster-a=k3d-cluster-b",
        "--check-delivery",
        "--yes",
    ];
    let said = Plugin::on(&federation).args(&wrong).run();
    assert!(said.code != Some(0), "{said}");
    assert!(
        said.stdout.contains("k3d-cluster-b") || said.stderr.contains("k3d-cluster-b"),
        "{said}"
    );
}
