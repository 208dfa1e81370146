//! How Karmada was installed, seen by the names and keys of its Secrets. Pure.

use serde::Serialize;

/// How Karmada was installed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Install {
    /// `karmadactl init`.
    Init,
    /// The helm chart.
    Helm,
    /// karmada-operator.
    Operator,
    /// The scripts in Karmada's repository, `hack/deploy-karmada.sh`.
    Scripts,
}

impl Install {
    /// The heading of the documentation about renewal in this installation.
    pub fn anchor(self) -> &'static str {
        match self {
            Install::Init => "karmadactl-init",
            Install::Helm => "helm",
            Install::Operator => "karmada-operator",
            Install::Scripts => "scripts",
        }
    }
}

/// A Secret by what tells the installation: its name, its keys, its labels.
#[derive(Debug, Clone, Copy)]
pub struct Sign<'a> {
    /// Its name.
    pub name: &'a str,
    /// The names of its keys.
    pub keys: &'a [&'a str],
    /// The names of its labels.
    pub labels: &'a [&'a str],
}

impl Sign<'_> {
    /// The installation that this Secret shows; `None` = it shows none.
    pub fn install(&self) -> Option<Install> {
        let has = |key: &str| self.keys.contains(&key);
        if has("server-ca.crt") && has("karmada.crt") {
            return Some(Install::Helm);
        }
        if self.labels.iter().any(|label| {
            label.contains("karmada-operator") || *label == "operator.karmada.io/karmada-name"
        }) || (self.name.ends_with("-cert")
            && self.name != "karmada-cert"
            && has("karmada.crt")
            && has("apiserver.crt"))
        {
            return Some(Install::Operator);
        }
        match self.name {
            "karmada-apiserver-service-account-key-pair" => Some(Install::Scripts),
            "karmada-cert" if has("etcd-ca.key") => Some(Install::Init),
            "karmada-cert" if has("etcd-ca.crt") => Some(Install::Scripts),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_show_how_karmada_was_installed() {
        let shown = |name: &str, keys: &[&str]| {
            let labels = &[];
            Sign { name, keys, labels }.install()
        };
        assert_eq!(
            shown("karmada-cert", &["ca.crt", "etcd-ca.crt", "etcd-ca.key"]),
            Some(Install::Init)
        );
        assert_eq!(
            shown("k-cert", &["server-ca.crt", "karmada.crt"]),
            Some(Install::Helm)
        );
        assert_eq!(
            shown(
                "demo-karmada-cert",
                &["ca.crt", "apiserver.crt", "karmada.crt"]
            ),
            Some(Install::Operator)
        );
        assert_eq!(
            shown("karmada-cert", &["ca.crt", "etcd-ca.crt"]),
            Some(Install::Scripts)
        );
        assert_eq!(
            shown("karmada-apiserver-service-account-key-pair", &["sa.key"]),
            Some(Install::Scripts)
        );
        assert_eq!(shown("other", &["tls.crt"]), None);
    }
}
