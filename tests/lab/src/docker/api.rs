//! The Docker Engine API over the daemon's state.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use futures::future::{BoxFuture, FutureExt};
use http::{HeaderValue, Method, Response};
use serde_json::{Value, json};

use super::archive;
use super::attach::Attachment;
use super::attached;
use super::daemon::{Container, Daemon};
use super::failure::Failure;
use super::files;
use super::network::Wish;
use crate::api::request::Query;
use crate::listener::Service;
use crate::lock::lock;
use crate::requests::DOCKER;
use crate::wire::{self, Answer, Body, Call};

/// The daemon's socket.
pub(crate) struct DockerApi {
    pub(crate) daemon: Arc<Mutex<Daemon>>,
    /// The serving certificate of an API server by its name, in PEM.
    pub(crate) certificate: Presented,
    /// Called after every request that may have changed something.
    pub(crate) changed: Box<dyn Fn() + Send + Sync>,
}

/// What an API server of this name presents, in PEM.
type Presented = Box<dyn Fn(&str) -> Option<String> + Send + Sync>;

pub(super) type Reply = Result<Response<Body>, Failure>;

impl Service for DockerApi {
    fn name(&self) -> &str {
        DOCKER
    }

    fn answer(self: Arc<Self>, call: Call) -> BoxFuture<'static, Answer> {
        let reply = self.route(&call);
        if call.method != Method::GET && call.method != Method::HEAD {
            (self.changed)();
        }
        let mut response =
            reply.unwrap_or_else(|failure| wire::json(failure.status, &failure.body()));
        let engine = lock(&self.daemon).engine;
        let headers = response.headers_mut();
        headers.insert("Api-Version", HeaderValue::from_static(engine.api().0));
        headers.insert("Ostype", HeaderValue::from_static("linux"));
        headers.insert("Docker-Experimental", HeaderValue::from_static("false"));
        let server = format!("Docker/{} (linux)", engine.version());
        headers.insert(
            http::header::SERVER,
            HeaderValue::from_str(&server).unwrap_or(HeaderValue::from_static("Docker")),
        );
        std::future::ready(Answer::anonymous(response)).boxed()
    }
}

impl DockerApi {
    fn route(&self, call: &Call) -> Reply {
        let path = self.unversioned(&call.path)?;
        let segments: Vec<&str> = path.trim_matches('/').split('/').collect();
        let query = Query::parse(call.query.as_deref());
        let mut daemon = lock(&self.daemon);
        let daemon = &mut *daemon;
        match (call.method.as_str(), segments.as_slice()) {
            ("GET" | "HEAD", ["_ping"]) => Ok(wire::text(200, "OK")),
            ("GET", ["version"]) => Ok(wire::json(200, &version(daemon))),
            ("GET", ["info"]) => Ok(wire::json(200, &info(daemon))),
            ("GET", ["containers", "json"]) => list_containers(daemon, &query),
            ("GET", ["containers", name, "json"]) => {
                let container = daemon.container(name)?;
                Ok(wire::json(200, &daemon.inspect(container)))
            }
            ("GET", ["containers", name, "archive"]) => {
                let path = query.value("path").unwrap_or_default();
                let certificate =
                    archive::certificate(daemon.container(name)?, path, &*self.certificate);
                match certificate {
                    Some(answer) => Ok(answer),
                    None => files::read(daemon, name, path),
                }
            }
            ("POST", ["containers", name, "exec"]) => {
                let body = json_body(call)?;
                let words = body["Cmd"]
                    .as_array()
                    .into_iter()
                    .flatten()
                    .filter_map(|word| word.as_str().map(str::to_owned));
                let id = daemon.prepare_exec(
                    name,
                    words.collect(),
                    body["Tty"].as_bool().unwrap_or_default(),
                )?;
                Ok(wire::json(201, &json!({"Id": id})))
            }
            ("POST", ["exec", id, "start"]) => {
                let (exec, ended) = daemon.run_exec(id)?;
                let wants_upgrade = call.headers.contains_key(http::header::UPGRADE);
                Ok(attached::answer(
                    &exec,
                    &ended,
                    call.upgrade.clone().filter(|_| wants_upgrade),
                ))
            }
            ("POST", ["exec", _, "resize"]) => Ok(empty(200)),
            ("GET", ["exec", id, "json"]) => {
                let exec = daemon.exec(id)?;
                Ok(wire::json(
                    200,
                    &json!({
                        "ID": exec.id, "ContainerID": exec.container, "Running": false, "ExitCode": exec.exit_code,
                        "ProcessConfig": {"entrypoint": exec.command.first(), "arguments": exec.command.get(1..), "tty": exec.tty},
                    }),
                ))
            }
            ("PUT", ["containers", name, "archive"]) => files::write(
                daemon,
                name,
                query.value("path").unwrap_or_default(),
                &call.body,
            ),
            ("POST", ["containers", name, verb]) => operate(daemon, name, verb),
            ("GET", ["networks"]) => list_networks(daemon, &query),
            ("POST", ["networks", "create"]) => create_network(daemon, &json_body(call)?),
            ("GET", ["networks", name]) => {
                let network = daemon.network(name)?;
                Ok(wire::json(200, &daemon.network_view(network, true)))
            }
            ("DELETE", ["networks", name]) => daemon.remove_network(name).map(|()| empty(204)),
            ("POST", ["networks", name, "connect"]) => {
                let body = json_body(call)?;
                daemon
                    .connect(
                        name,
                        text(&body, "Container"),
                        &attachment(&body["EndpointConfig"]),
                    )
                    .map(|()| empty(200))
            }
            ("POST", ["networks", name, "disconnect"]) => {
                let body = json_body(call)?;
                let force = body["Force"].as_bool().unwrap_or_default();
                daemon
                    .disconnect(name, text(&body, "Container"), force)
                    .map(|()| empty(200))
            }
            _ => Err(Failure::new(404, "page not found")),
        }
    }

