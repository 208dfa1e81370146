//! What scenarios do with the Docker daemon.

use std::net::Ipv4Addr;

use serde_json::{Value, json};

use super::container;
use super::federation::RealFederation;
use crate::docker::daemon::State;
use crate::docker::failure::Failure;
use crate::lab::Containers;

/// The daemon of a federation.
pub(super) struct Docker<'a>(pub(super) &'a RealFederation);

impl Docker<'_> {
    fn get(&self, path: &str) -> Result<Value, Failure> {
        self.0.runtime.wait(self.0.engine.get(path))
    }

    fn post(&self, path: &str, body: &Value) -> Result<(), Failure> {
        let done = self.0.runtime.wait(self.0.engine.post(path, body));
        self.0.forget_connections();
        done.map(|_| ())
    }

    fn act(&self, container: &str, what: &str) -> Result<(), Failure> {
        self.post(&format!("/containers/{container}/{what}"), &Value::Null)
    }
}

impl Containers for Docker<'_> {
    fn start(&self, container: &str) -> Result<(), Failure> {
        self.act(container, "start")
    }

    fn stop(&self, container: &str) -> Result<(), Failure> {
        self.act(container, "stop?t=5")
    }

    fn restart(&self, container: &str) -> Result<(), Failure> {
        self.act(container, "restart?t=5")
    }

    fn pause(&self, container: &str) -> Result<(), Failure> {
        self.act(container, "pause")
    }

    fn unpause(&self, container: &str) -> Result<(), Failure> {
        self.act(container, "unpause")
    }

    fn connect(
        &self,
        network: &str,
        container: &str,
        address: Option<Ipv4Addr>,
    ) -> Result<(), Failure> {
        let ipam = address.map(|address| json!({"IPv4Address": address.to_string()}));
        self.connect_with(network, container, &json!({"IPAMConfig": ipam}))
    }

    fn connect_with(
        &self,
        network: &str,
        container: &str,
        settings: &Value,
    ) -> Result<(), Failure> {
        let wish = json!({"Container": container, "EndpointConfig": settings});
        self.post(&format!("/networks/{network}/connect"), &wish)
    }

    fn disconnect(&self, network: &str, container: &str) -> Result<(), Failure> {
        let wish = json!({"Container": container});
        self.post(&format!("/networks/{network}/disconnect"), &wish)
    }

    fn create_network(&self, name: &str, subnet: Option<&str>) -> Result<(), Failure> {
        let mut wish = json!({"Name": name, "CheckDuplicate": true, "Driver": "bridge"});
        if let Some(subnet) = subnet {
            wish["IPAM"] = json!({"Config": [{"Subnet": subnet}]});
        }
        self.post("/networks/create", &wish)
    }

    fn remove_network(&self, name: &str) -> Result<(), Failure> {
        let path = format!("/networks/{name}");
        self.0.runtime.wait(self.0.engine.delete(&path)).map(|_| ())
    }

    fn run(&self, name: &str, network: &str, published: Option<u16>) -> Result<(), Failure> {
        let running = container::run_stranger(&self.0.engine, name, network, published);
        self.0.runtime.wait(running)
    }

    fn remove(&self, container: &str) -> Result<(), Failure> {
        let path = format!("/containers/{container}?force=true");
        self.0.runtime.wait(self.0.engine.delete(&path)).map(|_| ())
    }

    fn names(&self) -> Vec<String> {
        let containers = self.get("/containers/json?all=true").unwrap_or_default();
        let containers = containers.as_array().into_iter().flatten();
        let mut names: Vec<String> = containers
            .filter_map(|container| container["Names"][0].as_str())
            .map(|name| name.trim_start_matches('/').to_owned())
            .collect();
        names.sort();
        names
    }

    fn address(&self, container: &str, network: &str) -> Option<Ipv4Addr> {
        let addresses = self.0.addresses_of(container).ok()?;
        let address = addresses.get(network).copied();
        address.filter(|address| !address.is_unspecified())
    }

    fn networks(&self, container: &str) -> Vec<String> {
        let addresses: std::collections::BTreeMap<String, Ipv4Addr> =
            self.0.addresses_of(container).unwrap_or_default();
        addresses.into_keys().collect()
    }

    fn state(&self, container: &str) -> Option<State> {
        let seen = self.inspect(container)?;
        let word = seen["State"]["Status"].as_str()?;
        let all = [
            State::Created,
            State::Running,
            State::Paused,
            State::Restarting,
            State::Exited,
        ];
        all.into_iter().find(|state| state.word() == word)
    }

    fn inspect(&self, container: &str) -> Option<Value> {
        self.get(&format!("/containers/{container}/json")).ok()
    }

    fn inspect_network(&self, network: &str) -> Option<Value> {
        self.get(&format!("/networks/{network}")).ok()
    }
}
