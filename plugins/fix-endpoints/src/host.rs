//! What runs Karmada on the host cluster, and keeps connections to members.

use std::collections::{BTreeMap, BTreeSet};

use karmada_repair::access::Access;
use karmada_repair::cluster::client::{ClusterClient, List};
use karmada_repair::cluster::object::ObjectReference;
use karmada_repair::part::Part;
use serde::Serialize;
use serde_json::Value;

use crate::observed::SecretKubeconfig;
use crate::secret_kubeconfig;

/// The host cluster, as far as members' addresses concern it.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Host {
    /// The namespace that Karmada runs in.
    pub namespace: String,
    /// The Deployments that keep connections to members, sorted by name.
    pub workloads: Vec<Workload>,
    /// The kubeconfigs of the scheduler's estimators, by cluster.
    pub estimators: BTreeMap<String, EstimatorSecret>,
}

/// A Deployment that keeps connections to members.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Workload {
    /// The Deployment.
    pub object: ObjectReference,
    /// Its UID.
    pub uid: String,
    /// What it is of Karmada.
    pub component: Component,
}

/// A part of Karmada that keeps connections to members.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Component {
    /// karmada-controller-manager: informers and Works.
    ControllerManager,
    /// karmada-search: informers of its own.
    Search,
    /// karmada-metrics-adapter: informers of its own, made anew when an endpoint changes, but not when a secret does.
    MetricsAdapter,
    /// karmada-scheduler-estimator of one cluster, which has a kubeconfig of its own.
    Estimator(String),
}

/// The Secret with the kubeconfig of an estimator.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EstimatorSecret {
    /// The Secret.
    pub object: ObjectReference,
    /// The key that holds the kubeconfig; it has the Secret's own name.
    pub key: String,
    /// What the key holds.
    pub kubeconfig: SecretKubeconfig,
}

impl Host {
    /// The Deployments of karmada-controller-manager.
    pub fn controller_managers(&self) -> impl Iterator<Item = &Workload> {
        self.workloads
            .iter()
            .filter(|workload| workload.component == Component::ControllerManager)
    }

    /// The Deployment of a cluster's estimator.
    pub fn estimator(&self, cluster: &str) -> Option<&Workload> {
        self.workloads
            .iter()
            .find(|workload| workload.component == Component::Estimator(cluster.to_owned()))
    }
}

/// Reads the host cluster; absent when the command line gives no access to it.
pub async fn read(access: &Access, clusters: &[&str]) -> Part<Host> {
    let Some(client) = access.host() else {
        return Part::Absent;
    };
    match read_with(client, access.karmada_namespace(), clusters).await {
        Ok(host) => Part::Seen(host),
        Err(reason) => Part::Unreadable(reason),
    }
}

async fn read_with(
    client: &ClusterClient,
    namespace: Option<&str>,
    clusters: &[&str],
) -> Result<Host, String> {
    let usual = namespace.unwrap_or(USUAL_NAMESPACE);
    let mut workloads = deployments(client, Some(usual), clusters).await?;
    let mut found = usual.to_owned();
    let has_manager = |workloads: &[Workload]| {
        workloads
            .iter()
            .any(|workload| workload.component == Component::ControllerManager)
    };
    if !has_manager(&workloads) && namespace.is_none() {
        workloads = deployments(client, None, clusters).await?;
        let namespaces: BTreeSet<String> = workloads
            .iter()
            .filter(|workload| workload.component == Component::ControllerManager)
            .filter_map(|workload| workload.object.namespace.clone())
            .collect();
        match namespaces.iter().collect::<Vec<_>>().as_slice() {
            [one] => found = (*one).clone(),
            [] => {}
            several => {
                let names: Vec<&str> = several.iter().map(|name| name.as_str()).collect();
                return Err(format!(
                    "several namespaces hold a karmada-controller-manager: {}; name one with --karmada-namespace",
                    names.join(", ")
                ));
            }
        }
        workloads.retain(|workload| workload.object.namespace.as_deref() == Some(&found));
    }
    if !has_manager(&workloads) {
        let place = match namespace {
            Some(namespace) => format!("in the namespace {namespace}"),
            None => "in any namespace".to_owned(),
        };
        return Err(format!(
            "no Deployment of karmada-controller-manager was found {place}"
        ));
    }
    let mut estimators = BTreeMap::new();
    for workload in &workloads {
        if let Component::Estimator(cluster) = &workload.component {
            estimators.insert(
                cluster.clone(),
                estimator_secret(client, &found, cluster).await?,
            );
        }
    }
    Ok(Host {
        namespace: found,
        workloads,
        estimators,
    })
}

