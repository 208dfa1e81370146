//! What `clusters/NAME/proxy` answers, told apart. Pure.
//!
//! The texts are those of Karmada's aggregated API server (`pkg/util/proxy/proxy.go`, `pkg/registry/cluster/storage`)
//! and of Go's network and TLS packages behind it.

use serde::Serialize;

/// An answer of the proxy to `GET .../proxy/readyz`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "answer", rename_all = "kebab-case")]
pub enum ProxyAnswer {
    /// 200: the control plane reaches the member and acts there.
    Ready,
    /// The member answered 401: address and certificate are right, the impersonator's token is not.
    Unauthorized,
    /// The member answered 403: address and certificate are right, impersonation is not granted there.
    Forbidden {
        /// The member's words.
        message: String,
    },
    /// The control plane answered 403: the caller may not use `clusters/proxy`.
    ForbiddenHere {
        /// The control plane's words.
        message: String,
    },
    /// It failed on the way.
    Failed {
        /// In which way.
        failure: Failure,
        /// The words of the answer.
        message: String,
    },
}

/// In which way the control plane fails to reach a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Failure {
    /// Nobody accepts the connection, or there is no route.
    Dial,
    /// The host is a name that is not known there.
    Dns,
    /// The certificate does not name the host.
    TlsName,
    /// The certificate is not signed by the authority in `caBundle`.
    TlsAuthority,
    /// The certificate's validity has ended or not begun.
    TlsValidity,
    /// No agreement on TLS, such as a member that speaks less than TLS 1.3.
    TlsOther,
    /// The cluster, or the path there, is not known.
    NotFound,
    /// No answer in time.
    Timeout,
    /// The proxy of `spec.proxyURL` does not let the control plane through.
    ProxyServer,
    /// The control plane lacks what it needs: the member's secret, the impersonator's, or what should be in them.
    Secret,
    /// Anything else.
    Other,
}

impl Failure {
    /// The failure in a few words, as the end of `the control plane cannot reach it: ...`.
    pub fn words(self) -> &'static str {
        match self {
            Failure::Dial => "the connection fails",
            Failure::Dns => "the host name is not known there",
            Failure::TlsName => "the certificate does not name the host",
            Failure::TlsAuthority => "the certificate is not signed by the stored CA",
            Failure::TlsValidity => "the certificate has expired or is not yet valid",
            Failure::TlsOther => "no TLS connection comes about",
            Failure::NotFound => "not found (404)",
            Failure::Timeout => "no answer in time",
            Failure::ProxyServer => "the proxy of spec.proxyURL does not let it through",
            Failure::Secret => "a secret that the control plane needs is missing or empty",
            Failure::Other => "an unexpected answer",
        }
    }
}

impl ProxyAnswer {
    /// Reads an answer from its status and the message of its body.
    pub fn read(status: u16, message: &str) -> ProxyAnswer {
        match status {
            200 => ProxyAnswer::Ready,
            401 => ProxyAnswer::Unauthorized,
            // The control plane's own refusal speaks of the resource clusters/proxy; the member's never does.
            403 if message.contains("clusters/proxy") => ProxyAnswer::ForbiddenHere {
                message: message.to_owned(),
            },
            403 => ProxyAnswer::Forbidden {
                message: message.to_owned(),
            },
            _ => ProxyAnswer::Failed {
                failure: failure(status, message),
                message: message.to_owned(),
            },
        }
    }

    /// No answer came from the control plane itself; these are the words of that failure.
    pub fn lost(message: String, timed_out: bool) -> ProxyAnswer {
        let failure = if timed_out {
            Failure::Timeout
        } else {
            Failure::Other
        };
        ProxyAnswer::Failed { failure, message }
    }

    /// Whether it proves that the control plane fails to reach the member at its address.
    pub fn refutes_the_address(&self) -> bool {
        match self {
            ProxyAnswer::Failed { failure, .. } => !matches!(
                failure,
                Failure::Secret | Failure::NotFound | Failure::Other
            ),
            _ => false,
        }
    }

    /// Whether it proves that address and certificate are right.
    pub fn proves_the_address(&self) -> bool {
        matches!(
            self,
            ProxyAnswer::Ready | ProxyAnswer::Unauthorized | ProxyAnswer::Forbidden { .. }
        )
    }
}

