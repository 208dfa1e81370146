//! A federation as plain data, for the tests of the pure parts: the control plane and the members on k3d.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use json_patch::PatchOperation;
use karmada_repair::cluster::object::ObjectReference;
use karmada_repair::docker::model::{
    Attachment, Container, ContainerState, Labels, Network, PublishedPort, Subnet,
};
use karmada_repair::karmada::{
    Cluster, ClusterSpec, ClusterStatus, Condition, Metadata, SecretReference, SyncMode,
};
use karmada_repair::part::Part;
use karmada_repair::plan::{Action, Commands, Plan, Server, touches, unmet_precondition};
use karmada_repair::tls::ServingCertificate;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use serde_json::{Value, json};

use crate::agent::Agent;
use crate::config::Config;
use crate::direct::Direct;
use crate::observe;
use crate::observed::{ControlPlane, DockerSeen, Member, Observed, SecretKubeconfig, Served};
use crate::stored::StoredSecret;

pub(crate) const HOST: &str = "k3d-karmada-host-server-0";

pub(crate) fn now() -> Timestamp {
    "2026-11-30T12:00:00Z".parse().expect("a literal time")
}

pub(crate) fn address(text: &str) -> Ipv4Addr {
    text.parse().expect("the address of a test is valid")
}

/// A certificate with these names, and the CA that signed it in PEM.
pub(crate) fn served(names: &[&str]) -> (ServingCertificate, String) {
    let mut params = CertificateParams::new(Vec::new()).expect("no names are valid names");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().expect("the provider makes keys");
    let issuer = CertifiedIssuer::self_signed(params, key).expect("an authority signs itself");
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let key = KeyPair::generate().expect("the provider makes keys");
    let mut leaf = CertificateParams::new(names).expect("the names of a test are valid");
    leaf.use_authority_key_identifier_extension = true;
    let leaf = leaf.signed_by(&key, &issuer).expect("an authority signs");
    let certificate = ServingCertificate::from_chain(vec![leaf.der().to_vec()])
        .expect("a made certificate parses");
    (certificate, issuer.pem())
}

pub(crate) fn network(name: &str, subnet: &str) -> Network {
    Network {
        id: format!("{:0<64}", hex(name)),
        name: name.to_owned(),
        driver: "bridge".to_owned(),
        internal: false,
        subnets: vec![Subnet {
            subnet: subnet.parse().expect("the subnet of a test is valid"),
            gateway: Some(first(subnet)),
            ip_range: None,
            reserved: Vec::new(),
        }],
        labels: Labels::default(),
    }
}

fn first(subnet: &str) -> Ipv4Addr {
    let base = address(subnet.split('/').next().unwrap_or_default());
    Ipv4Addr::from(u32::from(base) + 1)
}

fn hex(name: &str) -> String {
    name.bytes()
        .map(|byte| format!("{byte:02x}"))
        .take(32)
        .collect()
}

pub(crate) fn container(name: &str, labels: &[(&str, &str)]) -> Container {
    Container {
        id: format!("{:f<64}", hex(name)),
        name: name.to_owned(),
        state: ContainerState::Running,
        network_mode: "bridge".to_owned(),
        labels: Labels::of(labels.iter().copied()),
        ports: Vec::new(),
        attachments: BTreeMap::new(),
    }
}

/// A server of a k3d cluster on its own network.
pub(crate) fn k3d_server(cluster: &str, held: &str, port: u16) -> Container {
    let home = format!("k3d-{cluster}");
    let mut server = container(
        &format!("k3d-{cluster}-server-0"),
        &[
            ("k3d.cluster", cluster),
            ("k3d.role", "server"),
            ("k3d.cluster.network", &home),
            ("k3d.server.api.port", &port.to_string()),
        ],
    );
    attach(&mut server, &home, Some(held));
    server
}

pub(crate) fn attach(container: &mut Container, network: &str, held: Option<&str>) {
    container.attachments.insert(
        network.to_owned(),
        Attachment {
            address: held.map(address),
            ..Attachment::default()
        },
    );
}

pub(crate) fn publish(container: &mut Container, host_port: u16, container_port: u16) {
    container.ports.push(PublishedPort {
        host_port,
        container_port,
        host_ip: None,
    });
}

