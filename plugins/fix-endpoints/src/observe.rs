//! All reads of the plugin.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use futures::future::{join, join_all, join3};
use jiff::{SignedDuration, Timestamp};
use karmada_repair::access::Access;
use karmada_repair::cluster::client::List;
use karmada_repair::cluster::control_plane::ControlPlaneError;
use karmada_repair::cluster::object::ObjectReference;
use karmada_repair::cluster::request_error::RequestError;
use karmada_repair::docker::client::Docker;
use karmada_repair::docker::error::DockerError;
use karmada_repair::docker::membership::{Owner, Tool};
use karmada_repair::docker::model::Container;
use karmada_repair::driver::Depth;
use karmada_repair::error::{Explain, Failure, chain};
use karmada_repair::finding::Subject;
use karmada_repair::karmada::{Cluster, SecretReference, UnknownCluster};
use karmada_repair::part::Part;
use karmada_repair::text::shell_word;
use serde_json::Value;

use crate::ask_agents::ask_agents;
use crate::ask_directly::ask_directly;
use crate::config::Config;
use crate::direct::Direct;
use crate::endpoint::Endpoint;
use crate::examine::{control_plane, examine};
use crate::host;
use crate::observed::{ControlPlane, DockerSeen, Member, MemberSecret, Observed};
use crate::place;
use crate::proxy_answer::ProxyAnswer;
use crate::secret_kubeconfig;
use crate::serving::served;
use crate::stored::StoredSecret;
use crate::try_addresses::try_addresses;

/// Reads the clusters, their secrets, the containers and what is served in them.
///
/// # Errors
/// When the clusters cannot be listed, or one that was named does not exist.
pub async fn observe(access: &Access, config: &Config, depth: Depth) -> Result<Observed, Failure> {
    let (clusters, docker) = join(access.clusters(), docker(access, config)).await;
    let clusters = match clusters {
        Err(ControlPlaneError::Request(error))
            if error.is_forbidden() && !config.members.is_empty() =>
        {
            one_by_one(access, &config.members).await?
        }
        clusters => clusters?,
    };
    let (clusters, others) = selected(clusters, config)?;
    let mut docker = docker;
    if let Part::Seen((client, seen)) = &mut docker {
        inspect_what_the_list_leaves_open(client, seen, &clusters, access).await;
    }
    let references = clusters
        .iter()
        .flat_map(|cluster| [member_secret(cluster), impersonator_secret(cluster)])
        .collect();
    let secrets = secrets(access, references);
    let certificates = join_all(clusters.iter().map(|cluster| served(cluster, &docker)));
    let names: Vec<&str> = clusters
        .iter()
        .map(|cluster| cluster.metadata.name.as_str())
        .collect();
    access.check_members(&names)?;
    let (secrets, certificates, host) =
        join3(secrets, certificates, host::read(access, &names)).await;
    let members = clusters
        .into_iter()
        .zip(certificates)
        .map(|(cluster, served)| Member {
            secret: read(&secrets, &member_secret(&cluster), secret),
            impersonator: read(&secrets, &impersonator_secret(&cluster), StoredSecret::read),
            cluster,
            served,
            proxy: None,
            direct: Direct::NotAsked,
            agent: Part::Absent,
            tried: BTreeMap::new(),
        })
        .collect();
    let mut observed = Observed {
        control_plane: ControlPlane {
            server: access.control_plane().server().to_owned(),
            host_context: access.host_context().map(str::to_owned),
            commands: access.commands(&config.docker),
            own_command: access.own_command(),
        },
        members,
        others,
        host,
        docker: match docker {
            Part::Seen((_, seen)) => Part::Seen(seen),
            Part::Absent => Part::Absent,
            Part::Unreadable(reason) => Part::Unreadable(reason),
        },
    };
    if let Some(context) = context_of_host(access, config, &observed) {
        observed.control_plane.commands.host =
            format!("kubectl --context {}", shell_word(&context));
    }
    ask_through_the_proxy(access, config, &depth, &mut observed).await;
    ask_agents(access, config, &mut observed).await;
    if matches!(depth, Depth::Overview) {
        let now = karmada_repair::clock::now();
        ask_directly(access, config, &mut observed, now).await;
        try_addresses(access, config, &mut observed, now).await;
    }
    Ok(observed)
}

/// The context that k3d, kind or minikube makes for the cluster of the control plane's containers, where no access to it
/// was given and the loaded kubeconfig has that context.
fn context_of_host(access: &Access, config: &Config, observed: &Observed) -> Option<String> {
    if access.host().is_some() {
        return None;
    }
    let docker = observed.docker.seen()?;
    let nodes = control_plane(observed, config, docker).ok()?;
    let owner = Owner::of(nodes.first()?);
    let cluster = owner.cluster?;
    let context = match owner.tool {
        Tool::K3d => format!("k3d-{cluster}"),
        Tool::Kind => format!("kind-{cluster}"),
        Tool::Minikube => cluster,
        Tool::Unknown => return None,
    };
    access.has_context(&context).then_some(context)
}

