//! Who is to pass to members, as role-based access control and the API server's impersonation know them. Pure.

use std::fmt;

use karmada_repair::finding::Subject;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// A subject of a ClusterRoleBinding.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(tag = "kind")]
pub enum Account {
    /// A group.
    Group {
        /// Its name, prefix included.
        name: String,
    },
    /// A service account of the control plane.
    ServiceAccount {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
    },
    /// A user that is no service account.
    User {
        /// The name as the API server knows it, prefix included.
        name: String,
    },
}

impl Account {
    /// The account behind a user name: `system:serviceaccount:NAMESPACE:NAME` is a service account, as it is for
    /// impersonation (`k8s.io/apiserver`, `serviceaccount.SplitUsername`).
    pub fn of_user_name(name: &str) -> Account {
        let account = name
            .strip_prefix(SERVICE_ACCOUNT)
            .and_then(|rest| rest.split_once(':'))
            .filter(|(namespace, name)| is_label(namespace) && is_subdomain(name));
        match account {
            Some((namespace, name)) => Account::ServiceAccount {
                namespace: namespace.to_owned(),
                name: name.to_owned(),
            },
            None => Account::User {
                name: name.to_owned(),
            },
        }
    }

    /// The service account of `NAMESPACE:NAME`, as `kubectl create clusterrolebinding` takes it; `None` = it is none.
    pub fn of_service_account(text: &str) -> Option<Account> {
        match Account::of_user_name(&format!("{SERVICE_ACCOUNT}{text}")) {
            account @ Account::ServiceAccount { .. } => Some(account),
            _ => None,
        }
    }

    /// The name under which its requests arrive; `None` = a group sends none.
    pub fn user_name(&self) -> Option<String> {
        match self {
            Account::Group { .. } => None,
            Account::ServiceAccount { namespace, name } => {
                Some(format!("{SERVICE_ACCOUNT}{namespace}:{name}"))
            }
            Account::User { name } => Some(name.clone()),
        }
    }

    /// The groups that such an account always carries, beside `system:authenticated`.
    pub fn own_groups(&self) -> Vec<String> {
        match self {
            Account::ServiceAccount { namespace, .. } => vec![
                "system:serviceaccounts".to_owned(),
                format!("system:serviceaccounts:{namespace}"),
            ],
            Account::Group { .. } | Account::User { .. } => Vec::new(),
        }
    }

    /// The entry of `subjects` in a ClusterRoleBinding.
    pub fn bound(&self) -> Value {
        match self {
            Account::Group { name } => {
                json!({"apiGroup": RBAC_GROUP, "kind": "Group", "name": name})
            }
            Account::ServiceAccount { namespace, name } => {
                json!({"kind": "ServiceAccount", "name": name, "namespace": namespace})
            }
            Account::User { name } => json!({"apiGroup": RBAC_GROUP, "kind": "User", "name": name}),
        }
    }

    /// The entry of `subjects` in a member, where the service accounts of the control plane are users like all others.
    pub fn bound_in_member(&self) -> Value {
        match self.user_name() {
            Some(name) => Account::User { name }.bound(),
            None => self.bound(),
        }
    }

    /// How findings, steps and tables name it.
    pub fn subject(&self) -> Subject {
        match self {
            Account::Group { name } => Subject::new("group", name),
            Account::ServiceAccount { namespace, name } => {
                Subject::new("serviceaccount", format!("{namespace}/{name}"))
            }
            Account::User { name } => Subject::new("user", name),
        }
    }

    /// The flag of this plugin that names it.
    pub fn flag(&self) -> (&'static str, String) {
        match self {
            Account::Group { name } => ("--group", name.clone()),
            Account::ServiceAccount { namespace, name } => {
                ("--serviceaccount", format!("{namespace}:{name}"))
            }
            Account::User { name } => ("--user", name.clone()),
        }
    }
}

/// Shows `user "jane"`, `service account "ns/name"` or `group "devs"`.
impl fmt::Display for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Account::Group { name } => write!(f, "group {name:?}"),
            Account::ServiceAccount { namespace, name } => {
                write!(f, "service account \"{namespace}/{name}\"")
            }
            Account::User { name } => write!(f, "user {name:?}"),
        }
    }
}

