//! Airflow as charts install it into members, and federations that have it.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use karmada_lab::{Backend, Cluster, Lab, Spec, Works};
use karmada_scenarios::plugin::Plugin;
use serde_json::{Value, json};

/// A federation that is repaired, and in whose members something replaces pods.
pub(crate) fn ready(backend: &Backend) -> Box<dyn Lab> {
    let spec = Spec {
        works: Works::Awake,
        ..Spec::default().joined_internally()
    };
    let host = spec.host.first_server();
    let members: Vec<(String, String)> = spec
        .members
        .iter()
        .map(|member| (member.name().to_owned(), member.cluster.home_network()))
        .collect();
    let lab = backend.start(spec).unwrap();
    for (_, network) in &members {
        lab.docker().connect(network, &host, None).unwrap();
    }
    for (name, _) in &members {
        let ready = lab.wait_ready(name, PATIENCE);
        assert!(ready, "{name} becomes ready: {:?}", lab.readiness(name));
        let role = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/karmada-impersonator";
        let arrived = lab.wait_for(PATIENCE, || lab.member(name).read(role).is_ok());
        assert!(arrived, "the impersonator's rules arrive in {name}");
    }
    lab
}

/// That, with a release in each member whose keys its chart made by itself.
pub(crate) fn with_chart_made_keys(backend: &Backend) -> Box<dyn Lab> {
    let lab = ready(backend);
    install(&*lab, "cluster-a", &Release::of(&[KEYS[0]]));
    install(&*lab, "cluster-b", &Release::of(&[KEYS[1]]));
    lab
}

/// That, with one key in both.
pub(crate) fn with_one_key(backend: &Backend) -> Box<dyn Lab> {
    let lab = ready(backend);
    for member in ["cluster-a", "cluster-b"] {
        let release = Release {
            webserver: "shared-webserver-secret".to_owned(),
            ..Release::of(&[KEYS[0]])
        };
        install(&*lab, member, &release);
    }
    lab
}

/// Keys as the official chart makes them: base64 of 32 letters and digits.
pub(crate) const KEYS: [&str; 3] = [
    "a0xHc1Q3cFdtQ3h2Tno0UmI5WWZKZDJ1RWg2QXE4U3c=",
    "UDNmWnRWOGtMeUhqMXdYYzVOczdHYm05UXI0QmFUZTY=",
    "TTZ5RHA0SmtVYTlXcXo4RXhDdDJSbGhOZzVTdjdGaTE=",
];

/// A release of the official chart.
pub(crate) struct Release {
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) fernet: String,
    pub(crate) webserver: String,
    pub(crate) components: Vec<&'static str>,
    pub(crate) labels: Value,
}

impl Release {
    /// `airflow` in `airflow` with this list of Fernet keys.
    pub(crate) fn of(keys: &[&str]) -> Release {
        Release {
            namespace: "airflow".to_owned(),
            name: "airflow".to_owned(),
            fernet: keys.join(","),
            webserver: format!("webserver-secret-of-{}", &keys[0][..8]),
            components: vec!["scheduler", "webserver"],
            labels: json!({}),
        }
    }
}

