//! All reads of the plugin.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::future::join_all;
use karmada_repair::access::{Access, MemberApi};
use karmada_repair::cli::docker::DockerChoice;
use karmada_repair::clock;
use karmada_repair::cluster::object::{Kind, ObjectReference};
use karmada_repair::cluster::request_error::RequestError;
use karmada_repair::error::{Explain, Failure, UsageError};
use karmada_repair::exit::Exit;
use karmada_repair::io;
use karmada_repair::karmada::Cluster;
use karmada_repair::part::Part;
use karmada_repair::text::near_matches;
use serde_json::Value as Json;

use crate::config::{Config, Operation};
use crate::digest::Digester;
use crate::instances::{self, Found};
use crate::keys;
use crate::observed::{ClusterSeen, Instance, Observed, SecretSeen};
use crate::random::{self, NoRandomness};
use crate::rotate;
use crate::rotation::{self, Entangled, Goal};
use crate::secret::Secret;
use crate::token::Token;

/// Reads the selected members, all at once.
///
/// # Errors
/// When the members cannot be listed or are not there, or stdin cannot be read.
pub async fn observe(access: &Access, config: &Config) -> Result<Observed, Failure> {
    let digester = Digester::new(random::bytes(32)?);
    let clusters = selected(access, config).await?;
    let names: Vec<&str> = clusters
        .iter()
        .map(|cluster| cluster.metadata.name.as_str())
        .collect();
    access.check_members(&names)?;
    let seen = clusters.iter().map(|cluster| {
        let reader = Reader {
            access,
            config,
            digester: &digester,
            selected: &names,
        };
        async move { reader.cluster(cluster).await }
    });
    let clusters = join_all(seen).await;
    let templates = templates(access, &clusters).await;
    let goal = goal(config, &clusters)?;
    Ok(Observed {
        clusters,
        own_command: access.own_command(),
        commands: access.commands(&DockerChoice::Found),
        goal,
        tokens: tokens(config)?,
        templates,
    })
}

/// The clusters that are meant.
async fn selected(access: &Access, config: &Config) -> Result<Vec<Cluster>, Failure> {
    if access.control_plane_if_any().is_none() {
        return Err(no_control_plane(access).into());
    }
    let mut clusters: Vec<Cluster> = access.clusters().await?;
    clusters.sort_by(|a, b| a.metadata.name.cmp(&b.metadata.name));
    let known: Vec<&str> = clusters
        .iter()
        .map(|cluster| cluster.metadata.name.as_str())
        .collect();
    let from = match &config.operation {
        Operation::Sync(sync) => Some(&sync.from),
        _ => None,
    };
    let named = config
        .scope
        .clusters
        .iter()
        .chain(from)
        .chain(config.scope.map.keys());
    for name in named {
        if !known.contains(&name.as_str()) {
            return Err(no_such_cluster(name, &known).into());
        }
    }
    if !config.scope.clusters.is_empty() {
        clusters.retain(|cluster| config.scope.clusters.contains(&cluster.metadata.name));
    }
    clusters.retain(|cluster| cluster.metadata.deletion_timestamp.is_none());
    Ok(clusters)
}

fn no_control_plane(access: &Access) -> UsageError {
    let why = access
        .control_plane_unusable()
        .map_or_else(String::new, |why| format!(": {why}"));
    UsageError::new(format!(
        "no kubeconfig leads to the Karmada control plane, which tells of the clusters{why}"
    ))
    .with_hint("name it with --kubeconfig FILE or --context NAME")
}

fn no_such_cluster(name: &str, known: &[&str]) -> UsageError {
    let error = UsageError::new(format!("the control plane has no cluster {name:?}"));
    match near_matches(name, known.iter().copied()).as_slice() {
        [] => error.with_hint("kubectl get clusters"),
        near => error.with_hint(format!("did you mean {}?", near.join(" or "))),
    }
}

impl Explain for NoRandomness {
    fn exit(&self) -> Exit {
        Exit::Faults
    }
}

/// What this run of `rotate` is to bring about: found once, so that later observations are measured by it.
fn goal(
    config: &Config,
    clusters: &[ClusterSeen],
) -> Result<Option<Result<Goal, Entangled>>, NoRandomness> {
    let resume = match &config.operation {
        Operation::Rotate(rotate) => rotate.resume,
        _ => true,
    };
    if let Some(known) = config.goal.get() {
        return Ok(known.clone());
    }
    let goal = match rotate::begun(clusters) {
        Ok(None) if !resume => Some(Ok(fresh()?)),
        begun => begun.transpose(),
    };
    Ok(match &config.operation {
        Operation::Rotate(_) => config.goal.get_or_init(|| goal).clone(),
        _ => goal,
    })
}

