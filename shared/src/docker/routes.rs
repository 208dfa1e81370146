//! The interfaces and routes inside a container, as its kernel tells them. Pure but for the request.

use std::net::Ipv4Addr;
use std::time::Duration;

use ipnet::Ipv4Net;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::docker::client::Docker;
use crate::docker::error::DockerError;

/// The IPv4 routes inside a container (`/proc/net/route`).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Routes {
    /// The interface of the default route; `None` = there is none.
    pub default_interface: Option<String>,
    /// The interface that leads to each subnet, in the kernel's order, routes through a gateway left out.
    pub links: Vec<Link>,
}

/// A subnet that an interface leads to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Link {
    /// The interface, such as `eth0`.
    pub interface: String,
    /// The subnet.
    #[schemars(with = "String")]
    pub subnet: Ipv4Net,
}

impl Routes {
    /// Reads `/proc/net/route`: after a line of headings, a route a line, with numbers in the machine's byte order.
    pub fn parse(text: &str) -> Routes {
        let mut routes = Routes::default();
        for line in text.lines().skip(1) {
            let fields: Vec<&str> = line.split_ascii_whitespace().collect();
            let [interface, destination, gateway, _, _, _, _, mask, ..] = fields.as_slice() else {
                continue;
            };
            let (Some(destination), Some(gateway), Some(mask)) =
                (address(destination), address(gateway), address(mask))
            else {
                continue;
            };
            if destination.is_unspecified() && mask.is_unspecified() {
                routes
                    .default_interface
                    .get_or_insert_with(|| (*interface).to_owned());
            } else if gateway.is_unspecified()
                && let Ok(subnet) = Ipv4Net::with_netmask(destination, mask)
            {
                routes.links.push(Link {
                    interface: (*interface).to_owned(),
                    subnet: subnet.trunc(),
                });
            }
        }
        routes
    }

    /// The interface that leads to a subnet; `None` = none does.
    pub fn interface_of(&self, subnet: Ipv4Net) -> Option<&str> {
        let found = self.links.iter().find(|link| link.subnet == subnet.trunc());
        found.map(|link| link.interface.as_str())
    }

    /// The subnet behind an interface; `None` = there is no such interface, or it has no address.
    pub fn subnet_of(&self, interface: &str) -> Option<Ipv4Net> {
        let found = self.links.iter().find(|link| link.interface == interface);
        found.map(|link| link.subnet)
    }
}

impl Docker {
    /// The routes inside a running container; the error says in words why they cannot be read.
    ///
    /// # Errors
    /// What the daemon refuses, or what the container lacks.
    pub async fn routes(&self, container: &str) -> Result<Routes, String> {
        let ended = self
            .output(container, &["cat", "/proc/net/route"], ALLOWED)
            .await
            .map_err(|error: DockerError| error.to_string())?;
        match ended.code {
            0 => Ok(Routes::parse(&ended.stdout)),
            127 => Err("the container has no program that could read its routes (cat)".to_owned()),
            code => Err(format!("reading the routes ended with {code}")),
        }
    }
}

fn address(digits: &str) -> Option<Ipv4Addr> {
    let number = u32::from_str_radix(digits, 16).ok()?;
    Some(Ipv4Addr::from(number.to_ne_bytes()))
}

const ALLOWED: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_endian = "little")]
    const ROUTES: &str = "\
Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT
eth0\t00000000\t010014AC\t0003\t0\t0\t0\t00000000\t0\t0\t0
eth0\t000014AC\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0
mesh0\t00001CAC\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0
flannel.1\t00012A0A\t00012A0A\t0003\t0\t0\t0\t00FFFFFF\t0\t0\t0
";

    #[cfg(target_endian = "little")]
    #[test]
    fn routes_are_read_as_the_kernel_writes_them() {
        let routes = Routes::parse(ROUTES);
        assert_eq!(routes.default_interface.as_deref(), Some("eth0"));
        let mesh = "172.28.0.0/24".parse().expect("a literal subnet");
        assert_eq!(routes.interface_of(mesh), Some("mesh0"));
        let home = "172.20.0.0/16".parse().expect("a literal subnet");
        assert_eq!(routes.subnet_of("eth0"), Some(home));
        assert_eq!(routes.subnet_of("flannel.1"), None);
    }

    #[test]
    fn a_container_without_networks_has_no_routes() {
        assert_eq!(Routes::parse(""), Routes::default());
        assert_eq!(Routes::parse("Iface\tDestination\n"), Routes::default());
    }
}
