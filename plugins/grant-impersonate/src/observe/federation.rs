//! Members: what the control plane keeps of them, and what they hold themselves.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use futures::future::{join_all, join3};
use karmada_repair::access::{Access, MemberApi, Way};
use karmada_repair::cluster::client::List;
use karmada_repair::cluster::control_plane::ControlPlaneError;
use karmada_repair::cluster::object::{ObjectReference, path_segment};
use karmada_repair::cluster::request_error::RequestError;
use karmada_repair::driver::Depth;
use karmada_repair::error::Failure;
use karmada_repair::karmada::{Cluster, UnknownCluster};
use karmada_repair::part::Part;
use secrecy::SecretString;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::account::RBAC_GROUP;
use crate::answer::Answer;
use crate::config::{Config, Task};
use crate::examine::{CLUSTER_NAMESPACE, expected_reference};
use crate::grant::{binding, role};
use crate::member_role::{self, RoleWork};
use crate::observed::{
    Applied, Copy, Delivered, Encoded, ImpersonatorSecret, Member, Work, Workload,
};
use crate::rbac::{Accepted, GRANTED_TO, MANAGED_BY, OWN, Role, latest};

/// A `Cluster` with its UID.
pub(super) struct Found {
    cluster: Cluster,
    uid: Option<String>,
    unreadable: Option<String>,
}

impl Found {
    /// Its name.
    pub(super) fn name(&self) -> &str {
        &self.cluster.metadata.name
    }
}

/// The clusters that were selected, by name.
pub(super) async fn clusters(access: &Access, config: &Config) -> Result<Vec<Found>, Failure> {
    let mut clusters: Vec<Found> = match access.clusters::<Value>().await {
        Err(ControlPlaneError::Request(error))
            if error.is_forbidden() && !config.members.is_empty() =>
        {
            one_by_one(access, &config.members).await?
        }
        found => found?.into_iter().filter_map(readable).collect(),
    };
    clusters.sort_by(|a, b| a.name().cmp(b.name()));
    let known: Vec<&str> = clusters.iter().map(Found::name).collect();
    if let Some(name) = config
        .members
        .iter()
        .find(|name| !known.contains(&name.as_str()))
    {
        return Err(UnknownCluster::new(name, known).into());
    }
    if !config.members.is_empty() {
        clusters.retain(|found| config.members.iter().any(|name| name == found.name()));
    }
    Ok(clusters)
}

fn readable(object: Value) -> Option<Found> {
    Some(Found {
        uid: object["metadata"]["uid"].as_str().map(str::to_owned),
        cluster: serde_json::from_value(object).ok()?,
        unreadable: None,
    })
}

/// The clusters that were named, where listing is forbidden; one that does not exist is left out, and of one that cannot
/// be read either, the name is known.
async fn one_by_one(access: &Access, names: &[String]) -> Result<Vec<Found>, RequestError> {
    let read_all = names.iter().map(|name| async move {
        let path = ObjectReference::cluster(name).path();
        (name, access.control_plane().get::<Value>(&path).await)
    });
    let mut clusters = Vec::new();
    for (name, answer) in join_all(read_all).await {
        match answer {
            Ok(cluster) => clusters.extend(readable(cluster)),
            Err(error) if error.is_not_found() => {}
            Err(error) if error.is_forbidden() => {
                let object = json!({"metadata": {"name": name}, "spec": {}});
                clusters.extend(readable(object).map(|found| Found {
                    unreadable: Some(error.to_string()),
                    ..found
                }));
            }
            Err(error) => return Err(error),
        }
    }
    Ok(clusters)
}

