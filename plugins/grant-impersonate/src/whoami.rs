//! Who is meant, asked of the control plane and read from kubeconfigs.

use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;
use karmada_repair::access::Access;
use karmada_repair::clock;
use karmada_repair::cluster::client::DryRun;
use karmada_repair::cluster::presented::Presented;
use karmada_repair::cluster::request_error::RequestError;
use karmada_repair::error::{Failure, UsageError};
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};

use crate::account::{Account, Identity};
use crate::config::{Config, Who};

/// Who is meant; several, where several are named.
///
/// # Errors
/// When the caller or the user of the kubeconfig cannot be told.
pub(crate) async fn identities(access: &Access, config: &Config) -> Result<Vec<Identity>, Failure> {
    match &config.who {
        Who::Caller => Ok(vec![caller(access).await?]),
        Who::Named { accounts, carried } => {
            let caller = caller(access).await.ok();
            Ok(accounts
                .iter()
                .map(|account| named(account, carried, caller.as_ref()))
                .collect())
        }
        Who::Kubeconfig(file) => Ok(vec![of_kubeconfig(access, file).await?]),
    }
}

/// A named account; whoever names himself is known whole.
fn named(account: &Account, carried: &[String], caller: Option<&Identity>) -> Identity {
    match caller.filter(|caller| caller.account == *account) {
        Some(caller) => Identity::new(
            account.clone(),
            caller.groups.iter().chain(carried).cloned(),
        )
        .as_caller(),
        None => {
            let carried = match account {
                Account::User { .. } => carried.to_vec(),
                Account::Group { .. } | Account::ServiceAccount { .. } => Vec::new(),
            };
            Identity::new(account.clone(), carried)
        }
    }
}

/// Who the control plane takes this run for.
async fn caller(access: &Access) -> Result<Identity, Failure> {
    let mut last = None;
    for version in REVIEW_VERSIONS {
        let path = format!("/apis/authentication.k8s.io/{version}/selfsubjectreviews");
        let review = json!({
            "apiVersion": format!("authentication.k8s.io/{version}"), "kind": "SelfSubjectReview",
        });
        match access
            .control_plane()
            .create(&path, &review, DryRun::Off)
            .await
        {
            Ok(answer) => match identity(&answer["status"]["userInfo"]) {
                Some(identity) => return Ok(identity.as_caller()),
                None => break,
            },
            Err(error) if error.is_not_found() => last = Some(error),
            Err(error) => return Err(error.into()),
        }
    }
    match last {
        Some(_) => of_own_kubeconfig(access).await,
        None => Err(
            UsageError::new("the control plane does not say who you are")
                .with_hint("name yourself with --user, and your groups with --in-group")
                .into(),
        ),
    }
}

/// The caller, on an API server before 1.27, which cannot be asked.
async fn of_own_kubeconfig(access: &Access) -> Result<Identity, Failure> {
    let presented = access.presented()?;
    Ok(read(access, presented, "your kubeconfig")
        .await?
        .as_caller())
}

async fn of_kubeconfig(access: &Access, file: &Path) -> Result<Identity, Failure> {
    let presented = access.presented_by(file)?;
    read(access, presented, &file.display().to_string()).await
}

