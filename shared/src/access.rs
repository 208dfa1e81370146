//! The servers and the daemon that a run talks to, made once from the flags.

mod loaded;
mod member;
mod on_behalf;
mod server;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock};

use http::Request;
use serde::de::DeserializeOwned;

use crate::cli::connection::{HostOptions, MemberOptions};
use crate::cli::docker::DockerChoice;
use crate::cluster::client::{Answer, ClusterClient};
use crate::cluster::connect::{ClientIdentity, Connector};
use crate::cluster::control_plane::{ControlPlaneError, explain_missing_clusters};
use crate::cluster::error::ClusterError;
use crate::cluster::kubeconfig::Kubeconfig;
use crate::cluster::options::ConnectionOptions;
use crate::cluster::request_error::RequestError;
use crate::docker::client::Docker;
use crate::docker::endpoint::{Located, LocatedBy, locate};
use crate::docker::error::DockerError;
use crate::driver::Need;
use crate::env::Env;
use crate::error::{Explain, Failure, chain};
use crate::exit::Exit;
use crate::io;
use crate::karmada::{CLUSTERS, proxy_path};
use crate::plan::Commands;
use crate::text::shell_word;

pub use member::{MemberApi, NoMember, Way};
pub use on_behalf::NoAnswer;
pub use server::ServerApi;

/// What the flags of every plugin say about servers.
#[derive(Debug, Clone)]
pub struct AccessOptions {
    /// How the control plane is reached.
    pub connection: ConnectionOptions,
    /// How members are reached without the control plane.
    pub members: MemberOptions,
    /// How the cluster that runs the control plane is reached.
    pub host: HostOptions,
    /// Whether the run needs the control plane.
    pub control_plane: Need,
}

/// The way to everything that a run reads and writes; plugins build no client of their own.
pub struct Access {
    plugin: &'static str,
    env: Env,
    options: AccessOptions,
    kubeconfig: Kubeconfig,
    connector: Connector,
    control_plane: Option<ClusterClient>,
    unusable: Option<String>,
    host: Option<ClusterClient>,
    docker: OnceLock<Docker>,
    /// The control plane as the user of the kubeconfig, made when it is first needed.
    oneself: OnceLock<ClusterClient>,
    /// The ways to members that were found, so that one run takes one way to each.
    members: Mutex<BTreeMap<String, MemberApi>>,
}

impl Access {
    /// Prepares the way to the control plane. No request is sent.
    ///
    /// # Errors
    /// Everything that is wrong with the kubeconfig, the context or the flags that replace parts of them.
    ///
    /// # Panics
    /// Outside a Tokio runtime.
    pub fn open(plugin: &'static str, options: AccessOptions, env: Env) -> Result<Access, Failure> {
        let may_lack =
            options.control_plane == Need::Optional && !options.connection.names_a_server();
        let (kubeconfig, unreadable) =
            match Kubeconfig::load(options.connection.kubeconfig.as_deref(), &env) {
                Ok(kubeconfig) => (kubeconfig, None),
                Err(error) if may_lack => (Kubeconfig::blank(), Some(chain(&error))),
                Err(error) => return Err(error.into()),
            };
        let identity = ClientIdentity {
            name: format!("kubectl-karmada-{plugin}"),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        };
        let connector = Connector::new(
            &env,
            identity,
            io::stdin_is_terminal(),
            Arc::new(io::say_server_warning),
        );
        let (control_plane, unusable) = match connector.connect(&kubeconfig, &options.connection) {
            Ok(client) => (Some(client), None),
            Err(ClusterError::NoConfiguration { .. }) if may_lack => (None, unreadable),
            Err(error) if may_lack => (None, Some(chain(&error))),
            Err(error) => return Err(error.into()),
        };
        let host = host(&options, &kubeconfig, &connector, &env)?;
        Ok(Access {
            plugin,
            env,
            options,
            kubeconfig,
            connector,
            control_plane,
            unusable,
            host,
            docker: OnceLock::new(),
            oneself: OnceLock::new(),
            members: Mutex::default(),
        })
    }

