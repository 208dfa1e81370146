//! Files of containers: the serving certificates, where the tools keep them. Pure.

use http::Response;
use http::header::{CONTENT_TYPE, HeaderValue};

use super::daemon::Container;
use super::reach::is_load_balancer;
use crate::wire::{self, Body};

/// The answer to `GET /containers/{id}/archive?path=...` for a certificate; `certificate` is what an API server presents, by
/// its name. `None` = there is none at that path.
pub(crate) fn certificate(
    container: &Container,
    path: &str,
    certificate: &dyn Fn(&str) -> Option<String>,
) -> Option<Response<Body>> {
    let (.., port) = PLACES
        .iter()
        .find(|(place, ..)| *place == path)
        .filter(|(_, label, _)| container.labels.contains_key(*label))
        .filter(|_| !is_load_balancer(container))?;
    let content = certificate(container.serves.get(port)?)?;
    let mut response = Response::new(wire::full(packed(path, &content)));
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static("application/x-tar"));
    Some(response)
}

fn packed(path: &str, content: &str) -> Vec<u8> {
    let mut header = tar::Header::new_ustar();
    header.set_entry_type(tar::EntryType::Regular);
    header.set_size(content.len() as u64);
    header.set_mode(0o644);
    let name = path.rsplit('/').next().unwrap_or_default();
    let mut archive = tar::Builder::new(Vec::new());
    archive
        .append_data(&mut header, name, content.as_bytes())
        .and_then(|()| archive.into_inner())
        .expect("a short name and a text in memory can be packed")
}

/// Where a tool keeps the certificate, a label of its containers, and the port at which it is presented.
pub(crate) const PLACES: [(&str, &str, u16); 3] = [
    (
        "/var/lib/rancher/k3s/server/tls/serving-kube-apiserver.crt",
        "k3d.cluster",
        6443,
    ),
    (
        "/etc/kubernetes/pki/apiserver.crt",
        "io.x-k8s.kind.cluster",
        6443,
    ),
    (
        "/var/lib/minikube/certs/apiserver.crt",
        "name.minikube.sigs.k8s.io",
        8443,
    ),
];
