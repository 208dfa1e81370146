//! A connection to a port of a pod, through the API server. Sends requests.

use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::Instant;

use crate::cluster::client::ClusterClient;
use crate::cluster::request_error::RequestError;
use crate::cluster::transport::Attempt;

/// A connection to a port of a pod.
pub trait PodStream: AsyncRead + AsyncWrite + Unpin + Send {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send> PodStream for T {}

impl ClusterClient {
    /// Connects to a port of a pod (`pods/portforward`, subprotocol `v4.channel.k8s.io`); the caller sets the deadline. Whether
    /// anybody listens there is seen only when something is read.
    ///
    /// # Errors
    /// When the API server does not make the connection, as where the pod does not run.
    pub async fn port_forward(
        &self,
        namespace: &str,
        pod: &str,
        port: u16,
    ) -> Result<Box<dyn PodStream>, RequestError> {
        let session = self.inner.sessions.open().await?;
        let started = Instant::now();
        let attempt = || Attempt {
            peer: self.peer(),
            request: format!("port-forward pod/{namespace}/{pod} {port}"),
            elapsed: started.elapsed(),
            user_label: &self.inner.sessions.user_label,
        };
        let pods: Api<Pod> = Api::namespaced(session.client.clone(), namespace);
        let mut forwarder = match pods.portforward(pod, &[port]).await {
            Ok(forwarder) => forwarder,
            Err(kube::Error::Api(status)) => {
                return Err(self.refused(
                    &format!("/api/v1/namespaces/{namespace}/pods/{pod}/portforward"),
                    &status,
                ));
            }
            Err(error) => return Err(attempt().failure(&error)),
        };
        let stream = forwarder
            .take_stream(port)
            .expect("the stream of the port that was asked for is taken once");
        Ok(Box::new(stream))
    }
}
