use karmada_repair::finding::worst;

use super::*;
use crate::answer::Answer;
use crate::fixture::{
    NOT_ACCEPTED as REFUSED, config, controller_manager, deliver, grants, group, jane, now,
    observed, proxy, user,
};
use crate::observed::MayGrant;

/// The codes of all findings, each with its subject.
fn codes(observed: &Observed, config: &Config) -> Vec<String> {
    diagnose(observed, config, now())
        .iter()
        .map(|finding| format!("{} {}", finding.key.code, finding.key.subject))
        .collect()
}

fn message(observed: &Observed, config: &Config, code: &str) -> String {
    let findings = diagnose(observed, config, now());
    let found = findings.iter().find(|finding| finding.key.code == code);
    found
        .unwrap_or_else(|| panic!("no {code} in {findings:?}"))
        .message
        .clone()
}

#[test]
fn whoever_is_granted_nothing_is_named_with_what_is_lacking() {
    let observed = observed(vec![jane(&["devs"])]);
    assert_eq!(codes(&observed, &config(&[])), ["not-granted user/jane"]);
    assert_eq!(
        message(&observed, &config(&[]), NOT_GRANTED),
        "user \"jane\" is not granted access to a, b: the control plane does not let it get clusters/proxy, and Karmada makes neither it nor its groups \"devs\" known to the member"
    );
}

#[test]
fn a_group_binding_alone_lets_through_and_makes_nobody_known() {
    let mut observed = observed(vec![jane(&["devs"])]);
    grants(
        &mut observed,
        &[("devs", proxy("get", &[]), vec![group("devs")])],
    );
    assert!(
        message(&observed, &config(&[]), NOT_GRANTED)
            .ends_with("b: Karmada does not make it known to the member")
    );
}

#[test]
fn who_is_granted_and_answered_is_healthy() {
    let mut observed = observed(vec![jane(&["devs"])]);
    grants(
        &mut observed,
        &[(
            "installer",
            proxy("*", &[]),
            vec![user("jane"), group("devs")],
        )],
    );
    deliver(&mut observed, 200, "");
    assert_eq!(codes(&observed, &config(&[])), [""; 0]);
}

#[test]
fn what_was_granted_to_others_by_this_plugin_does_not_count() {
    let mut observed = observed(vec![jane(&["devs"])]);
    grants(
        &mut observed,
        &[
            ("jane", proxy("get", &[]), vec![user("jane")]),
            (
                "bob:groups",
                proxy("impersonation-only", &[]),
                vec![group("devs")],
            ),
        ],
    );
    if let Part::Seen(rbac) = &mut observed.rbac {
        let binding = rbac.bindings.get_mut("bob:groups").expect("the binding");
        let metadata = &mut binding.metadata;
        metadata.labels.insert(
            crate::rbac::MANAGED_BY.to_owned(),
            crate::rbac::OWN.to_owned(),
        );
        metadata
            .annotations
            .insert(crate::rbac::GRANTED_TO.to_owned(), "user/bob".to_owned());
    }
    deliver(&mut observed, 200, "");
    assert!(
        message(&observed, &config(&[]), NOT_GRANTED)
            .contains("while Karmada does not make its groups \"devs\" known")
    );
}

#[test]
fn a_grant_on_its_way_is_not_accepted_yet() {
    let mut observed = observed(vec![jane(&[])]);
    grants(
        &mut observed,
        &[("jane", proxy("get", &["a"]), vec![user("jane")])],
    );
    deliver(&mut observed, 403, REFUSED);
    observed.members.truncate(1);
    assert_eq!(
        codes(&observed, &config(&["a"])),
        ["not-accepted user/jane"]
    );
}

#[test]
fn verbs_beyond_get_are_looked_for_although_the_proxy_answers() {
    let mut observed = observed(vec![jane(&[])]);
    grants(
        &mut observed,
        &[("jane", proxy("get", &[]), vec![user("jane")])],
    );
    deliver(&mut observed, 200, "");
    let mut config = config(&[]);
    config.verbs.insert("create".to_owned());
    assert!(
        message(&observed, &config, NOT_GRANTED).contains("does not let it create clusters/proxy")
    );
}

