//! The API server: authentication, authorization and routes.

mod subresources;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt};
use http::{Method, Response};
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use serde_json::{Value, json};

use super::exec::{self, Execution, PodExec, Script};
use super::identity::{self, ImpersonationWording, StaticToken, User};
use super::kinds::{self, Kind, Role};
use super::pages::{self, Page};
use super::patch::Patch;
use super::rbac::{self, Attempt};
use super::refusal::Refusal;
use super::registry::{self, Address, Options, Registry};
use super::request::{self, Query, Resource, Target};
use super::selectors::Selection;
use super::watch::Watch;
use super::{bootstrap, controllers, discovery, escalation, protobuf, reviews, table, watch};
use crate::certificates::{self, Authority};
use crate::listener::Service;
use crate::lock::lock;
use crate::wire::{self, Answer, Body, Call};

/// One API server.
pub(crate) struct ApiServer {
    name: String,
    config: Config,
    authority: Arc<Authority>,
    verifier: Arc<dyn ClientCertVerifier>,
    pub(crate) registry: Arc<Registry>,
    tokens: Mutex<Vec<StaticToken>>,
    proxy: Mutex<Option<Arc<dyn Proxy>>>,
    /// What answers commands in pods; `None` = no container has any program.
    script: Mutex<Option<Script>>,
}

/// How an API server behaves.
#[derive(Debug, Clone)]
pub(crate) struct Config {
    pub(crate) role: Role,
    /// `gitVersion` of `/version`.
    pub(crate) version: String,
    /// Whether requests without credentials are somebody (`system:anonymous`); k3s turns this off.
    pub(crate) anonymous: bool,
    pub(crate) wording: ImpersonationWording,
    /// Whether Deployments are rolled out as soon as they are written.
    pub(crate) rolls_out: bool,
    /// Whether requests come through an aggregator that has the authority's certificate, names the user in headers,
    /// and has authorized the request already.
    pub(crate) behind_aggregator: bool,
}

/// What serves `clusters/NAME/proxy`.
pub(crate) trait Proxy: Send + Sync + 'static {
    /// Forwards `call` to the member, as `user`.
    fn forward(
        &self,
        cluster: String,
        user: User,
        call: Call,
    ) -> BoxFuture<'static, Response<Body>>;
}

/// What a route made: an object with its HTTP status, or an answer of another kind.
enum Outcome {
    Object(u16, Value),
    Response(Response<Body>),
}

impl ApiServer {
    pub(crate) fn new(name: &str, config: Config, authority: Arc<Authority>) -> Self {
        let mut roots = rustls::RootCertStore::empty();
        roots
            .add(authority.certificate().clone())
            .expect("the authority was made by this lab");
        let verifier =
            WebPkiClientVerifier::builder_with_provider(Arc::new(roots), certificates::provider())
                .build()
                .expect("there is one root");
        let surroundings = controllers::Surroundings {
            authority: authority.pem().to_owned(),
            rolls_out: config.rolls_out,
            runs_pods: config.role == Role::Cluster,
        };
        let registry = Arc::new(Registry::new(surroundings));
        bootstrap::seed(&registry);
        Self {
            name: name.to_owned(),
            config,
            authority,
            verifier,
            registry,
            tokens: Mutex::default(),
            proxy: Mutex::default(),
            script: Mutex::default(),
        }
    }

    pub(crate) fn authority(&self) -> &Authority {
        &self.authority
    }

    /// Makes a bearer token of this user valid.
    pub(crate) fn add_token(&self, token: &str, user: User) {
        lock(&self.tokens).push(StaticToken {
            token: token.to_owned(),
            user,
        });
    }

    /// Installs or removes what serves `clusters/NAME/proxy`.
    pub(crate) fn set_proxy(&self, proxy: Option<Arc<dyn Proxy>>) {
        *lock(&self.proxy) = proxy;
    }

    /// Lets this answer commands in pods.
    pub(crate) fn set_script(&self, script: Script) {
        *lock(&self.script) = Some(script);
    }

