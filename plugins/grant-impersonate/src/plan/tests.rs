use serde_json::json;

use super::*;
use crate::answer::Answer;
use crate::diagnose::diagnose;
use crate::fixture::{
    NOT_ACCEPTED as REFUSED, config, controller_manager, deliver, grants, group, jane, now,
    observed, proxy, user,
};
use crate::observed::{Copy, MayGrant};
use crate::rbac::{Binding, Role};

fn planned(observed: &Observed, config: &Config) -> Plan {
    plan(observed, &diagnose(observed, config, now()), config, now())
}

/// What each step does to which object.
fn targets(plan: &Plan) -> Vec<String> {
    plan.steps
        .iter()
        .map(|step| {
            let verb = step.action.sentence();
            format!(
                "{} {}",
                verb.split(' ').next().unwrap_or_default(),
                step.action.target()
            )
        })
        .collect()
}

/// The observation as it is when the applied objects are there, and Karmada has delivered.
fn after(observed: &Observed, plan: &Plan) -> Observed {
    let mut observed = observed.clone();
    let rbac = observed.rbac.seen().cloned().unwrap_or_default();
    let mut roles: Vec<Role> = rbac.roles.into_values().collect();
    let mut bindings: Vec<Binding> = rbac.bindings.into_values().collect();
    for step in &plan.steps {
        let Action::ApplyObject {
            object, manifest, ..
        } = &step.action
        else {
            continue;
        };
        let mut manifest = manifest.clone();
        manifest["metadata"]["uid"] = json!("uid");
        observed
            .objects
            .insert(format!("{}/{}", object.kind, object.name), manifest.clone());
        match object.kind.as_str() {
            "ClusterRole" => {
                roles.retain(|role| role.metadata.name != object.name);
                roles.push(serde_json::from_value(manifest).expect("a role"));
            }
            "ClusterRoleBinding" => {
                bindings.retain(|binding| binding.metadata.name != object.name);
                bindings.push(serde_json::from_value(manifest).expect("a binding"));
            }
            _ => {}
        }
    }
    observed.rbac = Part::Seen(Rbac::of(roles, bindings));
    deliver(&mut observed, 200, "");
    observed
}

#[test]
fn one_person_gets_in_and_his_groups_are_only_carried() {
    let observed = observed(vec![jane(&["devs", "system:masters"])]);
    let config = config(&["a"]);
    let plan = planned(&observed, &config);
    let name = name(&user("jane"), &config.scope());
    assert_eq!(
        targets(&plan),
        [
            format!("apply clusterrole/{name}"),
            format!("apply clusterrolebinding/{name}"),
            format!("apply clusterrole/{name}:groups"),
            format!("apply clusterrolebinding/{name}:groups"),
        ]
    );
    assert_eq!(plan.proofs.len(), 1);
    let Action::ApplyObject { manifest, .. } = &plan.steps[3].action else {
        panic!("it applies");
    };
    assert_eq!(
        manifest["subjects"],
        json!([{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "devs"}])
    );
}

#[test]
fn after_the_plan_nothing_is_left_to_do() {
    let bot = Identity::new(user("system:serviceaccount:ci:bot"), []);
    let devs = Identity::new(group("devs"), []);
    for identity in [jane(&[]), jane(&["devs", "qa"]), bot, devs] {
        for members in [&[][..], &["a"], &["a", "b"]] {
            let observed = observed(vec![identity.clone()]);
            let config = config(members);
            let plan = planned(&observed, &config);
            assert!(!plan.steps.is_empty(), "{identity:?}");
            let mut healed = after(&observed, &plan);
            healed.members.retain(|member| {
                members.is_empty() || members.contains(&member.cluster.metadata.name.as_str())
            });
            let findings = diagnose(&healed, &config, now());
            let worst = karmada_repair::finding::worst(&findings);
            assert!(
                worst <= Some(karmada_repair::finding::Severity::Warning),
                "{findings:?}"
            );
            assert!(planned(&healed, &config).is_empty());
        }
    }
}

