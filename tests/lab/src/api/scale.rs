//! The `scale` subresource of Deployments. Pure.

use serde_json::{Value, json};

/// The `Scale` object of a Deployment.
pub(crate) fn of(deployment: &Value) -> Value {
    let metadata = &deployment["metadata"];
    json!({
        "kind": "Scale", "apiVersion": "autoscaling/v1",
        "metadata": {
            "name": metadata["name"], "namespace": metadata["namespace"], "uid": metadata["uid"],
            "resourceVersion": metadata["resourceVersion"], "creationTimestamp": metadata["creationTimestamp"],
        },
        "spec": {"replicas": deployment["spec"]["replicas"]},
        "status": {"replicas": deployment["status"]["replicas"]},
    })
}

/// The merge patch of a Deployment that a written `Scale`, or a merge patch of one, asks for.
pub(crate) fn patch(scale: &Value) -> Value {
    json!({"spec": {"replicas": scale["spec"]["replicas"]}})
}
