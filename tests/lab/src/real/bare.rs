//! Docker daemons without a federation, which can be ended in every way a daemon ends: for what daemons do by themselves.
//!
//! Each has network, mount and process namespaces of its own, in which it is process 1, and everything in them ends with it.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use http::Method;
use hyper::body::Bytes;
use serde_json::{Value, json};

use super::engine::Engine;
use super::{entry, parts};
use crate::docker::failure::Failure;
use crate::runtime::Runtime;

/// Which daemon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DockerOf {
    /// Debian 12's, 20.10.
    Stable,
    /// Debian unstable's, 28 or later.
    Unstable,
}

/// A real Docker daemon; dropping it ends it and all its containers.
pub struct BareDocker {
    of: DockerOf,
    folder: PathBuf,
    engine: Engine,
    runtime: Runtime,
    process: Option<Child>,
}

impl DockerOf {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Stable, Self::Unstable];

    /// Its name in the names of tests.
    pub fn name(self) -> &'static str {
        match self {
            Self::Stable => "docker-stable",
            Self::Unstable => "docker-unstable",
        }
    }

    /// Why it cannot run here; `None` = it can.
    pub fn missing(self) -> Option<String> {
        entry::obstacle().or_else(|| self.folder().err())
    }

    /// The folder with its parts.
    fn folder(self) -> Result<PathBuf, String> {
        static FOLDERS: [OnceLock<Result<PathBuf, String>>; 2] = [OnceLock::new(), OnceLock::new()];
        let (folder, part) = match self {
            Self::Stable => (&FOLDERS[0], "dockerd"),
            Self::Unstable => (&FOLDERS[1], "docker-unstable"),
        };
        folder
            .get_or_init(|| parts::with(&[part, "busybox"]))
            .clone()
    }

    /// The file that a link in that folder leads to.
    fn part(self, name: &str) -> Result<PathBuf, String> {
        let link = self.folder()?.join(name);
        link.canonicalize()
            .map_err(|error| format!("{}: {error}", link.display()))
    }
}

