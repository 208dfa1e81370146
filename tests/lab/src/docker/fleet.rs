//! The containers and networks that k3d, kind and minikube make. Pure.

use std::collections::BTreeMap;

use super::attach::Attachment;
use super::daemon::{Binding, Container, Daemon, State};
use super::failure::Failure;
use super::network::Wish;
use crate::api::registry::now;
use crate::spec::{ClusterSpec, Flavour};

/// What a cluster publishes: API server name, port in the container, port on the host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Publication {
    pub(crate) server: String,
    pub(crate) container_port: u16,
    pub(crate) host_port: u16,
}

/// Makes and starts the containers of a cluster, with its network if that does not exist.
///
/// `token` goes into the labels as k3d does it; the API port must be the first publication.
pub(crate) fn build(
    daemon: &mut Daemon,
    cluster: &ClusterSpec,
    publications: &[Publication],
    token: &str,
) -> Result<(), Failure> {
    let network = cluster.home_network();
    let external = daemon.network(&network).is_ok();
    if !external {
        create_network(daemon, cluster, &network)?;
    }
    let api_port = publications
        .first()
        .map_or(0, |publication| publication.host_port);
    let labels = Labels {
        cluster,
        network: &network,
        external,
        token,
        api_port,
    };
    let serves: BTreeMap<u16, String> = publications
        .iter()
        .map(|publication| (publication.container_port, publication.server.clone()))
        .collect();
    let bindings: Vec<Binding> = publications
        .iter()
        .map(|publication| Binding {
            container_port: publication.container_port,
            host_address: cluster.published_host().to_owned(),
            host_port: publication.host_port,
        })
        .collect();
    let others: BTreeMap<u16, String> = serves
        .iter()
        .filter(|(port, _)| **port != cluster.api_port())
        .map(|(p, s)| (*p, s.clone()))
        .collect();

    let placeholder = (cluster.flavour == Flavour::K3d && !external)
        .then(|| format!("k3d-{}-tools", cluster.name));
    if let Some(name) = &placeholder {
        // k3d runs its tools container first, which is why the first server is .3 on a fresh network.
        add(daemon, container(name, &network, BTreeMap::new()), None)?;
    }
    for index in 0..cluster.servers {
        let mut server = container(
            &cluster.server(index),
            &network,
            labels.node(index == 0, "server"),
        );
        server.serves.clone_from(&serves);
        if !cluster.load_balancer && index == 0 {
            server.bindings.clone_from(&bindings);
        }
        // On a network that existed before, k3d pins nothing.
        let pinned = cluster.user_subnet && !external;
        add(daemon, server, pinned.then_some(index))?;
    }
    for index in 0..cluster.agents {
        let mut agent = container(&cluster.agent(index), &network, labels.node(false, "agent"));
        // NodePorts answer on every node; the cluster's own API does not.
        agent.serves.clone_from(&others);
        add(daemon, agent, None)?;
    }
    if cluster.load_balancer {
        let mut balancer = container(
            &cluster.balancer(),
            &network,
            labels.node(false, "loadbalancer"),
        );
        balancer.serves.clone_from(&serves);
        balancer.bindings = bindings;
        balancer.image = "k3d-proxy:5.8.3".to_owned();
        balancer.command = "/bin/sh -c nginx-proxy".to_owned();
        add(daemon, balancer, None)?;
    }
    if let Some(name) = placeholder {
        daemon.stop(&name)?;
        daemon.containers.retain(|container| container.name != name);
    }
    Ok(())
}

/// Makes one running container that belongs to no cluster.
pub(crate) fn stranger(
    daemon: &mut Daemon,
    name: &str,
    network: &str,
    bindings: Vec<Binding>,
) -> Result<(), Failure> {
    if let Ok(known) = daemon.container(name) {
        return Err(Failure::name_in_use(name, &known.id));
    }
    let mut stranger = container(name, network, BTreeMap::new());
    stranger.bindings = bindings;
    add(daemon, stranger, None)
}

fn create_network(daemon: &mut Daemon, cluster: &ClusterSpec, name: &str) -> Result<(), Failure> {
    let labels = match cluster.flavour {
        Flavour::K3d => BTreeMap::from([("app".to_owned(), "k3d".to_owned())]),
        Flavour::Kind => BTreeMap::new(),
        Flavour::Minikube => BTreeMap::from([
            (
                "created_by.minikube.sigs.k8s.io".to_owned(),
                "true".to_owned(),
            ),
            ("name.minikube.sigs.k8s.io".to_owned(), cluster.name.clone()),
        ]),
    };
    let options = BTreeMap::from([(
        "com.docker.network.bridge.enable_ip_masquerade".to_owned(),
        "true".to_owned(),
    )]);
    let subnet = (!cluster.subnet.is_empty()).then(|| cluster.subnet.clone());
    let id = daemon.create_network(Wish {
        name: name.to_owned(),
        subnet,
        labels,
        options,
        ..Wish::default()
    })?;
    // The lab chooses subnets so that tests can name addresses; whether Docker knows them as the user's is another matter.
    for network in daemon
        .networks
        .iter_mut()
        .filter(|network| network.id == id)
    {
        network.user_subnet = cluster.user_subnet;
        network.shows_gateway = true;
    }
    Ok(())
}

