//! All Secrets of a namespace.

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use karmada_repair::cluster::client::ClusterClient;
use karmada_repair::cluster::object::path_segment;
use karmada_repair::cluster::request_error::RequestError;
use serde::Deserialize;

use crate::install::{Install, Sign};
use crate::inventory::Inventory;
use crate::material::Expectation;
use crate::place::{Holder, Origin};
use crate::sources::paged::each_page;

/// What the Secrets of a namespace told beside their values.
#[derive(Debug, Default)]
pub(super) struct Told {
    /// Their names.
    pub names: BTreeSet<String>,
    /// How Karmada was installed.
    pub install: Option<Install>,
    /// Those that cert-manager keeps, as `namespace/name`, with the name of their `Certificate`.
    pub managers: BTreeMap<String, String>,
}

/// Reads the Secrets of a namespace into an inventory; `prefix` is a path before that of the API, as of a proxy. What was read
/// before an error stays.
pub(super) async fn read(
    client: &ClusterClient,
    prefix: &str,
    origin: &Origin,
    namespace: &str,
    inventory: &mut Inventory,
) -> (Told, Result<(), RequestError>) {
    let segment = path_segment(namespace);
    let path = format!("{prefix}/api/v1/namespaces/{segment}/secrets");
    let mut told = Told::default();
    let ended = each_page(client, &path, PAGE, |page: Vec<Secret>| {
        for secret in page {
            if told.names.insert(secret.metadata.name.clone()) {
                take(secret, origin, namespace, inventory, &mut told);
            }
        }
    })
    .await;
    (told, ended)
}

/// Reads one Secret into an inventory.
///
/// # Errors
/// As [`RequestError`] tells.
pub(super) async fn read_one(
    client: &ClusterClient,
    origin: &Origin,
    namespace: &str,
    name: &str,
    inventory: &mut Inventory,
) -> Result<(), RequestError> {
    let path = format!(
        "/api/v1/namespaces/{}/secrets/{}",
        path_segment(namespace),
        path_segment(name)
    );
    let secret: Secret = client.get(&path).await?;
    take(secret, origin, namespace, inventory, &mut Told::default());
    Ok(())
}

fn take(
    secret: Secret,
    origin: &Origin,
    namespace: &str,
    inventory: &mut Inventory,
    told: &mut Told,
) {
    if secret.kind.as_deref() == Some(HELM_RELEASE) {
        return;
    }
    let name = &secret.metadata.name;
    let data = secret.data.unwrap_or_default();
    let keys: Vec<&str> = data.keys().map(String::as_str).collect();
    let labels: Vec<&str> = secret.metadata.labels.keys().map(String::as_str).collect();
    let sign = Sign {
        name,
        keys: &keys,
        labels: &labels,
    };
    told.install = told.install.or(sign.install());
    if let Some(manager) = secret.metadata.annotations.get(CERT_MANAGER) {
        let secret = format!("{namespace}/{name}");
        told.managers.insert(secret, manager.clone());
    }
    let holder = Holder::Secret {
        origin: origin.clone(),
        namespace: namespace.to_owned(),
        name: name.clone(),
    };
    for (key, value) in &data {
        // An API server sends nothing but base64.
        let bytes = STANDARD.decode(value.as_deref().unwrap_or_default());
        inventory.add(
            &holder,
            key,
            &bytes.unwrap_or_default(),
            Expectation::of(key),
        );
    }
}

#[derive(Deserialize)]
struct Secret {
    metadata: Metadata,
    #[serde(rename = "type")]
    kind: Option<String>,
    data: Option<BTreeMap<String, Option<String>>>,
}

#[derive(Deserialize)]
struct Metadata {
    name: String,
    #[serde(default)]
    labels: BTreeMap<String, String>,
    #[serde(default)]
    annotations: BTreeMap<String, String>,
}

/// Secrets of 1 MiB each are what is held at most, in base64.
const PAGE: usize = 50;
/// Holds a release, packed and twice in base64; of many megabytes, and of no certificate that anything uses.
const HELM_RELEASE: &str = "helm.sh/release.v1";
const CERT_MANAGER: &str = "cert-manager.io/certificate-name";
