//! What is missing, wrong, forbidden or odd.

use karmada_lab::{Backend, Federation, Lab};
use karmada_scenarios::scenario::{Scenario, anywhere, embedded};
use karmada_scenarios::state;

use crate::airflow::{self, KEYS, Release};

pub(super) fn scenarios() -> Vec<Scenario> {
    let mut scenarios = anywhere![
        says_why_airflow_cannot_use_a_key,
        names_keys_that_everybody_knows,
        lists_the_keys_that_are_there_instead,
        takes_another_text_of_the_same_key_for_the_same,
        tells_releases_of_one_namespace_apart,
        pairs_releases_of_different_names_when_told_to,
        finds_no_airflow_where_there_is_none,
    ];
    scenarios.extend(embedded![
        is_not_sure_of_a_member_that_is_away,
        knows_no_cluster_of_that_name
    ]);
    scenarios
}

fn set(lab: &dyn Lab, text: &str) {
    airflow::secret(
        &*lab.member("cluster-b"),
        "airflow",
        "airflow-fernet-key",
        "fernet-key",
        text,
    );
}

fn says_why_airflow_cannot_use_a_key(backend: &Backend) {
    let lab = airflow::with_one_key(backend);
    let table = [
        ("deadbeef", "key-placeholder", "placeholder"),
        ("<no value>", "key-placeholder", "placeholder"),
        (&KEYS[0][..43], "key-invalid", "the = at its end is missing"),
        (
            "YTB4SGMxUTNjRmR0UTNoMlRubzBVbUk1V1daS1pESjFSV2cyUVhFNFUzYz0=",
            "key-invalid",
            "once too often",
        ),
        (
            "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
            "key-invalid",
            "64 hexadecimal digits",
        ),
        (
            "abcdefghijklmnopqrstuvwxyzABCDEF",
            "key-invalid",
            "never encoded",
        ),
        ("", "key-empty", "in clear"),
    ];
    for (text, code, reason) in table {
        set(&*lab, text);
        let said = airflow::plugin(&*lab).run();
        said.exits(1).reports(&format!("[{code}]")).reports(reason);
    }
    set(&*lab, &format!("{},", KEYS[0]));
    let said = airflow::plugin(&*lab).run();
    said.exits(1).reports("part 2: a part of the list is empty");
}

fn names_keys_that_everybody_knows(backend: &Backend) {
    let lab = airflow::ready(backend);
    for member in ["cluster-a", "cluster-b"] {
        let release = Release {
            webserver: "THIS IS UNSAFE!".to_owned(),
            ..Release::of(&["7T512UXSSmBOkpWimFHIVb8jK6lfmSAvx4mO6Arehnc="])
        };
        airflow::install(&*lab, member, &release);
    }
    let said = airflow::plugin(&*lab).run();
    said.exits(1)
        .reports("[key-public]")
        .does_not_report("keys-disjoint");
}

fn lists_the_keys_that_are_there_instead(backend: &Backend) {
    let lab = airflow::with_one_key(backend);
    let path = "/api/v1/namespaces/airflow/secrets/airflow-fernet-key";
    lab.member("cluster-b").delete(path).unwrap();
    airflow::plugin(&*lab)
        .run()
        .exits(1)
        .reports("which is not there");
    airflow::secret(
        &*lab.member("cluster-b"),
        "airflow",
        "airflow-fernet-key",
        "value",
        KEYS[0],
    );
    let said = airflow::plugin(&*lab).run();
    said.exits(1)
        .reports("[key-missing]")
        .reports("which has value");
    let sync = airflow::plugin(&*lab).args(&["sync", "--from", "cluster-a", "--yes"]);
    sync.run().exits(0);
    assert_eq!(airflow::list(&*lab, "cluster-b"), [KEYS[0]]);
}

fn takes_another_text_of_the_same_key_for_the_same(backend: &Backend) {
    let lab = airflow::with_one_key(backend);
    set(&*lab, &format!(" \"{}\"\r\n", KEYS[0]));
    let said = airflow::plugin(&*lab).args(&["-o", "json"]).run();
    let codes = said.findings();
    assert!(
        codes.iter().any(|code| code.ends_with("key-not-canonical")),
        "{said}"
    );
    assert!(!codes.iter().any(|code| code.contains("keys-")), "{said}");
}

fn tells_releases_of_one_namespace_apart(backend: &Backend) {
    let lab = airflow::with_one_key(backend);
    let other = Release {
        name: "other".to_owned(),
        ..Release::of(&[KEYS[1]])
    };
    airflow::install(&*lab, "cluster-a", &other);
    let said = airflow::plugin(&*lab).run();
    said.exits(0).reports("[release-unpaired]");
    let sync = ["sync", "--from", "cluster-a"];
    airflow::plugin(&*lab)
        .args(&sync)
        .args(&["--yes"])
        .run()
        .exits(1)
        .reports("[release-ambiguous]");
    let said = airflow::plugin(&*lab)
        .args(&["--release", "airflow"])
        .args(&sync)
        .run();
    said.exits(0).reports("Nothing to repair.");
}

fn pairs_releases_of_different_names_when_told_to(backend: &Backend) {
    let lab = airflow::ready(backend);
    airflow::install(&*lab, "cluster-a", &Release::of(&[KEYS[0]]));
    for name in ["airflow2", "other"] {
        let release = Release {
            namespace: "airflow-prod".to_owned(),
            name: name.to_owned(),
            ..Release::of(&[KEYS[0]])
        };
        airflow::install(&*lab, "cluster-b", &release);
    }
    let said = airflow::plugin(&*lab)
        .args(&["--map", "cluster-b=airflow-prod/airflow2"])
        .run();
    said.exits(0).reports("airflow2").does_not_report("other");
}

fn finds_no_airflow_where_there_is_none(backend: &Backend) {
    let lab = airflow::ready(backend);
    airflow::plugin(&*lab)
        .run()
        .exits(3)
        .reports("[airflow-nowhere]");
    airflow::install(&*lab, "cluster-a", &Release::of(&[KEYS[0]]));
    let said = airflow::plugin(&*lab).run();
    said.exits(0).reports("[airflow-absent]");
}

/// It may use another key.
fn is_not_sure_of_a_member_that_is_away() {
    let federation = Federation::start(karmada_lab::Spec::default()).unwrap();
    let lab: &dyn Lab = &federation;
    let before = state::of(lab);
    // No context leads past the control plane.
    let plugin = || {
        let kubeconfig = lab.karmada_kubeconfig().display().to_string();
        airflow::plugin(lab).env("KUBECONFIG", kubeconfig)
    };
    plugin().run().exits(3).reports("[cluster-unreadable]");
    let said = plugin().args(&["rotate", "--yes"]).run();
    assert!(matches!(said.code, Some(1 | 3)), "{said}");
    state::is_same(&state::of(lab), &before, &said);
}

fn knows_no_cluster_of_that_name() {
    let federation = Federation::start(karmada_lab::Spec::default()).unwrap();
    for words in [
        &["cluster-x"][..],
        &["sync", "--from", "cluster-x"],
        &["--map", "cluster-x=a/b"],
    ] {
        airflow::plugin(&federation)
            .args(words)
            .run()
            .exits(2)
            .tells("cluster-x");
    }
}
