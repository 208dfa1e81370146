//! Tables of what a daemon says, what is found and what is planned; a plan is played on the observation, and nothing is left.

mod fixture;

use karmada_repair::docker::model::{Attachment, ContainerState, Labels};
use karmada_repair::docker::network_draft::NetworkDraft;
use karmada_repair::docker::routes::{Link, Routes};
use karmada_repair::finding::Severity;
use karmada_repair::part::Part;

use crate::config::{Config, Task};
use crate::diagnose;
use crate::observed::Observed;
use fixture::{
    config, container, ip, look_inside, mesh, network, observed, on_mesh, planned, played,
    sentences, stranger, with_mesh,
};

fn codes(observed: &Observed, config: &Config) -> Vec<String> {
    let mut codes: Vec<String> = diagnose::diagnose(observed, config)
        .into_iter()
        .filter(|finding| finding.severity > Severity::Info)
        .map(|finding| format!("{} {}", finding.key.subject.name, finding.key.code))
        .collect();
    codes.sort();
    codes
}

/// What is found, what is planned, and that nothing is found when the plan was carried out.
#[track_caller]
fn check(observed: &Observed, config: &Config, found: &[&str], steps: &[&str]) {
    assert_eq!(codes(observed, config), found);
    let plan = planned(observed, config);
    assert_eq!(sentences(&plan), steps);
    let after = played(observed, &plan);
    assert_eq!(codes(&after, config), Vec::<String>::new());
    let second = planned(&after, config);
    assert_eq!(sentences(&second), Vec::<String>::new());
}

const A: &str = "k3d-cluster-a-server-0";
const HOST: &str = "k3d-karmada-host-server-0";

#[test]
fn makes_the_network_and_connects_all_nodes() {
    check(
        &observed(),
        &config(&[]),
        &[
            "k3d-cluster-a-server-0 not-on-mesh",
            "k3d-karmada-host-server-0 not-on-mesh",
            "karmada-mesh network-missing",
        ],
        &[
            "create network karmada-mesh: internal bridge 172.28.0.0/24 with gateway 172.28.0.1 and 172.28.0.128/25 for addresses that Docker chooses",
            "connect container k3d-karmada-host-server-0 to network karmada-mesh at 172.28.0.10 as mesh0",
            "connect container k3d-cluster-a-server-0 to network karmada-mesh at 172.28.0.11 as mesh0",
        ],
    );
}

#[test]
fn finds_nothing_wrong_with_pinned_nodes() {
    let observed = with_mesh(&[
        (HOST, on_mesh(Some("172.28.0.10"), Some("172.28.0.10"))),
        (A, on_mesh(Some("172.28.0.77"), Some("172.28.0.77"))),
    ]);
    check(&observed, &config(&[]), &[], &[]);
}

#[test]
fn pins_a_dynamic_address_in_two_moves() {
    let observed = with_mesh(&[
        (HOST, on_mesh(Some("172.28.0.10"), Some("172.28.0.10"))),
        (A, on_mesh(Some("172.28.0.129"), None)),
    ]);
    check(
        &observed,
        &config(&["cluster-a"]),
        &[
            "k3d-cluster-a-server-0 address-dynamic",
            "k3d-cluster-a-server-0 interface-unordered",
        ],
        &[
            "disconnect container k3d-cluster-a-server-0 from network karmada-mesh and connect it again at 172.28.0.11 as mesh0, not 172.28.0.129",
        ],
    );
}

#[test]
fn clears_a_broken_entry_at_a_free_address() {
    let observed = with_mesh(&[
        (HOST, on_mesh(Some("172.28.0.10"), Some("172.28.0.10"))),
        (A, on_mesh(None, Some("172.28.0.11"))),
    ]);
    check(
        &observed,
        &config(&["cluster-a"]),
        &["k3d-cluster-a-server-0 ghost-endpoint"],
        &[
            "disconnect container k3d-cluster-a-server-0 from network karmada-mesh and connect it again at 172.28.0.11 as mesh0",
        ],
    );
}

#[test]
fn stops_a_crash_loop_for_the_change() {
    let mut observed = with_mesh(&[(HOST, on_mesh(Some("172.28.0.10"), Some("172.28.0.10")))]);
    container(&mut observed, A).state = ContainerState::Restarting;
    observed.docker.routes.remove(A);
    check(
        &observed,
        &config(&["cluster-a"]),
        &[
            "k3d-cluster-a-server-0 crash-loop",
            "k3d-cluster-a-server-0 not-on-mesh",
        ],
        &[
            "stop container k3d-cluster-a-server-0, connect container k3d-cluster-a-server-0 to network karmada-mesh at 172.28.0.11 as mesh0, and start it",
        ],
    );
}

#[test]
fn moves_a_thief_out_of_the_way_and_starts_the_node() {
    let mut observed = with_mesh(&[(A, on_mesh(None, Some("172.28.0.11")))]);
    container(&mut observed, A).state = ContainerState::Exited;
    observed.docker.routes.remove(A);
    observed
        .docker
        .containers
        .push(stranger("thief", "172.28.0.11"));
    check(
        &observed,
        &config(&["cluster-a"]),
        &["k3d-cluster-a-server-0 pin-stolen"],
        &[
            "disconnect container thief from network karmada-mesh",
            "start container k3d-cluster-a-server-0",
            "connect container thief to network karmada-mesh at an address that Docker chooses",
        ],
    );
}