#[test]
fn a_sufficient_binding_of_somebody_else_is_enough() {
    let mut observed = observed(vec![jane(&["devs"])]);
    grants(
        &mut observed,
        &[(
            "cluster-proxy-admin",
            proxy("*", &[]),
            (0..200)
                .map(|number| user(&format!("user-{number}")))
                .chain([user("jane"), group("devs")])
                .collect(),
        )],
    );
    deliver(&mut observed, 200, "");
    assert!(planned(&observed, &config(&[])).is_empty());
}

#[test]
fn a_wider_grant_keeps_what_it_gave() {
    let observed = observed(vec![jane(&[])]);
    let first = planned(&observed, &config(&[]));
    let granted = after(&observed, &first);
    let mut wider = config(&[]);
    wider.verbs = BTreeSet::from(["create".to_owned()]);
    let second = planned(&granted, &wider);
    let Action::ApplyObject {
        manifest, before, ..
    } = &second.steps[0].action
    else {
        panic!("it applies");
    };
    assert_eq!(manifest["rules"][0]["verbs"], json!(["create", "get"]));
    assert!(before.is_some());
    assert_eq!(second.steps.len(), 1, "the binding stays as it is");
}

#[test]
fn who_may_not_grant_plans_nothing_and_can_hand_on_the_manifests() {
    let mut observed = observed(vec![jane(&["devs"])]);
    observed.may_grant = Part::Seen(MayGrant {
        lacks: Vec::new(),
        may_give: false,
    });
    let config = config(&["a"]);
    assert!(planned(&observed, &config).is_empty());
    let findings = diagnose(&observed, &config, now());
    let manifests = manifests(&observed, &findings, &config, now());
    assert_eq!(manifests.len(), 4);
    assert!(!json!(manifests).to_string().contains("system:masters"));
}

fn blocked(breaks: fn(&mut Member)) -> Observed {
    let mut observed = observed(vec![jane(&[])]);
    grants(
        &mut observed,
        &[("jane", proxy("get", &[]), vec![user("jane")])],
    );
    deliver(&mut observed, 403, REFUSED);
    observed.members.truncate(1);
    breaks(&mut observed.members[0]);
    observed
}

fn freeze(member: &mut Member) {
    if let Part::Seen(Copy {
        role: Part::Seen(role),
        ..
    }) = &mut member.copy
    {
        role.managed = None;
        role.accepted.users.some.insert("eve".to_owned());
    }
}

#[test]
fn a_frozen_role_gets_its_label_back_and_the_label_is_never_taken() {
    let observed = blocked(freeze);
    let plan = planned(&observed, &config(&[]));
    assert_eq!(
        targets(&plan),
        ["patch clusterrole/karmada-impersonator in a"]
    );
    let step = &plan.steps[0];
    let Action::PatchObject {
        server,
        patch,
        inverse,
        ..
    } = &step.action
    else {
        panic!("it patches");
    };
    assert_eq!(*server, Server::Member("a".to_owned()));
    assert_eq!(
        json!(patch),
        json!([
            {"op": "test", "path": "/metadata/uid", "value": "delivered-a"},
            {"op": "test", "path": "/metadata/labels/karmada.io~1managed", "value": null},
            {"op": "add", "path": "/metadata/labels/karmada.io~1managed", "value": "true"},
        ])
    );
    assert!(!json!(inverse).to_string().contains("remove"));
    let caution = step.caution.as_deref().unwrap_or_default();
    assert!(
        caution.contains("no longer accepts user \"eve\""),
        "{caution}"
    );
    assert!(
        caution.ends_with("kubectl karmada-grant-impersonate a --user eve"),
        "{caution}"
    );
    assert_eq!(plan.proofs.len(), 1);
}

