use karmada_repair::docker::model::ContainerState;
use karmada_repair::karmada::SyncMode;
use karmada_repair::part::Part;

use crate::config::Config;
use crate::endpoint::Endpoint;
use crate::fixture::*;
use crate::observed::{Observed, SecretKubeconfig};
use crate::proxy_answer::{Failure, ProxyAnswer};

/// The findings about cluster-a after a change to the field report's federation.
#[track_caller]
fn check(change: impl FnOnce(&mut Observed), expected: &[&str]) {
    let mut observed = field_report();
    observed.members.truncate(1);
    change(&mut observed);
    let found: Vec<String> = codes(&observed, &Config::default())
        .iter()
        .map(|code| code.trim_end_matches(" cluster-a").to_owned())
        .collect();
    assert_eq!(found, expected);
}

fn set_endpoint(observed: &mut Observed, endpoint: &str) {
    observed.members[0].cluster.spec.api_endpoint = Some(endpoint.to_owned());
}

fn repaired(observed: &mut Observed) {
    set_endpoint(observed, "https://172.20.0.3:6443");
    make_ready(&mut observed.members[0]);
    attach(found(observed, HOST), "k3d-cluster-a", Some("172.20.0.4"));
}

#[test]
fn the_address_that_k3d_writes_leads_the_control_plane_to_itself() {
    check(|_| {}, &["error endpoint-own-host"]);
}

#[test]
fn a_repaired_member_is_healthy() {
    check(repaired, &[]);
}

#[test]
fn address_faults_are_told_apart() {
    check(
        |observed| set_endpoint(observed, "https://172.20.0.9:6443"),
        &["error endpoint-stale"],
    );
    check(
        |observed| set_endpoint(observed, "https://172.20.0.3:6551"),
        &["error endpoint-wrong-port"],
    );
    check(
        |observed| set_endpoint(observed, "https://172.20.0.3:6443"),
        &["error network-not-shared"],
    );
    check(
        |observed| set_endpoint(observed, "172.20.0.3:6443"),
        &["error endpoint-malformed"],
    );
    check(
        |observed| observed.members[0].cluster.spec.api_endpoint = None,
        &["error endpoint-missing"],
    );
    check(
        |observed| {
            repaired(observed);
            set_endpoint(observed, "https://172.20.0.3:6443/");
        },
        &["warning endpoint-final-slash"],
    );
}

#[test]
fn an_address_that_the_certificate_does_not_name_is_a_fault_of_its_own() {
    check(
        |observed| {
            attach(
                found(observed, "k3d-cluster-a-server-0"),
                "mesh",
                Some("172.28.0.11"),
            );
            attach(found(observed, HOST), "mesh", Some("172.28.0.10"));
            docker(observed)
                .networks
                .push(network("mesh", "172.28.0.0/24"));
            set_endpoint(observed, "https://172.28.0.11:6443");
        },
        &["error endpoint-not-certified"],
    );
    check(
        |observed| serve(&mut observed.members[0], served(&["172.20.0.7"]).0),
        &["error endpoint-own-host", "error authority-mismatch"],
    );
    check(
        |observed| {
            let (certificate, authority) = served(&["172.20.0.7"]);
            serve(&mut observed.members[0], certificate);
            if let Part::Seen(secret) = &mut observed.members[0].secret {
                secret.ca_bundle = Some(authority);
            }
        },
        &[
            "error endpoint-own-host",
            "error certificate-names-no-address",
        ],
    );
}

#[test]
fn containers_that_do_not_run_are_errors() {
    for state in [
        ContainerState::Exited,
        ContainerState::Paused,
        ContainerState::Restarting,
    ] {
        check(
            |observed| found(observed, "k3d-cluster-a-server-0").state = state,
            &["error endpoint-own-host", "error container-not-running"],
        );
    }
}

#[test]
fn a_stopped_member_whose_address_was_right_is_one_fault() {
    check(
        |observed| {
            repaired(observed);
            observed.members[0].cluster.status.conditions =
                vec![condition("False", "ClusterNotReachable")];
            found(observed, "k3d-cluster-a-server-0").state = ContainerState::Exited;
        },
        &["error container-not-running"],
    );
}

#[test]
fn containers_without_a_network_are_errors() {
    for mode in ["host", "none"] {
        check(
            |observed| {
                let server = found(observed, "k3d-cluster-a-server-0");
                server.network_mode = mode.to_owned();
                server.attachments.clear();
            },
            &["error endpoint-own-host", "error container-without-network"],
        );
    }
}

