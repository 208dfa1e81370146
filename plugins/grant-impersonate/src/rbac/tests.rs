use serde_json::{Value, json};

use super::*;

fn rule(value: Value) -> Rule {
    serde_json::from_value(value).expect("a rule")
}

fn proxy(verbs: &[&str], names: &[&str]) -> Value {
    json!({"apiGroups": ["cluster.karmada.io"], "resources": ["clusters/proxy"], "resourceNames": names, "verbs": verbs})
}

/// One role and binding of the same name per entry.
fn rbac(entries: &[(&str, Value, &[Account])]) -> Rbac {
    let roles = entries
        .iter()
        .map(|(name, rule, _)| {
            serde_json::from_value(json!({"metadata": {"name": name}, "rules": [rule]}))
                .expect("a role")
        })
        .collect();
    let bindings = entries
        .iter()
        .map(|(name, _, accounts)| {
            let subjects: Vec<Value> = accounts.iter().map(Account::bound).collect();
            let reference = json!({"kind": "ClusterRole", "name": name});
            serde_json::from_value(
                json!({"metadata": {"name": name}, "roleRef": reference, "subjects": subjects}),
            )
            .expect("a binding")
        })
        .collect();
    Rbac::of(roles, bindings)
}

fn user(name: &str) -> Account {
    Account::of_user_name(name)
}

fn group(name: &str) -> Account {
    Account::Group {
        name: name.to_owned(),
    }
}

fn jane(groups: &[&str]) -> Identity {
    Identity::new(user("jane"), groups.iter().map(|group| (*group).to_owned()))
}

#[test]
fn karmada_and_the_api_server_read_rules_each_in_its_way() {
    // Rule, whether it makes subjects known to member m, whether it lets them get there.
    let table = [
        (proxy(&["get"], &[]), true, true),
        (proxy(&["*"], &["m"]), true, true),
        (proxy(&["get"], &["other"]), false, false),
        (proxy(&["impersonation-only"], &["m"]), true, false),
        (
            json!({"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}),
            true,
            true,
        ),
        (
            json!({"apiGroups": ["cluster.karmada.io"], "resources": ["*"], "verbs": ["get"]}),
            true,
            true,
        ),
        (
            json!({"apiGroups": ["cluster.karmada.io"], "resources": ["clusters/*"], "verbs": ["get"]}),
            false,
            false,
        ),
        (
            json!({"apiGroups": ["cluster.karmada.io"], "resources": ["*/proxy"], "verbs": ["get"]}),
            false,
            true,
        ),
        (
            json!({"apiGroups": ["search.karmada.io"], "resources": ["proxying/proxy"], "verbs": ["get"]}),
            true,
            false,
        ),
        (
            json!({"apiGroups": ["search.karmada.io"], "resources": ["proxying/proxy"], "resourceNames": ["x"], "verbs": ["get"]}),
            true,
            false,
        ),
        (
            json!({"apiGroups": ["cluster.karmada.io"], "resources": ["clusters"], "verbs": ["*"]}),
            false,
            false,
        ),
        (
            json!({"nonResourceURLs": ["*"], "verbs": ["*"]}),
            false,
            false,
        ),
        (
            json!({"apiGroups": null, "resources": null, "verbs": ["get"]}),
            false,
            false,
        ),
    ];
    for (value, known, through) in table {
        let rule = rule(value.clone());
        assert_eq!(rule.makes_known_to("m"), known, "{value}");
        assert_eq!(rule.lets_through("m", "get"), through, "{value}");
    }
}

#[test]
fn members_accept_the_subjects_of_every_role_that_leads_there() {
    let rbac = rbac(&[
        (
            "admins",
            proxy(&["*"], &[]),
            &[user("system:admin"), group("ops")],
        ),
        ("jane", proxy(&["get"], &["a"]), &[user("jane")]),
        (
            "bot",
            proxy(&["get"], &[]),
            &[user("system:serviceaccount:ci:bot")],
        ),
        (
            "other",
            json!({"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}),
            &[user("bob")],
        ),
    ]);
    let (a, b) = (rbac.accepted_by("a"), rbac.accepted_by("b"));
    assert!(a.lacks(&jane(&["ops"])).is_nothing());
    assert!(b.lacks(&jane(&[])).account);
    assert_eq!(a.lacks(&jane(&["devs", "ops"])).groups, ["devs"]);
    // The namespace of a service account is dropped.
    assert!(
        !a.lacks(&Identity::new(user("system:serviceaccount:other:bot"), []))
            .account
    );
    assert!(a.lacks(&Identity::new(user("bob"), [])).account);
}

#[test]
fn a_service_account_bound_as_a_user_is_let_through_and_not_accepted() {
    let mut rbac = rbac(&[("r", proxy(&["get"], &[]), &[])]);
    let name = "system:serviceaccount:ci:bot";
    rbac.bindings.get_mut("r").expect("the binding").subjects = vec![Bound {
        kind: "User".to_owned(),
        name: name.to_owned(),
        namespace: None,
    }];
    let bot = Identity::new(user(name), []);
    assert!(rbac.lets_through(&bot, "m", "get").is_some());
    assert!(rbac.accepted_by("m").lacks(&bot).account);
}

#[test]
fn a_group_lets_its_members_through_and_does_not_make_them_known() {
    let rbac = rbac(&[("devs", proxy(&["get"], &[]), &[group("devs")])]);
    let identity = jane(&["devs"]);
    assert!(rbac.lets_through(&identity, "m", "get").is_some());
    assert!(rbac.lets_through(&identity, "m", "create").is_none());
    assert!(rbac.lets_through(&jane(&[]), "m", "get").is_none());
    let missing = rbac.accepted_by("m").lacks(&identity);
    assert_eq!(
        missing,
        Missing {
            account: true,
            groups: vec![]
        }
    );
}

#[test]
fn bindings_of_roles_that_are_not_there_and_role_bindings_give_nothing() {
    let dangling: Binding = serde_json::from_value(json!({
        "metadata": {"name": "d"}, "roleRef": {"kind": "ClusterRole", "name": "gone"},
        "subjects": [{"kind": "User", "name": "jane"}],
    }))
    .expect("a binding");
    assert!(Rbac::of(vec![], vec![dangling]).bindings.is_empty());
}

#[test]
fn a_members_role_accepts_names_or_everybody() {
    let accepted = Accepted::of_rules(&[
        rule(
            json!({"apiGroups": [""], "resources": ["users"], "verbs": ["impersonate"], "resourceNames": ["jane"]}),
        ),
        rule(json!({"apiGroups": [""], "resources": ["groups"], "verbs": ["*"]})),
        rule(json!({"apiGroups": [""], "resources": ["serviceaccounts"], "verbs": ["get"]})),
    ]);
    assert!(accepted.lacks(&jane(&["anything"])).is_nothing());
    assert!(
        accepted
            .lacks(&Identity::new(user("system:serviceaccount:a:b"), []))
            .account
    );
    assert_eq!(
        accepted.beyond(&Accepted::default()),
        ["user \"jane\"", "every group"]
    );
}
