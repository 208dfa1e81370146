//! The embedded federation as a backend.

use std::io;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

use crate::administrator::Administrator;
use crate::api::identity::User;
use crate::api::refusal::Refusal;
use crate::docker::daemon::{Engine, State};
use crate::docker::failure::Failure;
use crate::federation::Federation;
use crate::lab::{Certificate, Cluster, Containers, Lab};
use crate::operations::Docker;
use crate::spec::Spec;

impl Lab for Federation {
    fn spec(&self) -> &Spec {
        self.spec()
    }

    fn engine(&self) -> Engine {
        self.spec().engine
    }

    fn directory(&self) -> &Path {
        self.directory()
    }

    fn docker_host(&self) -> String {
        self.docker_host()
    }

    fn control_plane(&self) -> Box<dyn Cluster + '_> {
        Box::new(self.control_plane())
    }

    fn host(&self) -> Box<dyn Cluster + '_> {
        Box::new(self.host())
    }

    fn member(&self, name: &str) -> Box<dyn Cluster + '_> {
        Box::new(self.member(name))
    }

    fn docker(&self) -> Box<dyn Containers + '_> {
        Box::new(self.docker())
    }

    fn move_member(
        &self,
        name: &str,
        network: &str,
        address: Option<Ipv4Addr>,
        certificate: Certificate,
    ) -> Result<Ipv4Addr, Failure> {
        let (docker, member) = (self.docker(), self.member(name));
        let cluster = self.spec().member(name);
        let server = cluster.first_server();
        docker.connect(network, &server, address)?;
        docker.disconnect(&cluster.home_network(), &server)?;
        let address = docker
            .address(&server, network)
            .ok_or_else(|| Failure::new(500, format!("{server} holds no address on {network}")))?;
        match certificate {
            Certificate::Follows => {
                let mut names = member.names();
                names.push(address.to_string());
                member.set_names(names);
            }
            Certificate::Stays => member.freeze_names(),
        }
        Ok(address)
    }

    fn patience(&self) -> Duration {
        // Generous for machines with more to do.
        Duration::from_secs(10)
    }

    fn secrets(&self) -> Vec<String> {
        self.secrets()
    }

    fn embedded(&self) -> Option<&Federation> {
        Some(self)
    }
}

impl Cluster for Administrator<'_> {
    fn name(&self) -> &str {
        self.name()
    }

    fn read(&self, path: &str) -> Result<Value, Refusal> {
        self.read(path)
    }

    fn create(&self, path: &str, object: &Value) -> Result<Value, Refusal> {
        self.create(path, object)
    }

    fn patch(&self, path: &str, patch: &Value) -> Result<Value, Refusal> {
        self.patch(path, patch)
    }

    fn json_patch(&self, path: &str, patch: &Value) -> Result<Value, Refusal> {
        self.json_patch(path, patch)
    }

    fn replace(&self, path: &str, object: &Value) -> Result<Value, Refusal> {
        self.replace(path, object)
    }

    fn delete(&self, path: &str) -> Result<Value, Refusal> {
        self.delete(path)
    }

    fn port(&self) -> u16 {
        self.port()
    }

    fn authority(&self) -> String {
        self.authority().to_owned()
    }

    fn names(&self) -> Vec<String> {
        self.names()
    }

    fn set_names(&self, names: &[String]) {
        self.set_names(names);
    }

    fn set_foreign_authority(&self) {
        self.set_foreign_authority();
    }

    fn kubeconfig_for(&self, user: User) -> io::Result<PathBuf> {
        self.kubeconfig_for(user)
    }
}

impl Containers for Docker<'_> {
    fn start(&self, container: &str) -> Result<(), Failure> {
        self.start(container)
    }

    fn stop(&self, container: &str) -> Result<(), Failure> {
        self.stop(container)
    }

    fn restart(&self, container: &str) -> Result<(), Failure> {
        self.restart(container)
    }

    fn pause(&self, container: &str) -> Result<(), Failure> {
        self.pause(container)
    }

    fn unpause(&self, container: &str) -> Result<(), Failure> {
        self.unpause(container)
    }

    fn connect(
        &self,
        network: &str,
        container: &str,
        address: Option<Ipv4Addr>,
    ) -> Result<(), Failure> {
        self.connect(network, container, address)
    }

    fn connect_with(
        &self,
        network: &str,
        container: &str,
        settings: &Value,
    ) -> Result<(), Failure> {
        self.connect_with(network, container, settings)
    }

    fn disconnect(&self, network: &str, container: &str) -> Result<(), Failure> {
        self.disconnect(network, container)
    }

    fn create_network(&self, name: &str, subnet: Option<&str>) -> Result<(), Failure> {
        self.create_network(name, subnet)
    }

    fn remove_network(&self, name: &str) -> Result<(), Failure> {
        self.remove_network(name)
    }

    fn run(&self, name: &str, network: &str, published: Option<u16>) -> Result<(), Failure> {
        match published {
            Some(port) => self.run_publishing(name, network, port),
            None => self.run(name, network),
        }
    }

    fn remove(&self, container: &str) -> Result<(), Failure> {
        self.remove(container)
    }

    fn names(&self) -> Vec<String> {
        let mut names = self.containers();
        names.sort();
        names
    }

    fn address(&self, container: &str, network: &str) -> Option<Ipv4Addr> {
        self.address(container, network)
    }

    fn networks(&self, container: &str) -> Vec<String> {
        self.networks(container)
    }

    fn state(&self, container: &str) -> Option<State> {
        self.state(container)
    }

    fn inspect(&self, container: &str) -> Option<Value> {
        self.inspect(container)
    }

    fn inspect_network(&self, network: &str) -> Option<Value> {
        self.inspect_network(network)
    }
}