#[test]
fn what_cannot_be_told_is_unknown() {
    check(
        |observed| observed.docker = Part::Unreadable("no daemon".to_owned()),
        &[
            "error endpoint-own-host",
            "unknown docker-unreadable daemon",
        ],
    );
    check(
        |observed| {
            docker(observed)
                .containers
                .retain(|container| container.name == HOST)
        },
        &["error endpoint-own-host", "unknown container-not-found"],
    );
    check(
        |observed| observed.control_plane.server = "https://karmada.example:5443".to_owned(),
        &["error endpoint-own-host", "unknown control-plane-not-found"],
    );
    check(
        |observed| {
            repaired(observed);
            observed.members[0].secret = Part::Unreadable("forbidden".to_owned());
        },
        &["unknown credentials-unreadable"],
    );
}

#[test]
fn two_containers_that_could_be_the_member_are_ambiguous() {
    check(
        |observed| {
            let twin = container(
                "cluster-a-control-plane",
                &[
                    ("io.x-k8s.kind.cluster", "cluster-a"),
                    ("io.x-k8s.kind.role", "control-plane"),
                ],
            );
            docker(observed).containers.push(twin);
            observed.members[0].served.clear();
            set_endpoint(observed, "https://172.20.0.9:6443");
        },
        &["error container-ambiguous", "error not-ready"],
    );
}

#[test]
fn a_ready_member_that_is_no_container_is_left_alone() {
    check(
        |observed| {
            set_endpoint(observed, "https://api.member.example:6443");
            make_ready(&mut observed.members[0]);
            observed.docker = Part::Unreadable("no daemon".to_owned());
        },
        &[],
    );
    check(
        |observed| {
            set_endpoint(observed, "https://192.168.1.20:6551");
            make_ready(&mut observed.members[0]);
        },
        &[],
    );
    check(
        |observed| {
            set_endpoint(observed, "https://host.docker.internal:6551");
            make_ready(&mut observed.members[0]);
        },
        &[],
    );
}

#[test]
fn a_member_that_moved_is_stale_although_it_is_reported_ready() {
    check(
        |observed| {
            repaired(observed);
            attach(
                found(observed, "k3d-cluster-a-server-0"),
                "k3d-cluster-a",
                Some("172.20.0.8"),
            );
        },
        &["error endpoint-stale", "error certificate-names-no-address"],
    );
}

#[test]
fn a_namesake_of_a_ready_member_is_not_taken_for_it() {
    check(
        |observed| {
            set_endpoint(observed, "https://172.20.0.77:6443");
            make_ready(&mut observed.members[0]);
            serve(&mut observed.members[0], served(&["172.20.0.3"]).0);
        },
        &[],
    );
}

#[test]
fn what_the_stored_authority_signed_wins_over_a_port_that_a_stranger_publishes() {
    let stranger = |observed: &mut Observed| {
        let mut stranger = container("stranger", &[]);
        publish(&mut stranger, 7001, 6443);
        attach(&mut stranger, "k3d-cluster-a", Some("172.20.0.9"));
        docker(observed).containers.push(stranger);
        set_endpoint(observed, "https://0.0.0.0:7001");
    };
    let wanted = |observed: &Observed| {
        super::diagnose(observed, &Config::default(), now())[0]
            .expected
            .clone()
    };
    let mut observed = field_report();
    observed.members.truncate(1);
    stranger(&mut observed);
    assert_eq!(
        wanted(&observed).as_deref(),
        Some("https://172.20.0.3:6443")
    );
    observed.members[0].served.clear();
    assert_eq!(wanted(&observed), None);
    assert_eq!(
        codes(&observed, &Config::default()),
        [
            "error endpoint-own-host cluster-a",
            "unknown container-unproven cluster-a"
        ]
    );
}

#[test]
fn an_insecure_member_is_still_compared_with_the_authority_that_is_stored() {
    check(
        |observed| {
            observed.members[0]
                .cluster
                .spec
                .insecure_skip_tls_verification = true;
            serve(&mut observed.members[0], served(&["172.20.0.3"]).0);
        },
        &["error endpoint-own-host", "error authority-mismatch"],
    );
}

#[test]
fn a_name_that_the_control_plane_does_not_know_is_a_fault() {
    check(
        |observed| {
            set_endpoint(observed, "https://apiserver.cluster.local:6443");
            observed.members[0].proxy = Some(ProxyAnswer::Failed {
                failure: Failure::Dns,
                message: "no such host".to_owned(),
            });
        },
        &["error endpoint-unknown-name"],
    );
    check(
        |observed| set_endpoint(observed, "http://172.20.0.3:6443"),
        &["error endpoint-malformed"],
    );
}

#[test]
fn an_endpoint_that_is_gone_is_a_fault_although_the_member_is_reported_ready() {
    check(
        |observed| {
            repaired(observed);
            observed.members[0].cluster.spec.api_endpoint = Some(String::new());
        },
        &["error endpoint-missing"],
    );
    check(
        |observed| {
            repaired(observed);
            set_endpoint(observed, "https://0.0.0.0:6551");
        },
        &["error endpoint-own-host"],
    );
}

