//! What the real backend needs of the machine.

use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

use super::entry;

/// Why the real backend cannot run here; `None` = it can.
pub(crate) fn missing() -> Option<String> {
    static MISSING: OnceLock<Option<String>> = OnceLock::new();
    MISSING
        .get_or_init(|| {
            folder()
                .err()
                .or_else(|| (!entry::is_inside()).then(namespaces).and_then(Result::err))
        })
        .clone()
}

/// The folder with kube-apiserver, etcd, dockerd and what goes with them.
///
/// # Errors
/// What is missing, and how to get it.
pub(super) fn folder() -> Result<PathBuf, String> {
    static FOLDER: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    FOLDER.get_or_init(|| with(OF_FEDERATIONS)).clone()
}

/// The folder of parts, if it has these.
///
/// # Errors
/// What is missing, and how to get it.
pub(super) fn with(parts: &[&str]) -> Result<PathBuf, String> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../.ci/real-parts");
    said(Command::new(script).arg("--print").args(parts)).map(PathBuf::from)
}

/// The file that a link in [`folder`] leads to.
pub(super) fn part(name: &str) -> Result<PathBuf, String> {
    let link = folder()?.join(name);
    link.canonicalize()
        .map_err(|error| format!("{}: {error}", link.display()))
}

/// Whether namespaces can be made, which takes root outside of most containers.
pub(super) fn namespaces() -> Result<(), String> {
    let mut command = Command::new("unshare");
    command
        .args(entry::NAMESPACES)
        .args(["mount", "-t", "tmpfs", "karmada-lab", "/run"]);
    said(&mut command).map(|_| ())
}

/// What a federation is made of.
const OF_FEDERATIONS: &[&str] = &[
    "kube-apiserver",
    "etcd",
    "dockerd",
    "docker",
    "busybox",
    "kubectl",
];

/// What a program says: on stdout when it succeeds, else on stderr.
fn said(command: &mut Command) -> Result<String, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command
        .output()
        .map_err(|error| format!("{name}: {error}"))?;
    let text = if output.status.success() {
        &output.stdout
    } else {
        &output.stderr
    };
    let text = String::from_utf8_lossy(text).trim().to_owned();
    if output.status.success() {
        Ok(text)
    } else {
        Err(text)
    }
}
