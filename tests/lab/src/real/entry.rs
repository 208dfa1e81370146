//! How a test program becomes one that can run real federations.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use super::bare::DockerOf;
use super::{node, parts};

/// Does what the first line of a test program's `main` must do for the real backend.
pub(crate) fn enter() -> Option<ExitCode> {
    let mut arguments = std::env::args().skip(1);
    if arguments.next().as_deref() == Some(NODE) {
        return Some(node::main());
    }
    let lists = std::env::args().any(|argument| argument == "--list");
    let useless =
        parts::missing().is_some() && DockerOf::ALL.iter().all(|of| of.missing().is_some());
    if is_inside() || lists || useless {
        return None;
    }
    sweep();
    let program = std::env::current_exe().ok()?;
    // Comes back only if there is no unshare, in which case the real backend is missing.
    let _ = Command::new("unshare")
        .args(NAMESPACES)
        .args(["sh", "-c", SCRIPT, "sh"])
        .arg(program)
        .args(std::env::args_os().skip(1))
        .env(INSIDE, std::process::id().to_string())
        .exec();
    None
}

/// Removes the control groups of programs that were killed.
fn sweep() {
    let folders = |path: &Path| {
        let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
        entries
            .map(|entry| entry.path())
            .filter(|path| path.is_dir())
    };
    for group in folders(Path::new("/sys/fs/cgroup")).flat_map(|hierarchy| folders(&hierarchy)) {
        let name = group.file_name().and_then(|name| name.to_str());
        let program = name.and_then(|name| name.strip_prefix(GROUP));
        if program.is_some_and(|id| !Path::new("/proc").join(id).exists()) {
            for group in folders(&group).chain([group]) {
                // One that is in use stays.
                let _ = std::fs::remove_dir(group);
            }
        }
    }
}

/// Why nothing real can run in this program; `None` = namespaces of its own can be had.
pub(super) fn obstacle() -> Option<String> {
    (!is_inside()).then(parts::namespaces).and_then(Result::err)
}

/// Whether this program runs in namespaces of its own.
pub(super) fn is_inside() -> bool {
    std::env::var_os(INSIDE).is_some()
}

/// The parent of the containers' control groups, unique on the machine.
pub(super) fn control_group() -> String {
    format!("/{GROUP}{}", std::env::var(INSIDE).unwrap_or_default())
}

/// Where everything is kept: a file system in memory that nobody else sees.
pub(super) fn scratch() -> PathBuf {
    Path::new(SCRATCH).to_path_buf()
}

/// The namespaces; when `unshare` is killed, everything in them is.
pub(super) const NAMESPACES: &[&str] = &[
    "--net",
    "--mount",
    "--pid",
    "--fork",
    "--kill-child",
    "--mount-proc",
];
/// The first argument of a program that is to be a node.
pub(super) const NODE: &str = "karmada-lab-node";
/// The name of a control group, before the number of the program.
const GROUP: &str = "karmada-lab-";
const INSIDE: &str = "KARMADA_LAB_INSIDE";
const SCRATCH: &str = "/run/karmada-lab";
/// Process 1 of the namespaces: it ends everything with the program, and removes the control groups that outlive them.
const SCRIPT: &str = r#"
ip link set lo up && mkdir -p /run/karmada-lab && mount -t tmpfs -o mode=700 karmada-lab /run/karmada-lab || exit 125
finish() {
  kill -KILL -1 2>/dev/null
  for _ in 1 2 3 4 5 6 7 8 9 10; do
    find /sys/fs/cgroup -depth -type d -path "*/karmada-lab-$KARMADA_LAB_INSIDE*" -exec rmdir {} + 2>/dev/null
    [ -n "$(find /sys/fs/cgroup -maxdepth 2 -name "karmada-lab-$KARMADA_LAB_INSIDE")" ] || break
    sleep 0.1
  done
  exit "$1"
}
trap 'finish 130' INT
trap 'finish 143' TERM
"$@" &
wait $!
finish $?
"#;
