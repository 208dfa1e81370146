//! The servers inside the control plane: each running pod behind a Service of Karmada's namespace, on ports that speak TLS.

use std::collections::BTreeMap;

use karmada_repair::cluster::client::ClusterClient;
use karmada_repair::cluster::object::path_segment;
use karmada_repair::error::chain;
use karmada_repair::finding::Subject;
use serde::Deserialize;
use serde_json::Value;

use crate::observed::{Observed, Reading, Server, Source, Target, Way};
use crate::place::{Holder, Place};
use crate::sources::paged::each_page;

/// Whether this process runs in a pod of the host cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inside {
    /// It does, and reaches pods directly.
    Yes,
    /// It does not, and reaches them through the API.
    No,
}

/// The servers inside the control plane; what keeps them from being found is told in the observation.
pub async fn targets(
    client: &ClusterClient,
    inside: Inside,
    observed: &mut Observed,
) -> Vec<Target> {
    let Some(namespace) = observed.namespace.clone() else {
        return Vec::new();
    };
    let root = format!("/api/v1/namespaces/{}", path_segment(&namespace));
    let mut services: Vec<Service> = Vec::new();
    let mut pods: Vec<Pod> = Vec::new();
    let listed = async {
        each_page(client, &format!("{root}/services"), PAGE, |page| {
            services.extend(page)
        })
        .await?;
        each_page(client, &format!("{root}/pods"), PAGE, |page| {
            pods.extend(page)
        })
        .await
    };
    if let Err(error) = listed.await {
        let reason = format!("the servers inside the control plane: {}", chain(&error));
        observed.sources.push(Source {
            subject: Subject::new("namespace", namespace),
            state: Reading::Unreadable(reason),
        });
        return Vec::new();
    }
    let mut targets: Vec<Target> = Vec::new();
    for service in &services {
        let of_service: Vec<&Pod> = pods.iter().filter(|pod| service.selects(pod)).collect();
        for port in service
            .spec
            .ports
            .iter()
            .flatten()
            .filter(|port| port.speaks_tls())
        {
            let running = of_service.iter().filter(|pod| pod.runs());
            let before = targets.len();
            for pod in running {
                let target = target(&namespace, service, pod, port, inside, observed);
                let known = targets.iter().any(|other| {
                    Some(&other.holder) == target.as_ref().map(|target| &target.holder)
                });
                match target {
                    Some(target) if !known => targets.push(target),
                    _ => {}
                }
            }
            if targets.len() == before
                && !of_service.is_empty()
                && !of_service.iter().any(|pod| pod.runs())
            {
                observed.sources.push(Source {
                    subject: Subject::new(
                        "service",
                        format!("{namespace}/{}", service.metadata.name),
                    ),
                    state: Reading::Unreadable("none of its pods runs".to_owned()),
                });
            }
        }
    }
    targets
}

fn target(
    namespace: &str,
    service: &Service,
    pod: &Pod,
    port: &Port,
    inside: Inside,
    observed: &Observed,
) -> Option<Target> {
    let number = port.number_in(pod)?;
    let name = &service.metadata.name;
    let host = format!("{name}.{namespace}.svc");
    let clients: Vec<&crate::observed::ClientOf> = observed
        .clients
        .iter()
        .filter(|client| {
            client.host == host
                || client
                    .host
                    .strip_prefix(&host)
                    .is_some_and(|rest| rest.starts_with('.'))
        })
        .collect();
    let is_apiserver = name.ends_with("karmada-apiserver");
    let trusted_by: Vec<Place> = clients.iter().map(|client| client.place.clone()).collect();
    Some(Target {
        holder: Holder::Endpoint(format!("{namespace}/{}:{number}", pod.metadata.name)),
        way: match inside {
            Inside::Yes => Way::Direct,
            Inside::No => Way::Forward {
                namespace: namespace.to_owned(),
                pod: pod.metadata.name.clone(),
                port: number,
            },
        },
        // Components ask karmada-apiserver by the name of its Service; of others only those that are seen are known.
        named: !clients.is_empty(),
        host: clients.first().map_or(host, |client| client.host.clone()),
        dialled: pod
            .status
            .as_ref()
            .and_then(|status| status.pod_ip.clone())
            .unwrap_or_default(),
        port: number,
        trusted_by,
        verified: true,
        server: match is_apiserver {
            true => Server::ControlPlane,
            false => Server::Component(name.clone()),
        },
    })
}

impl Service {
    /// Whether a pod is behind it; one without a selector has none.
    fn selects(&self, pod: &Pod) -> bool {
        let selector = self.spec.selector.as_ref();
        selector.is_some_and(|selector| {
            !selector.is_empty()
                && selector
                    .iter()
                    .all(|(key, value)| pod.metadata.labels.get(key) == Some(value))
        })
    }
}

impl Port {
    /// Whether TLS is spoken there by its number or its name; others of Karmada's ports serve plain metrics.
    fn speaks_tls(&self) -> bool {
        let is_metrics = self
            .name
            .as_deref()
            .is_some_and(|name| name.contains("metrics"));
        let target = self.target_port.as_ref().and_then(Value::as_u64);
        let known = |port: u64| TLS_PORTS.contains(&port);
        !is_metrics && (known(self.port.into()) || target.is_some_and(known))
    }

    /// Its number in a pod.
    fn number_in(&self, pod: &Pod) -> Option<u16> {
        match &self.target_port {
            None | Some(Value::Null) => Some(self.port),
            Some(Value::Number(number)) => u16::try_from(number.as_u64()?).ok(),
            Some(Value::String(name)) => pod
                .spec
                .containers
                .iter()
                .flat_map(|container| container.ports.iter().flatten())
                .find(|port| port.name.as_deref() == Some(name))
                .map(|port| port.container_port),
            Some(_) => None,
        }
    }
}

impl Pod {
    fn runs(&self) -> bool {
        let status = self.status.as_ref();
        status.is_some_and(|status| status.phase.as_deref() == Some("Running"))
    }
}

#[derive(Deserialize)]
struct Service {
    metadata: Metadata,
    #[serde(default)]
    spec: ServiceSpec,
}

#[derive(Deserialize, Default)]
struct ServiceSpec {
    selector: Option<BTreeMap<String, String>>,
    ports: Option<Vec<Port>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Port {
    name: Option<String>,
    port: u16,
    target_port: Option<Value>,
}

#[derive(Deserialize)]
struct Pod {
    metadata: Metadata,
    #[serde(default)]
    spec: PodSpec,
    status: Option<PodStatus>,
}

#[derive(Deserialize, Default)]
struct PodSpec {
    #[serde(default)]
    containers: Vec<Container>,
}

#[derive(Deserialize)]
struct Container {
    ports: Option<Vec<ContainerPort>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ContainerPort {
    name: Option<String>,
    container_port: u16,
}

#[derive(Deserialize)]
struct PodStatus {
    phase: Option<String>,
    #[serde(rename = "podIP")]
    pod_ip: Option<String>,
}

#[derive(Deserialize)]
struct Metadata {
    name: String,
    #[serde(default)]
    labels: BTreeMap<String, String>,
}

const PAGE: usize = 100;
const TLS_PORTS: [u64; 10] = [443, 2379, 2380, 5443, 6443, 8443, 9443, 10250, 10257, 10352];
