//! Karmada's part of a control plane, next to its API server: the aggregated API server, which keeps the Clusters and
//! proxies to members, and the controller-manager.

use std::io;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::BoxFuture;
use http::Method;
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

use super::api_process::authority;
use super::folder::{Folder, KARMADA, KARMADA_DONE};
use super::remote::Remote;
use super::settings;
use crate::api::identity::ImpersonationWording;
use crate::api::kinds::{self, Kind, Role};
use crate::api::refusal::Refusal;
use crate::api::server::{ApiServer, Config};
use crate::faults::Faults;
use crate::karmada::controller_manager::{ControllerManager, Surroundings};
use crate::karmada::dial::{self, DialError, Dialer};
use crate::karmada::log::Log;
use crate::karmada::objects::{Acting, CLUSTERS, Objects};
use crate::karmada::proxy::ClusterProxy;
use crate::listener::{Port, Served};
use crate::requests::Recorder;
use crate::roll_out::{Processes, RollOuts};
use crate::spec::Works;
use crate::wiring;

/// Karmada's part, ready to run.
pub(super) struct Part {
    /// What the lab wants of it.
    wishes: Folder,
    memory: Folder,
    place: String,
    host: Remote,
    api: Arc<ApiServer>,
    objects: Arc<Split>,
    _port: Port,
}

/// The port of the aggregated API server on 127.0.0.1.
pub(super) const PORT: u16 = 47443;
/// The name that the aggregator verifies.
pub(super) const SERVICE: &str = "karmada-aggregated-apiserver.karmada-system.svc";

impl Part {
    /// Opens the aggregated API server with the Clusters of before.
    pub(super) fn open(
        wishes: Folder,
        control_plane: Folder,
        place: String,
        server: Remote,
        host: Remote,
    ) -> io::Result<Self> {
        let config = Config {
            role: Role::Aggregated,
            version: "v1.18.2".to_owned(),
            anonymous: false,
            wording: ImpersonationWording::default(),
            rolls_out: false,
            behind_aggregator: true,
        };
        let front = Arc::new(authority(&control_plane, "front-ca")?);
        let api = Arc::new(ApiServer::new(
            "karmada-aggregated-apiserver",
            config,
            front,
        ));
        let memory = Folder::create("/var/lib/karmada-lab")?;
        api.registry.restore(clusters(), &memory.json(MEMORY));
        let acting = Acting {
            server: api.clone(),
            manager: "controller-manager",
        };
        let objects = Arc::new(Split {
            clusters: acting,
            others: server,
        });
        let leaf = authority(&control_plane, "ca")?.serving(SERVICE, &[SERVICE.to_owned()]);
        let tls = Arc::new(Mutex::new(wiring::configuration(&leaf)));
        let served = Served {
            service: api.clone(),
            recorder: Recorder::default(),
            faults: Faults::default(),
        };
        let port = Port::open(&Handle::current(), PORT, served, tls)?;
        Ok(Self {
            wishes,
            memory,
            place,
            host,
            api,
            objects,
            _port: port,
        })
    }

    /// Runs until dropped.
    pub(super) async fn run(self) {
        let (kind, api, memory) = (clusters(), self.api.clone(), self.memory.clone());
        tokio::spawn(async move {
            let mut changes = api.registry.with_store(|store| store.subscribe());
            while changes.changed().await.is_ok() {
                // What cannot be kept is forgotten at the next restart, no sooner.
                let _ = memory.write(MEMORY, &api.registry.snapshot(kind).to_string());
            }
        });
        let mut life = 0;
        let mut running: Option<Life> = None;
        let mut roll_outs = RollOuts::default();
        loop {
            let wish = self.wishes.json(KARMADA);
            let wanted = wish["life"].as_u64().unwrap_or_default();
            if wanted != life {
                life = wanted;
                running = None;
                if wish["running"] == true {
                    running = Some(self.begin(life, &wish));
                } else {
                    roll_outs = RollOuts::default();
                }
                // The lab waits for this, and says so if it does not come.
                let _ = self.wishes.write(KARMADA_DONE, &life.to_string());
            }
            if let Some(life) = &running {
                roll_outs.tend(&self.host, life).await;
            }
            tokio::time::sleep(TICK).await;
        }
    }