/// Installs a release as `helm install` leaves it.
pub(crate) fn install(lab: &dyn Lab, member: &str, release: &Release) {
    let cluster = lab.member(member);
    let Release {
        namespace, name, ..
    } = release;
    // Another release may be there already.
    let _ = cluster.create(
        "/api/v1/namespaces",
        &json!({"metadata": {"name": namespace}}),
    );
    secret(
        &*cluster,
        namespace,
        &format!("{name}-fernet-key"),
        "fernet-key",
        &release.fernet,
    );
    secret(
        &*cluster,
        namespace,
        &format!("{name}-webserver-secret-key"),
        "webserver-secret-key",
        &release.webserver,
    );
    for component in &release.components {
        let mut labels = release.labels.clone();
        labels["tier"] = json!("airflow");
        labels["component"] = json!(component);
        labels["release"] = json!(name);
        let variable = |variable: &str, secret: &str, key: &str| json!({"name": variable, "valueFrom": {"secretKeyRef": {"name": format!("{name}-{secret}"), "key": key}}});
        let deployment = json!({
            "metadata": {"name": format!("{name}-{component}")},
            "spec": {
                "selector": {"matchLabels": {"component": component, "release": name}},
                "template": {
                    "metadata": {"labels": labels},
                    "spec": {"containers": [{
                        "name": component, "image": "apache/airflow:2.10.5",
                        "env": [
                            variable("AIRFLOW__CORE__FERNET_KEY", "fernet-key", "fernet-key"),
                            variable("AIRFLOW__WEBSERVER__SECRET_KEY", "webserver-secret-key", "webserver-secret-key"),
                        ],
                    }]},
                },
            },
        });
        let path = format!("/apis/apps/v1/namespaces/{namespace}/deployments");
        cluster.create(&path, &deployment).unwrap();
    }
    wait_rolled_out(lab, member, namespace);
}

/// Makes a Secret, or gives it another value.
pub(crate) fn secret(cluster: &dyn Cluster, namespace: &str, name: &str, key: &str, value: &str) {
    let collection = format!("/api/v1/namespaces/{namespace}/secrets");
    let object = json!({
        "metadata": {"name": name}, "type": "Opaque", "data": {key: STANDARD.encode(value)},
    });
    if cluster.create(&collection, &object).is_err() {
        let path = format!("{collection}/{name}");
        cluster
            .patch(&path, &json!({"data": {key: STANDARD.encode(value)}}))
            .unwrap();
    }
}

/// A key of a Secret of release `airflow`, as text.
pub(crate) fn value(lab: &dyn Lab, member: &str, name: &str, key: &str) -> String {
    let path = format!("/api/v1/namespaces/airflow/secrets/{name}");
    let secret = lab.member(member).read(&path).unwrap();
    String::from_utf8(
        STANDARD
            .decode(secret["data"][key].as_str().unwrap())
            .unwrap(),
    )
    .unwrap()
}

/// The list of Fernet keys in a member.
pub(crate) fn list(lab: &dyn Lab, member: &str) -> Vec<String> {
    let text = value(lab, member, "airflow-fernet-key", "fernet-key");
    text.split(',').map(str::to_owned).collect()
}

/// The plugin, before whose output every key is kept secret that was ever in a member.
pub(crate) fn plugin(lab: &dyn Lab) -> Plugin {
    let mut plugin = Plugin::on(lab);
    for key in KEYS {
        plugin = plugin.secret(key);
    }
    for member in &lab.spec().members {
        let path = "/api/v1/namespaces/airflow/secrets";
        let list = lab.member(member.name()).read(path).unwrap_or_default();
        for secret in list["items"].as_array().into_iter().flatten() {
            for (_, value) in secret["data"].as_object().into_iter().flatten() {
                let bytes = STANDARD.decode(value.as_str().unwrap_or_default()).unwrap();
                for part in String::from_utf8_lossy(&bytes).split(',') {
                    plugin = plugin.secret(part);
                }
            }
        }
    }
    plugin
}

/// Waits until what was installed or changed is rolled out.
pub(crate) fn wait_rolled_out(lab: &dyn Lab, member: &str, namespace: &str) {
    let cluster = lab.member(member);
    let path = format!("/apis/apps/v1/namespaces/{namespace}/deployments");
    let rolled_out = lab.wait_for(PATIENCE, || {
        let list = cluster.read(&path).unwrap();
        let items = list["items"].as_array().unwrap();
        items.iter().all(|deployment| {
            deployment["status"]["observedGeneration"] == deployment["metadata"]["generation"]
        })
    });
    assert!(rolled_out, "{namespace} is rolled out in {member}");
}

/// Many federations start at once on a machine with more to do.
const PATIENCE: Duration = Duration::from_secs(60);