    /// The plugin that runs, such as `fix-endpoints`.
    pub fn plugin(&self) -> &'static str {
        self.plugin
    }

    /// The field manager of this plugin's writes, as `kubectl-karmada-fix-endpoints`.
    pub fn field_manager(&self) -> String {
        format!("kubectl-karmada-{}", self.plugin)
    }

    /// The environment of the run.
    pub fn env(&self) -> &Env {
        &self.env
    }

    /// The Karmada control plane.
    ///
    /// # Panics
    /// In a plugin that does not require one ([`Need::Optional`]), where [`Access::control_plane_if_any`] says whether
    /// there is one.
    pub fn control_plane(&self) -> &ClusterClient {
        self.control_plane
            .as_ref()
            .expect("a plugin that requires the control plane is not run without it")
    }

    /// The Karmada control plane; `None` = this run has no way to one.
    pub fn control_plane_if_any(&self) -> Option<&ClusterClient> {
        self.control_plane.as_ref()
    }

    /// Why the kubeconfig that was found leads to no control plane; `None` = it does, or there is no kubeconfig.
    pub fn control_plane_unusable(&self) -> Option<&str> {
        self.unusable.as_deref()
    }

    /// The URL of the control plane's API server; `None` = this run has no way to one.
    pub fn server_name(&self) -> Option<String> {
        let client = self.control_plane.as_ref()?;
        Some(client.server().to_owned())
    }

    /// All `Cluster` objects, or another shape of them, with one request.
    ///
    /// # Errors
    /// When they cannot be listed; a server that is no Karmada control plane is told apart, with the contexts that
    /// are.
    pub async fn clusters<T: DeserializeOwned>(&self) -> Result<Vec<T>, ControlPlaneError> {
        let control_plane = self.control_plane();
        match control_plane.list(CLUSTERS).await {
            Ok(list) => Ok(list.items),
            Err(error) => Err(explain_missing_clusters(
                control_plane,
                error,
                &self.connector,
                &self.kubeconfig,
            )
            .await),
        }
    }

    /// What the control plane's proxy answers to a GET in a member, whatever its status; `path` is below the member's
    /// API server.
    ///
    /// # Errors
    /// Only when there is no answer.
    pub async fn ask_member(&self, cluster: &str, path: &str) -> Result<Answer, RequestError> {
        let path = format!("{}{path}", proxy_path(cluster));
        let request = Request::get(path)
            .body(Vec::new())
            .expect("the name is escaped, so the path is a URI");
        self.control_plane().raw(request).await
    }

    /// The cluster that runs the control plane; `None` = the command line gives no access to it.
    pub fn host(&self) -> Option<&ClusterClient> {
        self.host.as_ref()
    }

    /// The cluster that this process runs in as a pod, as its service account; `None` = it is in no pod.
    ///
    /// # Errors
    /// In words, when the service account cannot be used.
    pub fn pod_cluster(&self) -> Option<Result<ClusterClient, String>> {
        let options = self.options.connection.for_context(None, None);
        let client = self.connector.connect_from_pod(&options)?;
        Some(client.map_err(|error| chain(&error)))
    }

    /// Whether the command line itself says where the control plane or the host cluster is, rather than leaving it to the
    /// kubeconfig that is found.
    pub fn names_a_server(&self) -> bool {
        self.options.connection.names_a_server() || self.options.host.is_given()
    }

    /// The namespace that Karmada runs in, as given (`--karmada-namespace`); `None` = to be detected.
    pub fn karmada_namespace(&self) -> Option<&str> {
        self.options.host.karmada_namespace.as_deref()
    }

    /// The context of the cluster that runs the control plane (`--host-context`); `None` when it was not given.
    pub fn host_context(&self) -> Option<&str> {
        self.options.host.context.as_deref()
    }

    /// The Docker daemon that is meant, found at the first call. No request is sent.
    ///
    /// # Errors
    /// When there is none, or the way to it cannot be understood.
    pub fn docker(&self, choice: &DockerChoice) -> Result<&Docker, DockerError> {
        if let Some(docker) = self.docker.get() {
            return Ok(docker);
        }
        let located: Located = locate(choice, &self.env)?;
        let docker = Docker::connect(&located)?;
        Ok(self.docker.get_or_init(|| docker))
    }

    /// The Docker daemon, if this run has looked for one and found it.
    pub fn docker_in_use(&self) -> Option<&Docker> {
        self.docker.get()
    }

    /// The commands that reach the same servers as this run does; `docker` is which daemon was meant. Members that were
    /// not reached yet are taken to be served by the proxy.
    pub fn commands(&self, docker: &DockerChoice) -> Commands {
        let host = &self.options.host;
        let file = host
            .kubeconfig
            .as_ref()
            .or(self.options.connection.kubeconfig.as_ref());
        // Whoever types the commands is not in the pod.
        let host_flags = if host.is_given() && !host.in_cluster {
            flag("kubeconfig", file.and_then(|file| file.to_str()))
                + &flag("context", host.context.as_deref())
        } else {
            " --kubeconfig HOST-KUBECONFIG".to_owned()
        };
        Commands {
            kubectl: format!("kubectl{}", self.control_plane_flags()),
            host: format!("kubectl{host_flags}"),
            docker: self.docker_command(docker),
            members: self.member_commands(),
            control_plane: self.server_name().unwrap_or_default(),
            field_manager: self.field_manager(),
        }
    }

    /// This plugin with the flags that reach the same servers.
    pub fn own_command(&self) -> String {
        let host = &self.options.host;
        format!(
            "kubectl karmada-{}{}{}{}{}",
            self.plugin,
            self.control_plane_flags(),
            flag(
                "host-kubeconfig",
                host.kubeconfig.as_deref().and_then(Path::to_str)
            ),
            flag("host-context", host.context.as_deref()),
            if host.in_cluster {
                " --host-in-cluster"
            } else {
                ""
            },
        ) + &self.member_flags()
    }

    fn member_flags(&self) -> String {
        let members = &self.options.members;
        let contexts: String = members
            .contexts
            .iter()
            .map(|(member, context)| flag("cluster-context", Some(&format!("{member}={context}"))))
            .collect();
        let file = members.kubeconfig.as_deref().and_then(Path::to_str);
        flag("cluster-kubeconfig", file)
            + &contexts
            + &flag("cluster-context", members.only_context.as_deref())
    }

    /// Whether the loaded kubeconfig has a context of this name.
    pub fn has_context(&self, name: &str) -> bool {
        self.kubeconfig
            .contexts()
            .iter()
            .any(|context| context.name == name)
    }

    fn control_plane_flags(&self) -> String {
        let connection = &self.options.connection;
        let file = connection.kubeconfig.as_deref().and_then(Path::to_str);
        let groups: String = connection
            .impersonation
            .groups
            .iter()
            .map(|group| flag("as-group", Some(group)))
            .collect();
        format!(
            "{}{}{}{groups}",
            flag("kubeconfig", file),
            flag("context", connection.context.as_deref()),
            flag("as", connection.impersonation.user.as_deref()),
        )
    }

    /// `docker` with the flags that reach the daemon as this run does.
    fn docker_command(&self, choice: &DockerChoice) -> String {
        match choice {
            DockerChoice::Host(host) => format!("docker --host {}", shell_word(host)),
            DockerChoice::Context(context) => format!("docker --context {}", shell_word(context)),
            DockerChoice::Found => match self.docker.get().map(Docker::located) {
                Some(located) if found_by_docker(&located.by) => "docker".to_owned(),
                Some(located) => {
                    format!(
                        "docker --host {}",
                        shell_word(&located.endpoint.to_string())
                    )
                }
                None => "docker".to_owned(),
            },
        }
    }
}

