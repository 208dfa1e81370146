//! Whether an address answers from inside a container: tried with whatever program is there. Sends requests.

use std::net::IpAddr;
use std::time::Duration;

use serde::Serialize;

use crate::clock::Deadline;
use crate::docker::client::Docker;

/// What came of an attempt to reach an address.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "reach", content = "why", rename_all = "kebab-case")]
pub enum Reach {
    /// A connection came about.
    Open,
    /// It was refused at once.
    Refused,
    /// Nothing came in time.
    NoAnswer,
    /// The container has no program that could try.
    NoTool,
    /// No attempt could be made; why.
    Untried(String),
}

impl Reach {
    /// Whether it shows that the address leads nowhere.
    pub fn refutes(&self) -> bool {
        matches!(self, Reach::Refused | Reach::NoAnswer)
    }
}

/// Tries an address and a port from inside a running container.
pub async fn reach(docker: &Docker, container: &str, address: IpAddr, port: u16) -> Reach {
    for tool in TOOLS {
        let command = tool.command(address, port);
        let words: Vec<&str> = command.iter().map(String::as_str).collect();
        let deadline = Deadline::after(ALLOWED);
        match docker.exit_code(container, &words, ALLOWED).await {
            Ok(code) => match tool.read(code, deadline.waited()) {
                Some(reach) => return reach,
                None => continue,
            },
            Err(error) => return Reach::Untried(error.to_string()),
        }
    }
    Reach::NoTool
}

/// A program that can try an address; the most telling first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tool {
    /// In kind's node images.
    Curl,
    /// bash dials by itself.
    Bash,
    /// In the search path of k3s images, among others.
    Netcat,
    /// Where k3s images keep it.
    Busybox,
}

const TOOLS: [Tool; 4] = [Tool::Curl, Tool::Bash, Tool::Netcat, Tool::Busybox];

impl Tool {
    fn command(self, address: IpAddr, port: u16) -> Vec<String> {
        let host = match address {
            IpAddr::V4(address) => address.to_string(),
            IpAddr::V6(address) => format!("[{address}]"),
        };
        let line = match self {
            Tool::Curl => {
                format!("curl -k -s -o /dev/null --connect-timeout 2 -m 4 https://{host}:{port}/")
            }
            Tool::Bash => {
                let dial = format!("exec 3<>/dev/tcp/{address}/{port}");
                return ["timeout", "2", "bash", "-c", &dial]
                    .map(str::to_owned)
                    .to_vec();
            }
            Tool::Netcat => format!("nc -w 2 {address} {port}"),
            Tool::Busybox => format!("/bin/aux/busybox nc -w 2 {address} {port}"),
        };
        line.split(' ').map(str::to_owned).collect()
    }

    /// What an exit code tells; `None` = the program is not there.
    fn read(self, code: i64, took: Duration) -> Option<Reach> {
        // What shells, `timeout` and runtimes answer for a program that is not there or cannot be run.
        if matches!(code, 125..=127) {
            return None;
        }
        Some(match (self, code) {
            // curl(1), EXIT CODES: 7 = failed to connect, 28 = timeout, 5 and 6 = a name was not resolved.
            (Tool::Curl, 7) if took < AT_ONCE => Reach::Refused,
            (Tool::Curl, 5..=7 | 28) => Reach::NoAnswer,
            (Tool::Curl, _) => Reach::Open,
            (_, 0) => Reach::Open,
            // A refusal comes at once; a timeout does not.
            _ if took < AT_ONCE => Reach::Refused,
            _ => Reach::NoAnswer,
        })
    }
}

/// Below the 2 seconds that each program has to connect.
const AT_ONCE: Duration = Duration::from_millis(1500);

const ALLOWED: Duration = Duration::from_secs(6);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_codes_tell_what_came_of_an_attempt() {
        let (soon, late) = (Duration::from_millis(20), Duration::from_secs(2));
        let cases = [
            (Tool::Curl, 127, soon, None),
            (Tool::Curl, 0, soon, Some(Reach::Open)),
            (Tool::Curl, 35, soon, Some(Reach::Open)),
            (Tool::Curl, 7, soon, Some(Reach::Refused)),
            (Tool::Curl, 28, late, Some(Reach::NoAnswer)),
            (Tool::Bash, 127, soon, None),
            (Tool::Bash, 0, soon, Some(Reach::Open)),
            (Tool::Bash, 1, soon, Some(Reach::Refused)),
            (Tool::Bash, 124, late, Some(Reach::NoAnswer)),
            (Tool::Netcat, 126, soon, None),
            (Tool::Netcat, 0, soon, Some(Reach::Open)),
            (Tool::Netcat, 1, soon, Some(Reach::Refused)),
            (Tool::Busybox, 1, late, Some(Reach::NoAnswer)),
        ];
        for (tool, code, took, expected) in cases {
            assert_eq!(tool.read(code, took), expected, "{tool:?} {code}");
        }
    }

    #[test]
    fn addresses_are_written_as_each_program_takes_them() {
        let (four, six) = ("10.0.0.1", "fd00::1");
        let command = |tool: Tool, address: &str| {
            let address = address.parse().expect("an address");
            tool.command(address, 6443).join(" ")
        };
        assert!(command(Tool::Curl, four).ends_with("https://10.0.0.1:6443/"));
        assert!(command(Tool::Curl, six).ends_with("https://[fd00::1]:6443/"));
        assert_eq!(command(Tool::Netcat, six), "nc -w 2 fd00::1 6443");
        assert_eq!(
            command(Tool::Bash, four),
            "timeout 2 bash -c exec 3<>/dev/tcp/10.0.0.1/6443"
        );
    }
}
