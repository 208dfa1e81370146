//! kubectl itself, where it is on PATH; elsewhere these tests say so and check nothing.

use std::process::Command;

use karmada_lab::{Execution, Federation, PodExec, Spec};

struct Kubectl<'a>(&'a Federation);

impl Kubectl<'_> {
    /// Whether it succeeded, and what it said on both streams.
    fn run(&self, arguments: &[&str]) -> (bool, String) {
        let output = Command::new("kubectl")
            .args(arguments)
            .env_clear()
            .envs(self.0.environment())
            .output()
            .unwrap();
        let text = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8(text).unwrap())
    }
}

fn with_kubectl(check: impl FnOnce(&Federation, Kubectl)) {
    let path = std::env::var_os("PATH").unwrap_or_default();
    if !std::env::split_paths(&path).any(|directory| directory.join("kubectl").is_file()) {
        // The harness shows this with --nocapture.
        std::io::Write::write_all(
            &mut std::io::stderr(),
            b"no kubectl on PATH: nothing checked\n",
        )
        .unwrap();
        return;
    }
    let federation = Federation::start(Spec::default()).unwrap();
    check(&federation, Kubectl(&federation));
}

#[test]
fn prints_clusters_as_karmada_does() {
    with_kubectl(|_, kubectl| {
        let (ok, text) = kubectl.run(&["get", "clusters", "-o", "wide"]);
        let header: Vec<&str> = text
            .lines()
            .next()
            .unwrap_or_default()
            .split_whitespace()
            .collect();
        assert!(ok, "{text}");
        assert_eq!(
            header,
            [
                "NAME",
                "VERSION",
                "MODE",
                "READY",
                "AGE",
                "ZONES",
                "REGION",
                "PROVIDER",
                "API-ENDPOINT",
                "PROXY-URL"
            ]
        );
        assert!(
            text.contains("cluster-a") && text.contains("https://0.0.0.0:"),
            "{text}"
        );
    });
}

#[test]
fn patches_applies_and_waits() {
    with_kubectl(|federation, kubectl| {
        federation
            .docker()
            .connect("k3d-cluster-a", "k3d-karmada-host-server-0", None)
            .unwrap();
        let patch =
            r#"[{"op":"replace","path":"/spec/apiEndpoint","value":"https://172.20.0.3:6443"}]"#;
        let (ok, text) =
            kubectl.run(&["patch", "cluster", "cluster-a", "--type=json", "-p", patch]);
        assert!(
            ok && text.contains("cluster.cluster.karmada.io/cluster-a patched"),
            "{text}"
        );
        let (ok, text) = kubectl.run(&[
            "wait",
            "--for=condition=Ready",
            "cluster/cluster-a",
            "--timeout=10s",
        ]);
        assert!(ok, "{text}");

        let file = federation.directory().join("map.yaml");
        std::fs::write(&file, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: map, namespace: default}\ndata: {a: '1'}\n").unwrap();
        let file = file.to_str().unwrap();
        for (arguments, said) in [
            (
                &["apply", "--server-side", "-f", file][..],
                "configmap/map serverside-applied",
            ),
            (&["apply", "-f", file], "configmap/map"),
            (&["get", "configmap", "map", "-o", "yaml"], "a: \"1\""),
            (&["auth", "whoami"], "system:admin"),
            (
                &[
                    "create",
                    "clusterrolebinding",
                    "b",
                    "--clusterrole=view",
                    "--user=u",
                    "--serviceaccount=ns:s",
                ],
                "clusterrolebinding.rbac.authorization.k8s.io/b created",
            ),
            (
                &["get", "clusterrolebinding", "b", "-o", "yaml"],
                "namespace: ns",
            ),
            (
                &[
                    "--context",
                    "k3d-karmada-host",
                    "-n",
                    "karmada-system",
                    "scale",
                    "deployment",
                    "karmada-scheduler",
                    "--replicas=2",
                ],
                "scaled",
            ),
            (
                &[
                    "get",
                    "secret",
                    "cluster-a",
                    "-n",
                    "karmada-cluster",
                    "-o",
                    "yaml",
                ],
                "caBundle",
            ),
            (
                &["--context", "k3d-cluster-a", "get", "nodes", "-o", "wide"],
                "k3d-cluster-a-server-0",
            ),
            (&["delete", "configmap", "map"], "deleted"),
        ] {
            let (ok, text) = kubectl.run(arguments);
            assert!(ok && text.contains(said), "{arguments:?}: {text}");
        }
    });
}

#[test]
fn writes_to_a_member_through_the_proxy_of_the_control_plane() {
    with_kubectl(|_, _| {
        let federation = crate::clients::repaired();
        let member = federation.member("cluster-a");
        member.on_exec(|exec: &PodExec| Execution::said(format!("{}\n", exec.command.join(" "))));
        let kubectl = Kubectl(&federation);
        let proxy = format!(
            "https://127.0.0.1:{}/apis/cluster.karmada.io/v1alpha1/clusters/cluster-a/proxy",
            federation.control_plane().port()
        );
        let write = |name: &str, text: &str| {
            let file = federation.directory().join(name);
            std::fs::write(&file, text).unwrap();
            file.to_str().unwrap().to_owned()
        };
        let map = write(
            "map.yaml",
            "{apiVersion: v1, kind: ConfigMap, metadata: {name: map, namespace: default}, data: {a: '1'}}",
        );
        let set = write(
            "set.yaml",
            "{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: set, namespace: default}, spec: {selector: \
             {matchLabels: {app: set}}, template: {metadata: {labels: {app: set}}, spec: {containers: [{name: main, image: a}]}}}}",
        );
        let applied = ["apply", "--server-side", "--field-manager=m", "-f", &map];
        let patch = r#"[{"op":"replace","path":"/data/a","value":"2"}]"#;
        for (arguments, said) in [
            (&["create", "-f", &set][..], "statefulset.apps/set created"),
            (&applied, "configmap/map serverside-applied"),
            (
                &["patch", "configmaps", "map", "--type=json", "-p", patch],
                "configmap/map patched",
            ),
            (&applied, "conflict with \"kubectl-patch\""),
            (&["get", "configmap", "map", "-o", "yaml"], "a: \"2\""),
            (&["delete", "configmaps", "map"], "deleted"),
            (
                &["rollout", "restart", "statefulset", "set"],
                "statefulset.apps/set restarted",
            ),
            (
                &["rollout", "status", "statefulset", "set"],
                "roll out complete",
            ),
            (
                &[
                    "exec",
                    "statefulset/set",
                    "-c",
                    "main",
                    "--",
                    "echo",
                    "hello world",
                ],
                "echo hello world",
            ),
        ] {
            let all: Vec<&str> = ["--server", &proxy, "-n", "default"]
                .into_iter()
                .chain(arguments.iter().copied())
                .collect();
            let (_, text) = kubectl.run(&all);
            assert!(text.contains(said), "{arguments:?}: {text}");
        }
        assert!(
            member
                .read("/apis/apps/v1/namespaces/default/statefulsets/set")
                .is_ok()
        );
    });
}
