//! The objects of one grant: a ClusterRole and its ClusterRoleBinding, and a second pair for groups that are only carried.
//! Pure.
//!
//! Rules and subjects are atomic lists to server-side apply, so that no two grants share an object: the names are made
//! from account and members.

use std::collections::BTreeSet;

use karmada_repair::cluster::object::ObjectReference;
use serde::Serialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::account::{Account, RBAC_GROUP};
use crate::rbac::{GRANTED_TO, KARMADA_GROUP, MANAGED_BY, OWN, PROXY, granted_to};

/// Which members a grant is for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// All, those that join later included.
    All,
    /// These; never empty.
    Only(BTreeSet<String>),
}

impl Scope {
    /// The members that were named; none = all.
    pub fn of(names: &[String]) -> Scope {
        match names {
            [] => Scope::All,
            names => Scope::Only(names.iter().cloned().collect()),
        }
    }

    /// The scope in words, as the end of a sentence.
    pub fn words(&self) -> String {
        match self {
            Scope::All => "all members".to_owned(),
            Scope::Only(names) => names.iter().cloned().collect::<Vec<_>>().join(", "),
        }
    }

    /// `resourceNames` of a rule.
    fn resource_names(&self) -> Vec<&String> {
        match self {
            Scope::All => Vec::new(),
            Scope::Only(names) => names.iter().collect(),
        }
    }
}

/// One grant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant<'a> {
    /// For whom.
    pub account: &'a Account,
    /// For which members.
    pub scope: &'a Scope,
    /// What the account may do there through the proxy, sorted.
    pub verbs: BTreeSet<String>,
    /// Groups that the account carries and that members must accept, sorted; they get no right.
    pub carried: BTreeSet<String>,
}

/// One object, ready to be applied.
#[derive(Debug, Clone, PartialEq)]
pub struct Wanted {
    /// Which.
    pub object: ObjectReference,
    /// What it says.
    pub manifest: Value,
}

impl Grant<'_> {
    /// The objects in the order in which they are applied.
    pub fn objects(&self) -> Vec<Wanted> {
        let name = name(self.account, self.scope);
        let mut objects = self.pair(&name, &self.verbs, vec![self.account.bound()]);
        if !self.carried.is_empty() {
            let groups = self.carried.iter().map(|group| {
                Account::Group {
                    name: group.clone(),
                }
                .bound()
            });
            let verbs = BTreeSet::from([CARRIED.to_owned()]);
            objects.extend(self.pair(&carried_name(&name), &verbs, groups.collect()));
        }
        objects
    }

    fn pair(&self, name: &str, verbs: &BTreeSet<String>, subjects: Vec<Value>) -> Vec<Wanted> {
        let mut rule = json!({"apiGroups": [KARMADA_GROUP], "resources": [PROXY], "verbs": verbs});
        let names = self.scope.resource_names();
        if !names.is_empty() {
            rule["resourceNames"] = json!(names);
        }
        let metadata = json!({
            "name": name,
            "labels": {MANAGED_BY: OWN},
            "annotations": {GRANTED_TO: granted_to(self.account)},
        });
        let version = format!("{RBAC_GROUP}/v1");
        vec![
            Wanted {
                object: role(name),
                manifest: json!({"apiVersion": version, "kind": "ClusterRole", "metadata": metadata, "rules": [rule]}),
            },
            Wanted {
                object: binding(name),
                manifest: json!({
                    "apiVersion": version, "kind": "ClusterRoleBinding", "metadata": metadata,
                    "roleRef": {"apiGroup": RBAC_GROUP, "kind": "ClusterRole", "name": name},
                    "subjects": subjects,
                }),
            },
        ]
    }
}

/// The name of the role and the binding of a grant, such as `karmada-proxy:user:jane:member1:0f3c9a1b`.
pub fn name(account: &Account, scope: &Scope) -> String {
    let subject = account.subject();
    let place = match scope {
        Scope::All => "all".to_owned(),
        Scope::Only(names) => match names.iter().next() {
            Some(only) if names.len() == 1 => slug(only),
            _ => format!("{}-members", names.len()),
        },
    };
    format!(
        "{PREFIX}{}:{}:{place}:{}",
        subject.kind,
        slug(&subject.name),
        digest(account, scope)
    )
}

/// The name of the pair for the groups that are carried.
pub fn carried_name(name: &str) -> String {
    format!("{name}:groups")
}

/// A ClusterRole of this name.
pub fn role(name: &str) -> ObjectReference {
    cluster_scoped("ClusterRole", "clusterroles", name)
}