fn add(daemon: &mut Daemon, container: Container, pinned: Option<usize>) -> Result<(), Failure> {
    let (name, network) = (container.name.clone(), container.network_mode.clone());
    daemon.containers.push(container);
    if network != "host" && network != "none" {
        let address = pinned
            .map(|index| pinned_address(daemon, &network, index))
            .transpose()?;
        daemon.connect(
            &network,
            &name,
            &Attachment {
                address,
                ..Attachment::default()
            },
        )?;
    }
    daemon.start(&name).map(|_| ())
}

/// k3d keeps .2 for its tools and pins servers from .3 on; minikube pins its node at .2.
fn pinned_address(daemon: &Daemon, network: &str, index: usize) -> Result<String, Failure> {
    let network = daemon.network(network)?;
    let first = if network
        .labels
        .contains_key("created_by.minikube.sigs.k8s.io")
    {
        2
    } else {
        3
    };
    let base = network
        .subnet
        .map_or(0, |subnet| u32::from(subnet.network()));
    let offset = u32::try_from(index + first).unwrap_or(3);
    Ok(std::net::Ipv4Addr::from(base + offset).to_string())
}

fn container(name: &str, network: &str, labels: BTreeMap<String, String>) -> Container {
    let (image, policy, command) = match () {
        () if labels.contains_key("io.x-k8s.kind.cluster") => (
            "kindest/node:v1.33.4",
            "on-failure",
            "/usr/local/bin/entrypoint /sbin/init",
        ),
        () if labels.contains_key("created_by.minikube.sigs.k8s.io") => (
            "kicbase:v0.0.48",
            "no",
            "/usr/local/bin/entrypoint /sbin/init",
        ),
        () if labels.contains_key("k3d.cluster") => (
            "rancher/k3s:v1.33.6-k3s1",
            "unless-stopped",
            "/bin/k3d-entrypoint.sh server",
        ),
        () => ("busybox:1.37", "no", "sleep infinity"),
    };
    Container {
        id: crate::random::hexadecimal(64),
        name: name.to_owned(),
        image: image.to_owned(),
        command: command.to_owned(),
        environment: labels
            .get("k3d.cluster.token")
            .map(|token| format!("K3S_TOKEN={token}"))
            .into_iter()
            .collect(),
        labels,
        state: State::Created,
        starts: 0,
        error: String::new(),
        network_mode: network.to_owned(),
        bindings: Vec::new(),
        endpoints: BTreeMap::new(),
        serves: BTreeMap::new(),
        created: now(),
        started: String::new(),
        restart_policy: policy.to_owned(),
        files: BTreeMap::new(),
    }
}

struct Labels<'a> {
    cluster: &'a ClusterSpec,
    network: &'a str,
    external: bool,
    token: &'a str,
    api_port: u16,
}

impl Labels<'_> {
    /// The labels of a node; `role` is k3d's word for it.
    fn node(&self, first: bool, role: &str) -> BTreeMap<String, String> {
        match self.cluster.flavour {
            Flavour::K3d => self.k3d(first, role),
            Flavour::Kind => self.kind(role),
            Flavour::Minikube => self.minikube(role),
        }
    }

    fn k3d(&self, first: bool, role: &str) -> BTreeMap<String, String> {
        let name = &self.cluster.name;
        let balancer = if self.cluster.load_balancer {
            self.cluster.balancer()
        } else {
            String::new()
        };
        let mut labels = vec![
            ("app", "k3d".to_owned()),
            ("k3d.version", "v5.8.3".to_owned()),
            ("k3d.cluster", name.clone()),
            ("k3d.role", role.to_owned()),
            ("k3d.cluster.network", self.network.to_owned()),
            ("k3d.cluster.network.external", self.external.to_string()),
            (
                "k3d.cluster.network.iprange",
                if self.cluster.user_subnet {
                    self.cluster.subnet.clone()
                } else {
                    String::new()
                },
            ),
            ("k3d.cluster.imageVolume", format!("k3d-{name}-images")),
            ("k3d.cluster.token", self.token.to_owned()),
            (
                "k3d.cluster.url",
                format!("https://k3d-{name}-server-0:6443"),
            ),
            ("k3d.server.loadbalancer", balancer),
        ];
        if role == "server" {
            labels.extend([
                ("k3d.server.api.host", "0.0.0.0".to_owned()),
                ("k3d.server.api.hostIP", "0.0.0.0".to_owned()),
                ("k3d.server.api.port", self.api_port.to_string()),
            ]);
            if first && self.cluster.servers > 1 {
                labels.push(("k3d.server.init", "true".to_owned()));
            }
        }
        owned(labels)
    }

    fn kind(&self, role: &str) -> BTreeMap<String, String> {
        let role = match role {
            "server" => "control-plane",
            "loadbalancer" => "external-load-balancer",
            _ => "worker",
        };
        owned(vec![
            ("io.x-k8s.kind.cluster", self.cluster.name.clone()),
            ("io.x-k8s.kind.role", role.to_owned()),
        ])
    }

    fn minikube(&self, role: &str) -> BTreeMap<String, String> {
        let (node_role, mode) = if role == "server" {
            ("control-plane", self.cluster.name.clone())
        } else {
            ("", format!("{}-m02", self.cluster.name))
        };
        owned(vec![
            ("created_by.minikube.sigs.k8s.io", "true".to_owned()),
            ("name.minikube.sigs.k8s.io", self.cluster.name.clone()),
            ("mode.minikube.sigs.k8s.io", mode),
            ("role.minikube.sigs.k8s.io", node_role.to_owned()),
        ])
    }
}

fn owned(labels: Vec<(&str, String)>) -> BTreeMap<String, String> {
    labels
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}