fn failure(status: u16, message: &str) -> Failure {
    let message = message.to_ascii_lowercase();
    let table = [
        ("impersonatorsecretref", Failure::Secret),
        ("proxyconnect", Failure::ProxyServer),
        ("socks connect", Failure::ProxyServer),
        // The misspelling is Karmada's.
        ("impresonate token", Failure::Secret),
        ("no such host", Failure::Dns),
        ("server misbehaving", Failure::Dns),
        ("certificate is valid for", Failure::TlsName),
        ("doesn't contain any ip sans", Failure::TlsName),
        ("not valid for any names", Failure::TlsName),
        ("legacy common name", Failure::TlsName),
        (
            "certificate signed by unknown authority",
            Failure::TlsAuthority,
        ),
        ("certificate is not trusted", Failure::TlsAuthority),
        ("ca bundle", Failure::TlsAuthority),
        (
            "certificate has expired or is not yet valid",
            Failure::TlsValidity,
        ),
        ("protocol version not supported", Failure::TlsOther),
        ("tls:", Failure::TlsOther),
        ("x509:", Failure::TlsOther),
        ("i/o timeout", Failure::Timeout),
        ("deadline exceeded", Failure::Timeout),
        ("client.timeout", Failure::Timeout),
        ("timed out", Failure::Timeout),
        ("connection refused", Failure::Dial),
        ("no route to host", Failure::Dial),
        ("network is unreachable", Failure::Dial),
        ("connection reset", Failure::Dial),
        ("dial tcp", Failure::Dial),
        ("eof", Failure::Dial),
    ];
    let by_words = table
        .iter()
        .find(|(words, _)| message.contains(words))
        .map(|(_, failure)| *failure);
    match (by_words, status) {
        // The secrets of the member and of the impersonator are read on this way, and named in the refusal.
        (None, 404) if message.starts_with("secrets \"") => Failure::Secret,
        (Some(failure), _) => failure,
        (None, 404) => Failure::NotFound,
        (None, 408 | 504) => Failure::Timeout,
        (None, _) => Failure::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(status: u16, message: &str, expected: Failure) {
        match ProxyAnswer::read(status, message) {
            ProxyAnswer::Failed { failure, .. } => assert_eq!(failure, expected, "{message}"),
            other => panic!("{message} was read as {other:?}"),
        }
    }

    #[test]
    fn failures_are_told_apart_by_their_texts() {
        let dial = "error trying to reach service: dial tcp 172.20.0.3:6443: connect: ";
        check(503, &format!("{dial}connection refused"), Failure::Dial);
        check(503, &format!("{dial}no route to host"), Failure::Dial);
        check(
            503,
            "error trying to reach service: dial tcp 172.20.0.3:6443: i/o timeout",
            Failure::Timeout,
        );
        check(
            503,
            "error trying to reach service: dial tcp: lookup apiserver.cluster.local on 10.96.0.10:53: no such host",
            Failure::Dns,
        );
        let tls = "error trying to reach service: tls: failed to verify certificate: x509: ";
        check(
            503,
            &format!("{tls}certificate is valid for 0.0.0.0, 172.20.0.3, not 172.28.0.11"),
            Failure::TlsName,
        );
        check(
            503,
            &format!("{tls}certificate signed by unknown authority"),
            Failure::TlsAuthority,
        );
        check(
            503,
            &format!("{tls}certificate has expired or is not yet valid: current time ..."),
            Failure::TlsValidity,
        );
        check(
            500,
            "the impersonatorSecretRef of cluster m is nil",
            Failure::Secret,
        );
        check(
            404,
            "clusters.cluster.karmada.io \"m\" not found",
            Failure::NotFound,
        );
        check(404, "secrets \"m-impersonator\" not found", Failure::Secret);
        check(
            500,
            "failed to get impresonateToken for cluster m: the impresonate token of cluster m is empty",
            Failure::Secret,
        );
        check(502, "odd", Failure::Other);
    }

    #[test]
    fn the_two_kinds_of_forbidden_are_told_apart() {
        let here = "clusters.cluster.karmada.io \"m\" is forbidden: User \"x\" cannot get resource \"clusters/proxy\" \
                    in API group \"cluster.karmada.io\" at the cluster scope";
        assert!(!ProxyAnswer::read(403, here).proves_the_address());
        let there = "users \"system:admin\" is forbidden: User \
                     \"system:serviceaccount:karmada-cluster:karmada-impersonator\" cannot impersonate resource \
                     \"users\" in API group \"\" at the cluster scope";
        assert!(ProxyAnswer::read(403, there).proves_the_address());
        assert!(ProxyAnswer::read(401, "Unauthorized").proves_the_address());
        assert!(ProxyAnswer::read(200, "ok").proves_the_address());
    }
}