#[test]
fn nodes_that_exchange_addresses_leave_before_they_join() {
    let observed = with_mesh(&[
        (HOST, on_mesh(Some("172.28.0.10"), Some("172.28.0.10"))),
        (A, on_mesh(Some("172.28.0.11"), Some("172.28.0.11"))),
    ]);
    let config = config(&["karmada-host=172.28.0.11", "cluster-a=172.28.0.10"]);
    let plan = planned(&observed, &config);
    let off = |name: &str| format!("disconnect container {name} from network karmada-mesh");
    let steps = sentences(&plan);
    assert_eq!(steps[..2], [off(HOST), off(A)]);
    assert_eq!(steps.len(), 4);
    assert_eq!(
        codes(&played(&observed, &plan), &config),
        Vec::<String>::new()
    );
}

#[test]
fn replaces_a_network_whose_subnet_docker_chose_with_all_that_is_on_it() {
    let mut observed = observed();
    observed
        .docker
        .networks
        .push(network("karmada-mesh", "172.21.0.0/16", true));
    container(&mut observed, A)
        .attachments
        .insert("karmada-mesh".to_owned(), on_mesh(Some("172.21.0.2"), None));
    observed
        .docker
        .containers
        .push(stranger("neighbour", "172.21.0.3"));
    let draft = NetworkDraft {
        internal: false,
        ..NetworkDraft::internal_bridge(
            "karmada-mesh",
            "172.21.0.0/16".parse().expect("a literal subnet"),
            ip("172.21.0.1"),
            "172.21.0.0/16".parse().expect("a literal subnet"),
        )
    };
    observed
        .docker
        .drafts
        .insert("id-karmada-mesh".to_owned(), draft);
    look_inside(&mut observed);
    let config = config(&[]);
    let plan = planned(&observed, &config);
    let steps = sentences(&plan);
    assert!(
        steps[0].starts_with(
            "replace network karmada-mesh by one that is internal bridge 172.28.0.0/24"
        ),
        "{steps:?}"
    );
    assert!(
        steps[0].contains("k3d-cluster-a-server-0 at 172.28.0.11 as mesh0"),
        "{steps:?}"
    );
    assert!(
        steps[0].ends_with("neighbour at an address that Docker chooses"),
        "{steps:?}"
    );
    assert_eq!(
        codes(&played(&observed, &plan), &config),
        Vec::<String>::new()
    );
}

#[test]
fn plans_nothing_that_would_break() {
    type Change = fn(&mut Observed);
    let cases: [(&str, Change, &str); 8] = [
        (
            "host network",
            |observed| container(observed, A).network_mode = "host".to_owned(),
            "k3d-cluster-a-server-0 cannot-join",
        ),
        (
            "overlap",
            |observed| {
                let taken = network("other", "172.28.0.0/16", true);
                observed.docker.networks.push(taken);
            },
            "karmada-mesh subnet-overlap",
        ),
        (
            "two of one name",
            |observed| {
                let mut second = mesh();
                second.id = "second".to_owned();
                observed.docker.networks.extend([mesh(), second]);
            },
            "karmada-mesh network-ambiguous",
        ),
        (
            "another driver",
            |observed| {
                let mut overlay = mesh();
                overlay.driver = "overlay".to_owned();
                observed.docker.networks.push(overlay);
            },
            "karmada-mesh network-not-bridge",
        ),
        (
            "podman",
            |observed| observed.docker.is_podman = true,
            "daemon podman-daemon",
        ),
        (
            "kind on Docker 28",
            |observed| {
                let node = container(observed, A);
                node.labels = Labels::of([
                    ("io.x-k8s.kind.cluster", "cluster-a"),
                    ("io.x-k8s.kind.role", "control-plane"),
                ]);
            },
            "k3d-cluster-a-server-0 kind-would-move",
        ),
        (
            "a pin that another one has",
            |observed| {
                observed.docker.networks.push(mesh());
                let mut other = stranger("other", "172.28.0.20");
                other.attachments.insert(
                    "karmada-mesh".to_owned(),
                    on_mesh(Some("172.28.0.20"), Some("172.28.0.20")),
                );
                observed.docker.containers.push(other);
            },
            "k3d-cluster-a-server-0 pin-shared",
        ),
        (
            "the default route before Docker 28",
            |observed| {
                observed.docker.orders_interfaces = false;
                let mut open = mesh();
                open.name = "aaa".to_owned();
                open.internal = false;
                observed.docker.networks.push(open);
            },
            "k3d-cluster-a-server-0 default-route-at-risk",
        ),
    ];
    for (what, change, expected) in cases {
        let mut observed = observed();
        change(&mut observed);
        let mut config = config(&["cluster-a=172.28.0.20"]);
        if what.starts_with("the default route") {
            config.network = "aaa".to_owned();
        }
        let found = codes(&observed, &config);
        assert!(
            found.iter().any(|code| code == expected),
            "{what}: {found:?}"
        );
        assert_eq!(
            sentences(&planned(&observed, &config)),
            Vec::<String>::new(),
            "{what}"
        );
    }
}

