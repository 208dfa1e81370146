//! Karmada's own kinds as custom resources of a real API server.

use std::time::{Duration, Instant};

use http::Method;
use serde_json::{Value, json};

use crate::api::kinds::{self, Kind};
use crate::api::refusal::Refusal;
use crate::karmada::objects::Objects;

/// Defines the kinds and waits until they are served.
pub(super) async fn define(control_plane: &dyn Objects) -> Result<(), Refusal> {
    let kinds = KINDS
        .iter()
        .map(|(group, resource)| kinds::known(group, resource));
    for kind in kinds.clone() {
        let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
        control_plane
            .call(Method::POST, path, definition(kind))
            .await?;
    }
    let deadline = Instant::now() + SERVED;
    for kind in kinds {
        let all = format!("/apis/{}/{}", kind.api_version(), kind.resource);
        while let Err(refusal) = control_plane.call(Method::GET, &all, Value::Null).await {
            if Instant::now() >= deadline {
                return Err(refusal);
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
    Ok(())
}

fn definition(kind: &Kind) -> Value {
    let anything = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let age = json!({"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"});
    let applied = json!({
        "name": "Applied", "type": "string", "jsonPath": ".status.conditions[?(@.type==\"Applied\")].status"
    });
    let columns = match kind.kind {
        "Work" => vec![applied, age],
        _ => vec![age],
    };
    let subresources = match kind.has_status() {
        true => json!({"status": {}}),
        false => json!({}),
    };
    let version = json!({
        "name": kind.version, "served": true, "additionalPrinterColumns": columns, "storage": true, "subresources": subresources,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": anything, "status": anything}}},
    });
    let names = json!({
        "kind": kind.kind, "listKind": format!("{}List", kind.kind), "plural": kind.resource, "singular": kind.singular,
        "shortNames": kind.short,
    });
    let scope = match kind.namespaced {
        true => "Namespaced",
        false => "Cluster",
    };
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": kind.qualified()},
        "spec": {"group": kind.group, "scope": scope, "names": names, "versions": [version]},
    })
}

const KINDS: &[(&str, &str)] = &[
    ("work.karmada.io", "works"),
    ("policy.karmada.io", "propagationpolicies"),
    ("policy.karmada.io", "clusterpropagationpolicies"),
];
/// It takes less than a second on an idle machine.
const SERVED: Duration = Duration::from_secs(30);
