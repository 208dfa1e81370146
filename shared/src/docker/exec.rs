//! Commands in containers: how they end, and what they say. Sends requests.

use std::time::Duration;

use bollard::container::LogOutput;
use bollard::exec::{CreateExecOptions, StartExecOptions, StartExecResults};
use futures::StreamExt;

use crate::clock::Deadline;
use crate::docker::client::{Docker, named};
use crate::docker::error::DockerError;

/// How a command ended, and what it wrote to stdout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// The exit code, 127 when the program is not there.
    pub code: i64,
    /// What it wrote to stdout, as text.
    pub stdout: String,
}

impl Docker {
    /// Runs a command in a running container and returns what it said
    /// (`POST /containers/{id}/exec`, `POST /exec/{id}/start`, `GET /exec/{id}/json`). It reads nothing.
    ///
    /// # Errors
    /// As [`DockerError`] tells; a timeout when it has not ended within `allowed`.
    pub async fn output(
        &self,
        container: &str,
        command: &[&str],
        allowed: Duration,
    ) -> Result<Ended, DockerError> {
        let action = running(command, container);
        let prepared = CreateExecOptions {
            cmd: Some(command.to_vec()),
            attach_stdout: Some(true),
            attach_stderr: Some(true),
            ..CreateExecOptions::default()
        };
        let exec = self
            .answer(&action, self.client().create_exec(container, prepared))
            .await?;
        let attached = None::<StartExecOptions>;
        let started = self
            .answer(&action, self.client().start_exec(&exec.id, attached))
            .await;
        let mut output = match started {
            Ok(StartExecResults::Attached { output, .. }) => output,
            Err(error) if !lacks_the_program(&error) => return Err(error),
            Ok(StartExecResults::Detached) | Err(_) => {
                return Ok(Ended {
                    code: NOT_FOUND,
                    stdout: String::new(),
                });
            }
        };
        let mut stdout = Vec::new();
        let read = async {
            while let Some(part) = output.next().await {
                match self.answer(&action, async { part }).await? {
                    LogOutput::StdOut { message } | LogOutput::Console { message } => {
                        stdout.extend_from_slice(&message);
                    }
                    LogOutput::StdErr { .. } | LogOutput::StdIn { .. } => {}
                }
                if stdout.len() > LONGEST {
                    break;
                }
            }
            Ok::<(), DockerError>(())
        };
        match tokio::time::timeout(allowed, read).await {
            Ok(read) => read?,
            Err(_) => return Err(self.too_long(action, allowed)),
        }
        let state = self
            .answer(&action, self.client().inspect_exec(&exec.id))
            .await?;
        Ok(Ended {
            code: state.exit_code.unwrap_or_default(),
            stdout: String::from_utf8_lossy(&stdout).into_owned(),
        })
    }

    fn too_long(&self, action: String, after: Duration) -> DockerError {
        DockerError::Timeout {
            at: Box::new(self.located().clone()),
            action,
            after,
        }
    }

    /// Runs a command in a running container and returns its exit code, 127 when the program is not there
    /// (`POST /containers/{id}/exec`, `POST /exec/{id}/start`, `GET /exec/{id}/json`). It reads and writes nothing.
    ///
    /// A command that does not end in time goes on in the container: give it a limit of its own.
    ///
    /// # Errors
    /// As [`DockerError`] tells; a timeout when it has not ended within `allowed`.
    pub async fn exit_code(
        &self,
        container: &str,
        command: &[&str],
        allowed: Duration,
    ) -> Result<i64, DockerError> {
        let action = running(command, container);
        let deadline = Deadline::after(allowed);
        let prepared = CreateExecOptions {
            cmd: Some(command.to_vec()),
            ..CreateExecOptions::default()
        };
        let exec = self
            .answer(&action, self.client().create_exec(container, prepared))
            .await?;
        let detached = StartExecOptions {
            detach: true,
            ..StartExecOptions::default()
        };
        let started = self
            .answer(&action, self.client().start_exec(&exec.id, Some(detached)))
            .await;
        match started {
            Err(error) if lacks_the_program(&error) => return Ok(NOT_FOUND),
            started => started.map(|_| ())?,
        }
        loop {
            let state = self
                .answer(&action, self.client().inspect_exec(&exec.id))
                .await?;
            if let (Some(false) | None, Some(code)) = (state.running, state.exit_code) {
                return Ok(code);
            }
            if deadline.passed() {
                return Err(self.too_long(action, allowed));
            }
            tokio::time::sleep(BETWEEN_LOOKS).await;
        }
    }
}

fn running(command: &[&str], container: &str) -> String {
    format!(
        "run {} in container {}",
        command.first().copied().unwrap_or_default(),
        named(container)
    )
}

/// The words are those of runc and crun.
fn lacks_the_program(error: &DockerError) -> bool {
    match error {
        DockerError::Api { message, .. } => {
            message.contains("executable file not found") || message.contains("no such file")
        }
        _ => false,
    }
}

/// The exit code of a shell for a program that is not there.
const NOT_FOUND: i64 = 127;

/// More than anything that is read here has to say.
const LONGEST: usize = 1 << 20;

const BETWEEN_LOOKS: Duration = Duration::from_millis(50);

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::docker::fake_daemon::{Answer, FakeDaemon};

    const SOON: Duration = Duration::from_millis(200);

    #[tokio::test]
    async fn runs_detached_and_tells_how_it_ended() {
        let daemon = FakeDaemon::answering(Answer::json(
            &json!({"Id": "e1", "ID": "e1", "Running": false, "ExitCode": 7}),
        ));
        let code = daemon.docker.exit_code("node", &["true"], SOON).await;
        assert_eq!(code.unwrap(), 7);
        let requests = daemon.requests();
        let heads: Vec<&str> = requests
            .iter()
            .filter_map(|request| request.split(" docker").next())
            .collect();
        assert_eq!(
            heads,
            [
                "POST /containers/node/exec",
                "POST /exec/e1/start",
                "GET /exec/e1/json"
            ]
        );
        assert!(requests[0].contains(r#""Cmd":["true"]"#), "{}", requests[0]);
        assert!(requests[1].contains(r#""Detach":true"#), "{}", requests[1]);
    }

    #[tokio::test]
    async fn a_command_that_does_not_end_is_a_timeout() {
        let daemon = FakeDaemon::answering(Answer::json(
            &json!({"Id": "e1", "ID": "e1", "Running": true, "ExitCode": null}),
        ));
        let error = daemon.docker.exit_code("node", &["sleep", "9"], SOON).await;
        assert!(matches!(error, Err(DockerError::Timeout { .. })));
    }

    #[test]
    fn a_missing_program_is_known_by_the_words_of_the_runtime() {
        let refused = |message: &str| DockerError::Api {
            action: String::new(),
            status: 400,
            message: message.to_owned(),
        };
        assert!(lacks_the_program(&refused(
            "OCI runtime exec failed: exec failed: unable to start container process: exec: \"nc\": executable file not found in $PATH: unknown"
        )));
        assert!(lacks_the_program(&refused(
            "OCI runtime exec failed: exec: \"/bin/aux/busybox\": stat /bin/aux/busybox: no such file or directory: unknown"
        )));
        assert!(!lacks_the_program(&refused("container is paused")));
    }
}
