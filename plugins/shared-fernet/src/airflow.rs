//! What Airflow calls its keys, and what the charts that install it do. Pure.

use serde::Serialize;

/// A key that Airflow instances with one metadata database must share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum KeyKind {
    /// `[core] fernet_key`: encrypts connections and variables in the database.
    Fernet,
    /// `[webserver] secret_key` (Airflow 2): signs sessions and requests for logs.
    Webserver,
    /// `[api] secret_key` (Airflow 3): the same.
    Api,
    /// `[api_auth] jwt_secret` (Airflow 3): signs what schedulers and tasks show the API server.
    Jwt,
}

impl KeyKind {
    /// All of them, in the order in which they are shown.
    pub const ALL: [KeyKind; 4] = [
        KeyKind::Fernet,
        KeyKind::Webserver,
        KeyKind::Api,
        KeyKind::Jwt,
    ];

    /// As the official chart calls the key in a Secret, and reports the subject.
    pub fn name(self) -> &'static str {
        match self {
            KeyKind::Fernet => "fernet-key",
            KeyKind::Webserver => "webserver-secret-key",
            KeyKind::Api => "api-secret-key",
            KeyKind::Jwt => "jwt-secret",
        }
    }

    /// The variable that Airflow reads; `_CMD` and `_SECRET` may follow.
    pub fn variable(self) -> &'static str {
        match self {
            KeyKind::Fernet => "AIRFLOW__CORE__FERNET_KEY",
            KeyKind::Webserver => "AIRFLOW__WEBSERVER__SECRET_KEY",
            KeyKind::Api => "AIRFLOW__API__SECRET_KEY",
            KeyKind::Jwt => "AIRFLOW__API_AUTH__JWT_SECRET",
        }
    }

    /// The variable that Bitnami's image makes that one of; `_FILE` may follow.
    pub fn variable_of_bitnami(self) -> Option<&'static str> {
        match self {
            KeyKind::Fernet => Some("AIRFLOW_FERNET_KEY"),
            KeyKind::Webserver => Some("AIRFLOW_SECRET_KEY"),
            KeyKind::Api | KeyKind::Jwt => None,
        }
    }

    /// The value of the official chart that holds the key.
    pub fn chart_value(self) -> &'static str {
        match self {
            KeyKind::Fernet => "fernetKey",
            KeyKind::Webserver => "webserverSecretKey",
            KeyKind::Api => "apiSecretKey",
            KeyKind::Jwt => "jwtSecret",
        }
    }

    /// The value of the official chart that names the Secret.
    pub fn chart_secret_value(self) -> &'static str {
        match self {
            KeyKind::Fernet => "fernetKeySecretName",
            KeyKind::Webserver => "webserverSecretKeySecretName",
            KeyKind::Api => "apiSecretKeySecretName",
            KeyKind::Jwt => "jwtSecretName",
        }
    }

    /// The column of the overview.
    pub fn column(self) -> (&'static str, &'static str) {
        match self {
            KeyKind::Fernet => ("fernetKey", "FERNET"),
            KeyKind::Webserver => ("webserverSecretKey", "WEBSERVER"),
            KeyKind::Api => ("apiSecretKey", "API"),
            KeyKind::Jwt => ("jwtSecret", "JWT"),
        }
    }

    /// What fails where it differs, without a final period.
    pub fn symptom(self) -> &'static str {
        match self {
            KeyKind::Fernet => "connections raise InvalidToken, and variables become None",
            KeyKind::Webserver | KeyKind::Api => {
                "sessions and CSRF tokens of one are refused by the other, and logs of its workers with 403"
            }
            KeyKind::Jwt => {
                "the API server refuses the other's schedulers and tasks: Invalid auth token, Signature verification failed"
            }
        }
    }

    /// Names and keys that charts give the Secret for this release, most likely first.
    pub fn of_charts(self, release: &str) -> Vec<(String, &'static str)> {
        let fullname = match release.contains("airflow") {
            true => release.to_owned(),
            false => format!("{release}-airflow"),
        };
        let mut all = vec![(format!("{release}-{}", self.name()), self.name())];
        if fullname != release {
            all.push((format!("{fullname}-{}", self.name()), self.name()));
        }
        all.push((format!("{fullname}-config-envs"), self.variable()));
        match self {
            KeyKind::Fernet => all.push((fullname, "airflow-fernet-key")),
            KeyKind::Webserver => all.push((fullname, "airflow-secret-key")),
            KeyKind::Api | KeyKind::Jwt => {}
        }
        all
    }
}

