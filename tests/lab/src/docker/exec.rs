//! `docker exec` for the few commands that a node image answers and a diagnosis asks. Pure.

use std::net::Ipv4Addr;

use super::attach::INTERFACE_NAME;
use super::daemon::{Container, Daemon, Engine, State};
use super::failure::Failure;
use super::reach::Reach;

/// A command made ready to run in a container.
#[derive(Debug, Clone)]
pub(crate) struct Exec {
    pub(crate) id: String,
    pub(crate) container: String,
    pub(crate) command: Vec<String>,
    pub(crate) tty: bool,
    /// `None` = not run yet.
    pub(crate) exit_code: Option<i64>,
}

/// What a command wrote, and how it ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Ended {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) code: i64,
}

impl Daemon {
    /// `POST /containers/{id}/exec`: the ID of the new exec.
    pub(crate) fn prepare_exec(
        &mut self,
        reference: &str,
        command: Vec<String>,
        tty: bool,
    ) -> Result<String, Failure> {
        let container = self.container(reference)?;
        match container.state {
            State::Running => {}
            State::Paused => {
                return Err(Failure::new(
                    409,
                    format!("Container {reference} is paused, unpause the container before exec"),
                ));
            }
            State::Restarting => {
                return Err(Failure::new(
                    409,
                    format!(
                        "Container {reference} is restarting, wait until the container is running"
                    ),
                ));
            }
            State::Created | State::Exited => {
                return Err(Failure::new(
                    409,
                    format!("container {} is not running", container.id),
                ));
            }
        }
        if command.is_empty() {
            return Err(Failure::new(400, "No exec command specified"));
        }
        let (id, container) = (crate::random::hexadecimal(64), container.id.clone());
        self.execs.push(Exec {
            id: id.clone(),
            container,
            command,
            tty,
            exit_code: None,
        });
        Ok(id)
    }

    /// `POST /exec/{id}/start`.
    pub(crate) fn run_exec(&mut self, id: &str) -> Result<(Exec, Ended), Failure> {
        let exec = self.exec(id)?.clone();
        if let ["rm", "-f", file] = exec
            .command
            .iter()
            .map(String::as_str)
            .collect::<Vec<_>>()
            .as_slice()
        {
            self.container_mut(&exec.container)?.files.remove(*file);
        }
        let container = self.container(&exec.container)?;
        let ended = self.run(container, &exec.command);
        for known in self.execs.iter_mut().filter(|known| known.id == id) {
            known.exit_code = Some(ended.code);
        }
        Ok((exec, ended))
    }

    pub(crate) fn exec(&self, id: &str) -> Result<&Exec, Failure> {
        let found = self.execs.iter().find(|exec| exec.id == id);
        found.ok_or_else(|| Failure::new(404, format!("No such exec instance: {id}")))
    }

    fn run(&self, container: &Container, command: &[String]) -> Ended {
        let words: Vec<&str> = command.iter().map(String::as_str).collect();
        match words.as_slice() {
            ["sh" | "/bin/sh" | "ash" | "bash", "-c", script] => {
                let words: Vec<String> = script.split_whitespace().map(str::to_owned).collect();
                self.run(container, &words)
            }
            [] | ["true"] | ["rm", "-f", _] => said(""),
            ["false"] => failed(1, ""),
            ["echo", rest @ ..] => said(&format!("{}\n", rest.join(" "))),
            ["hostname"] => said(&format!("{}\n", container.name)),
            ["cat", "/proc/net/route"] => said(&self.kernel_routes(container)),
            ["cat", "/proc/net/tcp", ..] => said(&sockets(container)),
            ["cat", file] => cat(container, file),
            ["nc", rest @ ..] => self.knock_at(container, rest),
            ["ip", rest @ ..] if rest.iter().any(|word| word.starts_with('r')) => {
                said(&self.routes(container))
            }
            ["ip", rest @ ..] if rest.iter().any(|word| word.starts_with('a')) => {
                said(&self.addresses(container))
            }
            ["getent", "hosts" | "ahosts" | "ahostsv4", name] | ["nslookup", name] => {
                match self.lookup(container, name) {
                    Some(address) => said(&format!("{address}      {name}\n")),
                    None => failed(2, ""),
                }
            }
            [program, ..] => failed(
                127,
                &format!(
                    "OCI runtime exec failed: exec failed: unable to start container process: exec: \"{program}\": executable file not found in $PATH: unknown\n"
                ),
            ),
        }
    }

    /// `nc [-z] [-v] [-w SECONDS] HOST PORT`.
    fn knock_at(&self, container: &Container, arguments: &[&str]) -> Ended {
        let mut plain = Vec::new();
        let mut rest = arguments.iter();
        while let Some(word) = rest.next() {
            match word.strip_prefix('-') {
                Some(flag) if flag.ends_with('w') => {
                    rest.next();
                }
                Some(_) => {}
                None => plain.push(*word),
            }
        }
        let [host, port] = plain.as_slice() else {
            return failed(1, "nc: usage: nc [-z] [-w SEC] HOST PORT\n");
        };
        let reach = self.reach(&container.name, host, port.parse().unwrap_or_default());
        let refused = |reason: &str| failed(1, &format!("nc: {host} ({host}:{port}): {reason}\n"));
        match reach {
            Reach::Server(_) | Reach::Silent => said(""),
            Reach::Refused => refused("Connection refused"),
            Reach::Timeout => failed(1, "nc: timed out\n"),
            Reach::NoRoute => refused("No route to host"),
            Reach::Unreachable => refused("Network is unreachable"),
            Reach::NoSuchHost => failed(1, &format!("nc: bad address '{host}'\n")),
        }
    }

