//! Containers and networks as the Docker Engine API shows them. Pure.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::daemon::{Container, Daemon, Endpoint, Engine, State};
use super::network::Network;
use crate::api::table::age;

impl Daemon {
    /// An item of `GET /containers/json`.
    pub(crate) fn summary(&self, container: &Container) -> Value {
        let ports: Vec<Value> = container
            .bindings
            .iter()
            .filter(|_| container.state.has_addresses())
            .map(|binding| {
                json!({
                    "IP": binding.host_address, "PrivatePort": binding.container_port, "PublicPort": binding.host_port,
                    "Type": "tcp",
                })
            })
            .collect();
        json!({
            "Id": container.id, "Names": [format!("/{}", container.name)], "Image": container.image,
            "ImageID": format!("sha256:{}", container.id), "Command": container.command,
            "Created": seconds(&container.created), "Ports": ports, "Labels": container.labels,
            "State": container.state.word(), "Status": status(container), "HostConfig": {"NetworkMode": container.network_mode},
            "NetworkSettings": {"Networks": self.endpoints(container)}, "Mounts": [],
        })
    }

    /// `GET /containers/{id}/json`.
    pub(crate) fn inspect(&self, container: &Container) -> Value {
        let state = container.state;
        let mut bindings = Map::new();
        let mut ports = Map::new();
        for binding in &container.bindings {
            let port = format!("{}/tcp", binding.container_port);
            let published = json!([{"HostIp": binding.host_address, "HostPort": binding.host_port.to_string()}]);
            bindings.insert(port.clone(), published.clone());
            if state.has_addresses() {
                ports.insert(port, published);
            }
        }
        json!({
            "Id": container.id, "Created": container.created, "Path": container.command, "Args": [],
            "State": {
                "Status": state.word(), "Running": matches!(state, State::Running | State::Paused | State::Restarting),
                "Paused": state == State::Paused, "Restarting": state == State::Restarting, "OOMKilled": false, "Dead": false,
                "Pid": if state.has_addresses() { 4242 } else { 0 }, "ExitCode": if state == State::Exited { 137 } else { 0 },
                "Error": container.error, "StartedAt": container.started, "FinishedAt": "0001-01-01T00:00:00Z",
            },
            "Image": format!("sha256:{}", container.id), "Name": format!("/{}", container.name),
            "RestartCount": u8::from(state == State::Restarting), "Driver": "overlay2", "Platform": "linux", "Mounts": [],
            "HostConfig": {
                "NetworkMode": container.network_mode, "PortBindings": bindings, "Privileged": true, "Ulimits": null,
                "RestartPolicy": {"Name": container.restart_policy, "MaximumRetryCount": 0},
            },
            "Config": {
                "Hostname": container.name, "Image": container.image, "Labels": container.labels, "Env": container.environment,
                "Tty": false,
            },
            "NetworkSettings": {
                "SandboxID": if state.has_addresses() { container.id.as_str() } else { "" },
                "Ports": ports, "Networks": self.endpoints(container),
            },
        })
    }

    /// An item of `GET /networks`, with the containers on it if asked for.
    pub(crate) fn network_view(&self, network: &Network, with_containers: bool) -> Value {
        let mut pool = Map::new();
        if let Some(subnet) = network.subnet {
            pool.insert("Subnet".to_owned(), json!(subnet.to_string()));
        }
        if let Some(range) = network.range {
            pool.insert("IPRange".to_owned(), json!(range.to_string()));
        }
        if let Some(gateway) = network.gateway.filter(|_| network.shows_gateway) {
            pool.insert("Gateway".to_owned(), json!(gateway.to_string()));
        }
        if !network.auxiliary.is_empty() {
            pool.insert("AuxiliaryAddresses".to_owned(), json!(network.auxiliary));
        }
        let config = if pool.is_empty() {
            json!([])
        } else {
            json!([pool])
        };
        let prefix = network.subnet.map_or(0, |subnet| subnet.prefix_len());
        let containers: Map<String, Value> = self
            .held(&network.name)
            .filter(|_| with_containers)
            .map(|(address, container)| {
                let endpoint = &container.endpoints[&network.name].endpoint_id;
                let shown = json!({
                    "Name": container.name, "EndpointID": endpoint, "MacAddress": mac(address),
                    "IPv4Address": format!("{address}/{prefix}"), "IPv6Address": "",
                });
                (container.id.clone(), shown)
            })
            .collect();
        let mut view = json!({
            "Name": network.name, "Id": network.id, "Created": network.created, "Scope": "local", "Driver": network.driver,
            "EnableIPv6": false, "IPAM": {"Driver": "default", "Options": if network.is_predefined() { Value::Null } else { json!({}) }, "Config": config},
            "Internal": network.internal, "Attachable": false, "Ingress": false, "ConfigFrom": {"Network": ""},
            "ConfigOnly": false, "Containers": containers, "Options": network.options, "Labels": network.labels,
        });
        if self.engine == Engine::V28 {
            view["EnableIPv4"] = json!(true);
        }
        view
    }