/// A ClusterRoleBinding of this name.
pub fn binding(name: &str) -> ObjectReference {
    cluster_scoped("ClusterRoleBinding", "clusterrolebindings", name)
}

/// What the names of all grants begin with.
pub const PREFIX: &str = "karmada-proxy:";

/// The verb of groups that are only carried. It matches no request; Karmada, which makes the members' rules, ignores verbs.
pub const CARRIED: &str = "impersonation-only";

/// Eight hexadecimal digits that differ where account or members do.
pub fn digest(account: &Account, scope: &Scope) -> String {
    let text = json!([account, scope]).to_string();
    let hash = Sha256::digest(text.as_bytes());
    hash.iter()
        .take(4)
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// The letters of a name that every object name may have, cut to a readable length.
pub fn slug(name: &str) -> String {
    let plain = |letter: char| match letter {
        'a'..='z' | '0'..='9' | '-' | '.' => letter,
        'A'..='Z' => letter.to_ascii_lowercase(),
        _ => '-',
    };
    let slug: String = name.chars().map(plain).take(LONGEST_SLUG).collect();
    slug.trim_matches(['-', '.']).to_owned()
}

fn cluster_scoped(kind: &str, resource: &str, name: &str) -> ObjectReference {
    ObjectReference {
        api_version: format!("{RBAC_GROUP}/v1"),
        kind: kind.to_owned(),
        resource: resource.to_owned(),
        namespace: None,
        name: name.to_owned(),
    }
}

const LONGEST_SLUG: usize = 40;

#[cfg(test)]
mod tests {
    use super::*;

    fn user(name: &str) -> Account {
        Account::of_user_name(name)
    }

    fn only(names: &[&str]) -> Scope {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        Scope::of(&names)
    }

    #[test]
    fn names_differ_with_account_and_members_and_are_path_segments() {
        let accounts = [
            user("jane"),
            user("Jane"),
            user("jane "),
            user("oidc:https://issuer/é/日本"),
            user("system:admin"),
            user("system:serviceaccount:a:b"),
            user(&"x".repeat(300)),
            Account::Group {
                name: "jane".to_owned(),
            },
        ];
        let scopes = [Scope::All, only(&["a"]), only(&["a", "b"]), only(&["all"])];
        let mut names = BTreeSet::new();
        for account in &accounts {
            for scope in &scopes {
                let name = name(account, scope);
                assert!(
                    name.len() < 200 && !name.contains(['/', '%', ' ']),
                    "{name}"
                );
                assert!(names.insert(name.clone()), "{name} twice");
            }
        }
    }

    #[test]
    fn the_order_of_members_does_not_matter() {
        let jane = user("jane");
        assert_eq!(
            name(&jane, &only(&["a", "b"])),
            name(&jane, &only(&["b", "a", "b"]))
        );
    }

    #[test]
    fn a_group_that_is_only_carried_gets_a_verb_that_matches_no_request() {
        let (jane, scope) = (user("jane"), only(&["m"]));
        let grant = Grant {
            account: &jane,
            scope: &scope,
            verbs: BTreeSet::from(["get".to_owned()]),
            carried: BTreeSet::from(["devs".to_owned()]),
        };
        let objects = grant.objects();
        let kinds: Vec<&str> = objects
            .iter()
            .map(|wanted| wanted.object.kind.as_str())
            .collect();
        assert_eq!(
            kinds,
            [
                "ClusterRole",
                "ClusterRoleBinding",
                "ClusterRole",
                "ClusterRoleBinding"
            ]
        );
        assert_eq!(
            objects[0].manifest["rules"],
            json!([{"apiGroups": ["cluster.karmada.io"], "resources": ["clusters/proxy"], "resourceNames": ["m"], "verbs": ["get"]}])
        );
        assert_eq!(
            objects[2].manifest["rules"][0]["verbs"],
            json!(["impersonation-only"])
        );
        assert_eq!(
            objects[3].manifest["subjects"],
            json!([{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "devs"}])
        );
        assert_eq!(
            objects[3].manifest["metadata"]["annotations"]["karmada-repair/granted-to"],
            "user/jane"
        );
    }

    #[test]
    fn a_grant_for_all_members_names_none() {
        let jane = user("jane");
        let grant = Grant {
            account: &jane,
            scope: &Scope::All,
            verbs: BTreeSet::from(["get".to_owned()]),
            carried: BTreeSet::new(),
        };
        let objects = grant.objects();
        assert_eq!(objects.len(), 2);
        assert!(objects[0].manifest["rules"][0]["resourceNames"].is_null());
    }
}
