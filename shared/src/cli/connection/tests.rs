//! What the flags resolve to, and which are refused.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;
use secrecy::ExposeSecret;

use super::{ConnectionFlags, HostFlags, MemberFlags, MemberOptions};
use crate::cluster::options::ConnectionOptions;
use crate::error::{Explain, UsageError};

#[derive(Debug, Parser)]
struct CommandLine {
    #[command(flatten)]
    connection: ConnectionFlags,
    #[command(flatten)]
    members: MemberFlags,
    #[command(flatten)]
    host: HostFlags,
}

fn parse(words: &str) -> CommandLine {
    CommandLine::try_parse_from(["x"].into_iter().chain(words.split_whitespace())).unwrap()
}

fn connection(words: &str) -> Result<ConnectionOptions, UsageError> {
    parse(words).connection.resolve()
}

fn members(words: &str) -> Result<MemberOptions, UsageError> {
    parse(words).members.resolve()
}

#[test]
fn takes_all_of_kubectls_connection_flags() {
    let options = connection(
        "--kubeconfig k --context c --cluster cl --user u -s https://x --token t --certificate-authority ca \
         --client-certificate crt --client-key key --tls-server-name n --insecure-skip-tls-verify --as jane \
         --as-group a --as-group b --as-uid 7 --as-user-extra s=1 --as-user-extra s=2 --request-timeout 5 \
         --disable-compression",
    )
    .unwrap();
    assert_eq!(options.kubeconfig, Some(PathBuf::from("k")));
    assert_eq!(options.context.as_deref(), Some("c"));
    assert_eq!(
        (options.cluster.as_deref(), options.user.as_deref()),
        (Some("cl"), Some("u"))
    );
    assert_eq!(options.server.as_deref(), Some("https://x"));
    assert_eq!(options.token.unwrap().expose_secret(), "t");
    assert_eq!(options.certificate_authority, Some(PathBuf::from("ca")));
    assert_eq!(options.client_certificate, Some(PathBuf::from("crt")));
    assert_eq!(options.client_key, Some(PathBuf::from("key")));
    assert_eq!(options.tls_server_name.as_deref(), Some("n"));
    assert!(options.insecure_skip_tls_verify && options.disable_compression);
    assert_eq!(options.impersonation.user.as_deref(), Some("jane"));
    assert_eq!(options.impersonation.groups, ["a", "b"]);
    assert_eq!(options.impersonation.uid.as_deref(), Some("7"));
    assert_eq!(options.impersonation.extra["s"], ["1", "2"]);
    assert_eq!(options.request_timeout, Some(Duration::from_secs(5)));
}

#[test]
fn shows_no_secret_when_debugged() {
    let flags = parse("--token s3cr3t --username jane --password s3cr3t");
    assert!(!format!("{flags:?}").contains("s3cr3t"));
    let options = connection("--username jane --password s3cr3t").unwrap();
    assert!(!format!("{options:?}").contains("s3cr3t"));
}

#[test]
fn knows_karmada_context_as_another_word_for_context() {
    for words in [
        "--context a",
        "--karmada-context a",
        "--context a --karmada-context a",
    ] {
        assert_eq!(
            connection(words).unwrap().context.as_deref(),
            Some("a"),
            "{words}"
        );
    }
    let error = connection("--context a --karmada-context b").unwrap_err();
    assert_eq!(
        error.to_string(),
        "--context and --karmada-context name different contexts"
    );
    assert_eq!(error.exit().code(), 2);
}

#[test]
fn takes_empty_values_as_absent() {
    let options =
        connection("--context= --kubeconfig= --server= --as= --cluster= --user=").unwrap();
    assert_eq!(
        (options.context, options.kubeconfig, options.server),
        (None, None, None)
    );
    assert_eq!(
        (options.cluster, options.user, options.impersonation.user),
        (None, None, None)
    );
}