    fn endpoints(&self, container: &Container) -> Map<String, Value> {
        if container.endpoints.is_empty()
            && ["host", "none"].contains(&container.network_mode.as_str())
        {
            let id = self
                .network(&container.network_mode)
                .map(|network| network.id.clone())
                .unwrap_or_default();
            let bare = Endpoint {
                network_id: id,
                ..Endpoint::default()
            };
            return Map::from_iter([(
                container.network_mode.clone(),
                self.endpoint(container, &container.network_mode, &bare),
            )]);
        }
        let views = container
            .endpoints
            .iter()
            .map(|(name, endpoint)| (name.clone(), self.endpoint(container, name, endpoint)));
        views.collect()
    }

    fn endpoint(&self, container: &Container, network: &str, endpoint: &Endpoint) -> Value {
        let network = self.network(network).ok();
        let gateway = network
            .and_then(|network| network.gateway)
            .filter(|_| endpoint.address.is_some());
        let prefix = network
            .and_then(|network| network.subnet)
            .filter(|_| endpoint.address.is_some());
        let ipam = match endpoint.configured {
            Some(address) => json!({"IPv4Address": address.to_string()}),
            None => Value::Null,
        };
        let options = if endpoint.driver_options.is_empty() {
            Value::Null
        } else {
            json!(endpoint.driver_options)
        };
        let mut aliases = endpoint.aliases.clone();
        if self.engine == Engine::V20 && network.is_some_and(|network| !network.is_predefined()) {
            aliases.extend(container.id.get(..12).map(str::to_owned));
        }
        let aliases = if aliases.is_empty() {
            Value::Null
        } else {
            json!(aliases)
        };
        let mut view = json!({
            "IPAMConfig": ipam, "Links": null, "Aliases": aliases, "MacAddress": endpoint.address.map(mac).unwrap_or_default(),
            "DriverOpts": options, "NetworkID": endpoint.network_id, "EndpointID": endpoint.endpoint_id,
            "Gateway": gateway.map(|gateway| gateway.to_string()).unwrap_or_default(),
            "IPAddress": endpoint.address.map(|address| address.to_string()).unwrap_or_default(),
            "IPPrefixLen": prefix.map_or(0, |subnet| subnet.prefix_len()), "IPv6Gateway": "", "GlobalIPv6Address": "",
            "GlobalIPv6PrefixLen": 0,
        });
        if self.engine != Engine::V20 {
            view["DNSNames"] = json!([container.name, container.id.get(..12)]);
        }
        if self.engine == Engine::V28 {
            view["GwPriority"] = json!(endpoint.gateway_priority);
        }
        view
    }
}

fn mac(address: std::net::Ipv4Addr) -> String {
    let [a, b, c, d] = address.octets();
    format!("02:42:{a:02x}:{b:02x}:{c:02x}:{d:02x}")
}

fn seconds(time: &str) -> i64 {
    time.parse::<Timestamp>()
        .map(Timestamp::as_second)
        .unwrap_or_default()
}

fn status(container: &Container) -> String {
    let since = age(Some(&container.started), Timestamp::now());
    match container.state {
        State::Created => "Created".to_owned(),
        State::Running => format!("Up {since}"),
        State::Paused => format!("Up {since} (Paused)"),
        State::Restarting => format!("Restarting (1) {since} ago"),
        State::Exited => format!("Exited (137) {since} ago"),
    }
}
