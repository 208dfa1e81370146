//! The federation of these scenarios: everything on one network, members ready, and nobody granted anything but the
//! administrator.

use std::path::PathBuf;

use karmada_lab::{ClusterSpec, Endpoint, Lab, MemberSpec, Spec, User, Works};
use karmada_scenarios::plugin::Plugin;
use karmada_scenarios::said::Said;
use serde_json::{Value, json};

/// Two ready members.
pub(crate) fn open() -> Spec {
    of([kind("member1"), kind("member2")])
}

/// One ready member.
pub(crate) fn small() -> Spec {
    of([kind("member1")])
}

pub(crate) fn of(members: impl IntoIterator<Item = MemberSpec>) -> Spec {
    Spec {
        host: ClusterSpec {
            subnet: "172.19.0.0/16".to_owned(),
            ..ClusterSpec::kind("host")
        },
        works: Works::Awake,
        ..Spec::with_members(members)
    }
}

/// A member on the network of all kind clusters, joined at its address there.
pub(crate) fn kind(name: &str) -> MemberSpec {
    MemberSpec::kind(name).joined_at(Endpoint::Internal)
}

/// Waits until the member accepts the administrator: all is delivered.
#[track_caller]
pub(crate) fn settle(lab: &dyn Lab) {
    for member in &lab.spec().members {
        let name = member.name();
        assert!(lab.wait_ready(name, lab.patience()), "{name} is not ready");
        assert!(
            lab.wait_for(lab.patience(), || accepts(lab, name, "system:admin")),
            "{name} does not accept the administrator"
        );
    }
}

/// A kubeconfig of a user of the control plane.
pub(crate) fn kubeconfig(lab: &dyn Lab, name: &str, groups: &[&str]) -> PathBuf {
    lab.control_plane()
        .kubeconfig_for(User::new(name, groups))
        .unwrap()
}

/// What a user of the control plane gets from a member's `/api`.
pub(crate) fn asks(lab: &dyn Lab, name: &str, groups: &[&str], member: &str) -> Said {
    let who = match groups {
        [] | [_] => format!("--kubeconfig {}", kubeconfig(lab, name, groups).display()),
        // A certificate of the real backend names one group at most.
        several => {
            let groups: Vec<String> = several
                .iter()
                .map(|group| format!("--as-group '{group}'"))
                .collect();
            format!("--as '{name}' {}", groups.join(" "))
        }
    };
    Plugin::shell(
        lab,
        &format!(
            "kubectl {who} get --raw /apis/cluster.karmada.io/v1alpha1/clusters/{member}/proxy/api"
        ),
    )
    .run()
}

/// Whether the member's role accepts the name.
pub(crate) fn accepts(lab: &dyn Lab, member: &str, name: &str) -> bool {
    let role = lab.member(member).read(ROLE);
    role.is_ok_and(|role| role["rules"].to_string().contains(&format!("\"{name}\"")))
}

/// Takes the label `karmada.io/managed` off the member's role, and adds somebody by hand.
pub(crate) fn freeze(lab: &dyn Lab, member: &str, by_hand: &str) {
    let member = lab.member(member);
    let mut rules = member.read(ROLE).unwrap()["rules"].clone();
    for rule in rules.as_array_mut().unwrap() {
        if rule["resources"] == json!(["users"]) {
            rule["resourceNames"]
                .as_array_mut()
                .unwrap()
                .push(json!(by_hand));
        }
    }
    let patch = json!({"metadata": {"labels": {"karmada.io/managed": null}}, "rules": rules});
    member.patch(ROLE, &patch).unwrap();
}

/// The value of the label `karmada.io/managed` of the member's role.
pub(crate) fn label(lab: &dyn Lab, member: &str) -> Value {
    lab.member(member).read(ROLE).unwrap()["metadata"]["labels"]["karmada.io/managed"].clone()
}

/// Binds a subject to a ClusterRole on `clusters/proxy` of its own, as an administrator does by hand.
pub(crate) fn bind(lab: &dyn Lab, name: &str, verbs: &[&str], subjects: &[Value]) {
    let rule = json!({"apiGroups": ["cluster.karmada.io"], "resources": ["clusters/proxy"], "verbs": verbs});
    create(
        lab,
        "clusterroles",
        &json!({"metadata": {"name": name}, "rules": [rule]}),
    );
    let binding = json!({
        "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
        "subjects": subjects,
    });
    create(lab, "clusterrolebindings", &binding);
}

/// Creates an object of RBAC in the control plane.
pub(crate) fn create(lab: &dyn Lab, resource: &str, object: &Value) {
    lab.control_plane()
        .create(&format!("{RBAC}/{resource}"), object)
        .unwrap();
}

/// A user as a subject.
pub(crate) fn user(name: &str) -> Value {
    json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": name})
}

/// A busy machine takes its time.
pub(crate) const PATIENTLY: [&str; 2] = ["--timeout", "60s"];
pub(crate) const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";
pub(crate) const ROLE: &str =
    "/apis/rbac.authorization.k8s.io/v1/clusterroles/karmada-impersonator";
