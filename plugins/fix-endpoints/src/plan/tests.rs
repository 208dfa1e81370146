use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use karmada_repair::cluster::object::ObjectReference;
use karmada_repair::finding::Severity;
use karmada_repair::part::Part;
use karmada_repair::plan::Action;

use crate::config::{Config, DeliveryCheck};
use crate::diagnose::diagnose;
use crate::endpoint::Endpoint;
use crate::fixture::*;
use crate::host::{Component, EstimatorSecret, Host, Workload};
use crate::observed::{Observed, SecretKubeconfig};
use crate::proxy_answer::ProxyAnswer;
use crate::secret_kubeconfig;
use crate::vantage::{Reach, Tried};

/// The sentences of the plan for a federation; carrying it out leaves no fault.
#[track_caller]
fn check(observed: &Observed, config: &Config, expected: &[&str]) {
    let plan = planned(observed, config);
    let note = ", annotate karmada-repair/delivery-unproven=2026-11-30T12:00:00Z";
    let said: Vec<String> = sentences(&plan)
        .iter()
        .map(|sentence| sentence.replace(note, " and note it unproven"))
        .collect();
    assert_eq!(said, expected);
    let after = carried_out(observed, &plan);
    let left: Vec<String> = diagnose(&after, config, now())
        .into_iter()
        .filter(|finding| finding.severity > Severity::Info)
        .map(|finding| format!("{} {}", finding.key.code, finding.message))
        .collect();
    assert_eq!(left, Vec::<String>::new());
    assert!(
        planned(&after, config).is_empty(),
        "a second run finds nothing to do"
    );
}

#[test]
fn joins_the_members_networks_and_dials_their_addresses() {
    check(
        &field_report(),
        &Config::default(),
        &[
            "connect container k3d-karmada-host-server-0 to network k3d-cluster-a at 172.20.255.254 if Docker allows it",
            "patch cluster/cluster-a: set spec.apiEndpoint to https://172.20.0.3:6443 and note it unproven",
            "connect container k3d-karmada-host-server-0 to network k3d-cluster-b at 172.21.255.254 if Docker allows it",
            "patch cluster/cluster-b: set spec.apiEndpoint to https://172.21.0.3:6443 and note it unproven",
        ],
    );
}

#[test]
fn plans_nothing_for_a_healthy_federation() {
    let observed = field_report();
    let healthy = carried_out(&observed, &planned(&observed, &Config::default()));
    check(&healthy, &Config::default(), &[]);
}

#[test]
fn every_node_of_the_control_plane_joins() {
    let mut observed = field_report();
    observed.members.truncate(1);
    let mut agent = container(
        "k3d-karmada-host-agent-0",
        &[
            ("k3d.cluster", "karmada-host"),
            ("k3d.role", "agent"),
            ("k3d.cluster.network", "k3d-karmada-host"),
        ],
    );
    attach(&mut agent, "k3d-karmada-host", Some("172.19.0.4"));
    docker(&mut observed).containers.push(agent);
    check(
        &observed,
        &Config::default(),
        &[
            "connect container k3d-karmada-host-server-0 to network k3d-cluster-a at 172.20.255.254 if Docker allows it",
            "connect container k3d-karmada-host-agent-0 to network k3d-cluster-a at 172.20.255.253 if Docker allows it",
            "patch cluster/cluster-a: set spec.apiEndpoint to https://172.20.0.3:6443 and note it unproven",
        ],
    );
}

#[test]
fn a_load_balancer_stands_for_its_clusters_nodes() {
    let mut observed = field_report();
    observed.members.truncate(1);
    found(&mut observed, HOST).ports.clear();
    let mut balancer = container(
        "k3d-karmada-host-serverlb",
        &[
            ("k3d.cluster", "karmada-host"),
            ("k3d.role", "loadbalancer"),
            ("k3d.cluster.network", "k3d-karmada-host"),
        ],
    );
    publish(&mut balancer, 5443, 30443);
    attach(&mut balancer, "k3d-karmada-host", Some("172.19.0.2"));
    docker(&mut observed).containers.push(balancer);
    check(
        &observed,
        &Config::default(),
        &[
            "connect container k3d-karmada-host-server-0 to network k3d-cluster-a at 172.20.255.254 if Docker allows it",
            "patch cluster/cluster-a: set spec.apiEndpoint to https://172.20.0.3:6443 and note it unproven",
        ],
    );
}