/// The clusters that were named, where listing is forbidden; one that does not exist is left out.
async fn one_by_one(access: &Access, names: &[String]) -> Result<Vec<Cluster>, RequestError> {
    let read = names.iter().map(|name| async move {
        let path = ObjectReference::cluster(name).path();
        access.control_plane().get::<Cluster>(&path).await
    });
    let mut clusters = Vec::new();
    for read in join_all(read).await {
        match read {
            Ok(cluster) => clusters.push(cluster),
            Err(error) if error.is_not_found() => {}
            Err(error) => return Err(error),
        }
    }
    Ok(clusters)
}

/// The clusters that were selected, and the others.
fn selected(
    mut clusters: Vec<Cluster>,
    config: &Config,
) -> Result<(Vec<Cluster>, Vec<Cluster>), Failure> {
    clusters.sort_by(|a, b| a.metadata.name.cmp(&b.metadata.name));
    let names: Vec<String> = clusters
        .iter()
        .map(|cluster| cluster.metadata.name.clone())
        .collect();
    let unknown = config
        .members
        .iter()
        .chain(config.endpoints.keys())
        .find(|name| !names.contains(name));
    if let Some(name) = unknown {
        return Err(UnknownCluster::new(name, names.iter().map(String::as_str)).into());
    }
    let is_selected = |cluster: &Cluster| {
        config.members.is_empty() || config.members.contains(&cluster.metadata.name)
    };
    Ok(clusters.into_iter().partition(is_selected))
}

async fn docker(access: &Access, config: &Config) -> Part<(Docker, DockerSeen)> {
    let docker = match access.docker(&config.docker) {
        Ok(docker) => docker,
        Err(error) => return Part::Unreadable(with_hint(&error)),
    };
    let (containers, networks) = join(docker.containers(), docker.networks()).await;
    match (containers, networks) {
        (Ok(containers), Ok(networks)) => {
            let seen = DockerSeen {
                daemon: format!("{} ({})", docker.located().endpoint, docker.located().by),
                containers,
                networks,
            };
            Part::Seen((docker.clone(), seen))
        }
        (Err(error), _) | (_, Err(error)) => Part::Unreadable(with_hint(&error)),
    }
}

/// Port bindings of containers that do not run are told by an inspection only.
async fn inspect_what_the_list_leaves_open(
    docker: &Docker,
    seen: &mut DockerSeen,
    clusters: &[Cluster],
    access: &Access,
) {
    let endpoints = clusters
        .iter()
        .filter(|cluster| !cluster.is_ready())
        .filter_map(|cluster| cluster.spec.api_endpoint.as_deref())
        .chain([access.control_plane().server()])
        .filter_map(|text| Endpoint::parse(text).ok());
    let open: BTreeSet<String> = endpoints
        .flat_map(|endpoint| {
            place::to_inspect(&endpoint, &seen.containers)
                .map(|container| container.id.clone())
                .collect::<Vec<_>>()
        })
        .collect();
    let inspected: Vec<Container> = join_all(open.iter().map(|id| docker.inspect(id)))
        .await
        .into_iter()
        // A container that is gone by now, or cannot be inspected, keeps what the list told.
        .filter_map(Result::ok)
        .collect();
    for container in inspected {
        if let Some(listed) = seen
            .containers
            .iter_mut()
            .find(|listed| listed.id == container.id)
        {
            *listed = container;
        }
    }
}

/// The secrets that are referred to: one LIST per namespace, or a GET each where listing is forbidden.
async fn secrets(
    access: &Access,
    references: BTreeSet<SecretReference>,
) -> BTreeMap<SecretReference, Part<Value>> {
    let namespaces: BTreeSet<&str> = references
        .iter()
        .map(|reference| reference.namespace.as_str())
        .collect();
    let listed = join_all(namespaces.into_iter().map(|namespace| async move {
        let path = format!("/api/v1/namespaces/{namespace}/secrets");
        (namespace, access.control_plane().list::<Value>(&path).await)
    }))
    .await;
    let mut secrets = BTreeMap::new();
    for (namespace, answer) in listed {
        let of_namespace = references
            .iter()
            .filter(|reference| reference.namespace == namespace)
            .cloned();
        match answer {
            Ok(List { items, .. }) => {
                for reference in of_namespace {
                    let found = items.iter().find(|item| {
                        item.pointer("/metadata/name")
                            == Some(&Value::from(reference.name.as_str()))
                    });
                    secrets.insert(reference, found.cloned().map_or(Part::Absent, Part::Seen));
                }
            }
            Err(error) if error.is_forbidden() => {
                let one_by_one = of_namespace.map(|reference| async move {
                    let object = ObjectReference::secret(
                        reference.namespace.clone(),
                        reference.name.clone(),
                    );
                    let read = access.control_plane().get::<Value>(&object.path()).await;
                    (reference, part(read))
                });
                secrets.extend(join_all(one_by_one).await);
            }
            Err(error) => secrets
                .extend(of_namespace.map(|reference| (reference, Part::Unreadable(chain(&error))))),
        }
    }
    secrets
}

