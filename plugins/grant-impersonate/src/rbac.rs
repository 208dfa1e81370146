//! Roles and bindings: who may use `clusters/proxy` in the control plane, and whom members are told to accept. Pure.
//!
//! Karmada's controller `unified-auth-controller` makes the second from the same objects as the API server the first
//! (`pkg/controllers/unifiedauth`, `pkg/util/rbac.go`), by rules of its own: it ignores verbs, RoleBindings and the
//! namespaces of service accounts.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::account::{Account, Identity, STAY_BEHIND};

/// The ClusterRoles and ClusterRoleBindings of the control plane that lead to members.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Rbac {
    /// By name; only those with a rule that leads to members.
    pub roles: BTreeMap<String, Role>,
    /// By name; only those of such a role, and this plugin's own.
    pub bindings: BTreeMap<String, Binding>,
}

/// A ClusterRole.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Role {
    /// Its metadata.
    pub metadata: Metadata,
    /// Its rules; of an aggregated role, those that were put together.
    #[serde(default, deserialize_with = "or_empty")]
    pub rules: Vec<Rule>,
}

/// A ClusterRoleBinding.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Binding {
    /// Its metadata.
    pub metadata: Metadata,
    /// The role.
    pub role_ref: RoleReference,
    /// Who has the role.
    #[serde(default, deserialize_with = "or_empty")]
    pub subjects: Vec<Bound>,
}

/// The metadata that is read of both.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Metadata {
    /// The name.
    pub name: String,
    /// Which object of this name.
    #[serde(default)]
    pub uid: String,
    /// Which version of it.
    #[serde(default)]
    pub resource_version: String,
    /// The labels.
    #[serde(default, deserialize_with = "or_empty")]
    pub labels: BTreeMap<String, String>,
    /// The annotations.
    #[serde(default, deserialize_with = "or_empty")]
    pub annotations: BTreeMap<String, String>,
    /// When it was last written; `None` = not recorded.
    #[serde(default, rename = "managedFields", deserialize_with = "last_write")]
    pub written: Option<Timestamp>,
}

/// `roleRef`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoleReference {
    /// `ClusterRole`.
    #[serde(default)]
    pub kind: String,
    /// Its name.
    #[serde(default)]
    pub name: String,
}

/// One of `subjects`.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Bound {
    /// `User`, `Group` or `ServiceAccount`.
    #[serde(default)]
    pub kind: String,
    /// The name.
    #[serde(default)]
    pub name: String,
    /// Of a service account.
    #[serde(default)]
    pub namespace: Option<String>,
}

/// One rule of a role.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Rule {
    /// The API groups.
    #[serde(deserialize_with = "or_empty")]
    pub api_groups: Vec<String>,
    /// The resources, subresources behind a slash.
    #[serde(deserialize_with = "or_empty")]
    pub resources: Vec<String>,
    /// The names; empty = all.
    #[serde(deserialize_with = "or_empty")]
    pub resource_names: Vec<String>,
    /// The verbs.
    #[serde(deserialize_with = "or_empty")]
    pub verbs: Vec<String>,
}

impl Rule {
    /// Whether the subjects of the rule are made known to a member, verbs being ignored
    /// (`GenerateImpersonationRules` and its caller).
    pub fn makes_known_to(&self, cluster: &str) -> bool {
        let exactly = |list: &[String], wanted: &str| {
            list.iter().any(|value| value == "*" || value == wanted)
        };
        let names_it = self.resource_names.is_empty()
            || self.resource_names.iter().any(|name| name == cluster);
        let proxy =
            exactly(&self.api_groups, KARMADA_GROUP) && exactly(&self.resources, PROXY) && names_it;
        let search = exactly(&self.api_groups, "search.karmada.io")
            && exactly(&self.resources, "proxying/proxy");
        proxy || search
    }

    /// Whether the API server lets subjects of the rule use the proxy of a cluster with this verb.
    pub fn lets_through(&self, cluster: &str, verb: &str) -> bool {
        self.is_about_the_proxy()
            && self.verbs.iter().any(|value| value == "*" || value == verb)
            && (self.resource_names.is_empty()
                || self.resource_names.iter().any(|name| name == cluster))
    }

    /// Whether the API server reads the rule as one of `clusters/proxy`.
    pub fn is_about_the_proxy(&self) -> bool {
        let has = |list: &[String], wanted: &[&str]| {
            list.iter().any(|value| wanted.contains(&value.as_str()))
        };
        has(&self.api_groups, &["*", KARMADA_GROUP])
            && has(&self.resources, &["*", "*/proxy", PROXY])
    }

    /// Whether it is about the proxy because it is about everything.
    pub fn is_wildcard(&self) -> bool {
        let all = |list: &[String]| list.iter().any(|value| value == "*");
        all(&self.api_groups) || all(&self.resources)
    }

