//! Runs the command that a kubeconfig names to get credentials (client-go's exec plugins).
//!
//! kube would run it three times for one client, before any request, and quote its output in errors; here it runs
//! once, when a request needs it.

use std::collections::HashMap;
use std::io::ErrorKind;
use std::pin::pin;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use http::HeaderValue;
use jiff::Timestamp;
use kube::config::{Cluster, ExecAuthCluster, ExecConfig, ExecInteractiveMode};
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use tokio::process::Command;
use tokio::time::timeout;

use crate::cluster::selection::Selection;
use crate::error::Explain;
use crate::exit::Exit;
use crate::io;
use crate::text::{harmless, seconds, shell_word};

/// Why a credential plugin or an auth provider gave no credentials; never with anything it printed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CredentialPluginError {
    /// Its `apiVersion` is one that clients no longer speak.
    #[error("exec plugin: invalid apiVersion \"{version}\" ({of})")]
    Version {
        /// What the kubeconfig says.
        version: String,
        /// The user entry, as `user "x"`.
        of: String,
        /// The name of the user entry.
        user: Option<String>,
    },
    /// The kubeconfig names no command.
    #[error("command must be specified for {of} to use exec authentication plugin")]
    NoCommand {
        /// The user entry, as `user "x"`.
        of: String,
    },
    /// It insists on a terminal, and there is none.
    #[error(
        "exec plugin {command} cannot support interactive mode: standard input is not a terminal"
    )]
    NoTerminal {
        /// The command.
        command: String,
    },
    /// There is no such executable.
    #[error("exec: executable {command} not found")]
    NotInstalled {
        /// The command.
        command: String,
        /// What the kubeconfig says about installing it.
        install_hint: Option<String>,
    },
    /// The system does not start it.
    #[error("exec: cannot start {command}")]
    NotStarted {
        /// The command.
        command: String,
        /// What the system says.
        source: std::io::Error,
    },
    /// It ended with a failure; what it had to say went to the terminal.
    #[error("exec: executable {command} failed with {status}")]
    Failed {
        /// The command.
        command: String,
        /// How it ended, as `exit code 1`.
        status: String,
        /// What the kubeconfig says about installing it.
        install_hint: Option<String>,
    },
    /// It did not end in time.
    #[error("exec: executable {command} gave no credentials within {after:?}")]
    TimedOut {
        /// The command.
        command: String,
        /// How long it was waited for.
        after: Duration,
    },
    /// What it printed are no credentials.
    #[error("exec plugin {command} {problem}")]
    Output {
        /// The command.
        command: String,
        /// What is wrong, as the end of the sentence.
        problem: String,
    },
    /// An auth provider of the kubeconfig failed.
    #[error("the auth provider of {of} gave no credentials: {problem}")]
    Provider {
        /// The user entry, as `user "x"`.
        of: String,
        /// Why.
        problem: String,
    },
}

impl Explain for CredentialPluginError {
    fn exit(&self) -> Exit {
        Exit::Unknown
    }

    fn hint(&self) -> Option<String> {
        match self {
            CredentialPluginError::Version {
                user: Some(user), ..
            } => Some(format!(
                "update the plugin and run kubectl config set-credentials {} --exec-api-version={V1BETA1}",
                shell_word(user)
            )),
            CredentialPluginError::NotInstalled { install_hint, .. }
            | CredentialPluginError::Failed { install_hint, .. } => install_hint.clone(),
            CredentialPluginError::TimedOut { .. } => Some(
                "run it by hand to see what it waits for; --request-timeout=10m gives it longer"
                    .to_owned(),
            ),
            _ => None,
        }
    }
}

/// A command that prints credentials, checked but not run; not shown when debugged, its arguments may be secret.
pub(crate) struct CredentialPlugin {
    command: String,
    exec: ExecConfig,
    interactive: bool,
    cluster: Option<ExecAuthCluster>,
}

/// What a plugin gave: a token, a client certificate with its key, or both.
pub(crate) struct PluginCredentials {
    pub(crate) token: Option<SecretString>,
    /// Certificate and key in PEM.
    pub(crate) identity: Option<(String, SecretString)>,
    /// `None` = they are good for the whole run.
    pub(crate) expires: Option<Timestamp>,
}