/// Variables that look right and that Airflow does not read, with the one that it does.
pub const WRONG_VARIABLES: [(&str, KeyKind); 5] = [
    ("AIRFLOW__SECRETS__JWT_SECRET", KeyKind::Jwt),
    ("AIRFLOW__API__JWT_SECRET", KeyKind::Jwt),
    ("AIRFLOW__CORE__FERNETKEY", KeyKind::Fernet),
    ("AIRFLOW_CORE_FERNET_KEY", KeyKind::Fernet),
    ("AIRFLOW__WEBSERVER_SECRET_KEY", KeyKind::Webserver),
];

/// Keys that everybody knows: defaults and examples of charts, images and documentation.
pub fn is_public(kind: KeyKind, value: &[u8]) -> bool {
    let known: &[&str] = match kind {
        KeyKind::Fernet => PUBLIC_FERNET_KEYS,
        KeyKind::Webserver | KeyKind::Api | KeyKind::Jwt => PUBLIC_SECRETS,
    };
    let value = value.trim_ascii();
    known.iter().any(|known| known.as_bytes() == value)
}

/// Their canonical texts: the community chart, Bitnami's README and the puckel image, Airflow's documentation and
/// tutorials, Airflow's own tests, the Fernet specification.
const PUBLIC_FERNET_KEYS: &[&str] = &[
    "7T512UXSSmBOkpWimFHIVb8jK6lfmSAvx4mO6Arehnc=",
    "46BKJoQYlPPOexq0OhDZnIlNepKFf87WFwLbfzqDDho=",
    "81HqDtbqAywKSOumSha3BhWNOdQ26slT6K0YaZeZyPs=",
    "FB0o_zt4e3Ziq3LdUUO7F2Z95cvFFx16hU8jTeR1ASM=",
    "cw_0x689RpI-jtRR7oE8h_eQsKImvJapLeSbXpwF4e4=",
];

/// The community chart, Bitnami's README, Airflow's own former default, its compose file.
const PUBLIC_SECRETS: &[&str] = &[
    "THIS IS UNSAFE!",
    "a25mQ1FHTUh3MnFRSk5KMEIyVVU2YmN0VGRyYTVXY08=",
    "temporary_key",
    "airflow_jwt_secret",
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::decode;

    #[test]
    fn every_public_fernet_key_is_one_in_its_canonical_text() {
        for text in PUBLIC_FERNET_KEYS {
            let decoded = decode(text.as_bytes()).expect("it is a key");
            assert_eq!(*decoded.key.text(), *text);
        }
    }

    #[test]
    fn charts_name_secrets_after_the_release() {
        let names = |kind: KeyKind, release: &str| {
            kind.of_charts(release)
                .into_iter()
                .map(|(name, key)| format!("{name}/{key}"))
                .collect::<Vec<_>>()
        };
        assert_eq!(
            names(KeyKind::Fernet, "airflow"),
            [
                "airflow-fernet-key/fernet-key",
                "airflow-config-envs/AIRFLOW__CORE__FERNET_KEY",
                "airflow/airflow-fernet-key",
            ]
        );
        assert_eq!(
            names(KeyKind::Jwt, "prod"),
            [
                "prod-jwt-secret/jwt-secret",
                "prod-airflow-jwt-secret/jwt-secret",
                "prod-airflow-config-envs/AIRFLOW__API_AUTH__JWT_SECRET",
            ]
        );
    }
}
