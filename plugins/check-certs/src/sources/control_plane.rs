//! What the Karmada control plane holds: webhooks, APIServices, CRDs, cluster-info, and the Secrets of its members.

mod bundles;

use std::collections::{BTreeMap, BTreeSet};

use karmada_repair::cluster::client::ClusterClient;
use karmada_repair::cluster::request_error::RequestError;
use karmada_repair::error::chain;
use karmada_repair::finding::Subject;
use karmada_repair::karmada::Cluster;
use serde::Deserialize;

use crate::material::Expectation;
use crate::observed::{MemberNames, Observed, Reading, Source};
use crate::place::{Holder, Origin};
use crate::sources::secrets;

/// Reads everything but what belongs to members, into the observation.
pub async fn read(client: &ClusterClient, observed: &mut Observed) {
    bundles::read(client, observed).await;
    for (namespace, name) in CONFIG_MAPS {
        let path = format!("/api/v1/namespaces/{namespace}/configmaps/{name}");
        match client.get::<ConfigMap>(&path).await {
            Ok(map) => {
                let holder = Holder::Object {
                    origin: Origin::ControlPlane,
                    kind: "configmap".to_owned(),
                    name: format!("{namespace}/{name}"),
                };
                for (key, value) in map.data.unwrap_or_default() {
                    let expectation = match key.as_str() {
                        "kubeconfig" => Expectation::Kubeconfig,
                        _ => Expectation::of(&key),
                    };
                    let inventory = &mut observed.inventory;
                    inventory.add(&holder, &key, value.as_bytes(), expectation);
                }
            }
            Err(error) if error.code() == Some(404) => {}
            Err(error) => {
                let subject = Subject::new("configmap", format!("{namespace}/{name}"));
                observed.sources.push(unreadable(subject, &error));
            }
        }
    }
}

/// Reads the Secrets of these members, and tells which are whose.
pub async fn read_members(client: &ClusterClient, clusters: &[Cluster], observed: &mut Observed) {
    let mut wanted: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for cluster in clusters {
        let references = [
            &cluster.spec.secret_ref,
            &cluster.spec.impersonator_secret_ref,
        ];
        let mut secrets = Vec::new();
        for reference in references.into_iter().flatten() {
            secrets.push(format!("{}/{}", reference.namespace, reference.name));
            let names = wanted.entry(reference.namespace.clone()).or_default();
            names.insert(reference.name.clone());
        }
        observed.members.push(MemberNames {
            name: cluster.metadata.name.clone(),
            secrets,
        });
    }
    for (namespace, names) in wanted {
        let origin = Origin::ControlPlane;
        let inventory = &mut observed.inventory;
        let (told, ended) = secrets::read(client, "", &origin, &namespace, inventory).await;
        match ended {
            Ok(()) => {
                let missing = names.difference(&told.names);
                let reason = "a Cluster refers to it, and it is not there".to_owned();
                let missing = missing.map(|name| unreadable_secret(&namespace, name, &reason));
                observed.sources.extend(missing);
            }
            // Whoever may not list may still be allowed to read those that are named.
            Err(error) if error.code() == Some(403) => {
                for name in names {
                    let inventory = &mut observed.inventory;
                    let read = secrets::read_one(client, &origin, &namespace, &name, inventory);
                    if let Err(error) = read.await {
                        let source = unreadable_secret(&namespace, &name, &chain(&error));
                        observed.sources.push(source);
                    }
                }
            }
            Err(error) => {
                let subject = Subject::new("namespace", namespace);
                observed.sources.push(unreadable(subject, &error));
            }
        }
    }
}

fn unreadable_secret(namespace: &str, name: &str, reason: &str) -> Source {
    Source {
        subject: Subject::new("secret", format!("{namespace}/{name}")),
        state: Reading::Unreadable(reason.to_owned()),
    }
}

fn unreadable(subject: Subject, error: &RequestError) -> Source {
    Source {
        subject,
        state: Reading::Unreadable(chain(error)),
    }
}

const CONFIG_MAPS: [(&str, &str); 2] = [
    ("kube-public", "cluster-info"),
    ("kube-system", "extension-apiserver-authentication"),
];

#[derive(Deserialize)]
struct ConfigMap {
    data: Option<BTreeMap<String, String>>,
}
