//! Chooses the cluster and user of a connection and lays the command line over them. Pure.

use std::path::Path;

use kube::config::{AuthInfo, Cluster};
use secrecy::SecretString;

use crate::cluster::error::ClusterError;
use crate::cluster::kubeconfig::Kubeconfig;
use crate::cluster::options::ConnectionOptions;

/// The cluster and user entries that a connection is made from, with the command line's overrides in them.
pub(crate) struct Selection {
    /// `None` = the command line names a server and no context.
    pub(crate) context: Option<String>,
    pub(crate) cluster: Cluster,
    /// What errors call the cluster, as `cluster "x"` or `--server`.
    pub(crate) cluster_label: String,
    pub(crate) user: AuthInfo,
    /// What errors call the user, as `user "x"`.
    pub(crate) user_label: String,
    /// The name of the user entry; `None` = there is none.
    pub(crate) user_name: Option<String>,
}

impl Selection {
    /// Follows client-go's `clientcmd`: the context names cluster and user, flags override names, then fields.
    pub(crate) fn of(
        kubeconfig: &Kubeconfig,
        options: &ConnectionOptions,
    ) -> Result<Selection, ClusterError> {
        let context = chosen_context(kubeconfig, options)?;
        let entry = context
            .as_deref()
            .and_then(|name| kubeconfig.context(name))
            .and_then(|named| named.context.as_ref());
        let cluster_name = options.cluster.clone().or_else(|| {
            let name = entry.map(|entry| entry.cluster.clone());
            name.filter(|name| !name.is_empty())
        });
        let cluster = chosen_cluster(
            kubeconfig,
            options,
            cluster_name.as_deref(),
            context.as_deref(),
        )?;
        let user_name = options
            .user
            .clone()
            .or_else(|| entry.and_then(|entry| entry.user.clone()))
            .filter(|name| !name.is_empty());
        let user = chosen_user(kubeconfig, options, user_name.as_deref())?;
        let user_label = match &user_name {
            Some(name) => format!("user \"{name}\""),
            None => "the command line".to_owned(),
        };
        let cluster_label = match (&cluster_name, &options.server) {
            (_, Some(_)) | (None, _) => "--server".to_owned(),
            (Some(name), None) => format!("cluster \"{name}\""),
        };
        refuse_contradictions(&cluster, &cluster_label, &user, &user_label)?;
        Ok(Selection {
            context,
            cluster,
            cluster_label,
            user,
            user_label,
            user_name,
        })
    }
}

fn chosen_context(
    kubeconfig: &Kubeconfig,
    options: &ConnectionOptions,
) -> Result<Option<String>, ClusterError> {
    let asked = options.context.as_deref().filter(|name| !name.is_empty());
    let Some(name) = asked.or(kubeconfig.current_context()) else {
        return match (&options.server, &options.cluster, kubeconfig.is_blank()) {
            (None, None, true) => Err(ClusterError::NoConfiguration {
                places: kubeconfig.places(),
            }),
            (None, None, false) => Err(ClusterError::NoCurrentContext {
                places: kubeconfig.places(),
                known: kubeconfig
                    .contexts()
                    .into_iter()
                    .map(|context| context.name)
                    .collect(),
            }),
            _ => Ok(None),
        };
    };
    match kubeconfig.context(name) {
        Some(_) => Ok(Some(name.to_owned())),
        // client-go ignores a dangling current-context when the command line names the server.
        None if asked.is_none() && options.server.is_some() => Ok(None),
        None => Err(ClusterError::UnknownContext {
            name: name.to_owned(),
            asked: asked.is_some(),
            places: kubeconfig.places(),
            known: likeliest_first(name, kubeconfig),
        }),
    }
}

fn likeliest_first(name: &str, kubeconfig: &Kubeconfig) -> Vec<String> {
    let mut known: Vec<String> = kubeconfig
        .contexts()
        .into_iter()
        .map(|context| context.name)
        .collect();
    let likeness = |known: &String| strsim::jaro_winkler(name, known);
    known.sort_by(|a, b| likeness(b).total_cmp(&likeness(a)));
    known
}