/// What the control plane keeps of a member.
pub(super) async fn member(access: &Access, config: &Config, found: &Found) -> Member {
    let name = found.name();
    let namespace = member_role::namespace(name);
    let reference = expected_reference(&found.cluster);
    let secret = ObjectReference::secret(reference.namespace, reference.name);
    let work = |name: &str| {
        let path = member_role::reference(&namespace, name).path();
        async move { part::<Value>(access.control_plane().get(&path).await) }
    };
    let wants_works = config.task != Task::Grant || config.member_role.is_some();
    let (secret, (role_work, binding_work), role_works) = join3(
        async { part::<Value>(access.control_plane().get(&secret.path()).await) },
        futures::future::join(work(ROLE_WORK), work(BINDING_WORK)),
        async {
            match wants_works {
                true => role_works(access, &namespace).await,
                false => Part::Absent,
            }
        },
    )
    .await;
    Member {
        cluster: found.cluster.clone(),
        unreadable: found.unreadable.clone(),
        cluster_uid: found.uid.clone(),
        secret: mapped(secret, |object| impersonator_secret(&object)),
        role_work: mapped(role_work, |object| read_work(&object)),
        binding_work: mapped(binding_work, |object| read_work(&object)),
        copy: Part::Absent,
        true_token: Part::Absent,
        answers: Default::default(),
        rights: Default::default(),
        role_works,
        member_role: Part::Absent,
    }
}

async fn role_works(access: &Access, namespace: &str) -> Part<Vec<RoleWork>> {
    let selector = format!("{MANAGED_BY}%3D{OWN}").replace('/', "%2F");
    let path = format!(
        "/apis/work.karmada.io/v1alpha1/namespaces/{}/works?labelSelector={selector}",
        path_segment(namespace)
    );
    match access.control_plane().list::<Value>(&path).await {
        Ok(List { items, .. }) => Part::Seen(items.into_iter().filter_map(role_work).collect()),
        Err(error) => Part::Unreadable(error.to_string()),
    }
}

fn role_work(mut object: Value) -> Option<RoleWork> {
    let text = |object: &Value, field: &str| object["metadata"][field].as_str().map(str::to_owned);
    object["apiVersion"] = Value::String("work.karmada.io/v1alpha1".to_owned());
    object["kind"] = Value::String("Work".to_owned());
    Some(RoleWork {
        name: text(&object, "name")?,
        uid: text(&object, "uid")?,
        granted_to: object["metadata"]["annotations"][GRANTED_TO]
            .as_str()
            .unwrap_or_default()
            .to_owned(),
        applied: applied(&object),
        is_being_deleted: object["metadata"]["deletionTimestamp"].is_string(),
        object,
    })
}

fn impersonator_secret(object: &Value) -> ImpersonatorSecret {
    let encoded = object["data"]["token"].as_str();
    ImpersonatorSecret {
        uid: object["metadata"]["uid"]
            .as_str()
            .unwrap_or_default()
            .to_owned(),
        has_token: encoded.is_some_and(|encoded| !encoded.is_empty()),
        encoded: encoded.map(|encoded| Encoded(encoded.to_owned())),
        has_data: object["data"].is_object(),
    }
}

fn read_work(object: &Value) -> Work {
    let manifests = object["spec"]["workload"]["manifests"].as_array();
    let role = manifests
        .into_iter()
        .flatten()
        .find(|manifest| manifest["kind"] == "ClusterRole")
        .and_then(|manifest| serde_json::from_value::<Role>(manifest.clone()).ok())
        .unwrap_or_default();
    let of_spec: Vec<Value> = object["metadata"]["managedFields"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|entry| entry["fieldsV1"]["f:spec"].is_object())
        .cloned()
        .collect();
    Work {
        accepted: Accepted::of_rules(&role.rules),
        applied: applied(object),
        written: latest(&Value::Array(of_spec)),
    }
}

fn applied(work: &Value) -> Applied {
    let conditions = work["status"]["conditions"].as_array();
    let condition = conditions
        .into_iter()
        .flatten()
        .find(|condition| condition["type"] == "Applied");
    match condition {
        Some(condition) if condition["status"] == "True" => Applied::Yes,
        Some(condition) => {
            Applied::No(condition["message"].as_str().unwrap_or_default().to_owned())
        }
        None => Applied::Never,
    }
}

