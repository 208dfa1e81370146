//! Commands in pods, as kube runs them.

use http::Request;
use karmada_lab::{Execution, Federation, PodExec, User};
use kube::Client;
use kube::api::{Api, AttachParams};
use kube::config::{Config, KubeConfigOptions, Kubeconfig};
use serde_json::json;
use tokio::io::AsyncReadExt;

use crate::clients::{SOON, repaired};

const PODS: &str = "/api/v1/namespaces/default/pods";

fn with_pod() -> Federation {
    let federation = repaired();
    let member = federation.member("cluster-a");
    let pod = json!({
        "metadata": {"name": "pod"},
        "spec": {"nodeName": "node", "containers": [{"name": "one"}, {"name": "two"}]},
    });
    member.create(PODS, &pod).unwrap();
    member.on_exec(|exec: &PodExec| {
        let words: Vec<&str> = exec.command.iter().map(String::as_str).collect();
        match words.as_slice() {
            ["echo", text] => Execution::said(format!("{text} in {}\n", exec.container)),
            ["false"] => Execution::failed(3, "it failed\n"),
            ["hang"] => Execution::ConnectionLost,
            _ => Execution::NoSuchProgram,
        }
    });
    federation
}

async fn client(kubeconfig: &std::path::Path) -> Client {
    let kubeconfig = Kubeconfig::read_from(kubeconfig).unwrap();
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default())
        .await
        .unwrap();
    config.proxy_url = None;
    Client::try_from(config).unwrap()
}

fn wait<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async { tokio::time::timeout(SOON, future).await.unwrap() })
}

#[test]
fn a_command_writes_and_ends_as_its_script_says() {
    let federation = with_pod();
    let user = User::new("root", &["system:masters"]);
    let kubeconfig = federation.member("cluster-a").kubeconfig_for(user).unwrap();
    wait(async {
        let pods: Api<k8s_openapi::api::core::v1::Pod> =
            Api::default_namespaced(client(&kubeconfig).await);
        let parameters = AttachParams::default().container("two").stderr(true);
        let mut running = pods
            .exec("pod", ["echo", "hello"], &parameters)
            .await
            .unwrap();
        let mut said = String::new();
        let mut stdout = running.stdout().unwrap();
        stdout.read_to_string(&mut said).await.unwrap();
        let status = running.take_status().unwrap().await.unwrap();
        assert_eq!(said, "hello in two\n");
        assert_eq!(status.status.as_deref(), Some("Success"));

        let mut running = pods.exec("pod", ["false"], &parameters).await.unwrap();
        let mut said = String::new();
        let mut stderr = running.stderr().unwrap();
        stderr.read_to_string(&mut said).await.unwrap();
        let status = running.take_status().unwrap().await.unwrap();
        assert_eq!(said, "it failed\n");
        assert_eq!(status.reason.as_deref(), Some("NonZeroExitCode"));

        let mut running = pods.exec("pod", ["missing"], &parameters).await.unwrap();
        let status = running.take_status().unwrap().await.unwrap();
        assert!(
            status
                .message
                .unwrap()
                .contains("executable file not found")
        );

        let mut running = pods.exec("pod", ["hang"], &parameters).await.unwrap();
        assert_eq!(running.take_status().unwrap().await, None);

        for (pod, container, words) in [
            (
                "pod",
                None,
                "a container name must be specified for pod pod, choose one of: [one two]",
            ),
            (
                "pod",
                Some("three"),
                "container three is not valid for pod pod",
            ),
            ("none", Some("one"), "pods \"none\" not found"),
        ] {
            let parameters = AttachParams {
                container: container.map(str::to_owned),
                ..AttachParams::default()
            };
            match pods.exec(pod, ["echo"], &parameters).await {
                Err(kube::Error::Api(status)) => assert_eq!(status.message, words),
                Err(other) => panic!("not an answer of the API server: {other}"),
                Ok(_) => panic!("{words}: it was run"),
            }
        }
    });
}

#[test]
fn a_command_passes_the_proxy_of_the_control_plane() {
    let federation = with_pod();
    let path = "/apis/cluster.karmada.io/v1alpha1/clusters/cluster-a/proxy/api/v1/namespaces/default/pods/pod/exec";
    let request = |command: &str| {
        let target = format!("{path}?container=one&stdout=true&command={command}");
        Request::get(target).body(Vec::new()).unwrap()
    };
    wait(async {
        let client = client(&federation.kubeconfig()).await;
        assert!(client.connect(request("false")).await.is_ok());
    });
    let seen = federation.requests();
    let forwarded = seen.iter().find(|request| {
        request.server == "k3d-cluster-a" && request.path.contains("/pods/pod/exec?")
    });
    assert!(forwarded.is_some_and(|request| request.is_write()));
    assert_eq!(
        forwarded.map(|request| (request.user.as_deref(), request.status)),
        Some((Some("system:admin"), Some(101)))
    );
}

#[test]
fn a_command_needs_the_right_to_exec() {
    let federation = with_pod();
    let member = federation.member("cluster-a");
    let kubeconfig = member.kubeconfig_for(User::new("bob", &[])).unwrap();
    wait(async {
        let request = Request::get(format!(
            "{PODS}/pod/exec?container=one&stdout=true&command=echo"
        ))
        .body(Vec::new())
        .unwrap();
        match client(&kubeconfig).await.connect(request).await {
            Err(kube::Error::Api(status)) => assert_eq!(
                status.message,
                "pods \"pod\" is forbidden: User \"bob\" cannot get resource \"pods/exec\" in API group \"\" in the namespace \"default\""
            ),
            Err(other) => panic!("not an answer of the API server: {other}"),
            Ok(_) => panic!("it was run"),
        }
    });
}