#[test]
fn a_member_that_cannot_be_entered_is_left_frozen() {
    let mut observed = blocked(freeze);
    observed.members[0].copy = Part::Unreadable("no way".to_owned());
    let frozen = "Karmada will not manage this resource".to_owned();
    if let Part::Seen(work) = &mut observed.members[0].role_work {
        work.applied = crate::observed::Applied::No(frozen);
    }
    assert!(planned(&observed, &config(&[])).is_empty());
}

#[test]
fn a_sleeping_work_is_woken_where_the_host_is_open() {
    let asleep: fn(&mut Member) = |member| {
        if let Part::Seen(work) = &mut member.role_work {
            work.applied = crate::observed::Applied::Never;
        }
    };
    let mut observed = blocked(asleep);
    assert!(planned(&observed, &config(&[])).is_empty());
    observed.controller_manager = controller_manager();
    assert_eq!(
        targets(&planned(&observed, &config(&[]))),
        ["restart deployment/karmada-system/karmada-controller-manager"]
    );
}

#[test]
fn one_restart_wakes_all_members() {
    let mut observed = observed(vec![jane(&[])]);
    grants(
        &mut observed,
        &[("jane", proxy("get", &[]), vec![user("jane")])],
    );
    deliver(&mut observed, 403, REFUSED);
    for member in &mut observed.members {
        member.binding_work = Part::Absent;
    }
    observed.controller_manager = controller_manager();
    let plan = planned(&observed, &config(&[]));
    assert_eq!(plan.steps.len(), 1);
    assert_eq!(plan.steps[0].cures.len(), 2);
}

#[test]
fn the_impersonators_token_is_taken_from_the_member() {
    let rejected: fn(&mut Member) = |member| {
        for answer in member.answers.values_mut() {
            *answer = Answer::TokenRejected;
        }
    };
    let plan = planned(&blocked(rejected), &config(&[]));
    assert_eq!(
        targets(&plan),
        ["patch secret/karmada-cluster/a-impersonator"]
    );
    assert!(!plan.steps[0].action.sentence().contains("dHJ1ZS10b2tlbg"));
    let plan = planned(
        &blocked(|member| member.secret = Part::Absent),
        &config(&[]),
    );
    assert_eq!(
        targets(&plan),
        ["create secret/karmada-cluster/a-impersonator"]
    );
    let unnamed: fn(&mut Member) = |member| member.cluster.spec.impersonator_secret_ref = None;
    let plan = planned(&blocked(unnamed), &config(&[]));
    assert_eq!(targets(&plan), ["patch cluster/a"]);
    let nowhere: fn(&mut Member) = |member| {
        member.secret = Part::Absent;
        member.true_token = Part::Unreadable("no".to_owned());
    };
    assert!(planned(&blocked(nowhere), &config(&[])).is_empty());
}

#[test]
fn a_token_that_the_member_itself_holds_is_not_written_again() {
    let mut observed = blocked(|member| {
        for answer in member.answers.values_mut() {
            *answer = Answer::TokenRejected;
        }
    });
    observed.members[0].true_token = Part::Seen(secrecy::SecretString::from("old"));
    assert!(planned(&observed, &config(&[])).is_empty());
}

#[test]
fn a_role_in_members_goes_by_a_work_and_never_by_a_binding_of_the_control_plane() {
    let mut observed = observed(vec![jane(&[])]);
    grants(
        &mut observed,
        &[("jane", proxy("get", &[]), vec![user("jane")])],
    );
    deliver(&mut observed, 200, "");
    observed.members[0].role_works = Part::Seen(Vec::new());
    observed.members[1].role_works = Part::Seen(Vec::new());
    observed.members[1].member_role = Part::Seen(false);
    let config = Config {
        member_role: Some("view".to_owned()),
        ..config(&[])
    };
    let plan = planned(&observed, &config);
    let name = member_role::name(&user("jane"), "view");
    assert_eq!(targets(&plan), [format!("apply work/karmada-es-a/{name}")]);
}