/// Looks into members, through the proxy or past it, for what became of the impersonator there.
pub(super) async fn look_into_members(
    access: &Access,
    config: &Config,
    depth: &Depth,
    found: &[Found],
    members: &mut [Member],
) {
    let names: Vec<&str> = found.iter().map(Found::name).collect();
    let looks = members.iter().zip(found).map(|(member, found)| {
        let unreachable = member
            .answers
            .values()
            .any(|answer| matches!(answer, Answer::Unreachable { .. }));
        // While a repair is verified, a dead member is not tried by every way again and again.
        let is_left = member.is_being_deleted() || (unreachable && *depth != Depth::Overview);
        let names = &names;
        async move {
            match is_left {
                true => None,
                false => Some(look_into(access, config, found, names).await),
            }
        }
    });
    let looks: Vec<Option<Look>> = join_all(looks).await;
    for (member, look) in members.iter_mut().zip(looks) {
        if let Some(look) = look {
            member.copy = look.copy;
            member.true_token = look.token;
            member.member_role = look.role;
        }
    }
}

struct Look {
    copy: Part<Copy>,
    token: Part<SecretString>,
    role: Part<bool>,
}

async fn look_into(access: &Access, config: &Config, found: &Found, names: &[&str]) -> Look {
    let api = match access.member(&found.cluster, names).await {
        Ok(api) => api,
        Err(error) => {
            return Look {
                copy: Part::Unreadable(error.to_string()),
                token: Part::Unreadable(error.to_string()),
                role: Part::Absent,
            };
        }
    };
    let read = |path: String| {
        let api = &api;
        async move { part::<Value>(api.get(&path).await) }
    };
    let namespace = expected_reference(&found.cluster).namespace;
    let namespaces = [namespace.as_str(), CLUSTER_NAMESPACE];
    let (cluster_role, cluster_role_binding, (token, member_role)) = join3(
        read(role(IMPERSONATOR).path()),
        read(binding(IMPERSONATOR).path()),
        futures::future::join(token(&api, &namespaces), async {
            match &config.member_role {
                Some(name) => {
                    read(format!(
                        "/apis/{RBAC_GROUP}/v1/clusterroles/{}",
                        path_segment(name)
                    ))
                    .await
                }
                None => Part::Unreadable("nobody asked".to_owned()),
            }
        }),
    )
    .await;
    Look {
        copy: Part::Seen(Copy {
            way: way(&api),
            role: mapped(cluster_role, |object| delivered(&object)),
            binding: mapped(cluster_role_binding, |object| delivered(&object)),
        }),
        token,
        role: match member_role {
            Part::Seen(_) => Part::Seen(true),
            Part::Absent => Part::Seen(false),
            Part::Unreadable(_) => Part::Absent,
        },
    }
}

fn way(api: &MemberApi) -> String {
    match api.way() {
        Way::Proxy => "through the proxy".to_owned(),
        Way::Given(context) | Way::Same(context) => format!("with the context {context}"),
    }
}

/// The impersonator's token, in the member's own secret of its service account.
async fn token(api: &MemberApi, namespaces: &[&str]) -> Part<SecretString> {
    let mut last = Part::Absent;
    for namespace in namespaces {
        let path = ObjectReference::secret(*namespace, IMPERSONATOR).path();
        let secret = match api.get::<Value>(&path).await {
            Ok(secret) => secret,
            Err(error) if error.is_not_found() => continue,
            Err(error) => {
                last = Part::Unreadable(error.to_string());
                continue;
            }
        };
        let token = secret["data"]["token"]
            .as_str()
            .and_then(|encoded| STANDARD.decode(encoded).ok())
            .and_then(|bytes| String::from_utf8(bytes).ok())
            .filter(|token| !token.is_empty());
        if let Some(token) = token {
            return Part::Seen(SecretString::from(token));
        }
    }
    last
}

