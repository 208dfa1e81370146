//! What `GET clusters/NAME/proxy/api` answers to a subject, told apart. Pure.
//!
//! Two servers can refuse it, and each for two reasons: the control plane the use of `clusters/proxy` or the impersonation
//! with which this plugin tries on somebody's behalf, the member the impersonation by Karmada or what the subject asks.
//! Texts: `k8s.io/apiserver` before 1.36 and of 1.36, Karmada's `pkg/util/proxy` and `pkg/registry/cluster/storage`.

use serde::Serialize;

/// What came of an attempt to reach a member as a subject.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "answer", rename_all = "kebab-case")]
pub enum Answer {
    /// 200.
    Passes {
        /// How long it took.
        milliseconds: u64,
    },
    /// The control plane does not let the subject use `clusters/proxy`.
    NotLetThrough {
        /// Its words.
        message: String,
    },
    /// The member does not accept that Karmada acts as the subject.
    NotAccepted {
        /// What it names as the reason; `None` = it names nothing.
        lacking: Option<Lacking>,
        /// Its words.
        message: String,
    },
    /// The member accepts the subject, who may not even ask there.
    NoRights {
        /// Its words.
        message: String,
    },
    /// The member does not know the token of Karmada's impersonator (401).
    TokenRejected,
    /// The control plane does not let the caller act as the subject, so that nobody knows.
    MayNotTry {
        /// Its words.
        message: String,
    },
    /// The control plane lacks what it needs to ask the member.
    NoCredentials {
        /// Its words.
        message: String,
    },
    /// The member cannot be reached from the control plane.
    Unreachable {
        /// The words of the answer.
        message: String,
    },
    /// There is no such cluster any more.
    NoCluster,
    /// Something else.
    Odd {
        /// The words of the answer, or of what kept it away.
        message: String,
    },
}

/// What the rules of the member's role lack.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Lacking {
    /// `users`, `groups` or `serviceaccounts`.
    pub resource: String,
    /// The name.
    pub name: String,
}

impl Answer {
    /// Reads an answer from its status, the message of its body and the time it took.
    pub fn read(status: u16, message: &str, milliseconds: u64) -> Answer {
        let message = message.to_owned();
        match status {
            200 => Answer::Passes { milliseconds },
            401 => Answer::TokenRejected,
            403 => refused(message),
            404 if message.starts_with("secrets \"") => Answer::NoCredentials { message },
            404 if message.starts_with("clusters") => Answer::NoCluster,
            _ if is_about_credentials(&message) => Answer::NoCredentials { message },
            _ if is_about_the_way(status, &message) => Answer::Unreachable { message },
            _ => Answer::Odd {
                message: match message.is_empty() {
                    true => format!("an answer {status} without words"),
                    false => message,
                },
            },
        }
    }

    /// Whether the member was reached as the subject.
    pub fn passes(&self) -> bool {
        matches!(self, Answer::Passes { .. } | Answer::NoRights { .. })
    }

    /// The answer in a few words, as tables show it.
    pub fn words(&self) -> String {
        match self {
            Answer::Passes { milliseconds } => format!("200 in {milliseconds} ms"),
            Answer::NotLetThrough { .. } => "403 of the control plane".to_owned(),
            Answer::NotAccepted { .. } => "403 of the member".to_owned(),
            Answer::NoRights { .. } => "accepted, 403 for its rights".to_owned(),
            Answer::TokenRejected => "401 of the member".to_owned(),
            Answer::MayNotTry { .. } => "unknown".to_owned(),
            Answer::NoCredentials { .. } => "no impersonator token".to_owned(),
            Answer::Unreachable { .. } => "unreachable".to_owned(),
            Answer::NoCluster => "no such cluster".to_owned(),
            Answer::Odd { .. } => "an odd answer".to_owned(),
        }
    }
}

fn refused(message: String) -> Answer {
    let impersonator = message
        .split_once("cannot impersonate")
        .and_then(|(before, _)| before.rsplit_once("User \""))
        .and_then(|(_, name)| name.rsplit_once('"'))
        .map(|(name, _)| name);
    match impersonator {
        Some(name) if name.ends_with(IMPERSONATOR) => Answer::NotAccepted {
            lacking: lacking(&message),
            message,
        },
        Some(_) => Answer::MayNotTry { message },
        // The control plane's own refusal speaks of the resource; the member's never does.
        None if message.contains("\"clusters/proxy\"") => Answer::NotLetThrough { message },
        None => Answer::NoRights { message },
    }
}

/// Reads `users "jane" is forbidden: ...`, or what was wrapped around it; the wording of 1.36 names nobody where no rule
/// at all applies.
fn lacking(message: &str) -> Option<Lacking> {
    let (before, _) = message.split_once("\" is forbidden:")?;
    ["users", "groups", "serviceaccounts"]
        .into_iter()
        .filter_map(|resource| {
            let (_, name) = before.rsplit_once(&format!("{resource} \""))?;
            Some(Lacking {
                resource: resource.to_owned(),
                name: name.to_owned(),
            })
        })
        .min_by_key(|lacking| lacking.name.len())
}

fn is_about_credentials(message: &str) -> bool {
    let message = message.to_ascii_lowercase();
    // The misspelling is Karmada's.
    [
        "impersonatorsecretref",
        "impresonate token",
        "impersonator\" not found",
    ]
    .iter()
    .any(|words| message.contains(words))
}

