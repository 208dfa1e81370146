//! Connecting containers to networks and disconnecting them, with the daemon's traps. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use super::daemon::{Container, Daemon, Endpoint, Engine, State};
use super::failure::Failure;
use super::network::Network;

/// How a container is to be attached.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Attachment {
    /// `IPAMConfig.IPv4Address` as sent.
    pub(crate) address: Option<String>,
    pub(crate) aliases: Vec<String>,
    pub(crate) driver_options: BTreeMap<String, String>,
    pub(crate) gateway_priority: i64,
}

impl Daemon {
    /// `POST /networks/{id}/connect`.
    pub(crate) fn connect(
        &mut self,
        network: &str,
        container: &str,
        wish: &Attachment,
    ) -> Result<(), Failure> {
        let network = self.network(network)?.clone();
        let target = self.container(container)?.clone();
        match target.network_mode.as_str() {
            "none" => return Err(Failure::private_network()),
            "host" => return Err(Failure::shared_namespace()),
            mode if mode.starts_with("container:") => return Err(Failure::shared_namespace()),
            _ => {}
        }
        match network.driver.as_str() {
            "host" => return Err(Failure::host_network()),
            "null" => return Err(Failure::private_network()),
            _ => {}
        }
        let lenient = self.engine == Engine::V20 && !target.state.has_addresses();
        let address = match wish.address.as_deref().filter(|text| !text.is_empty()) {
            None => None,
            Some(text) => match self.static_address(&network, text) {
                Ok(address) => Some(address),
                Err(_) if lenient && network.user_subnet => text.parse().ok(),
                Err(failure) => return Err(failure),
            },
        };
        let existing = target.endpoints.get(&network.name);
        if !target.state.has_addresses() {
            // A stopped container that is already configured keeps its configuration, whatever was asked for.
            if existing.is_none() {
                self.record(
                    &target,
                    &network,
                    Endpoint {
                        configured: address,
                        ..endpoint(&network, wish)
                    },
                );
            }
            return if target.state == State::Restarting {
                Err(Failure::no_sandbox(&target.id))
            } else {
                Ok(())
            };
        }
        if existing.is_some_and(|endpoint| endpoint.address.is_some()) {
            return Err(Failure::already_connected(&target.name, &network.name));
        }
        // The configuration is written before the address is taken: what fails from here on leaves a ghost.
        self.record(
            &target,
            &network,
            Endpoint {
                configured: address,
                ..endpoint(&network, wish)
            },
        );
        self.check_interface_name(&target, wish)?;
        let taken = self.take(&network, address)?;
        let target = self.container_mut(&target.id)?;
        if let Some(endpoint) = target.endpoints.get_mut(&network.name) {
            endpoint.address = Some(taken);
            endpoint.endpoint_id = crate::random::hexadecimal(64);
        }
        Ok(())
    }

    /// `POST /networks/{id}/disconnect`.
    pub(crate) fn disconnect(
        &mut self,
        network: &str,
        container: &str,
        force: bool,
    ) -> Result<(), Failure> {
        let network = self.network(network)?.name.clone();
        let target = match self.container_mut(container) {
            Ok(target) => target,
            Err(_) if force => {
                return Err(Failure::new(404, format!("endpoint {container} not found")));
            }
            Err(failure) => return Err(failure),
        };
        let connected = match (target.endpoints.get(&network), target.state) {
            (None, _) | (Some(_), State::Restarting) => false,
            (Some(endpoint), State::Running | State::Paused) => endpoint.address.is_some(),
            (Some(_), State::Created | State::Exited) => true,
        };
        if !connected {
            return Err(Failure::not_connected(&target.id, &network));
        }
        target.endpoints.remove(&network);
        Ok(())
    }

    /// Takes an address on a network: the wanted one, or the lowest free.
    pub(crate) fn take(
        &self,
        network: &Network,
        wanted: Option<Ipv4Addr>,
    ) -> Result<Ipv4Addr, Failure> {
        let held: BTreeSet<Ipv4Addr> = self
            .held(&network.name)
            .map(|(address, _)| address)
            .collect();
        match wanted {
            Some(address) if network.is_free(address, &held) => Ok(address),
            Some(_) => Err(Failure::address_in_use()),
            None => network
                .lowest_free(&held)
                .ok_or_else(|| Failure::range_full(&network.name, &network.id)),
        }
    }

    fn static_address(&self, network: &Network, text: &str) -> Result<Ipv4Addr, Failure> {
        if network.is_predefined() {
            return Err(Failure::needs_user_network(self.engine));
        }
        let address: Ipv4Addr = text
            .parse()
            .map_err(|_| Failure::no_address(self.engine, text))?;
        if !network.user_subnet {
            return Err(Failure::needs_user_subnet(self.engine));
        }
        if !network
            .subnet
            .is_some_and(|subnet| subnet.contains(&address))
        {
            return Err(Failure::outside_subnet(self.engine, text));
        }
        Ok(address)
    }

    fn check_interface_name(
        &self,
        container: &Container,
        wish: &Attachment,
    ) -> Result<(), Failure> {
        let Some(wanted) = wish
            .driver_options
            .get(INTERFACE_NAME)
            .filter(|_| self.engine == Engine::V28)
        else {
            return Ok(());
        };
        if wanted.len() > 15 {
            let reason = format!(
                "error renaming interface \"veth0a1b2c3\" to \"{wanted}\": numerical result out of range"
            );
            return Err(Failure::new(500, reason));
        }
        let automatic = container
            .endpoints
            .values()
            .filter(|endpoint| endpoint.address.is_some())
            .count();
        let named = container
            .endpoints
            .values()
            .filter(|endpoint| endpoint.address.is_some());
        let taken = named
            .into_iter()
            .any(|endpoint| endpoint.driver_options.get(INTERFACE_NAME) == Some(wanted))
            || (0..automatic).any(|index| *wanted == format!("eth{index}"));
        if taken {
            let reason =
                format!("error renaming interface \"veth0a1b2c3\" to \"{wanted}\": file exists");
            return Err(Failure::new(500, reason));
        }
        Ok(())
    }

    fn record(&mut self, container: &Container, network: &Network, endpoint: Endpoint) {
        if let Ok(container) = self.container_mut(&container.id) {
            container.endpoints.insert(network.name.clone(), endpoint);
        }
    }
}

/// The driver option that names the interface inside the container.
pub(crate) const INTERFACE_NAME: &str = "com.docker.network.endpoint.ifname";

fn endpoint(network: &Network, wish: &Attachment) -> Endpoint {
    Endpoint {
        network_id: network.id.clone(),
        aliases: wish.aliases.clone(),
        driver_options: wish.driver_options.clone(),
        gateway_priority: wish.gateway_priority,
        ..Endpoint::default()
    }
}
