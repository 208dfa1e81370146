use serde_json::{Value, json};

use super::*;
use crate::docker::fake_daemon::{Answer, FakeDaemon, shown};
use crate::docker::refusal::Refusal;
use crate::error::Explain;

fn connect_request() -> ConnectRequest {
    ConnectRequest {
        network_id: "aa".to_owned(),
        container_id: "bb".to_owned(),
        address: Some(Ipv4Addr::new(172, 28, 0, 254)),
        gateway_priority: -100,
        interface: Some("kmaa".to_owned()),
        aliases: Vec::new(),
    }
}

#[tokio::test]
async fn lists_all_containers_with_one_request() {
    let daemon = FakeDaemon::answering(Answer::json(&json!([
        {"Id": "22", "Names": ["/b"], "State": "exited", "Ports": []},
        {"Id": "11", "Names": ["/a"], "State": "running"},
    ])));
    let containers = daemon.docker.containers().await.unwrap();
    let names: Vec<_> = containers
        .iter()
        .map(|container| container.name.as_str())
        .collect();
    assert_eq!(names, ["a", "b"]);
    assert_eq!(
        daemon.requests(),
        ["GET /containers/json?all=true&size=false docker"]
    );
}

#[tokio::test]
async fn lists_networks_with_one_request() {
    let daemon = FakeDaemon::answering(Answer::json(
        &json!([{"Id": "2", "Name": "b"}, {"Id": "1", "Name": "a"}]),
    ));
    let networks = daemon.docker.networks().await.unwrap();
    let names: Vec<_> = networks
        .iter()
        .map(|network| network.name.as_str())
        .collect();
    assert_eq!(names, ["a", "b"]);
    assert_eq!(daemon.requests(), ["GET /networks docker"]);
}

#[tokio::test]
async fn sends_the_whole_attachment() {
    let daemon = FakeDaemon::answering(Answer::With(200, String::new()));
    daemon
        .docker
        .connect_network(&connect_request())
        .await
        .unwrap();
    let requests = daemon.requests();
    let (head, body) = requests[0].split_once(" docker ").unwrap();
    assert_eq!(head, "POST /networks/aa/connect");
    assert_eq!(
        serde_json::from_str::<Value>(body).unwrap(),
        json!({"Container": "bb", "EndpointConfig": {
            "IPAMConfig": {"IPv4Address": "172.28.0.254"},
            "Aliases": [],
            "GwPriority": -100,
            "DriverOpts": {"com.docker.network.endpoint.ifname": "kmaa"},
        }})
    );
}

#[tokio::test]
async fn leaves_to_docker_what_is_not_asked_for() {
    let daemon = FakeDaemon::answering(Answer::With(200, String::new()));
    let request = ConnectRequest {
        address: None,
        interface: None,
        ..connect_request()
    };
    daemon.docker.connect_network(&request).await.unwrap();
    let body = daemon.requests()[0]
        .split_once(" docker ")
        .unwrap()
        .1
        .to_owned();
    assert_eq!(
        serde_json::from_str::<Value>(&body).unwrap(),
        json!({"Container": "bb", "EndpointConfig": {"Aliases": [], "GwPriority": -100}})
    );
}

