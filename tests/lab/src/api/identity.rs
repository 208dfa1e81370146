//! Who sends a request: certificates, tokens, impersonation.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::HeaderMap;
use rustls::pki_types::CertificateDer;
use serde_json::{Value, json};
use x509_parser::prelude::{FromDer, X509Certificate};

use super::controllers::SERVICE_ACCOUNT_TOKEN;
use super::kinds;
use super::rbac::{self, Attempt};
use super::refusal::Refusal;
use super::store::{Key, Store};

/// Somebody as the API server knows them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct User {
    /// The user name.
    pub name: String,
    /// All groups, `system:authenticated` included.
    pub groups: Vec<String>,
}

/// A static bearer token.
#[derive(Debug, Clone)]
pub(crate) struct StaticToken {
    pub(crate) token: String,
    pub(crate) user: User,
}

impl User {
    /// A user in these groups and in `system:authenticated`.
    pub fn new(name: &str, groups: &[&str]) -> Self {
        let groups = groups
            .iter()
            .copied()
            .chain([AUTHENTICATED])
            .map(str::to_owned)
            .collect();
        Self {
            name: name.to_owned(),
            groups,
        }
    }

    pub(crate) fn anonymous() -> Self {
        Self {
            name: "system:anonymous".to_owned(),
            groups: vec!["system:unauthenticated".to_owned()],
        }
    }

    pub(crate) fn service_account(namespace: &str, name: &str) -> Self {
        let groups = [
            "system:serviceaccounts".to_owned(),
            format!("system:serviceaccounts:{namespace}"),
            AUTHENTICATED.to_owned(),
        ];
        Self {
            name: format!("system:serviceaccount:{namespace}:{name}"),
            groups: groups.into(),
        }
    }

    pub(crate) fn info(&self) -> Value {
        json!({"username": self.name, "groups": self.groups})
    }
}

/// The user of a certificate that the cluster's authority signed: common name and organizations.
pub(crate) fn of_certificate(certificate: &CertificateDer) -> Option<User> {
    let (_, certificate) = X509Certificate::from_der(certificate).ok()?;
    let subject = certificate.subject();
    let name = subject.iter_common_name().next()?.as_str().ok()?.to_owned();
    let groups: Vec<&str> = subject
        .iter_organization()
        .filter_map(|group| group.as_str().ok())
        .collect();
    Some(User::new(&name, &groups))
}

/// The user whom an aggregator names, once its certificate was believed.
pub(crate) fn of_front_proxy(headers: &HeaderMap) -> Option<User> {
    let text = |value: &http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    Some(User {
        name: headers.get("x-remote-user").map(text)?,
        groups: headers.get_all("x-remote-group").iter().map(text).collect(),
    })
}

/// The user of a bearer token: static, or of a token Secret whose service account exists.
pub(crate) fn of_token(store: &Store, statics: &[StaticToken], token: &str) -> Option<User> {
    if let Some(found) = statics.iter().find(|known| known.token == token) {
        return Some(found.user.clone());
    }
    let encoded = STANDARD.encode(token);
    let secret = store
        .list(kinds::known("", "secrets"), None)
        .find(|secret| {
            secret["type"] == SERVICE_ACCOUNT_TOKEN
                && secret["data"]["token"].as_str() == Some(encoded.as_str())
        })?;
    let namespace = secret["metadata"]["namespace"].as_str()?;
    let account =
        secret["metadata"]["annotations"]["kubernetes.io/service-account.name"].as_str()?;
    store.read(&Key::new(
        kinds::known("", "serviceaccounts"),
        namespace,
        account,
    ))?;
    Some(User::service_account(namespace, account))
}

/// The bearer token of a request.
pub(crate) fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(http::header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme
        .eq_ignore_ascii_case("bearer")
        .then_some(token.trim())
}

/// Which text a refused impersonation gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ImpersonationWording {
    /// kube-apiserver before 1.36: names the impersonated user or group.
    #[default]
    Named,
    /// kube-apiserver 1.36: names only who impersonates, where no impersonation rule applies to them at all.
    Constrained,
}

