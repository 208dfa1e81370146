//! Nobody gives more rights than he holds: what the API server checks when roles and bindings are written
//! (`k8s.io/kubernetes/pkg/registry/rbac`). Pure over the store.

use serde_json::Value;

use super::identity::User;
use super::kinds::{self, Kind};
use super::rbac::{self, Attempt};
use super::refusal::Refusal;
use super::store::{Key, Store};

/// Whether the user may leave this role or binding behind.
///
/// # Errors
/// 403 for an escalation.
pub(crate) fn check(
    store: &Store,
    user: &User,
    kind: &'static Kind,
    object: &Value,
) -> Result<(), Refusal> {
    if kind.group != GROUP {
        return Ok(());
    }
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let namespace = text(&object["metadata"]["namespace"]);
    let name = text(&object["metadata"]["name"]);
    let (verb, role_kind, role_name, rules) = match kind.kind {
        "ClusterRole" | "Role" => ("escalate", kind, name.clone(), object["rules"].clone()),
        "ClusterRoleBinding" | "RoleBinding" => {
            let reference = &object["roleRef"];
            let resource = match reference["kind"].as_str() {
                Some("Role") => "roles",
                _ => "clusterroles",
            };
            let role = kinds::known(GROUP, resource);
            let place = if role.namespaced {
                namespace.as_str()
            } else {
                ""
            };
            let found = store.read(&Key::new(role, place, &text(&reference["name"])));
            let rules = found.map(|role| role["rules"].clone()).unwrap_or_default();
            ("bind", role, text(&reference["name"]), rules)
        }
        _ => return Ok(()),
    };
    let exempt = Attempt::Resource {
        verb,
        group: GROUP,
        resource: role_kind.resource,
        subresource: "",
        namespace: &namespace,
        name: &role_name,
    };
    if rbac::allows(store, user, &exempt) {
        return Ok(());
    }
    for rule in rules.as_array().into_iter().flatten() {
        if !holds(store, user, &namespace, rule) {
            let groups = serde_json::to_string(&user.groups).unwrap_or_default();
            let message = format!(
                "{} \"{name}\" is forbidden: user \"{}\" (groups={groups}) is attempting to grant RBAC permissions not currently held:\n{rule}",
                kind.qualified(),
                user.name,
            );
            return Err(Refusal::new(403, "Forbidden", message).with_details(
                serde_json::json!({"name": name, "group": GROUP, "kind": kind.resource}),
            ));
        }
    }
    Ok(())
}

/// Whether the user holds each single right of a rule.
fn holds(store: &Store, user: &User, namespace: &str, rule: &Value) -> bool {
    let list = |field: &str| -> Vec<String> {
        let items = rule[field].as_array().into_iter().flatten();
        items
            .filter_map(|item| item.as_str().map(str::to_owned))
            .collect()
    };
    let mut names = list("resourceNames");
    if names.is_empty() {
        names.push(String::new());
    }
    let verbs = list("verbs");
    let resources = verbs.iter().all(|verb| {
        list("apiGroups").iter().all(|group| {
            list("resources").iter().all(|resource| {
                let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
                names.iter().all(|name| {
                    let attempt = Attempt::Resource {
                        verb,
                        group,
                        resource,
                        subresource,
                        namespace,
                        name,
                    };
                    rbac::allows(store, user, &attempt)
                })
            })
        })
    });
    let paths = verbs.iter().all(|verb| {
        list("nonResourceURLs")
            .iter()
            .all(|path| rbac::allows(store, user, &Attempt::Path { verb, path }))
    });
    resources && paths
}

/// The API group of roles and bindings.
pub(crate) const GROUP: &str = "rbac.authorization.k8s.io";
