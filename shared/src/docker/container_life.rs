//! Containers are started, stopped and restarted, and files are put into them. Sends requests.

use std::io::Read;
use std::time::Duration;

use bollard::query_parameters::{
    DownloadFromContainerOptionsBuilder, RestartContainerOptions, StartContainerOptions,
    StopContainerOptions, UploadToContainerOptionsBuilder,
};
use futures::StreamExt;

use crate::docker::client::{Docker, named};
use crate::docker::error::DockerError;

impl Docker {
    /// Starts a container (`POST /containers/{id}/start`); nothing happens when it runs.
    ///
    /// # Errors
    /// As [`DockerError`] tells; [`Refusal::AddressInUse`](crate::docker::refusal::Refusal) when somebody holds its
    /// fixed address by now.
    pub async fn start_container(&self, container: &str) -> Result<(), DockerError> {
        let action = format!("start container {}", named(container));
        let patient = self.patient();
        let request = patient
            .client()
            .start_container(container, None::<StartContainerOptions>);
        patient.answer(&action, request).await
    }

    /// Stops a container as it wants to be stopped, killing it after its own time limit
    /// (`POST /containers/{id}/stop`); nothing happens when it does not run.
    ///
    /// # Errors
    /// As [`DockerError`] tells.
    pub async fn stop_container(&self, container: &str) -> Result<(), DockerError> {
        let action = format!("stop container {}", named(container));
        let patient = self.patient();
        let request = patient
            .client()
            .stop_container(container, None::<StopContainerOptions>);
        patient.answer(&action, request).await
    }

    /// Stops and starts a container (`POST /containers/{id}/restart`); one that stood still is started.
    ///
    /// # Errors
    /// As [`DockerError`] tells; the container may be stopped then.
    pub async fn restart_container(&self, container: &str) -> Result<(), DockerError> {
        let action = format!("restart container {}", named(container));
        let patient = self.patient();
        let request = patient
            .client()
            .restart_container(container, None::<RestartContainerOptions>);
        patient.answer(&action, request).await
    }

    /// Writes a file of root's with mode 0644 into a container, running or not
    /// (`PUT /containers/{id}/archive`); folders that are missing are made.
    ///
    /// # Errors
    /// As [`DockerError`] tells.
    pub async fn write_file(
        &self,
        container: &str,
        path: &str,
        content: &str,
    ) -> Result<(), DockerError> {
        let action = format!("write {path} in container {}", named(container));
        let archive = archive(path, content).map_err(|error| DockerError::Broken {
            at: Box::new(self.located().clone()),
            action: action.clone(),
            source: Box::new(error),
        })?;
        let into_root = UploadToContainerOptionsBuilder::default().path("/").build();
        let request = self.client().upload_to_container(
            container,
            Some(into_root),
            bollard::body_full(archive.into()),
        );
        self.answer(&action, request).await
    }

    /// The text of a small file in a container, running or not (`GET /containers/{id}/archive`); `None` = there is
    /// none.
    ///
    /// # Errors
    /// As [`DockerError`] tells.
    pub async fn read_file(
        &self,
        container: &str,
        path: &str,
    ) -> Result<Option<String>, DockerError> {
        let action = format!("read {path} in container {}", named(container));
        let options = DownloadFromContainerOptionsBuilder::default()
            .path(path)
            .build();
        let mut stream = self
            .client()
            .download_from_container(container, Some(options));
        let mut bytes = Vec::new();
        while let Some(part) = self
            .answer(&action, async { stream.next().await.transpose() })
            .await
            .or_else(|error| match &error {
                DockerError::Api { status: 404, .. } => Ok(None),
                _ => Err(error),
            })?
        {
            bytes.extend_from_slice(&part);
            if bytes.len() > LONGEST {
                break;
            }
        }
        Ok(unpacked(&bytes))
    }

    /// Removes a file in a running container; one that is not there is no error.
    ///
    /// # Errors
    /// In words; also when the container does not run, or has no program that removes files.
    pub async fn remove_file(&self, container: &str, path: &str) -> Result<(), String> {
        let ended = self
            .output(container, &["rm", "-f", path], READ_WITHIN)
            .await
            .map_err(|error| error.to_string())?;
        match ended.code {
            0 => Ok(()),
            code => Err(format!("rm -f {path} in the container ended with {code}")),
        }
    }

    /// The same daemon with time for a container that takes its own to stop.
    fn patient(&self) -> Docker {
        self.clone().with_deadline(PATIENCE)
    }
}

fn unpacked(archive: &[u8]) -> Option<String> {
    let mut archive = tar::Archive::new(archive);
    let mut entry = archive.entries().ok()?.next()?.ok()?;
    let mut text = String::new();
    entry.read_to_string(&mut text).ok()?;
    Some(text)
}

fn archive(path: &str, content: &str) -> std::io::Result<Vec<u8>> {
    let mut header = tar::Header::new_gnu();
    header.set_size(content.len() as u64);
    header.set_mode(0o644);
    let mut archive = tar::Builder::new(Vec::new());
    archive.append_data(
        &mut header,
        path.trim_start_matches('/'),
        content.as_bytes(),
    )?;
    archive.into_inner()
}

/// Docker kills after 10 s what does not stop by itself; an image may ask for more.
const PATIENCE: Duration = Duration::from_secs(90);

/// More than any file has that is read here.
const LONGEST: usize = 1 << 20;

const READ_WITHIN: Duration = Duration::from_secs(10);

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::docker::fake_daemon::{Answer, FakeDaemon};

    #[tokio::test]
    async fn stops_starts_and_restarts_by_id() {
        let daemon = FakeDaemon::answering(Answer::With(204, String::new()));
        daemon.docker.stop_container("c1").await.unwrap();
        daemon.docker.start_container("c1").await.unwrap();
        daemon.docker.restart_container("c1").await.unwrap();
        let requests = daemon.requests();
        let heads: Vec<&str> = requests
            .iter()
            .filter_map(|request| request.split(" docker").next())
            .collect();
        assert_eq!(
            heads,
            [
                "POST /containers/c1/stop",
                "POST /containers/c1/start",
                "POST /containers/c1/restart"
            ]
        );
    }

    #[tokio::test]
    async fn a_container_that_runs_already_is_no_error() {
        let daemon = FakeDaemon::answering(Answer::With(304, String::new()));
        daemon.docker.start_container("c1").await.unwrap();
    }

    #[test]
    fn a_file_is_packed_with_its_path_below_the_root() {
        let packed = archive("/etc/rancher/k3s/config.yaml.d/50-mesh.yaml", "tls-san:\n").unwrap();
        let mut archive = tar::Archive::new(packed.as_slice());
        let entries: Vec<String> = archive
            .entries()
            .unwrap()
            .map(|entry| entry.unwrap().path().unwrap().display().to_string())
            .collect();
        assert_eq!(entries, ["etc/rancher/k3s/config.yaml.d/50-mesh.yaml"]);
        assert_eq!(unpacked(&packed).as_deref(), Some("tls-san:\n"));
    }

    #[tokio::test]
    async fn a_file_that_is_not_there_is_none() {
        let answer = Answer::refusal(404, "Could not find the file /etc/x in container c1");
        let daemon = FakeDaemon::answering(answer);
        assert_eq!(daemon.docker.read_file("c1", "/etc/x").await.unwrap(), None);
    }
}