#[test]
fn a_network_of_the_users_own_gives_a_fixed_address_for_certain() {
    let mut observed = field_report();
    observed.members.truncate(1);
    let server = found(&mut observed, "k3d-cluster-a-server-0");
    if let Some(attachment) = server.attachments.get_mut("k3d-cluster-a") {
        attachment.pinned = Some(address("172.20.0.3"));
    }
    let plan = planned(&observed, &Config::default());
    let Action::ConnectNetwork(attachment) = &plan.steps[0].action else {
        panic!("the first step connects");
    };
    assert_eq!(attachment.address, Some(Ipv4Addr::new(172, 20, 255, 254)));
    assert!(!attachment.address_may_yield);
    assert_eq!(attachment.gateway_priority, -100);
    assert!(attachment.interface.starts_with("km") && attachment.interface.len() <= 15);
}

#[test]
fn a_network_that_sorts_before_home_is_a_caution() {
    let plan = planned(&field_report(), &Config::default());
    let caution = plan.steps[0].caution.as_deref().unwrap_or_default();
    assert!(caution.contains("moves the default route"), "{caution}");
}

#[test]
fn members_on_a_shared_network_need_no_joining() {
    let mut observed = field_report();
    observed.members.truncate(1);
    let kind = |name: &str, cluster: &str, held: &str| {
        let mut node = container(
            name,
            &[
                ("io.x-k8s.kind.cluster", cluster),
                ("io.x-k8s.kind.role", "control-plane"),
            ],
        );
        attach(&mut node, "kind", Some(held));
        node
    };
    let mut host = kind("karmada-host-control-plane", "karmada-host", "172.18.0.2");
    publish(&mut host, 5443, 5443);
    let mut a = kind("cluster-a-control-plane", "cluster-a", "172.18.0.3");
    publish(&mut a, 6551, 6443);
    let docker = docker(&mut observed);
    docker.containers = vec![host, a];
    docker.networks = vec![network("kind", "172.18.0.0/16")];
    let (certificate, authority) = served(&["cluster-a-control-plane", "172.18.0.3", "127.0.0.1"]);
    serve(&mut observed.members[0], certificate);
    if let Part::Seen(secret) = &mut observed.members[0].secret {
        secret.ca_bundle = Some(authority);
    }
    observed.members[0].cluster.spec.api_endpoint = Some("https://127.0.0.1:6551".to_owned());
    check(
        &observed,
        &Config::default(),
        &[
            "patch cluster/cluster-a: set spec.apiEndpoint to https://172.18.0.3:6443 and note it unproven",
        ],
    );
}

#[test]
fn an_address_in_the_certificate_is_chosen_over_one_that_is_shared() {
    let mut observed = field_report();
    observed.members.truncate(1);
    attach(
        found(&mut observed, "k3d-cluster-a-server-0"),
        "mesh",
        Some("172.28.0.11"),
    );
    attach(found(&mut observed, HOST), "mesh", Some("172.28.0.10"));
    docker(&mut observed)
        .networks
        .push(network("mesh", "172.28.0.0/24"));
    check(
        &observed,
        &Config::default(),
        &[
            "connect container k3d-karmada-host-server-0 to network k3d-cluster-a at 172.20.255.254 if Docker allows it",
            "patch cluster/cluster-a: set spec.apiEndpoint to https://172.20.0.3:6443 and note it unproven",
        ],
    );
}

#[test]
fn a_shared_address_in_the_certificate_needs_no_joining() {
    let mut observed = field_report();
    observed.members.truncate(1);
    attach(
        found(&mut observed, "k3d-cluster-a-server-0"),
        "mesh",
        Some("172.28.0.11"),
    );
    attach(found(&mut observed, HOST), "mesh", Some("172.28.0.10"));
    docker(&mut observed)
        .networks
        .push(network("mesh", "172.28.0.0/24"));
    let (certificate, authority) = served(&["172.20.0.3", "172.28.0.11"]);
    serve(&mut observed.members[0], certificate);
    if let Part::Seen(secret) = &mut observed.members[0].secret {
        secret.ca_bundle = Some(authority);
    }
    check(
        &observed,
        &Config::default(),
        &[
            "patch cluster/cluster-a: set spec.apiEndpoint to https://172.28.0.11:6443 and note it unproven",
        ],
    );
}