    /// Carries out a request as an administrator, without network, record or faults.
    pub(crate) fn direct(
        &self,
        method: Method,
        target: &str,
        content_type: &str,
        body: &Value,
    ) -> Result<Value, Refusal> {
        self.direct_as("lab", method, target, content_type, body)
    }

    pub(crate) fn direct_as(
        &self,
        manager: &str,
        method: Method,
        target: &str,
        content_type: &str,
        body: &Value,
    ) -> Result<Value, Refusal> {
        let (path, query) = target
            .split_once('?')
            .map_or((target, None), |(path, query)| (path, Some(query)));
        let Target::Resource(resource) = Target::parse(path) else {
            return Err(Refusal::unknown_path());
        };
        let mut headers = http::HeaderMap::new();
        for (name, value) in [
            (http::header::CONTENT_TYPE, content_type),
            (http::header::USER_AGENT, manager),
        ] {
            headers.insert(
                name,
                value.parse().expect("the lab writes plain header values"),
            );
        }
        let bytes = if body.is_null() {
            Vec::new()
        } else {
            body.to_string().into_bytes()
        };
        let query = query.map(str::to_owned);
        let call = Call {
            method,
            path: path.to_owned(),
            query,
            headers,
            body: bytes.into(),
            certificate: None,
            upgrade: None,
        };
        let user = User::new("system:admin", &[rbac::MASTERS]);
        match self.route(
            &user,
            &resource,
            &Query::parse(call.query.as_deref()),
            &call,
        )? {
            Outcome::Object(_, object) => Ok(object),
            Outcome::Response(_) => Err(Refusal::method_not_allowed()),
        }
    }

    /// The objects of a kind as kubectl prints their table.
    pub(crate) fn printed(&self, group: &str, resource: &str) -> String {
        let kind = kinds::known(group, resource);
        let (objects, revision) = self.registry.list(kind, None, &Selection::default());
        table::print(&table::render(kind, &objects, &revision.to_string()))
    }

    async fn respond(self: Arc<Self>, call: Call) -> Answer {
        let query = Query::parse(call.query.as_deref());
        let target = Target::parse(&call.path);
        let user = match self.admit(&target, &query, &call) {
            Ok(user) => user,
            Err((user, refusal)) => {
                return Answer {
                    response: wire::refusal(&refusal),
                    user,
                };
            }
        };
        let response = match &target {
            Target::Path(path) => self.document(path, &call),
            Target::Resource(resource) if resource.subresource == "proxy" => {
                self.proxy(resource, &user, call).await
            }
            Target::Resource(resource) if resource.subresource == "exec" => self
                .exec(resource, &query, &call)
                .unwrap_or_else(|refusal| wire::refusal(&refusal)),
            Target::Resource(resource) => match self.route(&user, resource, &query, &call) {
                Ok(Outcome::Object(code, object)) => wire::json(code, &object),
                Ok(Outcome::Response(response)) => response,
                Err(refusal) => wire::refusal(&refusal),
            },
        };
        Answer {
            response,
            user: Some(user.name),
        }
    }

    /// Authenticates, impersonates and authorizes. An error carries the user, if one was found.
    fn admit(
        &self,
        target: &Target,
        query: &Query,
        call: &Call,
    ) -> Result<User, (Option<String>, Refusal)> {
        let user = self
            .authenticate(call)
            .ok_or_else(|| (None, Refusal::unauthorized()))?;
        if self.config.behind_aggregator {
            return Ok(user);
        }
        let path_verb = request::path_verb(&call.method);
        let attempt = match target {
            Target::Path(path) => Attempt::Path {
                verb: &path_verb,
                path,
            },
            Target::Resource(resource) => Attempt::Resource {
                verb: resource.verb(&call.method, query),
                group: &resource.group,
                resource: &resource.resource,
                subresource: &resource.subresource,
                namespace: &resource.namespace,
                name: &resource.name,
            },
        };
        self.registry.with_store(|store| {
            let found = Some(user.name.clone());
            let impersonated =
                identity::impersonated(store, &user, &call.headers, self.config.wording, &attempt);
            let user = impersonated
                .map_err(|refusal| (found, refusal))?
                .unwrap_or(user);
            if rbac::allows(store, &user, &attempt) {
                Ok(user)
            } else {
                let refusal = rbac::forbidden(&user, &attempt);
                Err((Some(user.name), refusal))
            }
        })
    }

