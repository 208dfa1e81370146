//! The kind Work as a custom resource of a real API server.

use std::time::{Duration, Instant};

use http::Method;
use serde_json::{Value, json};

use crate::api::refusal::Refusal;
use crate::karmada::objects::Objects;

/// Defines the kind and waits until it is served.
pub(super) async fn define(control_plane: &dyn Objects) -> Result<(), Refusal> {
    let anything = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let columns = json!([
        {"name": "Applied", "type": "string", "jsonPath": ".status.conditions[?(@.type==\"Applied\")].status"},
        {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
    ]);
    let version = json!({
        "name": "v1alpha1", "served": true, "additionalPrinterColumns": columns, "storage": true, "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": anything, "status": anything}}},
    });
    let names = json!({"kind": "Work", "listKind": "WorkList", "plural": "works", "singular": "work", "shortNames": ["wk"]});
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "works.work.karmada.io"},
        "spec": {"group": "work.karmada.io", "scope": "Namespaced", "names": names, "versions": [version]},
    });
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    control_plane.call(Method::POST, path, definition).await?;
    let deadline = Instant::now() + SERVED;
    let works = "/apis/work.karmada.io/v1alpha1/works";
    loop {
        match control_plane.call(Method::GET, works, Value::Null).await {
            Ok(_) => return Ok(()),
            Err(refusal) if Instant::now() >= deadline => return Err(refusal),
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
}

/// It takes less than a second on an idle machine.
const SERVED: Duration = Duration::from_secs(30);