#[test]
fn an_endpoint_given_by_hand_is_written_as_given() {
    let mut observed = field_report();
    observed.docker = Part::Unreadable("no daemon".to_owned());
    observed.members.truncate(1);
    let config = Config {
        endpoints: [(
            "cluster-a".to_owned(),
            Endpoint::given("https://192.168.1.20:6443").expect("a URL"),
        )]
        .into(),
        ..Config::default()
    };
    check(
        &observed,
        &config,
        &[
            "patch cluster/cluster-a: set spec.apiEndpoint to https://192.168.1.20:6443 and note it unproven",
        ],
    );
}

#[test]
fn an_empty_kubeconfig_key_is_removed_and_a_stale_one_rewritten() {
    use base64::Engine;
    let mut observed = field_report();
    let text =
        "clusters:\n- cluster: {server: 'https://0.0.0.0:6551'}\n  name: k3d-cluster-a\n# kept\n";
    let encoded = base64::engine::general_purpose::STANDARD.encode(text);
    if let Part::Seen(secret) = &mut observed.members[0].secret {
        secret.kubeconfig = secret_kubeconfig::read(Some(&encoded));
    }
    if let Part::Seen(secret) = &mut observed.members[1].secret {
        secret.kubeconfig = SecretKubeconfig::Empty;
    }
    let plan = planned(&observed, &Config::default());
    let sentences = sentences(&plan);
    assert_eq!(
        sentences[2],
        "patch secret/karmada-cluster/cluster-a: set data.kubeconfig to ***"
    );
    assert_eq!(
        sentences[5],
        "patch secret/karmada-cluster/cluster-b: remove data.kubeconfig"
    );
    let shown = format!("{:?} {}", sentences, plan.steps[2].command);
    assert!(!shown.contains(&encoded), "the secret's value is not shown");
    let Action::PatchObject { patch, .. } = &plan.steps[2].action else {
        panic!("the step patches");
    };
    let written = serde_json::to_value(patch).expect("a patch serialises");
    let written = written[1]["value"].as_str().expect("the value is text");
    assert_eq!(
        secret_kubeconfig::decoded(written).as_deref(),
        Some(
            "clusters:\n- cluster: {server: 'https://172.20.0.3:6443'}\n  name: k3d-cluster-a\n# kept\n"
        )
    );
}

fn host() -> Host {
    let workload = |name: &str, component| Workload {
        object: ObjectReference {
            api_version: "apps/v1".to_owned(),
            kind: "Deployment".to_owned(),
            resource: "deployments".to_owned(),
            namespace: Some("karmada-system".to_owned()),
            name: name.to_owned(),
        },
        uid: "1".to_owned(),
        component,
    };
    Host {
        namespace: "karmada-system".to_owned(),
        workloads: vec![
            workload("karmada-controller-manager", Component::ControllerManager),
            workload(
                "karmada-scheduler-estimator-cluster-a",
                Component::Estimator("cluster-a".to_owned()),
            ),
            workload("karmada-search", Component::Search),
        ],
        estimators: BTreeMap::new(),
    }
}

fn proven(observed: &Observed, config: &Config) -> Vec<String> {
    planned(observed, config)
        .proofs
        .iter()
        .map(|proof| proof.subject.to_string())
        .collect()
}

#[test]
fn what_keeps_old_connections_is_restarted_once_after_all_members() {
    let mut observed = field_report();
    observed.host = Part::Seen(host());
    let plan = sentences(&planned(&observed, &Config::default()));
    assert_eq!(
        plan[4..],
        [
            "restart deployment/karmada-system/karmada-controller-manager and wait for its roll-out",
            "restart deployment/karmada-system/karmada-search and wait for its roll-out",
        ]
    );
    let healthy = carried_out(&observed, &planned(&observed, &Config::default()));
    assert!(planned(&healthy, &Config::default()).is_empty());
}

