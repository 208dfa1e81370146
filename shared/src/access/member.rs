//! The API of one member, by whichever way it can be read.

use std::time::Duration;

use futures::future::join_all;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::access::{Access, ServerApi};
use crate::cluster::client::{ClusterClient, DryRun, PatchKind, Preconditions};
use crate::cluster::options::ConnectionOptions;
use crate::cluster::request_error::RequestError;
use crate::error::UsageError;
use crate::karmada::Cluster;

/// The API of one member.
#[derive(Debug, Clone)]
pub struct MemberApi {
    api: ServerApi,
    way: Way,
    uid: Option<String>,
}

/// How a member is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Way {
    /// Through the control plane (`clusters/NAME/proxy`).
    Proxy,
    /// With a context that was given for it.
    Given(String),
    /// With a loaded context of the same cluster: the UID of its namespace kube-system is the `spec.id` of the `Cluster`.
    Same(String),
}

impl MemberApi {
    /// The member's API server.
    pub fn api(&self) -> &ServerApi {
        &self.api
    }

    /// How the member is read.
    pub fn way(&self) -> &Way {
        &self.way
    }

    /// The UID of the namespace kube-system there, which is what `spec.id` of a `Cluster` records; `None` through the
    /// proxy, where it was not read.
    pub fn uid(&self) -> Option<&str> {
        self.uid.as_deref()
    }

    /// The URL at which the member's own kubeconfig reaches it; `None` through the proxy.
    pub fn own_server(&self) -> Option<&str> {
        (self.way != Way::Proxy).then(|| self.api.client().server())
    }

    /// Reads an object or list; `path` is below the member's API server.
    ///
    /// # Errors
    /// As [`RequestError`] tells.
    pub async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, RequestError> {
        self.api.get(path).await
    }

    /// Changes an object by a JSON Merge Patch (RFC 7386).
    ///
    /// # Errors
    /// As [`RequestError`] tells.
    pub async fn merge(&self, path: &str, patch: &Value) -> Result<Value, RequestError> {
        self.api
            .patch(path, PatchKind::Merge, patch, DryRun::Off)
            .await
    }

    /// Deletes an object.
    ///
    /// # Errors
    /// As [`RequestError`] tells.
    pub async fn delete(&self, path: &str) -> Result<Value, RequestError> {
        self.api
            .delete(path, &Preconditions::default(), DryRun::Off)
            .await
    }
}

/// Why a member cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoMember {
    /// No way leads there; what the proxy said.
    #[error("{0}")]
    NoWay(String),
    /// The context that was given leads to another cluster.
    #[error(
        "context {context:?} leads to another cluster: the UID of its namespace kube-system is not the spec.id of {cluster}"
    )]
    Another {
        /// The context.
        context: String,
        /// The cluster that was meant.
        cluster: String,
    },
    /// The context that was given cannot be used.
    #[error("context {context:?} cannot be used: {reason}")]
    Unusable {
        /// The context.
        context: String,
        /// Why.
        reason: String,
    },
}

impl Access {
    /// The ways to the members that the command line gives, checked against the names of the selected ones.
    ///
    /// # Errors
    /// A context without a member where several are selected, and members that are not selected.
    pub fn check_members(&self, selected: &[&str]) -> Result<(), UsageError> {
        self.options.members.contexts_of(selected).map(|_| ())
    }

    /// The API of a member with the context given for it; `None` = none was given.
    ///
    /// # Errors
    /// When that context leads to another cluster, or nowhere.
    pub async fn given_member(
        &self,
        cluster: &Cluster,
        selected: &[&str],
    ) -> Result<Option<MemberApi>, NoMember> {
        let given = self.claimed_member(cluster, selected).await?;
        let recorded = cluster.spec.id.as_deref().filter(|id| !id.is_empty());
        match (&given, recorded) {
            (Some(member), Some(id)) if member.uid() != Some(id) => Err(NoMember::Another {
                context: match member.way() {
                    Way::Given(context) | Way::Same(context) => context.clone(),
                    Way::Proxy => String::new(),
                },
                cluster: cluster.metadata.name.clone(),
            }),
            _ => Ok(given),
        }
    }

    /// The API behind the context given for a member, whichever cluster that is ([`MemberApi::uid`] tells); `None` =
    /// none was given.
    ///
    /// # Errors
    /// When that context leads nowhere.
    pub async fn claimed_member(
        &self,
        cluster: &Cluster,
        selected: &[&str],
    ) -> Result<Option<MemberApi>, NoMember> {
        self.claimed(&cluster.metadata.name, selected).await
    }