#[test]
fn an_eth0_that_moved_is_put_back_by_a_restart() {
    let mut observed = with_mesh(&[
        (HOST, on_mesh(Some("172.28.0.10"), Some("172.28.0.10"))),
        (
            A,
            Attachment {
                interface: None,
                gateway_priority: 0,
                ..on_mesh(Some("172.28.0.11"), Some("172.28.0.11"))
            },
        ),
    ]);
    let link = |interface: &str, subnet: &str| Link {
        interface: interface.to_owned(),
        subnet: subnet.parse().expect("a literal subnet"),
    };
    observed.docker.routes.insert(
        A.to_owned(),
        Part::Seen(Routes {
            default_interface: Some("eth1".to_owned()),
            links: vec![link("eth0", "172.28.0.0/24"), link("eth1", "172.20.0.0/16")],
        }),
    );
    check(
        &observed,
        &config(&["cluster-a"]),
        &[
            "k3d-cluster-a-server-0 home-interface-elsewhere",
            "k3d-cluster-a-server-0 interface-unordered",
        ],
        &[
            "disconnect container k3d-cluster-a-server-0 from network karmada-mesh and connect it again at 172.28.0.11 as mesh0",
            "restart container k3d-cluster-a-server-0",
        ],
    );
}

/// Another network may have taken it before.
#[test]
fn an_eth0_that_moved_is_seen_before_the_node_is_on_the_mesh() {
    let mut observed = with_mesh(&[(HOST, on_mesh(Some("172.28.0.10"), Some("172.28.0.10")))]);
    observed.docker.routes.insert(
        A.to_owned(),
        Part::Seen(Routes {
            default_interface: Some("eth1".to_owned()),
            links: vec![Link {
                interface: "eth1".to_owned(),
                subnet: "172.20.0.0/16".parse().expect("a literal subnet"),
            }],
        }),
    );
    check(
        &observed,
        &config(&["cluster-a"]),
        &[
            "k3d-cluster-a-server-0 home-interface-elsewhere",
            "k3d-cluster-a-server-0 not-on-mesh",
        ],
        &[
            "connect container k3d-cluster-a-server-0 to network karmada-mesh at 172.28.0.11 as mesh0",
            "restart container k3d-cluster-a-server-0",
        ],
    );
}

#[test]
fn what_cannot_be_read_is_unknown() {
    let mut observed = with_mesh(&[(HOST, on_mesh(Some("172.28.0.10"), Some("172.28.0.10")))]);
    observed
        .docker
        .routes
        .insert(HOST.to_owned(), Part::Unreadable("no cat".to_owned()));
    let config = config(&["karmada-host"]);
    assert_eq!(
        codes(&observed, &config),
        ["k3d-karmada-host-server-0 routes-unreadable"]
    );
}

#[test]
fn a_release_takes_all_off_and_the_network_away() {
    let mut observed = with_mesh(&[
        (HOST, on_mesh(Some("172.28.0.10"), Some("172.28.0.10"))),
        (A, on_mesh(Some("172.28.0.11"), Some("172.28.0.11"))),
    ]);
    let draft = NetworkDraft::internal_bridge(
        "karmada-mesh",
        "172.28.0.0/24".parse().expect("a literal subnet"),
        ip("172.28.0.1"),
        "172.28.0.128/25".parse().expect("a literal subnet"),
    );
    observed
        .docker
        .drafts
        .insert("id-karmada-mesh".to_owned(), draft);
    let mut config = config(&[]);
    config.task = Task::Release;
    let plan = planned(&observed, &config);
    assert_eq!(
        sentences(&plan),
        [
            "disconnect container k3d-cluster-a-server-0 from network karmada-mesh",
            "disconnect container k3d-karmada-host-server-0 from network karmada-mesh",
            "remove network karmada-mesh",
        ]
    );
    assert_eq!(
        codes(&played(&observed, &plan), &config),
        Vec::<String>::new()
    );
    observed
        .docker
        .containers
        .push(stranger("neighbour", "172.28.0.129"));
    assert_eq!(planned(&observed, &config).steps.len(), 2);
}

#[test]
fn words_name_clusters_first_and_nothing_else() {
    let observed = observed();
    let cases = [
        ("nothing", "there is no cluster and no container"),
        ("clustr-a", "there is no cluster"),
    ];
    for (word, expected) in cases {
        let error = crate::scope::nodes(&observed, &config(&[word])).expect_err(word);
        assert!(error.to_string().contains(expected), "{error}");
    }
    for word in ["cluster-a", "k3d-cluster-a", A] {
        let config = config(&[word]);
        let nodes = crate::scope::nodes(&observed, &config).expect(word);
        let selected: Vec<&str> = nodes
            .iter()
            .filter(|node| node.selected)
            .map(|node| node.container.name.as_str())
            .collect();
        assert_eq!(selected, [A], "{word}");
    }
}
