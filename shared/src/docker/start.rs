//! How a daemon that does not run is started. Pure.

use std::path::Path;

use crate::docker::endpoint::{Endpoint, Located};

/// The command that starts what listens at a socket; `None` where that is not known, as behind a TCP port.
pub(crate) fn command(at: &Located) -> Option<String> {
    let Endpoint::Unix(path) = &at.endpoint else {
        return None;
    };
    let folder = path.parent().and_then(Path::file_name)?.to_str()?;
    let text = path.to_str()?;
    let within = |part: &str| text.contains(part);
    if within("/.colima/") || within("/colima/") {
        return Some(match folder {
            ".colima" | "colima" | "default" => "colima start".to_owned(),
            profile => format!("colima start {profile}"),
        });
    }
    if let Some((_, rest)) = text.split_once("/.lima/") {
        let instance = rest.split('/').next()?;
        return Some(format!("limactl start {instance}"));
    }
    let command = if within("/.docker/") {
        "docker desktop start"
    } else if within("/.orbstack/") {
        "orb start"
    } else if within("/.rd/") {
        "rdctl start"
    } else if within("/podman/machine/") {
        "podman machine start"
    } else if within("/run/user/") && text.ends_with("podman.sock") {
        "systemctl --user start podman.socket"
    } else if text.ends_with("podman.sock") {
        "sudo systemctl start podman.socket"
    } else if within("/run/user/") {
        "systemctl --user start docker"
    } else if text.ends_with("run/docker.sock") && cfg!(target_os = "linux") {
        "sudo systemctl start docker"
    } else if text.ends_with("run/docker.sock") {
        "docker desktop start"
    } else {
        return None;
    };
    Some(command.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::docker::endpoint::LocatedBy;

    #[test]
    fn knows_how_each_product_is_started() {
        let cases = [
            (
                "/Users/me/.colima/default/docker.sock",
                Some("colima start"),
            ),
            ("/Users/me/.colima/docker.sock", Some("colima start")),
            (
                "/Users/me/.config/colima/work/docker.sock",
                Some("colima start work"),
            ),
            (
                "/Users/me/.docker/run/docker.sock",
                Some("docker desktop start"),
            ),
            ("/Users/me/.orbstack/run/docker.sock", Some("orb start")),
            ("/Users/me/.rd/docker.sock", Some("rdctl start")),
            (
                "/Users/me/.lima/docker/sock/docker.sock",
                Some("limactl start docker"),
            ),
            (
                "/Users/me/.local/share/containers/podman/machine/podman.sock",
                Some("podman machine start"),
            ),
            (
                "/run/user/1000/docker.sock",
                Some("systemctl --user start docker"),
            ),
            (
                "/run/user/1000/podman/podman.sock",
                Some("systemctl --user start podman.socket"),
            ),
            (
                "/run/podman/podman.sock",
                Some("sudo systemctl start podman.socket"),
            ),
            ("/tmp/d.sock", None),
            ("/", None),
        ];
        for (path, expected) in cases {
            let at = Located {
                endpoint: Endpoint::Unix(path.into()),
                by: LocatedBy::HostVariable,
                tried: Vec::new(),
            };
            assert_eq!(command(&at).as_deref(), expected, "{path}");
        }
    }
}