async fn deployments(
    client: &ClusterClient,
    namespace: Option<&str>,
    clusters: &[&str],
) -> Result<Vec<Workload>, String> {
    let path = match namespace {
        Some(namespace) => format!("/apis/apps/v1/namespaces/{namespace}/deployments"),
        None => "/apis/apps/v1/deployments".to_owned(),
    };
    let List { items, .. } = client
        .list::<Value>(&path)
        .await
        .map_err(|error| error.to_string())?;
    let mut workloads: Vec<Workload> = items
        .iter()
        .filter_map(|item| workload(item, clusters))
        .collect();
    workloads.sort_by(|one, other| one.object.cmp(&other.object));
    Ok(workloads)
}

fn workload(item: &Value, clusters: &[&str]) -> Option<Workload> {
    let text = |pointer: &str| item.pointer(pointer).and_then(Value::as_str);
    let name = text("/metadata/name")?;
    let images: Vec<&str> = item
        .pointer("/spec/template/spec/containers")?
        .as_array()?
        .iter()
        .filter_map(|container| container["image"].as_str())
        .collect();
    Some(Workload {
        component: component(name, &images, clusters)?,
        object: ObjectReference {
            api_version: "apps/v1".to_owned(),
            kind: "Deployment".to_owned(),
            resource: "deployments".to_owned(),
            namespace: Some(text("/metadata/namespace")?.to_owned()),
            name: name.to_owned(),
        },
        uid: text("/metadata/uid")?.to_owned(),
    })
}

/// What a Deployment is, by the names of its images, else by its own: `karmadactl init` and the project's scripts call it
/// `karmada-PART`, the chart `RELEASE-PART`, the operator `INSTANCE-PART` or `INSTANCE-karmada-PART`.
fn component(name: &str, images: &[&str], clusters: &[&str]) -> Option<Component> {
    let runs = |part: &str| {
        images.iter().any(|image| {
            let base = image.rsplit('/').next().unwrap_or_default();
            let base = base.split([':', '@']).next().unwrap_or_default();
            base == format!("karmada-{part}")
        })
    };
    let is_called = |part: &str| name == part || name.ends_with(&format!("-{part}"));
    let estimated = clusters
        .iter()
        .filter(|cluster| name.ends_with(&format!("scheduler-estimator-{cluster}")))
        .max_by_key(|cluster| cluster.len());
    if let Some(cluster) = estimated {
        return Some(Component::Estimator((*cluster).to_owned()));
    }
    let other_manager = is_called("kube-controller-manager");
    if runs("controller-manager") || (is_called("controller-manager") && !other_manager) {
        return Some(Component::ControllerManager);
    }
    if runs("search") || is_called("karmada-search") {
        return Some(Component::Search);
    }
    (runs("metrics-adapter") || is_called("karmada-metrics-adapter"))
        .then_some(Component::MetricsAdapter)
}

async fn estimator_secret(
    client: &ClusterClient,
    namespace: &str,
    cluster: &str,
) -> Result<EstimatorSecret, String> {
    let name = format!("{cluster}-kubeconfig");
    let object = ObjectReference::secret(namespace, name.clone());
    let kubeconfig = match client.get::<Value>(&object.path()).await {
        Ok(secret) => secret_kubeconfig::read(secret["data"][&name].as_str()),
        Err(error) if error.is_not_found() => SecretKubeconfig::Absent,
        Err(error) => return Err(error.to_string()),
    };
    Ok(EstimatorSecret {
        object,
        key: name,
        kubeconfig,
    })
}

const USUAL_NAMESPACE: &str = "karmada-system";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deployments_are_known_by_image_or_by_name_whatever_installed_them() {
        let manager = Some(Component::ControllerManager);
        let cases: [(&str, &[&str], Option<Component>); 13] = [
            ("karmada-controller-manager", &["lab"], manager.clone()),
            (
                "karmada-karmada-controller-manager",
                &["x"],
                manager.clone(),
            ),
            ("prod-controller-manager", &["x"], manager.clone()),
            (
                "odd",
                &["docker.io/karmada/karmada-controller-manager:v1.18.2"],
                manager,
            ),
            ("karmada-kube-controller-manager", &["x"], None),
            (
                "kube-controller-manager",
                &["registry.k8s.io/kube-controller-manager:v1.33.0"],
                None,
            ),
            ("karmada-search", &["x"], Some(Component::Search)),
            (
                "prod-search",
                &["karmada/karmada-search@sha256:00"],
                Some(Component::Search),
            ),
            (
                "karmada-scheduler-estimator-member-1",
                &["x"],
                Some(Component::Estimator("member-1".to_owned())),
            ),
            (
                "karmada-metrics-adapter",
                &["x"],
                Some(Component::MetricsAdapter),
            ),
            ("metrics-adapter", &["x"], None),
            ("karmada-scheduler", &["x"], None),
            ("web-search", &["x"], None),
        ];
        for (name, images, expected) in cases {
            assert_eq!(
                component(name, images, &["1", "member-1"]),
                expected,
                "{name}"
            );
        }
    }
}
