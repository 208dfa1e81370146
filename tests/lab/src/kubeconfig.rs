//! Kubeconfig files.

use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::certificates::Leaf;

/// One context with a cluster and a user of its own.
pub(crate) struct Context<'a> {
    pub(crate) name: &'a str,
    pub(crate) cluster: &'a str,
    pub(crate) user: &'a str,
    pub(crate) server: String,
    /// PEM.
    pub(crate) authority: &'a str,
    pub(crate) credentials: Credentials<'a>,
}

/// How a user proves who they are.
pub(crate) enum Credentials<'a> {
    Certificate(&'a Leaf),
    Token(&'a str),
}

/// A kubeconfig whose current context is the first one.
pub(crate) fn render(contexts: &[Context]) -> String {
    let encode = |text: &str| json!(STANDARD.encode(text));
    let clusters: Vec<Value> = contexts
        .iter()
        .map(|context| {
            json!({"name": context.cluster, "cluster": {
                "server": context.server, "certificate-authority-data": encode(context.authority),
            }})
        })
        .collect();
    let users: Vec<Value> = contexts
        .iter()
        .map(|context| {
            let user = match &context.credentials {
                Credentials::Certificate(leaf) => json!({
                    "client-certificate-data": encode(&leaf.certificate_pem), "client-key-data": encode(&leaf.key_pem),
                }),
                Credentials::Token(token) => json!({"token": token}),
            };
            json!({"name": context.user, "user": user})
        })
        .collect();
    let entries: Vec<Value> = contexts
        .iter()
        .map(|context| json!({"name": context.name, "context": {"cluster": context.cluster, "user": context.user}}))
        .collect();
    let config = json!({
        "apiVersion": "v1", "kind": "Config", "preferences": {}, "clusters": clusters, "users": users, "contexts": entries,
        "current-context": contexts.first().map(|context| context.name),
    });
    let plain = serde_saphyr::ser_options! { prefer_block_scalars: false };
    serde_saphyr::to_string_with_options(&config, plain).expect("a JSON value is a YAML document")
}

/// Writes a kubeconfig that only its owner may read.
pub(crate) fn write(path: &Path, text: &str) -> io::Result<()> {
    let mut file = std::fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(path)?;
    file.write_all(text.as_bytes())
}