    fn routes(&self, container: &Container) -> String {
        let mut text = String::new();
        if let Some(home) = self.default_route(&container.name)
            && let Some(gateway) = self.network(&home).ok().and_then(|network| network.gateway)
        {
            text.push_str(&format!(
                "default via {gateway} dev {} \n",
                self.device(container, &home)
            ));
        }
        for (network, address) in held_by(container) {
            if let Some(subnet) = self
                .network(network)
                .ok()
                .and_then(|network| network.subnet)
            {
                let device = self.device(container, network);
                text.push_str(&format!(
                    "{subnet} dev {device} proto kernel scope link src {address} \n"
                ));
            }
        }
        text
    }

    /// `/proc/net/route`: numbers in the byte order of most machines.
    fn kernel_routes(&self, container: &Container) -> String {
        let mut text =
            "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"
                .to_owned();
        let mut line = |device: &str, [destination, gateway, mask]: [Ipv4Addr; 3]| {
            let [destination, gateway, mask] = [destination, gateway, mask]
                .map(|address| format!("{:08X}", u32::from_ne_bytes(address.octets())));
            text.push_str(&format!(
                "{device}\t{destination}\t{gateway}\t0001\t0\t0\t0\t{mask}\t0\t0\t0\n"
            ));
        };
        let nothing = Ipv4Addr::UNSPECIFIED;
        if let Some(home) = self.default_route(&container.name)
            && let Some(gateway) = self.network(&home).ok().and_then(|network| network.gateway)
        {
            line(&self.device(container, &home), [nothing, gateway, nothing]);
        }
        for (network, _) in held_by(container) {
            let subnet = self
                .network(network)
                .ok()
                .and_then(|network| network.subnet);
            if let Some(subnet) = subnet {
                let device = self.device(container, network);
                line(&device, [subnet.network(), nothing, subnet.netmask()]);
            }
        }
        text
    }

    fn addresses(&self, container: &Container) -> String {
        let lines = held_by(container).map(|(network, address)| {
            let prefix = self
                .network(network)
                .ok()
                .and_then(|network| network.subnet)
                .map_or(16, |subnet| subnet.prefix_len());
            format!(
                "    inet {address}/{prefix} scope global {}\n",
                self.device(container, network)
            )
        });
        lines.collect()
    }

    /// The interface on a network: its own name where the daemon gives names, else the place of the network among those
    /// without one, internal ones last.
    fn device(&self, container: &Container, network: &str) -> String {
        let named = |network: &str| match self.engine {
            Engine::V28 => container.endpoints[network]
                .driver_options
                .get(INTERFACE_NAME),
            Engine::V20 | Engine::V26 => None,
        };
        if let Some(name) = named(network) {
            return name.clone();
        }
        let mut unnamed: Vec<(bool, &str)> = held_by(container)
            .filter(|(name, _)| named(name).is_none())
            .map(|(name, _)| {
                let internal = self.network(name).is_ok_and(|network| network.internal);
                (internal, name)
            })
            .collect();
        unnamed.sort_unstable();
        let place = unnamed.iter().position(|(_, name)| *name == network);
        format!("eth{}", place.unwrap_or_default())
    }
}

fn held_by(container: &Container) -> impl Iterator<Item = (&str, Ipv4Addr)> {
    container
        .endpoints
        .iter()
        .filter_map(|(network, endpoint)| Some((network.as_str(), endpoint.address?)))
}

/// `/proc/net/tcp`: the sockets that listen.
fn sockets(container: &Container) -> String {
    let mut text = "  sl  local_address rem_address   st tx_queue rx_queue\n".to_owned();
    for (index, port) in container.serves.keys().enumerate() {
        text.push_str(&format!(
            "   {index}: 00000000:{port:04X} 00000000:0000 0A 00000000:00000000\n"
        ));
    }
    text
}

fn cat(container: &Container, file: &str) -> Ended {
    if let Some(text) = container.files.get(file) {
        return said(text);
    }
    match file {
        "/proc/sys/fs/inotify/max_user_instances" => said("128\n"),
        "/proc/sys/fs/inotify/max_user_watches" => said("192536\n"),
        "/etc/hostname" => said(&format!("{}\n", container.name)),
        _ => failed(
            1,
            &format!("cat: can't open '{file}': No such file or directory\n"),
        ),
    }
}

fn said(text: &str) -> Ended {
    Ended {
        stdout: text.to_owned(),
        ..Ended::default()
    }
}

fn failed(code: i64, text: &str) -> Ended {
    Ended {
        stderr: text.to_owned(),
        code,
        ..Ended::default()
    }
}
