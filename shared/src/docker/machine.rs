//! The machine that a daemon runs on, and the pools from which the daemon makes networks. Sends a request.

use ipnet::Ipv4Net;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::docker::client::Docker;
use crate::docker::error::DockerError;

/// What a daemon says about itself (`GET /info`).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Machine {
    /// The host name, such as `colima`; empty when it does not tell.
    pub name: String,
    /// The operating system, such as `Docker Desktop`; empty when it does not tell.
    pub operating_system: String,
    /// The pools for networks without a subnet of their own, when they were configured; empty = Docker's own.
    pub pools: Vec<AddressPool>,
}

/// A pool from which the daemon cuts the subnets of networks that ask for none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AddressPool {
    /// The whole.
    #[schemars(with = "String")]
    pub base: Ipv4Net,
    /// The length of the prefix of each subnet.
    pub size: u8,
}

impl Machine {
    /// Whether the daemon could have chosen this subnet by itself: it is cut from a pool as the daemon cuts it.
    ///
    /// Docker's own pools are those of `ipamutils` in libnetwork: 172.17 to 172.31 in pieces of /16, 192.168.0.0/16 in
    /// pieces of /20.
    pub fn could_choose(&self, subnet: Ipv4Net) -> bool {
        let cuts = |pool: &AddressPool| {
            subnet.prefix_len() == pool.size && pool.base.contains(&subnet.network())
        };
        if !self.pools.is_empty() {
            return self.pools.iter().any(cuts);
        }
        let [first, second, third, ..] = subnet.network().octets();
        match (first, second) {
            (172, 17..=31) => subnet.prefix_len() == 16,
            (192, 168) => subnet.prefix_len() == 20 && third % 16 == 0,
            _ => false,
        }
    }
}

impl Docker {
    /// What the daemon says about the machine that it runs on.
    ///
    /// # Errors
    /// As [`DockerError`] tells.
    pub async fn machine(&self) -> Result<Machine, DockerError> {
        let info = self
            .answer("read what Docker says about itself", self.client().info())
            .await?;
        let pools = info.default_address_pools.unwrap_or_default();
        Ok(Machine {
            name: info.name.unwrap_or_default(),
            operating_system: info.operating_system.unwrap_or_default(),
            pools: pools
                .into_iter()
                .filter_map(|pool| {
                    Some(AddressPool {
                        base: pool.base?.parse().ok()?,
                        size: u8::try_from(pool.size?).ok()?,
                    })
                })
                .collect(),
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::docker::fake_daemon::{Answer, FakeDaemon};

    #[tokio::test]
    async fn pools_that_were_configured_are_read() {
        let daemon = FakeDaemon::answering(Answer::json(&json!({
            "Name": "colima", "OperatingSystem": "Ubuntu",
            "DefaultAddressPools": [{"Base": "10.10.0.0/16", "Size": 24}]
        })));
        let machine = daemon.docker.machine().await.unwrap();
        assert_eq!(machine.name, "colima");
        assert!(machine.could_choose("10.10.3.0/24".parse().unwrap()));
        assert!(!machine.could_choose("172.18.0.0/16".parse().unwrap()));
    }

    #[test]
    fn subnets_that_docker_chooses_are_known_by_their_shape() {
        let machine = Machine::default();
        let cases = [
            ("172.18.0.0/16", true),
            ("172.28.0.0/16", true),
            ("172.28.0.0/24", false),
            ("172.32.0.0/16", false),
            ("192.168.16.0/20", true),
            ("192.168.49.0/24", false),
            ("10.0.0.0/16", false),
        ];
        for (subnet, expected) in cases {
            assert_eq!(
                machine.could_choose(subnet.parse().unwrap()),
                expected,
                "{subnet}"
            );
        }
    }
}
