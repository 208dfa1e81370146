//! Observations for the tests of the pure parts: two ready members, jane is meant, nobody is granted anything.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use karmada_repair::part::Part;
use karmada_repair::plan::Commands;
use secrecy::SecretString;
use serde_json::{Value, json};

use crate::account::{Account, Identity};
use crate::answer::Answer;
use crate::config::{Config, Task, Who};
use crate::observed::{
    Applied, ControlPlane, Copy, Delivered, Encoded, ImpersonatorSecret, MayGrant, Member,
    Observed, Work, Workload,
};
use crate::rbac::{Accepted, Binding, Rbac, Role};

/// The time of every observation.
pub(crate) fn now() -> Timestamp {
    "2026-11-30T12:00:00Z".parse().expect("a time")
}

/// Long before [`now`].
const LONG_AGO: &str = "2026-11-30T11:00:00Z";

pub(crate) fn user(name: &str) -> Account {
    Account::of_user_name(name)
}

pub(crate) fn group(name: &str) -> Account {
    Account::Group {
        name: name.to_owned(),
    }
}

/// Jane, with these groups.
pub(crate) fn jane(groups: &[&str]) -> Identity {
    let groups = groups.iter().map(|group| (*group).to_owned());
    Identity::new(user("jane"), groups).with_all_groups()
}

/// A run that gives `get` to whoever is meant, on these members; none = all.
pub(crate) fn config(members: &[&str]) -> Config {
    Config {
        members: members.iter().map(|name| (*name).to_owned()).collect(),
        who: Who::Named {
            accounts: vec![user("jane")],
            carried: Vec::new(),
        },
        verbs: BTreeSet::from(["get".to_owned()]),
        member_role: None,
        task: Task::Grant,
    }
}

/// The words with which the control plane refuses jane.
pub(crate) const NOT_LET_THROUGH: &str = "clusters.cluster.karmada.io \"m\" is forbidden: User \"jane\" cannot get resource \"clusters/proxy\" in API group \"cluster.karmada.io\" at the cluster scope";

/// The words with which a member refuses jane.
pub(crate) const NOT_ACCEPTED: &str = "users \"jane\" is forbidden: User \"system:serviceaccount:karmada-cluster:karmada-impersonator\" cannot impersonate resource \"users\" in API group \"\" at the cluster scope";

pub(crate) fn observed(identities: Vec<Identity>) -> Observed {
    Observed {
        control_plane: ControlPlane {
            server: "https://karmada:5443".to_owned(),
            commands: Commands {
                kubectl: "kubectl".to_owned(),
                host: "kubectl --kubeconfig HOST-KUBECONFIG".to_owned(),
                control_plane: "https://karmada:5443".to_owned(),
                field_manager: "kubectl-karmada-grant-impersonate".to_owned(),
                ..Commands::default()
            },
            own_command: "kubectl karmada-grant-impersonate".to_owned(),
        },
        members: vec![member("a", &identities), member("b", &identities)],
        identities,
        rbac: Part::Seen(rbac(&[(
            "cluster-admin",
            masters(),
            vec![group("system:masters")],
        )])),
        objects: BTreeMap::new(),
        may_grant: Part::Seen(MayGrant {
            lacks: Vec::new(),
            may_give: true,
        }),
        patience: crate::examine::PATIENCE,
        controller_manager: Part::Absent,
    }
}