    /// The path without `/v1.NN`, whose version must be within what the daemon speaks.
    fn unversioned<'a>(&self, path: &'a str) -> Result<&'a str, Failure> {
        let Some((version, rest)) = path
            .strip_prefix("/v")
            .and_then(|path| path.split_once('/'))
        else {
            return Ok(path);
        };
        let Some(minor) = version
            .strip_prefix("1.")
            .and_then(|minor| minor.parse::<u32>().ok())
        else {
            return Ok(path);
        };
        let (newest, oldest) = lock(&self.daemon).engine.api();
        let number = |version: &str| {
            version
                .trim_start_matches("1.")
                .parse::<u32>()
                .unwrap_or_default()
        };
        if minor > number(newest) {
            let message = format!(
                "client version {version} is too new. Maximum supported API version is {newest}"
            );
            return Err(Failure::new(400, message));
        }
        if minor < number(oldest) {
            let message = format!(
                "client version {version} is too old. Minimum supported API version is {oldest}, please upgrade your client to a newer version"
            );
            return Err(Failure::new(400, message));
        }
        Ok(&path[path.len() - rest.len() - 1..])
    }
}

/// Reads an `EndpointSettings` object.
pub(crate) fn attachment(settings: &Value) -> Attachment {
    let strings = |value: &Value| -> Vec<String> {
        value
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|item| item.as_str().map(str::to_owned))
            .collect()
    };
    Attachment {
        address: settings["IPAMConfig"]["IPv4Address"]
            .as_str()
            .filter(|text| !text.is_empty())
            .map(str::to_owned),
        aliases: strings(&settings["Aliases"]),
        driver_options: map(&settings["DriverOpts"]),
        gateway_priority: settings["GwPriority"].as_i64().unwrap_or_default(),
    }
}

fn operate(daemon: &mut Daemon, name: &str, verb: &str) -> Reply {
    let unchanged = |changed: bool| empty(if changed { 204 } else { 304 });
    match verb {
        "start" => daemon.start(name).map(unchanged),
        "stop" => daemon.stop(name).map(unchanged),
        "restart" => daemon.restart(name).map(|()| empty(204)),
        "kill" => daemon.kill(name).map(|()| empty(204)),
        "pause" => daemon.pause(name).map(|()| empty(204)),
        "unpause" => daemon.unpause(name).map(|()| empty(204)),
        _ => Err(Failure::new(404, "page not found")),
    }
}

fn list_containers(daemon: &Daemon, query: &Query) -> Reply {
    let filters = filters(query)?;
    let all = query.is_true("all") || filters.contains_key("status");
    let matches =
        |container: &Container| {
            let values = |name: &str| filters.get(name).map(Vec::as_slice);
            let labels = values("label").unwrap_or_default().iter().all(|wanted| {
                match wanted.split_once('=') {
                    Some((name, value)) => container
                        .labels
                        .get(name)
                        .is_some_and(|found| found == value),
                    None => container.labels.contains_key(wanted),
                }
            });
            let any = |name: &str, test: &dyn Fn(&str) -> bool| {
                values(name).is_none_or(|wanted| wanted.iter().any(|wanted| test(wanted)))
            };
            labels
                && any("name", &|wanted| {
                    named(&container.name, wanted) || named(&format!("/{}", container.name), wanted)
                })
                && any("id", &|wanted| container.id.starts_with(wanted))
                && any("status", &|wanted| container.state.word() == wanted)
                && any("network", &|wanted| {
                    container
                        .endpoints
                        .iter()
                        .any(|(name, endpoint)| name == wanted || endpoint.network_id == wanted)
                })
        };
    let shown = daemon.containers.iter().filter(|container| {
        all || container.state.has_addresses() || container.state.word() == "restarting"
    });
    // The newest comes first.
    let items: Vec<Value> = shown
        .filter(|container| matches(container))
        .map(|container| daemon.summary(container))
        .rev()
        .collect();
    Ok(wire::json(200, &Value::Array(items)))
}

