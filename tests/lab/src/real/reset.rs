//! Making a used federation as good as new, which is much faster than making a new one.

use futures::future::BoxFuture;
use http::Method;
use serde_json::{Value, json};

use super::federation::{CLUSTERS, RealFederation};
use super::folder::{FOREIGN, FROZEN, NAMES};
use super::lab::renew_certificate;
use super::remote::Remote;
use crate::api::refusal::Refusal;
use crate::federation::CONTROL_PLANE;
use crate::karmada::objects::Objects;

/// An API server that takes what is there already for what was to be created.
pub(super) struct Repeatable(pub(super) Remote);

impl Objects for Repeatable {
    fn call<'a>(
        &'a self,
        method: Method,
        path: &'a str,
        body: Value,
    ) -> BoxFuture<'a, Result<Value, Refusal>> {
        Box::pin(async move {
            let kept = method == Method::POST && KEPT.iter().any(|end| path.ends_with(end));
            let name = body["metadata"]["name"].as_str().unwrap_or_default();
            let object = format!("{path}/{name}");
            if kept && let Ok(found) = self.0.call(Method::GET, &object, Value::Null).await {
                return Ok(found);
            }
            self.0.call(method, path, body).await
        })
    }
}

impl RealFederation {
    /// Undoes what anybody did.
    ///
    /// # Errors
    /// What cannot be undone; then a new federation is needed.
    pub(super) fn reset(&mut self) -> Result<(), String> {
        self.runtime.wait(self.restore_containers())?;
        for (name, seen) in &self.addresses {
            let now = self
                .addresses_of(name)
                .map_err(|failure| failure.to_string())?;
            if now != *seen {
                return Err(format!("{name} has other addresses than before"));
            }
        }
        for server in self.servers.values() {
            let changed = server.folder.json(NAMES) != server.names || server.folder.has(FOREIGN);
            server.folder.remove(FOREIGN);
            server.folder.remove(FROZEN);
            if changed {
                let restored = server.folder.write(NAMES, &server.names.to_string());
                restored.map_err(|error| error.to_string())?;
                renew_certificate(server, &self.runtime);
            }
        }
        self.direct_karmada(false)?;
        let emptied = self.runtime.wait(self.empty());
        emptied.map_err(|refusal| refusal.to_string())?;
        self.populate()
    }

    /// Removes strangers, and gives every container its state and its networks back.
    async fn restore_containers(&self) -> Result<(), String> {
        let engine = &self.engine;
        let said = |failure: crate::Failure| failure.to_string();
        let containers = engine
            .get("/containers/json?all=true")
            .await
            .map_err(said)?;
        for container in containers.as_array().into_iter().flatten() {
            let name = container["Names"][0]
                .as_str()
                .unwrap_or_default()
                .trim_start_matches('/');
            if !self.addresses.contains_key(name) {
                engine
                    .delete(&format!("/containers/{name}?force=true"))
                    .await
                    .map_err(said)?;
            }
        }
        for (name, networks) in &self.addresses {
            let seen = engine
                .get(&format!("/containers/{name}/json"))
                .await
                .map_err(said)?;
            let state = seen["State"]["Status"].as_str().unwrap_or_default();
            if state == "paused" {
                engine
                    .post(&format!("/containers/{name}/unpause"), &Value::Null)
                    .await
                    .map_err(said)?;
            } else if state != "running" {
                return Err(format!("{name} is {state}"));
            }
            let attached = seen["NetworkSettings"]["Networks"].as_object();
            for (network, _) in attached.into_iter().flatten() {
                if !networks.contains_key(network) {
                    let wish = json!({"Container": name, "Force": true});
                    engine
                        .post(&format!("/networks/{network}/disconnect"), &wish)
                        .await
                        .map_err(said)?;
                }
            }
        }
        let networks = engine.get("/networks").await.map_err(said)?;
        for network in networks.as_array().into_iter().flatten() {
            let name = network["Name"].as_str().unwrap_or_default();
            if self.model.network(name).is_err() {
                engine
                    .delete(&format!("/networks/{name}"))
                    .await
                    .map_err(said)?;
            }
        }
        Ok(())
    }

    /// Deletes what Karmada and others put into the API servers.
    async fn empty(&self) -> Result<(), Refusal> {
        let control_plane = &self.servers[CONTROL_PLANE].remote;
        delete_all(control_plane, CLUSTERS).await?;
        delete_all(control_plane, "/apis/work.karmada.io/v1alpha1/works").await?;
        for (name, server) in &self.servers {
            let mut collections = EMPTIED.to_vec();
            if *name == self.spec.host.context() {
                collections.extend(EMPTIED_HOST);
            }
            for collection in collections {
                delete_all(&server.remote, collection).await?;
            }
        }
        Ok(())
    }
}

/// Deletes the objects of a list that the API server did not make itself.
async fn delete_all(server: &Remote, list: &str) -> Result<(), Refusal> {
    let found = server.call(Method::GET, list, Value::Null).await?;
    let (root, resource) = list.rsplit_once('/').unwrap_or_default();
    let doomed = found["items"].as_array().into_iter().flatten();
    let doomed = doomed
        .filter(|object| !is_of_the_server(object))
        .map(|object| async move {
            let metadata = &object["metadata"];
            let name = metadata["name"].as_str().unwrap_or_default();
            let path = match metadata["namespace"].as_str() {
                Some(namespace) => format!("{root}/namespaces/{namespace}/{resource}/{name}"),
                None => format!("{root}/{resource}/{name}"),
            };
            if metadata["finalizers"].is_array() {
                let patch = json!({"metadata": {"finalizers": null}});
                server.call(Method::PATCH, &path, patch).await?;
            }
            let path = format!("{path}?gracePeriodSeconds=0");
            match server.call(Method::DELETE, &path, Value::Null).await {
                Err(refusal) if refusal.code != 404 => Err(refusal),
                _ => Ok(()),
            }
        });
    futures::future::try_join_all(doomed).await.map(|_| ())
}

/// Whether kube-apiserver makes the object by itself.
fn is_of_the_server(object: &Value) -> bool {
    let metadata = &object["metadata"];
    let namespace = metadata["namespace"].as_str().unwrap_or_default();
    metadata["labels"]["kubernetes.io/bootstrapping"].is_string()
        || namespace.starts_with("kube-")
        || (metadata["name"] == "kubernetes" && namespace == "default")
}

/// What is not deleted, because nothing finalizes namespaces and nothing probes an API service anew.
const KEPT: &[&str] = &["/namespaces", "/apiservices", "/services"];
const EMPTIED: &[&str] = &[
    "/api/v1/configmaps",
    "/api/v1/secrets",
    "/api/v1/serviceaccounts",
    "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
    "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    "/apis/rbac.authorization.k8s.io/v1/rolebindings",
    "/apis/rbac.authorization.k8s.io/v1/roles",
];
const EMPTIED_HOST: &[&str] = &["/apis/apps/v1/deployments", "/api/v1/pods"];
