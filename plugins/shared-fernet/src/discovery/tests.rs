use serde_json::json;

use super::*;

fn template(container: Value) -> Value {
    json!({"metadata": {"labels": {"tier": "airflow", "component": "scheduler", "release": "airflow"}}, "spec": {
        "containers": [container],
        "volumes": [
            {"name": "key", "secret": {"secretName": "airflow-fernet-key"}},
            {"name": "renamed", "secret": {"secretName": "keys", "items": [{"key": "fernet", "path": "fernet.txt"}]}},
            {"name": "other", "emptyDir": {}},
        ],
    }})
}

/// The places of the Fernet key in a template of this container.
fn places(container: Value) -> Vec<String> {
    let template = template(container);
    let sources = Template::of(&template).sources(KeyKind::Fernet);
    sources
        .iter()
        .flat_map(|(_, sources)| sources)
        .map(|source| source.place("ns"))
        .collect()
}

fn env(entries: Value) -> Value {
    json!({"name": "scheduler", "env": entries})
}

#[test]
fn the_official_chart_refers_to_a_secret() {
    let container = env(
        json!([{"name": "AIRFLOW__CORE__FERNET_KEY", "valueFrom": {"secretKeyRef": {"name": "airflow-fernet-key", "key": "fernet-key"}}}]),
    );
    assert_eq!(
        places(container),
        ["secret/ns/airflow-fernet-key key fernet-key"]
    );
}

#[test]
fn the_last_entry_of_a_name_counts() {
    let container = env(json!([
        {"name": "AIRFLOW__CORE__FERNET_KEY", "valueFrom": {"secretKeyRef": {"name": "old", "key": "k"}}},
        {"name": "AIRFLOW__CORE__FERNET_KEY", "valueFrom": {"secretKeyRef": {"name": "new", "key": "k"}}},
    ]));
    assert_eq!(places(container), ["secret/ns/new key k"]);
}

#[test]
fn the_community_chart_takes_all_keys_of_a_secret_as_variables() {
    let container = json!({"name": "scheduler", "envFrom": [
        {"configMapRef": {"name": "first"}},
        {"secretRef": {"name": "airflow-config-envs"}},
        {"secretRef": {"name": "prefixed"}, "prefix": "AIRFLOW__"},
        {"secretRef": {"name": "elsewhere"}, "prefix": "OTHER_"},
    ]});
    assert_eq!(
        places(container),
        [
            "secret/ns/prefixed key CORE__FERNET_KEY",
            "secret/ns/airflow-config-envs key AIRFLOW__CORE__FERNET_KEY",
            "configmap/ns/first key AIRFLOW__CORE__FERNET_KEY",
        ]
    );
}

#[test]
fn a_variable_hides_those_of_a_whole_secret_unless_it_is_optional() {
    let with = |optional: bool| {
        json!({"name": "scheduler",
            "env": [{"name": "AIRFLOW__CORE__FERNET_KEY", "valueFrom": {"secretKeyRef": {"name": "own", "key": "k", "optional": optional}}}],
            "envFrom": [{"secretRef": {"name": "all"}}],
        })
    };
    assert_eq!(places(with(false)), ["secret/ns/own key k"]);
    assert_eq!(
        places(with(true)),
        [
            "secret/ns/own key k",
            "secret/ns/all key AIRFLOW__CORE__FERNET_KEY"
        ]
    );
}

#[test]
fn a_command_that_prints_a_mounted_secret_is_followed() {
    let cases = [
        (
            "cat /opt/airflow/fernet-key/value",
            "secret/ns/airflow-fernet-key key value",
        ),
        ("cat /opt/renamed/fernet.txt", "secret/ns/keys key fernet"),
        (
            "cat /opt/other/value",
            "the command of AIRFLOW__CORE__FERNET_KEY_CMD",
        ),
        (
            "vault read key",
            "the command of AIRFLOW__CORE__FERNET_KEY_CMD",
        ),
    ];
    for (command, expected) in cases {
        let container = json!({"name": "scheduler",
            "env": [{"name": "AIRFLOW__CORE__FERNET_KEY_CMD", "value": command}],
            "volumeMounts": [
                {"name": "key", "mountPath": "/opt/airflow/fernet-key"},
                {"name": "renamed", "mountPath": "/opt/renamed/"},
                {"name": "other", "mountPath": "/opt/other"},
            ],
        });
        assert_eq!(places(container), [expected], "{command}");
    }
}

#[test]
fn the_variable_comes_before_command_and_backend() {
    let container = env(json!([
        {"name": "AIRFLOW__CORE__FERNET_KEY_SECRET", "value": "airflow/fernet"},
        {"name": "AIRFLOW__CORE__FERNET_KEY_CMD", "value": "vault"},
        {"name": "AIRFLOW__CORE__FERNET_KEY", "value": "x"},
    ]));
    assert_eq!(places(container), ["the pod template"]);
    let container =
        env(json!([{"name": "AIRFLOW__CORE__FERNET_KEY_SECRET", "value": "airflow/fernet"}]));
    assert_eq!(
        places(container),
        ["the secrets backend (AIRFLOW__CORE__FERNET_KEY_SECRET)"]
    );
}

#[test]
fn bitnami_has_variables_of_its_own() {
    let container = env(
        json!([{"name": "AIRFLOW_FERNET_KEY", "valueFrom": {"secretKeyRef": {"name": "airflow", "key": "airflow-fernet-key"}}}]),
    );
    assert_eq!(
        places(container),
        ["secret/ns/airflow key airflow-fernet-key"]
    );
}

#[test]
fn variables_that_airflow_does_not_read_are_told_apart() {
    let template = template(env(
        json!([{"name": "AIRFLOW__SECRETS__JWT_SECRET", "value": "x"}]),
    ));
    let template = Template::of(&template);
    assert_eq!(
        template.wrong_variables(),
        [("AIRFLOW__SECRETS__JWT_SECRET", KeyKind::Jwt)]
    );
    assert!(template.sources(KeyKind::Jwt).is_empty());
}

#[test]
fn only_what_runs_airflow_is_looked_at() {
    let is_airflow = |labels: Value, container: Value| {
        Template::of(&json!({"metadata": {"labels": labels}, "spec": {"containers": [container]}}))
            .is_airflow()
    };
    assert!(is_airflow(
        json!({}),
        json!({"image": "apache/airflow:3.1.8"})
    ));
    assert!(is_airflow(
        json!({"tier": "airflow"}),
        json!({"image": "mine"})
    ));
    assert!(is_airflow(
        json!({}),
        json!({"image": "mine", "env": [{"name": "AIRFLOW_HOME"}]})
    ));
    assert!(!is_airflow(
        json!({"app": "web"}),
        json!({"image": "nginx", "envFrom": [{"secretRef": {"name": "x"}}]})
    ));
    assert!(!is_airflow(json!({}), json!({})));
}

#[test]
fn a_command_is_run_in_the_container_of_the_component() {
    let template = template(env(
        json!([{"name": "AIRFLOW__CORE__FERNET_KEY", "value": "x"}]),
    ));
    assert_eq!(Template::of(&template).main_container(), Some("scheduler"));
    assert_eq!(Template::of(&json!({})).main_container(), None);
}