impl BareDocker {
    /// Starts a daemon that knows no container, with an image `busybox`.
    ///
    /// # Errors
    /// What does not start, in words.
    pub fn start(of: DockerOf) -> Result<Self, String> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::SeqCst);
        let folder = entry::scratch().join(format!("bare-{number}"));
        let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
        std::fs::create_dir_all(folder.join("home")).map_err(failed)?;
        let mut docker = Self {
            of,
            engine: Engine {
                socket: folder.join("docker.sock"),
            },
            runtime: Runtime::start().map_err(failed)?,
            folder,
            process: None,
        };
        docker.launch()?;
        docker.import()?;
        Ok(docker)
    }

    /// Starts the daemon again after [`BareDocker::terminate`] or [`BareDocker::kill`], on a machine that just booted.
    ///
    /// # Errors
    /// What does not start, in words.
    pub fn launch(&mut self) -> Result<(), String> {
        let _ = std::fs::remove_file(&self.engine.socket);
        let _ = std::fs::remove_file(self.folder.join("pid"));
        // Part of /run, which a machine that boots finds empty; what a killed daemon left there names processes of another life.
        let _ = std::fs::remove_dir_all(self.folder.join("exec"));
        let log = || {
            let file = File::options()
                .create(true)
                .append(true)
                .open(self.folder.join("log"));
            file.map(Stdio::from).map_err(|error| error.to_string())
        };
        std::fs::write(self.folder.join("daemon.json"), "{}").map_err(|error| error.to_string())?;
        let mut command = Command::new("unshare");
        command
            .args(NAMESPACES)
            .args(["sh", "-ec", SCRIPT, "sh"])
            .arg(&self.folder)
            .arg(entry::control_group());
        match self.of {
            DockerOf::Stable => command.arg(self.of.part("dockerd")?),
            DockerOf::Unstable => command
                .arg("/usr/sbin/dockerd")
                .env("ROOT", self.of.part("docker-unstable")?),
        };
        let started = command
            .stdin(Stdio::null())
            .stdout(log()?)
            .stderr(log()?)
            .spawn();
        self.process = Some(started.map_err(|error| format!("unshare: {error}"))?);
        let deadline = Instant::now() + READY;
        while let Err(failure) = self.runtime.wait(self.engine.get("/_ping")) {
            if Instant::now() >= deadline {
                let log = std::fs::read_to_string(self.folder.join("log")).unwrap_or_default();
                let last: Vec<&str> = log.lines().rev().take(5).collect();
                return Err(format!(
                    "dockerd does not answer within {READY:?}: {failure}: {}",
                    last.join(" | ")
                ));
            }
            std::thread::park_timeout(Duration::from_millis(100));
        }
        Ok(())
    }

    /// Ends the daemon as an orderly shutdown does (SIGTERM): it stops its containers.
    pub fn terminate(&mut self) {
        let Some(mut unshare) = self.process.take() else {
            return;
        };
        let path = format!("/proc/{0}/task/{0}/children", unshare.id());
        let children = std::fs::read_to_string(path).unwrap_or_default();
        for daemon in children.split_whitespace() {
            let _ = Command::new("kill").args(["-TERM", daemon]).status();
        }
        let _ = unshare.wait();
    }

    /// Ends everything at once, as a machine that loses power: daemon, containerd, shims and containers (SIGKILL).
    pub fn kill(&mut self) {
        if let Some(mut unshare) = self.process.take() {
            let _ = unshare.kill();
            let _ = unshare.wait();
        }
    }

    /// Which daemon it is.
    pub fn of(&self) -> DockerOf {
        self.of
    }

    /// The version of the daemon.
    pub fn version(&self) -> String {
        let version = self.call("GET", "/version", &Value::Null);
        let version = version.unwrap_or_default();
        format!(
            "{} (API {})",
            version["Version"].as_str().unwrap_or_default(),
            version["ApiVersion"].as_str().unwrap_or_default()
        )
    }

    /// The complete environment for a subprocess that is to see this daemon and nothing else.
    pub fn environment(&self) -> BTreeMap<String, String> {
        let path = |name: &str| self.folder.join(name).display().to_string();
        BTreeMap::from([
            ("COLUMNS".to_owned(), "160".to_owned()),
            (
                "DOCKER_HOST".to_owned(),
                format!("unix://{}", self.engine.socket.display()),
            ),
            ("HOME".to_owned(), path("home")),
            ("KUBECONFIG".to_owned(), path("no-kubeconfig")),
            ("LC_ALL".to_owned(), "C".to_owned()),
            ("NO_COLOR".to_owned(), "1".to_owned()),
            ("PATH".to_owned(), std::env::var("PATH").unwrap_or_default()),
            ("XDG_STATE_HOME".to_owned(), path("state")),
        ])
    }

    /// One request to the Engine API; a body that is no JSON is answered as null.
    ///
    /// # Errors
    /// What the daemon answers.
    pub fn call(&self, method: &str, path: &str, body: &Value) -> Result<Value, Failure> {
        let method = Method::from_bytes(method.as_bytes())
            .map_err(|error| Failure::new(0, error.to_string()))?;
        self.runtime.wait(self.engine.call(method, path, body))
    }

    /// Makes and starts a container that does nothing, as `docker run -d --restart unless-stopped` does.
    ///
    /// # Errors
    /// What the daemon answers.
    pub fn run(&self, name: &str, network: &str, labels: &[(&str, &str)]) -> Result<(), Failure> {
        self.run_program(name, network, labels, &["sleep", "infinity"])
    }

    /// The same with another program.
    ///
    /// # Errors
    /// What the daemon answers.
    pub fn run_program(
        &self,
        name: &str,
        network: &str,
        labels: &[(&str, &str)],
        program: &[&str],
    ) -> Result<(), Failure> {
        let labels: BTreeMap<&str, &str> = labels.iter().copied().collect();
        let wish = json!({
            "Image": IMAGE, "Cmd": program, "Labels": labels, "StopSignal": "SIGKILL",
            "HostConfig": {"NetworkMode": network, "RestartPolicy": {"Name": "unless-stopped"}},
        });
        self.call("POST", &format!("/containers/create?name={name}"), &wish)?;
        self.act(name, "start")
    }

    /// Starts, stops, restarts, pauses, unpauses or kills a container.
    ///
    /// # Errors
    /// What the daemon answers.
    pub fn act(&self, container: &str, what: &str) -> Result<(), Failure> {
        let path = format!("/containers/{container}/{what}");
        self.call("POST", &path, &Value::Null).map(|_| ())
    }

    /// Connects a container to a network, as `docker network connect [--ip ADDRESS]` does.
    ///
    /// # Errors
    /// What the daemon answers.
    pub fn connect(
        &self,
        network: &str,
        container: &str,
        address: Option<&str>,
    ) -> Result<(), Failure> {
        let ipam = address.map(|address| json!({"IPv4Address": address}));
        let wish = json!({"Container": container, "EndpointConfig": {"IPAMConfig": ipam}});
        self.call("POST", &format!("/networks/{network}/connect"), &wish)
            .map(|_| ())
    }

    /// Disconnects a container from a network.
    ///
    /// # Errors
    /// What the daemon answers.
    pub fn disconnect(&self, network: &str, container: &str) -> Result<(), Failure> {
        let wish = json!({"Container": container});
        self.call("POST", &format!("/networks/{network}/disconnect"), &wish)
            .map(|_| ())
    }

    /// Makes a bridge network, as `docker network create [--subnet SUBNET]` does.
    ///
    /// # Errors
    /// What the daemon answers.
    pub fn create_network(&self, name: &str, subnet: Option<&str>) -> Result<(), Failure> {
        let mut wish = json!({"Name": name, "CheckDuplicate": true, "Driver": "bridge"});
        if let Some(subnet) = subnet {
            wish["IPAM"] = json!({"Config": [{"Subnet": subnet}]});
        }
        self.call("POST", "/networks/create", &wish).map(|_| ())
    }

    /// `GET /containers/{id}/json`.
    pub fn inspect(&self, container: &str) -> Value {
        let path = format!("/containers/{container}/json");
        self.call("GET", &path, &Value::Null).unwrap_or_default()
    }

    /// The state of a container, as in `running`; empty when there is none.
    pub fn state(&self, container: &str) -> String {
        let state = &self.inspect(container)["State"]["Status"];
        state.as_str().unwrap_or_default().to_owned()
    }

    /// The address that a container holds on a network; empty = none.
    pub fn address(&self, container: &str, network: &str) -> String {
        let place = &self.inspect(container)["NetworkSettings"]["Networks"][network];
        place["IPAddress"].as_str().unwrap_or_default().to_owned()
    }

    /// What a command in a container writes to stdout and stderr.
    ///
    /// # Errors
    /// What the daemon answers.
    pub fn exec(&self, container: &str, command: &[&str]) -> Result<String, Failure> {
        let wish = json!({"Cmd": command, "AttachStdout": true, "AttachStderr": true, "Tty": true});
        let exec = self.call("POST", &format!("/containers/{container}/exec"), &wish)?;
        let path = format!("/exec/{}/start", exec["Id"].as_str().unwrap_or_default());
        let wish = json!({"Detach": false, "Tty": true}).to_string();
        self.runtime
            .wait(self.engine.text(&path, Bytes::from(wish)))
    }

    /// An image of busybox and its links.
    fn import(&self) -> Result<(), String> {
        let root = self.folder.join("image");
        let failed = |error: std::io::Error| format!("image: {error}");
        for folder in ["bin", "etc", "proc", "sys", "tmp", "root", "dev"] {
            std::fs::create_dir_all(root.join(folder)).map_err(failed)?;
        }
        let busybox = self.of.part("busybox")?;
        std::fs::copy(&busybox, root.join("bin/busybox")).map_err(failed)?;
        let applets = Command::new(&busybox)
            .arg("--list")
            .output()
            .map_err(failed)?;
        for applet in String::from_utf8_lossy(&applets.stdout).lines() {
            let link = root.join("bin").join(applet);
            if !link.exists() {
                std::os::unix::fs::symlink("busybox", link).map_err(failed)?;
            }
        }
        let tar = Command::new("tar")
            .arg("-C")
            .arg(&root)
            .args(["-c", "."])
            .output()
            .map_err(failed)?;
        let path = format!("/images/create?fromSrc=-&repo={IMAGE}&tag=latest");
        let sent = self.engine.send(
            Method::POST,
            &path,
            "application/x-tar",
            Bytes::from(tar.stdout),
        );
        self.runtime
            .wait(sent)
            .map(|_| ())
            .map_err(|failure| format!("image: {failure}"))
    }
}

