//! Which cluster and user a connection is made with.

#![allow(clippy::unwrap_used)]

use std::path::PathBuf;

use secrecy::{ExposeSecret, SecretString};
use tempfile::TempDir;

use crate::cluster::error::ClusterError;
use crate::cluster::kubeconfig::Kubeconfig;
use crate::cluster::options::{ConnectionOptions, Impersonation};
use crate::cluster::selection::Selection;
use crate::env::Env;
use crate::error::Explain;

const KUBECONFIG: &str = "
current-context: karmada
contexts:
- {name: karmada, context: {cluster: karmada, user: admin}}
- {name: host, context: {cluster: host, user: missing}}
- {name: lost, context: {cluster: missing, user: admin}}
- {name: serverless, context: {cluster: empty}}
- {name: insecure, context: {cluster: insecure}}
- {name: groups, context: {cluster: host, user: groups}}
- {name: logins, context: {cluster: host, user: logins}}
clusters:
- {name: karmada, cluster: {server: 'https://karmada:5443', certificate-authority-data: Q0E=, tls-server-name: karmada}}
- {name: host, cluster: {server: 'https://host:6443'}}
- {name: empty, cluster: {}}
- {name: insecure, cluster: {server: 'https://x', insecure-skip-tls-verify: true, certificate-authority: /ca.crt}}
users:
- name: admin
  user: {client-certificate-data: Q0VSVA==, client-key-data: S0VZ, tokenFile: /token, exec: {command: login}}
- {name: other, user: {token: t, as: jane}}
- {name: groups, user: {as-groups: [dev]}}
- {name: logins, user: {exec: {command: x}, auth-provider: {name: oidc}}}
";

fn kubeconfig(content: &str) -> Kubeconfig {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("config");
    std::fs::write(&path, content).unwrap();
    Kubeconfig::load(Some(&path), &Env::default()).unwrap()
}

fn select(options: ConnectionOptions) -> Result<Selection, ClusterError> {
    Selection::of(&kubeconfig(KUBECONFIG), &options)
}

fn in_context(name: &str) -> ConnectionOptions {
    ConnectionOptions {
        context: Some(name.to_owned()),
        ..ConnectionOptions::default()
    }
}

#[test]
fn takes_the_current_context_unless_another_is_asked_for() {
    let current = select(ConnectionOptions::default()).unwrap();
    assert_eq!(current.context.as_deref(), Some("karmada"));
    assert_eq!(
        current.cluster.server.as_deref(),
        Some("https://karmada:5443")
    );
    assert_eq!(current.user_label, "user \"admin\"");
    let asked = select(in_context("host")).unwrap();
    assert_eq!(asked.cluster.server.as_deref(), Some("https://host:6443"));
}

#[test]
fn connects_without_credentials_when_the_user_is_missing() {
    let host = select(in_context("host")).unwrap();
    assert!(host.user.token.is_none() && host.user.exec.is_none());
}

#[test]
fn explains_names_that_lead_nowhere() {
    let named = |context: &str, cluster: Option<&str>, user: Option<&str>| ConnectionOptions {
        cluster: cluster.map(str::to_owned),
        user: user.map(str::to_owned),
        ..in_context(context)
    };
    let table = [
        (
            named("lost", None, None),
            "no server found for cluster \"missing\" of context \"lost\"",
            3,
        ),
        (
            named("serverless", None, None),
            "no server found for cluster \"empty\" of context \"serverless\"",
            3,
        ),
        (
            named("host", Some("nope"), None),
            "no server found for cluster \"nope\"",
            2,
        ),
        (
            named("host", None, Some("nope")),
            "auth info \"nope\" does not exist",
            2,
        ),
        (
            named("insecure", None, None),
            "specifying a root certificates file with the insecure flag is not allowed (cluster \"insecure\")",
            3,
        ),
        (
            named("groups", None, None),
            "requesting uid, groups or user-extra for user \"groups\" without impersonating a user",
            3,
        ),
        (
            named("logins", None, None),
            "authProvider cannot be provided in combination with an exec plugin for user \"logins\"",
            3,
        ),
    ];
    for (options, expected, code) in table {
        let error = select(options).err().unwrap();
        assert_eq!(
            (error.to_string().as_str(), error.exit().code()),
            (expected, code)
        );
    }
}

#[test]
fn offers_the_likeliest_context_first() {
    let error = select(in_context("karmda")).err().unwrap();
    assert!(
        error
            .to_string()
            .starts_with("context \"karmda\" does not exist in /"),
        "{error}"
    );
    assert_eq!(error.exit().code(), 2);
    let hint = error.hint().unwrap();
    assert!(hint.starts_with("pass --context karmada (or "), "{hint}");
}

