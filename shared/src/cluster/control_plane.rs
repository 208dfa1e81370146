//! Whether a server is a Karmada control plane, and which of the known ones are.

use std::time::Duration;

use futures::future::join_all;
use http::{Request, StatusCode};
use tokio::time::{Instant, timeout_at};

use crate::cluster::client::ClusterClient;
use crate::cluster::connect::Connector;
use crate::cluster::kubeconfig::{ContextSummary, Kubeconfig};
use crate::cluster::options::ConnectionOptions;
use crate::cluster::request_error::{Peer, RequestError};
use crate::error::Explain;
use crate::exit::Exit;
use crate::text::shell_word;

/// Why the clusters of a federation cannot be listed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ControlPlaneError {
    /// The server has no `cluster.karmada.io` API: it is a host or a member cluster.
    #[error("{peer} is not a Karmada control plane")]
    NotKarmada {
        /// The server.
        peer: Peer,
        /// The other contexts of the kubeconfig.
        others: OtherContexts,
    },
    /// The server is a Karmada control plane whose `cluster.karmada.io` API has no server behind it.
    #[error("the {GROUP} API of {peer} is registered but does not serve clusters")]
    Unavailable {
        /// The server.
        peer: Peer,
        /// What it answers.
        source: RequestError,
    },
    /// Anything else, which says nothing about Karmada.
    #[error(transparent)]
    Request(RequestError),
}

/// Which of the other contexts of a kubeconfig lead to a Karmada control plane; all sorted by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OtherContexts {
    /// Those that do.
    pub karmada: Vec<String>,
    /// Those that were not tried, because connecting may open a login.
    pub not_tried: Vec<String>,
    /// Those that gave no answer in time.
    pub no_answer: Vec<String>,
}

/// Explains why the list of clusters could not be read; looks at the other contexts only if the server is no
/// Karmada control plane.
pub async fn explain_missing_clusters(
    client: &ClusterClient,
    error: RequestError,
    connector: &Connector,
    kubeconfig: &Kubeconfig,
) -> ControlPlaneError {
    let api = match error.code() {
        // Whoever may not list clusters is refused before it is looked whether there are any.
        Some(403 | 404 | 503) => cluster_api(client).await,
        _ => ClusterApi::Unknown,
    };
    let peer = client.peer().as_ref().clone();
    match api {
        ClusterApi::Absent => {
            let others = other_contexts(client.context(), connector, kubeconfig).await;
            ControlPlaneError::NotKarmada { peer, others }
        }
        ClusterApi::Registered if error.code() != Some(403) => ControlPlaneError::Unavailable {
            peer,
            source: error,
        },
        ClusterApi::Registered | ClusterApi::Unknown => ControlPlaneError::Request(error),
    }
}

/// Looks at every context but one, all together, for at most two seconds; runs no login.
pub async fn other_contexts(
    current: Option<&str>,
    connector: &Connector,
    kubeconfig: &Kubeconfig,
) -> OtherContexts {
    let contexts = kubeconfig.contexts();
    let others = contexts
        .iter()
        .filter(|context| Some(context.name.as_str()) != current);
    let (login, open): (Vec<_>, Vec<_>) = others.partition(|context| context.runs_a_login);
    let until = Instant::now() + LONGEST_LOOK;
    let looks = open
        .into_iter()
        .take(MOST_CONTEXTS)
        .map(|context| look_at(context, connector, kubeconfig, until));
    let tried = join_all(looks).await;
    let names = |wanted: ClusterApi| -> Vec<String> {
        let found = tried.iter().filter(|(_, api)| *api == wanted);
        found.map(|(context, _)| context.name.clone()).collect()
    };
    OtherContexts {
        karmada: names(ClusterApi::Registered),
        not_tried: login
            .into_iter()
            .map(|context| context.name.clone())
            .collect(),
        no_answer: names(ClusterApi::Unknown),
    }
}

impl Explain for ControlPlaneError {
    fn exit(&self) -> Exit {
        Exit::Unknown
    }

    fn hint(&self) -> Option<String> {
        match self {
            ControlPlaneError::NotKarmada { others, .. } => Some(others.hint()),
            ControlPlaneError::Unavailable { peer, .. } => {
                Some(peer.command(&format!("run kubectl get apiservice v1alpha1.{GROUP}")))
            }
            ControlPlaneError::Request(error) => error.hint(),
        }
    }
}

impl OtherContexts {
    fn hint(&self) -> String {
        let karmada: Vec<_> = self.karmada.iter().map(|name| shell_word(name)).collect();
        let mut hint = match karmada.as_slice() {
            [] => {
                "name the kubeconfig of the Karmada control plane with --kubeconfig FILE".to_owned()
            }
            [one] => format!("pass --context {one}"),
            [first, others @ ..] => format!("pass --context {first} (or {})", others.join(", ")),
        };
        if !self.not_tried.is_empty() {
            hint.push_str(&format!(
                "; not tried, because they run a login: {}",
                self.not_tried.join(", ")
            ));
        }
        if !self.no_answer.is_empty() {
            hint.push_str(&format!("; no answer: {}", self.no_answer.join(", ")));
        }
        hint
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ClusterApi {
    Registered,
    Absent,
    Unknown,
}

async fn cluster_api(client: &ClusterClient) -> ClusterApi {
    let Ok(request) = Request::get(format!("/apis/{GROUP}")).body(Vec::new()) else {
        return ClusterApi::Unknown;
    };
    match client.raw(request).await.map(|answer| answer.status) {
        Ok(status) if status.is_success() || status == StatusCode::SERVICE_UNAVAILABLE => {
            ClusterApi::Registered
        }
        Ok(StatusCode::NOT_FOUND) => ClusterApi::Absent,
        _ => ClusterApi::Unknown,
    }
}

async fn look_at<'a>(
    context: &'a ContextSummary,
    connector: &Connector,
    kubeconfig: &Kubeconfig,
    until: Instant,
) -> (&'a ContextSummary, ClusterApi) {
    let options = ConnectionOptions {
        context: Some(context.name.clone()),
        request_timeout: Some(LONGEST_LOOK),
        ..ConnectionOptions::default()
    };
    let look = async {
        match connector.connect(kubeconfig, &options) {
            Ok(client) => cluster_api(&client).await,
            Err(_) => ClusterApi::Unknown,
        }
    };
    let api = timeout_at(until, look).await.unwrap_or(ClusterApi::Unknown);
    (context, api)
}

const GROUP: &str = "cluster.karmada.io";
const LONGEST_LOOK: Duration = Duration::from_secs(2);
const MOST_CONTEXTS: usize = 64;