pub(crate) fn part<T>(read: Result<T, RequestError>) -> Part<T> {
    match read {
        Ok(value) => Part::Seen(value),
        Err(error) if error.is_not_found() => Part::Absent,
        Err(error) => Part::Unreadable(chain(&error)),
    }
}

fn read<T>(
    secrets: &BTreeMap<SecretReference, Part<Value>>,
    reference: &SecretReference,
    decode: impl FnOnce(&Value) -> T,
) -> Part<T> {
    match secrets.get(reference) {
        Some(Part::Seen(object)) => Part::Seen(decode(object)),
        Some(Part::Unreadable(reason)) => Part::Unreadable(reason.clone()),
        Some(Part::Absent) | None => Part::Absent,
    }
}

/// The secret that is named, else the one that a join would have named.
fn member_secret(cluster: &Cluster) -> SecretReference {
    let named = cluster.spec.secret_ref.clone();
    named.unwrap_or_else(|| SecretReference {
        namespace: "karmada-cluster".to_owned(),
        name: cluster.metadata.name.clone(),
    })
}

fn impersonator_secret(cluster: &Cluster) -> SecretReference {
    let named = cluster.spec.impersonator_secret_ref.clone();
    named.unwrap_or_else(|| SecretReference {
        namespace: member_secret(cluster).namespace,
        name: format!("{}-impersonator", cluster.metadata.name),
    })
}

pub(crate) fn secret(item: &Value) -> MemberSecret {
    let value = |key: &str| {
        item.pointer("/data")
            .and_then(|data| data.get(key))
            .and_then(Value::as_str)
    };
    MemberSecret {
        has_token: value("token").is_some_and(|token| !token.is_empty()),
        ca_bundle: value("caBundle")
            .and_then(secret_kubeconfig::decoded)
            .filter(|pem| !pem.is_empty()),
        kubeconfig: secret_kubeconfig::read(value("kubeconfig")),
        stored: StoredSecret::read(item),
    }
}

/// Asks the control plane to reach the members whose address shows no fault but which are not ready, and those that
/// are to be proven.
async fn ask_through_the_proxy(
    access: &Access,
    config: &Config,
    depth: &Depth,
    observed: &mut Observed,
) {
    let now = karmada_repair::clock::now();
    let to_ask: Vec<String> = observed
        .members
        .iter()
        .filter(|member| config.examines(member))
        .filter(|member| match depth {
            Depth::Proof(subjects) => subjects.contains(&Subject::cluster(member.name())),
            Depth::Overview if !member.is_dialled() => true,
            Depth::Overview if member.cluster.is_ready() => is_doubtful(&member.cluster, now),
            Depth::Overview => examine(member, observed, config, now).fault.is_none(),
        })
        .map(|member| member.name().to_owned())
        .collect();
    let answers = join_all(to_ask.iter().map(|name| ask(access, name))).await;
    for (name, answer) in to_ask.iter().zip(answers) {
        if let Some(member) = observed
            .members
            .iter_mut()
            .find(|member| member.name() == name)
        {
            member.proxy = Some(answer);
        }
    }
}

/// Whether a report of readiness may speak of another way than the one that is recorded now.
fn is_doubtful(cluster: &Cluster, now: Timestamp) -> bool {
    let endpoint = cluster.spec.api_endpoint.as_deref().map(Endpoint::parse);
    let leads_back = matches!(&endpoint, Some(Ok(endpoint)) if endpoint.is_own_host());
    let changed = cluster.way_changed_at();
    leads_back || changed.is_some_and(|changed| now.duration_since(changed) < SETTLED)
}

async fn ask(access: &Access, cluster: &str) -> ProxyAnswer {
    match tokio::time::timeout(PROXY, access.ask_member(cluster, "/readyz")).await {
        Ok(Ok(answer)) => ProxyAnswer::read(answer.status.as_u16(), &answer.message()),
        Ok(Err(error)) => ProxyAnswer::lost(chain(&error), error.is_timeout()),
        Err(_) => ProxyAnswer::lost(
            format!("no answer within {}", karmada_repair::text::seconds(PROXY)),
            true,
        ),
    }
}

fn with_hint(error: &DockerError) -> String {
    match error.hint() {
        Some(hint) => format!("{}; {hint}", chain(error)),
        None => chain(error),
    }
}

/// The controllers take 30 s by default, and longer on a large federation, to report a change.
const SETTLED: SignedDuration = SignedDuration::from_secs(120);

/// The control plane's own attempt to dial may take longer; that is an answer too.
const PROXY: Duration = Duration::from_secs(8);