fn chosen_cluster(
    kubeconfig: &Kubeconfig,
    options: &ConnectionOptions,
    name: Option<&str>,
    context: Option<&str>,
) -> Result<Cluster, ClusterError> {
    let entry = name
        .and_then(|name| kubeconfig.cluster(name))
        .and_then(|named| named.cluster.clone());
    let unknown = || ClusterError::UnknownCluster {
        name: name.unwrap_or_default().to_owned(),
        context: context
            .map(str::to_owned)
            .filter(|_| options.cluster.is_none()),
    };
    let found = entry.is_some();
    let mut cluster = entry.unwrap_or_default();
    if let Some(server) = &options.server {
        cluster.server = Some(server.clone());
    }
    let has_server = cluster
        .server
        .as_deref()
        .is_some_and(|server| !server.is_empty());
    if !has_server || (options.cluster.is_some() && !found) {
        return Err(unknown());
    }
    if options.insecure_skip_tls_verify || options.certificate_authority.is_some() {
        cluster.insecure_skip_tls_verify = Some(options.insecure_skip_tls_verify);
        cluster.certificate_authority = options.certificate_authority.as_deref().map(path_text);
        cluster.certificate_authority_data = None;
    }
    if options.tls_server_name.is_some() || options.server.is_some() {
        cluster.tls_server_name.clone_from(&options.tls_server_name);
    }
    if options.disable_compression {
        cluster.disable_compression = Some(true);
    }
    Ok(cluster)
}

fn chosen_user(
    kubeconfig: &Kubeconfig,
    options: &ConnectionOptions,
    name: Option<&str>,
) -> Result<AuthInfo, ClusterError> {
    let entry = name.and_then(|name| kubeconfig.user(name));
    if let (Some(name), None) = (&options.user, entry) {
        return Err(ClusterError::UnknownUser { name: name.clone() });
    }
    // A context whose user is missing connects without credentials, as kubectl does.
    let mut user = entry
        .and_then(|named| named.auth_info.clone())
        .unwrap_or_default();
    if let Some(token) = &options.token {
        user = without_login(user);
        user.token = Some(token.clone());
    }
    if options.username.is_some() || options.password.is_some() {
        user = without_login(user);
        user.username = options.username.clone().or(user.username);
        user.password = options
            .password
            .clone()
            .or(user.password.or(Some(SecretString::default())));
    }
    if let Some(certificate) = &options.client_certificate {
        user.client_certificate = Some(path_text(certificate));
        user.client_certificate_data = None;
    }
    if let Some(key) = &options.client_key {
        user.client_key = Some(path_text(key));
        user.client_key_data = None;
    }
    let wanted = &options.impersonation;
    if wanted.user.is_some() {
        user.impersonate.clone_from(&wanted.user);
    }
    if wanted.uid.is_some() {
        user.impersonate_uid.clone_from(&wanted.uid);
    }
    if !wanted.groups.is_empty() {
        user.impersonate_groups = Some(wanted.groups.clone());
    }
    if !wanted.extra.is_empty() {
        user.impersonate_user_extra = Some(wanted.extra.clone().into_iter().collect());
    }
    Ok(user)
}

/// Credentials of the command line win over every other way to get an `Authorization` header.
fn without_login(user: AuthInfo) -> AuthInfo {
    AuthInfo {
        token: None,
        token_file: None,
        exec: None,
        auth_provider: None,
        ..user
    }
}

fn refuse_contradictions(
    cluster: &Cluster,
    cluster_label: &str,
    user: &AuthInfo,
    user_label: &str,
) -> Result<(), ClusterError> {
    let has_authority =
        is_set(&cluster.certificate_authority) || is_set(&cluster.certificate_authority_data);
    if cluster.insecure_skip_tls_verify == Some(true) && has_authority {
        return Err(ClusterError::InsecureWithAuthority {
            of: cluster_label.to_owned(),
        });
    }
    let borrows = is_set(&user.impersonate_uid)
        || user
            .impersonate_groups
            .as_ref()
            .is_some_and(|groups| !groups.is_empty())
        || user
            .impersonate_user_extra
            .as_ref()
            .is_some_and(|extra| !extra.is_empty());
    if borrows && !is_set(&user.impersonate) {
        return Err(ClusterError::ImpersonationWithoutUser {
            of: user_label.to_owned(),
        });
    }
    if user.exec.is_some() && user.auth_provider.is_some() {
        return Err(ClusterError::TwoLogins {
            of: user_label.to_owned(),
        });
    }
    Ok(())
}

pub(crate) fn is_set(field: &Option<String>) -> bool {
    field.as_deref().is_some_and(|value| !value.is_empty())
}

fn path_text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
