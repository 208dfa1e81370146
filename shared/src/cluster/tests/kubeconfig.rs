//! What is read from kubeconfig files, and what is said about those that cannot be.

#![allow(clippy::unwrap_used)]

use std::error::Error;
use std::path::Path;

use tempfile::TempDir;

use crate::cluster::error::ClusterError;
use crate::cluster::kubeconfig::Kubeconfig;
use crate::env::Env;
use crate::error::Explain;

const ONE: &str = "
apiVersion: v1
kind: Config
current-context: one
contexts: [{name: one, context: {cluster: one, user: shared}}, {name: common, context: {cluster: one}}]
clusters: [{name: one, cluster: {server: https://one:6443, certificate-authority: pki/ca.crt}}]
users: [{name: shared, user: {token: from-one}}]
";

const TWO: &str = "
current-context: two
contexts: [{name: two, context: {cluster: two, user: two}}, {name: common, context: {cluster: two}}]
clusters: [{name: two, cluster: {server: https://user:pw@two, certificate-authority: ../ca.crt}}]
users:
- {name: shared, user: {token: from-two}}
- name: two
  user:
    client-certificate: /abs/client.crt
    client-key: client.key
    exec: {apiVersion: client.authentication.k8s.io/v1, command: ./bin/login}
- {name: bare, user: {tokenFile: token, exec: {command: aws}}}
";

fn load(path: &Path) -> Result<Kubeconfig, ClusterError> {
    Kubeconfig::load(Some(path), &Env::default())
}

fn with_list(list: &str) -> Result<Kubeconfig, ClusterError> {
    Kubeconfig::load(
        None,
        &Env::of([("KUBECONFIG", list), ("HOME", "/nonexistent")]),
    )
}

fn write(folder: &TempDir, name: &str, content: impl AsRef<[u8]>) -> std::path::PathBuf {
    let path = folder.path().join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, content).unwrap();
    path
}

#[test]
fn merges_a_list_with_the_first_file_winning() {
    let folder = TempDir::new().unwrap();
    let (one, two) = (write(&folder, "a/one", ONE), write(&folder, "b/two", TWO));
    let list = format!(
        "{}::/nonexistent:{}:{}:",
        one.display(),
        two.display(),
        one.display()
    );
    let merged = with_list(&list).unwrap();
    let contexts: Vec<_> = merged
        .contexts()
        .into_iter()
        .map(|c| (c.name, c.server, c.runs_a_login))
        .collect();
    let summary =
        |name: &str, server: &str, login| (name.to_owned(), Some(server.to_owned()), login);
    assert_eq!(
        contexts,
        [
            summary("common", "https://one:6443", false),
            summary("one", "https://one:6443", false),
            summary("two", "https://two", true),
        ]
    );
    assert_eq!(merged.current_context(), Some("one"));
    let shared = merged.user("shared").unwrap().auth_info.clone().unwrap();
    assert_eq!(
        secrecy::ExposeSecret::expose_secret(&shared.token.unwrap()),
        "from-one"
    );
}

#[test]
fn resolves_paths_against_the_file_that_holds_them() {
    let folder = TempDir::new().unwrap();
    let (one, two) = (write(&folder, "a/one", ONE), write(&folder, "b/two", TWO));
    let merged = with_list(&format!("{}:{}", one.display(), two.display())).unwrap();
    let absolute = |name: &str| Some(folder.path().join(name).to_str().unwrap().to_owned());
    let authority = |name| {
        merged
            .cluster(name)
            .unwrap()
            .cluster
            .clone()
            .unwrap()
            .certificate_authority
    };
    assert_eq!(authority("one"), absolute("a/pki/ca.crt"));
    assert_eq!(authority("two"), absolute("b/../ca.crt"));
    let two = merged.user("two").unwrap().auth_info.clone().unwrap();
    assert_eq!(two.client_certificate.as_deref(), Some("/abs/client.crt"));
    assert_eq!(two.client_key, absolute("b/client.key"));
    assert_eq!(two.exec.unwrap().command, absolute("b/./bin/login"));
    let bare = merged.user("bare").unwrap().auth_info.clone().unwrap();
    assert_eq!(bare.token_file, absolute("b/token"));
    assert_eq!(bare.exec.unwrap().command.as_deref(), Some("aws"));
}

#[test]
fn looks_in_the_home_folder_when_nothing_is_named() {
    let home = TempDir::new().unwrap();
    write(&home, ".kube/config", ONE);
    let env = Env::of([("HOME", home.path().to_str().unwrap())]);
    assert_eq!(
        Kubeconfig::load(None, &env).unwrap().current_context(),
        Some("one")
    );
    assert_eq!(
        Kubeconfig::load(Some(Path::new("")), &env)
            .unwrap()
            .current_context(),
        Some("one")
    );
}

#[test]
fn says_where_it_looked_when_nothing_is_there() {
    let table = [
        (
            "/nonexistent/a:/nonexistent/b",
            "/nonexistent/a (missing), /nonexistent/b (missing)",
        ),
        ("", "/nonexistent/.kube/config (missing)"),
        (
            ":",
            "neither --kubeconfig, $KUBECONFIG nor $HOME names a file",
        ),
    ];
    for (list, places) in table {
        let kubeconfig = with_list(list).unwrap();
        assert!(kubeconfig.is_blank());
        assert_eq!(kubeconfig.places(), places);
    }
    let none = Kubeconfig::load(None, &Env::default()).unwrap();
    assert_eq!(
        none.places(),
        "neither --kubeconfig, $KUBECONFIG nor $HOME names a file"
    );
}

#[test]
fn reads_text_as_editors_and_shells_write_it() {
    let folder = TempDir::new().unwrap();
    let utf16 = |unit: fn(u16) -> [u8; 2]| -> Vec<u8> {
        "\u{feff}"
            .encode_utf16()
            .chain(ONE.encode_utf16())
            .flat_map(unit)
            .collect()
    };
    let contents: [Vec<u8>; 6] = [
        ONE.into(),
        format!("\u{feff}{ONE}").into(),
        utf16(u16::to_le_bytes),
        utf16(u16::to_be_bytes),
        ONE.replace('\n', "\r\n").into(),
        format!("# a comment\n---{ONE}\n---\nkind: Other\n").into(),
    ];
    for content in contents {
        let path = write(&folder, "config", content);
        assert_eq!(load(&path).unwrap().current_context(), Some("one"));
    }
}

#[test]
fn takes_files_without_entries_as_empty() {
    let folder = TempDir::new().unwrap();
    for content in [
        "",
        "\n",
        "# nothing\n",
        "---\n",
        "{}",
        "apiVersion: v1\nkind: Config\nclusters: null\n",
    ] {
        let path = write(&folder, "config", content);
        let kubeconfig = load(&path).unwrap();
        assert!(kubeconfig.is_blank(), "{content:?}");
        assert_eq!(kubeconfig.places(), format!("{} (empty)", path.display()));
    }
}

#[test]
fn explains_files_that_are_no_kubeconfig_without_quoting_them() {
    let folder = TempDir::new().unwrap();
    let secret = "s3cr3t";
    let table: [(&[u8], &str); 14] = [
        (b"a: [s3cr3t", "kubeconfig PATH is not valid YAML (line 1)"),
        (
            b"kind: Config\nusers: {\"s3cr3t: ",
            "kubeconfig PATH is not valid YAML (line 2)",
        ),
        (
            b"kind: Config\ncontexts: s3cr3t\n",
            "kubeconfig PATH does not have the fields of a kubeconfig (line 2)",
        ),
        (
            b"users: [{name: a, user: {token: [s3cr3t]}}]",
            "kubeconfig PATH does not have the fields of a kubeconfig (line 1)",
        ),
        (
            b"users: [{user: {token: s3cr3t}}]",
            "kubeconfig PATH does not have the fields of a kubeconfig (line 1)",
        ),
        (b"[s3cr3t]", "PATH is other YAML, not a kubeconfig"),
        (b"s3cr3t", "PATH is other YAML, not a kubeconfig"),
        (
            b"kind: Pod\nspec: s3cr3t",
            "PATH is a Pod, not a kubeconfig",
        ),
        (
            b"kind: Pod\ncontexts: s3cr3t",
            "PATH is a Pod, not a kubeconfig",
        ),
        (
            b"kind: 's3cr3t is here'",
            "PATH is other YAML, not a kubeconfig",
        ),
        (
            b"-----BEGIN CERTIFICATE-----\ns3cr3t\n-----END CERTIFICATE-----\n",
            "PATH is other YAML, not a kubeconfig",
        ),
        (
            b"\x30\x82s3cr3t\xff\xfe",
            "kubeconfig PATH is not text in UTF-8",
        ),
        (b"\xff\xfea", "kubeconfig PATH is not text in UTF-8"),
        (b"a\0s3cr3t", "kubeconfig PATH is not text in UTF-8"),
    ];
    for (content, expected) in table {
        let path = write(&folder, "config", content);
        let error = load(&path).unwrap_err();
        let text = format!("{error} {error:?} {:?} {:?}", error.source(), error.hint());
        assert_eq!(
            error.to_string(),
            expected.replace("PATH", path.to_str().unwrap())
        );
        assert!(!text.contains(secret), "{text}");
    }
}

#[test]
fn explains_paths_that_cannot_be_read() {
    let folder = TempDir::new().unwrap();
    let missing = load(Path::new("/nope")).unwrap_err();
    assert_eq!(missing.to_string(), "stat /nope: no such file or directory");
    assert_eq!(missing.exit().code(), 2);
    let directory = load(folder.path()).unwrap_err();
    assert_eq!(
        directory.to_string(),
        format!("cannot read kubeconfig {}", folder.path().display())
    );
    let list = with_list(folder.path().to_str().unwrap()).unwrap_err();
    assert_eq!(list.to_string(), directory.to_string());
}

#[test]
fn refuses_two_entries_of_one_name_in_one_file() {
    let folder = TempDir::new().unwrap();
    let table = [
        (
            "contexts: [{name: a}, {name: a}]",
            "two contexts are named \"a\"",
        ),
        (
            "clusters: [{name: a}, {name: b}, {name: a}]",
            "two clusters are named \"a\"",
        ),
        ("users: [{name: a}, {name: a}]", "two users are named \"a\""),
    ];
    for (content, expected) in table {
        let path = write(&folder, "config", content);
        let error = load(&path).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("kubeconfig {}: {expected}", path.display())
        );
    }
}

#[test]
fn takes_the_last_of_two_equal_keys_as_kubectl_does() {
    let folder = TempDir::new().unwrap();
    let path = write(
        &folder,
        "config",
        "current-context: a\ncurrent-context: b\n",
    );
    assert_eq!(load(&path).unwrap().current_context(), Some("b"));
}

#[test]
fn shows_no_content_when_debugged() {
    let folder = TempDir::new().unwrap();
    let path = write(&folder, "config", ONE);
    let shown = format!("{:?}", load(&path).unwrap());
    assert!(
        !shown.contains("from-one") && !shown.contains("6443"),
        "{shown}"
    );
}