/// An account with the groups that its requests carry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Identity {
    /// The account.
    pub account: Account,
    /// The groups that the control plane sends on to members, sorted; empty for a group.
    pub groups: Vec<String>,
    /// Whether these are all; `false` for a user who is only named, because nobody keeps lists of groups.
    pub groups_are_known: bool,
    /// Whether it is who runs this plugin.
    pub is_caller: bool,
}

impl Identity {
    /// An account with its groups, without those that stay behind.
    pub fn new(account: Account, groups: impl IntoIterator<Item = String>) -> Identity {
        let mut groups: Vec<String> = account
            .own_groups()
            .into_iter()
            .chain(groups)
            .filter(|group| !STAY_BEHIND.contains(&group.as_str()))
            .collect();
        groups.sort();
        groups.dedup();
        Identity {
            groups_are_known: !matches!(account, Account::User { .. }),
            account,
            groups,
            is_caller: false,
        }
    }

    /// The same, with certainty about the groups.
    pub fn with_all_groups(mut self) -> Identity {
        self.groups_are_known = true;
        self
    }

    /// The same, as who runs this plugin.
    pub fn as_caller(mut self) -> Identity {
        self.is_caller = true;
        self.with_all_groups()
    }

    /// Whether it passes every check of the control plane's API server.
    pub fn is_superuser(&self) -> bool {
        self.groups.iter().any(|group| group == MASTERS)
    }
}

/// The group that passes every check; never granted.
pub const MASTERS: &str = "system:masters";
/// The groups that Karmada's proxy does not send on (`pkg/util/proxy/proxy.go`, `SkipGroup`).
pub const STAY_BEHIND: [&str; 2] = ["system:authenticated", "system:unauthenticated"];
/// The API group of roles and bindings.
pub const RBAC_GROUP: &str = "rbac.authorization.k8s.io";

const SERVICE_ACCOUNT: &str = "system:serviceaccount:";

/// RFC 1123 label.
fn is_label(text: &str) -> bool {
    let plain = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit();
    (1..=63).contains(&text.len())
        && text.starts_with(plain)
        && text.ends_with(plain)
        && text.chars().all(|letter| plain(letter) || letter == '-')
}

/// RFC 1123 subdomain.
fn is_subdomain(text: &str) -> bool {
    text.len() <= 253 && text.split('.').all(is_label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_names_of_service_accounts_are_service_accounts() {
        let user = |name: &str| Account::User {
            name: name.to_owned(),
        };
        let table = [
            ("jane", user("jane")),
            ("system:admin", user("system:admin")),
            (
                "system:serviceaccount:ns:bot",
                Account::ServiceAccount {
                    namespace: "ns".to_owned(),
                    name: "bot".to_owned(),
                },
            ),
            (
                "system:serviceaccount:ns:bot.v1",
                Account::ServiceAccount {
                    namespace: "ns".to_owned(),
                    name: "bot.v1".to_owned(),
                },
            ),
            ("system:serviceaccount:ns", user("system:serviceaccount:ns")),
            (
                "system:serviceaccount:ns:a:b",
                user("system:serviceaccount:ns:a:b"),
            ),
            (
                "system:serviceaccount:NS:bot",
                user("system:serviceaccount:NS:bot"),
            ),
            (
                "system:serviceaccount:ns:",
                user("system:serviceaccount:ns:"),
            ),
            ("oidc:https://issuer/jane", user("oidc:https://issuer/jane")),
        ];
        for (name, account) in table {
            assert_eq!(Account::of_user_name(name), account);
            assert_eq!(account.user_name().as_deref(), Some(name));
        }
    }

    #[test]
    fn a_service_account_carries_its_two_groups_and_not_that_of_everybody() {
        let account = Account::of_service_account("ci:deployer").expect("it is one");
        let identity = Identity::new(account, ["system:authenticated".to_owned()]);
        assert_eq!(
            identity.groups,
            ["system:serviceaccounts", "system:serviceaccounts:ci"]
        );
        assert!(identity.groups_are_known);
    }

    #[test]
    fn what_is_no_namespace_and_name_is_no_service_account() {
        for text in [
            "deployer",
            "",
            ":",
            "ci:",
            ":deployer",
            "ci:a:b",
            "ci/deployer",
            "CI:a",
        ] {
            assert_eq!(Account::of_service_account(text), None, "{text:?}");
        }
    }
}