#[test]
fn explains_that_no_context_is_chosen() {
    let chosen = |content: &str| {
        Selection::of(&kubeconfig(content), &ConnectionOptions::default())
            .err()
            .unwrap()
    };
    let without_current = chosen("contexts: [{name: my cluster}, {name: b}]");
    assert!(
        without_current
            .to_string()
            .starts_with("current-context is not set in /"),
        "{without_current}"
    );
    assert_eq!(
        without_current.hint().as_deref(),
        Some("pass --context b (or 'my cluster')")
    );
    let dangling = chosen("current-context: gone\ncontexts: [{name: b}]");
    assert!(
        dangling
            .to_string()
            .starts_with("context \"gone\" does not exist in /"),
        "{dangling}"
    );
    assert_eq!(dangling.exit().code(), 3);
    let empty = chosen("");
    assert!(
        empty
            .to_string()
            .starts_with("no configuration has been provided: /"),
        "{empty}"
    );
    assert!(empty.to_string().ends_with("(empty)"), "{empty}");
}

#[test]
fn needs_no_kubeconfig_when_the_server_is_named() {
    let options = ConnectionOptions {
        server: Some("https://elsewhere".to_owned()),
        token: Some(SecretString::from("t")),
        ..ConnectionOptions::default()
    };
    for content in ["", "current-context: gone"] {
        let selection = Selection::of(&kubeconfig(content), &options).unwrap();
        assert_eq!(
            (selection.context, selection.cluster.server.as_deref()),
            (None, Some("https://elsewhere"))
        );
    }
}

#[test]
fn lays_cluster_flags_over_the_entry() {
    let server = select(ConnectionOptions {
        server: Some("https://other".to_owned()),
        ..ConnectionOptions::default()
    });
    let server = server.unwrap().cluster;
    assert_eq!(server.server.as_deref(), Some("https://other"));
    assert_eq!(server.tls_server_name, None);
    assert_eq!(server.certificate_authority_data.as_deref(), Some("Q0E="));
    let insecure = select(ConnectionOptions {
        insecure_skip_tls_verify: true,
        ..ConnectionOptions::default()
    });
    let insecure = insecure.unwrap().cluster;
    assert_eq!(
        (
            insecure.insecure_skip_tls_verify,
            insecure.certificate_authority_data
        ),
        (Some(true), None)
    );
    let authority = select(ConnectionOptions {
        certificate_authority: Some(PathBuf::from("/other.crt")),
        ..in_context("insecure")
    });
    let authority = authority.unwrap().cluster;
    assert_eq!(
        authority.certificate_authority.as_deref(),
        Some("/other.crt")
    );
    assert_eq!(authority.insecure_skip_tls_verify, Some(false));
}

#[test]
fn lets_a_token_or_password_replace_every_login() {
    let token = select(ConnectionOptions {
        token: Some(SecretString::from("flag")),
        ..ConnectionOptions::default()
    });
    let token = token.unwrap().user;
    assert_eq!(token.token.unwrap().expose_secret(), "flag");
    assert!(token.exec.is_none() && token.token_file.is_none());
    let basic = select(ConnectionOptions {
        username: Some("jane".to_owned()),
        ..ConnectionOptions::default()
    });
    let basic = basic.unwrap().user;
    assert_eq!(
        (
            basic.username.as_deref(),
            basic.password.unwrap().expose_secret()
        ),
        (Some("jane"), "")
    );
    assert!(basic.exec.is_none());
}

#[test]
fn lays_impersonation_and_certificates_over_the_user() {
    let selection = select(ConnectionOptions {
        user: Some("other".to_owned()),
        client_certificate: Some(PathBuf::from("a.crt")),
        client_key: Some(PathBuf::from("a.key")),
        impersonation: Impersonation {
            groups: vec!["dev".to_owned()],
            uid: Some("7".to_owned()),
            extra: [("scope".to_owned(), vec!["x".to_owned()])].into(),
            ..Impersonation::default()
        },
        ..ConnectionOptions::default()
    });
    let user = selection.unwrap().user;
    assert_eq!(user.impersonate.as_deref(), Some("jane"));
    assert_eq!(user.impersonate_groups.unwrap(), ["dev"]);
    assert_eq!(user.impersonate_uid.as_deref(), Some("7"));
    assert_eq!(user.client_certificate.as_deref(), Some("a.crt"));
    assert_eq!(user.client_key.as_deref(), Some("a.key"));
}
