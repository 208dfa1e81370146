//! What is made of the files, certificates and tokens that a kubeconfig names.

#![allow(clippy::unwrap_used)]

use std::error::Error;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use kube::Config;
use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair};
use secrecy::{ExposeSecret, SecretString};
use tempfile::TempDir;

use crate::cluster::error::ClusterError;
use crate::cluster::kubeconfig::Kubeconfig;
use crate::cluster::material;
use crate::cluster::options::ConnectionOptions;
use crate::cluster::proxy::ProxyRules;
use crate::cluster::selection::Selection;
use crate::env::Env;

/// `cluster` and `user` are the fields of the entries in YAML flow style.
fn config_in(
    folder: &TempDir,
    cluster: &str,
    user: &str,
    env: &Env,
) -> Result<Config, ClusterError> {
    let text = format!(
        "{{current-context: c, contexts: [{{name: c, context: {{cluster: c, user: u}}}}], \
         clusters: [{{name: c, cluster: {{{cluster}}}}}], users: [{{name: u, user: {{{user}}}}}]}}"
    );
    let path = folder.path().join("config");
    std::fs::write(&path, text).unwrap();
    let kubeconfig = Kubeconfig::load(Some(&path), &Env::default()).unwrap();
    let selection = Selection::of(&kubeconfig, &ConnectionOptions::default())?;
    material::config(&selection, &ProxyRules::from_env(env))
}

fn config(cluster: &str, user: &str) -> Result<Config, ClusterError> {
    config_in(&TempDir::new().unwrap(), cluster, user, &Env::default())
}

fn authority() -> String {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params
        .self_signed(&KeyPair::generate().unwrap())
        .unwrap()
        .pem()
}

#[test]
fn never_lets_kube_retry_or_choose_a_proxy() {
    let config = config("server: 'https://x'", "").unwrap();
    assert!(!config.default_retry);
    assert_eq!(config.proxy_url, None);
}

#[test]
fn reads_the_url_of_the_server_as_client_go_does() {
    let table = [
        ("server: 'https://x:6443'", "https://x:6443/"),
        ("server: 'https://x:443/'", "https://x/"),
        (
            "server: 'https://x/k8s/clusters/c-1/'",
            "https://x/k8s/clusters/c-1/",
        ),
        ("server: 'https://[::1]:6443'", "https://[::1]:6443/"),
        ("server: 'http://localhost:8080'", "http://localhost:8080/"),
        ("server: 'localhost:8080'", "http://localhost:8080/"),
        (
            "server: '172.18.0.3:6443', insecure-skip-tls-verify: true",
            "https://172.18.0.3:6443/",
        ),
        ("server: ' https://x '", "https://x/"),
    ];
    for (cluster, expected) in table {
        assert_eq!(
            config(cluster, "").unwrap().cluster_url.to_string(),
            expected,
            "{cluster}"
        );
    }
}

#[test]
fn refuses_what_is_no_server() {
    for server in [
        "ftp://x",
        "https://",
        "https://x?y",
        "https://x#y",
        "https://a b",
        "https://[::1",
        "https://x:99999",
    ] {
        let error = config(&format!("server: '{server}'"), "").unwrap_err();
        let expected =
            format!("server \"{server}\" of cluster \"c\" is not the URL of an API server");
        assert_eq!(error.to_string(), expected);
    }
    let error = config("server: 'https://jane:pw@x?y'", "").unwrap_err();
    assert!(!error.to_string().contains("pw"), "{error}");
}

#[test]
fn prefers_the_kubeconfigs_proxy_and_does_not_exempt_it() {
    let folder = TempDir::new().unwrap();
    let env = Env::of([("HTTPS_PROXY", "http://env:1"), ("NO_PROXY", "*")]);
    let proxy = |cluster: &str| config_in(&folder, cluster, "", &env);
    let named = proxy("server: 'https://x', proxy-url: 'socks5h://named:2'").unwrap();
    assert_eq!(named.proxy_url.unwrap().to_string(), "socks5://named:2/");
    assert_eq!(proxy("server: 'https://x'").unwrap().proxy_url, None);
    let error = proxy("server: 'https://x', proxy-url: 'named:2'").unwrap_err();
    let expected = "proxy-url of cluster \"c\" is not the URL of an http, https or socks5 proxy";
    assert_eq!(error.to_string(), expected);
}

#[test]
fn reads_authorities_whatever_surrounds_them() {
    let pem = authority();
    let wrapped = format!(
        "Bag Attributes\n  friendlyName: caf\u{e9}\n{}\nsubject=x\n{pem}",
        pem.replace('\n', "\r\n")
    );
    let mut bytes = wrapped.into_bytes();
    bytes.extend_from_slice(b"\xff\xfe not UTF-8");
    assert_eq!(material::trust_anchors(&bytes).unwrap().len(), 2);
    let folded: Vec<String> = STANDARD
        .encode(&pem)
        .as_bytes()
        .chunks(40)
        .map(|c| String::from_utf8_lossy(c).into_owned())
        .collect();
    let cluster = format!(
        "server: 'https://x', certificate-authority-data: '{}'",
        folded.join(" ")
    );
    assert_eq!(config(&cluster, "").unwrap().root_cert.unwrap().len(), 1);
}