fn fresh() -> Result<Goal, NoRandomness> {
    let salt = random::bytes(2)?;
    Ok(Goal {
        key: random::fernet_key()?,
        rotation: rotation::name(clock::now(), u16::from_be_bytes([salt[0], salt[1]])),
        begun: false,
    })
}

/// The tokens on stdin, one a line.
fn tokens(config: &Config) -> Result<Option<Vec<TokenRead>>, UsageError> {
    if config.operation != Operation::Verify {
        return Ok(None);
    }
    let text = io::read_stdin(LONGEST_INPUT)
        .map_err(|error| UsageError::new(format!("stdin cannot be read: {error}")))?;
    let tokens: Vec<TokenRead> = text
        .split(|&byte| byte == b'\n')
        .map(<[u8]>::trim_ascii)
        .filter(|line| !line.is_empty())
        .map(Token::parse)
        .collect();
    if tokens.is_empty() {
        return Err(UsageError::new("there is no encrypted value on stdin").with_hint(
            "pipe one in: psql -Atc 'select password from connection where is_encrypted limit 1' | kubectl karmada-shared-fernet verify --ciphertext -",
        ));
    }
    Ok(Some(tokens))
}

type TokenRead = Result<Token, crate::token::NoToken>;

/// The Secrets in the control plane of which members hold copies.
async fn templates(
    access: &Access,
    clusters: &[ClusterSeen],
) -> BTreeMap<String, Part<SecretSeen>> {
    let mut wanted: Vec<(&str, &str)> = clusters
        .iter()
        .flat_map(ClusterSeen::found)
        .flat_map(|instance| {
            let secrets = instance.secrets.values().filter_map(Part::seen);
            secrets
                .filter(|secret| secret.karmada_managed)
                .map(|secret| (instance.namespace.as_str(), secret.name.as_str()))
        })
        .collect();
    wanted.sort_unstable();
    wanted.dedup();
    let read = wanted.into_iter().map(|(namespace, name)| async move {
        let path = ObjectReference::secret(namespace, name).path();
        let part = part(access.control_plane().get::<Json>(&path).await);
        (
            format!("{namespace}/{name}"),
            mapped(part, |object| Secret::of(object).seen),
        )
    });
    join_all(read).await.into_iter().collect()
}

struct Reader<'a> {
    access: &'a Access,
    config: &'a Config,
    digester: &'a Digester,
    selected: &'a [&'a str],
}

