//! What karmada-agent does when it starts: it writes what its flags say into its `Cluster`, and since Karmada v1.12 may not.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use http::Method;
use serde_json::{Value, json};

use super::join::AGENT;
use super::objects::{CLUSTERS, Objects};
use crate::lock::lock;

/// The agents of the members in pull mode, and how often each ended with a 403.
#[derive(Debug, Clone, Default)]
pub(crate) struct Agents {
    crashes: Arc<Mutex<BTreeMap<String, usize>>>,
}

impl Agents {
    /// How often the agent of a member ended because it may not write its `Cluster`.
    pub(crate) fn crashes(&self, member: &str) -> usize {
        lock(&self.crashes).get(member).copied().unwrap_or_default()
    }

    /// Starts the agent of a member if its Deployment changed or it ended, and reports how that went.
    pub(crate) async fn tend(&self, name: &str, member: &dyn Objects, control_plane: &dyn Objects) {
        let path = format!("/apis/apps/v1/namespaces/karmada-system/deployments/{AGENT}");
        let Ok(deployment) = member.call(Method::GET, &path, Value::Null).await else {
            return;
        };
        let (generation, status) = (&deployment["metadata"]["generation"], &deployment["status"]);
        if status["observedGeneration"] == *generation && status["availableReplicas"] == 1 {
            return;
        }
        let cluster = control_plane
            .call(Method::GET, &format!("{CLUSTERS}/{name}"), Value::Null)
            .await
            .unwrap_or_default();
        let runs = flag(&deployment) == cluster["spec"]["apiEndpoint"].as_str();
        if !runs {
            *lock(&self.crashes).entry(name.to_owned()).or_default() += 1;
        }
        let available = usize::from(runs);
        let status = json!({"status": {
            "observedGeneration": generation, "replicas": 1, "updatedReplicas": 1, "readyReplicas": available,
            "availableReplicas": available,
        }});
        let _ = member
            .call(Method::PATCH, &format!("{path}/status"), status)
            .await;
    }
}

fn flag(deployment: &Value) -> Option<&str> {
    let words = deployment["spec"]["template"]["spec"]["containers"][0]["command"].as_array()?;
    words
        .iter()
        .filter_map(Value::as_str)
        .find_map(|word| word.strip_prefix("--cluster-api-endpoint="))
}
