use serde_json::json;

use super::*;
use crate::account::Identity;
use crate::config::{Task, Who};
use crate::fixture::{config, grants, group, jane, now, observed, proxy, user};
use crate::observed::Copy;

fn list(members: &[&str]) -> Config {
    Config {
        task: Task::List,
        who: Who::Caller,
        ..config(members)
    }
}

fn rows(observed: &Observed, config: &Config) -> Vec<String> {
    overview(observed, config)
        .rows
        .iter()
        .map(|row| {
            let cells: Vec<&str> = row
                .cells
                .iter()
                .map(|cell| cell.as_deref().unwrap_or("-"))
                .collect();
            cells.join(" | ")
        })
        .collect()
}

fn codes(observed: &Observed, config: &Config) -> Vec<String> {
    crate::diagnose::diagnose(observed, config, now())
        .iter()
        .map(|finding| format!("{} {}", finding.key.code, finding.key.subject))
        .collect()
}

fn wildcard() -> serde_json::Value {
    json!({"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]})
}

#[test]
fn every_subject_is_listed_with_what_lets_it_pass() {
    let mut observed = observed(vec![jane(&[])]);
    grants(
        &mut observed,
        &[
            (
                "prod-cluster-proxy-admin",
                proxy("*", &[]),
                vec![user("system:admin")],
            ),
            (
                "some",
                proxy("get", &["a", "b"]),
                vec![user("system:serviceaccount:ci:bot")],
            ),
            (
                "some:groups",
                proxy("impersonation-only", &["a"]),
                vec![group("devs")],
            ),
            ("root", wildcard(), vec![user("eve")]),
        ],
    );
    assert_eq!(
        rows(&observed, &list(&[])),
        [
            "group/devs | a | none: only accepted | some:groups | some:groups | unexpected",
            "group/system:masters | all members | * | cluster-admin | cluster-admin (wildcard) | unexpected",
            "serviceaccount/ci/bot | a,b | get | some | some | unexpected",
            "user/eve | all members | * | root | root (wildcard) | unexpected",
            "user/system:admin | all members | * | prod-cluster-proxy-admin | prod-cluster-proxy-admin | installer",
        ]
    );
    let codes = codes(&observed, &list(&[]));
    assert!(
        codes.contains(&"wildcard-role user/eve".to_owned()),
        "{codes:?}"
    );
    assert!(
        codes.contains(&"unexpected-binding serviceaccount/ci/bot".to_owned()),
        "{codes:?}"
    );
    assert!(
        !codes.iter().any(|code| code.ends_with("user/system:admin")),
        "{codes:?}"
    );
    assert_eq!(rows(&observed, &list(&["b"])).len(), 4);
    let bot = Config {
        who: Who::Named {
            accounts: vec![user("eve")],
            carried: Vec::new(),
        },
        ..list(&[])
    };
    observed.identities = vec![Identity::new(user("eve"), [])];
    assert_eq!(rows(&observed, &bot).len(), 1);
}

#[test]
fn what_lets_everybody_in_is_a_warning() {
    let mut observed = observed(vec![jane(&[])]);
    grants(
        &mut observed,
        &[(
            "open",
            proxy("get", &[]),
            vec![group("system:authenticated")],
        )],
    );
    let codes = codes(&observed, &list(&[]));
    assert!(
        codes.contains(&"everybody-passes group/system:authenticated".to_owned()),
        "{codes:?}"
    );
}

#[test]
fn whom_members_accept_by_hand_is_a_warning() {
    let mut observed = observed(vec![jane(&[])]);
    if let Part::Seen(Copy {
        role: Part::Seen(role),
        ..
    }) = &mut observed.members[0].copy
    {
        role.accepted.users.some.insert("mallory".to_owned());
    }
    assert!(codes(&observed, &list(&[])).contains(&"accepted-by-hand cluster/a".to_owned()));
}

#[test]
fn an_unreadable_list_is_not_an_empty_one() {
    let mut observed = observed(vec![jane(&[])]);
    observed.rbac = Part::Unreadable("forbidden".to_owned());
    assert_eq!(
        codes(&observed, &list(&[])),
        ["rbac-unreadable control-plane/rbac"]
    );
}