    fn authenticate(&self, call: &Call) -> Option<User> {
        if self.config.behind_aggregator {
            self.of_certificate(call.certificate.as_ref()?)?;
            return identity::of_front_proxy(&call.headers);
        }
        if let Some(user) = call
            .certificate
            .as_ref()
            .and_then(|certificate| self.of_certificate(certificate))
        {
            return Some(user);
        }
        if let Some(token) = identity::bearer(&call.headers) {
            let tokens = lock(&self.tokens);
            return self
                .registry
                .with_store(|store| identity::of_token(store, &tokens, token));
        }
        let bare =
            call.certificate.is_none() && !call.headers.contains_key(http::header::AUTHORIZATION);
        (bare && self.config.anonymous).then(User::anonymous)
    }

    fn of_certificate(&self, certificate: &CertificateDer<'static>) -> Option<User> {
        self.verifier
            .verify_client_cert(certificate, &[], UnixTime::now())
            .ok()?;
        identity::of_certificate(certificate)
    }

    fn document(&self, path: &str, call: &Call) -> Response<Body> {
        if call.method != Method::GET && call.method != Method::HEAD {
            return wire::refusal(&Refusal::method_not_allowed());
        }
        let role = self.config.role;
        let segments: Vec<&str> = path.trim_matches('/').split('/').collect();
        let document = match segments.as_slice() {
            ["healthz" | "livez" | "readyz", ..] => return wire::text(200, "ok"),
            [""] => Some(
                json!({"paths": ["/api", "/api/v1", "/apis", "/healthz", "/livez", "/openapi/v3", "/readyz", "/version"]}),
            ),
            ["version"] => Some(discovery::version(&self.config.version)),
            ["api"] => Some(discovery::core_versions()),
            ["apis"] => Some(discovery::groups(role)),
            ["api", version] => discovery::resources(role, "", version),
            ["apis", group] => discovery::group(role, group),
            ["apis", group, version] => discovery::resources(role, group, version),
            ["openapi", "v3"] => Some(discovery::openapi_index(role)),
            ["openapi", "v3", rest @ ..] => discovery::openapi(role, &rest.join("/")),
            _ => None,
        };
        match document {
            Some(document) => wire::json(200, &document),
            None => wire::text(404, "404 page not found\n"),
        }
    }

    fn exec(
        &self,
        resource: &Resource,
        query: &Query,
        call: &Call,
    ) -> Result<Response<Body>, Refusal> {
        let kind = kinds::find(
            self.config.role,
            &resource.group,
            &resource.version,
            &resource.resource,
        )
        .filter(|kind| kind.subresources.contains(&"exec") && resource.rest.is_empty())
        .ok_or_else(Refusal::unknown_path)?;
        let address = Address::of(kind, &resource.namespace, &resource.name);
        let pod = self.registry.read(address)?;
        let script = lock(&self.script)
            .clone()
            .unwrap_or_else(|| Arc::new(|_: &PodExec| Execution::NoSuchProgram));
        exec::answer(&pod, resource, query, call, script)
    }

    async fn proxy(&self, resource: &Resource, user: &User, call: Call) -> Response<Body> {
        let known = kinds::find(
            self.config.role,
            &resource.group,
            &resource.version,
            &resource.resource,
        );
        let proxy = lock(&self.proxy).clone();
        match (known, proxy) {
            (Some(kind), Some(proxy)) if kind.subresources.contains(&"proxy") => {
                proxy
                    .forward(resource.name.clone(), user.clone(), call)
                    .await
            }
            _ => wire::refusal(&Refusal::unknown_path()),
        }
    }