fn flag(name: &str, value: Option<&str>) -> String {
    match value {
        Some(value) => format!(" --{name} {}", shell_word(value)),
        None => String::new(),
    }
}

/// What the command line says about the host cluster cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("the host cluster cannot be reached as {flag} says")]
struct HostUnusable {
    flag: &'static str,
    source: ClusterError,
}

impl Explain for HostUnusable {
    fn exit(&self) -> Exit {
        self.source.exit()
    }

    fn hint(&self) -> Option<String> {
        // The others' hints are about the control plane's flags.
        match &self.source {
            ClusterError::NoPod => self.source.hint(),
            _ => None,
        }
    }
}

fn host(
    options: &AccessOptions,
    kubeconfig: &Kubeconfig,
    connector: &Connector,
    env: &Env,
) -> Result<Option<ClusterClient>, Failure> {
    let host = &options.host;
    if !host.is_given() {
        return Ok(None);
    }
    let connection = options
        .connection
        .for_context(host.kubeconfig.clone(), host.context.clone());
    let connect = || match &host.kubeconfig {
        None if host.in_cluster => connector
            .connect_from_pod(&connection)
            .unwrap_or(Err(ClusterError::NoPod)),
        Some(file) => connector.connect(&Kubeconfig::load(Some(file), env)?, &connection),
        None => connector.connect(kubeconfig, &connection),
    };
    let flag = match (&host.context, host.in_cluster) {
        (Some(_), _) => "--host-context",
        (None, true) => "--host-in-cluster",
        (None, false) => "--host-kubeconfig",
    };
    let client = connect().map_err(|source| HostUnusable { flag, source })?;
    Ok(Some(client))
}

/// Whether the docker command finds the daemon in the same way without flags.
fn found_by_docker(by: &LocatedBy) -> bool {
    !matches!(by, LocatedBy::KnownSocket(_))
}
