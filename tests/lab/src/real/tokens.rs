//! Stands in for the controller that fills the Secrets of service account tokens.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::Method;
use serde_json::{Value, json};

use super::remote::Remote;
use crate::karmada::objects::Objects;

/// Fills Secrets until dropped.
pub(super) async fn run(server: Remote, authority: String) {
    loop {
        fill(&server, &authority).await;
        tokio::time::sleep(TICK).await;
    }
}

async fn fill(server: &Remote, authority: &str) {
    let path = "/api/v1/secrets?fieldSelector=type%3Dkubernetes.io%2Fservice-account-token";
    let Ok(secrets) = server.call(Method::GET, path, Value::Null).await else {
        return;
    };
    for secret in secrets["items"].as_array().into_iter().flatten() {
        let metadata = &secret["metadata"];
        let account = metadata["annotations"]["kubernetes.io/service-account.name"].as_str();
        if let (true, Some(account)) = (secret["data"]["token"].is_null(), account) {
            let text = |field: &str| metadata[field].as_str().unwrap_or_default();
            // An account that is not there yet will be at the next look.
            let _ = fill_one(
                server,
                authority,
                (text("namespace"), text("name"), account),
            )
            .await;
        }
    }
}

async fn fill_one(
    server: &Remote,
    authority: &str,
    (namespace, name, account): (&str, &str, &str),
) -> Result<(), crate::Refusal> {
    let namespaced = format!("/api/v1/namespaces/{namespace}");
    let wish = json!({
        "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": TEN_YEARS},
    });
    let path = format!("{namespaced}/serviceaccounts/{account}/token");
    let issued = server.call(Method::POST, &path, wish).await?;
    let token = issued["status"]["token"].as_str().unwrap_or_default();
    let data = json!({
        "token": STANDARD.encode(token), "ca.crt": STANDARD.encode(authority), "namespace": STANDARD.encode(namespace),
    });
    let path = format!("{namespaced}/secrets/{name}");
    server
        .call(Method::PATCH, &path, json!({"data": data}))
        .await
        .map(|_| ())
}

const TICK: Duration = Duration::from_millis(200);
const TEN_YEARS: u64 = 10 * 365 * 24 * 3600;
