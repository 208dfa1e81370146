//! Starting, stopping and freezing containers. Pure.

use super::daemon::{Container, Daemon, Engine, State};
use super::failure::Failure;

impl Daemon {
    /// `POST /containers/{id}/start`; whether anything changed.
    pub(crate) fn start(&mut self, reference: &str) -> Result<bool, Failure> {
        let container = self.container(reference)?.clone();
        match container.state {
            State::Running | State::Restarting => return Ok(false),
            State::Paused => {
                return Err(Failure::new(
                    409,
                    "cannot start a paused container, try unpause instead",
                ));
            }
            State::Created | State::Exited => {}
        }
        let ready = self.take_addresses(&container);
        if let Err(failure) = ready.and_then(|()| self.bind_ports(&container)) {
            self.release(&container.id);
            let failed = self.container_mut(&container.id)?;
            failed.error.clone_from(&failure.message);
            return Err(failure);
        }
        let started = self.container_mut(&container.id)?;
        started.state = State::Running;
        started.starts += 1;
        started.error.clear();
        started.started = crate::api::registry::now();
        Ok(true)
    }

    /// `POST /containers/{id}/stop`; whether anything changed.
    pub(crate) fn stop(&mut self, reference: &str) -> Result<bool, Failure> {
        let container = self.container_mut(reference)?;
        if matches!(container.state, State::Exited | State::Created) {
            return Ok(false);
        }
        container.state = State::Exited;
        let id = container.id.clone();
        self.release(&id);
        Ok(true)
    }

    /// `POST /containers/{id}/restart`.
    pub(crate) fn restart(&mut self, reference: &str) -> Result<(), Failure> {
        let name = self.container(reference)?.name.clone();
        self.stop(&name)?;
        self.start(&name).map(|_| ()).map_err(|failure| {
            Failure::new(
                failure.status,
                format!("Cannot restart container {name}: {}", failure.message),
            )
        })
    }

    /// `POST /containers/{id}/kill`.
    pub(crate) fn kill(&mut self, reference: &str) -> Result<(), Failure> {
        let id = self.container(reference)?.id.clone();
        if self.stop(&id)? {
            return Ok(());
        }
        Err(Failure::new(
            409,
            format!("cannot kill container: {reference}: container {id} is not running"),
        ))
    }

    /// `POST /containers/{id}/pause`.
    pub(crate) fn pause(&mut self, reference: &str) -> Result<(), Failure> {
        let engine = self.engine;
        let container = self.container_mut(reference)?;
        match container.state {
            State::Running => container.state = State::Paused,
            state => {
                let state = if state == State::Paused {
                    "is already paused"
                } else {
                    "is not running"
                };
                return Err(Failure::wrong_state(engine, 409, &container.id, state));
            }
        }
        Ok(())
    }

    /// `POST /containers/{id}/unpause`.
    pub(crate) fn unpause(&mut self, reference: &str) -> Result<(), Failure> {
        let engine = self.engine;
        let container = self.container_mut(reference)?;
        if container.state != State::Paused {
            let state = "is not paused";
            return Err(Failure::wrong_state(engine, 500, &container.id, state));
        }
        container.state = State::Running;
        Ok(())
    }

    /// What a crash-looping container looks like: between two starts, without addresses.
    pub(crate) fn crash(&mut self, reference: &str) -> Result<(), Failure> {
        let container = self.container_mut(reference)?;
        container.state = State::Restarting;
        let id = container.id.clone();
        self.release(&id);
        Ok(())
    }

    /// Restarts the daemon: every running container stops and starts again, in this order; names left out come last.
    ///
    /// Containers whose addresses were taken by then stay exited, as no restart policy retries them.
    pub(crate) fn restart_all(&mut self, order: &[&str]) {
        let mut names: Vec<String> = order.iter().map(|name| (*name).to_owned()).collect();
        let running = self.containers.iter().filter(|container| {
            container.state != State::Exited && container.state != State::Created
        });
        let rest: Vec<String> = running
            .map(|container| container.name.clone())
            .filter(|name| !names.contains(name))
            .collect();
        names.extend(rest);
        for name in &names {
            let _ = self.stop(name);
        }
        for network in &mut self.networks {
            network.shows_gateway = true;
            // Seen on 20.10: a network read back from disk counts as one with a subnet of the user.
            network.user_subnet |= self.engine == Engine::V20 && !network.is_predefined();
        }
        for name in &names {
            let _ = self.start(name);
        }
    }

    fn bind_ports(&self, container: &Container) -> Result<(), Failure> {
        let running = self
            .containers
            .iter()
            .filter(|other| other.state.has_addresses());
        let taken: Vec<u16> = running
            .flat_map(|other| other.bindings.iter().map(|binding| binding.host_port))
            .collect();
        match container
            .bindings
            .iter()
            .find(|binding| taken.contains(&binding.host_port))
        {
            None => Ok(()),
            Some(binding) => {
                let (address, port) = (&binding.host_address, binding.host_port);
                let failure = Failure::port_in_use(&container.name, address, port);
                Err(failure.at_start(self.engine))
            }
        }
    }

    fn take_addresses(&mut self, container: &Container) -> Result<(), Failure> {
        for (name, endpoint) in &container.endpoints {
            let network = self
                .network(name)
                .map_err(|failure| failure.at_start(self.engine))?
                .clone();
            if network.subnet.is_none() {
                continue;
            }
            let address = self
                .take(&network, endpoint.configured)
                .map_err(|failure| failure.at_start(self.engine))?;
            let target = self.container_mut(&container.id)?;
            if let Some(endpoint) = target.endpoints.get_mut(name) {
                endpoint.address = Some(address);
                endpoint.network_id.clone_from(&network.id);
                endpoint.endpoint_id = crate::random::hexadecimal(64);
            }
        }
        Ok(())
    }

    fn release(&mut self, id: &str) {
        for container in self
            .containers
            .iter_mut()
            .filter(|container| container.id == id)
        {
            for endpoint in container.endpoints.values_mut() {
                endpoint.address = None;
                endpoint.endpoint_id.clear();
            }
        }
    }
}