fn delivered(object: &Value) -> Delivered {
    let rules = serde_json::from_value::<Role>(object.clone())
        .unwrap_or_default()
        .rules;
    Delivered {
        uid: object["metadata"]["uid"]
            .as_str()
            .unwrap_or_default()
            .to_owned(),
        has_labels: object["metadata"]["labels"].is_object(),
        managed: object["metadata"]["labels"]["karmada.io/managed"]
            .as_str()
            .map(str::to_owned),
        accepted: Accepted::of_rules(&rules),
    }
}

/// The Deployment that delivers to members; absent without access to the host cluster.
pub(super) async fn controller_manager(access: &Access) -> Part<Workload> {
    let Some(host) = access.host() else {
        return Part::Absent;
    };
    let namespace = access.karmada_namespace();
    let usual = namespace.unwrap_or("karmada-system");
    let of = |namespace: Option<&str>| {
        let path = match namespace {
            Some(namespace) => {
                format!(
                    "/apis/apps/v1/namespaces/{}/deployments",
                    path_segment(namespace)
                )
            }
            None => "/apis/apps/v1/deployments".to_owned(),
        };
        async move {
            host.list::<Value>(&path)
                .await
                .map(|list| list.items.iter().filter_map(workload).collect::<Vec<_>>())
        }
    };
    let mut found = match of(Some(usual)).await {
        Ok(found) => found,
        Err(error) => return Part::Unreadable(error.to_string()),
    };
    if found.is_empty() && namespace.is_none() {
        found = match of(None).await {
            Ok(found) => found,
            Err(error) => return Part::Unreadable(error.to_string()),
        };
    }
    match found.as_slice() {
        [] => Part::Unreadable(
            "no Deployment of karmada-controller-manager was found on the host cluster".to_owned(),
        ),
        [one] => Part::Seen(one.clone()),
        several => Part::Unreadable(format!(
            "several Deployments are a karmada-controller-manager: {}; name the namespace with --karmada-namespace",
            several
                .iter()
                .map(|workload| workload.object.to_string())
                .collect::<Vec<_>>()
                .join(", ")
        )),
    }
}

/// A Deployment of karmada-controller-manager, known by its image, else by its name.
fn workload(item: &Value) -> Option<Workload> {
    let text = |pointer: &str| item.pointer(pointer).and_then(Value::as_str);
    let name = text("/metadata/name")?;
    let containers = item.pointer("/spec/template/spec/containers")?.as_array()?;
    let runs = containers.iter().any(|container| {
        let image = container["image"].as_str().unwrap_or_default();
        let base = image.rsplit('/').next().unwrap_or_default();
        base.split([':', '@']).next() == Some("karmada-controller-manager")
    });
    let is_called =
        name.ends_with("controller-manager") && !name.ends_with("kube-controller-manager");
    (runs || is_called).then_some(())?;
    Some(Workload {
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

fn part<T: DeserializeOwned>(read: Result<T, RequestError>) -> Part<T> {
    match read {
        Ok(value) => Part::Seen(value),
        Err(error) if error.is_not_found() => Part::Absent,
        Err(error) => Part::Unreadable(error.to_string()),
    }
}

fn mapped<T, U>(part: Part<T>, map: impl FnOnce(T) -> U) -> Part<U> {
    match part {
        Part::Seen(value) => Part::Seen(map(value)),
        Part::Absent => Part::Absent,
        Part::Unreadable(reason) => Part::Unreadable(reason),
    }
}

/// The name of the role, the binding, the service account and its secret in members.
const IMPERSONATOR: &str = "karmada-impersonator";
/// The Work of the ClusterRole; Karmada derives the name by a hash (`pkg/util/names`).
const ROLE_WORK: &str = "karmada-impersonator-7cbb6bd5c9";
/// The Work of the ClusterRoleBinding.
const BINDING_WORK: &str = "karmada-impersonator-84f8c8f8c6";