#[test]
fn the_estimators_kubeconfig_follows_the_member_and_its_deployment_restarts() {
    use base64::Engine;
    let mut observed = field_report();
    observed.members.truncate(1);
    let mut host = host();
    let text = "clusters:\n- cluster: {server: 'https://0.0.0.0:6551'}\n  name: a\n";
    host.estimators.insert(
        "cluster-a".to_owned(),
        EstimatorSecret {
            object: ObjectReference::secret("karmada-system", "cluster-a-kubeconfig"),
            key: "cluster-a-kubeconfig".to_owned(),
            kubeconfig: secret_kubeconfig::read(Some(
                &base64::engine::general_purpose::STANDARD.encode(text),
            )),
        },
    );
    observed.host = Part::Seen(host);
    let plan = sentences(&planned(&observed, &Config::default()));
    assert_eq!(
        plan[2..],
        [
            "patch secret/karmada-system/cluster-a-kubeconfig: set data.cluster-a-kubeconfig to ***",
            "restart deployment/karmada-system/karmada-scheduler-estimator-cluster-a and wait for its roll-out",
            "restart deployment/karmada-system/karmada-controller-manager and wait for its roll-out",
            "restart deployment/karmada-system/karmada-search and wait for its roll-out",
        ]
    );
}

#[test]
fn the_estimators_ca_follows_a_rotation() {
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    let mut observed = field_report();
    observed.members.truncate(1);
    let observed_before = carried_out(&observed, &planned(&observed, &Config::default()));
    let mut observed = observed_before;
    make_ready(&mut observed.members[0]);
    let authority = observed.members[0]
        .secret
        .seen()
        .and_then(|secret| secret.ca_bundle.clone())
        .unwrap_or_default();
    let (_, old) = served(&["172.20.0.3"]);
    let kubeconfig = |authority: &str| {
        let text = format!(
            "clusters:\n- cluster: {{server: 'https://172.20.0.3:6443', certificate-authority-data: {}}} # kept\n  name: a\n",
            STANDARD.encode(authority)
        );
        STANDARD.encode(text)
    };
    let mut host = host();
    host.estimators.insert(
        "cluster-a".to_owned(),
        EstimatorSecret {
            object: ObjectReference::secret("karmada-system", "cluster-a-kubeconfig"),
            key: "cluster-a-kubeconfig".to_owned(),
            kubeconfig: secret_kubeconfig::read(Some(&kubeconfig(&old))),
        },
    );
    observed.host = Part::Seen(host);
    assert_eq!(
        codes(&observed, &Config::default()),
        ["warning estimator-stale cluster-a"]
    );
    let plan = planned(&observed, &Config::default());
    assert_eq!(
        sentences(&plan),
        [
            "patch secret/karmada-system/cluster-a-kubeconfig: set data.cluster-a-kubeconfig to ***",
            "restart deployment/karmada-system/karmada-scheduler-estimator-cluster-a and wait for its roll-out",
        ]
    );
    let Action::PatchObject { patch, .. } = &plan.steps[0].action else {
        panic!("the first step patches the secret: {plan:?}");
    };
    let written = serde_json::json!(patch)[1]["value"].clone();
    assert_eq!(written, kubeconfig(&authority));
}

#[test]
fn delivery_is_proven_for_what_moved_and_for_what_was_never_proven() {
    let mut observed = field_report();
    assert_eq!(
        proven(&observed, &Config::default()),
        ["cluster/cluster-a", "cluster/cluster-b"]
    );
    let never = Config {
        delivery: DeliveryCheck::Never,
        ..Config::default()
    };
    assert!(proven(&observed, &never).is_empty());
    observed = carried_out(&observed, &planned(&observed, &Config::default()));
    assert!(proven(&observed, &Config::default()).is_empty());
    let always = Config {
        delivery: DeliveryCheck::Always,
        ..Config::default()
    };
    assert_eq!(
        proven(&observed, &always),
        ["cluster/cluster-a", "cluster/cluster-b"]
    );
    let note = (
        "karmada-repair/delivery-unproven".to_owned(),
        "2026-11-30T11:00:00Z".to_owned(),
    );
    observed.members[1]
        .cluster
        .metadata
        .annotations
        .extend([note]);
    assert!(planned(&observed, &Config::default()).is_empty());
    assert_eq!(
        codes(&observed, &Config::default()),
        ["error delivery-unproven cluster-b"]
    );
    assert_eq!(
        codes(&observed, &never),
        ["info delivery-unproven cluster-b"]
    );
    observed.host = Part::Seen(host());
    assert_eq!(proven(&observed, &Config::default()), ["cluster/cluster-b"]);
    assert_eq!(
        sentences(&planned(&observed, &Config::default()))[0],
        "restart deployment/karmada-system/karmada-controller-manager and wait for its roll-out"
    );
}

