//! The flags that say which clusters are meant and how to reach them. Pure.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::{Args, ValueHint};
use jiff::fmt::friendly::SpanParser;
use secrecy::SecretString;

use crate::cluster::options::{ConnectionOptions, Impersonation};
use crate::error::UsageError;

/// How to reach the Karmada control plane: kubectl's own flags.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Connection")]
pub struct ConnectionFlags {
    /// Path to the kubeconfig file of the Karmada control plane
    #[arg(long, value_name = "FILE", value_parser = path(), value_hint = ValueHint::FilePath)]
    kubeconfig: Option<PathBuf>,
    /// The name of the kubeconfig context of the Karmada control plane
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
    /// The same as --context
    #[arg(long, value_name = "NAME")]
    karmada_context: Option<String>,
    /// The name of the kubeconfig cluster to use
    #[arg(long, value_name = "NAME")]
    cluster: Option<String>,
    /// The name of the kubeconfig user to use
    #[arg(id = KUBECONFIG_USER, long = "user", value_name = "NAME")]
    user: Option<String>,
    /// The address and port of the Kubernetes API server
    #[arg(short, long, value_name = "URL")]
    server: Option<String>,
    /// Bearer token for authentication to the API server
    #[arg(long, value_name = "TOKEN", value_parser = secret)]
    token: Option<SecretString>,
    /// Username for basic authentication to the API server
    #[arg(long, value_name = "NAME")]
    username: Option<String>,
    /// Password for basic authentication to the API server
    #[arg(long, value_name = "PASSWORD", value_parser = secret)]
    password: Option<SecretString>,
    /// Path to a cert file for the certificate authority
    #[arg(long, value_name = "FILE", value_parser = path(), value_hint = ValueHint::FilePath)]
    certificate_authority: Option<PathBuf>,
    /// Path to a client certificate file for TLS
    #[arg(long, value_name = "FILE", value_parser = path(), value_hint = ValueHint::FilePath)]
    client_certificate: Option<PathBuf>,
    /// Path to a client key file for TLS
    #[arg(long, value_name = "FILE", value_parser = path(), value_hint = ValueHint::FilePath)]
    client_key: Option<PathBuf>,
    /// Server name to use for server certificate validation
    #[arg(long, value_name = "NAME")]
    tls_server_name: Option<String>,
    /// Do not check the server's certificate for validity; this makes your HTTPS connections insecure
    #[arg(long)]
    insecure_skip_tls_verify: bool,
    /// Username to impersonate for the operation
    #[arg(long = "as", value_name = "USER")]
    as_user: Option<String>,
    /// Group to impersonate for the operation; can be repeated
    #[arg(long, value_name = "GROUP")]
    as_group: Vec<String>,
    /// UID to impersonate for the operation
    #[arg(long, value_name = "UID")]
    as_uid: Option<String>,
    /// User extra to impersonate for the operation, as key=value; can be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    as_user_extra: Vec<String>,
    /// The length of time to wait before giving up on a single server request, as 5, 5s or 1m30s [default: 30s]
    #[arg(long, value_name = "TIME")]
    request_timeout: Option<String>,
    /// Opt out of response compression for all requests to the server
    #[arg(long)]
    disable_compression: bool,
}

impl ConnectionFlags {
    /// What the flags ask for.
    ///
    /// # Errors
    /// Values that cannot be followed, and flags that contradict each other.
    pub fn resolve(self) -> Result<ConnectionOptions, UsageError> {
        let context = match (filled(self.context), filled(self.karmada_context)) {
            (Some(one), Some(other)) if one != other => {
                return Err(UsageError::new(
                    "--context and --karmada-context name different contexts",
                ));
            }
            (one, other) => one.or(other),
        };
        if self.token.is_some() && (self.username.is_some() || self.password.is_some()) {
            return Err(UsageError::new(
                "more than one authentication method found on the command line; found [token basicAuth], only one is allowed",
            ));
        }
        let acts_with =
            !self.as_group.is_empty() || self.as_uid.is_some() || !self.as_user_extra.is_empty();
        if acts_with && self.as_user.as_deref().is_none_or(str::is_empty) {
            return Err(UsageError::new(
                "--as-group, --as-uid and --as-user-extra need somebody to act as: --as USER",
            ));
        }
        Ok(ConnectionOptions {
            kubeconfig: filled_path(self.kubeconfig),
            context,
            cluster: filled(self.cluster),
            user: filled(self.user),
            server: filled(self.server),
            tls_server_name: filled(self.tls_server_name),
            certificate_authority: filled_path(self.certificate_authority),
            insecure_skip_tls_verify: self.insecure_skip_tls_verify,
            disable_compression: self.disable_compression,
            token: self.token,
            username: filled(self.username),
            password: self.password,
            client_certificate: filled_path(self.client_certificate),
            client_key: filled_path(self.client_key),
            impersonation: Impersonation {
                user: filled(self.as_user),
                uid: filled(self.as_uid),
                groups: self.as_group,
                extra: extra(&self.as_user_extra)?,
            },
            request_timeout: self
                .request_timeout
                .as_deref()
                .map(request_timeout)
                .transpose()?,
        })
    }
}

