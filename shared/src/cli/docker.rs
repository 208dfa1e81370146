//! Which Docker daemon was asked for. Pure.

use crate::error::UsageError;

/// The flags that name a Docker daemon.
#[derive(Debug, Clone, Default, PartialEq, Eq, clap::Args)]
#[command(next_help_heading = "Docker")]
pub struct DockerFlags {
    /// Daemon to connect to: unix://PATH, tcp://HOST:PORT or ssh://USER@HOST (default: as the docker command finds it)
    #[arg(long, value_name = "URL")]
    pub docker_host: Option<String>,
    /// Docker context whose daemon to connect to
    #[arg(long, value_name = "NAME")]
    pub docker_context: Option<String>,
}

impl DockerFlags {
    /// What the flags ask for; an empty value counts as not given, as in the docker command.
    ///
    /// # Errors
    /// When both flags are given.
    pub fn resolve(&self) -> Result<DockerChoice, UsageError> {
        let host = self.docker_host.as_deref().filter(|host| !host.is_empty());
        let context = self
            .docker_context
            .as_deref()
            .filter(|name| !name.is_empty());
        match (host, context) {
            (Some(_), Some(_)) => Err(UsageError::new(
                "conflicting options: cannot specify both --docker-host and --docker-context",
            )),
            (Some(host), None) => Ok(DockerChoice::Host(host.to_owned())),
            (None, Some(name)) => Ok(DockerChoice::Context(name.to_owned())),
            (None, None) => Ok(DockerChoice::Found),
        }
    }
}

/// The daemon that the command line asks for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum DockerChoice {
    /// The daemon at this address (`--docker-host`).
    Host(String),
    /// The daemon of this Docker context (`--docker-context`).
    Context(String),
    /// Whichever the environment, the docker configuration or a known socket leads to.
    #[default]
    Found,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flags(host: Option<&str>, context: Option<&str>) -> DockerFlags {
        DockerFlags {
            docker_host: host.map(str::to_owned),
            docker_context: context.map(str::to_owned),
        }
    }

    #[test]
    fn names_the_daemon_that_one_flag_asks_for() {
        let cases = [
            (None, None, DockerChoice::Found),
            (Some(""), Some(""), DockerChoice::Found),
            (
                Some("unix:///d.sock"),
                None,
                DockerChoice::Host("unix:///d.sock".to_owned()),
            ),
            (
                Some(""),
                Some("colima"),
                DockerChoice::Context("colima".to_owned()),
            ),
        ];
        for (host, context, expected) in cases {
            let choice = flags(host, context).resolve().expect("no conflict");
            assert_eq!(choice, expected, "{host:?} {context:?}");
        }
    }

    #[test]
    fn refuses_a_host_together_with_a_context() {
        let error = flags(Some("unix:///d.sock"), Some("colima"))
            .resolve()
            .expect_err("both are given");
        assert_eq!(
            error.to_string(),
            "conflicting options: cannot specify both --docker-host and --docker-context"
        );
    }
}
