//! What tests do with the Docker daemon, past its socket and record.

use std::net::Ipv4Addr;

use serde_json::Value;

use crate::docker::api;
use crate::docker::attach::Attachment;
use crate::docker::daemon::{Binding, Daemon, State};
use crate::docker::failure::Failure;
use crate::docker::fleet;
use crate::docker::network::Wish;
use crate::lock::lock;
use crate::wiring::Wiring;

/// The Docker daemon of a federation; containers are named by name or ID.
#[derive(Clone, Copy)]
pub struct Docker<'a> {
    pub(crate) wiring: &'a Wiring,
}

impl Docker<'_> {
    /// Starts a container.
    ///
    /// # Errors
    /// What the daemon answers, a taken address included.
    pub fn start(&self, container: &str) -> Result<(), Failure> {
        self.act(|daemon| daemon.start(container).map(|_| ()))
    }

    /// Stops a container.
    ///
    /// # Errors
    /// What the daemon answers.
    pub fn stop(&self, container: &str) -> Result<(), Failure> {
        self.act(|daemon| daemon.stop(container).map(|_| ()))
    }

    /// Restarts a container; it takes the lowest free addresses unless pinned.
    ///
    /// # Errors
    /// What the daemon answers, a taken address included.
    pub fn restart(&self, container: &str) -> Result<(), Failure> {
        self.act(|daemon| daemon.restart(container))
    }

    /// Freezes a container.
    ///
    /// # Errors
    /// What the daemon answers.
    pub fn pause(&self, container: &str) -> Result<(), Failure> {
        self.act(|daemon| daemon.pause(container))
    }

    /// Thaws a container.
    ///
    /// # Errors
    /// What the daemon answers.
    pub fn unpause(&self, container: &str) -> Result<(), Failure> {
        self.act(|daemon| daemon.unpause(container))
    }

    /// Puts a container into the state of a crash loop, until it is stopped.
    ///
    /// # Errors
    /// When there is no such container.
    pub fn crash(&self, container: &str) -> Result<(), Failure> {
        self.act(|daemon| daemon.crash(container))
    }

    /// Restarts the daemon: containers start again in this order, which decides who gets which dynamic address.
    pub fn restart_daemon(&self, order: &[&str]) {
        let _ = self.act(|daemon| {
            daemon.restart_all(order);
            Ok(())
        });
    }

    /// Connects a container to a network, at this address or at the lowest free one.
    ///
    /// # Errors
    /// What the daemon answers.
    pub fn connect(
        &self,
        network: &str,
        container: &str,
        address: Option<Ipv4Addr>,
    ) -> Result<(), Failure> {
        let wish = Attachment {
            address: address.map(|address| address.to_string()),
            ..Attachment::default()
        };
        self.act(|daemon| daemon.connect(network, container, &wish))
    }

    /// Connects a container with the fields of an `EndpointSettings` object.
    ///
    /// # Errors
    /// What the daemon answers.
    pub fn connect_with(
        &self,
        network: &str,
        container: &str,
        settings: &Value,
    ) -> Result<(), Failure> {
        self.act(|daemon| daemon.connect(network, container, &api::attachment(settings)))
    }

    /// Disconnects a container from a network.
    ///
    /// # Errors
    /// What the daemon answers.
    pub fn disconnect(&self, network: &str, container: &str) -> Result<(), Failure> {
        self.act(|daemon| daemon.disconnect(network, container, false))
    }

    /// Creates a bridge network; `None` leaves the subnet to the daemon.
    ///
    /// # Errors
    /// What the daemon answers.
    pub fn create_network(&self, name: &str, subnet: Option<&str>) -> Result<(), Failure> {
        let wish = Wish {
            name: name.to_owned(),
            subnet: subnet.map(str::to_owned),
            ..Wish::default()
        };
        self.act(|daemon| daemon.create_network(wish).map(|_| ()))
    }

    /// Removes a network that no running container uses.
    ///
    /// # Errors
    /// What the daemon answers.
    pub fn remove_network(&self, name: &str) -> Result<(), Failure> {
        self.act(|daemon| daemon.remove_network(name))
    }

    /// Starts a container that belongs to no cluster.
    ///
    /// # Errors
    /// What the daemon answers.
    pub fn run(&self, name: &str, network: &str) -> Result<(), Failure> {
        self.act(|daemon| fleet::stranger(daemon, name, network, Vec::new()))
    }

    /// Starts a container that belongs to no cluster and publishes its port 6443 at `port`, with nobody behind it.
    ///
    /// # Errors
    /// What the daemon answers.
    pub fn run_publishing(&self, name: &str, network: &str, port: u16) -> Result<(), Failure> {
        let binding = Binding {
            container_port: 6443,
            host_address: "0.0.0.0".to_owned(),
            host_port: port,
        };
        self.act(|daemon| fleet::stranger(daemon, name, network, vec![binding]))
    }

    /// Removes a container, running or not, as `docker rm -f` does.
    ///
    /// # Errors
    /// When there is no such container.
    pub fn remove(&self, container: &str) -> Result<(), Failure> {
        self.act(|daemon| {
            let id = daemon.container(container)?.id.clone();
            daemon.containers.retain(|container| container.id != id);
            Ok(())
        })
    }

    /// Changes a label; `None` removes it.
    ///
    /// # Errors
    /// When there is no such container.
    pub fn set_label(
        &self,
        container: &str,
        name: &str,
        value: Option<&str>,
    ) -> Result<(), Failure> {
        self.act(|daemon| {
            let labels = &mut daemon.container_mut(container)?.labels;
            match value {
                Some(value) => labels.insert(name.to_owned(), value.to_owned()),
                None => labels.remove(name),
            };
            Ok(())
        })
    }

    /// The names of all containers, running or not, oldest first.
    pub fn containers(&self) -> Vec<String> {
        self.look(|daemon| {
            daemon
                .containers
                .iter()
                .map(|container| container.name.clone())
                .collect()
        })
    }

    /// The address a container holds on a network now.
    pub fn address(&self, container: &str, network: &str) -> Option<Ipv4Addr> {
        self.look(|daemon| daemon.container(container).ok()?.address_on(network))
    }

    /// The networks a container is configured on, sorted.
    pub fn networks(&self, container: &str) -> Vec<String> {
        self.look(|daemon| {
            let networks = daemon
                .container(container)
                .map(|container| container.endpoints.keys().cloned().collect());
            networks.unwrap_or_default()
        })
    }

    /// The state of a container, if it exists.
    pub fn state(&self, container: &str) -> Option<State> {
        self.look(|daemon| {
            daemon
                .container(container)
                .ok()
                .map(|container| container.state)
        })
    }

    /// The network whose gateway is the container's default route.
    pub fn default_route(&self, container: &str) -> Option<String> {
        self.look(|daemon| daemon.default_route(container))
    }

    /// The interface of a container on a network; `None` when the daemon may choose it at every start.
    pub fn interface(&self, container: &str, network: &str) -> Option<String> {
        self.look(|daemon| daemon.interface(container, network))
    }

    /// `GET /containers/{id}/json`.
    pub fn inspect(&self, container: &str) -> Option<Value> {
        self.look(|daemon| {
            daemon
                .container(container)
                .ok()
                .map(|container| daemon.inspect(container))
        })
    }

    /// `GET /networks/{id}`.
    pub fn inspect_network(&self, network: &str) -> Option<Value> {
        self.look(|daemon| {
            let network = daemon.network(network).ok()?;
            Some(daemon.network_view(network, true))
        })
    }

    fn act<T>(&self, change: impl FnOnce(&mut Daemon) -> Result<T, Failure>) -> Result<T, Failure> {
        let done = change(&mut lock(&self.wiring.daemon));
        self.wiring
            .settle()
            .map_err(|error| Failure::new(500, error.to_string()))?;
        done
    }

    fn look<T>(&self, look: impl FnOnce(&Daemon) -> T) -> T {
        look(&lock(&self.wiring.daemon))
    }
}
