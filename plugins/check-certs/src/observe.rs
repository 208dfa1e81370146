//! All reads of a run, into one observation.

use karmada_repair::access::Access;
use karmada_repair::cluster::client::ClusterClient;
use karmada_repair::cluster::request_error::RequestError;
use karmada_repair::error::chain;
use karmada_repair::finding::Subject;
use karmada_repair::karmada::{CLUSTERS, Cluster};
use karmada_repair::part::Part;

use crate::config::{Config, Endpoint};
use crate::observed::{Observed, Probe, Reading, Server, Source, Target, Way};
use crate::place::Holder;
use crate::probe::{self, Asking};
use crate::sources::components::{self, Inside};
use crate::sources::{control_plane, files, host, in_use, member};

/// Reads everything that the command line gives access to.
pub async fn observe(access: &Access, config: &Config) -> Observed {
    let mut observed = Observed::default();
    let mut targets: Vec<Target> = Vec::new();
    let sources = files::read(&config.paths, &mut observed.inventory);
    observed.sources.extend(sources);
    targets.extend(config.endpoints.iter().map(given));
    // What the command line names is the whole scope, unless it names servers too.
    let mut host = None;
    if !config.names_sources() || access.names_a_server() {
        host = servers(access, config, &mut observed, &mut targets).await;
    }
    if config.probe {
        ask(config, targets, host.as_ref(), &mut observed).await;
    }
    observed
}

/// Reads the servers; the host cluster's client is returned, for ports of pods.
async fn servers(
    access: &Access,
    config: &Config,
    observed: &mut Observed,
    targets: &mut Vec<Target>,
) -> Option<ClusterClient> {
    let mut host_client: Option<ClusterClient> = access.host().cloned();
    match access.control_plane_if_any() {
        Some(client) => match clusters(client).await {
            Federation::Clusters(clusters) => {
                of_control_plane(client, config, &clusters, observed, targets).await;
            }
            // Without a flag that says which is which, a context may be that of the host cluster.
            Federation::NotKarmada if host_client.is_none() => host_client = Some(client.clone()),
            Federation::NotKarmada => observed.sources.push(Source {
                subject: Subject::new("control-plane", client.server()),
                state: Reading::Unreadable(
                    "it is not a Karmada control plane: it has no cluster.karmada.io API"
                        .to_owned(),
                ),
            }),
            Federation::Unreadable(reason) => {
                targets.extend(in_use::read(
                    client,
                    Server::ControlPlane,
                    &mut observed.inventory,
                ));
                observed.sources.push(Source {
                    subject: Subject::new("control-plane", client.server()),
                    state: Reading::Unreadable(reason),
                });
            }
        },
        None => observed.sources.push(Source {
            subject: Subject::new("control-plane", "karmada-apiserver"),
            state: match access.control_plane_unusable() {
                Some(reason) => Reading::Unreadable(reason.to_owned()),
                None => Reading::NotExamined(
                    "give it with --kubeconfig FILE or --context NAME".to_owned(),
                ),
            },
        }),
    }
    match &host_client {
        Some(client) => {
            targets.extend(in_use::read(client, Server::Host, &mut observed.inventory));
            host::read(client, access.karmada_namespace(), observed).await;
            if config.probe {
                let inside = match is_own_cluster(access, client) {
                    true => Inside::Yes,
                    false => Inside::No,
                };
                targets.extend(components::targets(client, inside, observed).await);
            }
        }
        None => observed.sources.push(Source {
            subject: Subject::new("cluster", "host"),
            state: Reading::NotExamined(
                "give the cluster that runs Karmada with --host-context NAME or --host-kubeconfig FILE, or with --host-in-cluster from a pod in it"
                    .to_owned(),
            ),
        }),
    }
    host_client
}

/// Whether this process runs in a pod of that cluster.
fn is_own_cluster(access: &Access, client: &ClusterClient) -> bool {
    match access.pod_cluster() {
        Some(Ok(pod)) => pod.server() == client.server(),
        Some(Err(_)) | None => false,
    }
}

async fn of_control_plane(
    client: &ClusterClient,
    config: &Config,
    clusters: &[Cluster],
    observed: &mut Observed,
    targets: &mut Vec<Target>,
) {
    targets.extend(in_use::read(
        client,
        Server::ControlPlane,
        &mut observed.inventory,
    ));
    let selected: Vec<Cluster> = clusters
        .iter()
        .filter(|cluster| config.selects(&cluster.metadata.name))
        .cloned()
        .collect();
    for name in &config.clusters {
        if !clusters
            .iter()
            .any(|cluster| cluster.metadata.name == *name)
        {
            observed.sources.push(Source {
                subject: Subject::cluster(name),
                state: Reading::Unreadable("there is no member of this name".to_owned()),
            });
        }
    }
    observed.sources.push(Source {
        subject: Subject::new("control-plane", client.server()),
        state: Reading::Read,
    });
    control_plane::read(client, observed).await;
    control_plane::read_members(client, &selected, observed).await;
    for cluster in &selected {
        targets.extend(member::target(cluster, &observed.inventory));
        member::read_agent(client, cluster, observed).await;
    }
}

/// What the control plane's list of members tells.
enum Federation {
    Clusters(Vec<Cluster>),
    NotKarmada,
    Unreadable(String),
}

async fn clusters(client: &ClusterClient) -> Federation {
    match client.list::<Cluster>(CLUSTERS).await {
        Ok(list) => Federation::Clusters(list.items),
        Err(error) if error.code() == Some(404) => Federation::NotKarmada,
        // Whoever may not list is refused before it is looked whether there are any.
        Err(error) if error.code() == Some(403) && !serves_clusters(client).await => {
            Federation::NotKarmada
        }
        Err(error) => Federation::Unreadable(chain(&error)),
    }
}

async fn serves_clusters(client: &ClusterClient) -> bool {
    let groups: Result<serde_json::Value, RequestError> = client.get("/apis").await;
    match groups {
        Ok(groups) => groups["groups"].as_array().is_none_or(|groups| {
            groups
                .iter()
                .any(|group| group["name"] == "cluster.karmada.io")
        }),
        Err(_) => true,
    }
}

async fn ask(
    config: &Config,
    targets: Vec<Target>,
    host: Option<&ClusterClient>,
    observed: &mut Observed,
) {
    let asking = Asking {
        concurrency: config.concurrency,
        allowed: config.probe_timeout,
    };
    let shown = probe::ask(&targets, asking, host).await;
    for (target, shown) in targets.into_iter().zip(shown) {
        let shown = match shown {
            Ok(chain) => Part::Seen(observed.inventory.add_served(&target.holder, &chain)),
            Err(reason) => Part::Unreadable(reason),
        };
        observed.probes.push(Probe { target, shown });
    }
}

fn given(endpoint: &Endpoint) -> Target {
    Target {
        holder: Holder::Endpoint(endpoint.to_string()),
        way: Way::Direct,
        host: endpoint.host.clone(),
        dialled: endpoint.host.clone(),
        port: endpoint.port,
        trusted_by: Vec::new(),
        verified: true,
        named: true,
        server: Server::Given,
    }
}