fn list_networks(daemon: &Daemon, query: &Query) -> Reply {
    let filters = filters(query)?;
    let networks = daemon.networks.iter().filter(|network| {
        let any = |name: &str, test: &dyn Fn(&str) -> bool| {
            filters
                .get(name)
                .is_none_or(|wanted| wanted.iter().any(|wanted| test(wanted)))
        };
        any("name", &|wanted| named(&network.name, wanted))
            && any("id", &|wanted| network.id.starts_with(wanted))
            && any("driver", &|wanted| network.driver == wanted)
            && any("label", &|wanted| match wanted.split_once('=') {
                Some((name, value)) => network.labels.get(name).is_some_and(|found| found == value),
                None => network.labels.contains_key(wanted),
            })
    });
    Ok(wire::json(
        200,
        &Value::Array(
            networks
                .map(|network| daemon.network_view(network, false))
                .collect(),
        ),
    ))
}

fn create_network(daemon: &mut Daemon, body: &Value) -> Reply {
    let pool = &body["IPAM"]["Config"][0];
    let optional = |value: &Value| {
        value
            .as_str()
            .filter(|text| !text.is_empty())
            .map(str::to_owned)
    };
    let id = daemon.create_network(Wish {
        name: text(body, "Name").to_owned(),
        driver: optional(&body["Driver"]),
        subnet: optional(&pool["Subnet"]),
        gateway: optional(&pool["Gateway"]),
        range: optional(&pool["IPRange"]),
        internal: body["Internal"].as_bool().unwrap_or_default(),
        labels: map(&body["Labels"]),
        options: map(&body["Options"]),
        auxiliary: map(&pool["AuxiliaryAddresses"]),
    })?;
    Ok(wire::json(201, &json!({"Id": id, "Warning": ""})))
}

/// `filters` in both of its spellings: values as a list, or as keys of a map.
fn filters(query: &Query) -> Result<BTreeMap<String, Vec<String>>, Failure> {
    let Some(text) = query.value("filters") else {
        return Ok(BTreeMap::new());
    };
    let parsed: Value = serde_json::from_str(text)
        .map_err(|error| Failure::new(400, format!("invalid filter: {error}")))?;
    let values = |value: &Value| -> Vec<String> {
        match value {
            Value::Object(keys) => keys.keys().cloned().collect(),
            _ => value
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(|item| item.as_str().map(str::to_owned))
                .collect(),
        }
    };
    Ok(parsed
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, value)| (name.clone(), values(value)))
        .collect())
}

/// Docker's name filters are expressions; the lab knows their anchors.
fn named(name: &str, wanted: &str) -> bool {
    let (start, rest) = wanted
        .strip_prefix('^')
        .map_or((false, wanted), |rest| (true, rest));
    let (end, core) = rest
        .strip_suffix('$')
        .map_or((false, rest), |rest| (true, rest));
    match (start, end) {
        (true, true) => name == core,
        (true, false) => name.starts_with(core),
        (false, true) => name.ends_with(core),
        (false, false) => name.contains(core),
    }
}

fn version(daemon: &Daemon) -> Value {
    let (newest, oldest) = daemon.engine.api();
    json!({
        "Platform": {"Name": "Docker Engine - Community"}, "Version": daemon.engine.version(), "ApiVersion": newest,
        "MinAPIVersion": oldest, "Os": "linux", "Arch": "amd64", "KernelVersion": "6.8.0", "GoVersion": "go1.24.5",
        "GitCommit": "lab", "BuildTime": "2025-07-01T00:00:00.000000000+00:00",
        "Components": [{"Name": "Engine", "Version": daemon.engine.version(), "Details": {"ApiVersion": newest, "MinAPIVersion": oldest, "Os": "linux", "Arch": "amd64"}}],
    })
}

fn info(daemon: &Daemon) -> Value {
    let count = |word: &str| {
        daemon
            .containers
            .iter()
            .filter(|container| container.state.word() == word)
            .count()
    };
    json!({
        "ID": "lab", "Name": "colima", "OperatingSystem": "Ubuntu 24.04.2 LTS", "OSType": "linux", "Architecture": "x86_64",
        "ServerVersion": daemon.engine.version(), "Containers": daemon.containers.len(), "ContainersRunning": count("running"),
        "ContainersPaused": count("paused"), "ContainersStopped": count("exited"), "Driver": "overlay2", "NCPU": 2,
        "MemTotal": 8_589_934_592_u64, "DockerRootDir": "/var/lib/docker", "Labels": [], "SecurityOptions": [],
        "Swarm": {"LocalNodeState": "inactive"}, "Plugins": {"Network": ["bridge", "host", "null"]},
    })
}

fn json_body(call: &Call) -> Result<Value, Failure> {
    serde_json::from_slice(&call.body)
        .map_err(|error| Failure::new(400, format!("invalid JSON: {error}")))
}

fn map(value: &Value) -> BTreeMap<String, String> {
    let entries = value.as_object().into_iter().flatten();
    entries
        .map(|(name, value)| (name.clone(), value.as_str().unwrap_or_default().to_owned()))
        .collect()
}

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or_default()
}

pub(super) fn empty(status: u16) -> Response<Body> {
    let mut response = Response::new(wire::full(""));
    *response.status_mut() = http::StatusCode::from_u16(status).unwrap_or_default();
    response
}