/// A ready member that accepts the superusers, and whose proxy refuses each identity.
pub(crate) fn member(name: &str, identities: &[Identity]) -> Member {
    let accepted =
        rbac(&[("cluster-admin", masters(), vec![group("system:masters")])]).accepted_by(name);
    let delivered = |accepted: Accepted| Delivered {
        uid: format!("delivered-{name}"),
        has_labels: true,
        managed: Some("true".to_owned()),
        accepted,
    };
    let work = |accepted: Accepted| Work {
        accepted,
        applied: Applied::Yes,
        written: LONG_AGO.parse().ok(),
    };
    Member {
        cluster: serde_json::from_value(json!({
            "metadata": {"name": name, "generation": 1},
            "spec": {
                "apiEndpoint": "https://172.20.0.3:6443", "id": format!("id-{name}"),
                "secretRef": {"namespace": "karmada-cluster", "name": name},
                "impersonatorSecretRef": {"namespace": "karmada-cluster", "name": format!("{name}-impersonator")},
            },
            "status": {"conditions": [
                {"type": "Ready", "status": "True", "reason": "ClusterReady", "lastTransitionTime": LONG_AGO},
            ]},
        }))
        .expect("a cluster"),
        unreadable: None,
        cluster_uid: Some(format!("uid-{name}")),
        secret: Part::Seen(ImpersonatorSecret {
            uid: format!("secret-{name}"),
            has_token: true,
            encoded: Some(Encoded("b2xk".to_owned())),
            has_data: true,
        }),
        role_work: Part::Seen(work(accepted.clone())),
        binding_work: Part::Seen(work(Accepted::default())),
        copy: Part::Seen(Copy {
            way: "through the proxy".to_owned(),
            role: Part::Seen(delivered(accepted)),
            binding: Part::Seen(delivered(Accepted::default())),
        }),
        true_token: Part::Seen(SecretString::from("true-token")),
        answers: identities
            .iter()
            .filter(|identity| !matches!(identity.account, Account::Group { .. }))
            .map(|identity| {
                (
                    identity.account.subject().to_string(),
                    Answer::read(403, NOT_LET_THROUGH, 1),
                )
            })
            .collect(),
        rights: BTreeMap::new(),
        role_works: Part::Absent,
        member_role: Part::Absent,
    }
}

fn masters() -> Value {
    json!({"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]})
}

/// The rule of `clusters/proxy` with a verb.
pub(crate) fn proxy(verb: &str, names: &[&str]) -> Value {
    json!({"apiGroups": ["cluster.karmada.io"], "resources": ["clusters/proxy"], "resourceNames": names, "verbs": [verb]})
}

/// One role and binding of the same name per entry, all made long ago.
pub(crate) fn rbac(entries: &[(&str, Value, Vec<Account>)]) -> Rbac {
    let metadata = |name: &str| json!({"name": name, "uid": format!("uid-{name}"), "resourceVersion": "1", "managedFields": [{"time": LONG_AGO}]});
    let roles = entries.iter().map(|(name, rule, _)| {
        serde_json::from_value::<Role>(json!({"metadata": metadata(name), "rules": [rule]}))
            .expect("a role")
    });
    let bindings = entries.iter().map(|(name, _, accounts)| {
        let subjects: Vec<Value> = accounts.iter().map(Account::bound).collect();
        let reference = json!({"kind": "ClusterRole", "name": name});
        serde_json::from_value::<Binding>(
            json!({"metadata": metadata(name), "roleRef": reference, "subjects": subjects}),
        )
        .expect("a binding")
    });
    Rbac::of(roles.collect(), bindings.collect())
}

/// The roles and bindings of the control plane, those of everybody's superusers included.
pub(crate) fn grants(observed: &mut Observed, entries: &[(&str, Value, Vec<Account>)]) {
    let mut all = vec![("cluster-admin", masters(), vec![group("system:masters")])];
    all.extend(entries.iter().cloned());
    observed.rbac = Part::Seen(rbac(&all));
}

/// As if Karmada had delivered to every member what the control plane's roles say, and the member answered so.
pub(crate) fn deliver(observed: &mut Observed, status: u16, message: &str) {
    let rbac = observed.rbac.seen().cloned().unwrap_or_default();
    for member in &mut observed.members {
        let accepted = rbac.accepted_by(&member.cluster.metadata.name);
        if let Part::Seen(work) = &mut member.role_work {
            work.accepted = accepted.clone();
        }
        if let Part::Seen(Copy {
            role: Part::Seen(role),
            ..
        }) = &mut member.copy
        {
            role.accepted = accepted;
        }
        for answer in member.answers.values_mut() {
            *answer = Answer::read(status, message, 7);
        }
    }
}

pub(crate) fn controller_manager() -> Part<Workload> {
    Part::Seen(Workload {
        object: serde_json::from_value(json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "resource": "deployments",
            "namespace": "karmada-system", "name": "karmada-controller-manager",
        }))
        .expect("a reference"),
        uid: "uid-manager".to_owned(),
    })
}