impl Drop for BareDocker {
    fn drop(&mut self) {
        self.kill();
        let _ = std::fs::remove_dir_all(Path::new(&self.folder));
    }
}

const IMAGE: &str = "busybox";

const NAMESPACES: &[&str] = &[
    "--net",
    "--mount",
    "--propagation",
    "private",
    "--pid",
    "--fork",
    "--kill-child",
    "--mount-proc",
];

/// Becomes the daemon; in a root of another system if there is one, with the folder at the same place.
const SCRIPT: &str = r#"
folder=$1 group=$2 dockerd=$3
ip link set lo up
echo 1 > /proc/sys/net/ipv4/ip_forward
if [ -n "${ROOT-}" ]; then
  mount --bind "$ROOT" "$ROOT"
  mount -t tmpfs tmpfs "$ROOT/run"
  mkdir -p "$ROOT$folder"
  mount --bind "$folder" "$ROOT$folder"
  mount -t proc proc "$ROOT/proc"
  mount --rbind /sys "$ROOT/sys"
  mount --rbind /dev "$ROOT/dev"
  mkdir -p "$ROOT/run/old"
  cd "$ROOT"
  pivot_root . run/old
  umount -l /run/old
  export PATH=/usr/sbin:/usr/bin:/sbin:/bin
fi
export HOME="$folder/home"
unset DOCKER_HOST
exec "$dockerd" --config-file "$folder/daemon.json" --data-root "$folder/data" --exec-root "$folder/exec" \
  --pidfile "$folder/pid" --host "unix://$folder/docker.sock" --storage-driver vfs --cgroup-parent "$group"
"#;

/// It takes a second on an idle machine.
const READY: Duration = Duration::from_secs(90);