async fn read(access: &Access, presented: Presented, file: &str) -> Result<Identity, Failure> {
    let unusable = |problem: &str| {
        UsageError::new(format!("who is behind {file} cannot be told: {problem}"))
            .with_hint("name the user with --user, and the groups with --in-group")
    };
    match presented {
        Presented::Certificate {
            common_name,
            organizations,
            not_after,
        } => {
            if common_name.is_empty() {
                return Err(unusable("its certificate has no common name").into());
            }
            if let Some(ended) = not_after.filter(|end| *end < clock::now()) {
                return Err(unusable(&format!("its certificate has expired ({ended})")).into());
            }
            Ok(Identity::new(Account::of_user_name(&common_name), organizations).with_all_groups())
        }
        Presented::Acting { user, groups } => {
            Ok(Identity::new(Account::of_user_name(&user), groups).with_all_groups())
        }
        Presented::Token(token) => match review(access, &token).await {
            Ok(Some(identity)) => Ok(identity),
            Ok(None) => Err(unusable("the control plane does not know its token").into()),
            // The claims of a service account's token tell as much.
            Err(error) if error.is_forbidden() => match of_claims(&token, clock::now()) {
                Some(identity) => Ok(identity),
                None => Err(unusable(
                    "only the control plane can read its token, and you may not ask it (create tokenreviews)",
                )
                .into()),
            },
            // The error may quote the request, and with it the token.
            Err(error) => Err(unusable(&match error.code() {
                Some(code) => format!("the control plane answers {code} to a review of its token"),
                None => error.to_string(),
            })
            .into()),
        },
        Presented::Login => Err(unusable("it logs in by a program, which is not run here").into()),
        Presented::Password => Err(unusable("it has a password, which API servers do not take").into()),
        Presented::Nothing => Err(unusable("its user presents nothing").into()),
    }
}

/// Whose token it is, as the control plane says; `None` = nobody's.
async fn review(access: &Access, token: &SecretString) -> Result<Option<Identity>, RequestError> {
    let review = json!({
        "apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview",
        "spec": {"token": token.expose_secret()},
    });
    let path = "/apis/authentication.k8s.io/v1/tokenreviews";
    let answer = access
        .control_plane()
        .create(path, &review, DryRun::Off)
        .await?;
    let status = &answer["status"];
    Ok((status["authenticated"] == true)
        .then(|| identity(&status["user"]))
        .flatten())
}

/// A `UserInfo` of the API.
fn identity(info: &Value) -> Option<Identity> {
    let name = info["username"].as_str().filter(|name| !name.is_empty())?;
    let groups = info["groups"].as_array().into_iter().flatten();
    let groups = groups.filter_map(|group| group.as_str().map(str::to_owned));
    Some(Identity::new(Account::of_user_name(name), groups).with_all_groups())
}

/// The service account whose token this is, by its claims, which nobody has verified; `None` = it is no such token, or
/// has expired.
fn of_claims(token: &SecretString, now: Timestamp) -> Option<Identity> {
    let payload = token.expose_secret().split('.').nth(1)?;
    let payload = URL_SAFE_NO_PAD.decode(payload.trim_end_matches('=')).ok()?;
    let claims: Value = serde_json::from_slice(&payload).ok()?;
    let lasts = claims["exp"]
        .as_i64()
        .is_none_or(|end| end > now.as_second());
    match Account::of_user_name(claims["sub"].as_str()?) {
        account @ Account::ServiceAccount { .. } if lasts => Some(Identity::new(account, [])),
        _ => None,
    }
}

/// In the order of asking: 1.28 and later, 1.27, 1.26.
const REVIEW_VERSIONS: [&str; 3] = ["v1", "v1beta1", "v1alpha1"];

#[cfg(test)]
mod tests {
    use super::*;

    fn token(claims: &Value) -> SecretString {
        let payload = URL_SAFE_NO_PAD.encode(claims.to_string());
        SecretString::from(format!("e30.{payload}.c2ln"))
    }

    #[test]
    fn the_token_of_a_service_account_says_whose_it_is() {
        let now = "2026-01-01T00:00:00Z".parse().expect("a time");
        let of = |claims: Value| of_claims(&token(&claims), now).map(|identity| identity.account);
        let bot = Account::of_service_account("ci:bot");
        let sub = "system:serviceaccount:ci:bot";
        assert_eq!(of(json!({"sub": sub})), bot);
        assert_eq!(of(json!({"sub": sub, "exp": now.as_second() + 1})), bot);
        assert_eq!(of(json!({"sub": sub, "exp": now.as_second() - 1})), None);
        assert_eq!(of(json!({"sub": "jane", "iss": "https://issuer"})), None);
        assert!(of_claims(&SecretString::from("opaque"), now).is_none());
        assert!(of_claims(&SecretString::from("a.%%%.b"), now).is_none());
    }
}
