//! The API of the server that holds an object, by whichever way it is reached.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::access::{Access, MemberApi, NoMember, Way};
use crate::cluster::client::{ClusterClient, DryRun, List, PatchKind, Preconditions};
use crate::cluster::exec::{ExecRequest, Executed};
use crate::cluster::object::ObjectReference;
use crate::cluster::request_error::RequestError;
use crate::karmada::{Cluster, proxy_path};
use crate::plan::Server;
use crate::text::shell_word;

/// The API of one server; all paths are below it, as `/api/v1/namespaces/x/secrets/y`. Cheap to clone.
///
/// Each method fails as [`RequestError`] tells.
#[derive(Debug, Clone)]
pub struct ServerApi {
    client: ClusterClient,
    prefix: String,
}

impl ServerApi {
    /// A server that is reached with a client of its own.
    pub(crate) fn of(client: ClusterClient) -> ServerApi {
        ServerApi {
            client,
            prefix: String::new(),
        }
    }

    /// A member behind the control plane's proxy.
    pub(crate) fn behind_proxy(control_plane: ClusterClient, member: &str) -> ServerApi {
        ServerApi {
            client: control_plane,
            prefix: proxy_path(member),
        }
    }

    /// The client that its requests are sent with; behind the proxy it is that of the control plane.
    pub fn client(&self) -> &ClusterClient {
        &self.client
    }

    /// Reads one object, or anything else in JSON.
    pub async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, RequestError> {
        self.client.get(&self.below(path)).await
    }

    /// Reads all objects of a kind with one request, without paging.
    pub async fn list<T: DeserializeOwned>(&self, path: &str) -> Result<List<T>, RequestError> {
        self.client.list(&self.below(path)).await
    }

    /// Patches an object and returns it as it is then.
    pub async fn patch(
        &self,
        path: &str,
        kind: PatchKind,
        body: &Value,
        dry_run: DryRun,
    ) -> Result<Value, RequestError> {
        self.client
            .patch(&self.below(path), kind, body, dry_run)
            .await
    }

    /// Creates an object and returns it as it is then; `path` is that of the collection.
    pub async fn create(
        &self,
        path: &str,
        body: &Value,
        dry_run: DryRun,
    ) -> Result<Value, RequestError> {
        self.client.create(&self.below(path), body, dry_run).await
    }

    /// Deletes an object if it is still the one that is meant; returns what the server says about it.
    pub async fn delete(
        &self,
        path: &str,
        only_if: &Preconditions,
        dry_run: DryRun,
    ) -> Result<Value, RequestError> {
        self.client
            .delete(&self.below(path), only_if, dry_run)
            .await
    }

    /// Runs a command in a pod and waits for its end; `pod` is the path of the pod.
    pub async fn exec(
        &self,
        pod: &str,
        request: &ExecRequest<'_>,
    ) -> Result<Executed, RequestError> {
        self.client.exec(&self.below(pod), request).await
    }

    fn below(&self, path: &str) -> String {
        format!("{}{path}", self.prefix)
    }
}

impl Access {
    /// The API of a server. The way to a member is the one that was found before ([`Access::member`],
    /// [`Access::take_way`]), else it is found now: as [`Access::member`] does, or, without a control plane that knows
    /// it, with the context given for it.
    ///
    /// # Errors
    /// In words, when the command line gives no access to it, or no way leads to the member.
    pub async fn server(&self, server: &Server) -> Result<ServerApi, String> {
        match server {
            Server::ControlPlane => Ok(ServerApi::of(self.some_control_plane()?.clone())),
            Server::Host => match self.host() {
                Some(host) => Ok(ServerApi::of(host.clone())),
                None => Err("no access to the host cluster was given (--host-context)".to_owned()),
            },
            Server::Member(name) => self.member_named(name).await,
        }
    }

    pub(super) fn some_control_plane(&self) -> Result<&ClusterClient, String> {
        self.control_plane_if_any().ok_or_else(|| {
            "no kubeconfig leads to the control plane (--kubeconfig, --context)".to_owned()
        })
    }

    async fn member_named(&self, name: &str) -> Result<ServerApi, String> {
        if let Some(known) = self.known_member(name) {
            return Ok(known.api().clone());
        }
        let mut selected: Vec<&str> = self
            .options
            .members
            .contexts
            .keys()
            .map(String::as_str)
            .collect();
        if !selected.contains(&name) {
            selected.push(name);
        }
        let found = match self.cluster_named(name).await {
            Ok(cluster) => self.member(&cluster, &selected).await,
            // A context that was given needs no control plane to vouch for it.
            Err(reason) => match self.claimed(name, &selected).await {
                Ok(Some(given)) => Ok(given),
                Ok(None) => Err(NoMember::NoWay(reason)),
                Err(error) => Err(error),
            },
        };
        let member = found.map_err(|error| format!("cluster/{name} cannot be reached: {error}"))?;
        self.take_way(name, &member);
        Ok(member.api().clone())
    }

    async fn cluster_named(&self, name: &str) -> Result<Cluster, String> {
        let path = ObjectReference::cluster(name).path();
        let cluster = self.some_control_plane()?.get(&path).await;
        cluster.map_err(|error| error.to_string())
    }

    fn known_member(&self, name: &str) -> Option<MemberApi> {
        let known = self.members.lock().ok()?;
        known.get(name).cloned()
    }

    /// Makes this the way to the member's objects for the rest of the run, for writes and in commands alike.
    pub fn take_way(&self, name: &str, member: &MemberApi) {
        if let Ok(mut known) = self.members.lock() {
            known.insert(name.to_owned(), member.clone());
        }
    }

    /// kubectl for the members that are reached past the control plane.
    pub(super) fn member_commands(&self) -> BTreeMap<String, String> {
        let Ok(known) = self.members.lock() else {
            return BTreeMap::new();
        };
        let directly = known
            .iter()
            .filter(|(_, member)| *member.way() != Way::Proxy);
        directly
            .map(|(name, member)| {
                let flags = member.api().client().kubectl_flags().iter();
                let words = flags.map(|flag| format!(" {}", shell_word(flag)));
                (
                    name.clone(),
                    format!("kubectl{}", words.collect::<String>()),
                )
            })
            .collect()
    }
}

#[cfg(test)]
mod tests;
