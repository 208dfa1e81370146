//! What is presented at the places where members may run: read by a handshake, else from the container's files.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use futures::future::join_all;
use karmada_repair::docker::client::Docker;
use karmada_repair::docker::endpoint::Endpoint as DaemonEndpoint;
use karmada_repair::docker::membership::{Owner, Role, Tool};
use karmada_repair::docker::model::Container;
use karmada_repair::error::chain;
use karmada_repair::karmada::Cluster;
use karmada_repair::part::Part;
use karmada_repair::tls::{ServingCertificate, serving_certificate};

use crate::endpoint::Endpoint;

use crate::observed::{DockerSeen, Served, Source};
use crate::place::{self, Home};

/// What is presented at each place where the member may run, by the name of its first container.
pub(crate) async fn served(
    cluster: &Cluster,
    docker: &Part<(Docker, DockerSeen)>,
) -> BTreeMap<String, Part<Served>> {
    let Part::Seen((client, seen)) = docker else {
        return BTreeMap::new();
    };
    let endpoint = cluster
        .spec
        .api_endpoint
        .as_deref()
        .and_then(|text| Endpoint::parse(text).ok());
    let homes = place::candidates(&cluster.metadata.name, endpoint.as_ref(), &seen.containers);
    let read = homes.iter().filter_map(|home| {
        let name = home.servers.first()?.name.clone();
        let places = published(home, &seen.containers, &client.located().endpoint);
        Some(async move {
            let presented = presented(places).await;
            // A member that is reached is left where it is, whoever answers at its published port.
            if cluster.is_ready() && presented.is_ok() {
                return (name, chosen(presented, Ok(None)));
            }
            (name, chosen(presented, kept(client, home).await))
        })
    });
    join_all(read).await.into_iter().collect()
}

/// What answers at the first of these that presents a certificate, else why none does.
async fn presented(places: Vec<(String, u16)>) -> Result<ServingCertificate, String> {
    let mut reasons = Vec::new();
    for (host, port) in places {
        match serving_certificate(&host, port, HANDSHAKE).await {
            Ok(certificate) => return Ok(certificate),
            Err(error) => reasons.push(format!("{host}:{port}: {}", chain(&error))),
        }
    }
    match reasons.as_slice() {
        [] => Err("none of its API ports is published".to_owned()),
        reasons => Err(reasons.join("; ")),
    }
}

/// The certificate in the files of the first running server that has one, with the file; `None` = there is none.
async fn kept(
    docker: &Docker,
    home: &Home<'_>,
) -> Result<Option<(ServingCertificate, String)>, String> {
    let running = home.servers.iter().filter(|server| server.is_running());
    for server in running {
        for path in files(Owner::of(server).tool) {
            let read = docker.read_file(&server.id, path).await;
            let Some(pem) = read.map_err(|error| chain(&error))? else {
                continue;
            };
            let certificate = ServingCertificate::from_pem(pem.as_bytes())
                .map_err(|error| format!("{path} of {}: {}", server.name, chain(&error)))?;
            return Ok(Some((certificate, format!("{}:{path}", server.name))));
        }
    }
    Ok(None)
}

/// What is taken for the container's certificate: that of the handshake, unless the container's own file was signed by
/// somebody else, because then another machine answers at the port that Docker tells.
fn chosen(
    presented: Result<ServingCertificate, String>,
    kept: Result<Option<(ServingCertificate, String)>, String>,
) -> Part<Served> {
    match (presented, kept) {
        (Ok(presented), Ok(Some((kept, _)))) if presented.has_issuer_of(&kept) => {
            Part::Seen(Served::by_handshake(presented))
        }
        (_, Ok(Some((kept, file)))) => Part::Seen(Served {
            certificate: kept,
            source: Source::File(file),
        }),
        (Ok(presented), Ok(None) | Err(_)) => Part::Seen(Served::by_handshake(presented)),
        (Err(reason), Ok(None)) => {
            Part::Unreadable(format!("{reason}; it is in no known file of the container"))
        }
        (Err(reason), Err(other)) => Part::Unreadable(format!("{reason}; {other}")),
    }
}