#[test]
fn who_may_not_try_as_the_subject_does_not_know() {
    let mut observed = observed(vec![jane(&[])]);
    grants(
        &mut observed,
        &[("jane", proxy("get", &[]), vec![user("jane")])],
    );
    deliver(
        &mut observed,
        403,
        "users \"jane\" is forbidden: User \"bob\" cannot impersonate resource \"users\" in API group \"\" at the cluster scope",
    );
    assert_eq!(codes(&observed, &config(&[])), ["not-verified user/jane"]);
    let findings = diagnose(&observed, &config(&[]), now());
    assert_eq!(worst(&findings), Some(Severity::Unknown));
}

#[test]
fn superusers_need_no_verb_and_masters_is_no_group_to_grant() {
    let admin = Identity::new(user("system:admin"), ["system:masters".to_owned()]).as_caller();
    let mut observed = observed(vec![admin]);
    assert!(
        message(&observed, &config(&[]), NOT_GRANTED)
            .ends_with(": Karmada does not make it known to the member")
    );
    // The binding of the superusers is gone.
    observed.rbac = Part::Seen(crate::fixture::rbac(&[(
        "admin",
        proxy("get", &[]),
        vec![user("system:admin")],
    )]));
    deliver(&mut observed, 403, REFUSED);
    assert_eq!(
        codes(&observed, &config(&[])),
        ["masters-not-accepted user/system:admin"]
    );
}

/// What stands in the way, for each way of breaking member a of a federation in which jane is granted access.
#[test]
fn what_stands_in_everybodys_way_is_told_apart() {
    type Break = fn(&mut Member);
    let table: [(&str, Break); 13] = [
        ("impersonator-not-named", |member| {
            member.cluster.spec.impersonator_secret_ref = None
        }),
        ("impersonator-secret-missing", |member| {
            member.secret = Part::Absent
        }),
        ("impersonator-secret-empty", |member| {
            if let Part::Seen(secret) = &mut member.secret {
                secret.has_token = false;
            }
        }),
        ("impersonator-token-rejected", |member| {
            answer(member, 401, "Unauthorized")
        }),
        ("member-unreachable", |member| {
            answer(
                member,
                503,
                "error trying to reach service: dial tcp 172.20.0.3:6443: i/o timeout",
            )
        }),
        ("not-ready", |member| {
            member.cluster.status.conditions[0].status = "False".to_owned()
        }),
        ("not-ready", |member| {
            member.cluster.status.conditions.clear()
        }),
        ("role-frozen", |member| {
            if let Part::Seen(crate::observed::Copy {
                role: Part::Seen(role),
                ..
            }) = &mut member.copy
            {
                role.managed = None;
            }
        }),
        ("role-frozen", |member| {
            member.copy = Part::Unreadable("no way leads there".to_owned());
            applied(member, Applied::No("resource(kind=ClusterRole, /karmada-impersonator) already exists in the cluster a and the work.karmada.io/conflict-resolution strategy value is empty, Karmada will not manage this resource".to_owned()));
        }),
        ("work-not-delivered", |member| {
            applied(member, Applied::Never)
        }),
        ("work-not-delivered", |member| {
            member.binding_work = Part::Absent
        }),
        ("work-not-delivered", |member| {
            if let Part::Seen(crate::observed::Copy {
                role: Part::Seen(role),
                ..
            }) = &mut member.copy
            {
                role.accepted = Default::default();
            }
        }),
        ("being-deleted", |member| {
            member.cluster.metadata.deletion_timestamp = Some("now".to_owned())
        }),
    ];
    for (code, breaks) in table {
        let mut observed = observed(vec![jane(&[])]);
        grants(
            &mut observed,
            &[("jane", proxy("get", &[]), vec![user("jane")])],
        );
        deliver(&mut observed, 403, REFUSED);
        answer(&mut observed.members[1], 200, "");
        breaks(&mut observed.members[0]);
        assert_eq!(
            codes(&observed, &config(&[])),
            [format!("{code} cluster/a")]
        );
    }
}