    /// Whether it leads to members in any way.
    pub fn leads_to_members(&self) -> bool {
        let any = self.resource_names.first().map_or("", String::as_str);
        self.is_about_the_proxy() || self.makes_known_to(any)
    }
}

impl Bound {
    /// Whether the subject is the account or one of its groups; everybody is in `system:authenticated`.
    pub fn covers(&self, identity: &Identity) -> bool {
        self.is(&identity.account)
            || (self.kind == "Group"
                && !matches!(identity.account, Account::Group { .. })
                && (self.name == STAY_BEHIND[0] || identity.groups.contains(&self.name)))
    }

    /// Whether the subject is the account itself; a service account may be bound by its user name, too.
    pub fn is(&self, account: &Account) -> bool {
        match (self.kind.as_str(), account) {
            ("Group", Account::Group { name }) => self.name == *name,
            ("ServiceAccount", Account::ServiceAccount { namespace, name }) => {
                self.name == *name && self.namespace.as_ref() == Some(namespace)
            }
            ("User", account) => account.user_name().as_ref() == Some(&self.name),
            _ => false,
        }
    }

    /// The account that is meant; `None` = a kind that nobody knows.
    pub fn account(&self) -> Option<Account> {
        match self.kind.as_str() {
            "Group" => Some(Account::Group {
                name: self.name.clone(),
            }),
            "ServiceAccount" => Some(Account::ServiceAccount {
                namespace: self.namespace.clone().unwrap_or_default(),
                name: self.name.clone(),
            }),
            "User" => Some(Account::of_user_name(&self.name)),
            _ => None,
        }
    }
}

impl Binding {
    /// Whether this plugin made it.
    pub fn is_own(&self) -> bool {
        self.metadata.is_own()
    }
}

impl Metadata {
    /// Whether this plugin made the object.
    pub fn is_own(&self) -> bool {
        self.labels
            .get(MANAGED_BY)
            .is_some_and(|value| value == OWN)
    }

    /// For whom this plugin made the object, as [`granted_to`] writes it; `None` = somebody else made it.
    pub fn granted_to(&self) -> Option<&str> {
        self.is_own()
            .then(|| self.annotations.get(GRANTED_TO).map(String::as_str))
            .flatten()
    }
}

/// The annotation's value for an account.
pub fn granted_to(account: &Account) -> String {
    account.subject().to_string()
}

impl Rbac {
    /// What leads to members, of all roles and bindings.
    pub fn of(roles: Vec<Role>, bindings: Vec<Binding>) -> Rbac {
        let roles: BTreeMap<String, Role> = roles
            .into_iter()
            .filter(|role| role.metadata.is_own() || role.rules.iter().any(Rule::leads_to_members))
            .map(|role| (role.metadata.name.clone(), role))
            .collect();
        let bindings = bindings
            .into_iter()
            .filter(|binding| {
                let reference = &binding.role_ref;
                binding.is_own()
                    || (reference.kind == "ClusterRole" && roles.contains_key(&reference.name))
            })
            .map(|binding| (binding.metadata.name.clone(), binding))
            .collect();
        Rbac { roles, bindings }
    }

    /// Each binding with the role that it gives; one whose role is not there gives nothing.
    pub fn pairs(&self) -> impl Iterator<Item = (&Binding, &Role)> {
        self.bindings.values().filter_map(|binding| {
            let role = self.roles.get(&binding.role_ref.name)?;
            Some((binding, role))
        })
    }

    /// The same without what this plugin granted to others: that may go at any time.
    pub fn without_grants_to_others(&self, account: &Account) -> Rbac {
        let mine = granted_to(account);
        let keep = |metadata: &Metadata| {
            !metadata.is_own() || metadata.granted_to() == Some(mine.as_str())
        };
        Rbac {
            roles: self.roles.clone(),
            bindings: self
                .bindings
                .iter()
                .filter(|(_, binding)| keep(&binding.metadata))
                .map(|(name, binding)| (name.clone(), binding.clone()))
                .collect(),
        }
    }

    /// The same without anything that this plugin granted to the account.
    pub fn without_grants_to(&self, account: &Account) -> Rbac {
        let mine = granted_to(account);
        Rbac {
            roles: self.roles.clone(),
            bindings: self
                .bindings
                .iter()
                .filter(|(_, binding)| binding.metadata.granted_to() != Some(mine.as_str()))
                .map(|(name, binding)| (name.clone(), binding.clone()))
                .collect(),
        }
    }

    /// The binding by which the control plane lets the identity use the proxy of a cluster with this verb; `None` = it
    /// does not. A superuser needs none.
    pub fn lets_through(&self, identity: &Identity, cluster: &str, verb: &str) -> Option<&Binding> {
        self.pairs()
            .find(|(binding, role)| {
                binding.subjects.iter().any(|bound| bound.covers(identity))
                    && role
                        .rules
                        .iter()
                        .any(|rule| rule.lets_through(cluster, verb))
            })
            .map(|(binding, _)| binding)
    }