impl CredentialPlugin {
    /// Checks the plugin of a user against what can be run here.
    ///
    /// `terminal`: whether standard input is a terminal that the plugin may ask on.
    pub(crate) fn of(
        exec: &ExecConfig,
        selection: &Selection,
        terminal: bool,
    ) -> Result<CredentialPlugin, CredentialPluginError> {
        let of = selection.user_label.clone();
        let version = exec.api_version.clone().unwrap_or_default();
        if ![V1, V1BETA1].contains(&version.as_str()) {
            let user = selection.user_name.clone();
            return Err(CredentialPluginError::Version { version, of, user });
        }
        let Some(command) = exec.command.clone().filter(|command| !command.is_empty()) else {
            return Err(CredentialPluginError::NoCommand { of });
        };
        let interactive = match (&exec.interactive_mode, terminal) {
            (Some(ExecInteractiveMode::Never), _) => false,
            (Some(ExecInteractiveMode::Always), false) => {
                return Err(CredentialPluginError::NoTerminal { command });
            }
            (_, terminal) => terminal,
        };
        Ok(CredentialPlugin {
            command,
            exec: exec.clone(),
            interactive,
            cluster: exec
                .provide_cluster_info
                .then(|| cluster_info(&selection.cluster)),
        })
    }

    /// Runs the command once, for as long as `given` says (`--request-timeout`), else for long enough. A wait that a
    /// person notices is told.
    pub(crate) async fn run(
        &self,
        given: Option<Duration>,
    ) -> Result<PluginCredentials, CredentialPluginError> {
        let allowed = given.unwrap_or_else(|| self.patience());
        let mut output = pin!(timeout(allowed, self.output()));
        let output = match timeout(NOTICED, &mut output).await {
            Ok(output) => output,
            Err(_) => {
                io::say(&format!(
                    "waiting up to {} for credentials from {}",
                    seconds(allowed),
                    harmless(&self.command)
                ));
                output.await
            }
        };
        let output = output.map_err(|_| CredentialPluginError::TimedOut {
            command: self.command.clone(),
            after: allowed,
        })??;
        let credentials = self
            .read(&output)
            .map_err(|problem| CredentialPluginError::Output {
                command: self.command.clone(),
                problem,
            })?;
        Ok(credentials)
    }