impl Reader<'_> {
    async fn cluster(&self, cluster: &Cluster) -> ClusterSeen {
        let name = cluster.metadata.name.clone();
        let member = match self.access.member(cluster, self.selected).await {
            Ok(member) => member,
            Err(error) => {
                return ClusterSeen {
                    name,
                    instances: Part::Unreadable(error.to_string()),
                    unlisted: None,
                    clock_offset: None,
                };
            }
        };
        let (listed, clock_offset) =
            tokio::join!(self.workloads(&member, &name), self.clock(&name));
        let Listed {
            workloads,
            unlisted,
        } = listed;
        let mut found = instances::group(&workloads);
        if let Some(release) = self.config.scope.release_in(&name) {
            found.retain(|found| found.release == release);
        }
        if found.is_empty() {
            found = self.by_names_of_charts(&name);
        }
        let read = found.into_iter().map(|found| self.instance(&member, found));
        let mut instances: Vec<Instance> = join_all(read).await;
        // A guess that nothing confirms is no Airflow.
        instances.retain(|instance| !instance.workloads.is_empty() || !instance.keys.is_empty());
        ClusterSeen {
            name,
            instances: Part::Seen(instances),
            unlisted,
            clock_offset,
        }
    }

    /// The workloads in the namespaces that are meant.
    async fn workloads(&self, member: &MemberApi, cluster: &str) -> Listed {
        let namespaces = self.config.scope.namespaces_in(cluster);
        let mut listed = Listed::default();
        if namespaces.is_empty() {
            match listed_in(member, None).await {
                Ok(workloads) => listed.workloads = workloads,
                Err(error) => {
                    listed.unlisted = Some(error.to_string());
                    // What may be read there is better than nothing.
                    if let Ok(workloads) = listed_in(member, Some(USUAL)).await {
                        listed.workloads = workloads;
                    }
                }
            }
            return listed;
        }
        let all = namespaces
            .iter()
            .map(|namespace| listed_in(member, Some(namespace)));
        for one in join_all(all).await {
            match one {
                Ok(workloads) => listed.workloads.extend(workloads),
                Err(error) => listed.unlisted = Some(error.to_string()),
            }
        }
        listed
    }

    /// The clock of a member minus ours, in seconds, by the `Date` of an answer (RFC 9110 6.6.1).
    async fn clock(&self, cluster: &str) -> Option<i64> {
        let before = clock::now();
        let answer = self.access.ask_member(cluster, "/version").await.ok()?;
        let after = clock::now();
        let there = answer.headers.get("date")?.to_str().ok()?;
        instances::clock_offset(there, before, after)
    }

    /// Places to look into where no workload tells of any.
    fn by_names_of_charts(&self, cluster: &str) -> Vec<Found> {
        let mut namespaces = self.config.scope.namespaces_in(cluster);
        if namespaces.is_empty() {
            namespaces.push(USUAL.to_owned());
        }
        let release = self.config.scope.release_in(cluster).unwrap_or(USUAL);
        namespaces
            .into_iter()
            .map(|namespace| Found::by_name(namespace, release.to_owned()))
            .collect()
    }

    async fn instance(&self, member: &MemberApi, found: Found) -> Instance {
        let pods = async {
            match found.workloads.is_empty() {
                true => Part::Absent,
                false => {
                    let path = format!("/api/v1/namespaces/{}/pods", found.namespace);
                    let list = part(member.get::<Json>(&path).await);
                    mapped(list, |list| found.pods(&list))
                }
            }
        };
        let wanted = found.places(self.config.kinds());
        let namespace = &found.namespace;
        let secrets = join_all(wanted.secrets.iter().map(async |name| {
            let path = ObjectReference::secret(namespace, name).path();
            let object = part(member.get::<Json>(&path).await);
            let secret = mapped(object, |object| Arc::new(Secret::of(object)));
            (name.clone(), secret)
        }));
        let maps = join_all(wanted.config_maps.iter().map(async |name| {
            let path = ObjectReference::namespaced(Kind::ConfigMap, namespace, name).path();
            (name.clone(), part(member.get::<Json>(&path).await))
        }));
        let (pods, secrets, maps) = tokio::join!(pods, secrets, maps);
        let contents = keys::Contents {
            secrets: secrets.into_iter().collect(),
            config_maps: maps.into_iter().collect(),
        };
        keys::instance(found, pods, &contents, self.config.kinds(), self.digester)
    }
}

#[derive(Default)]
struct Listed {
    workloads: Vec<Json>,
    unlisted: Option<String>,
}

/// Deployments, StatefulSets and DaemonSets; lists leave out the kind of their items.
async fn listed_in(member: &MemberApi, namespace: Option<&str>) -> Result<Vec<Json>, RequestError> {
    let kinds = [
        ("deployments", "Deployment"),
        ("statefulsets", "StatefulSet"),
        ("daemonsets", "DaemonSet"),
    ];
    let lists = kinds.map(|(resource, kind)| async move {
        let place = match namespace {
            Some(namespace) => format!("namespaces/{namespace}/"),
            None => String::new(),
        };
        let list: Json = member
            .get(&format!("/apis/apps/v1/{place}{resource}"))
            .await?;
        let items = list["items"].as_array().cloned().unwrap_or_default();
        Ok(items.into_iter().map(move |mut item| {
            item["kind"] = Json::from(kind);
            item
        }))
    });
    let lists: Result<Vec<_>, RequestError> = join_all(lists).await.into_iter().collect();
    Ok(lists?.into_iter().flatten().collect())
}

fn part(read: Result<Json, RequestError>) -> Part<Json> {
    match read {
        Ok(object) => Part::Seen(object),
        Err(error) if error.is_not_found() => Part::Absent,
        Err(error) => Part::Unreadable(error.to_string()),
    }
}

fn mapped<T>(part: Part<Json>, change: impl FnOnce(Json) -> T) -> Part<T> {
    match part {
        Part::Seen(value) => Part::Seen(change(value)),
        Part::Absent => Part::Absent,
        Part::Unreadable(reason) => Part::Unreadable(reason),
    }
}

/// The namespace and release of the documentation.
const USUAL: &str = "airflow";

/// Far more than any token.
const LONGEST_INPUT: u64 = 1 << 20;
