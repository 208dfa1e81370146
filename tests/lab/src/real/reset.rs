//! Making a used federation as good as new, which is much faster than making a new one.

use futures::future::BoxFuture;
use http::Method;
use serde_json::{Value, json};

use super::administrator::renew_certificate;
use super::federation::{CLUSTERS, RealFederation};
use super::folder::{FOREIGN, FROZEN, NAMES};
use super::remote::Remote;
use crate::api::refusal::Refusal;
use crate::federation::CONTROL_PLANE;
use crate::karmada::objects::Objects;
use crate::spec::Spec;

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
    /// Whether another specification asks for the same containers.
    pub(super) fn serves(&self, spec: &Spec) -> bool {
        self.spec.karmada_port == spec.karmada_port && self.spec.clusters().eq(spec.clusters())
    }

    /// Undoes what anybody did, and does what `spec` asks for instead.
    ///
    /// # Errors
    /// What cannot be undone; then a new federation is needed.
    pub(super) fn reset(&mut self, spec: Spec) -> Result<(), String> {
        self.runtime.wait(self.restore_containers())?;
        for (name, seen) in &self.addresses {
            let now = self
                .addresses_of(name)
                .map_err(|failure| failure.to_string())?;
            if now != *seen {
                return Err(format!("{name} has other addresses than before"));
            }
        }
        self.forget_connections();
        let ready = self
            .servers
            .iter()
            .map(|(name, server)| self.ready(name, server));
        let ready = self.runtime.wait(futures::future::try_join_all(ready));
        ready.map_err(|failure| failure.to_string())?;
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
        self.spec = spec;
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
        for name in self.addresses.keys() {
            self.revive(name).await.map_err(said)?;
        }
        // Only now are all addresses free that somebody had before.
        for name in self.addresses.keys() {
            self.reattach(name).await.map_err(said)?;
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

    /// Lets a container run, and takes it from networks that are not its own.
    async fn revive(&self, name: &str) -> Result<(), crate::Failure> {
        let engine = &self.engine;
        let act = async |what: &str| {
            let path = format!("/containers/{name}/{what}");
            engine.post(&path, &Value::Null).await.map(|_| ())
        };
        let seen = engine.get(&format!("/containers/{name}/json")).await?;
        match seen["State"]["Status"].as_str() {
            Some("running") => {}
            Some("paused") => act("unpause").await?,
            _ => act("start").await?,
        }
        let attached = seen["NetworkSettings"]["Networks"].as_object();
        for network in attached.into_iter().flat_map(|attached| attached.keys()) {
            if !self.addresses[name].contains_key(network) {
                let wish = json!({"Container": name, "Force": true});
                let path = format!("/networks/{network}/disconnect");
                engine.post(&path, &wish).await?;
            }
        }
        Ok(())
    }

    /// Connects a container to its own networks; whether it gets its addresses back is another matter.
    async fn reattach(&self, name: &str) -> Result<(), crate::Failure> {
        let seen = self.engine.get(&format!("/containers/{name}/json")).await?;
        for network in self.addresses[name].keys() {
            if !seen["NetworkSettings"]["Networks"][network].is_null() {
                continue;
            }
            let endpoint = &self.model.container(name)?.endpoints[network];
            let address = endpoint.configured.map(|address| address.to_string());
            let settings = json!({"IPAMConfig": {"IPv4Address": address}});
            let wish = json!({"Container": name, "EndpointConfig": settings});
            let path = format!("/networks/{network}/connect");
            self.engine.post(&path, &wish).await?;
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
            if *name == CONTROL_PLANE {
                collections.extend(EMPTIED_CONTROL_PLANE);
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
    "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations",
    "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
    "/apis/apps/v1/deployments",
    "/apis/apps/v1/statefulsets",
    "/apis/apps/v1/daemonsets",
    "/apis/batch/v1/jobs",
    "/api/v1/pods",
];
const EMPTIED_CONTROL_PLANE: &[&str] = &[
    "/apis/policy.karmada.io/v1alpha1/propagationpolicies",
    "/apis/policy.karmada.io/v1alpha1/clusterpropagationpolicies",
];
