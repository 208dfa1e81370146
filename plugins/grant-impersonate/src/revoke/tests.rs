use super::*;
use crate::config::Task;
use crate::fixture::{config, deliver, grants, group, jane, now, observed, proxy, user};
use crate::member_role::RoleWork;
use crate::observed::Applied;
use crate::rbac::{GRANTED_TO, MANAGED_BY, OWN};

fn revocation(members: &[&str]) -> Config {
    Config {
        task: Task::Revoke,
        ..config(members)
    }
}

/// These names are objects of this plugin, for this subject.
fn made_for(observed: &mut Observed, names: &[&str], subject: &str) {
    let Part::Seen(rbac) = &mut observed.rbac else {
        return;
    };
    for name in names {
        for metadata in [
            &mut rbac.roles.get_mut(*name).expect("the role").metadata,
            &mut rbac.bindings.get_mut(*name).expect("the binding").metadata,
        ] {
            metadata
                .labels
                .insert(MANAGED_BY.to_owned(), OWN.to_owned());
            metadata
                .annotations
                .insert(GRANTED_TO.to_owned(), subject.to_owned());
        }
    }
}

fn granted() -> Observed {
    let mut observed = observed(vec![jane(&["devs"])]);
    grants(
        &mut observed,
        &[
            ("own", proxy("get", &["a"]), vec![user("jane")]),
            (
                "own:groups",
                proxy("impersonation-only", &["a"]),
                vec![group("devs")],
            ),
            ("others", proxy("get", &[]), vec![user("bob")]),
        ],
    );
    made_for(&mut observed, &["own", "own:groups"], "user/jane");
    made_for(&mut observed, &["others"], "user/bob");
    observed
}

fn codes(observed: &Observed, config: &Config) -> Vec<String> {
    crate::diagnose::diagnose(observed, config, now())
        .into_iter()
        .map(|finding| finding.key.code)
        .collect()
}

fn targets(observed: &Observed, config: &Config) -> Vec<String> {
    plan(observed, config)
        .steps
        .iter()
        .map(|step| step.action.target())
        .collect()
}

#[test]
fn only_what_this_plugin_made_for_the_subject_goes_bindings_first() {
    let observed = granted();
    for members in [&[][..], &["a"], &["a", "b"]] {
        assert_eq!(codes(&observed, &revocation(members)), ["still-granted"]);
        assert_eq!(
            targets(&observed, &revocation(members)),
            [
                "clusterrolebinding/own",
                "clusterrolebinding/own:groups",
                "clusterrole/own",
                "clusterrole/own:groups",
            ]
        );
    }
    assert_eq!(targets(&observed, &revocation(&["b"])), [""; 0]);
}

#[test]
fn a_grant_of_all_members_is_not_cut_into_pieces() {
    let mut observed = observed(vec![jane(&[])]);
    grants(
        &mut observed,
        &[("own", proxy("get", &[]), vec![user("jane")])],
    );
    made_for(&mut observed, &["own"], "user/jane");
    let codes = codes(&observed, &revocation(&["a"]));
    assert!(
        codes.contains(&"granted-more-widely".to_owned()),
        "{codes:?}"
    );
    assert_eq!(targets(&observed, &revocation(&["a"])), [""; 0]);
    assert_eq!(targets(&observed, &revocation(&[])).len(), 2);
}

#[test]
fn access_by_other_bindings_is_told_and_left() {
    let mut observed = granted();
    observed.identities = vec![jane(&[])];
    grants(
        &mut observed,
        &[("by-hand", proxy("get", &[]), vec![user("jane")])],
    );
    assert_eq!(codes(&observed, &revocation(&[])), ["still-passes"]);
    assert_eq!(targets(&observed, &revocation(&[])), [""; 0]);
}

#[test]
fn a_member_that_still_answers_is_waited_for() {
    let mut observed = observed(vec![jane(&[])]);
    deliver(&mut observed, 200, "");
    assert_eq!(codes(&observed, &revocation(&[])), ["still-reached"]);
    deliver(&mut observed, 403, crate::fixture::NOT_LET_THROUGH);
    assert_eq!(codes(&observed, &revocation(&[])), [""; 0]);
}

#[test]
fn roles_in_members_go_with_it() {
    let mut observed = observed(vec![jane(&[])]);
    let work = |name: &str, granted_to: &str, is_being_deleted: bool| RoleWork {
        name: name.to_owned(),
        uid: format!("uid-{name}"),
        granted_to: granted_to.to_owned(),
        applied: Applied::Yes,
        is_being_deleted,
        object: serde_json::Value::Null,
    };
    observed.members[0].role_works = Part::Seen(vec![
        work("mine", "user/jane", false),
        work("going", "user/jane", true),
        work("other", "user/bob", false),
    ]);
    assert_eq!(
        targets(&observed, &revocation(&[])),
        ["work/karmada-es-a/mine"]
    );
    observed.members[1].role_works = Part::Unreadable("forbidden".to_owned());
    assert!(codes(&observed, &revocation(&[])).contains(&"works-unreadable".to_owned()));
}