    fn route(
        &self,
        user: &User,
        resource: &Resource,
        query: &Query,
        call: &Call,
    ) -> Result<Outcome, Refusal> {
        if let Some(answer) = self.review(user, resource, call)? {
            return Ok(Outcome::Object(201, answer));
        }
        let kind = kinds::find(
            self.config.role,
            &resource.group,
            &resource.version,
            &resource.resource,
        )
        .filter(|kind| {
            resource.rest.is_empty() && (kind.namespaced || resource.namespace.is_empty())
        })
        .ok_or_else(Refusal::unknown_path)?;
        let subresource = resource.subresource.as_str();
        if !subresource.is_empty() && !kind.subresources.contains(&subresource) {
            return Err(Refusal::unknown_path());
        }
        if kind.namespaced && resource.namespace.is_empty() && !resource.name.is_empty() {
            return Err(Refusal::unknown_path());
        }
        if subresource == "token" {
            return self.issue_token(kind, resource, call);
        }
        if subresource == "scale" {
            return self.scale(kind, resource, call);
        }
        let address = Address {
            kind,
            namespace: &resource.namespace,
            name: &resource.name,
            subresource,
        };
        let options = Options {
            dry_run: query.dry_run(),
            manager: query.value("fieldManager").map_or_else(
                || registry::default_manager(call.header(http::header::USER_AGENT)),
                str::to_owned,
            ),
            force: query.is_true("force"),
        };
        match (&call.method, resource.name.is_empty()) {
            (&Method::GET | &Method::HEAD, _) => self.read(address, query, call),
            (&Method::POST, true) => {
                let object = body(call)?;
                self.escalates_nothing(user, kind, &object)?;
                let object = self
                    .registry
                    .create(kind, address.namespace, object, &options)?;
                Ok(Outcome::Object(201, object))
            }
            (&Method::PUT, false) => {
                let object = body(call)?;
                self.escalates_nothing(user, kind, &object)?;
                self.registry
                    .update(address, object, &options)
                    .map(|object| Outcome::Object(200, object))
            }
            (&Method::PATCH, false) => {
                let patch = Patch::parse(call.header(http::header::CONTENT_TYPE), &call.body)?;
                if matches!(patch, Patch::Apply(_)) && query.value("fieldManager").is_none() {
                    return Err(Refusal::new(
                        422,
                        "Invalid",
                        "PatchOptions.meta.k8s.io \"\" is invalid: fieldManager: Required value: is required for apply patch",
                    ));
                }
                if kind.group == escalation::GROUP {
                    let rehearsal = Options {
                        dry_run: true,
                        ..options.clone()
                    };
                    let (object, _) = self.registry.patch(address, patch.clone(), &rehearsal)?;
                    self.escalates_nothing(user, kind, &object)?;
                }
                let (object, created) = self.registry.patch(address, patch, &options)?;
                Ok(Outcome::Object(if created { 201 } else { 200 }, object))
            }
            (&Method::DELETE, _) => self.delete(address, query, call, options),
            _ => Err(Refusal::method_not_allowed()),
        }
    }

    fn escalates_nothing(
        &self,
        user: &User,
        kind: &'static Kind,
        object: &Value,
    ) -> Result<(), Refusal> {
        self.registry
            .with_store(|store| escalation::check(store, user, kind, object))
    }

