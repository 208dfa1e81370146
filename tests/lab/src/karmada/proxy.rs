//! `clusters/NAME/proxy`: requests forwarded to a member with the impersonator's token.

use std::sync::Arc;
use std::time::Duration;

use futures::TryStreamExt;
use futures::future::{BoxFuture, FutureExt};
use http::header::{
    AUTHORIZATION, CONNECTION, CONTENT_LENGTH, HOST, HeaderName, HeaderValue, TRANSFER_ENCODING,
    UPGRADE,
};
use http::{Method, Request, Response, StatusCode, Version};
use http_body_util::{BodyStream, Full, StreamBody};
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::io::copy_bidirectional;
use url::Url;

use super::dial::Dialer;
use super::member::{self, Member};
use super::objects::{CLUSTERS, Objects};
use super::trust::Trust;
use crate::api::identity::User;
use crate::api::refusal::Refusal;
use crate::api::server::Proxy;
use crate::requests::FORWARDED;
use crate::wire::{self, Body, Call};

/// The cluster proxy of Karmada's aggregated API server.
pub(crate) struct ClusterProxy {
    pub(crate) objects: Arc<dyn Objects>,
    pub(crate) dialer: Arc<dyn Dialer>,
    pub(crate) timeout: Duration,
}

impl Proxy for ClusterProxy {
    fn forward(
        &self,
        cluster: String,
        user: User,
        call: Call,
    ) -> BoxFuture<'static, Response<Body>> {
        let (objects, dialer, timeout) = (self.objects.clone(), self.dialer.clone(), self.timeout);
        async move {
            let forwarded = async {
                let member = open(&cluster, &*objects, dialer, timeout).await?;
                forward(&member, &user, call).await
            };
            forwarded
                .await
                .unwrap_or_else(|refusal| wire::refusal(&refusal))
        }
        .boxed()
    }
}

/// The member as its impersonator, read afresh for every request.
async fn open(
    name: &str,
    objects: &dyn Objects,
    dialer: Arc<dyn Dialer>,
    timeout: Duration,
) -> Result<Member, Refusal> {
    let cluster = objects
        .call(Method::GET, &format!("{CLUSTERS}/{name}"), Value::Null)
        .await?;
    let spec = &cluster["spec"];
    let endpoint = spec["apiEndpoint"].as_str().unwrap_or_default();
    let url = Url::parse(endpoint)
        .map_err(|error| failed(format!("failed to parse api endpoint {endpoint}: {error}")))?;
    let authority = if spec["secretRef"].is_object() {
        let secret = member::referenced(&spec["secretRef"], objects).await?;
        member::key(&secret, "caBundle")
    } else {
        None
    };
    let reference = &spec["impersonatorSecretRef"];
    let token = if reference.is_object() {
        let secret = member::referenced(reference, objects).await?;
        member::key(&secret, "token")
            .filter(|token| !token.is_empty())
            .ok_or_else(|| failed(format!("failed to get impresonateToken for cluster {name}: the impresonate token of cluster {name} is empty")))
    } else {
        Err(failed(format!(
            "the impersonatorSecretRef of cluster {name} is nil"
        )))
    }?;
    let insecure = spec["insecureSkipTLSVerification"] == true;
    Ok(Member {
        dialer,
        endpoint: url,
        proxy: member::proxy(spec),
        trust: Trust {
            authority,
            insecure,
            tls13_only: true,
        },
        token: String::from_utf8_lossy(&token).into_owned(),
        timeout,
    })
}

async fn forward(member: &Member, user: &User, call: Call) -> Result<Response<Body>, Refusal> {
    // What follows `.../clusters/NAME/proxy`, with its escapes.
    let rest = call.path.splitn(8, '/').nth(7).unwrap_or_default();
    let path = format!("/{rest}");
    let target = call
        .query
        .as_ref()
        .map_or_else(|| path.clone(), |query| format!("{path}?{query}"));
    let mut request = Request::builder()
        .method(call.method.clone())
        .uri(target)
        .body(Full::new(call.body.clone()))
        .map_err(failed)?;
    for (name, value) in &call.headers {
        if !stays_behind(name) {
            request.headers_mut().append(name.clone(), value.clone());
        }
    }
    let headers = request.headers_mut();
    // Go's client sends what is beyond ASCII as it is.
    let value = |text: &str| HeaderValue::from_bytes(text.as_bytes()).map_err(failed);
    headers.insert("impersonate-user", value(&user.name)?);
    for group in user
        .groups
        .iter()
        .filter(|group| !SKIPPED_GROUPS.contains(&group.as_str()))
    {
        headers.append("impersonate-group", value(group)?);
    }
    headers.insert(FORWARDED, HeaderValue::from_static("true"));
    if headers.contains_key(UPGRADE) {
        headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    }
    let answer = member.send(request).await;
    let mut answer = answer.map_err(failed)?;
    if answer.status() == StatusCode::SWITCHING_PROTOCOLS {
        let far = hyper::upgrade::on(&mut answer);
        if let Some(near) = call.upgrade {
            tokio::spawn(carry(near, far));
        }
        return Ok(answer.map(|_| wire::full("")));
    }
    let (mut parts, body) = answer.into_parts();
    parts.version = Version::HTTP_11;
    for name in [CONNECTION, TRANSFER_ENCODING] {
        parts.headers.remove(name);
    }
    let frames = BodyStream::new(body).map_err(std::io::Error::other);
    Ok(Response::from_parts(
        parts,
        wire::stream(StreamBody::new(frames)),
    ))
}

/// Carries the bytes of a connection that changed its protocol, both ways until one side ends.
async fn carry(near: OnUpgrade, far: OnUpgrade) {
    if let (Ok(near), Ok(far)) = (near.await, far.await) {
        // Whoever is cut off notices by itself.
        let _ = copy_bidirectional(&mut TokioIo::new(near), &mut TokioIo::new(far)).await;
    }
}

/// Headers that concern the hop to the control plane, or that decide who the member sees.
fn stays_behind(name: &HeaderName) -> bool {
    [
        AUTHORIZATION,
        CONNECTION,
        CONTENT_LENGTH,
        HOST,
        TRANSFER_ENCODING,
    ]
    .contains(name)
        || name.as_str().starts_with("impersonate-")
        || name.as_str().starts_with("x-remote-")
}

/// A failure that is no `Status` of its own: 500 without a reason, a member that cannot be reached included.
fn failed(message: impl std::fmt::Display) -> Refusal {
    Refusal::new(500, "", message.to_string())
}

const SKIPPED_GROUPS: &[&str] = &["system:authenticated", "system:unauthenticated"];
