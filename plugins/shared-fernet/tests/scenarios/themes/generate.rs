//! New keys, and where they go.

use std::os::unix::fs::PermissionsExt;

use karmada_scenarios::plugin::Plugin;
use karmada_scenarios::scenario::{Scenario, embedded};

pub(super) fn scenarios() -> Vec<Scenario> {
    embedded![
        writes_values_that_only_the_owner_reads,
        writes_manifests_and_the_values_that_name_them,
        overwrites_no_key,
        prints_keys_only_when_asked,
    ]
}

fn writes_values_that_only_the_owner_reads() {
    let plugin = Plugin::alone();
    let file = plugin.home().join("keys.yaml");
    let said = plugin
        .clone()
        .args(&[
            "generate",
            "--airflow",
            "2",
            "--values",
            &file.display().to_string(),
        ])
        .run();
    said.exits(0).reports("keys.yaml written");
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains("fernetKey: ") && text.contains("webserverSecretKey: "));
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let value = line.split('"').nth(1).unwrap();
        assert!(!said.stdout.contains(value) && !said.stderr.contains(value));
    }
}

fn writes_manifests_and_the_values_that_name_them() {
    let plugin = Plugin::alone();
    let folder = plugin.home().join("keys");
    let said = plugin
        .clone()
        .args(&[
            "generate",
            "--airflow",
            "3",
            "--manifests",
            &folder.display().to_string(),
            "-n",
            "prod",
        ])
        .run();
    said.exits(0);
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    let values = read("values.yaml");
    for line in [
        "fernetKeySecretName: airflow-shared-fernet-key",
        "apiSecretKeySecretName: airflow-shared-api-secret-key",
        "jwtSecretName: airflow-shared-jwt-secret",
    ] {
        assert!(values.contains(line), "{values}");
    }
    let manifest = read("airflow-shared-fernet-key.yaml");
    assert!(manifest.contains("namespace: prod") && manifest.contains("fernet-key: \""));
    for entry in std::fs::read_dir(&folder).unwrap() {
        let mode = entry.unwrap().metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}

fn overwrites_no_key() {
    let plugin = Plugin::alone();
    let file = plugin.home().join("keys.yaml");
    std::fs::write(&file, "mine").unwrap();
    let said = plugin
        .clone()
        .args(&[
            "generate",
            "--airflow",
            "3",
            "--values",
            &file.display().to_string(),
        ])
        .run();
    said.exits(1).tells("is there already");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "mine");
}

fn prints_keys_only_when_asked() {
    let plugin = Plugin::alone().args(&["generate", "--airflow", "3"]);
    plugin.clone().run().exits(2).tells("does not say where");
    let said = plugin.args(&["--stdout"]).run();
    said.exits(0)
        .reports("fernetKey: \"")
        .reports("jwtSecret: \"");
}