    fn read(&self, address: Address, query: &Query, call: &Call) -> Result<Outcome, Refusal> {
        let as_table = call.header(http::header::ACCEPT).contains("as=Table");
        let selection = Selection::parse(query)?;
        let namespace = (!address.namespace.is_empty()).then_some(address.namespace);
        if query.is_true("watch") {
            if query.is_true("sendInitialEvents") {
                let cause = "sendInitialEvents: Forbidden: sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled";
                return Err(Refusal::new(
                    422,
                    "Invalid",
                    format!("ListOptions.meta.k8s.io \"\" is invalid: {cause}"),
                ));
            }
            let selection = if address.name.is_empty() {
                selection
            } else {
                selection.by_name(address.name)
            };
            let since = query
                .value("resourceVersion")
                .and_then(|text| text.parse().ok())
                .filter(|revision| *revision > 0);
            let seconds = query
                .value("timeoutSeconds")
                .and_then(|text| text.parse().ok())
                .unwrap_or(1800);
            let body = watch::body(Watch {
                registry: self.registry.clone(),
                kind: address.kind,
                namespace: namespace.map(str::to_owned),
                selection,
                since,
                as_table,
                timeout: Duration::from_secs(seconds),
            });
            let mut response = Response::new(body);
            let json = http::HeaderValue::from_static("application/json");
            response
                .headers_mut()
                .insert(http::header::CONTENT_TYPE, json);
            return Ok(Outcome::Response(response));
        }
        if !address.name.is_empty() {
            let object = self.registry.read(address)?;
            let revision = object["metadata"]["resourceVersion"]
                .as_str()
                .unwrap_or_default()
                .to_owned();
            let shown = if as_table {
                table::render(address.kind, &[object], &revision)
            } else {
                object
            };
            return Ok(Outcome::Object(200, shown));
        }
        let (objects, revision) = self.registry.list(address.kind, namespace, &selection);
        let revision = revision.to_string();
        let Page { objects, rest } = pages::page(objects, query)?;
        let mut list = match as_table {
            true => table::render(address.kind, &objects, &revision),
            false => json!({
                "kind": format!("{}List", address.kind.kind), "apiVersion": address.kind.api_version(),
                "metadata": {"resourceVersion": revision}, "items": objects,
            }),
        };
        for (name, value) in rest {
            list["metadata"][name] = value;
        }
        Ok(Outcome::Object(200, list))
    }

    fn delete(
        &self,
        address: Address,
        query: &Query,
        call: &Call,
        mut options: Options,
    ) -> Result<Outcome, Refusal> {
        let sent = call.json()?;
        if !sent.is_null() {
            // Options in the body replace those in the query.
            options.dry_run = sent["dryRun"]
                .as_array()
                .is_some_and(|values| values.iter().any(|value| value == "All"));
        }
        if !address.name.is_empty() {
            let last = self
                .registry
                .delete(address, &sent["preconditions"], &options)?;
            let kind = address.kind;
            if !last["metadata"]["deletionTimestamp"].is_null() {
                return Ok(Outcome::Object(200, last));
            }
            let details = json!({"name": address.name, "group": kind.group, "kind": kind.resource, "uid": last["metadata"]["uid"]});
            let status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details});
            return Ok(Outcome::Object(200, status));
        }
        let namespace = (!address.namespace.is_empty()).then_some(address.namespace);
        let (doomed, _) = self
            .registry
            .list(address.kind, namespace, &Selection::parse(query)?);
        for object in &doomed {
            let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default();
            let each = Address::of(address.kind, text("namespace"), text("name"));
            self.registry.delete(each, &Value::Null, &options)?;
        }
        Ok(Outcome::Object(
            200,
            json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}),
        ))
    }

    fn review(
        &self,
        user: &User,
        resource: &Resource,
        call: &Call,
    ) -> Result<Option<Value>, Refusal> {
        let group = discovery::REVIEWS
            .iter()
            .find(|(_, name, _)| *name == resource.resource);
        if call.method != Method::POST || group.is_none_or(|(group, _, _)| *group != resource.group)
        {
            return Ok(None);
        }
        let sent = call.json()?;
        let tokens = lock(&self.tokens);
        Ok(self
            .registry
            .with_store(|store| reviews::answer(store, &tokens, user, &resource.resource, &sent)))
    }
}

impl Service for ApiServer {
    fn name(&self) -> &str {
        &self.name
    }

    fn answer(self: Arc<Self>, call: Call) -> BoxFuture<'static, Answer> {
        self.respond(call).boxed()
    }
}

fn body(call: &Call) -> Result<Value, Refusal> {
    let content_type = call.header(http::header::CONTENT_TYPE);
    if content_type.starts_with(protobuf::CONTENT_TYPE) {
        return protobuf::decode(&call.body);
    }
    if !content_type.is_empty() && !content_type.starts_with("application/json") {
        return Err(Refusal::unsupported_media_type(
            "the body of the request was in an unknown format - accepted media types include: application/json",
        ));
    }
    call.json()
}