#[test]
fn swapped_addresses_are_stale_whatever_is_reported() {
    let mut observed = field_report();
    observed = carried_out(&observed, &planned(&observed, &Config::default()));
    let (a, b) = observed.members.split_at_mut(1);
    std::mem::swap(
        &mut a[0].cluster.spec.api_endpoint,
        &mut b[0].cluster.spec.api_endpoint,
    );
    assert_eq!(
        codes(&observed, &Config::default()),
        [
            "error endpoint-stale cluster-a",
            "error endpoint-stale cluster-b"
        ]
    );
}

#[test]
fn members_of_agents_and_members_on_their_way_out_are_not_examined() {
    check(
        |observed| observed.members[0].cluster.spec.sync_mode = SyncMode::Pull,
        &["info pull-mode"],
    );
    check(
        |observed| {
            let time = "2026-11-30T12:00:00Z".to_owned();
            observed.members[0].cluster.metadata.deletion_timestamp = Some(time);
        },
        &["info being-deleted"],
    );
}

#[test]
fn the_secret_must_hold_token_and_authority() {
    check(
        |observed| {
            repaired(observed);
            observed.members[0].secret = Part::Absent;
        },
        &["error secret-missing"],
    );
    check(
        |observed| {
            repaired(observed);
            observed.members[0].cluster.spec.secret_ref = None;
            observed.members[0].secret = Part::Absent;
        },
        &["error secret-not-referenced"],
    );
    check(
        |observed| {
            repaired(observed);
            if let Part::Seen(secret) = &mut observed.members[0].secret {
                secret.has_token = false;
                secret.ca_bundle = None;
            }
        },
        &["error secret-token-missing", "error secret-ca-missing"],
    );
}

#[test]
fn a_kubeconfig_left_in_the_secret_is_found() {
    let with = |kubeconfig: SecretKubeconfig| {
        move |observed: &mut Observed| {
            repaired(observed);
            if let Part::Seen(secret) = &mut observed.members[0].secret {
                secret.kubeconfig = kubeconfig;
            }
        }
    };
    check(
        with(SecretKubeconfig::Empty),
        &["warning kubeconfig-key-empty"],
    );
    check(
        with(SecretKubeconfig::Other),
        &["info kubeconfig-key-unreadable"],
    );
    let kubeconfig = |server: &str| SecretKubeconfig::Kubeconfig {
        servers: vec![server.to_owned()],
        encoded: "".into(),
    };
    check(
        with(kubeconfig("https://0.0.0.0:6551")),
        &["warning kubeconfig-key-stale"],
    );
    check(with(kubeconfig("https://172.20.0.3:6443")), &[]);
}

#[test]
fn answers_of_the_proxy_prove_or_refute_a_ready_member() {
    let answered = |answer: ProxyAnswer| {
        move |observed: &mut Observed| {
            repaired(observed);
            observed.members[0].proxy = Some(answer);
        }
    };
    let message = String::new;
    check(answered(ProxyAnswer::Ready), &[]);
    check(
        answered(ProxyAnswer::Unauthorized),
        &["warning proxy-unauthorized"],
    );
    check(
        answered(ProxyAnswer::Forbidden { message: message() }),
        &["warning proxy-forbidden"],
    );
    check(
        answered(ProxyAnswer::ForbiddenHere { message: message() }),
        &["warning proxy-not-allowed"],
    );
    check(
        answered(ProxyAnswer::Failed {
            failure: Failure::Dial,
            message: message(),
        }),
        &["error proxy-failed"],
    );
}

#[test]
fn a_member_whose_address_is_right_and_which_is_not_ready_says_what_the_proxy_says() {
    let mut observed = field_report();
    observed.members.truncate(1);
    repaired(&mut observed);
    observed.members[0].cluster.status.conditions = vec![condition("False", "ClusterNotReachable")];
    observed.members[0].proxy = Some(ProxyAnswer::Failed {
        failure: Failure::TlsAuthority,
        message: "x509".to_owned(),
    });
    let findings = super::diagnose(&observed, &Config::default(), now());
    assert_eq!(
        findings[0].message,
        "it is not ready (ClusterNotReachable: cluster is not reachable); through the proxy: \
         the certificate is not signed by the stored CA: x509"
    );
}

#[test]
fn an_endpoint_given_by_hand_needs_no_docker() {
    let mut observed = field_report();
    observed.docker = Part::Unreadable("no daemon".to_owned());
    observed.members.truncate(1);
    let given = |url| Config {
        endpoints: [("cluster-a".to_owned(), Endpoint::given(url).expect("a URL"))].into(),
        ..Config::default()
    };
    assert_eq!(
        codes(&observed, &given("https://192.168.1.20:6443")),
        ["error endpoint-not-as-given cluster-a"]
    );
    make_ready(&mut observed.members[0]);
    assert_eq!(
        codes(&observed, &given("https://0.0.0.0:6551")),
        Vec::<String>::new()
    );
}