fn is_about_the_way(status: u16, message: &str) -> bool {
    let message = message.to_ascii_lowercase();
    matches!(status, 408 | 504)
        || [
            "dial tcp",
            "no such host",
            "x509:",
            "tls:",
            "timeout",
            "deadline exceeded",
            "connection refused",
            "connection reset",
            "no route to host",
            "network is unreachable",
            "error trying to reach service",
            "proxyconnect",
            "ca bundle",
            "api endpoint",
            "eof",
        ]
        .iter()
        .any(|words| message.contains(words))
}

/// The service account with whose token Karmada asks members.
const IMPERSONATOR: &str = ":karmada-impersonator";

#[cfg(test)]
mod tests {
    use super::*;

    fn read(status: u16, message: &str) -> Answer {
        Answer::read(status, message, 12)
    }

    #[track_caller]
    fn is_not_accepted(message: &str, expected: Option<(&str, &str)>) {
        let expected = expected.map(|(resource, name)| Lacking {
            resource: resource.to_owned(),
            name: name.to_owned(),
        });
        match read(403, message) {
            Answer::NotAccepted { lacking, .. } => assert_eq!(lacking, expected, "{message}"),
            other => panic!("{message} was read as {other:?}"),
        }
    }

    const WHO: &str = "User \"system:serviceaccount:karmada-cluster:karmada-impersonator\"";

    #[test]
    fn a_member_names_whom_it_does_not_accept() {
        is_not_accepted(
            &format!(
                "users \"system:admin\" is forbidden: {WHO} cannot impersonate resource \"users\" in API group \"\" at the cluster scope"
            ),
            Some(("users", "system:admin")),
        );
        is_not_accepted(
            &format!(
                "groups \"system:serviceaccounts\" is forbidden: {WHO} cannot impersonate resource \"groups\" in API group \"\" at the cluster scope"
            ),
            Some(("groups", "system:serviceaccounts")),
        );
        is_not_accepted(
            &format!(
                "serviceaccounts \"custom-admin\" is forbidden: {WHO} cannot impersonate resource \"serviceaccounts\" in API group \"\" in the namespace \"karmada-custom-user\""
            ),
            Some(("serviceaccounts", "custom-admin")),
        );
        is_not_accepted(
            &format!(
                "users \"the users \\\"x\\\" y\" is forbidden: {WHO} cannot impersonate resource \"users\" in API group \"\" at the cluster scope"
            ),
            Some(("users", "the users \\\"x\\\" y")),
        );
    }

    #[test]
    fn the_member_of_kubernetes_1_36_names_nobody() {
        is_not_accepted(
            &format!("forbidden: {WHO} cannot impersonate-on:user-info:get path \"/api\""),
            None,
        );
    }

    #[test]
    fn a_member_of_another_cluster_namespace_is_one_too() {
        is_not_accepted(
            "users \"a\" is forbidden: User \"system:serviceaccount:fed:karmada-impersonator\" cannot impersonate resource \"users\" in API group \"\" at the cluster scope",
            Some(("users", "a")),
        );
    }

    #[test]
    fn the_four_refusals_are_told_apart() {
        let here = "clusters.cluster.karmada.io \"m\" is forbidden: User \"x\" cannot get resource \"clusters/proxy\" in API group \"cluster.karmada.io\" at the cluster scope";
        assert!(matches!(read(403, here), Answer::NotLetThrough { .. }));
        let caller = "users \"jane\" is forbidden: User \"bob\" cannot impersonate resource \"users\" in API group \"\" at the cluster scope";
        assert!(matches!(read(403, caller), Answer::MayNotTry { .. }));
        let constrained = "clusters.cluster.karmada.io \"m\" is forbidden: User \"bob\" cannot impersonate-on:user-info:get resource \"clusters/proxy\" in API group \"cluster.karmada.io\" at the cluster scope";
        assert!(matches!(read(403, constrained), Answer::MayNotTry { .. }));
        let there = "forbidden: User \"jane\" cannot get path \"/api\"";
        assert!(matches!(read(403, there), Answer::NoRights { .. }));
    }

    #[test]
    fn failures_are_told_apart_by_their_texts() {
        let unreachable = [
            (
                503,
                "error trying to reach service: dial tcp 172.20.0.3:6443: connect: connection refused",
            ),
            (
                503,
                "error trying to reach service: tls: failed to verify certificate: x509: certificate signed by unknown authority",
            ),
            (
                500,
                "dial tcp: lookup a.example on 10.96.0.10:53: no such host",
            ),
            (500, "the api endpoint of cluster m is empty"),
            (504, ""),
        ];
        for (status, message) in unreachable {
            assert!(
                matches!(read(status, message), Answer::Unreachable { .. }),
                "{message}"
            );
        }
        let credentials = [
            (500, "the impersonatorSecretRef of cluster m is nil"),
            (
                500,
                "failed to get impresonateToken for cluster m: the impresonate token of cluster m is empty",
            ),
            (404, "secrets \"m-impersonator\" not found"),
            (
                500,
                "failed to get impresonateToken for cluster m: secrets \"m-impersonator\" not found",
            ),
        ];
        for (status, message) in credentials {
            assert!(
                matches!(read(status, message), Answer::NoCredentials { .. }),
                "{message}"
            );
        }
        assert_eq!(read(401, "Unauthorized"), Answer::TokenRejected);
        assert_eq!(
            read(404, "clusters.cluster.karmada.io \"m\" not found"),
            Answer::NoCluster
        );
        assert!(matches!(read(418, ""), Answer::Odd { .. }));
        assert_eq!(read(200, ""), Answer::Passes { milliseconds: 12 });
    }
}