#[test]
fn a_member_that_could_not_be_proven_is_not_written_to() {
    let mut observed = field_report();
    observed.members.truncate(1);
    observed.members[0].secret = Part::Absent;
    assert!(planned(&observed, &Config::default()).is_empty());
}

#[test]
fn an_address_that_was_tried_where_the_control_plane_dials_is_planned_only_if_it_answers() {
    let mut observed = field_report();
    observed.members.truncate(1);
    attach(
        found(&mut observed, HOST),
        "k3d-cluster-a",
        Some("172.20.0.4"),
    );
    let mut tried = |reach| {
        let from = HOST.to_owned();
        observed.members[0]
            .tried
            .insert("https://172.20.0.3:6443".to_owned(), Tried { from, reach });
        let plan = planned(&observed, &Config::default());
        let reason = plan.steps.first().map(|step| step.reason.clone());
        (
            reason.unwrap_or_default(),
            codes(&observed, &Config::default()),
        )
    };
    let (reason, _) = tried(Reach::Open);
    assert!(
        reason.ends_with("; it answers from inside k3d-karmada-host-server-0"),
        "{reason}"
    );
    for reach in [Reach::NoTool, Reach::Untried("paused".to_owned())] {
        let (reason, _) = tried(reach);
        assert!(reason.ends_with("on the network k3d-cluster-a"), "{reason}");
    }
    for reach in [Reach::Refused, Reach::NoAnswer] {
        assert_eq!(
            tried(reach),
            (
                String::new(),
                vec![
                    "error endpoint-own-host cluster-a".to_owned(),
                    "error address-not-answering cluster-a".to_owned()
                ]
            )
        );
    }
}

#[test]
fn a_member_that_an_interrupted_run_moved_is_waited_for_and_proven() {
    let mut observed = field_report();
    observed.members.truncate(1);
    observed.host = Part::Seen(host());
    observed = carried_out(&observed, &planned(&observed, &Config::default()));
    let member = &mut observed.members[0];
    member.cluster.status.conditions = vec![condition("False", "ClusterNotReachable")];
    member.proxy = Some(ProxyAnswer::Ready);
    let note = (
        "karmada-repair/delivery-unproven".to_owned(),
        "2026-11-30T11:59:59Z".to_owned(),
    );
    member.cluster.metadata.annotations.extend([note]);
    let plan = planned(&observed, &Config::default());
    assert_eq!(
        sentences(&plan)[0],
        "restart deployment/karmada-system/karmada-controller-manager and wait for its roll-out"
    );
    assert_eq!(plan.proofs[0].awaits[0].code, "not-ready");
}

fn by_name() -> Config {
    Config {
        by_name: true,
        ..Config::default()
    }
}

#[test]
fn names_are_taken_where_they_are_asked_for() {
    let mut observed = field_report();
    observed.members.truncate(1);
    check(
        &observed,
        &by_name(),
        &[
            "connect container k3d-karmada-host-server-0 to network k3d-cluster-a at 172.20.255.254 if Docker allows it",
            "patch cluster/cluster-a: set spec.apiEndpoint to https://k3d-cluster-a-server-0:6443 and note it unproven",
        ],
    );
    let plan = planned(&observed, &by_name());
    let caution = plan.steps[1].caution.clone().unwrap_or_default();
    assert!(caution.contains("pods ask a DNS of their own"), "{caution}");
}

#[test]
fn an_address_that_works_gives_way_to_a_name_that_is_asked_for() {
    let mut observed = field_report();
    observed.members.truncate(1);
    let observed = carried_out(&observed, &planned(&observed, &Config::default()));
    check(
        &observed,
        &by_name(),
        &[
            "patch cluster/cluster-a: set spec.apiEndpoint to https://k3d-cluster-a-server-0:6443 and note it unproven",
        ],
    );
}

