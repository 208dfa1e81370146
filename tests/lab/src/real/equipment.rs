//! What every container of a federation is given before it is made: its description, keys and certificates.

use std::sync::atomic::{AtomicU16, Ordering};

use serde_json::{Value, json};

use super::federation::{RealFederation, Server};
use super::folder::{Folder, NAMES, NODE};
use super::remote::{Place, Remote};
use crate::api::kinds::Role;
use crate::assembly;
use crate::certificates::{self, Authority};
use crate::docker::daemon::Container;
use crate::docker::fleet::{self, Publication};
use crate::federation::CONTROL_PLANE;
use crate::lock::lock;
use crate::spec::ClusterSpec;

impl RealFederation {
    /// Writes down what every container is.
    pub(super) fn describe(&mut self) -> std::io::Result<()> {
        let spec = self.spec.clone();
        for (index, cluster) in spec.clusters().enumerate() {
            let is_host = index == 0;
            let mut publications = vec![self.publication(&cluster.context(), cluster.api_port())];
            if is_host {
                publications.push(self.publication(CONTROL_PLANE, spec.karmada_port));
            }
            let token = format!("K10lab{}", crate::random::hexadecimal(32));
            let known = self.model.containers.len();
            fleet::build(&mut self.model, cluster, &publications, &token)
                .map_err(std::io::Error::other)?;
            lock(&self.secrets).push(token);
            for container in &self.model.containers[known..] {
                let folder = Folder::create(self.directory.join("nodes").join(&container.name))?;
                folder.write(NODE, &self.description(cluster, container).to_string())?;
            }
            let node = self.node(&cluster.first_server());
            for publication in &publications {
                self.equip(cluster, publication, &node)?;
            }
        }
        Ok(())
    }

    fn publication(&self, server: &str, container_port: u16) -> Publication {
        // Nobody else is in this network namespace, and the kernel takes the ports of clients from 32768 on.
        static NEXT: AtomicU16 = AtomicU16::new(20_001);
        Publication {
            server: server.to_owned(),
            container_port,
            host_port: NEXT.fetch_add(1, Ordering::SeqCst),
        }
    }

    fn description(&self, cluster: &ClusterSpec, container: &Container) -> Value {
        let mut description = json!({"name": container.name, "version": cluster.version});
        if container.name != cluster.first_server() {
            let ports: Vec<&u16> = container.serves.keys().collect();
            description["forward"] = json!({"to": cluster.first_server(), "ports": ports});
            return description;
        }
        let servers = container.serves.iter().map(|(port, name)| {
            let role = if name == CONTROL_PLANE {
                "control-plane"
            } else {
                "cluster"
            };
            json!({"name": name, "port": port, "role": role})
        });
        description["servers"] = servers.collect();
        description
    }

    /// Makes keys and certificates of an API server.
    fn equip(
        &mut self,
        cluster: &ClusterSpec,
        publication: &Publication,
        node: &Folder,
    ) -> std::io::Result<()> {
        let is_control_plane = publication.server == CONTROL_PLANE;
        let folder = Folder::create(node.file(&publication.server))?;
        let (role, names, user) = if is_control_plane {
            (
                Role::ControlPlane,
                assembly::karmada_names(),
                "system:admin",
            )
        } else {
            (
                Role::Cluster,
                assembly::cluster_names(cluster),
                "kubernetes-admin",
            )
        };
        let name = assembly::authority_name(role, cluster.flavour, self.servers.len());
        let authority = Authority::new(&name);
        let keep = |name: &str, common_name: &str, authority: &Authority| {
            folder.write(&format!("{name}.name"), common_name)?;
            folder.write(&format!("{name}.crt"), authority.pem())?;
            folder.write(&format!("{name}.key"), &authority.key_pem())
        };
        keep("ca", &name, &authority)?;
        let (private, public) = certificates::signing_key();
        folder.write("sa.key", &private)?;
        folder.write("sa.pub", &public)?;
        if is_control_plane {
            let front = Authority::new("front-proxy-ca");
            keep("front-ca", "front-proxy-ca", &front)?;
            let client = front.client("front-proxy-client", None);
            folder.write("front.crt", &client.certificate_pem)?;
            folder.write("front.key", &client.key_pem)?;
        }
        folder.write(NAMES, &json!(names).to_string())?;
        let administrator = authority.client(user, Some("system:masters"));
        let place = Place::Container {
            engine: self.engine.clone(),
            name: cluster.first_server(),
            port: publication.container_port,
        };
        let server = Server {
            port: publication.host_port,
            remote: Remote::new(place, &administrator, "lab"),
            authority,
            administrator,
            folder,
            names: Value::Null,
        };
        self.servers.insert(publication.server.clone(), server);
        Ok(())
    }
}
