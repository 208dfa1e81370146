//! Builds clients: from a kubeconfig and options, or from inside a pod.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use http::header::{HeaderValue, USER_AGENT};
use kube::Config;
use kube::config::{AuthInfo, Cluster};

use crate::cluster::client::{ClientMaterial, ClusterClient, Inner};
use crate::cluster::credential_plugin::CredentialPlugin;
use crate::cluster::error::ClusterError;
use crate::cluster::kubeconfig::{Kubeconfig, without_userinfo};
use crate::cluster::material;
use crate::cluster::options::{ConnectionOptions, Impersonation};
use crate::cluster::proxy::{ProxyRules, effective_port};
use crate::cluster::request_error::Peer;
use crate::cluster::selection::{Selection, is_set};
use crate::cluster::session::Sessions;
use crate::cluster::warnings::{WarningSink, Warnings};
use crate::env::Env;

/// The only builder of clients. Cheap to clone; all its clients show each warning once.
#[derive(Clone)]
pub struct Connector {
    proxies: ProxyRules,
    pod: Option<String>,
    terminal: bool,
    identity: ClientIdentity,
    warnings: Warnings,
}

/// Who a program is to an API server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientIdentity {
    /// The plugin, as `kubectl-karmada-fix-endpoints`: field manager and first half of the User-Agent.
    pub name: String,
    /// Its version, the second half of the User-Agent.
    pub version: String,
}

impl Connector {
    /// `terminal`: whether standard input is a terminal that credential plugins may ask on.
    pub fn new(
        env: &Env,
        identity: ClientIdentity,
        terminal: bool,
        warnings: WarningSink,
    ) -> Connector {
        Connector {
            proxies: ProxyRules::from_env(env),
            pod: pod_server(env),
            terminal,
            identity,
            warnings: Warnings::new(warnings),
        }
    }

    /// A client for the context and overrides that the options name. Sends nothing and runs no credential plugin.
    ///
    /// Without any kubeconfig, inside a pod, it is a client of the pod's cluster as its service account.
    ///
    /// # Errors
    /// Everything that is wrong with the configuration.
    ///
    /// # Panics
    /// Outside a Tokio runtime.
    pub fn connect(
        &self,
        kubeconfig: &Kubeconfig,
        options: &ConnectionOptions,
    ) -> Result<ClusterClient, ClusterError> {
        let selection = self.selection(kubeconfig, options)?;
        self.client(
            &selection,
            options,
            kubectl_flags(kubeconfig, &selection, options),
        )
    }

    /// The same as the user of the kubeconfig, whom that user acts as (`--as`, and `as` in the file) aside.
    ///
    /// # Errors
    /// Everything that is wrong with the configuration.
    pub(crate) fn connect_as_oneself(
        &self,
        kubeconfig: &Kubeconfig,
        options: &ConnectionOptions,
    ) -> Result<ClusterClient, ClusterError> {
        let options = ConnectionOptions {
            impersonation: Impersonation::default(),
            ..options.clone()
        };
        let mut selection = self.selection(kubeconfig, &options)?;
        selection.user = AuthInfo {
            impersonate: None,
            impersonate_uid: None,
            impersonate_groups: None,
            impersonate_user_extra: None,
            ..selection.user
        };
        let flags = kubectl_flags(kubeconfig, &selection, &options);
        self.client(&selection, &options, flags)
    }

    fn selection(
        &self,
        kubeconfig: &Kubeconfig,
        options: &ConnectionOptions,
    ) -> Result<Selection, ClusterError> {
        match (Selection::of(kubeconfig, options), &self.pod) {
            (Err(ClusterError::NoConfiguration { .. }), Some(server))
                if !kubeconfig.is_explicit() =>
            {
                Ok(in_pod(server, Path::new(SERVICE_ACCOUNT), options))
            }
            (selection, _) => selection,
        }
    }

    /// A client of the cluster that this process runs in as a pod, as its service account; `None` = it is in no pod.
    ///
    /// # Errors
    /// Everything that is wrong with the files of the service account.
    ///
    /// # Panics
    /// Outside a Tokio runtime.
    pub fn connect_from_pod(
        &self,
        options: &ConnectionOptions,
    ) -> Option<Result<ClusterClient, ClusterError>> {
        let server = self.pod.as_deref()?;
        let selection = in_pod(server, Path::new(SERVICE_ACCOUNT), options);
        Some(self.client(&selection, options, Vec::new()))
    }

