//! The credentials and connections of one client, renewed when they run out.

use std::time::Duration;

use jiff::Timestamp;
use kube::client::{ClientBuilder, RustlsTlsError as TlsError};
use kube::{Client, Config};
use tokio::sync::Mutex;

use crate::clock;
use crate::cluster::credential_plugin::CredentialPlugin;
use crate::cluster::error::ClusterError;
use crate::cluster::kubeconfig::without_userinfo;
use crate::cluster::request_error::RequestError;
use crate::cluster::transport::causes;

/// The connections of one client: made at once, or with a credential plugin when a request needs them.
pub(crate) struct Sessions {
    config: Config,
    plugin: Option<CredentialPlugin>,
    request_timeout: Option<Duration>,
    /// What errors call the user.
    pub(crate) user_label: String,
    current: Mutex<Option<Session>>,
}

/// A kube client and how long its credentials last.
#[derive(Clone)]
pub(crate) struct Session {
    pub(crate) client: Client,
    expires: Option<Timestamp>,
    number: u64,
}

impl Sessions {
    /// Builds the client now, so that what is wrong shows before a request, unless a plugin must run first.
    pub(crate) fn new(
        config: Config,
        plugin: Option<CredentialPlugin>,
        request_timeout: Option<Duration>,
        user_label: String,
    ) -> Result<Sessions, ClusterError> {
        let current = match plugin {
            Some(_) => None,
            None => Some(Session {
                client: build(config.clone(), &user_label)?,
                expires: None,
                number: 0,
            }),
        };
        Ok(Sessions {
            config,
            plugin,
            user_label,
            request_timeout,
            current: Mutex::new(current),
        })
    }

    /// The session to send with; runs the credential plugin if there is none that lasts.
    pub(crate) async fn open(&self) -> Result<Session, RequestError> {
        let mut current = self.current.lock().await;
        let lasts =
            |session: &&Session| session.expires.is_none_or(|expires| expires > clock::now());
        if let Some(session) = current.as_ref().filter(lasts) {
            return Ok(session.clone());
        }
        let number = current.as_ref().map_or(0, |session| session.number + 1);
        let mut config = self.config.clone();
        let mut expires = None;
        if let Some(plugin) = &self.plugin {
            let credentials = plugin
                .run(self.request_timeout)
                .await
                .map_err(Box::new)
                .map_err(RequestError::Auth)?;
            credentials.apply_to(&mut config.auth_info);
            expires = credentials.expires;
        }
        let client = build(config, &self.user_label)
            .map_err(Box::new)
            .map_err(RequestError::Setup)?;
        let session = Session {
            client,
            expires,
            number,
        };
        *current = Some(session.clone());
        Ok(session)
    }

    /// Forgets credentials that the server did not take, so that the next request gets new ones.
    pub(crate) async fn discard(&self, session: &Session) {
        let mut current = self.current.lock().await;
        if let Some(current) = current
            .as_mut()
            .filter(|current| current.number == session.number)
            && self.plugin.is_some()
        {
            current.expires = Some(Timestamp::MIN);
        }
    }
}

/// `user_label`: what errors call the user whose certificate and key are in the configuration.
fn build(config: Config, user_label: &str) -> Result<Client, ClusterError> {
    let server = without_userinfo(&config.cluster_url.to_string());
    let has_authorities = config.root_cert.is_some();
    let builder = ClientBuilder::try_from(config).map_err(|error| {
        let problem = causes(&error)
            .last()
            .map(ToString::to_string)
            .unwrap_or_default();
        match &error {
            kube::Error::RustlsTls(TlsError::AddRootCertificate(_)) if !has_authorities => {
                ClusterError::NoTrustedAuthority { server }
            }
            kube::Error::RustlsTls(
                TlsError::InvalidIdentityPem(_)
                | TlsError::MissingPrivateKey
                | TlsError::MissingCertificate
                | TlsError::InvalidPrivateKey(_)
                | TlsError::UnknownPrivateKeyFormat,
            ) => ClusterError::UnusableMaterial {
                what: "client-key",
                of: user_label.to_owned(),
                problem: format!("cannot be used: {problem}"),
            },
            _ => ClusterError::Setup { server, problem },
        }
    })?;
    Ok(builder.build())
}
