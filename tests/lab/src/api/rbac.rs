//! Role-based access control as the API server evaluates it. Pure over the store.

use serde_json::{Value, json};

use super::identity::User;
use super::kinds::{self, Kind};
use super::refusal::Refusal;
use super::store::{Key, Store};

/// What somebody wants to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Attempt<'a> {
    Resource {
        verb: &'a str,
        group: &'a str,
        resource: &'a str,
        subresource: &'a str,
        namespace: &'a str,
        name: &'a str,
    },
    Path {
        verb: &'a str,
        path: &'a str,
    },
}

/// Whether some role grants the attempt to the user.
pub(crate) fn allows(store: &Store, user: &User, attempt: &Attempt) -> bool {
    if user.groups.iter().any(|group| group == MASTERS) {
        return true;
    }
    if binding_rules(store, "clusterrolebindings", None, user).any(|rule| grants(rule, attempt)) {
        return true;
    }
    match attempt {
        Attempt::Resource { namespace, .. } if !namespace.is_empty() => {
            binding_rules(store, "rolebindings", Some(namespace), user)
                .any(|rule| grants(rule, attempt))
        }
        _ => false,
    }
}

/// 403 with the API server's text.
pub(crate) fn forbidden(user: &User, attempt: &Attempt) -> Refusal {
    match attempt {
        Attempt::Path { verb, path } => Refusal::new(
            403,
            "Forbidden",
            format!(
                "forbidden: User \"{}\" cannot {verb} path \"{path}\"",
                user.name
            ),
        )
        .with_details(json!({})),
        Attempt::Resource {
            verb,
            group,
            resource,
            subresource,
            namespace,
            name,
        } => {
            let qualified = if group.is_empty() {
                (*resource).to_owned()
            } else {
                format!("{resource}.{group}")
            };
            let subject = if name.is_empty() {
                qualified
            } else {
                format!("{qualified} \"{name}\"")
            };
            let full = if subresource.is_empty() {
                (*resource).to_owned()
            } else {
                format!("{resource}/{subresource}")
            };
            let scope = if namespace.is_empty() {
                "at the cluster scope".to_owned()
            } else {
                format!("in the namespace \"{namespace}\"")
            };
            let message = format!(
                "{subject} is forbidden: User \"{}\" cannot {verb} resource \"{full}\" in API group \"{group}\" {scope}",
                user.name
            );
            let mut details = json!({"kind": resource});
            for (field, value) in [("name", name), ("group", group)] {
                if !value.is_empty() {
                    details[field] = json!(value);
                }
            }
            Refusal::new(403, "Forbidden", message).with_details(details)
        }
    }
}

/// The group that passes every check.
pub(crate) const MASTERS: &str = "system:masters";

fn binding_rules<'a>(
    store: &'a Store,
    bindings: &str,
    namespace: Option<&'a str>,
    user: &'a User,
) -> impl Iterator<Item = &'a Value> {
    store
        .list(kind(bindings), namespace)
        .filter(move |binding| {
            let subjects = binding["subjects"].as_array();
            let own = binding["metadata"]["namespace"]
                .as_str()
                .unwrap_or_default();
            subjects.is_some_and(|subjects| {
                subjects
                    .iter()
                    .any(|subject| is_subject(subject, user, own))
            })
        })
        .flat_map(move |binding| {
            let reference = &binding["roleRef"];
            let name = reference["name"].as_str().unwrap_or_default();
            let role = if reference["kind"] == "Role" {
                store.read(&Key::new(
                    kind("roles"),
                    binding["metadata"]["namespace"]
                        .as_str()
                        .unwrap_or_default(),
                    name,
                ))
            } else {
                store.read(&Key::new(kind("clusterroles"), "", name))
            };
            role.and_then(|role| role["rules"].as_array())
                .into_iter()
                .flatten()
        })
}

fn kind(resource: &str) -> &'static Kind {
    kinds::known("rbac.authorization.k8s.io", resource)
}

fn is_subject(subject: &Value, user: &User, binding_namespace: &str) -> bool {
    let name = subject["name"].as_str().unwrap_or_default();
    match subject["kind"].as_str() {
        Some("User") => user.name == name,
        Some("Group") => user.groups.iter().any(|group| group == name),
        Some("ServiceAccount") => {
            let namespace = subject["namespace"].as_str().unwrap_or(binding_namespace);
            user.name == format!("system:serviceaccount:{namespace}:{name}")
        }
        _ => false,
    }
}

fn grants(rule: &Value, attempt: &Attempt) -> bool {
    let has = |field: &str, wanted: &str| {
        rule[field]
            .as_array()
            .into_iter()
            .flatten()
            .any(|value| value == "*" || value == wanted)
    };
    match attempt {
        Attempt::Path { verb, path } => {
            let paths = rule["nonResourceURLs"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(Value::as_str);
            has("verbs", verb)
                && paths.into_iter().any(|granted| {
                    granted == *path
                        || granted
                            .strip_suffix('*')
                            .is_some_and(|prefix| path.starts_with(prefix))
                })
        }
        Attempt::Resource {
            verb,
            group,
            resource,
            subresource,
            name,
            ..
        } => {
            let full = if subresource.is_empty() {
                (*resource).to_owned()
            } else {
                format!("{resource}/{subresource}")
            };
            let any_parent =
                !subresource.is_empty() && has("resources", &format!("*/{subresource}"));
            let names = rule["resourceNames"]
                .as_array()
                .filter(|names| !names.is_empty());
            has("verbs", verb)
                && has("apiGroups", group)
                && (has("resources", &full) || any_parent)
                && names.is_none_or(|names| names.iter().any(|granted| granted == name))
        }
    }
}
