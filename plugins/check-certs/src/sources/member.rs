//! Members: the endpoints at which the control plane dials them, and the kubeconfigs of their agents.

use karmada_repair::cluster::client::ClusterClient;
use karmada_repair::error::chain;
use karmada_repair::finding::Subject;
use karmada_repair::karmada::{Cluster, SyncMode, proxy_path};
use secrecy::SecretString;

use crate::config::address;
use crate::inventory::{Inventory, Role};
use crate::observed::{Observed, Reading, Server, Source, Target, Way};
use crate::place::{Holder, Origin, Place};
use crate::sources::secrets;

/// The server behind the endpoint of a member; `None` = it has none, or one without TLS.
pub fn target(cluster: &Cluster, inventory: &Inventory) -> Option<Target> {
    let endpoint = cluster.spec.api_endpoint.as_deref()?;
    let url = url::Url::parse(endpoint).ok()?;
    let host = url.host_str()?.trim_matches(['[', ']']).to_owned();
    if url.scheme() != "https" || host.is_empty() {
        return None;
    }
    let port = url.port_or_known_default().unwrap_or(443);
    Some(Target {
        holder: Holder::Endpoint(address(&host, port)),
        way: match &cluster.spec.proxy_url {
            Some(proxy) => Way::Proxy(SecretString::from(proxy.clone())),
            None => Way::Direct,
        },
        host: host.clone(),
        dialled: host,
        port,
        trusted_by: authorities(cluster, inventory),
        verified: !cluster.spec.insecure_skip_tls_verification,
        named: true,
        server: Server::Member(cluster.metadata.name.clone()),
    })
}

/// Where the authorities of a member's server are: `caBundle` in its Secret.
fn authorities(cluster: &Cluster, inventory: &Inventory) -> Vec<Place> {
    let Some(reference) = &cluster.spec.secret_ref else {
        return Vec::new();
    };
    let holder = Holder::Secret {
        origin: Origin::ControlPlane,
        namespace: reference.namespace.clone(),
        name: reference.name.clone(),
    };
    let bundles = inventory.bundles.iter();
    bundles
        .filter(|bundle| bundle.role == Role::Trust && bundle.place.holder == holder)
        .map(|bundle| bundle.place.clone())
        .collect()
}

/// Reads the kubeconfig of a member's agent through the control plane's proxy; only members in pull mode have one.
pub async fn read_agent(client: &ClusterClient, cluster: &Cluster, observed: &mut Observed) {
    if cluster.spec.sync_mode != SyncMode::Pull {
        return;
    }
    let member = &cluster.metadata.name;
    let origin = Origin::Member(member.clone());
    let (prefix, namespace) = (proxy_path(member), AGENT_NAMESPACE);
    let inventory = &mut observed.inventory;
    let (_, ended) = secrets::read(client, &prefix, &origin, namespace, inventory).await;
    if let Err(error) = ended {
        let reason = format!(
            "the kubeconfig of its agent, in its namespace {namespace}: {}",
            chain(&error)
        );
        observed.sources.push(Source {
            subject: Subject::cluster(member),
            state: Reading::Unreadable(reason),
        });
    }
}

const AGENT_NAMESPACE: &str = "karmada-system";
