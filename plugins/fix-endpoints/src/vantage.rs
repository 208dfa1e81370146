//! Whether an address answers from where the control plane dials: tried inside its container, with whatever is there.

use std::net::Ipv6Addr;
use std::time::Duration;

use karmada_repair::clock::Deadline;
use karmada_repair::docker::client::Docker;
use serde::Serialize;

/// An attempt to reach an address.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Tried {
    /// The container in which it was made.
    pub from: String,
    /// What came of it.
    pub reach: Reach,
}

/// What came of an attempt to reach an address.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "reach", content = "why", rename_all = "kebab-case")]
pub enum Reach {
    /// A connection came about.
    Open,
    /// A connection came about, and the certificate names the host and is signed by the stored CA.
    Certified,
    /// It was refused at once.
    Refused,
    /// Nothing came in time.
    NoAnswer,
    /// The host is a name that the container does not know.
    UnknownName,
    /// The host is a name that the container does not know, or a place that refuses connections.
    NotFound,
    /// The certificate does not name the host, or another CA signed it.
    NotCertified,
    /// The container has no program that could try.
    NoTool,
    /// No attempt could be made; why.
    Untried(String),
}

impl Tried {
    /// What came of it, as the end of `ADDRESS ...`.
    pub fn words(&self) -> String {
        let from = &self.from;
        match &self.reach {
            Reach::Open => format!("answers from inside {from}"),
            Reach::Certified => {
                format!("answers with a valid certificate from inside {from}")
            }
            Reach::Refused => format!("refuses connections from inside {from}"),
            Reach::NoAnswer => format!("does not answer from inside {from}"),
            Reach::UnknownName => format!("is not known inside {from}"),
            Reach::NotFound => {
                format!("is not known, or refuses connections, inside {from}")
            }
            Reach::NotCertified => format!(
                "presents a certificate, from inside {from}, that does not name it or that another CA signed"
            ),
            Reach::NoTool => format!("was not tried, for lack of a program for that in {from}"),
            Reach::Untried(why) => format!("was not tried from inside {from}: {why}"),
        }
    }
}

impl Reach {
    /// Whether it shows that the address leads nowhere, or not to the member.
    pub fn refutes(&self) -> bool {
        match self {
            Reach::Refused
            | Reach::NoAnswer
            | Reach::UnknownName
            | Reach::NotFound
            | Reach::NotCertified => true,
            Reach::Open | Reach::Certified | Reach::NoTool | Reach::Untried(_) => false,
        }
    }

    /// Whether it shows that something answers there.
    pub fn proves(&self) -> bool {
        matches!(self, Reach::Open | Reach::Certified)
    }
}

/// What is tried.
#[derive(Debug, Clone, Copy)]
pub struct Target<'a> {
    /// An address, or a name that the container is to resolve.
    pub host: &'a str,
    /// The port.
    pub port: u16,
    /// The CA certificates, in PEM, by which the certificate there is judged where a program can; `None` = it is not.
    pub authority: Option<&'a str>,
}

/// Tries a target from inside a container of this ID and name.
pub async fn look(docker: &Docker, (id, name): (&str, &str), target: Target<'_>) -> Tried {
    Tried {
        from: name.to_owned(),
        reach: reach(docker, id, target).await,
    }
}

async fn reach(docker: &Docker, container: &str, target: Target<'_>) -> Reach {
    for tool in TOOLS {
        let Some(command) = tool.command(target) else {
            continue;
        };
        let words: Vec<&str> = command.iter().map(String::as_str).collect();
        let deadline = Deadline::after(ALLOWED);
        match docker.exit_code(container, &words, ALLOWED).await {
            Ok(code) => match tool.read(code, deadline.waited(), is_name(target.host)) {
                Some(reach) => return reach,
                None => continue,
            },
            Err(error) => return Reach::Untried(error.to_string()),
        }
    }
    Reach::NoTool
}

/// A program that can try a target; the most telling first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tool {
    /// In kind's node images, where bash hands it the CA.
    Judge,
    /// In kind's node images.
    Curl,
    /// bash dials by itself.
    Bash,
    /// In the search path of k3s images, among others.
    Netcat,
    /// Where k3s images keep it.
    Busybox,
}

const TOOLS: [Tool; 5] = [
    Tool::Judge,
    Tool::Curl,
    Tool::Bash,
    Tool::Netcat,
    Tool::Busybox,
];

