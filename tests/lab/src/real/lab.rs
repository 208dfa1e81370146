//! The real federation as a backend.

use std::collections::BTreeMap;
use std::io;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::Method;
use serde_json::{Value, json};

use super::container;
use super::engine::Engine;
use super::federation::{PATIENCE, RealFederation, Server, poll};
use super::folder::{FOREIGN, FROZEN, NAMES, SERVED, WANTED};
use super::{dockerd, remote};
use crate::api::identity::{AUTHENTICATED, User};
use crate::api::refusal::Refusal;
use crate::docker::daemon::{Engine as Version, State};
use crate::docker::failure::Failure;
use crate::federation::{CONTROL_PLANE, Federation};
use crate::kubeconfig::{self, Credentials};
use crate::lab::{Certificate, Cluster, Containers, Lab};
use crate::lock::lock;
use crate::runtime::Runtime;
use crate::spec::Spec;

/// Starts a federation on the Docker daemon of this process, or takes the last one again.
pub(crate) fn start(spec: Spec) -> Result<Box<dyn Lab>, String> {
    // A scenario that failed tells by itself; the federation is judged by its reset.
    let mut place = lock(&PLACE);
    if let Some(federation) = place.federation.as_mut().filter(|used| used.serves(&spec))
        && federation.reset(spec.clone()).is_ok()
    {
        return Ok(Box::new(Lease(place)));
    }
    place.federation = None;
    let runtime = Runtime::start().map_err(|error| error.to_string())?;
    let engine = match &place.engine {
        Some(engine) => engine.clone(),
        None => runtime.wait(dockerd::start())?,
    };
    place.engine = Some(engine.clone());
    place.federation = Some(RealFederation::build(engine, runtime, spec)?);
    Ok(Box::new(Lease(place)))
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
struct Lease(MutexGuard<'static, Place>);

impl Lease {
    fn federation(&self) -> &RealFederation {
        let federation = self.0.federation.as_ref();
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

/// Full rights in one cluster.
struct Administrator<'a> {
    federation: &'a RealFederation,
    name: &'a str,
    server: &'a Server,
}

impl Administrator<'_> {
    fn call(
        &self,
        method: Method,
        path: &str,
        content_type: &str,
        body: &Value,
    ) -> Result<Value, Refusal> {
        let remote = &self.server.remote;
        let sent = remote.send(method, path, content_type, body);
        self.federation.runtime.wait(sent)
    }
}

impl Cluster for Administrator<'_> {
    fn name(&self) -> &str {
        self.name
    }

    fn read(&self, path: &str) -> Result<Value, Refusal> {
        self.call(Method::GET, path, JSON, &Value::Null)
    }

    fn create(&self, path: &str, object: &Value) -> Result<Value, Refusal> {
        let object = remote::complete(path, object.clone());
        self.call(Method::POST, path, JSON, &object)
    }

    fn patch(&self, path: &str, patch: &Value) -> Result<Value, Refusal> {
        self.call(Method::PATCH, path, "application/merge-patch+json", patch)
    }

    fn json_patch(&self, path: &str, patch: &Value) -> Result<Value, Refusal> {
        self.call(Method::PATCH, path, "application/json-patch+json", patch)
    }

    fn replace(&self, path: &str, object: &Value) -> Result<Value, Refusal> {
        self.call(Method::PUT, path, JSON, object)
    }

    fn delete(&self, path: &str) -> Result<Value, Refusal> {
        self.call(Method::DELETE, path, JSON, &Value::Null)
    }

    fn port(&self) -> u16 {
        self.server.port
    }

    fn authority(&self) -> String {
        self.server.authority.pem().to_owned()
    }

    fn names(&self) -> Vec<String> {
        let names = self.server.folder.json(NAMES);
        let names = names.as_array().into_iter().flatten();
        names
            .filter_map(|name| name.as_str().map(str::to_owned))
            .collect()
    }

    fn set_names(&self, names: &[String]) {
        let written = self.server.folder.write(NAMES, &json!(names).to_string());
        written.expect("the folder of a running node is there");
        renew_certificate(self.server, &self.federation.runtime);
    }

    fn set_foreign_authority(&self) {
        let written = self.server.folder.write(FOREIGN, "");
        written.expect("the folder of a running node is there");
        renew_certificate(self.server, &self.federation.runtime);
    }

    fn kubeconfig_for(&self, user: User) -> io::Result<PathBuf> {
        let groups: Vec<&str> = user
            .groups
            .iter()
            .map(String::as_str)
            .filter(|group| *group != AUTHENTICATED)
            .collect();
        if groups.len() > 1 {
            return Err(io::Error::other(
                "a certificate of the lab names one group at most",
            ));
        }
        let file = format!(
            "{}-{}.config",
            self.name,
            user.name.replace([':', '/'], "-")
        );
        let path = self.federation.directory.join(file);
        let leaf = self
            .server
            .authority
            .client(&user.name, groups.first().copied());
        let mut context = self
            .federation
            .kubeconfig_context(self.name, &user.name, "127.0.0.1");
        context.credentials = Credentials::Certificate(&leaf);
        kubeconfig::write(&path, &kubeconfig::render(&[context]))?;
        lock(&self.federation.secrets).extend(leaf.key_lines());
        Ok(path)
    }
}

/// Lets a server sign its certificate anew, and waits until it serves it.
///
/// # Panics
/// If it does not: no scenario can go on then.
pub(super) fn renew_certificate(server: &Server, runtime: &Runtime) {
    let folder = &server.folder;
    let wanted = folder.number(WANTED) + 1;
    let written = folder.write(WANTED, &wanted.to_string());
    written.expect("the folder of a running node is there");
    let ready = || {
        let asked = server
            .remote
            .send(Method::GET, "/readyz", JSON, &Value::Null);
        runtime.wait(asked).is_ok()
    };
    let renewed = poll(PATIENCE, || folder.number(SERVED) == wanted) && poll(PATIENCE, ready);
    assert!(
        renewed,
        "{} does not come back with its new certificate",
        folder.path().display()
    );
}

/// The daemon.
struct Docker<'a>(&'a RealFederation);

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
        let addresses: BTreeMap<String, Ipv4Addr> =
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

const JSON: &str = "application/json";