#[test]
fn reads_timeouts_as_kubectl_does() {
    let table = [
        ("5", Some(5_000)),
        ("5s", Some(5_000)),
        ("1m30s", Some(90_000)),
        ("1.5s", Some(1_500)),
        ("100ms", Some(100)),
        ("2h", Some(7_200_000)),
        ("0", Some(600_000)),
        ("0s", Some(600_000)),
        ("-1", None),
        ("-1s", None),
        ("soon", None),
        ("5x", None),
        ("1.5", None),
        ("", None),
    ];
    for (text, milliseconds) in table {
        let read = connection(&format!("--request-timeout={text}"));
        match milliseconds {
            Some(milliseconds) => {
                assert_eq!(
                    read.unwrap().request_timeout,
                    Some(Duration::from_millis(milliseconds)),
                    "{text}"
                );
            }
            None => assert_eq!(
                read.unwrap_err().to_string(),
                "invalid timeout value. Timeout must be a single integer in seconds, or an integer followed by a \
                 corresponding time unit (e.g. 1s | 2m | 3h)",
                "{text}"
            ),
        }
    }
}

#[test]
fn refuses_flags_that_contradict_each_other() {
    let table = [
        (
            "--token t --username u",
            "more than one authentication method found on the command line; found [token basicAuth], only one is allowed",
        ),
        (
            "--as-group system:masters",
            "--as-group, --as-uid and --as-user-extra need somebody to act as: --as USER",
        ),
        (
            "--as jane --as-user-extra x",
            "--as-user-extra must be in the form of key=value",
        ),
        (
            "--as jane --as-user-extra =x",
            "--as-user-extra must be in the form of key=value",
        ),
    ];
    for (words, expected) in table {
        assert_eq!(connection(words).unwrap_err().to_string(), expected);
    }
}

#[test]
fn reads_contexts_of_members() {
    let options =
        members("--cluster-kubeconfig f --cluster-context a=ctx-a --cluster-context b=x=y")
            .unwrap();
    assert_eq!(options.kubeconfig, Some(PathBuf::from("f")));
    let contexts =
        BTreeMap::from([("a", "ctx-a"), ("b", "x=y")].map(|(a, b)| (a.to_owned(), b.to_owned())));
    assert_eq!(options.contexts, contexts);
    assert_eq!(options.contexts_of(&["a", "b", "c"]).unwrap(), contexts);
    let odd = members("--cluster-context admin@prod=eu").unwrap();
    assert_eq!(odd.only_context.as_deref(), Some("admin@prod=eu"));
    let expected = BTreeMap::from([("a".to_owned(), "admin@prod=eu".to_owned())]);
    assert_eq!(odd.contexts_of(&["a"]).unwrap(), expected);
}

#[test]
fn refuses_contexts_of_members_that_are_not_clear() {
    let table = [
        (
            "--cluster-context a=x --cluster-context a=y",
            "--cluster-context names two contexts for a",
        ),
        (
            "--cluster-context x --cluster-context y",
            "--cluster-context names two contexts for the selected member",
        ),
        (
            "--cluster-context a=",
            "--cluster-context names no context for a",
        ),
    ];
    for (words, expected) in table {
        assert_eq!(members(words).unwrap_err().to_string(), expected);
    }
    let several = members("--cluster-context x")
        .unwrap()
        .contexts_of(&["a", "b"])
        .unwrap_err();
    assert_eq!(
        several.to_string(),
        "--cluster-context x does not say for which of 2 clusters"
    );
    assert_eq!(
        several.hint().as_deref(),
        Some("write --cluster-context MEMBER=x")
    );
    let other = members("--cluster-context c=x")
        .unwrap()
        .contexts_of(&["a"])
        .unwrap_err();
    assert_eq!(
        other.to_string(),
        "--cluster-context names c, which is not among the selected clusters"
    );
    let twice = members("--cluster-context a=x --cluster-context y")
        .unwrap()
        .contexts_of(&["a"])
        .unwrap_err();
    assert_eq!(
        twice.to_string(),
        "--cluster-context names two contexts for a"
    );
}

#[test]
fn reads_where_the_host_is() {
    let host = |words: &str| parse(words).host.resolve().unwrap();
    assert!(!host("").is_given());
    assert!(!host("--karmada-namespace k").is_given());
    let given = host("--host-kubeconfig f --host-context c --karmada-namespace k");
    assert!(given.is_given());
    assert_eq!(given.kubeconfig, Some(PathBuf::from("f")));
    assert_eq!(
        (given.context.as_deref(), given.karmada_namespace.as_deref()),
        (Some("c"), Some("k"))
    );
    let inside = host("--host-in-cluster");
    assert!(inside.is_given() && inside.in_cluster);
    let both = ["x", "--host-in-cluster", "--host-context", "c"];
    assert!(CommandLine::try_parse_from(both).is_err());
}
