//! The CronJob in the host cluster.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use karmada_lab::{Cluster, Federation, Lab, Spec, User};
use karmada_scenarios::plugin::Plugin;
use karmada_scenarios::scenario::{Program, Scenario, embedded};
use serde_json::{Value, json};

use super::rights::{CONTROL_PLANE, HOST, create, documents};
use crate::karmada_cert;

pub(super) fn scenarios() -> Vec<Scenario> {
    let mut scenarios = embedded![
        the_cron_job_has_the_published_rights,
        outside_a_pod_the_host_is_not_in_cluster,
    ];
    let in_pod = Scenario::embedded(
        "the_cron_job_runs_with_its_own_command_line",
        the_cron_job_runs_with_its_own_command_line,
    );
    scenarios.push(in_pod.needs(&[Program::Unshare]));
    scenarios
}

const CRON_JOB: &str = include_str!("../../../deploy/cronjob.yaml");

fn of_kind<'a>(manifest: &'a [Value], kind: &str) -> &'a Value {
    manifest
        .iter()
        .find(|object| object["kind"] == kind)
        .unwrap()
}

fn the_cron_job_has_the_published_rights() {
    let mut published = of_kind(&documents(HOST), "Role")["rules"].clone();
    let rules = published.as_array_mut().unwrap();
    rules.retain(|rule| rule["resources"] != json!(["pods/portforward"]));
    assert_eq!(of_kind(&documents(CRON_JOB), "Role")["rules"], published);
}

/// A mount namespace has the folders that the kubelet would mount, and the environment is that of a container.
fn the_cron_job_runs_with_its_own_command_line() {
    let federation = Federation::start(Spec::default()).unwrap();
    let lab: &dyn Lab = &federation;
    let host = lab.host();
    karmada_cert::store(&*host, 10);
    create(&*lab.control_plane(), &documents(CONTROL_PLANE));
    let manifest = documents(CRON_JOB);
    create(&*host, &manifest);
    let pod = &of_kind(&manifest, "CronJob")["spec"]["jobTemplate"]["spec"]["template"]["spec"];
    let token = token_of(&*host, pod["serviceAccountName"].as_str().unwrap());
    let kubeconfig = federation
        .control_plane()
        .kubeconfig_for(User::new("jane", &[]))
        .unwrap();

    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    for (file, content) in [
        (
            "account/ca.crt",
            federation.host().authority().as_bytes().to_vec(),
        ),
        ("account/namespace", b"karmada-system".to_vec()),
        ("account/token", token.clone().into_bytes()),
        ("secret/kubeconfig", std::fs::read(kubeconfig).unwrap()),
    ] {
        std::fs::create_dir_all(path(file).parent().unwrap()).unwrap();
        std::fs::write(path(file), content).unwrap();
    }
    let container = &pod["containers"][0];
    let mount = container["volumeMounts"][0]["mountPath"].as_str().unwrap();
    let arguments: Vec<&str> = container["args"]
        .as_array()
        .unwrap()
        .iter()
        .map(|argument| argument.as_str().unwrap())
        .collect();
    let said = Plugin::shell(&federation, IN_POD)
        .args(&[
            path("account").to_str().unwrap(),
            path("secret").to_str().unwrap(),
            mount,
        ])
        .args(&arguments)
        .without("KUBECONFIG")
        .env("HOME", "/")
        .env("KUBERNETES_SERVICE_HOST", "127.0.0.1")
        .env(
            "KUBERNETES_SERVICE_PORT",
            federation.host().port().to_string(),
        )
        .secret(&token)
        .run();
    said.exits(1)
        .reports("secret/karmada-system/karmada-cert/karmada.crt")
        .reports("expiring")
        .does_not_report("not-examined")
        .does_not_report("forbidden");
    let account = "system:serviceaccount:karmada-system:karmada-check-certs";
    let asked = federation.requests();
    let lists = |server: &str, user: &str, path: &str| {
        asked.iter().any(|request| {
            request.server == server
                && request.user.as_deref() == Some(user)
                && request.path.starts_with(path)
                && request.status == Some(200)
        })
    };
    let host = lab.spec().host.context();
    assert!(lists(
        &host,
        account,
        "/api/v1/namespaces/karmada-system/secrets?"
    ));
    assert!(lists(
        "karmada-apiserver",
        "jane",
        "/apis/cluster.karmada.io/v1alpha1/clusters"
    ));
}

/// The token that the kubelet would mount.
fn token_of(host: &dyn Cluster, account: &str) -> String {
    let secrets = "/api/v1/namespaces/karmada-system/secrets";
    let secret = json!({
        "metadata": {
            "name": "mounted", "annotations": {"kubernetes.io/service-account.name": account},
        },
        "type": "kubernetes.io/service-account-token",
    });
    host.create(secrets, &secret).unwrap();
    let secret = host.read(&format!("{secrets}/mounted")).unwrap();
    let token = secret["data"]["token"].as_str().unwrap();
    String::from_utf8(STANDARD.decode(token).unwrap()).unwrap()
}

fn outside_a_pod_the_host_is_not_in_cluster() {
    let federation = Federation::start(Spec::default()).unwrap();
    Plugin::on(&federation)
        .args(&["--host-in-cluster"])
        .run()
        .exits(2)
        .tells("error: the host cluster cannot be reached as --host-in-cluster says")
        .tells("this runs in no pod of a cluster")
        .tells("hint: name the cluster with --host-context NAME or --host-kubeconfig FILE");
}

/// Takes the folder of the service account, that of the Secret, where that is mounted, and the arguments.
const IN_POD: &str = r#"
exec unshare --user --map-root-user --mount sh -c '
  set -e
  mount -t tmpfs none "$(readlink -f /var/run)"
  mkdir -p /var/run/secrets/kubernetes.io
  cp -r "$0" /var/run/secrets/kubernetes.io/serviceaccount
  cp -r "$1" "$2"
  shift 2
  exec kubectl-karmada_check_certs "$@"
' "$0" "$@"
"#;
