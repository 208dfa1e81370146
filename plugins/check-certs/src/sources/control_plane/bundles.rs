//! The caBundles of webhooks, APIServices and CRD conversions.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use karmada_repair::cluster::client::ClusterClient;
use karmada_repair::finding::Subject;
use serde_json::Value;

use crate::checks::host_of;
use crate::inventory::FaultAt;
use crate::material::{Expectation, Fault};
use crate::observed::{ClientOf, Observed};
use crate::place::{Holder, Origin, Place};
use crate::sources::control_plane::unreadable;
use crate::sources::paged::each_page;

/// Reads every caBundle of the control plane.
pub(super) async fn read(client: &ClusterClient, observed: &mut Observed) {
    for kind in KINDS {
        let mut found = Vec::new();
        let ended = each_page(client, kind.path, kind.page, |page: Vec<Value>| {
            found.extend(page.iter().flat_map(|object| of(kind, object)));
        })
        .await;
        for Bundle { place, value, host } in found {
            let client = host.map(|host| ClientOf {
                place: place.clone(),
                host,
            });
            observed.clients.extend(client);
            keep(observed, place, &value);
        }
        match ended {
            Ok(()) => {}
            // An older Karmada, or an API server without them, has no such kind.
            Err(error) if error.code() == Some(404) => {}
            Err(error) => {
                let subject = Subject::new(kind.singular, "all");
                observed.sources.push(unreadable(subject, &error));
            }
        }
    }
}

fn keep(observed: &mut Observed, place: Place, bundle: &str) {
    let expectation = Expectation::Certificate;
    match STANDARD.decode(bundle) {
        Ok(bytes) => {
            let inventory = &mut observed.inventory;
            inventory.add(&place.holder, &place.field, &bytes, expectation);
        }
        Err(_) => observed.inventory.faults.push(FaultAt {
            place,
            expectation,
            fault: Fault::Unparsable("is not base64".to_owned()),
        }),
    }
}

/// The caBundles of an object; where one is absent, nobody or the system's authorities are asked.
fn of(kind: &Kind, object: &Value) -> Vec<Bundle> {
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    let holder = Holder::Object {
        origin: Origin::ControlPlane,
        kind: kind.singular.to_owned(),
        name: name.to_owned(),
    };
    let bundle = |config: &Value, field: String| {
        Some(Bundle {
            place: holder.at(field),
            value: config["caBundle"].as_str()?.to_owned(),
            host: host(config),
        })
    };
    match kind.shape {
        Shape::ApiService => {
            let found = bundle(&object["spec"], "caBundle".to_owned());
            found.into_iter().collect()
        }
        Shape::Conversion => {
            let config = &object["spec"]["conversion"]["webhook"]["clientConfig"];
            let found = bundle(config, "conversion/caBundle".to_owned());
            found.into_iter().collect()
        }
        Shape::Webhooks => {
            let webhooks = object["webhooks"].as_array().into_iter().flatten();
            let found = webhooks.filter_map(|webhook| {
                let name = webhook["name"].as_str().unwrap_or_default();
                bundle(&webhook["clientConfig"], format!("{name}/caBundle"))
            });
            found.collect()
        }
    }
}

/// The host that a client of this configuration asks for: that of its URL, or the name of its Service.
fn host(config: &Value) -> Option<String> {
    if let Some(url) = config["url"].as_str() {
        return host_of(url);
    }
    let service = &config["service"];
    let (name, namespace) = (service["name"].as_str()?, service["namespace"].as_str()?);
    Some(format!("{name}.{namespace}.svc"))
}

/// A caBundle.
struct Bundle {
    place: Place,
    value: String,
    host: Option<String>,
}

struct Kind {
    singular: &'static str,
    path: &'static str,
    shape: Shape,
    page: usize,
}

enum Shape {
    ApiService,
    Conversion,
    Webhooks,
}

const KINDS: &[Kind] = &[
    Kind {
        singular: "mutatingwebhookconfiguration",
        path: "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations",
        shape: Shape::Webhooks,
        page: 100,
    },
    Kind {
        singular: "validatingwebhookconfiguration",
        path: "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
        shape: Shape::Webhooks,
        page: 100,
    },
    Kind {
        singular: "resourceinterpreterwebhookconfiguration",
        path: "/apis/config.karmada.io/v1alpha1/resourceinterpreterwebhookconfigurations",
        shape: Shape::Webhooks,
        page: 100,
    },
    Kind {
        singular: "apiservice",
        path: "/apis/apiregistration.k8s.io/v1/apiservices",
        shape: Shape::ApiService,
        page: 100,
    },
    // Schemas are large.
    Kind {
        singular: "customresourcedefinition",
        path: "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
        shape: Shape::Conversion,
        page: 20,
    },
];
