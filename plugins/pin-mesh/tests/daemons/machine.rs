//! A daemon with the containers of local clusters, the plugin on it, and what is looked at.

use std::process::Command;
use std::time::{Duration, Instant};

use karmada_lab::{BareDocker, DockerOf};
use serde_json::Value;

/// A machine with a Docker daemon.
pub(crate) struct Machine {
    pub(crate) docker: BareDocker,
}

/// What the plugin said.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Machine {
    /// A machine that knows no container.
    pub(crate) fn start(of: DockerOf) -> Result<Machine, String> {
        let docker = BareDocker::start(of)?;
        eprintln!("{}: {}", of.name(), docker.version());
        Ok(Machine { docker })
    }

    /// Whether the daemon is one that orders interfaces at random, unless they are named: 28 and later.
    pub(crate) fn deals_out_eth0(&self) -> bool {
        self.docker.of() == DockerOf::Unstable
    }

    /// Three clusters as k3d makes them, each on its own network, one with an agent too.
    pub(crate) fn clusters(&self) {
        for cluster in ["karmada-host", "cluster-a", "cluster-b"] {
            let network = format!("k3d-{cluster}");
            self.docker.create_network(&network, None).unwrap();
            self.node(cluster, "server", 0);
        }
        self.node("cluster-a", "agent", 0);
    }

    pub(crate) fn node(&self, cluster: &str, role: &str, number: usize) {
        let network = format!("k3d-{cluster}");
        let labels = [
            ("app", "k3d"),
            ("k3d.cluster", cluster),
            ("k3d.role", role),
            ("k3d.cluster.network", network.as_str()),
        ];
        let name = format!("k3d-{cluster}-{role}-{number}");
        self.docker.run(&name, &network, &labels).unwrap();
    }

    /// The commands of the field report: a network without a subnet of its own, and all servers on it.
    pub(crate) fn mesh_of_the_field_report(&self) {
        self.docker.create_network(MESH, None).unwrap();
        for server in SERVERS {
            self.docker.connect(MESH, server, None).unwrap();
        }
    }

    /// Runs the plugin.
    pub(crate) fn pin_mesh(&self, arguments: &[&str]) -> Said {
        let output = Command::new(env!("CARGO_BIN_EXE_kubectl-karmada_pin_mesh"))
            .args(arguments)
            .env_clear()
            .envs(self.docker.environment())
            .output()
            .unwrap();
        Said {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Pins all clusters, and takes down how everything is.
    #[track_caller]
    pub(crate) fn pinned(&self) -> Vec<String> {
        self.pin_mesh(&["--all", "--yes"]).exits(0);
        let landscape = self.landscape();
        for (node, address) in PINS {
            let expected = format!("{node} 172.28.0.{address} pin 172.28.0.{address}");
            let found = landscape.iter().any(|line| line.starts_with(&expected));
            assert!(found, "{expected} in {landscape:#?}");
        }
        landscape
    }

    /// Each node's address and pin on the mesh, its default route, and what is behind `eth0`, as its kernel says.
    pub(crate) fn landscape(&self) -> Vec<String> {
        PINS.iter().map(|(node, _)| self.look(node)).collect()
    }

    pub(crate) fn look(&self, node: &str) -> String {
        let seen = self.docker.inspect(node);
        let place = &seen["NetworkSettings"]["Networks"][MESH];
        let text = |value: &Value| value.as_str().unwrap_or("none").to_owned();
        let routes = self
            .docker
            .exec(node, &["ip", "route"])
            .unwrap_or_else(|failure| failure.to_string());
        let interface = |beginning: &str| {
            let line = routes.lines().find(|line| line.starts_with(beginning));
            line.and_then(|line| line.split(" dev ").nth(1))
                .and_then(|rest| rest.split_whitespace().next())
                .unwrap_or("none")
                .to_owned()
        };
        let home = routes
            .lines()
            .filter(|line| !line.starts_with("default"))
            .find(|line| line.contains("dev eth0"))
            .and_then(|line| line.split_whitespace().next())
            .unwrap_or("nothing");
        // Before Docker 28 a connection to a running container takes the next number, and a start counts anew.
        let mesh = match interface("172.28.") {
            name if name.starts_with("eth") && name != "eth0" => "another eth".to_owned(),
            name => name,
        };
        format!(
            "{node} {} pin {}, default by {}, the mesh by {mesh}, {home} behind eth0",
            text(&place["IPAddress"]),
            text(&place["IPAMConfig"]["IPv4Address"]),
            interface("default"),
        )
    }

    /// Waits until the node runs; whether it does within a minute.
    pub(crate) fn runs(&self, node: &str) -> bool {
        self.becomes(|machine| machine.docker.state(node) == "running")
    }

    /// Waits until this holds; whether it does within a minute.
    pub(crate) fn becomes(&self, holds: impl Fn(&Machine) -> bool) -> bool {
        let deadline = Instant::now() + Duration::from_secs(60);
        loop {
            if holds(self) {
                return true;
            }
            if Instant::now() >= deadline {
                return false;
            }
            std::thread::park_timeout(Duration::from_millis(100));
        }
    }

    /// All nodes run again, and look as they did.
    #[track_caller]
    pub(crate) fn is_as(&self, before: &[String]) {
        for (node, _) in PINS {
            assert!(self.runs(node), "{node} is {}", self.docker.state(node));
        }
        let same = self.becomes(|machine| machine.landscape() == before);
        assert!(same, "{:#?} instead of {before:#?}", self.landscape());
    }
}

impl Said {
    #[track_caller]
    pub(crate) fn exits(&self, code: i32) -> &Said {
        assert_eq!(self.code, code, "{}\n{}", self.stdout, self.stderr);
        self
    }

    #[track_caller]
    pub(crate) fn reports(&self, text: &str) -> &Said {
        assert!(
            self.stdout.contains(text),
            "{text:?} in {}\n{}",
            self.stdout,
            self.stderr
        );
        self
    }

    #[track_caller]
    pub(crate) fn does_not_report(&self, text: &str) -> &Said {
        assert!(!self.stdout.contains(text), "{text:?} in {}", self.stdout);
        self
    }
}

pub(crate) const MESH: &str = "karmada-mesh";
pub(crate) const HOST: &str = "k3d-karmada-host-server-0";
pub(crate) const A: &str = "k3d-cluster-a-server-0";
pub(crate) const B: &str = "k3d-cluster-b-server-0";
pub(crate) const SERVERS: [&str; 3] = [HOST, A, B];

/// The nodes with the last numbers of their addresses.
pub(crate) const PINS: [(&str, u8); 4] =
    [(HOST, 10), (A, 11), (B, 12), ("k3d-cluster-a-agent-0", 50)];