/// How to reach the member clusters from here.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Connection")]
pub struct MemberFlags {
    /// Path to the kubeconfig file of the member clusters
    #[arg(long, value_name = "FILE", value_parser = path(), value_hint = ValueHint::FilePath)]
    cluster_kubeconfig: Option<PathBuf>,
    /// The name of the kubeconfig context of a member cluster; MEMBER= can be left out when one member is selected
    #[arg(long, value_name = "[MEMBER=]CONTEXT")]
    cluster_context: Vec<String>,
}

impl MemberFlags {
    /// What the flags ask for.
    ///
    /// # Errors
    /// Two contexts for one member.
    pub fn resolve(self) -> Result<MemberOptions, UsageError> {
        let mut options = MemberOptions {
            kubeconfig: filled_path(self.cluster_kubeconfig),
            ..MemberOptions::default()
        };
        for value in self
            .cluster_context
            .into_iter()
            .filter(|value| !value.is_empty())
        {
            let (member, context) = match value.split_once('=') {
                Some((member, context)) if is_cluster_name(member) => {
                    (Some(member.to_owned()), context.to_owned())
                }
                _ => (None, value),
            };
            let label = member
                .clone()
                .unwrap_or_else(|| "the selected member".to_owned());
            if context.is_empty() {
                return Err(UsageError::new(format!(
                    "--cluster-context names no context for {label}"
                )));
            }
            let former = match member {
                Some(member) => options.contexts.insert(member, context.clone()),
                None => options.only_context.replace(context.clone()),
            };
            if former.is_some_and(|former| former != context) {
                return Err(UsageError::new(format!(
                    "--cluster-context names two contexts for {label}"
                )));
            }
        }
        Ok(options)
    }
}

/// The member clusters that a command line names, each once, in the order in which they are named; empty = all.
///
/// # Errors
/// An empty name.
pub fn named_once(names: impl IntoIterator<Item = String>) -> Result<Vec<String>, UsageError> {
    let mut members: Vec<String> = Vec::new();
    for name in names {
        if name.is_empty() {
            return Err(UsageError::new("a cluster name is empty"));
        }
        if !members.contains(&name) {
            members.push(name);
        }
    }
    Ok(members)
}

/// Which kubeconfig and contexts lead to the members.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MemberOptions {
    /// The kubeconfig file; `None` = the one of the control plane.
    pub kubeconfig: Option<PathBuf>,
    /// Contexts by the name of the member.
    pub contexts: BTreeMap<String, String>,
    /// The context of the one member that is selected; `None` = not given.
    pub only_context: Option<String>,
}

impl MemberOptions {
    /// The contexts that are named, by the name of the selected member.
    ///
    /// # Errors
    /// A context without a member where several are selected, and members that are not.
    pub fn contexts_of(&self, selected: &[&str]) -> Result<BTreeMap<String, String>, UsageError> {
        if let Some(member) = self
            .contexts
            .keys()
            .find(|member| !selected.contains(&member.as_str()))
        {
            let message = format!(
                "--cluster-context names {member}, which is not among the selected clusters"
            );
            return Err(UsageError::new(message));
        }
        let mut contexts = self.contexts.clone();
        match (&self.only_context, selected) {
            (None, _) => {}
            (Some(context), [member]) => {
                let former = contexts.insert((*member).to_owned(), context.clone());
                if former.is_some_and(|former| former != *context) {
                    return Err(UsageError::new(format!(
                        "--cluster-context names two contexts for {member}"
                    )));
                }
            }
            (Some(context), selected) => {
                let message = format!(
                    "--cluster-context {context} does not say for which of {} clusters",
                    selected.len()
                );
                let hint = format!("write --cluster-context MEMBER={context}");
                return Err(UsageError::new(message).with_hint(hint));
            }
        }
        Ok(contexts)
    }
}

