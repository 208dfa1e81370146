//! Who reaches whom: routing between containers follows network membership. Pure.

use std::net::{IpAddr, Ipv4Addr};

use super::attach::INTERFACE_NAME;
use super::daemon::{Container, Daemon, Engine, State};

/// Where a connection from a container ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Reach {
    /// At the API server of this name.
    Server(String),
    Refused,
    Timeout,
    NoRoute,
    Unreachable,
    NoSuchHost,
    /// It opens, and nothing answers.
    Silent,
}

impl Daemon {
    /// Where a connection from container `from` to `host` and `port` ends.
    pub(crate) fn reach(&self, from: &str, host: &str, port: u16) -> Reach {
        let Ok(origin) = self.container(from) else {
            return Reach::Unreachable;
        };
        if origin.state != State::Running {
            return Reach::Unreachable;
        }
        if origin.network_mode == "host" {
            return self.reach_from_host(host, port);
        }
        match host.parse::<IpAddr>() {
            Ok(IpAddr::V4(address)) => self.reach_address(origin, address, port),
            Ok(IpAddr::V6(address)) if address.is_unspecified() || address.is_loopback() => {
                Reach::Refused
            }
            Ok(IpAddr::V6(_)) => Reach::Unreachable,
            Err(_) if host.eq_ignore_ascii_case("localhost") => Reach::Refused,
            Err(_) => match self.resolve(origin, host) {
                Some(address) => self.reach_address(origin, address, port),
                None => Reach::NoSuchHost,
            },
        }
    }

    /// The network whose gateway is the container's default route, by the rule of the daemon's version.
    pub(crate) fn default_route(&self, container: &str) -> Option<String> {
        let container = self.container(container).ok()?;
        let attached = container.endpoints.iter().filter(|(name, endpoint)| {
            endpoint.address.is_some() && self.network(name).is_ok_and(|network| !network.internal)
        });
        let best = attached.min_by_key(|(name, endpoint)| {
            let priority = if self.engine == Engine::V28 {
                endpoint.gateway_priority
            } else {
                0
            };
            (std::cmp::Reverse(priority), (*name).clone())
        });
        best.map(|(name, _)| name.clone())
    }

    /// The interface of a container on a network, if that is certain: named, or `eth0` of a container on one network.
    pub(crate) fn interface(&self, container: &str, network: &str) -> Option<String> {
        let container = self.container(container).ok()?;
        let endpoint = container.endpoints.get(network)?;
        match endpoint.driver_options.get(INTERFACE_NAME) {
            Some(name) => Some(name.clone()),
            None => {
                let unnamed = container
                    .endpoints
                    .values()
                    .filter(|other| !other.driver_options.contains_key(INTERFACE_NAME));
                (unnamed.count() == 1).then(|| "eth0".to_owned())
            }
        }
    }

    /// The address that a name or an address stands for inside a container.
    pub(crate) fn lookup(&self, container: &Container, host: &str) -> Option<Ipv4Addr> {
        host.parse().ok().or_else(|| self.resolve(container, host))
    }

    /// Docker's DNS: names of containers on networks shared with the asker.
    fn resolve(&self, origin: &Container, host: &str) -> Option<Ipv4Addr> {
        let networks = origin
            .endpoints
            .iter()
            .filter(|(_, endpoint)| endpoint.address.is_some())
            .map(|(name, _)| name);
        networks.into_iter().find_map(|network| {
            self.held(network).find_map(|(address, container)| {
                let endpoint = &container.endpoints[network];
                let named = container.name == host
                    || format!("{}.{network}", container.name) == host
                    || endpoint.aliases.iter().any(|alias| alias == host);
                named.then_some(address)
            })
        })
    }

    fn reach_address(&self, origin: &Container, address: Ipv4Addr, port: u16) -> Reach {
        if address.is_loopback() || address.is_unspecified() {
            return Reach::Refused;
        }
        if origin.network_mode == "none"
            || origin
                .endpoints
                .values()
                .all(|endpoint| endpoint.address.is_none())
        {
            return Reach::Unreachable;
        }
        for network in origin
            .endpoints
            .iter()
            .filter(|(_, endpoint)| endpoint.address.is_some())
            .map(|(name, _)| name)
        {
            if let Some((_, holder)) = self.held(network).find(|(held, _)| *held == address) {
                return self.knock(holder, port);
            }
            let Ok(network) = self.network(network) else {
                continue;
            };
            if network.gateway == Some(address) {
                return self.published(port, false);
            }
            if network
                .subnet
                .is_some_and(|subnet| subnet.contains(&address))
            {
                return Reach::NoRoute;
            }
        }
        Reach::Timeout
    }

    fn reach_from_host(&self, host: &str, port: u16) -> Reach {
        let Ok(IpAddr::V4(address)) = host.parse::<IpAddr>() else {
            return if host.eq_ignore_ascii_case("localhost") {
                self.published(port, true)
            } else {
                Reach::NoSuchHost
            };
        };
        if address.is_loopback() || address.is_unspecified() {
            return self.published(port, true);
        }
        let everywhere = self
            .networks
            .iter()
            .flat_map(|network| self.held(&network.name));
        match everywhere.into_iter().find(|(held, _)| *held == address) {
            Some((_, holder)) => self.knock(holder, port),
            None => Reach::Timeout,
        }
    }

    /// A port published on the docker host; from elsewhere than the host, loopback publications do not count.
    fn published(&self, port: u16, from_host: bool) -> Reach {
        for container in self
            .containers
            .iter()
            .filter(|container| container.state.has_addresses())
        {
            let binding = container.bindings.iter().find(|binding| {
                binding.host_port == port
                    && (from_host
                        || binding.host_address == "0.0.0.0"
                        || binding.host_address.is_empty())
            });
            if let Some(binding) = binding {
                return self.knock(container, binding.container_port);
            }
        }
        Reach::Refused
    }

    fn knock(&self, holder: &Container, port: u16) -> Reach {
        match (holder.state, holder.serves.get(&port)) {
            (State::Paused, _) => Reach::Silent,
            (State::Running, Some(server)) if self.backend_runs(holder, server) => {
                Reach::Server(server.clone())
            }
            _ => Reach::Refused,
        }
    }

    /// A load balancer only forwards: somebody else that serves the same must run.
    fn backend_runs(&self, holder: &Container, server: &str) -> bool {
        if !is_load_balancer(holder) {
            return true;
        }
        self.containers.iter().any(|container| {
            !is_load_balancer(container)
                && container.state == State::Running
                && container.serves.values().any(|served| served == server)
        })
    }

    /// Whether the API server of that name runs and whether its published port is served.
    pub(crate) fn listening(&self, server: &str) -> (bool, bool) {
        let runs = |container: &&Container| {
            container.state == State::Running
                && container.serves.values().any(|served| served == server)
        };
        let nodes = self
            .containers
            .iter()
            .filter(|container| !is_load_balancer(container))
            .any(|container| runs(&container));
        let published = self.containers.iter().filter(runs).any(|container| {
            container.bindings.iter().any(|binding| {
                container
                    .serves
                    .get(&binding.container_port)
                    .is_some_and(|served| served == server)
            }) || container.network_mode == "host"
        });
        (nodes, nodes && published)
    }
}

/// Whether the container only forwards to others.
pub(crate) fn is_load_balancer(container: &Container) -> bool {
    container
        .labels
        .get("k3d.role")
        .is_some_and(|role| role == "loadbalancer")
        || container
            .labels
            .get("io.x-k8s.kind.role")
            .is_some_and(|role| role == "external-load-balancer")
}
