//! The seam between Karmada's components and the API server that stores their objects.

use std::sync::Arc;

use futures::future::BoxFuture;
use http::Method;
use serde_json::Value;

use crate::api::refusal::Refusal;
use crate::api::server::ApiServer;

/// Reads and writes objects of a control plane with full rights.
pub(crate) trait Objects: Send + Sync + 'static {
    /// Carries out one API request; a PATCH is a merge patch (RFC 7386), a null `body` is none.
    fn call<'a>(
        &'a self,
        method: Method,
        path: &'a str,
        body: Value,
    ) -> BoxFuture<'a, Result<Value, Refusal>>;
}

/// An embedded API server, written to by one of Karmada's programs.
pub(crate) struct Acting {
    pub(crate) server: Arc<ApiServer>,
    /// The field manager.
    pub(crate) manager: &'static str,
}

impl Objects for Acting {
    fn call<'a>(
        &'a self,
        method: Method,
        path: &'a str,
        body: Value,
    ) -> BoxFuture<'a, Result<Value, Refusal>> {
        let content_type = if method == Method::PATCH {
            "application/merge-patch+json"
        } else {
            "application/json"
        };
        let done = self
            .server
            .direct_as(self.manager, method, path, content_type, &body);
        Box::pin(std::future::ready(done))
    }
}

/// The path of the Clusters.
pub(crate) const CLUSTERS: &str = "/apis/cluster.karmada.io/v1alpha1/clusters";
