//! Who sends a request, on whose behalf, and who is behind a kubeconfig.

#![allow(clippy::unwrap_used)]

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderMap, Request};
use rcgen::{CertificateParams, DnType, KeyPair};
use secrecy::ExposeSecret;
use tempfile::TempDir;

use super::fake_server::{FakeServer, Reply, connector};
use crate::cluster::error::ClusterError;
use crate::cluster::kubeconfig::Kubeconfig;
use crate::cluster::on_behalf::OnBehalf;
use crate::cluster::options::{ConnectionOptions, Impersonation};
use crate::cluster::presented::Presented;
use crate::env::Env;

#[tokio::test]
async fn as_oneself_nobody_is_named_whatever_file_and_flags_say() {
    let server = FakeServer::start([Reply::json("200 OK", "{}")]).await;
    let kubeconfig = server.kubeconfig("{token: t0ken, as: bob, as-groups: [devs]}");
    let options = ConnectionOptions {
        impersonation: Impersonation {
            user: Some("jane".to_owned()),
            groups: vec!["qa".to_owned()],
            ..Impersonation::default()
        },
        ..ConnectionOptions::default()
    };
    let request = || Request::get("/version").body(Vec::new()).unwrap();
    let as_jane = connector().connect(&kubeconfig, &options).unwrap();
    as_jane.raw(request()).await.unwrap();
    let oneself = connector()
        .connect_as_oneself(&kubeconfig, &options)
        .unwrap();
    oneself.raw(request()).await.unwrap();
    let names: Vec<bool> = server
        .requests()
        .iter()
        .map(|request| request.to_lowercase().contains("impersonate-"))
        .collect();
    assert_eq!(names, [true, false]);
}

#[test]
fn names_travel_as_they_are_and_those_that_cannot_are_told() {
    let somebody = |user: &str, groups: &[&str]| OnBehalf {
        user: user.to_owned(),
        groups: groups.iter().map(|group| (*group).to_owned()).collect(),
    };
    let mut headers = HeaderMap::new();
    somebody("oidc:日本 é", &["a/b", "c d"])
        .name_in(&mut headers)
        .unwrap();
    assert_eq!(
        headers["impersonate-user"].as_bytes(),
        "oidc:日本 é".as_bytes()
    );
    assert_eq!(headers.get_all("impersonate-group").iter().count(), 2);
    assert_eq!(
        somebody("jane", &["a\nb"]).name_in(&mut headers),
        Err("a\nb".to_owned())
    );
}

fn presented(user: &str) -> Result<Presented, ClusterError> {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("config");
    let text = format!(
        "{{current-context: c, contexts: [{{name: c, context: {{cluster: c, user: u}}}}], \
         clusters: [{{name: c, cluster: {{server: 'https://h'}}}}], users: [{{name: u, user: {{{user}}}}}]}}"
    );
    std::fs::write(&path, text).unwrap();
    let kubeconfig = Kubeconfig::load(Some(&path), &Env::default())?;
    Presented::by(&kubeconfig, &ConnectionOptions::default())
}

#[test]
fn a_certificate_tells_user_groups_and_end() {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.distinguished_name.push(DnType::CommonName, "jane");
    params
        .distinguished_name
        .push(DnType::OrganizationName, "devs");
    params.not_after = rcgen::date_time_ymd(2031, 2, 3);
    let key = KeyPair::generate().unwrap();
    let certificate = STANDARD.encode(params.self_signed(&key).unwrap().pem());
    let key = STANDARD.encode(key.serialize_pem());
    let user = format!("client-certificate-data: {certificate}, client-key-data: {key}, token: t");
    match presented(&user).unwrap() {
        Presented::Certificate {
            common_name,
            organizations,
            not_after,
        } => {
            assert_eq!(
                (common_name.as_str(), organizations),
                ("jane", vec!["devs".to_owned()])
            );
            assert_eq!(not_after.unwrap().to_string(), "2031-02-03T00:00:00Z");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn whatever_else_a_user_presents_is_told_apart() {
    match presented("token: t0ken").unwrap() {
        Presented::Token(token) => assert_eq!(token.expose_secret(), "t0ken"),
        other => panic!("{other:?}"),
    }
    let acting = presented("token: t, as: bob, as-groups: [devs]").unwrap();
    assert!(
        matches!(acting, Presented::Acting { user, groups } if user == "bob" && groups == ["devs"])
    );
    let login = "exec: {apiVersion: client.authentication.k8s.io/v1, command: login, interactiveMode: Never}";
    assert!(matches!(presented(login), Ok(Presented::Login)));
    assert!(matches!(
        presented("username: a, password: b"),
        Ok(Presented::Password)
    ));
    assert!(matches!(presented(""), Ok(Presented::Nothing)));
    assert!(presented("tokenFile: /nowhere/token").is_err());
}
