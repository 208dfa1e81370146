//! The name of one object of the Kubernetes API, and its path. Pure.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use crate::cluster::kind::Kind;

/// Which object is meant.
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "camelCase")]
pub struct ObjectReference {
    /// Group and version, as `cluster.karmada.io/v1alpha1`; the core group is `v1` alone.
    pub api_version: String,
    /// As in `kind:`, for example `Cluster`.
    pub kind: String,
    /// The plural in paths, for example `clusters`.
    pub resource: String,
    /// `None` = the object is cluster-scoped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// As in `metadata.name`.
    pub name: String,
}

impl ObjectReference {
    /// A `Cluster` of Karmada's control plane.
    pub fn cluster(name: impl Into<String>) -> ObjectReference {
        ObjectReference::cluster_scoped(Kind::Cluster, name)
    }

    /// A `Secret`.
    pub fn secret(namespace: impl Into<String>, name: impl Into<String>) -> ObjectReference {
        ObjectReference::namespaced(Kind::Secret, namespace, name)
    }

    /// An object of a kind that lives in namespaces.
    pub fn namespaced(
        kind: Kind,
        namespace: impl Into<String>,
        name: impl Into<String>,
    ) -> ObjectReference {
        ObjectReference {
            namespace: Some(namespace.into()),
            ..ObjectReference::cluster_scoped(kind, name)
        }
    }

    /// An object of a kind that lives outside of namespaces.
    pub fn cluster_scoped(kind: Kind, name: impl Into<String>) -> ObjectReference {
        ObjectReference {
            api_version: kind.api_version().to_owned(),
            kind: kind.name().to_owned(),
            resource: kind.resource().to_owned(),
            namespace: None,
            name: name.into(),
        }
    }

    /// The object that a manifest describes; `None` = it lacks its kind or name, or is of a kind that [`Kind`] does not
    /// know. One that names no namespace and needs one is in `default`.
    pub fn of_manifest(manifest: &Value) -> Option<ObjectReference> {
        let kind = Kind::of(manifest["apiVersion"].as_str()?, manifest["kind"].as_str()?)?;
        let metadata = &manifest["metadata"];
        let name = metadata["name"].as_str().filter(|name| !name.is_empty())?;
        Some(match kind.is_namespaced() {
            true => {
                let namespace = metadata["namespace"].as_str().unwrap_or("default");
                ObjectReference::namespaced(kind, namespace, name)
            }
            false => ObjectReference::cluster_scoped(kind, name),
        })
    }

    /// The path of the object below the API server's URL.
    pub fn path(&self) -> String {
        format!("{}/{}", self.collection_path(), path_segment(&self.name))
    }

    /// The resource as kubectl takes it without mistaking it for another: `clusters.cluster.karmada.io`, `secrets`.
    pub fn resource_and_group(&self) -> String {
        match self.api_version.split_once('/') {
            Some((group, _)) => format!("{}.{group}", self.resource),
            None => self.resource.clone(),
        }
    }

    /// The path that lists and creates objects of this kind, in the object's namespace if it has one.
    pub fn collection_path(&self) -> String {
        let root = match self.api_version.contains('/') {
            true => "/apis",
            false => "/api",
        };
        let namespace = match &self.namespace {
            Some(namespace) => format!("/namespaces/{}", path_segment(namespace)),
            None => String::new(),
        };
        format!("{root}/{}{namespace}/{}", self.api_version, self.resource)
    }
}

/// Shows `cluster/cluster-a` or `secret/karmada-cluster/cluster-a`.
impl fmt::Display for ObjectReference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/", self.kind.to_lowercase())?;
        if let Some(namespace) = &self.namespace {
            write!(formatter, "{namespace}/")?;
        }
        formatter.write_str(&self.name)
    }
}

/// Escapes what would end a path segment (RFC 3986 3.3), so that a name cannot reach another path.
pub fn path_segment(name: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:@!$&'()*+,;=".contains(&byte);
    match name {
        "." => "%2E".to_owned(),
        ".." => "%2E%2E".to_owned(),
        _ => name
            .bytes()
            .map(|byte| match plain(byte) {
                true => char::from(byte).to_string(),
                false => format!("%{byte:02X}"),
            })
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_its_path_and_its_short_name() {
        let table = [
            (
                ObjectReference::cluster("a"),
                "/apis/cluster.karmada.io/v1alpha1/clusters/a",
                "cluster/a",
            ),
            (
                ObjectReference::secret("karmada-cluster", "a"),
                "/api/v1/namespaces/karmada-cluster/secrets/a",
                "secret/karmada-cluster/a",
            ),
            (
                ObjectReference::cluster("system:x/../y?z"),
                "/apis/cluster.karmada.io/v1alpha1/clusters/system:x%2F..%2Fy%3Fz",
                "cluster/system:x/../y?z",
            ),
            (
                ObjectReference::cluster(".."),
                "/apis/cluster.karmada.io/v1alpha1/clusters/%2E%2E",
                "cluster/..",
            ),
        ];
        for (object, path, short) in table {
            assert_eq!(
                (object.path().as_str(), object.to_string().as_str()),
                (path, short)
            );
        }
    }
}
