//! One manifest of a Work in one member: creating, updating and removing it by Karmada's rules of ownership.

use http::Method;
use serde_json::{Value, json};

use super::execution::Informer;
use super::member::Member;
use crate::api::kinds::{self, Role};

/// A member to deliver to.
pub(crate) struct Delivery<'a> {
    pub(crate) client: &'a Member,
    pub(crate) informer: &'a Informer,
    pub(crate) cluster: &'a str,
}

impl Delivery<'_> {
    /// Creates the object, or updates the one the informer knows.
    pub(crate) async fn apply(&self, manifest: &Value) -> Result<(), String> {
        let existing = match self.informer.seen(manifest) {
            Some(object) => object,
            None => {
                let (status, object) = self
                    .call(Method::POST, &collection(manifest), manifest)
                    .await?;
                match status {
                    200..300 => {
                        self.informer.remember(manifest, Some(object));
                        return Ok(());
                    }
                    409 => {
                        self.call(Method::GET, &path(manifest), &Value::Null)
                            .await?
                            .1
                    }
                    _ => return Err(message(&object)),
                }
            }
        };
        if !is_managed(&existing) {
            let (kind, name) = (text(manifest, "kind"), identity(manifest));
            return Err(format!(
                "resource(kind={kind}, {name}) already exists in the cluster {} and the work.karmada.io/conflict-resolution strategy value is empty, Karmada will not manage this resource",
                self.cluster
            ));
        }
        let mut desired = manifest.clone();
        desired["metadata"]["resourceVersion"] = existing["metadata"]["resourceVersion"].clone();
        let (status, object) = self.call(Method::PUT, &path(manifest), &desired).await?;
        if status != 200 {
            return Err(message(&object));
        }
        self.informer.remember(manifest, Some(object));
        Ok(())
    }

    /// Deletes the object, if Karmada manages it.
    pub(crate) async fn remove(&self, manifest: &Value) -> Result<(), String> {
        let (status, object) = self
            .call(Method::GET, &path(manifest), &Value::Null)
            .await?;
        if status == 404 {
            return Ok(());
        }
        if !is_managed(&object) {
            // Karmada leaves it and lets the Work go.
            return Ok(());
        }
        let (status, object) = self
            .call(Method::DELETE, &path(manifest), &Value::Null)
            .await?;
        if status == 200 || status == 404 {
            Ok(())
        } else {
            Err(message(&object))
        }
    }

    async fn call(&self, method: Method, path: &str, body: &Value) -> Result<(u16, Value), String> {
        self.client
            .call(method, path, "application/json", body)
            .await
    }
}

/// Whether Karmada takes the object for its own.
pub(crate) fn is_managed(object: &Value) -> bool {
    object["metadata"]["labels"][MANAGED] == "true"
}

/// Whether the member holds what the manifest says, ignoring what the manifest does not name.
pub(crate) fn is_as_desired(object: Option<&Value>, manifest: &Value) -> bool {
    object.is_some_and(|object| contains(object, manifest))
}

/// The path of the manifest's object.
pub(crate) fn path(manifest: &Value) -> String {
    format!(
        "{}/{}",
        collection(manifest),
        manifest["metadata"]["name"].as_str().unwrap_or_default()
    )
}

/// An entry of `status.manifestStatuses`.
pub(crate) fn status(ordinal: usize, manifest: &Value) -> Value {
    let (group, version) = group_version(manifest);
    let mut identifier = json!({
        "ordinal": ordinal, "group": group, "version": version, "kind": manifest["kind"], "resource": "",
        "name": manifest["metadata"]["name"],
    });
    if let Some(namespace) = manifest["metadata"]["namespace"].as_str() {
        identifier["namespace"] = json!(namespace);
    }
    json!({"identifier": identifier, "health": "Healthy"})
}

const MANAGED: &str = "karmada.io/managed";

fn collection(manifest: &Value) -> String {
    let (group, version) = group_version(manifest);
    let kind = kinds::of(Role::ControlPlane)
        .find(|kind| kind.group == group && kind.kind == text(manifest, "kind"));
    let resource = kind.map_or_else(
        || format!("{}s", text(manifest, "kind").to_lowercase()),
        |kind| kind.resource.to_owned(),
    );
    let root = if group.is_empty() {
        format!("/api/{version}")
    } else {
        format!("/apis/{group}/{version}")
    };
    match manifest["metadata"]["namespace"].as_str() {
        Some(namespace) => format!("{root}/namespaces/{namespace}/{resource}"),
        None => format!("{root}/{resource}"),
    }
}

fn group_version(manifest: &Value) -> (&str, &str) {
    let version = text(manifest, "apiVersion");
    version.split_once('/').unwrap_or(("", version))
}

fn identity(manifest: &Value) -> String {
    let metadata = &manifest["metadata"];
    format!(
        "{}/{}",
        metadata["namespace"].as_str().unwrap_or_default(),
        metadata["name"].as_str().unwrap_or_default()
    )
}

fn contains(object: &Value, wanted: &Value) -> bool {
    match (object, wanted) {
        (Value::Object(object), Value::Object(wanted)) => wanted
            .iter()
            .all(|(name, value)| object.get(name).is_some_and(|found| contains(found, value))),
        (Value::Array(object), Value::Array(wanted)) => {
            object.len() == wanted.len()
                && object
                    .iter()
                    .zip(wanted)
                    .all(|(found, value)| contains(found, value))
        }
        _ => object == wanted,
    }
}

fn message(status: &Value) -> String {
    text(status, "message").to_owned()
}

fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    object[field].as_str().unwrap_or_default()
}