/// How to reach the cluster that runs Karmada.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Connection")]
pub struct HostFlags {
    /// Path to the kubeconfig file of the cluster that runs Karmada
    #[arg(long, value_name = "FILE", value_parser = path(), value_hint = ValueHint::FilePath)]
    host_kubeconfig: Option<PathBuf>,
    /// The name of the kubeconfig context of the cluster that runs Karmada
    #[arg(long, value_name = "NAME")]
    host_context: Option<String>,
    /// The cluster that runs Karmada is the one that this runs in as a pod, by its service account
    #[arg(long, conflicts_with_all = ["host_kubeconfig", "host_context"])]
    host_in_cluster: bool,
    /// The namespace that Karmada runs in [default: found by its deployments, else karmada-system]
    #[arg(long, value_name = "NAMESPACE")]
    karmada_namespace: Option<String>,
}

impl HostFlags {
    /// What the flags ask for.
    ///
    /// # Errors
    /// None so far; the signature is that of the other groups.
    pub fn resolve(self) -> Result<HostOptions, UsageError> {
        Ok(HostOptions {
            kubeconfig: filled_path(self.host_kubeconfig),
            context: filled(self.host_context),
            in_cluster: self.host_in_cluster,
            karmada_namespace: filled(self.karmada_namespace),
        })
    }
}

/// Which kubeconfig and context lead to the cluster that runs Karmada.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostOptions {
    /// The kubeconfig file; `None` = the one of the control plane.
    pub kubeconfig: Option<PathBuf>,
    /// The context; `None` = not given: the current context is the control plane, so the host is then not reached.
    pub context: Option<String>,
    /// Whether it is the cluster that this process runs in as a pod; then there is neither file nor context.
    pub in_cluster: bool,
    /// The namespace that Karmada runs in; `None` = to be detected.
    pub karmada_namespace: Option<String>,
}

impl HostOptions {
    /// Whether the command line says how to reach the host.
    pub fn is_given(&self) -> bool {
        self.kubeconfig.is_some() || self.context.is_some() || self.in_cluster
    }
}

/// kubectl's `--request-timeout`: seconds, or a duration with units. 0 asks for no limit and gets the longest.
fn request_timeout(text: &str) -> Result<Duration, UsageError> {
    let seconds = text
        .parse::<u32>()
        .ok()
        .map(|seconds| Duration::from_secs(seconds.into()));
    let duration = || {
        SpanParser::new()
            .parse_duration(text)
            .ok()
            .and_then(|duration| duration.try_into().ok())
    };
    match seconds.or_else(duration) {
        Some(Duration::ZERO) => Ok(LONGEST_REQUEST),
        Some(timeout) => Ok(timeout),
        None => Err(UsageError::new(
            "invalid timeout value. Timeout must be a single integer in seconds, or an integer followed by a \
             corresponding time unit (e.g. 1s | 2m | 3h)",
        )),
    }
}

fn extra(values: &[String]) -> Result<BTreeMap<String, Vec<String>>, UsageError> {
    let mut extra: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for value in values {
        match value.split_once('=') {
            Some((key, value)) if !key.is_empty() => extra
                .entry(key.to_owned())
                .or_default()
                .push(value.to_owned()),
            _ => {
                return Err(UsageError::new(
                    "--as-user-extra must be in the form of key=value",
                ));
            }
        }
    }
    Ok(extra)
}

fn is_cluster_name(text: &str) -> bool {
    let allowed = |letter: char| {
        letter.is_ascii_lowercase() || letter.is_ascii_digit() || "-.".contains(letter)
    };
    !text.is_empty() && text.chars().all(allowed)
}

fn filled(value: Option<String>) -> Option<String> {
    value.filter(|value| !value.is_empty())
}

/// A path as kubectl takes it: empty means that the flag is not there.
fn path() -> impl TypedValueParser<Value = PathBuf> {
    OsStringValueParser::new().map(PathBuf::from)
}

fn filled_path(path: Option<PathBuf>) -> Option<PathBuf> {
    path.filter(|path| !path.as_os_str().is_empty())
}

fn secret(value: &str) -> Result<SecretString, std::convert::Infallible> {
    Ok(SecretString::from(value))
}

/// The identifier of the flag that chooses a user of the kubeconfig, `--user` unless a plugin means something else by it.
pub(crate) const KUBECONFIG_USER: &str = "kubeconfig_user";

const LONGEST_REQUEST: Duration = Duration::from_secs(600);

#[cfg(test)]
mod tests;
