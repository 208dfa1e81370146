use super::*;

fn draft() -> NetworkDraft {
    NetworkDraft::internal_bridge(
        "karmada-mesh",
        "172.28.0.0/24".parse().unwrap(),
        "172.28.0.1".parse().unwrap(),
        "172.28.0.128/25".parse().unwrap(),
    )
}

fn pinned(address: &str) -> Attachment {
    Attachment {
        pinned: Some(address.parse().unwrap()),
        interface: Some("mesh0".to_owned()),
        gateway_priority: -100,
        ..Attachment::default()
    }
}

fn rewiring(before: Option<Attachment>, after: Option<Attachment>, halts: bool) -> DockerAction {
    DockerAction::Rewire(Rewiring {
        name: ContainerName {
            container_id: "c".repeat(64),
            container: "k3d-a-server-0".to_owned(),
        },
        network_id: None,
        network: "karmada-mesh".to_owned(),
        before,
        after,
        halts,
    })
}

#[test]
fn every_action_has_its_words_and_its_command() {
    let dynamic = Attachment {
        address: Some("172.28.0.3".parse().unwrap()),
        aliases: vec!["db".to_owned()],
        ..Attachment::default()
    };
    let cases = [
        (
            DockerAction::CreateNetwork(draft()),
            "create network karmada-mesh: internal bridge 172.28.0.0/24 with gateway 172.28.0.1 and 172.28.0.128/25 for addresses that Docker chooses",
            "docker network create --driver bridge --subnet 172.28.0.0/24 --gateway 172.28.0.1 --ip-range 172.28.0.128/25 --internal karmada-mesh",
        ),
        (
            rewiring(None, Some(pinned("172.28.0.11")), false),
            "connect container k3d-a-server-0 to network karmada-mesh at 172.28.0.11 as mesh0",
            "{ docker network connect --ip 172.28.0.11 --gw-priority -100 --driver-opt com.docker.network.endpoint.ifname=mesh0 karmada-mesh k3d-a-server-0 || docker network connect --ip 172.28.0.11 karmada-mesh k3d-a-server-0; }",
        ),
        (
            rewiring(Some(pinned("172.28.0.11")), Some(dynamic.clone()), false),
            "disconnect container k3d-a-server-0 from network karmada-mesh and connect it again at an address that Docker chooses",
            "docker network disconnect karmada-mesh k3d-a-server-0 && docker network connect --alias db karmada-mesh k3d-a-server-0",
        ),
        (
            rewiring(Some(dynamic), None, true),
            "stop container k3d-a-server-0, disconnect container k3d-a-server-0 from network karmada-mesh, and start it",
            "docker stop k3d-a-server-0 && docker network disconnect karmada-mesh k3d-a-server-0 && docker start k3d-a-server-0",
        ),
    ];
    for (action, sentence, command) in cases {
        assert_eq!(action.sentence(), sentence);
        assert_eq!(action.command("docker"), command);
    }
}

#[test]
fn every_action_is_its_inverses_inverse() {
    let actions = [
        DockerAction::CreateNetwork(draft()),
        rewiring(None, Some(pinned("172.28.0.11")), false),
        rewiring(
            Some(pinned("172.28.0.10")),
            Some(pinned("172.28.0.11")),
            true,
        ),
        DockerAction::WriteFile(ContainerFile {
            name: ContainerName {
                container_id: "c".to_owned(),
                container: "a".to_owned(),
            },
            path: "/etc/file".to_owned(),
            before: None,
            after: Some("x".to_owned()),
        }),
    ];
    for action in actions {
        assert_ne!(action.inverse(), action);
        assert_eq!(action.inverse().inverse(), action);
    }
}

#[test]
fn an_action_survives_its_way_through_a_backup() {
    let action = rewiring(Some(pinned("172.28.0.10")), None, false);
    let text = serde_json::to_string(&action).unwrap();
    assert_eq!(serde_json::from_str::<DockerAction>(&text).unwrap(), action);
}
