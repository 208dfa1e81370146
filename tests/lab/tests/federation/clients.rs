//! Clients for the tests.

use std::path::Path;
use std::time::Duration;

use http::{Method, Request};
use karmada_lab::Federation;
use serde_json::Value;

pub(crate) const CLUSTER_A: &str = "/apis/cluster.karmada.io/v1alpha1/clusters/cluster-a";
pub(crate) const HOST: &str = "k3d-karmada-host-server-0";
/// Longer than anything here takes, even on a busy machine.
pub(crate) const SOON: Duration = Duration::from_secs(10);

/// A Kubernetes client of kube that never retries.
pub(crate) struct Kube {
    runtime: tokio::runtime::Runtime,
    client: kube::Client,
}

impl Kube {
    pub(crate) fn new(kubeconfig: &Path) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let client = runtime.block_on(async {
            let kubeconfig = kube::config::Kubeconfig::read_from(kubeconfig).unwrap();
            let mut config = kube::Config::from_custom_kubeconfig(kubeconfig, &Default::default())
                .await
                .unwrap();
            config.default_retry = false;
            config.proxy_url = None;
            kube::Client::try_from(config).unwrap()
        });
        Self { runtime, client }
    }

    /// The answer as text.
    pub(crate) fn send(
        &self,
        method: Method,
        path: &str,
        content_type: &str,
        body: &Value,
    ) -> Result<String, kube::Error> {
        let bytes = if body.is_null() {
            Vec::new()
        } else {
            body.to_string().into_bytes()
        };
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("content-type", content_type)
            .body(bytes)
            .unwrap();
        self.runtime.block_on(async {
            tokio::time::timeout(SOON, self.client.request_text(request))
                .await
                .unwrap()
        })
    }

    pub(crate) fn read(&self, path: &str) -> Result<String, kube::Error> {
        self.send(Method::GET, path, "application/json", &Value::Null)
    }

    pub(crate) fn create(&self, path: &str, object: &Value) -> Result<String, kube::Error> {
        self.send(Method::POST, path, "application/json", object)
    }

    pub(crate) fn merge(&self, path: &str, patch: &Value) -> Result<String, kube::Error> {
        self.send(Method::PATCH, path, "application/merge-patch+json", patch)
    }
}

/// Status code and message of a refused request.
pub(crate) fn refusal<T: std::fmt::Debug>(result: Result<T, kube::Error>) -> (u16, String) {
    match result.unwrap_err() {
        kube::Error::Api(status) => (status.code, status.message),
        other => panic!("not an answer of the API server: {other}"),
    }
}

/// Does by hand what repairs cluster-a.
pub(crate) fn repair(federation: &Federation) {
    federation
        .docker()
        .connect("k3d-cluster-a", HOST, None)
        .unwrap();
    let patch = serde_json::json!({"spec": {"apiEndpoint": "https://172.20.0.3:6443"}});
    federation.control_plane().patch(CLUSTER_A, &patch).unwrap();
}

/// A federation whose cluster-a is Ready and has its Works.
pub(crate) fn repaired() -> Federation {
    let federation = Federation::start(karmada_lab::Spec {
        works: karmada_lab::Works::Awake,
        ..Default::default()
    })
    .unwrap();
    repair(&federation);
    assert!(federation.wait_ready("cluster-a", SOON));
    let rbac = "/apis/rbac.authorization.k8s.io/v1";
    assert!(federation.wait_for(SOON, |federation| {
        let delivered = |resource: &str| {
            let path = format!("{rbac}/{resource}/karmada-impersonator");
            federation.member("cluster-a").read(&path).is_ok()
        };
        delivered("clusterroles") && delivered("clusterrolebindings")
    }));
    federation
}
