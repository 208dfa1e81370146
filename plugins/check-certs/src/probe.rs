//! Asks servers for their certificates: a handshake each, many at a time, none for longer than it may take.

mod capture;
mod connect;

use std::time::Duration;

use futures::StreamExt;
use futures::stream;
use karmada_repair::cluster::client::ClusterClient;

use crate::observed::Target;

/// What a server showed, in DER, its own certificate first; or why it showed nothing.
pub type Shown = Result<Vec<Vec<u8>>, String>;

/// How servers are asked.
#[derive(Debug, Clone, Copy)]
pub struct Asking {
    /// How many at the same time; at least 1.
    pub concurrency: usize,
    /// How long one may take, from the first packet to its certificates.
    pub allowed: Duration,
}

/// Asks all servers, and answers in their order.
///
/// `host`: the client for ports of pods; without one they show nothing.
pub async fn ask(targets: &[Target], asking: Asking, host: Option<&ClusterClient>) -> Vec<Shown> {
    stream::iter(targets)
        .map(|target| one(target, asking.allowed, host))
        .buffered(asking.concurrency.max(1))
        .collect()
        .await
}

async fn one(target: &Target, allowed: Duration, host: Option<&ClusterClient>) -> Shown {
    let asked = async {
        let stream = connect::connect(target, host).await?;
        capture::certificates(stream, &target.host).await
    };
    tokio::time::timeout(allowed, asked)
        .await
        .unwrap_or_else(|_| {
            Err(format!(
                "no certificate within {}",
                karmada_repair::text::seconds(allowed)
            ))
        })
}

#[cfg(test)]
mod tests;