fn answer(member: &mut Member, status: u16, message: &str) {
    for answer in member.answers.values_mut() {
        *answer = Answer::read(status, message, 7);
    }
}

fn applied(member: &mut Member, applied: Applied) {
    if let Part::Seen(work) = &mut member.role_work {
        work.applied = applied;
    }
}

#[test]
fn a_work_that_was_just_written_is_on_its_way() {
    let mut observed = observed(vec![jane(&[])]);
    grants(
        &mut observed,
        &[("jane", proxy("get", &[]), vec![user("jane")])],
    );
    deliver(&mut observed, 403, REFUSED);
    observed.members.truncate(1);
    if let Part::Seen(work) = &mut observed.members[0].role_work {
        work.applied = Applied::Never;
        work.written = Some(now());
    }
    assert_eq!(codes(&observed, &config(&[])), ["not-accepted user/jane"]);
}

#[test]
fn a_frozen_role_is_told_although_everybody_passes_by_it() {
    let mut observed = observed(vec![jane(&[])]);
    deliver(&mut observed, 200, "");
    observed.members.truncate(1);
    if let Part::Seen(crate::observed::Copy {
        role: Part::Seen(role),
        ..
    }) = &mut observed.members[0].copy
    {
        role.managed = None;
        role.accepted.users.some.insert("jane".to_owned());
    }
    let config = config(&[]);
    assert_eq!(
        codes(&observed, &config),
        ["role-frozen cluster/a", "not-granted user/jane"]
    );
    assert!(
        message(&observed, &config, "role-frozen").ends_with("by hand it accepts user \"jane\"")
    );
    assert!(
        message(&observed, &config, NOT_GRANTED)
            .contains("passes today by what was written into the member alone")
    );
}

#[test]
fn who_may_not_grant_is_told_so_only_when_a_grant_is_needed() {
    let mut observed = observed(vec![jane(&[])]);
    observed.may_grant = Part::Seen(MayGrant {
        lacks: vec!["create clusterroles".to_owned()],
        may_give: true,
    });
    assert!(
        codes(&observed, &config(&[])).contains(&"may-not-grant control-plane/rbac".to_owned())
    );
    grants(
        &mut observed,
        &[("jane", proxy("get", &[]), vec![user("jane")])],
    );
    deliver(&mut observed, 200, "");
    assert_eq!(codes(&observed, &config(&[])), [""; 0]);
}

#[test]
fn unreadable_roles_are_unknown_and_never_fine() {
    let mut observed = observed(vec![jane(&[])]);
    deliver(&mut observed, 200, "");
    observed.rbac = Part::Unreadable("forbidden".to_owned());
    assert_eq!(
        codes(&observed, &config(&[])),
        ["rbac-unreadable control-plane/rbac"]
    );
    deliver(&mut observed, 403, REFUSED);
    observed.rbac = Part::Unreadable("forbidden".to_owned());
    assert!(codes(&observed, &config(&[])).contains(&"not-accepted user/jane".to_owned()));
}

#[test]
fn a_group_alone_reaches_nothing_and_a_named_user_may_carry_groups() {
    let devs = Identity::new(group("devs"), []);
    let mut observed = observed(vec![devs.clone()]);
    grants(
        &mut observed,
        &[("devs", proxy("get", &[]), vec![group("devs")])],
    );
    deliver(&mut observed, 200, "");
    assert_eq!(
        codes(&observed, &config(&[])),
        ["group-needs-users group/devs"]
    );
    observed.identities = vec![devs, jane(&["devs"])];
    assert!(!codes(&observed, &config(&[])).contains(&"group-needs-users group/devs".to_owned()));
    observed.identities = vec![Identity::new(user("jane"), [])];
    assert!(codes(&observed, &config(&[])).contains(&"groups-unknown user/jane".to_owned()));
}