    /// A person may have to log in with a browser; without one, nothing is to be waited for but a server.
    fn patience(&self) -> Duration {
        match self.interactive {
            true => Duration::from_secs(300),
            false => Duration::from_secs(60),
        }
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "the kubeconfig names this program"
    )]
    async fn output(&self) -> Result<Vec<u8>, CredentialPluginError> {
        let variables = self.exec.env.iter().flatten().filter_map(name_and_value);
        let child = Command::new(&self.command)
            .args(self.exec.args.iter().flatten())
            .envs(variables)
            .env("KUBERNETES_EXEC_INFO", self.exec_info())
            .stdin(match self.interactive {
                true => Stdio::inherit(),
                false => Stdio::null(),
            })
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .kill_on_drop(true)
            .spawn()
            .map_err(|source| self.not_started(source))?;
        let output = child
            .wait_with_output()
            .await
            .map_err(|source| self.not_started(source))?;
        match output.status.success() {
            true => Ok(output.stdout),
            false => Err(CredentialPluginError::Failed {
                command: self.command.clone(),
                status: status_text(output.status),
                install_hint: self.exec.install_hint.clone(),
            }),
        }
    }

    fn not_started(&self, source: std::io::Error) -> CredentialPluginError {
        let command = self.command.clone();
        match source.kind() {
            ErrorKind::NotFound => CredentialPluginError::NotInstalled {
                command,
                install_hint: self.exec.install_hint.clone(),
            },
            _ => CredentialPluginError::NotStarted { command, source },
        }
    }

    /// `KUBERNETES_EXEC_INFO`: what the plugin is told (client.authentication.k8s.io/v1 ExecCredential).
    fn exec_info(&self) -> String {
        let info = serde_json::json!({
            "kind": "ExecCredential",
            "apiVersion": self.exec.api_version,
            "spec": Spec { interactive: self.interactive, cluster: self.cluster.as_ref() },
        });
        info.to_string()
    }

    fn read(&self, output: &[u8]) -> Result<PluginCredentials, String> {
        let credential: ExecCredential = serde_json::from_slice(output)
            .ok()
            .or_else(|| serde_saphyr::from_slice(output).ok())
            .filter(|credential: &ExecCredential| {
                credential.kind.as_deref() == Some("ExecCredential")
            })
            .ok_or("did not print an ExecCredential")?;
        let configured = self.exec.api_version.as_deref().unwrap_or_default();
        match credential.api_version.as_deref().unwrap_or_default() {
            returned if returned == configured => {}
            V1 | V1BETA1 | V1ALPHA1 => {
                return Err(format!(
                    "is configured to use API version {configured} and returned another"
                ));
            }
            _ => return Err("returned an ExecCredential of an unknown version".to_owned()),
        }
        let status = credential.status.ok_or("did not return a status field")?;
        let token = status.token.filter(|token| !token.is_empty());
        let identity = match (
            filled(status.client_certificate_data),
            filled(status.client_key_data),
        ) {
            (Some(certificate), Some(key)) => Some((certificate, SecretString::from(key))),
            (None, None) => None,
            _ => return Err("returned only one of client certificate and key".to_owned()),
        };
        if token.is_none() && identity.is_none() {
            return Err("did not return a token or cert/key pair".to_owned());
        }
        if token
            .as_ref()
            .is_some_and(|token| HeaderValue::try_from(format!("Bearer {token}")).is_err())
        {
            return Err("returned a token that cannot be sent in a header".to_owned());
        }
        let expires = filled(status.expiration_timestamp)
            .map(|time| time.parse::<Timestamp>())
            .transpose()
            .map_err(|_| "returned an expirationTimestamp that is no time")?;
        Ok(PluginCredentials {
            token: token.map(SecretString::from),
            identity,
            expires,
        })
    }
}

impl PluginCredentials {
    /// The credentials as fields of a user entry.
    pub(crate) fn apply_to(&self, user: &mut kube::config::AuthInfo) {
        use base64::Engine;
        use base64::engine::general_purpose::STANDARD;
        user.token.clone_from(&self.token);
        if let Some((certificate, key)) = &self.identity {
            user.client_certificate_data = Some(STANDARD.encode(certificate));
            user.client_key_data = Some(SecretString::from(STANDARD.encode(key.expose_secret())));
        }
    }
}

#[derive(Serialize)]
struct Spec<'a> {
    interactive: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    cluster: Option<&'a ExecAuthCluster>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ExecCredential {
    kind: Option<String>,
    api_version: Option<String>,
    status: Option<Status>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Status {
    expiration_timestamp: Option<String>,
    token: Option<String>,
    client_certificate_data: Option<String>,
    client_key_data: Option<String>,
}

/// What a plugin with `provideClusterInfo` is told of the cluster; the authority was read before and is left out if
/// it no longer can be.
fn cluster_info(cluster: &Cluster) -> ExecAuthCluster {
    let without_authority = || Cluster {
        certificate_authority: None,
        certificate_authority_data: None,
        ..cluster.clone()
    };
    ExecAuthCluster::try_from(cluster)
        .or_else(|_| ExecAuthCluster::try_from(&without_authority()))
        .unwrap_or_default()
}

fn filled(field: Option<String>) -> Option<String> {
    field.filter(|value| !value.is_empty())
}

fn name_and_value(entry: &HashMap<String, String>) -> Option<(&String, &String)> {
    Some((entry.get("name")?, entry.get("value")?))
}

fn status_text(status: ExitStatus) -> String {
    match status.code() {
        Some(code) => format!("exit code {code}"),
        None => "a signal".to_owned(),
    }
}

const NOTICED: Duration = Duration::from_secs(5);
const V1: &str = "client.authentication.k8s.io/v1";
const V1BETA1: &str = "client.authentication.k8s.io/v1beta1";
const V1ALPHA1: &str = "client.authentication.k8s.io/v1alpha1";