    fn begin(&self, life: u64, wish: &Value) -> Life {
        let timing = settings::to_timing(&wish["timing"]);
        let dialer = Arc::new(Network {
            timeout: timing.dial_timeout,
        });
        self.api.set_proxy(Some(Arc::new(ClusterProxy {
            objects: self.objects.clone(),
            dialer: dialer.clone(),
            timeout: timing.request_timeout,
        })));
        let manager = Arc::new(ControllerManager::new(Surroundings {
            objects: self.objects.clone(),
            dialer,
            timing,
            log: Log::default(),
            tick: TICK,
        }));
        // After a restart of the container this is no longer the first life of the process.
        let works = if self.memory.number(LIFE) == life {
            Works::Backoff
        } else {
            settings::to_works(&wish["works"])
        };
        let _ = self.memory.write(LIFE, &life.to_string());
        Life {
            task: tokio::spawn(manager.clone().run(works)),
            manager,
            place: self.place.clone(),
            restart: timing.restart,
            scheduled: AtomicBool::new(true),
        }
    }
}

/// A running controller-manager; dropping it ends it.
struct Life {
    manager: Arc<ControllerManager>,
    task: JoinHandle<()>,
    place: String,
    restart: Duration,
    scheduled: AtomicBool,
}

impl Drop for Life {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Processes for Life {
    fn place(&self) -> String {
        self.place.clone()
    }

    fn restart(&self) -> Duration {
        self.restart
    }

    fn stop(&self) {
        self.manager.set_running(false);
    }

    fn schedule(&self, scheduled: bool) {
        self.scheduled.store(scheduled, Ordering::SeqCst);
    }

    fn settle(&self) {
        self.manager
            .set_running(self.scheduled.load(Ordering::SeqCst));
    }
}

/// The objects of a control plane: the Clusters are in this process, all others in the API server.
struct Split {
    clusters: Acting,
    others: Remote,
}

impl Objects for Split {
    fn call<'a>(
        &'a self,
        method: Method,
        path: &'a str,
        body: Value,
    ) -> BoxFuture<'a, Result<Value, Refusal>> {
        if path.starts_with(CLUSTERS) {
            self.clusters.call(method, path, body)
        } else {
            self.others.call(method, path, body)
        }
    }
}

/// The network of the container.
struct Network {
    timeout: Duration,
}

impl Dialer for Network {
    fn dial<'a>(&'a self, host: &'a str, port: u16) -> BoxFuture<'a, Result<TcpStream, DialError>> {
        Box::pin(async move {
            let authority = dial::authority(host, port);
            let connecting = async {
                let addresses: Vec<_> = match host.parse::<IpAddr>() {
                    Ok(address) => vec![(address, port).into()],
                    Err(_) => tokio::net::lookup_host((host, port))
                        .await
                        .map_err(|_| DialError::NoSuchHost(format!("{host} on 127.0.0.11:53")))?
                        .collect(),
                };
                TcpStream::connect(&addresses[..])
                    .await
                    .map_err(|error| failed(&error, authority.clone()))
            };
            match tokio::time::timeout(self.timeout, connecting).await {
                Ok(connected) => connected,
                Err(_) => Err(DialError::Timeout(authority.clone())),
            }
        })
    }
}

fn failed(error: &io::Error, authority: String) -> DialError {
    match error.kind() {
        io::ErrorKind::HostUnreachable => DialError::NoRoute(authority),
        io::ErrorKind::NetworkUnreachable => DialError::Unreachable(authority),
        io::ErrorKind::TimedOut => DialError::Timeout(authority),
        _ => DialError::Refused(authority),
    }
}

fn clusters() -> &'static Kind {
    kinds::known("cluster.karmada.io", "clusters")
}

const MEMORY: &str = "clusters.json";
/// The life that was begun last.
const LIFE: &str = "life";
const TICK: Duration = Duration::from_millis(200);