#[tokio::test]
async fn disconnects() {
    let daemon = FakeDaemon::answering(Answer::With(200, String::new()));
    daemon
        .docker
        .disconnect_network("aa", "bb", false)
        .await
        .unwrap();
    assert_eq!(
        daemon.requests(),
        [r#"POST /networks/aa/disconnect docker {"Container":"bb","Force":false}"#]
    );
}

#[tokio::test]
async fn passes_a_refusal_on_in_the_daemons_words() {
    let id = "238f254558d1b714e508500fe61e899410747cebaca54e7ff1e1816f3bdf2bc5";
    let request = ConnectRequest {
        container_id: id.to_owned(),
        ..connect_request()
    };
    let message = "invalid endpoint settings:\n* no configured subnet or ip-range contain the IP address 10.0.0.1";
    let daemon = FakeDaemon::answering(Answer::refusal(400, message));
    let error = daemon.docker.connect_network(&request).await.unwrap_err();
    assert_eq!(
        shown(&error),
        "cannot connect container 238f254558d1 to network aa: invalid endpoint settings: \
         * no configured subnet or ip-range contain the IP address 10.0.0.1"
    );
    assert_eq!(error.refusal(), Some(Refusal::OutsideSubnet));
    assert!(!error.may_have_acted());
}

#[tokio::test]
async fn a_refusal_that_is_a_page_is_cut_short() {
    let page = format!("<html>{}</html>", "x".repeat(10_000));
    let daemon = FakeDaemon::answering(Answer::With(502, page));
    let error = daemon.docker.networks().await.unwrap_err();
    assert!(shown(&error).len() < 400, "{}", shown(&error));
    assert_eq!(error.refusal(), Some(Refusal::Other));
}

#[tokio::test]
async fn a_refusal_without_words_tells_its_status() {
    let daemon = FakeDaemon::answering(Answer::With(503, String::new()));
    let error = daemon.docker.networks().await.unwrap_err();
    assert_eq!(
        shown(&error),
        "cannot list networks: Docker answered with status 503"
    );
}

#[tokio::test]
async fn a_daemon_that_wants_tls_gets_it_by_the_hint() {
    let words = "Client sent an HTTP request to an HTTPS server.\n";
    let daemon = FakeDaemon::answering(Answer::With(400, words.to_owned()));
    let error = daemon.docker.networks().await.unwrap_err();
    assert_eq!(error.hint().unwrap(), "export DOCKER_TLS_VERIFY=1");
}

#[tokio::test]
async fn a_missing_container_is_told_apart() {
    let daemon = FakeDaemon::answering(Answer::refusal(404, "No such container: nope"));
    let error = daemon.docker.inspect("nope").await.unwrap_err();
    assert_eq!(
        shown(&error),
        "cannot inspect container nope: No such container: nope"
    );
    assert_eq!(error.refusal(), Some(Refusal::NoSuchContainer));
}

#[tokio::test]
async fn a_silent_daemon_runs_into_the_deadline() {
    let daemon = FakeDaemon::answering(Answer::Silence);
    let docker = daemon
        .docker
        .clone()
        .with_deadline(Duration::from_millis(50));
    let error = docker
        .connect_network(&connect_request())
        .await
        .unwrap_err();
    assert!(matches!(error, DockerError::Timeout { .. }), "{error}");
    assert!(error.may_have_acted());
    assert!(
        shown(&error).ends_with("docker.sock within 50 ms"),
        "{error}"
    );
}

#[tokio::test]
async fn a_broken_connection_leaves_open_whether_the_daemon_acted() {
    for answer in [Answer::Close, Answer::Cut] {
        let daemon = FakeDaemon::answering(answer);
        let error = daemon.docker.networks().await.unwrap_err();
        assert!(matches!(error, DockerError::Broken { .. }), "{error:?}");
        assert!(error.may_have_acted());
    }
}

#[tokio::test]
async fn an_answer_of_another_shape_is_reported_without_its_content() {
    let cases = [
        (r#"{"token": "s3cret"}"#, "unexpected at column 0"),
        (r#"[{"Id": {"token": "s3cret"}}]"#, "unexpected at column 8"),
        ("<html>s3cret", "unexpected at column 1"),
        ("[", "the answer ends early"),
    ];
    for (body, expected) in cases {
        let daemon = FakeDaemon::answering(Answer::With(200, body.to_owned()));
        let error = daemon.docker.containers().await.unwrap_err();
        let text = shown(&error);
        assert!(text.ends_with(expected), "{text}");
        assert!(!format!("{text} {error:?}").contains("s3cret"), "{error:?}");
    }
}

#[tokio::test]
async fn knows_podman_and_old_docker_by_their_version() {
    let cases = [
        (
            json!({"Version": "20.10.24", "ApiVersion": "1.41"}),
            Product::Docker,
            false,
        ),
        (
            json!({"Version": "28.5.2", "ApiVersion": "1.51", "Components": [{"Name": "Engine", "Version": "28.5.2"}]}),
            Product::Docker,
            true,
        ),
        (
            json!({"Version": "4.9.3", "ApiVersion": "1.41", "Components": [{"Name": "Podman Engine", "Version": "4.9.3"}]}),
            Product::Podman,
            false,
        ),
        (json!({}), Product::Docker, false),
    ];
    for (body, product, orders_interfaces) in cases {
        let daemon = FakeDaemon::answering(Answer::json(&body));
        let version = daemon.docker.version().await.unwrap();
        assert_eq!(version.product, product, "{body}");
        assert_eq!(version.orders_interfaces(), orders_interfaces, "{body}");
    }
}
