//! The real federation as a backend.

use std::net::Ipv4Addr;
use std::path::Path;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::administrator::Administrator;
use super::dockerd;
use super::engine::Engine;
use super::federation::{PATIENCE, RealFederation};
use super::folder::FROZEN;
use super::operations::Docker;
use super::turn::Turn;
use crate::docker::daemon::Engine as Version;
use crate::docker::failure::Failure;
use crate::federation::{CONTROL_PLANE, Federation};
use crate::lab::{Certificate, Cluster, Containers, Lab};
use crate::lock::lock;
use crate::runtime::Runtime;
use crate::spec::Spec;

/// Starts a federation on the Docker daemon of this process, or takes the last one again.
pub(crate) fn start(spec: Spec) -> Result<Box<dyn Lab>, String> {
    // A scenario that failed tells by itself; the federation is judged by its reset.
    let turn = Turn::wait();
    let mut place = lock(&PLACE);
    if let Some(federation) = place.federation.as_mut().filter(|used| used.serves(&spec))
        && federation.reset(spec.clone()).is_ok()
    {
        return Ok(Box::new(Lease { place, _turn: turn }));
    }
    place.federation = None;
    let runtime = Runtime::start().map_err(|error| error.to_string())?;
    let engine = match &place.engine {
        Some(engine) => engine.clone(),
        None => runtime.wait(dockerd::start())?,
    };
    place.engine = Some(engine.clone());
    place.federation = Some(RealFederation::build(engine, runtime, spec)?);
    Ok(Box::new(Lease { place, _turn: turn }))
}

/// What there is once in a process.
struct Place {
    engine: Option<Engine>,
    federation: Option<RealFederation>,
}

static PLACE: Mutex<Place> = Mutex::new(Place {
    engine: None,
    federation: None,
});

/// The federation for as long as a scenario runs.
struct Lease {
    place: MutexGuard<'static, Place>,
    // Dropped last: the next one finds the place free.
    _turn: Turn,
}

impl Lease {
    fn federation(&self) -> &RealFederation {
        let federation = self.place.federation.as_ref();
        federation.expect("a lease is made of a place with a federation")
    }

    fn cluster(&self, name: &str) -> Box<dyn Cluster + '_> {
        let federation = self.federation();
        let found = federation.servers.get_key_value(name);
        let (name, server) = found.expect("every cluster of the specification was started");
        Box::new(Administrator {
            federation,
            name,
            server,
        })
    }
}

impl Lab for Lease {
    fn spec(&self) -> &Spec {
        &self.federation().spec
    }

    fn engine(&self) -> Version {
        Version::V20
    }

    fn directory(&self) -> &Path {
        &self.federation().directory
    }

    fn docker_host(&self) -> String {
        format!("unix://{}", self.federation().engine.socket.display())
    }

    fn control_plane(&self) -> Box<dyn Cluster + '_> {
        self.cluster(CONTROL_PLANE)
    }

    fn host(&self) -> Box<dyn Cluster + '_> {
        self.cluster(&self.spec().host.context())
    }

    fn member(&self, name: &str) -> Box<dyn Cluster + '_> {
        self.cluster(&self.spec().member(name).context())
    }

    fn docker(&self) -> Box<dyn Containers + '_> {
        Box::new(Docker(self.federation()))
    }

    fn move_member(
        &self,
        name: &str,
        network: &str,
        address: Option<Ipv4Addr>,
        certificate: Certificate,
    ) -> Result<Ipv4Addr, Failure> {
        let docker = self.docker();
        let cluster = self.spec().member(name);
        let container = cluster.first_server();
        docker.connect(network, &container, address)?;
        for other in docker.networks(&container) {
            if other != network {
                docker.disconnect(&other, &container)?;
            }
        }
        let address = docker.address(&container, network).ok_or_else(|| {
            Failure::new(500, format!("{container} holds no address on {network}"))
        })?;
        let federation = self.federation();
        let server = &federation.servers[&cluster.context()];
        match certificate {
            Certificate::Follows => {
                let mut names = self.member(name).names();
                names.push(address.to_string());
                self.member(name).set_names(&names);
            }
            Certificate::Stays => {
                let frozen = server.folder.write(FROZEN, "");
                frozen.map_err(|error| Failure::new(0, error.to_string()))?;
            }
        }
        Ok(address)
    }

    fn patience(&self) -> Duration {
        PATIENCE
    }

    fn secrets(&self) -> Vec<String> {
        let federation = self.federation();
        let mut found = lock(&federation.secrets).clone();
        for (name, server) in &federation.servers {
            found.extend(server.administrator.key_lines());
            let secrets = federation.read(name, "/api/v1/secrets");
            let tokens = secrets["items"].as_array().into_iter().flatten();
            for token in tokens.filter_map(|secret| secret["data"]["token"].as_str()) {
                found.push(token.to_owned());
                let decoded = STANDARD.decode(token).ok();
                found.extend(decoded.and_then(|bytes| String::from_utf8(bytes).ok()));
            }
        }
        found
    }

    fn embedded(&self) -> Option<&Federation> {
        None
    }
}