    /// Whom Karmada tells a member to accept.
    pub fn accepted_by(&self, cluster: &str) -> Accepted {
        let mut accepted = Accepted::default();
        for (binding, role) in self.pairs() {
            if !role.rules.iter().any(|rule| rule.makes_known_to(cluster)) {
                continue;
            }
            for bound in &binding.subjects {
                let names = match bound.kind.as_str() {
                    "User" => &mut accepted.users,
                    "ServiceAccount" => &mut accepted.service_accounts,
                    "Group" => &mut accepted.groups,
                    _ => continue,
                };
                names.some.insert(bound.name.clone());
            }
        }
        accepted
    }
}

/// Whom a member accepts from Karmada's impersonator.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Accepted {
    /// Users that are no service accounts.
    pub users: Names,
    /// Service accounts, by name alone.
    pub service_accounts: Names,
    /// Groups.
    pub groups: Names,
}

/// Names that a rule accepts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Names {
    /// Whether every name is.
    pub all: bool,
    /// These are.
    pub some: BTreeSet<String>,
}

impl Names {
    fn has(&self, name: &str) -> bool {
        self.all || self.some.contains(name)
    }

    fn beyond<'a>(&'a self, other: &'a Names) -> impl Iterator<Item = &'a String> {
        self.some.iter().filter(|name| !other.has(name))
    }
}

/// What of an identity is not accepted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Missing {
    /// The account itself.
    pub account: bool,
    /// Groups that it carries.
    pub groups: Vec<String>,
}

impl Missing {
    /// Whether all of it is accepted.
    pub fn is_nothing(&self) -> bool {
        !self.account && self.groups.is_empty()
    }
}

impl Accepted {
    /// What the rules of a member's role accept (`resourceNames` of the verb `impersonate`).
    pub fn of_rules(rules: &[Rule]) -> Accepted {
        let mut accepted = Accepted::default();
        let has = |list: &[String], wanted: &str| {
            list.iter().any(|value| value == "*" || value == wanted)
        };
        for rule in rules
            .iter()
            .filter(|rule| has(&rule.verbs, "impersonate") && has(&rule.api_groups, ""))
        {
            for (resource, names) in [
                ("users", &mut accepted.users),
                ("serviceaccounts", &mut accepted.service_accounts),
                ("groups", &mut accepted.groups),
            ] {
                if has(&rule.resources, resource) {
                    names.all |= rule.resource_names.is_empty();
                    names.some.extend(rule.resource_names.iter().cloned());
                }
            }
        }
        accepted
    }

    /// What of an identity is not accepted.
    pub fn lacks(&self, identity: &Identity) -> Missing {
        let account = match &identity.account {
            Account::User { name } => self.users.has(name),
            Account::ServiceAccount { name, .. } => self.service_accounts.has(name),
            Account::Group { name } => self.groups.has(name),
        };
        Missing {
            account: !account,
            groups: identity
                .groups
                .iter()
                .filter(|group| !self.groups.has(group))
                .cloned()
                .collect(),
        }
    }

    /// Who is accepted here and not there, as `kind "name"`.
    pub fn beyond(&self, other: &Accepted) -> Vec<String> {
        let kinds = [
            ("user", &self.users, &other.users),
            (
                "service account",
                &self.service_accounts,
                &other.service_accounts,
            ),
            ("group", &self.groups, &other.groups),
        ];
        kinds
            .into_iter()
            .flat_map(|(kind, here, there)| {
                let all = (here.all && !there.all).then(|| format!("every {kind}"));
                all.into_iter().chain(
                    here.beyond(there)
                        .map(move |name| format!("{kind} {name:?}")),
                )
            })
            .collect()
    }
}

/// The label that marks what a plugin keeps.
pub const MANAGED_BY: &str = "app.kubernetes.io/managed-by";
/// The value of that label here, which is also the field manager.
pub const OWN: &str = "kubectl-karmada-grant-impersonate";
/// The annotation that says for whom an object was made.
pub const GRANTED_TO: &str = "karmada-repair/granted-to";
/// The subresource, as rules spell it.
pub const PROXY: &str = "clusters/proxy";
/// The API group of clusters.
pub const KARMADA_GROUP: &str = "cluster.karmada.io";

/// What may be `null` in the API's JSON and means none.
fn or_empty<'de, T: Default + Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    Ok(Option::<T>::deserialize(deserializer)?.unwrap_or_default())
}

/// The latest time in `metadata.managedFields`.
pub fn last_write<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Timestamp>, D::Error> {
    Ok(latest(&Value::deserialize(deserializer)?))
}

/// The latest time in a value of `metadata.managedFields`.
pub fn latest(managed_fields: &Value) -> Option<Timestamp> {
    let entries = managed_fields.as_array()?.iter();
    entries
        .filter_map(|entry| entry["time"].as_str()?.parse().ok())
        .max()
}

#[cfg(test)]
mod tests;