#[test]
fn impersonation_that_leads_to_nobody_with_rights_is_another_fault() {
    let mut observed = observed(vec![jane(&[])]);
    grants(
        &mut observed,
        &[("jane", proxy("get", &[]), vec![user("jane")])],
    );
    deliver(&mut observed, 200, "");
    for member in &mut observed.members {
        member
            .rights
            .insert("user/jane".to_owned(), Part::Seen(Rights::Nothing));
    }
    let findings = diagnose(&observed, &config(&[]), now());
    assert_eq!(findings.len(), 1);
    assert_eq!(findings[0].key.code, "no-rights-in-member");
    assert_eq!(
        findings[0].hint.as_deref(),
        Some("kubectl karmada-grant-impersonate a b --user jane --member-role view")
    );
    observed.members[0]
        .rights
        .insert("user/jane".to_owned(), Part::Unreadable("no".to_owned()));
    observed.members[1]
        .rights
        .insert("user/jane".to_owned(), Part::Seen(Rights::Read));
    assert_eq!(codes(&observed, &config(&[])), [""; 0]);
}

#[test]
fn a_role_in_members_is_missing_pending_or_unknown() {
    let mut observed = observed(vec![jane(&[])]);
    grants(
        &mut observed,
        &[("jane", proxy("get", &[]), vec![user("jane")])],
    );
    deliver(&mut observed, 200, "");
    observed.members.truncate(1);
    let config = Config {
        member_role: Some("view".to_owned()),
        ..config(&[])
    };
    observed.members[0].role_works = Part::Seen(Vec::new());
    assert_eq!(
        codes(&observed, &config),
        ["member-role-not-bound user/jane"]
    );
    let (object, manifest) = member_role::work("a", &user("jane"), "view");
    let mut work = member_role::RoleWork {
        name: object.name,
        uid: "u".to_owned(),
        granted_to: "user/jane".to_owned(),
        applied: Applied::Never,
        is_being_deleted: false,
        object: manifest,
    };
    observed.members[0].role_works = Part::Seen(vec![work.clone()]);
    assert!(message(&observed, &config, ROLE_NOT_BOUND).contains("has not arrived in a"));
    work.applied = Applied::Yes;
    observed.members[0].role_works = Part::Seen(vec![work]);
    assert_eq!(codes(&observed, &config), [""; 0]);
    observed.members[0].member_role = Part::Seen(false);
    assert_eq!(codes(&observed, &config), ["member-role-unknown user/jane"]);
    observed.members[0].member_role = Part::Seen(true);
    observed.members[0].role_works = Part::Unreadable("forbidden".to_owned());
    assert_eq!(codes(&observed, &config), ["works-unreadable user/jane"]);
}

#[test]
fn an_unreadable_host_matters_only_when_a_restart_would_help() {
    let mut observed = observed(vec![jane(&[])]);
    grants(
        &mut observed,
        &[("jane", proxy("get", &[]), vec![user("jane")])],
    );
    deliver(&mut observed, 403, REFUSED);
    observed.controller_manager = Part::Unreadable("forbidden".to_owned());
    assert_eq!(codes(&observed, &config(&[])), ["not-accepted user/jane"]);
    applied(&mut observed.members[0], Applied::Never);
    assert!(
        codes(&observed, &config(&[]))
            .contains(&"host-unreadable host/karmada-controller-manager".to_owned())
    );
    observed.controller_manager = controller_manager();
    assert!(
        !codes(&observed, &config(&[]))
            .iter()
            .any(|code| code.starts_with("host-unreadable"))
    );
}

#[test]
fn hints_are_commands_with_the_same_subjects() {
    let mut observed = observed(vec![
        jane(&["devs", "system:masters"]),
        Identity::new(group("ops"), []),
    ]);
    observed.may_grant = Part::Seen(MayGrant {
        lacks: Vec::new(),
        may_give: false,
    });
    let mut config = config(&["a"]);
    config.verbs.insert("create".to_owned());
    assert_eq!(
        own_command(&observed, &config),
        "kubectl karmada-grant-impersonate a --user jane --in-group devs --group ops --verbs create,get"
    );
}