#[test]
fn a_name_that_cannot_be_used_gives_way_to_an_address() {
    let unknown = |observed: &mut Observed| {
        let tried = Tried {
            from: HOST.to_owned(),
            reach: Reach::NotFound,
        };
        let name = "https://k3d-cluster-a-server-0:6443".to_owned();
        observed.members[0].tried.insert(name, tried);
    };
    let uncertified = |observed: &mut Observed| {
        let (certificate, authority) = served(&["172.20.0.3"]);
        serve(&mut observed.members[0], certificate);
        if let Part::Seen(secret) = &mut observed.members[0].secret {
            secret.ca_bundle = Some(authority);
        }
    };
    let nameless = |observed: &mut Observed| {
        found(observed, "k3d-cluster-a-server-0").name = "a name".to_owned();
        let served = observed.members[0].served.remove("k3d-cluster-a-server-0");
        if let Some(served) = served {
            observed.members[0]
                .served
                .insert("a name".to_owned(), served);
        }
    };
    type Change<'a> = &'a dyn Fn(&mut Observed);
    let cases: [(Change<'_>, &str); 3] = [
        (&unknown, "is not known, or refuses connections"),
        (&uncertified, "does not name k3d-cluster-a-server-0"),
        (&nameless, "no name that can be dialled"),
    ];
    for (change, why) in cases {
        let mut observed = field_report();
        observed.members.truncate(1);
        change(&mut observed);
        let plan = sentences(&planned(&observed, &by_name()));
        assert!(
            plan[1].contains("https://172.20.0.3:6443"),
            "{why}: {plan:?}"
        );
        let findings = diagnose(&observed, &by_name(), now());
        let said = findings
            .iter()
            .find(|finding| finding.key.code == "name-not-usable");
        assert!(
            said.is_some_and(|finding| finding.message.contains(why)),
            "{why}: {findings:?}"
        );
    }
}

/// A member behind a proxy that the control plane does not reach, and what came of dialling it directly.
fn behind_a_proxy(proxy: &str, directly: Option<Reach>) -> Observed {
    let mut observed = field_report();
    observed.members.truncate(1);
    let member = &mut observed.members[0];
    member.cluster.spec.api_endpoint = Some("https://172.20.0.3:6443".to_owned());
    member.cluster.spec.proxy_url = Some(proxy.to_owned());
    member.proxy = Some(ProxyAnswer::read(
        503,
        "error trying to reach service: proxyconnect tcp: dial tcp 10.0.0.9:3128: connect: connection refused",
    ));
    if let Some(reach) = directly {
        let from = HOST.to_owned();
        member
            .tried
            .insert("https://172.20.0.3:6443".to_owned(), Tried { from, reach });
    }
    attach(
        found(&mut observed, HOST),
        "k3d-cluster-a",
        Some("172.20.0.4"),
    );
    observed
}

#[test]
fn a_proxy_is_removed_where_the_endpoint_answers_without_it() {
    let observed = behind_a_proxy("http://10.0.0.9:3128", Some(Reach::Open));
    check(
        &observed,
        &Config::default(),
        &["patch cluster/cluster-a: remove spec.proxyURL and note it unproven"],
    );
}

#[test]
fn a_proxy_is_left_alone_unless_it_is_shown_to_be_in_the_way() {
    let cases = [
        behind_a_proxy("http://10.0.0.9:3128", None),
        behind_a_proxy("http://10.0.0.9:3128", Some(Reach::NoAnswer)),
        behind_a_proxy("http://me:secret@10.0.0.9:3128", Some(Reach::Open)),
    ];
    for observed in cases {
        assert!(planned(&observed, &Config::default()).is_empty());
        let findings = diagnose(&observed, &Config::default(), now());
        assert_eq!(findings[0].key.code, "proxy-url-failing", "{findings:?}");
        let said = format!("{findings:?}");
        assert!(!said.contains("secret@"), "{said}");
    }
    let mut reached = behind_a_proxy("http://10.0.0.9:3128", Some(Reach::Open));
    make_ready(&mut reached.members[0]);
    reached.members[0].proxy = None;
    assert_eq!(codes(&reached, &Config::default()), Vec::<String>::new());
}