impl Tool {
    /// The command; `None` = it is no program for this target.
    fn command(self, target: Target<'_>) -> Option<Vec<String>> {
        let Target {
            host,
            port,
            authority,
        } = target;
        let bracketed = match host.parse::<Ipv6Addr>() {
            Ok(_) => format!("[{host}]"),
            Err(_) => host.to_owned(),
        };
        let url = format!("https://{bracketed}:{port}/");
        let limits = "-s -o /dev/null --connect-timeout 2 -m 4";
        let line = match self {
            Tool::Judge => {
                let script = format!(r#"exec curl {limits} --cacert <(printf %s "$1") "$2""#);
                let words = ["bash", "-c", &script, "bash", authority?, &url];
                return Some(words.map(str::to_owned).to_vec());
            }
            Tool::Curl => format!("curl -k {limits} {url}"),
            Tool::Bash => {
                let dial = format!("exec 3<>/dev/tcp/{host}/{port}");
                let words = ["timeout", "2", "bash", "-c", &dial];
                return Some(words.map(str::to_owned).to_vec());
            }
            Tool::Netcat => format!("nc -w 2 {host} {port}"),
            Tool::Busybox => format!("/bin/aux/busybox nc -w 2 {host} {port}"),
        };
        Some(line.split(' ').map(str::to_owned).collect())
    }

    /// What an exit code tells; `None` = the program is not there, or cannot tell.
    fn read(self, code: i64, took: Duration, is_name: bool) -> Option<Reach> {
        // What shells, `timeout` and runtimes answer for a program that is not there or cannot be run.
        if matches!(code, 125..=127) {
            return None;
        }
        Some(match (self, code) {
            // curl(1), EXIT CODES: 7 = failed to connect, 28 = timeout, 5 and 6 = a name was not resolved, 60 = the
            // certificate is not accepted, 77 = the CA could not be read.
            (Tool::Judge, 0) => Reach::Certified,
            (Tool::Judge, 60) => Reach::NotCertified,
            (Tool::Judge, 1..=4 | 26 | 77) => return None,
            (Tool::Judge | Tool::Curl, 5 | 6) => Reach::UnknownName,
            (Tool::Judge | Tool::Curl, 7) if took < AT_ONCE => Reach::Refused,
            (Tool::Judge | Tool::Curl, 7 | 28) => Reach::NoAnswer,
            (Tool::Judge | Tool::Curl, _) | (_, 0) => Reach::Open,
            // A refusal comes at once, and so does the answer that there is no such name; a timeout does not.
            _ if took < AT_ONCE && is_name => Reach::NotFound,
            _ if took < AT_ONCE => Reach::Refused,
            _ => Reach::NoAnswer,
        })
    }
}

fn is_name(host: &str) -> bool {
    host.parse::<std::net::IpAddr>().is_err()
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
            (Tool::Judge, 127, soon, None),
            (Tool::Judge, 77, soon, None),
            (Tool::Judge, 0, soon, Some(Reach::Certified)),
            (Tool::Judge, 60, soon, Some(Reach::NotCertified)),
            (Tool::Judge, 6, soon, Some(Reach::UnknownName)),
            (Tool::Judge, 7, soon, Some(Reach::Refused)),
            (Tool::Judge, 28, late, Some(Reach::NoAnswer)),
            (Tool::Curl, 127, soon, None),
            (Tool::Curl, 0, soon, Some(Reach::Open)),
            (Tool::Curl, 35, soon, Some(Reach::Open)),
            (Tool::Curl, 6, soon, Some(Reach::UnknownName)),
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
            assert_eq!(tool.read(code, took, false), expected, "{tool:?} {code}");
        }
        let unknown = Tool::Netcat.read(1, soon, true);
        assert_eq!(unknown, Some(Reach::NotFound));
    }

    #[test]
    fn targets_are_written_as_each_program_takes_them() {
        let command = |tool: Tool, host: &str, authority: Option<&str>| {
            let target = Target {
                host,
                port: 6443,
                authority,
            };
            tool.command(target).map(|words| words.join(" "))
        };
        let cases = [
            (Tool::Curl, "10.0.0.1", "https://10.0.0.1:6443/"),
            (Tool::Curl, "fd00::1", "https://[fd00::1]:6443/"),
            (
                Tool::Curl,
                "k3d-one-server-0",
                "https://k3d-one-server-0:6443/",
            ),
            (Tool::Netcat, "fd00::1", "nc -w 2 fd00::1 6443"),
            (Tool::Bash, "10.0.0.1", "exec 3<>/dev/tcp/10.0.0.1/6443"),
        ];
        for (tool, host, expected) in cases {
            let command = command(tool, host, None).expect("it tries any target");
            assert!(command.ends_with(expected), "{command}");
        }
        assert_eq!(command(Tool::Judge, "10.0.0.1", None), None);
        let judged = command(Tool::Judge, "one", Some("A CERTIFICATE"));
        assert!(judged.is_some_and(|line| line.ends_with("bash A CERTIFICATE https://one:6443/")));
    }
}
