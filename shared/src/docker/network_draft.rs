//! Networks as they are made and removed: everything that makes one again as it was. Sends requests.

use std::collections::{BTreeMap, HashMap};
use std::net::Ipv4Addr;

use bollard::models::{Ipam, IpamConfig, NetworkCreateRequest};
use bollard::query_parameters::InspectNetworkOptions;
use ipnet::Ipv4Net;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::docker::client::{Docker, named};
use crate::docker::error::DockerError;

/// What a network is made of (`POST /networks/create`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NetworkDraft {
    /// The name.
    pub name: String,
    /// `bridge`, ...
    pub driver: String,
    /// Whether it leads nowhere else.
    pub internal: bool,
    /// Whether containers of a swarm may join by hand.
    pub attachable: bool,
    /// Whether it has IPv6 too.
    pub ipv6: bool,
    /// The pools of addresses; empty = Docker chooses one, and gives nobody a fixed address in it.
    pub pools: Vec<Pool>,
    /// The labels.
    pub labels: BTreeMap<String, String>,
    /// The options of the driver.
    pub options: BTreeMap<String, String>,
}

/// A pool of addresses of a network (`IPAM.Config`), as the daemon writes it; the texts may be of IPv6.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Pool {
    /// All addresses; `None` = Docker chooses.
    pub subnet: Option<String>,
    /// The bridge's own address; `None` = Docker chooses.
    pub gateway: Option<String>,
    /// The part from which Docker takes addresses by itself; `None` = all of it.
    pub ip_range: Option<String>,
    /// Addresses that nobody may hold, by name.
    pub reserved: BTreeMap<String, String>,
}

impl NetworkDraft {
    /// A bridge of this IPv4 subnet that leads nowhere else.
    pub fn internal_bridge(
        name: &str,
        subnet: Ipv4Net,
        gateway: Ipv4Addr,
        ip_range: Ipv4Net,
    ) -> NetworkDraft {
        NetworkDraft {
            name: name.to_owned(),
            driver: "bridge".to_owned(),
            internal: true,
            attachable: false,
            ipv6: false,
            pools: vec![Pool {
                subnet: Some(subnet.to_string()),
                gateway: Some(gateway.to_string()),
                ip_range: Some(ip_range.to_string()),
                reserved: BTreeMap::new(),
            }],
            labels: BTreeMap::new(),
            options: BTreeMap::new(),
        }
    }

    /// Whether a network that is made of the one is as good as made of the other: what the daemon adds by itself, such
    /// as a gateway, does not count.
    pub fn agrees_with(&self, other: &NetworkDraft) -> bool {
        let pools = self.pools.is_empty()
            || other.pools.is_empty()
            || self
                .pools
                .iter()
                .zip(&other.pools)
                .all(|(one, another)| one.agrees_with(another));
        self.name == other.name
            && self.driver == other.driver
            && self.internal == other.internal
            && pools
    }

    fn request(&self) -> NetworkCreateRequest {
        let config = self.pools.iter().map(|pool| IpamConfig {
            subnet: pool.subnet.clone(),
            ip_range: pool.ip_range.clone(),
            gateway: pool.gateway.clone(),
            auxiliary_addresses: (!pool.reserved.is_empty())
                .then(|| pool.reserved.clone().into_iter().collect()),
        });
        let ipam = (!self.pools.is_empty()).then(|| Ipam {
            driver: Some("default".to_owned()),
            config: Some(config.collect()),
            options: None,
        });
        NetworkCreateRequest {
            name: self.name.clone(),
            driver: Some(self.driver.clone()),
            internal: Some(self.internal),
            attachable: Some(self.attachable),
            enable_ipv6: Some(self.ipv6),
            ipam,
            options: Some(self.options.clone().into_iter().collect()),
            labels: Some(self.labels.clone().into_iter().collect()),
            ..NetworkCreateRequest::default()
        }
    }
}

impl Pool {
    fn agrees_with(&self, other: &Pool) -> bool {
        let same = |one: &Option<String>, another: &Option<String>| {
            one.is_none() || another.is_none() || one == another
        };
        same(&self.subnet, &other.subnet)
            && same(&self.gateway, &other.gateway)
            && self.ip_range == other.ip_range
    }
}

