//! The Secrets of Karmada on the cluster that runs it.

use std::collections::BTreeSet;

use karmada_repair::cluster::client::ClusterClient;
use karmada_repair::cluster::request_error::RequestError;
use karmada_repair::error::chain;
use karmada_repair::finding::Subject;
use karmada_repair::text::shell_word;
use serde::Deserialize;

use crate::observed::{Observed, Reading, Source};
use crate::place::Origin;
use crate::sources::paged::each_page;
use crate::sources::secrets;

/// Reads the Secrets of Karmada's namespaces; `namespace` = as given.
pub async fn read(client: &ClusterClient, namespace: Option<&str>, observed: &mut Observed) {
    observed.commands.host = command(client);
    if let Some(namespace) = namespace {
        if of_namespace(client, namespace, observed).await == Found::Nothing {
            say_nothing(observed, namespace);
        }
        return;
    }
    let usual = of_namespace(client, USUAL, observed).await;
    if usual == Found::Certificates {
        return;
    }
    let others = namespaces(client).await.unwrap_or_default();
    let mut found = usual;
    for name in others.iter().filter(|name| *name != USUAL) {
        found = found.max(of_namespace(client, name, observed).await);
    }
    if found == Found::Nothing {
        say_nothing(observed, USUAL);
    }
}

/// What was found in a namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Found {
    Nothing,
    /// It could not be read, which was said.
    Unreadable,
    Certificates,
}

async fn of_namespace(client: &ClusterClient, namespace: &str, observed: &mut Observed) -> Found {
    let before = observed.inventory.bundles.len();
    let (told, ended) = secrets::read(
        client,
        "",
        &Origin::Host,
        namespace,
        &mut observed.inventory,
    )
    .await;
    observed.install = observed.install.or(told.install);
    observed.managers.extend(told.managers);
    let subject = Subject::new("namespace", namespace);
    if let Err(error) = ended {
        let reason = format!(
            "the Secrets of Karmada on the host cluster: {}",
            chain(&error)
        );
        observed.sources.push(Source {
            subject,
            state: Reading::Unreadable(reason),
        });
        return Found::Unreadable;
    }
    if observed.inventory.bundles.len() == before {
        return Found::Nothing;
    }
    observed
        .namespace
        .get_or_insert_with(|| namespace.to_owned());
    observed.sources.push(Source {
        subject,
        state: Reading::Read,
    });
    Found::Certificates
}

fn say_nothing(observed: &mut Observed, namespace: &str) {
    let reason = "there are no certificates in the Secrets of this namespace of the host cluster; name the one of Karmada with --karmada-namespace";
    observed.sources.push(Source {
        subject: Subject::new("namespace", namespace),
        state: Reading::Unreadable(reason.to_owned()),
    });
}

/// The namespaces in which a part of Karmada's control plane runs.
async fn namespaces(client: &ClusterClient) -> Result<BTreeSet<String>, RequestError> {
    let mut found = BTreeSet::new();
    let path = "/apis/apps/v1/deployments";
    each_page(client, path, 100, |page: Vec<Deployment>| {
        let parts = ["karmada-controller-manager", "karmada-apiserver"];
        let of_karmada = |name: &str| parts.iter().any(|part| name.ends_with(part));
        let metadata = page.into_iter().map(|deployment| deployment.metadata);
        let of_karmada = metadata.filter(|metadata| of_karmada(&metadata.name));
        found.extend(of_karmada.map(|metadata| metadata.namespace));
    })
    .await?;
    Ok(found)
}

fn command(client: &ClusterClient) -> String {
    let flags = client.kubectl_flags().iter();
    let flags: String = flags.map(|flag| format!(" {}", shell_word(flag))).collect();
    format!("kubectl{flags}")
}

#[derive(Deserialize)]
struct Deployment {
    metadata: Metadata,
}

#[derive(Deserialize)]
struct Metadata {
    name: String,
    #[serde(default)]
    namespace: String,
}

const USUAL: &str = "karmada-system";