#[test]
fn explains_authorities_that_are_none() {
    let key = KeyPair::generate().unwrap().serialize_pem();
    let table: [(&[u8], &str); 4] = [
        (b"", "is empty"),
        (b"\x30\x82\x01\x0a", "is in DER, not PEM"),
        (b"hello", "holds no certificate in PEM"),
        (key.as_bytes(), "holds no certificate in PEM"),
    ];
    for (pem, expected) in table {
        assert_eq!(material::trust_anchors(pem).unwrap_err(), expected);
    }
    let error = config(
        "server: 'https://x', certificate-authority-data: 's3cr3t!'",
        "",
    )
    .unwrap_err();
    assert_eq!(
        error.to_string(),
        "certificate-authority-data of cluster \"c\" is not base64"
    );
}

#[test]
fn names_the_absolute_path_that_cannot_be_read() {
    let folder = TempDir::new().unwrap();
    let table = [
        (
            "certificate-authority: pki/x",
            "",
            "certificate-authority",
            "cluster \"c\"",
        ),
        (
            "",
            "client-certificate: pki/x, client-key: pki/x",
            "client-certificate",
            "user \"u\"",
        ),
        ("", "tokenFile: pki/x", "tokenFile", "user \"u\""),
    ];
    for (cluster, user, what, of) in table {
        let cluster = format!("server: 'https://x', {cluster}");
        let error = config_in(&folder, &cluster, user, &Env::default()).unwrap_err();
        let path = folder.path().join("pki/x");
        assert_eq!(
            error.to_string(),
            format!("unable to read {what} {} of {of}", path.display())
        );
        assert_eq!(
            error.source().unwrap().to_string(),
            "No such file or directory (os error 2)"
        );
    }
}

#[test]
fn reads_a_token_from_its_file_without_the_line_break() {
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("token"), "abc\n").unwrap();
    let token = |user: &str| {
        let config = config_in(&folder, "server: 'https://x'", user, &Env::default());
        config.map(|config| {
            config
                .auth_info
                .token
                .map(|token| token.expose_secret().to_owned())
        })
    };
    assert_eq!(token("tokenFile: token").unwrap().as_deref(), Some("abc"));
    assert_eq!(
        token("tokenFile: token, token: inline").unwrap().as_deref(),
        Some("inline")
    );
    std::fs::write(folder.path().join("token"), "\n").unwrap();
    assert_eq!(
        token("tokenFile: token").unwrap_err().to_string(),
        "tokenFile of user \"u\" is empty"
    );
    let broken = token(r#"token: "a\nb""#).unwrap_err();
    assert_eq!(
        broken.to_string(),
        "token of user \"u\" has characters that cannot be sent in a header"
    );
}

#[test]
fn wants_certificate_and_key_together() {
    let certificate = STANDARD.encode(authority());
    let table = [
        (
            format!("client-certificate-data: {certificate}"),
            "client-key-data or client-key must be specified for user \"u\" to use the clientCert authentication method",
        ),
        (
            "client-key-data: S0VZ".to_owned(),
            "client-certificate-data or client-certificate must be specified for user \"u\" to use its client key",
        ),
        (
            "client-certificate-data: S0VZ, client-key-data: S0VZ".to_owned(),
            "client-certificate-data of user \"u\" holds no certificate in PEM",
        ),
    ];
    for (user, expected) in table {
        assert_eq!(
            config("server: 'https://x'", &user)
                .unwrap_err()
                .to_string(),
            expected
        );
    }
}

#[test]
fn passes_client_files_on_as_content() {
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("crt"), authority()).unwrap();
    std::fs::write(folder.path().join("key"), "KEY").unwrap();
    let user = "client-certificate: crt, client-key: key";
    let user = config_in(&folder, "server: 'https://x'", user, &Env::default())
        .unwrap()
        .auth_info;
    assert_eq!((user.client_certificate, user.client_key), (None, None));
    assert_eq!(
        user.client_key_data
            .as_ref()
            .map(SecretString::expose_secret),
        Some("S0VZ")
    );
}

#[test]
fn names_the_way_out_for_removed_auth_providers() {
    use crate::error::Explain;
    let error = config(
        "server: 'https://x'",
        "auth-provider: {name: gcp, config: {cmd-path: gcloud}}",
    )
    .unwrap_err();
    assert_eq!(
        error.to_string(),
        "no Auth Provider found for name \"gcp\" (user \"u\")"
    );
    assert!(error.hint().unwrap().contains("gke-gcloud-auth-plugin"));
}
