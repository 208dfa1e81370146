//! Karmada's own API types, as far as the repairs read them (`pkg/apis/cluster/v1alpha1/types.go`). Pure.

use std::collections::BTreeMap;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::cluster::object::{ObjectReference, path_segment};
use crate::error::Explain;
use crate::exit::Exit;
use crate::text::near_matches;

/// A member cluster as the control plane records it (`cluster.karmada.io/v1alpha1`, kind `Cluster`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cluster {
    /// The object's metadata.
    pub metadata: Metadata,
    /// What was recorded at join, or changed since.
    pub spec: ClusterSpec,
    /// What the controllers report.
    #[serde(default)]
    pub status: ClusterStatus,
}

/// A cluster that was named on the command line and does not exist.
#[derive(Debug, thiserror::Error)]
#[error("cluster {name:?} is not known to the control plane")]
pub struct UnknownCluster {
    name: String,
    near: Vec<String>,
    known: Vec<String>,
}

impl UnknownCluster {
    /// The cluster of this name, which is not among the known ones.
    pub fn new<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> UnknownCluster {
        let known: Vec<&str> = known.into_iter().collect();
        let owned = |names: Vec<&str>| names.into_iter().map(str::to_owned).collect();
        UnknownCluster {
            name: name.to_owned(),
            near: owned(near_matches(name, known.iter().copied())),
            known: owned(known),
        }
    }
}

impl Explain for UnknownCluster {
    fn exit(&self) -> Exit {
        Exit::Usage
    }

    fn hint(&self) -> Option<String> {
        match (self.near.as_slice(), self.known.as_slice()) {
            ([], []) => Some("no cluster is joined to this control plane".to_owned()),
            ([], known) => Some(format!("the known clusters are {}", known.join(", "))),
            (near, _) => Some(format!("did you mean {}?", near.join(" or "))),
        }
    }
}

/// The metadata that the repairs read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Metadata {
    /// The name.
    pub name: String,
    /// The UID; empty when the server sends none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub uid: String,
    /// Raised by every change of the spec; 0 when the server sends none (Karmada before v1.6).
    #[serde(default)]
    pub generation: i64,
    /// The annotations by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
    /// When its deletion was asked for; `None` = it is not being deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deletion_timestamp: Option<String>,
    /// Who set which fields, and when.
    #[serde(default, skip_serializing)]
    pub managed_fields: Vec<ManagedFields>,
}

/// The fields that one manager set (`metav1.ManagedFieldsEntry`).
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ManagedFields {
    /// When (RFC 3339); `None` = not recorded.
    #[serde(default)]
    pub time: Option<Timestamp>,
    /// The fields, as a tree of `f:name` keys.
    #[serde(default)]
    pub fields_v1: Value,
}

/// `Cluster.spec`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterSpec {
    /// The UID of the member's namespace kube-system; `None` = not recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Who carries workloads to the member.
    #[serde(default)]
    pub sync_mode: SyncMode,
    /// The URL at which the control plane dials the member; `None` = not set.
    #[serde(
        default,
        rename = "apiEndpoint",
        skip_serializing_if = "Option::is_none"
    )]
    pub api_endpoint: Option<String>,
    /// The secret with the keys `token` and `caBundle`; `None` for a half-joined cluster, or an agent that keeps its secrets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<SecretReference>,
    /// The secret with the impersonator's `token`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub impersonator_secret_ref: Option<SecretReference>,
    /// Whether the control plane accepts any certificate of the member.
    #[serde(default, rename = "insecureSkipTLSVerification")]
    pub insecure_skip_tls_verification: bool,
    /// The proxy through which the member is dialled; `None` = directly.
    #[serde(default, rename = "proxyURL", skip_serializing_if = "Option::is_none")]
    pub proxy_url: Option<String>,
}

/// `Cluster.spec.syncMode`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum SyncMode {
    /// The control plane dials the member.
    #[default]
    Push,
    /// An agent in the member dials the control plane.
    Pull,
}

/// A reference to a secret of the control plane.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SecretReference {
    /// Its namespace.
    #[serde(default)]
    pub namespace: String,
    /// Its name.
    #[serde(default)]
    pub name: String,
}

/// `Cluster.status`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterStatus {
    /// The member's Kubernetes version; `None` until it was reached once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kubernetes_version: Option<String>,
    /// The conditions, `Ready` among them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
}

/// One condition (`metav1.Condition`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// Its type, such as `Ready`.
    #[serde(rename = "type")]
    pub kind: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// A reason in camel case.
    #[serde(default)]
    pub reason: String,
    /// A sentence.
    #[serde(default)]
    pub message: String,
    /// When the status last changed (RFC 3339).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_transition_time: Option<String>,
}

impl Cluster {
    /// The condition `Ready`; `None` when the controllers have never reported.
    pub fn ready(&self) -> Option<&Condition> {
        self.status
            .conditions
            .iter()
            .find(|condition| condition.kind == "Ready")
    }

    /// Whether the controllers report the member as ready.
    pub fn is_ready(&self) -> bool {
        self.ready().is_some_and(|ready| ready.status == "True")
    }

    /// When the way to the member was last written; `None` = not recorded. Conditions follow it with a delay of 30 s or
    /// more, and do not say which way they speak of.
    pub fn way_changed_at(&self) -> Option<Timestamp> {
        let way = [
            "f:apiEndpoint",
            "f:proxyURL",
            "f:insecureSkipTLSVerification",
        ];
        self.metadata
            .managed_fields
            .iter()
            .filter(|entry| {
                let spec = entry.fields_v1.get("f:spec");
                spec.is_some_and(|spec| way.iter().any(|field| spec.get(field).is_some()))
            })
            .filter_map(|entry| entry.time)
            .max()
    }

    /// Where this object is in the API.
    pub fn reference(&self) -> ObjectReference {
        ObjectReference::cluster(self.metadata.name.clone())
    }
}

/// The API path of all clusters.
pub const CLUSTERS: &str = "/apis/cluster.karmada.io/v1alpha1/clusters";

/// The API path below which the member's own API is served (`clusters/NAME/proxy`).
pub fn proxy_path(cluster: &str) -> String {
    format!("{CLUSTERS}/{}/proxy", path_segment(cluster))
}