    pub(super) async fn claimed(
        &self,
        name: &str,
        selected: &[&str],
    ) -> Result<Option<MemberApi>, NoMember> {
        let members = &self.options.members;
        let contexts = members.contexts_of(selected).unwrap_or_default();
        let context = match (contexts.get(name), &members.kubeconfig, selected) {
            (Some(context), _, _) => Some(context.clone()),
            // The only selected member may be meant by the current context of a file of its own.
            (None, Some(_), [_]) => None,
            (None, _, _) => return Ok(None),
        };
        let shown = context
            .clone()
            .unwrap_or_else(|| "its current context".to_owned());
        let unusable = |reason: String| NoMember::Unusable {
            context: shown.clone(),
            reason,
        };
        let kubeconfig = match &members.kubeconfig {
            Some(file) => &crate::cluster::kubeconfig::Kubeconfig::load(Some(file), &self.env)
                .map_err(|error| unusable(error.to_string()))?,
            None => &self.kubeconfig,
        };
        let options = self
            .options
            .connection
            .for_context(members.kubeconfig.clone(), context);
        let client = self
            .connector
            .connect(kubeconfig, &options)
            .map_err(|error| unusable(error.to_string()))?;
        let uid = kube_system_uid(&client)
            .await
            .map_err(|error| unusable(error.to_string()))?;
        Ok(Some(MemberApi {
            api: ServerApi::of(client),
            way: Way::Given(shown),
            uid: Some(uid),
        }))
    }

    /// The API of a member past the control plane: with the context given for it, else with a loaded context that runs
    /// no login and leads to the same cluster; `None` = there is neither.
    ///
    /// # Errors
    /// When the context that was given leads to another cluster, or nowhere.
    pub async fn member_directly(
        &self,
        cluster: &Cluster,
        selected: &[&str],
    ) -> Result<Option<MemberApi>, NoMember> {
        match self.given_member(cluster, selected).await? {
            Some(given) => Ok(Some(given)),
            None => Ok(self.same_cluster(cluster).await),
        }
    }

    /// The API of a member: through the proxy, else with the context given for it, else with a loaded context that
    /// runs no login and leads to the same cluster. It is from then on the way to the member's objects.
    ///
    /// # Errors
    /// When no way leads there, or the context that was given leads to another cluster.
    pub async fn member(
        &self,
        cluster: &Cluster,
        selected: &[&str],
    ) -> Result<MemberApi, NoMember> {
        let given = self.given_member(cluster, selected).await?;
        let name = &cluster.metadata.name;
        let found = match (self.behind_proxy(name).await, given) {
            (Ok(proxy), _) => proxy,
            (Err(_), Some(given)) => given,
            (Err(reason), None) => self
                .same_cluster(cluster)
                .await
                .ok_or(NoMember::NoWay(reason))?,
        };
        self.take_way(name, &found);
        Ok(found)
    }

    async fn behind_proxy(&self, name: &str) -> Result<MemberApi, String> {
        let proxy = MemberApi {
            api: ServerApi::behind_proxy(self.some_control_plane()?.clone(), name),
            way: Way::Proxy,
            uid: None,
        };
        match proxy.get::<Value>(KUBE_SYSTEM).await {
            Ok(_) => Ok(proxy),
            Err(error) => Err(error.to_string()),
        }
    }

    async fn same_cluster(&self, cluster: &Cluster) -> Option<MemberApi> {
        let id = cluster.spec.id.as_deref().filter(|id| !id.is_empty())?;
        let contexts: Vec<String> = self
            .kubeconfig
            .contexts()
            .into_iter()
            .filter(|context| !context.runs_a_login)
            .map(|context| context.name)
            .collect();
        let looked_at = join_all(contexts.iter().map(|context| async move {
            let options = ConnectionOptions {
                request_timeout: Some(LONGEST_LOOK),
                ..self
                    .options
                    .connection
                    .for_context(None, Some(context.clone()))
            };
            let client = self.connector.connect(&self.kubeconfig, &options).ok()?;
            let uid = kube_system_uid(&client).await.ok()?;
            (uid == id).then(|| MemberApi {
                api: ServerApi::of(client),
                way: Way::Same(context.clone()),
                uid: Some(uid),
            })
        }))
        .await;
        looked_at.into_iter().flatten().next()
    }
}

async fn kube_system_uid(client: &ClusterClient) -> Result<String, RequestError> {
    let namespace: Value = client.get(KUBE_SYSTEM).await?;
    Ok(namespace["metadata"]["uid"]
        .as_str()
        .unwrap_or_default()
        .to_owned())
}

const KUBE_SYSTEM: &str = "/api/v1/namespaces/kube-system";
const LONGEST_LOOK: Duration = Duration::from_secs(2);
