//! What is said of keys, and that nothing else is said of them.

use karmada_lab::Backend;
use karmada_scenarios::scenario::{Scenario, anywhere, embedded};
use karmada_scenarios::state;
use serde_json::json;

use crate::airflow::{self, KEYS, Release};

pub(super) fn scenarios() -> Vec<Scenario> {
    let mut scenarios = anywhere![
        finds_that_chart_made_keys_differ,
        finds_nothing_where_keys_are_one,
        shows_lists_by_letters,
        names_what_a_standby_lacks,
    ];
    // API servers before 1.22, as the real backend's, do not tell that the same writer changed a value again.
    scenarios.extend(embedded![says_that_pods_are_older_than_their_secret]);
    scenarios
}

fn finds_that_chart_made_keys_differ(backend: &Backend) {
    let lab = airflow::with_chart_made_keys(backend);
    let before = state::of(&*lab);
    let said = airflow::plugin(&*lab).run();
    said.exits(1)
        .reports("[keys-disjoint]")
        .reports("[secrets-differ]")
        .reports("raise InvalidToken on what the other writes")
        .reports("sync --from cluster-a");
    state::is_same(&state::of(&*lab), &before, &said);
    // The same without a verb, with it, and with names.
    for words in [
        &["compare"][..],
        &["cluster-a", "cluster-b"],
        &["-C", "cluster-a,cluster-b"],
    ] {
        let again = airflow::plugin(&*lab).args(words).run();
        assert_eq!(again.stdout, said.stdout);
    }
}

fn finds_nothing_where_keys_are_one(backend: &Backend) {
    let lab = airflow::with_one_key(backend);
    let said = airflow::plugin(&*lab).run();
    said.exits(0)
        .reports("healthy")
        .reports("Nothing to repair.");
}

fn shows_lists_by_letters(backend: &Backend) {
    let lab = airflow::ready(backend);
    airflow::install(&*lab, "cluster-a", &Release::of(&[KEYS[0], KEYS[1]]));
    airflow::install(&*lab, "cluster-b", &Release::of(&[KEYS[1], KEYS[0]]));
    let said = airflow::plugin(&*lab).run();
    said.exits(1)
        .reports("A,B")
        .reports("B,A")
        .reports("[keys-same-set]");
}

fn names_what_a_standby_lacks(backend: &Backend) {
    let lab = airflow::ready(backend);
    airflow::install(&*lab, "cluster-a", &Release::of(&[KEYS[0]]));
    let standby = Release {
        components: vec!["scheduler"],
        ..Release::of(&[KEYS[0]])
    };
    airflow::install(&*lab, "cluster-b", &standby);
    let path = "/apis/apps/v1/namespaces/airflow/deployments/airflow-scheduler";
    let patch = json!([{"op": "remove", "path": "/spec/template/spec/containers/0/env/1"}]);
    lab.member("cluster-b").json_patch(path, &patch).unwrap();
    airflow::wait_rolled_out(&*lab, "cluster-b", "airflow");
    let said = airflow::plugin(&*lab).run();
    said.exits(0).reports("[key-not-read]");
}

fn says_that_pods_are_older_than_their_secret() {
    let backends = karmada_lab::backends();
    let embedded = backends.iter().find(|backend| backend.name == "embedded");
    let lab = airflow::with_one_key(embedded.unwrap());
    let path = "/api/v1/namespaces/airflow/secrets/airflow-fernet-key";
    for member in ["cluster-a", "cluster-b"] {
        let cluster = lab.member(member);
        let mut value = [KEYS[1], KEYS[2]].into_iter().cycle();
        // Times have whole seconds, and the Secret must not have been made in this one.
        let is_later = lab.wait_for(lab.patience(), || {
            let value = value.next().unwrap_or_default();
            airflow::secret(
                &*cluster,
                "airflow",
                "airflow-fernet-key",
                "fernet-key",
                value,
            );
            let secret = cluster.read(path).unwrap();
            let fields = secret["metadata"]["managedFields"].as_array().unwrap();
            let created = &secret["metadata"]["creationTimestamp"];
            fields.iter().any(|entry| entry["time"] != *created)
        });
        assert!(is_later);
        airflow::secret(
            &*cluster,
            "airflow",
            "airflow-fernet-key",
            "fernet-key",
            KEYS[1],
        );
    }
    let said = airflow::plugin(&*lab).run();
    said.exits(1)
        .reports("[pods-stale]")
        .reports("rollout restart deployment/airflow-scheduler deployment/airflow-webserver");
}
