//! The Docker daemon of this process and the image of its containers.

use std::fs::File;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use http::Method;
use hyper::body::Bytes;

use super::engine::Engine;
use super::{entry, parts};

/// Starts the daemon, which ends with the namespaces it runs in.
pub(super) async fn start() -> Result<Engine, String> {
    let home = entry::scratch().join("docker");
    std::fs::create_dir_all(&home).map_err(|error| format!("{}: {error}", home.display()))?;
    let engine = Engine {
        socket: home.join("docker.sock"),
    };
    let log = home.join("log");
    let output = || {
        File::options()
            .create(true)
            .append(true)
            .open(&log)
            .map(Stdio::from)
    };
    let path = |name: &str| home.join(name).display().to_string();
    // The machine's own settings would contradict these.
    std::fs::write(home.join("daemon.json"), "{}").map_err(|error| error.to_string())?;
    let started = Command::new(parts::part("dockerd")?)
        .args(["--config-file", &path("daemon.json")])
        .args(["--data-root", &path("data")])
        .args(["--exec-root", &path("exec")])
        .args(["--pidfile", &path("pid")])
        .args(["--host", &format!("unix://{}", engine.socket.display())])
        .args(["--storage-driver", "vfs"])
        // The second of Docker's own pools: an embedded federation beside this one has addresses of the first, which
        // must lead nowhere.
        .args(["--default-address-pool", "base=192.168.0.0/16,size=20"])
        .args(["--cgroup-parent", &entry::control_group()])
        .stdin(Stdio::null())
        .stdout(output().map_err(|error| error.to_string())?)
        .stderr(output().map_err(|error| error.to_string())?)
        .spawn();
    // It is never waited for: it ends when process 1 of its namespace does.
    let _daemon = started.map_err(|error| format!("dockerd: {error}"))?;
    let deadline = Instant::now() + READY;
    while let Err(failure) = engine.get("/_ping").await {
        if Instant::now() >= deadline {
            let log = std::fs::read_to_string(&log).unwrap_or_default();
            let last: Vec<&str> = log.lines().rev().take(5).collect();
            return Err(format!(
                "dockerd does not answer within {READY:?}: {failure}: {}",
                last.join(" | ")
            ));
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    import(&engine).await?;
    Ok(engine)
}

/// The image of all containers: links into the machine's `/usr`, which is mounted into them, and nothing else.
async fn import(engine: &Engine) -> Result<(), String> {
    let root: PathBuf = entry::scratch().join("image");
    let failed = |error: std::io::Error| format!("image: {error}");
    for folder in ["etc", "proc", "run", "sys", "tmp", "usr", "var/lib", "root"] {
        std::fs::create_dir_all(root.join(folder)).map_err(failed)?;
    }
    for link in ["bin", "lib", "lib64", "sbin"] {
        std::os::unix::fs::symlink(format!("usr/{link}"), root.join(link)).map_err(failed)?;
    }
    let tar = Command::new("tar")
        .arg("-C")
        .arg(&root)
        .args(["-c", "."])
        .output();
    let tar = tar.map_err(failed)?;
    let path = format!("/images/create?fromSrc=-&repo={IMAGE}&tag=latest");
    engine
        .send(
            Method::POST,
            &path,
            "application/x-tar",
            Bytes::from(tar.stdout),
        )
        .await
        .map_err(|failure| format!("image: {failure}"))?;
    Ok(())
}

/// The name of the image.
pub(super) const IMAGE: &str = "karmada-lab";
/// It takes less than a second on an idle machine.
const READY: Duration = Duration::from_secs(60);