impl Docker {
    /// What a network is made of, found by id (`GET /networks/{id}`).
    ///
    /// # Errors
    /// As [`DockerError`] tells; [`Refusal::NoSuchNetwork`](crate::docker::refusal::Refusal) when it is gone.
    pub async fn network_draft(&self, id: &str) -> Result<NetworkDraft, DockerError> {
        let action = format!("inspect network {}", named(id));
        let request = self
            .client()
            .inspect_network(id, None::<InspectNetworkOptions>);
        let network = self.answer(&action, request).await?;
        let config = network
            .ipam
            .and_then(|ipam| ipam.config)
            .unwrap_or_default();
        let sorted =
            |map: Option<HashMap<String, String>>| map.unwrap_or_default().into_iter().collect();
        Ok(NetworkDraft {
            name: network.name.unwrap_or_default(),
            driver: network.driver.unwrap_or_default(),
            internal: network.internal.unwrap_or_default(),
            attachable: network.attachable.unwrap_or_default(),
            ipv6: network.enable_ipv6.unwrap_or_default(),
            pools: config
                .into_iter()
                .map(|pool| Pool {
                    subnet: pool.subnet,
                    gateway: pool.gateway,
                    ip_range: pool.ip_range.filter(|range| !range.is_empty()),
                    reserved: sorted(pool.auxiliary_addresses),
                })
                .collect(),
            labels: sorted(network.labels),
            options: sorted(network.options),
        })
    }

    /// Makes a network and returns its id. Docker before 25 makes a second one of the same name, and only its list of
    /// networks tells.
    ///
    /// # Errors
    /// As [`DockerError`] tells.
    pub async fn create_network(&self, draft: &NetworkDraft) -> Result<String, DockerError> {
        let action = format!("create network {}", draft.name);
        let request = self.client().create_network(draft.request());
        Ok(self.answer(&action, request).await?.id)
    }

    /// Removes a network, found by id (`DELETE /networks/{id}`). Containers that are stopped do not keep it, and cannot
    /// start without it.
    ///
    /// # Errors
    /// As [`DockerError`] tells.
    pub async fn remove_network(&self, id: &str) -> Result<(), DockerError> {
        let action = format!("remove network {}", named(id));
        self.answer(&action, self.client().remove_network(id)).await
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::docker::fake_daemon::{Answer, FakeDaemon};

    fn mesh() -> NetworkDraft {
        NetworkDraft::internal_bridge(
            "karmada-mesh",
            "172.28.0.0/24".parse().unwrap(),
            "172.28.0.1".parse().unwrap(),
            "172.28.0.128/25".parse().unwrap(),
        )
    }

    #[tokio::test]
    async fn a_network_is_asked_for_with_all_that_keeps_pins_safe() {
        let daemon = FakeDaemon::answering(Answer::json(&json!({"Id": "n1", "Warning": ""})));
        assert_eq!(daemon.docker.create_network(&mesh()).await.unwrap(), "n1");
        let requests = daemon.requests();
        let (head, body) = requests[0].split_once(" docker ").unwrap();
        assert_eq!(head, "POST /networks/create");
        let body: Value = serde_json::from_str(body).unwrap();
        assert_eq!(body["Internal"], true);
        assert_eq!(
            body["IPAM"]["Config"],
            json!([{"Subnet": "172.28.0.0/24", "Gateway": "172.28.0.1", "IPRange": "172.28.0.128/25"}])
        );
    }

    #[tokio::test]
    async fn a_network_is_read_as_it_would_be_made_again() {
        let daemon = FakeDaemon::answering(Answer::json(&json!({
            "Name": "karmada-mesh", "Id": "n1", "Driver": "bridge", "Internal": true, "EnableIPv6": false,
            "IPAM": {"Driver": "default", "Config": [{"Subnet": "172.28.0.0/24", "IPRange": "172.28.0.128/25"}]},
            "Labels": {"a": "b"}, "Options": {}
        })));
        let draft = daemon.docker.network_draft("n1").await.unwrap();
        assert!(draft.agrees_with(&mesh()));
        assert_eq!(draft.labels["a"], "b");
        assert_eq!(draft.pools[0].gateway, None);
    }

    #[test]
    fn drafts_agree_unless_something_that_was_asked_for_differs() {
        let without_range = {
            let mut draft = mesh();
            draft.pools[0].ip_range = None;
            draft
        };
        let open = NetworkDraft {
            internal: false,
            ..mesh()
        };
        let automatic = NetworkDraft {
            pools: Vec::new(),
            ..mesh()
        };
        assert!(mesh().agrees_with(&mesh()));
        assert!(!mesh().agrees_with(&without_range));
        assert!(!mesh().agrees_with(&open));
        assert!(automatic.agrees_with(&mesh()));
    }
}