    pub(crate) fn client(
        &self,
        selection: &Selection,
        options: &ConnectionOptions,
        kubectl_flags: Vec<String>,
    ) -> Result<ClusterClient, ClusterError> {
        let deadline = options.request_timeout.unwrap_or(DEFAULT_DEADLINE);
        let mut config = material::config(selection, &self.proxies)?;
        // A little less than the deadline, so that a dead address is told from a slow server.
        config.connect_timeout = Some(deadline.mul_f32(0.9));
        config.headers.push((USER_AGENT, self.user_agent()));
        let peer = Arc::new(Peer {
            kubectl_flags,
            ..peer(selection, &config)
        });
        let material = ClientMaterial::of(&config);
        let sessions = Sessions::new(
            config,
            self.plugin(selection)?,
            options.request_timeout,
            selection.user_label.clone(),
        )?;
        Ok(ClusterClient {
            inner: Arc::new(Inner {
                peer,
                sessions,
                deadline,
                field_manager: self.identity.name.clone(),
                warnings: self.warnings.clone(),
                material,
            }),
        })
    }

    fn plugin(&self, selection: &Selection) -> Result<Option<CredentialPlugin>, ClusterError> {
        let user = &selection.user;
        let has_token = user.token.is_some() || is_set(&user.token_file) || user.username.is_some();
        let Some(exec) = user.exec.as_ref().filter(|_| !has_token) else {
            return Ok(None);
        };
        Ok(Some(CredentialPlugin::of(exec, selection, self.terminal)?))
    }

    fn user_agent(&self) -> HeaderValue {
        let text = format!("{}/{}", self.identity.name, self.identity.version);
        HeaderValue::from_str(&text).unwrap_or(HeaderValue::from_static("kubectl-karmada"))
    }
}

fn peer(selection: &Selection, config: &Config) -> Peer {
    let server = &config.cluster_url;
    let address =
        |url: &http::Uri| format!("{}:{}", url.host().unwrap_or_default(), effective_port(url));
    let proxy_variable = match (&config.proxy_url, is_set(&selection.cluster.proxy_url)) {
        (Some(_), false) if server.scheme_str() == Some("http") => Some("HTTP_PROXY"),
        (Some(_), false) => Some("HTTPS_PROXY"),
        _ => None,
    };
    Peer {
        context: selection.context.clone(),
        server: without_userinfo(&server.to_string())
            .trim_end_matches('/')
            .to_owned(),
        address: address(server),
        proxy: config.proxy_url.as_ref().map(address),
        kubectl_flags: Vec::new(),
        proxy_variable,
    }
}

fn kubectl_flags(
    kubeconfig: &Kubeconfig,
    selection: &Selection,
    options: &ConnectionOptions,
) -> Vec<String> {
    let file = options
        .kubeconfig
        .as_ref()
        .filter(|_| kubeconfig.is_explicit());
    let flags = [
        (
            "--kubeconfig",
            file.map(|path| path.to_string_lossy().into_owned()),
        ),
        ("--context", selection.context.clone()),
        ("--cluster", options.cluster.clone()),
        ("--user", options.user.clone()),
        ("--server", options.server.as_deref().map(without_userinfo)),
        ("--as", options.impersonation.user.clone()),
        ("--as-uid", options.impersonation.uid.clone()),
    ];
    let groups = options
        .impersonation
        .groups
        .iter()
        .map(|group| ("--as-group", group.clone()));
    let given = flags
        .into_iter()
        .filter_map(|(flag, value)| Some((flag, value?)));
    given
        .chain(groups)
        .flat_map(|(flag, value)| [flag.to_owned(), value])
        .collect()
}

/// The API server that the environment of a pod names.
fn pod_server(env: &Env) -> Option<String> {
    let (host, port) = (
        env.var("KUBERNETES_SERVICE_HOST")?,
        env.var("KUBERNETES_SERVICE_PORT")?,
    );
    match host.contains(':') {
        true => Some(format!("https://[{host}]:{port}")),
        false => Some(format!("https://{host}:{port}")),
    }
}

/// The cluster of this pod as its service account
/// (<https://kubernetes.io/docs/tasks/run-application/access-api-from-pod/>).
pub(crate) fn in_pod(
    server: &str,
    service_account: &Path,
    options: &ConnectionOptions,
) -> Selection {
    let file = |name: &str| Some(service_account.join(name).to_string_lossy().into_owned());
    let impersonation = options.impersonation.clone();
    Selection {
        context: None,
        cluster: Cluster {
            server: Some(server.to_owned()),
            certificate_authority: file("ca.crt"),
            ..Cluster::default()
        },
        cluster_label: "the pod's cluster".to_owned(),
        user: AuthInfo {
            token_file: file("token"),
            impersonate: impersonation.user,
            impersonate_uid: impersonation.uid,
            impersonate_groups: Some(impersonation.groups),
            impersonate_user_extra: Some(impersonation.extra.into_iter().collect()),
            ..AuthInfo::default()
        },
        user_label: "the pod's service account".to_owned(),
        user_name: None,
    }
}

const DEFAULT_DEADLINE: Duration = Duration::from_secs(30);
const SERVICE_ACCOUNT: &str = "/var/run/secrets/kubernetes.io/serviceaccount";