/// The user whom the `Impersonate-*` headers ask for, if any.
///
/// # Errors
/// 403 when `user` may not impersonate the user or one of the groups, 400 for groups without a user.
pub(crate) fn impersonated(
    store: &Store,
    user: &User,
    headers: &HeaderMap,
    wording: ImpersonationWording,
    attempt: &Attempt,
) -> Result<Option<User>, Refusal> {
    let text = |value: &http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    let groups: Vec<String> = headers
        .get_all("impersonate-group")
        .iter()
        .map(text)
        .collect();
    let Some(name) = headers.get("impersonate-user").map(text) else {
        if groups.is_empty() && !headers.contains_key("impersonate-uid") {
            return Ok(None);
        }
        return Err(Refusal::internal(
            "requested [{Group}] without impersonating a user",
        ));
    };
    let parts: Vec<&str> = name.splitn(4, ':').collect();
    let account = match parts.as_slice() {
        ["system", "serviceaccount", namespace, account] => Some((*namespace, *account)),
        _ => None,
    };
    let mut checks = vec![match account {
        Some((namespace, account)) => ("serviceaccounts", namespace, account),
        None => ("users", "", name.as_str()),
    }];
    checks.extend(groups.iter().map(|group| ("groups", "", group.as_str())));
    for (resource, namespace, name) in checks {
        let wanted = Attempt::Resource {
            verb: "impersonate",
            group: "",
            resource,
            subresource: "",
            namespace,
            name,
        };
        if !rbac::allows(store, user, &wanted) {
            return Err(refuse(store, user, &wanted, wording, attempt));
        }
    }
    let mut result = match account {
        Some((namespace, account)) if groups.is_empty() => {
            User::service_account(namespace, account)
        }
        _ => User { name, groups },
    };
    if result.name != User::anonymous().name
        && !result.groups.iter().any(|group| group == AUTHENTICATED)
    {
        result.groups.push(AUTHENTICATED.to_owned());
    }
    Ok(Some(result))
}

/// The group of everybody who proved who they are.
pub(crate) const AUTHENTICATED: &str = "system:authenticated";

fn refuse(
    store: &Store,
    user: &User,
    wanted: &Attempt,
    wording: ImpersonationWording,
    attempt: &Attempt,
) -> Refusal {
    let has_any = |resource: &str| {
        store
            .list(
                kinds::known("rbac.authorization.k8s.io", "clusterroles"),
                None,
            )
            .any(|role| {
                let rules = role["rules"].as_array().into_iter().flatten();
                rules
                    .flat_map(|rule| rule["resourceNames"].as_array().into_iter().flatten())
                    .any(|name| {
                        let name = name.as_str().unwrap_or_default();
                        let probe = Attempt::Resource {
                            verb: "impersonate",
                            group: "",
                            resource,
                            subresource: "",
                            namespace: "",
                            name,
                        };
                        rbac::allows(store, user, &probe)
                    })
            })
    };
    let none_at_all = || {
        !["users", "groups", "serviceaccounts"]
            .into_iter()
            .any(has_any)
    };
    if wording == ImpersonationWording::Named || !none_at_all() {
        return rbac::forbidden(user, wanted);
    }
    match attempt {
        Attempt::Path { verb, path } => {
            let verb = &format!("{CONSTRAINED}{verb}");
            rbac::forbidden(user, &Attempt::Path { verb, path })
        }
        Attempt::Resource {
            verb,
            group,
            resource,
            subresource,
            namespace,
            name,
        } => {
            let verb = &format!("{CONSTRAINED}{verb}");
            rbac::forbidden(
                user,
                &Attempt::Resource {
                    verb,
                    group,
                    resource,
                    subresource,
                    namespace,
                    name,
                },
            )
        }
    }
}

/// What precedes the verb in the refusals of kube-apiserver 1.36.
const CONSTRAINED: &str = "impersonate-on:user-info:";