/// Where a tool keeps the certificate of the API server in its containers.
///
/// k3s presents another one at its port, made of the same names and more by the same authority; it is kept together with
/// its private key, which is nothing to read.
fn files(tool: Tool) -> &'static [&'static str] {
    match tool {
        Tool::K3d => &FILES[..1],
        Tool::Kind => &FILES[1..2],
        Tool::Minikube => &FILES[2..],
        Tool::Unknown => &FILES,
    }
}

/// Where this machine reaches the member's API server: published ports of its running servers and load balancer.
fn published(
    home: &Home<'_>,
    containers: &[Container],
    daemon: &DaemonEndpoint,
) -> Vec<(String, u16)> {
    let machine = match daemon {
        DaemonEndpoint::Unix(_) => "127.0.0.1".to_owned(),
        DaemonEndpoint::Tcp { host, .. } | DaemonEndpoint::Ssh { host, .. } => host.clone(),
    };
    let balancers = home.servers.first().into_iter().flat_map(|server| {
        let owner = Owner::of(server);
        containers.iter().filter(move |container| {
            let other = Owner::of(container);
            other.role == Role::LoadBalancer
                && owner.cluster.is_some()
                && other.tool == owner.tool
                && other.cluster == owner.cluster
        })
    });
    let mut places: Vec<(String, u16)> = home
        .servers
        .iter()
        .copied()
        .chain(balancers)
        .filter(|container| container.is_running())
        .flat_map(|container| &container.ports)
        .filter(|port| port.container_port == home.api_port)
        .map(|port| {
            let host = match port.host_ip {
                Some(address)
                    if !address.is_unspecified() && !is_loopback_elsewhere(address, daemon) =>
                {
                    address.to_string()
                }
                _ => machine.clone(),
            };
            (host, port.host_port)
        })
        .collect();
    places.dedup();
    places
}

fn is_loopback_elsewhere(address: IpAddr, daemon: &DaemonEndpoint) -> bool {
    address.is_loopback() && !matches!(daemon, DaemonEndpoint::Unix(_))
}

const HANDSHAKE: Duration = Duration::from_secs(3);

const FILES: [&str; 3] = [
    "/var/lib/rancher/k3s/server/tls/serving-kube-apiserver.crt",
    "/etc/kubernetes/pki/apiserver.crt",
    "/var/lib/minikube/certs/apiserver.crt",
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::served as made;

    fn file(
        certificate: ServingCertificate,
    ) -> Result<Option<(ServingCertificate, String)>, String> {
        Ok(Some((certificate, "node:/a/file".to_owned())))
    }

    #[test]
    fn the_handshake_counts_unless_the_file_is_of_another_authority() {
        let (one, _) = made(&["10.0.0.1"]);
        let (other, _) = made(&["10.0.0.1"]);
        let lost = || Err("refused".to_owned());
        let by_hand = Source::Handshake;
        let by_file = Source::File("node:/a/file".to_owned());
        let cases = [
            (Ok(one.clone()), Ok(None), Some((&one, &by_hand))),
            (Ok(one.clone()), lost(), Some((&one, &by_hand))),
            (Ok(one.clone()), file(one.clone()), Some((&one, &by_hand))),
            (
                Ok(one.clone()),
                file(other.clone()),
                Some((&other, &by_file)),
            ),
            (
                Err("refused".to_owned()),
                file(one.clone()),
                Some((&one, &by_file)),
            ),
            (Err("refused".to_owned()), Ok(None), None),
            (Err("refused".to_owned()), lost(), None),
        ];
        for (presented, kept, expected) in cases {
            let served = chosen(presented, kept);
            let found = served
                .seen()
                .map(|served| (&served.certificate, &served.source));
            assert_eq!(found, expected);
        }
    }
}