pub(crate) fn member(name: &str, endpoint: &str, names: &[&str]) -> Member {
    let (certificate, authority) = served(names);
    Member {
        cluster: Cluster {
            metadata: Metadata {
                name: name.to_owned(),
                uid: format!("uid-of-{name}"),
                generation: 1,
                deletion_timestamp: None,
                managed_fields: Vec::new(),
                annotations: BTreeMap::new(),
            },
            spec: ClusterSpec {
                sync_mode: SyncMode::Push,
                api_endpoint: Some(endpoint.to_owned()),
                secret_ref: Some(SecretReference {
                    namespace: "karmada-cluster".to_owned(),
                    name: name.to_owned(),
                }),
                impersonator_secret_ref: Some(SecretReference {
                    namespace: "karmada-cluster".to_owned(),
                    name: format!("{name}-impersonator"),
                }),
                ..ClusterSpec::default()
            },
            status: ClusterStatus {
                kubernetes_version: None,
                conditions: vec![condition("False", "ClusterNotReachable")],
            },
        },
        secret: Part::Seen(observe::secret(&secret(&[
            ("token", "a token"),
            ("caBundle", &authority),
        ]))),
        impersonator: Part::Seen(StoredSecret::read(&secret(&[("token", "another token")]))),
        served: [(
            format!("k3d-{name}-server-0"),
            Part::Seen(Served::by_handshake(certificate)),
        )]
        .into(),
        proxy: None,
        direct: Direct::NotAsked,
        agent: Part::Absent,
        tried: BTreeMap::new(),
    }
}

/// A Secret with these values.
pub(crate) fn secret(values: &[(&str, &str)]) -> Value {
    let data: BTreeMap<&str, String> = values
        .iter()
        .map(|(key, value)| (*key, STANDARD.encode(value)))
        .collect();
    json!({"metadata": {"resourceVersion": "7"}, "data": data})
}

/// What the member's server presents.
pub(crate) fn serve(member: &mut Member, certificate: ServingCertificate) {
    for served in member.served.values_mut() {
        *served = Part::Seen(Served::by_handshake(certificate.clone()));
    }
}

pub(crate) fn condition(status: &str, reason: &str) -> Condition {
    Condition {
        kind: "Ready".to_owned(),
        status: status.to_owned(),
        reason: reason.to_owned(),
        message: "cluster is not reachable".to_owned(),
        last_transition_time: None,
    }
}

pub(crate) fn make_ready(member: &mut Member) {
    member.cluster.status.conditions = vec![condition("True", "ClusterReady")];
}

/// The field report's federation: two members joined at the address that k3d writes, each on a network of its own.
pub(crate) fn field_report() -> Observed {
    let mut host = k3d_server("karmada-host", "172.19.0.3", 6550);
    publish(&mut host, 5443, 30443);
    let a = k3d_server("cluster-a", "172.20.0.3", 6551);
    let b = k3d_server("cluster-b", "172.21.0.3", 6552);
    let names = |own: &'static str, address: &'static str| {
        [
            "0.0.0.0",
            "10.43.0.1",
            "127.0.0.1",
            "localhost",
            own,
            address,
        ]
    };
    Observed {
        control_plane: ControlPlane {
            server: "https://127.0.0.1:5443".to_owned(),
            host_context: None,
            commands: Commands {
                kubectl: "kubectl".to_owned(),
                host: "kubectl --context HOST-CONTEXT".to_owned(),
                docker: "docker".to_owned(),
                ..Commands::default()
            },
            own_command: "kubectl karmada-fix-endpoints".to_owned(),
        },
        members: vec![
            member(
                "cluster-a",
                "https://0.0.0.0:6551",
                &names("k3d-cluster-a-server-0", "172.20.0.3"),
            ),
            member(
                "cluster-b",
                "https://0.0.0.0:6552",
                &names("k3d-cluster-b-server-0", "172.21.0.3"),
            ),
        ],
        others: Vec::new(),
        host: Part::Absent,
        docker: Part::Seen(DockerSeen {
            daemon: "unix:///var/run/docker.sock".to_owned(),
            containers: vec![a, b, host],
            networks: vec![
                network("k3d-cluster-a", "172.20.0.0/16"),
                network("k3d-cluster-b", "172.21.0.0/16"),
                network("k3d-karmada-host", "172.19.0.0/16"),
            ],
        }),
    }
}

pub(crate) fn docker(observed: &mut Observed) -> &mut DockerSeen {
    match &mut observed.docker {
        Part::Seen(docker) => docker,
        Part::Absent | Part::Unreadable(_) => panic!("the test has a Docker daemon"),
    }
}

pub(crate) fn found<'a>(observed: &'a mut Observed, name: &str) -> &'a mut Container {
    docker(observed)
        .containers
        .iter_mut()
        .find(|container| container.name == name)
        .expect("the test has this container")
}

/// `code subject` of each finding from a severity on, as tests compare them.
pub(crate) fn codes(observed: &Observed, config: &Config) -> Vec<String> {
    crate::diagnose::diagnose(observed, config, now())
        .into_iter()
        .map(|finding| {
            format!(
                "{} {} {}",
                finding.severity.word(),
                finding.key.code,
                finding.key.subject.name
            )
        })
        .collect()
}

