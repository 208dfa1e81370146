//! All clusters are brought to one list.

use karmada_lab::Backend;
use karmada_scenarios::scenario::{Scenario, anywhere};
use karmada_scenarios::state;
use serde_json::json;

use crate::airflow::{self, KEYS, Release};

pub(super) fn scenarios() -> Vec<Scenario> {
    anywhere![
        brings_all_clusters_to_the_keys_of_one,
        is_taken_back_as_a_whole,
        writes_nothing_without_consent,
        drops_the_other_keys_when_told_to,
        writes_nothing_where_a_secret_is_immutable,
        goes_through_the_control_plane_for_managed_secrets,
    ]
}

fn brings_all_clusters_to_the_keys_of_one(backend: &Backend) {
    let lab = airflow::with_chart_made_keys(backend);
    let sync = || airflow::plugin(&*lab).args(&["sync", "--from", "cluster-a", "--yes"]);
    let said = sync().run();
    said.exits(0).reports("Repaired, and verified");
    for member in ["cluster-a", "cluster-b"] {
        assert_eq!(airflow::list(&*lab, member), [KEYS[0], KEYS[1]], "{said}");
        let webserver = airflow::value(
            &*lab,
            member,
            "airflow-webserver-secret-key",
            "webserver-secret-key",
        );
        assert!(webserver.ends_with(&KEYS[0][..8]));
    }
    airflow::plugin(&*lab).run().exits(0);
    sync().run().exits(0).reports("Nothing to repair.");
}

fn is_taken_back_as_a_whole(backend: &Backend) {
    let lab = airflow::with_chart_made_keys(backend);
    let lists = || ["cluster-a", "cluster-b"].map(|member| airflow::list(&*lab, member));
    let before = (lists(), state::restorable(&*lab));
    let sync = airflow::plugin(&*lab).args(&["sync", "--from", "cluster-a", "--yes"]);
    let said = sync.run();
    said.exits(0);
    let backup = said
        .line_with("backup: ")
        .trim_start_matches("backup: ")
        .to_owned();
    let undo = airflow::plugin(&*lab).args(&["--yes", "--undo", &backup]);
    let said = undo.run();
    said.exits(0);
    assert_eq!(lists(), before.0, "{said}");
    state::is_same(&state::restorable(&*lab), &before.1, &said);
}

fn writes_nothing_without_consent(backend: &Backend) {
    let lab = airflow::with_chart_made_keys(backend);
    let before = state::of(&*lab);
    for words in [&["--dry-run"][..], &["--print-commands"], &[]] {
        let said = airflow::plugin(&*lab)
            .args(&["sync", "--from", "cluster-a"])
            .args(words)
            .run();
        said.exits(1);
        state::is_same(&state::of(&*lab), &before, &said);
    }
}

fn drops_the_other_keys_when_told_to(backend: &Backend) {
    let lab = airflow::with_chart_made_keys(backend);
    let sync = airflow::plugin(&*lab).args(&["sync", "--from", "cluster-b", "--replace", "--yes"]);
    let said = sync.run();
    said.exits(0);
    for member in ["cluster-a", "cluster-b"] {
        assert_eq!(airflow::list(&*lab, member), [KEYS[1]], "{said}");
    }
}

fn writes_nothing_where_a_secret_is_immutable(backend: &Backend) {
    let lab = airflow::with_chart_made_keys(backend);
    for name in ["airflow-fernet-key", "airflow-webserver-secret-key"] {
        let path = format!("/api/v1/namespaces/airflow/secrets/{name}");
        lab.member("cluster-b")
            .patch(&path, &json!({"immutable": true}))
            .unwrap();
    }
    let before = state::of(&*lab);
    let sync = airflow::plugin(&*lab).args(&["sync", "--from", "cluster-a", "--yes"]);
    let said = sync.run();
    said.exits(1).reports("[sync-blocked]").reports("immutable");
    state::is_same(&state::of(&*lab), &before, &said);
}

/// Karmada reverts what is written past it, so the template is changed; its copies follow, and a later run goes on.
fn goes_through_the_control_plane_for_managed_secrets(backend: &Backend) {
    let lab = airflow::ready(backend);
    airflow::install(&*lab, "cluster-a", &Release::of(&[KEYS[0]]));
    airflow::install(&*lab, "cluster-b", &Release::of(&[KEYS[1]]));
    let control_plane = lab.control_plane();
    let namespace = json!({"metadata": {"name": "airflow"}});
    control_plane
        .create("/api/v1/namespaces", &namespace)
        .unwrap();
    airflow::secret(
        &*control_plane,
        "airflow",
        "airflow-fernet-key",
        "fernet-key",
        KEYS[1],
    );
    let label = json!({"metadata": {"labels": {"karmada.io/managed": "true"}}});
    let path = "/api/v1/namespaces/airflow/secrets/airflow-fernet-key";
    lab.member("cluster-b").patch(path, &label).unwrap();
    let said = airflow::plugin(&*lab)
        .args(&["sync", "--from", "cluster-a", "--dry-run", "-o", "json"])
        .run();
    said.exits(1);
    let report = said.json();
    let writes: Vec<String> = report["steps"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|step| step["summary"].as_str().unwrap().starts_with("patch"))
        .map(|step| step["action"]["server"].to_string())
        .collect();
    assert!(writes.contains(&"\"control-plane\"".to_owned()), "{said}");
}
