//! Who the user of a kubeconfig is, as far as the file itself tells. No request is sent.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use secrecy::SecretString;
use x509_parser::prelude::{FromDer, X509Certificate};

use crate::cluster::error::ClusterError;
use crate::cluster::kubeconfig::Kubeconfig;
use crate::cluster::material;
use crate::cluster::options::ConnectionOptions;
use crate::cluster::selection::{Selection, is_set};

/// What the user of a kubeconfig presents to a server.
#[derive(Debug, Clone)]
pub enum Presented {
    /// A client certificate: API servers take its common name for the user and its organizations for the groups
    /// (<https://kubernetes.io/docs/reference/access-authn-authz/authentication/#x509-client-certificates>).
    Certificate {
        /// The common name; empty = it has none.
        common_name: String,
        /// The organizations, in order.
        organizations: Vec<String>,
        /// Until when it is valid; `None` = beyond what a timestamp holds.
        not_after: Option<Timestamp>,
    },
    /// A bearer token; only the API server knows whose.
    Token(SecretString),
    /// Its requests act as somebody else (`as` in the file).
    Acting {
        /// The user.
        user: String,
        /// The groups.
        groups: Vec<String>,
    },
    /// A login that a program or a provider makes, and nothing before that.
    Login,
    /// A name and a password, which API servers no longer take.
    Password,
    /// Nothing.
    Nothing,
}

impl Presented {
    /// Who is behind the context, and the overrides, that the options name.
    ///
    /// # Errors
    /// What is wrong with the file or its context.
    pub(crate) fn by(
        kubeconfig: &Kubeconfig,
        options: &ConnectionOptions,
    ) -> Result<Presented, ClusterError> {
        let selection = Selection::of(kubeconfig, options)?;
        let user = &selection.user;
        if let Some(name) = user.impersonate.as_ref().filter(|name| !name.is_empty()) {
            return Ok(Presented::Acting {
                user: name.clone(),
                groups: user.impersonate_groups.clone().unwrap_or_default(),
            });
        }
        let read = material::credentials(user, &selection.user_label)?;
        let certificate = read
            .client_certificate_data
            .as_deref()
            .and_then(|encoded| STANDARD.decode(encoded).ok())
            .and_then(|pem| of_certificate(&pem));
        Ok(match (certificate, read.token) {
            (Some(certificate), _) => certificate,
            (None, Some(token)) => Presented::Token(token),
            (None, None) if user.exec.is_some() || user.auth_provider.is_some() => Presented::Login,
            (None, None) if is_set(&user.username) => Presented::Password,
            (None, None) => Presented::Nothing,
        })
    }
}

fn of_certificate(pem: &[u8]) -> Option<Presented> {
    let der = CertificateDer::pem_slice_iter(pem).find_map(Result::ok)?;
    let (_, certificate) = X509Certificate::from_der(&der).ok()?;
    let subject = certificate.subject();
    let text = |attribute: &x509_parser::x509::AttributeTypeAndValue<'_>| {
        attribute.as_str().unwrap_or_default().to_owned()
    };
    Some(Presented::Certificate {
        common_name: subject
            .iter_common_name()
            .last()
            .map(text)
            .unwrap_or_default(),
        organizations: subject.iter_organization().map(text).collect(),
        not_after: Timestamp::from_second(certificate.validity().not_after.timestamp()).ok(),
    })
}