pub(crate) fn planned(observed: &Observed, config: &Config) -> Plan {
    let findings = crate::diagnose::diagnose(observed, config, now());
    crate::plan::plan(observed, &findings, config, now())
}

pub(crate) fn sentences(plan: &Plan) -> Vec<String> {
    plan.steps
        .iter()
        .map(|step| step.action.sentence())
        .collect()
}

/// The federation after the plan, as Docker, the API server and the cluster controller would leave it.
pub(crate) fn carried_out(observed: &Observed, plan: &Plan) -> Observed {
    let mut after = observed.clone();
    for step in &plan.steps {
        match &step.action {
            Action::PatchObject { object, patch, .. } if object.kind == "Cluster" => {
                let member = after
                    .members
                    .iter_mut()
                    .find(|member| member.name() == object.name)
                    .expect("a plan patches members that were observed");
                let mut value =
                    serde_json::to_value(&member.cluster).expect("a cluster serialises");
                assert_eq!(unmet_precondition(&value, patch), None);
                let changes = patch
                    .0
                    .iter()
                    .filter(|operation| !matches!(operation, PatchOperation::Test(_)));
                let changes = json_patch::Patch(changes.cloned().collect());
                json_patch::patch(&mut value, &changes).expect("the plan changes what is there");
                member.cluster = serde_json::from_value(value).expect("the result is a cluster");
                // A proof that passes takes the note off.
                member.cluster.metadata.annotations.clear();
                member.proxy = None;
                make_ready(member);
            }
            Action::PatchObject {
                server: Server::Member(name),
                object,
                patch,
                ..
            } => {
                let member = after
                    .members
                    .iter_mut()
                    .find(|member| member.name() == name)
                    .expect("a plan patches members that were observed");
                redirect_agent(member, object, patch);
            }
            Action::PatchObject { object, patch, .. } => {
                let member = after
                    .members
                    .iter_mut()
                    .find(|member| object.name.starts_with(member.name()))
                    .expect("a plan patches secrets that were observed");
                write_secret(member, &object.name, patch);
            }
            Action::CreateObject {
                object, manifest, ..
            } => {
                let member = after
                    .members
                    .iter_mut()
                    .find(|member| object.name.starts_with(member.name()))
                    .expect("a plan makes secrets of members that were observed");
                match object.name.ends_with("-impersonator") {
                    true => member.impersonator = Part::Seen(StoredSecret::read(manifest)),
                    false => member.secret = Part::Seen(observe::secret(manifest)),
                }
            }
            Action::ConnectNetwork(attachment) => {
                attach(
                    found(&mut after, &attachment.container),
                    &attachment.network,
                    Some("172.31.255.254"),
                );
                for member in &mut after.members {
                    if step.subject.name == member.name() {
                        make_ready(member);
                    }
                }
            }
            Action::Restart { .. } => {}
            other => panic!("a repair plans no such step: {other:?}"),
        }
    }
    after
}

/// The Deployment of an agent with one argument.
pub(crate) fn agent_deployment(argument: &str) -> Value {
    json!({
        "metadata": {"name": "karmada-agent", "namespace": "karmada-system", "generation": 1},
        "spec": {"replicas": 1, "template": {"spec": {"containers": [{
            "name": "karmada-agent", "image": "karmada/karmada-agent:v1.18.2", "command": ["/bin/karmada-agent", argument],
        }]}}},
        "status": {"observedGeneration": 1, "replicas": 1, "updatedReplicas": 1, "availableReplicas": 1},
    })
}

fn redirect_agent(member: &mut Member, object: &ObjectReference, patch: &json_patch::Patch) {
    let Part::Seen(agent) = &member.agent else {
        panic!("a plan patches agents that were read");
    };
    assert_eq!(&agent.object, object);
    let argument = format!("--cluster-api-endpoint={}", agent.flag.url());
    let mut deployment = agent_deployment(&argument);
    json_patch::patch(&mut deployment, patch).expect("the plan changes what is there");
    let agent = Agent::read(&deployment).expect("it still is an agent");
    member.agent = Part::Seen(agent);
}

fn write_secret(member: &mut Member, name: &str, patch: &json_patch::Patch) {
    let written = |stored: &StoredSecret| {
        let mut object = stored.object();
        json_patch::patch(&mut object, patch).expect("the plan changes what is there");
        object
    };
    match (&mut member.secret, &mut member.impersonator) {
        (Part::Seen(secret), _) if touches(patch, "/data/kubeconfig") => {
            secret.kubeconfig = SecretKubeconfig::Absent;
        }
        (Part::Seen(secret), _) if name == member.cluster.metadata.name => {
            *secret = observe::secret(&written(&secret.stored));
        }
        (_, Part::Seen(stored)) => *stored = StoredSecret::read(&written(stored)),
        _ => panic!("a plan patches secrets that were read"),
    }
}
