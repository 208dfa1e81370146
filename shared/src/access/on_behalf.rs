//! Requests to the control plane on behalf of somebody else, and who is behind a kubeconfig.

use std::path::Path;
use std::time::{Duration, Instant};

use http::Request;

use crate::access::Access;
use crate::cluster::client::{Answer, ClusterClient};
use crate::cluster::error::ClusterError;
use crate::cluster::kubeconfig::Kubeconfig;
use crate::cluster::on_behalf::OnBehalf;
use crate::cluster::options::ConnectionOptions;
use crate::cluster::presented::Presented;

/// Why there is no answer to a request on behalf of somebody.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct NoAnswer {
    /// Why, in words.
    pub message: String,
    /// Whether it was waited for in vain.
    pub timed_out: bool,
}

impl Access {
    /// Sends a request to the control plane on behalf of somebody; `None` = as this run itself. The answer is of interest
    /// whatever its code, and comes with the time that it took.
    ///
    /// Who sends it is the user of the kubeconfig itself: one impersonation cannot be inside another, so `--as` does not
    /// count here.
    ///
    /// # Errors
    /// Only when there is no answer, or the name cannot be sent.
    pub async fn ask_on_behalf(
        &self,
        somebody: Option<&OnBehalf>,
        mut request: Request<Vec<u8>>,
    ) -> Result<(Answer, Duration), NoAnswer> {
        let unsent = |message: String| NoAnswer {
            message,
            timed_out: false,
        };
        let client = match somebody {
            None => self.control_plane(),
            Some(somebody) => {
                somebody.name_in(request.headers_mut()).map_err(|name| {
                    unsent(format!("the name {name:?} cannot be sent in a header"))
                })?;
                self.as_oneself()
                    .map_err(|error| unsent(error.to_string()))?
            }
        };
        let begun = Instant::now();
        match client.raw(request).await {
            Ok(answer) => Ok((answer, begun.elapsed())),
            Err(error) => Err(NoAnswer {
                message: error.to_string(),
                timed_out: error.is_timeout(),
            }),
        }
    }

    /// Who is behind the current context of a kubeconfig. No request is sent, and no login is run.
    ///
    /// # Errors
    /// What is wrong with the file.
    pub fn presented_by(&self, file: &Path) -> Result<Presented, ClusterError> {
        let kubeconfig = Kubeconfig::load(Some(file), self.env())?;
        Presented::by(&kubeconfig, &ConnectionOptions::default())
    }

    /// Who this run itself is, as far as its kubeconfig and flags tell. No request is sent, and no login is run.
    ///
    /// # Errors
    /// What is wrong with them.
    pub fn presented(&self) -> Result<Presented, ClusterError> {
        Presented::by(&self.kubeconfig, &self.options.connection)
    }

    /// The control plane as the user of the kubeconfig, whom the run acts as aside.
    fn as_oneself(&self) -> Result<&ClusterClient, ClusterError> {
        if let Some(client) = self.oneself.get() {
            return Ok(client);
        }
        let client = self
            .connector
            .connect_as_oneself(&self.kubeconfig, &self.options.connection)?;
        Ok(self.oneself.get_or_init(|| client))
    }
}
