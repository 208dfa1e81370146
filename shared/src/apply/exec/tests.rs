#![allow(clippy::unwrap_used)]

use serde_json::json;

use super::*;
use crate::cluster::options::ConnectionOptions;
use crate::cluster::tests::fake_server::{FakeServer, Reply};
use crate::plan::Server;

fn command(kind: Kind) -> PodCommand {
    PodCommand {
        server: Server::Host,
        object: ObjectReference::namespaced(kind, "n", "o"),
        uid: "u".to_owned(),
        container: None,
        argv: vec!["rotate".to_owned(), "--all".to_owned()],
        timeout_seconds: 20,
    }
}

fn pod(name: &str, created: &str, ready: &str) -> Value {
    json!({
        "metadata": {"name": name, "uid": "u", "creationTimestamp": created},
        "spec": {"containers": [{"name": "main"}, {"name": "side"}]},
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": ready}]}
    })
}

fn ok(value: &Value) -> Reply {
    Reply::json("200 OK", &value.to_string())
}

fn ended(stderr: &str, status: &Value) -> Reply {
    let message = |channel: u8, text: &str| [&[channel], text.as_bytes()].concat();
    Reply::Messages {
        messages: vec![message(2, stderr), message(3, &status.to_string())],
        stays: true,
    }
}

/// How the command ends against a server with these answers, and its last request.
async fn run_against(command: &PodCommand, replies: Vec<Reply>) -> (StepResult, String) {
    let server = FakeServer::start(replies).await;
    let api = ServerApi::of(server.client(ConnectionOptions::default()));
    let result = run(&api, command, &Interrupt::never()).await;
    let requests = server.requests();
    let last = requests.last().unwrap().lines().next().unwrap().to_owned();
    (result, last)
}

#[tokio::test]
async fn runs_in_the_first_container_of_the_pod() {
    let success = json!({"status": "Success"});
    let replies = vec![ok(&pod("o", "", "True")), ended("", &success)];
    let (result, last) = run_against(&command(Kind::Pod), replies).await;
    assert_eq!(result, StepResult::Applied(None));
    assert_eq!(
        last,
        "GET /api/v1/namespaces/n/pods/o/exec?container=main&stdout=true&stderr=true&command=rotate&command=--all HTTP/1.1"
    );
}

#[tokio::test]
async fn runs_in_the_newest_ready_pod_of_a_workload() {
    let workload = json!({
        "metadata": {"uid": "u"},
        "spec": {"selector": {
            "matchLabels": {"app": "a b"},
            "matchExpressions": [
                {"key": "t", "operator": "In", "values": ["x", "y"]},
                {"key": "c", "operator": "Exists"},
                {"key": "d", "operator": "DoesNotExist"},
                {"key": "e", "operator": "NotIn", "values": ["z"]}
            ]
        }}
    });
    let mut going = pod("going", "2026-01-04T00:00:00Z", "True");
    going["metadata"]["deletionTimestamp"] = json!("2026-01-04T00:00:00Z");
    let pods = json!({"metadata": {}, "items": [
        pod("old", "2026-01-01T00:00:00Z", "True"),
        pod("new", "2026-01-02T00:00:00Z", "True"),
        pod("starting", "2026-01-03T00:00:00Z", "False"),
        going
    ]});
    let success = json!({"status": "Success"});
    let replies = vec![ok(&workload), ok(&pods), ended("", &success)];
    let (result, last) = run_against(&command(Kind::Deployment), replies).await;
    assert_eq!(result, StepResult::Applied(None));
    assert!(
        last.starts_with("GET /api/v1/namespaces/n/pods/new/exec?"),
        "{last}"
    );
    assert_eq!(
        selector(&workload["spec"]["selector"]),
        "app=a b,t in (x,y),c,!d,e notin (z)"
    );
    let none = json!({"metadata": {}, "items": []});
    let (result, last) =
        run_against(&command(Kind::Deployment), vec![ok(&workload), ok(&none)]).await;
    assert_eq!(
        result,
        StepResult::Refused("no pod of deployment/n/o is ready".to_owned())
    );
    assert!(last.contains("labelSelector=app%3Da+b%2Ct+in"), "{last}");
}

#[tokio::test]
async fn the_exit_code_decides_and_only_the_last_words_are_shown() {
    let failure = json!({
        "status": "Failure",
        "details": {"causes": [{"reason": "ExitCode", "message": "3"}]}
    });
    let stderr = "secret one\nsecret two\n\nthree\nfour \u{1b}[31m\nfive\n";
    let no_program = json!({
        "status": "Failure",
        "message": "exec: \"rotate\": executable file not found in $PATH: unknown"
    });
    let broken = json!({"status": "Failure", "message": "container is gone"});
    let table = [
        (
            ended(stderr, &failure),
            StepResult::Failed(
                "rotate ended in pod/n/o with exit code 3: three | four \\u{1b}[31m | five"
                    .to_owned(),
            ),
        ),
        (
            ended("", &failure),
            StepResult::Failed("rotate ended in pod/n/o with exit code 3".to_owned()),
        ),
        (
            ended("", &no_program),
            StepResult::Refused("there is no rotate in pod/n/o".to_owned()),
        ),
        (
            ended("", &broken),
            StepResult::Failed("rotate in pod/n/o: container is gone".to_owned()),
        ),
    ];
    for (reply, expected) in table {
        let replies = vec![ok(&pod("o", "", "True")), reply];
        let (result, _) = run_against(&command(Kind::Pod), replies).await;
        assert_eq!(result, expected);
    }
}

#[tokio::test]
async fn a_command_whose_end_was_not_seen_is_not_called_done() {
    let cut = Reply::Messages {
        messages: Vec::new(),
        stays: false,
    };
    let silent = Reply::Messages {
        messages: Vec::new(),
        stays: true,
    };
    let forbidden = Reply::json(
        "403 Forbidden",
        r#"{"kind":"Status","status":"Failure","reason":"Forbidden","message":"no","code":403}"#,
    );
    let mut hasty = command(Kind::Pod);
    hasty.timeout_seconds = 1;
    let pod = || ok(&pod("o", "", "True"));
    let (result, _) = run_against(&command(Kind::Pod), vec![pod(), cut]).await;
    assert!(
        matches!(&result, StepResult::Failed(why) if why.ends_with("whether rotate was done in pod/n/o cannot be told")),
        "{result:?}"
    );
    let (result, _) = run_against(&hasty, vec![pod(), silent]).await;
    assert_eq!(
        result,
        StepResult::Failed("rotate has not ended after 1 s and may go on in pod/n/o".to_owned())
    );
    let (result, _) = run_against(&command(Kind::Pod), vec![pod(), forbidden]).await;
    assert_eq!(
        result,
        StepResult::Refused("error from server (Forbidden): no".to_owned())
    );
}

#[tokio::test]
async fn nothing_is_run_in_another_pod_or_one_that_does_not_run() {
    let mut another = pod("o", "", "True");
    another["metadata"]["uid"] = json!("v");
    let mut pending = pod("o", "", "True");
    pending["status"]["phase"] = json!("Pending");
    for (found, why) in [
        (another, "conflict: pod/n/o is another object by now"),
        (pending, "pod/n/o is Pending"),
    ] {
        let (result, last) = run_against(&command(Kind::Pod), vec![ok(&found)]).await;
        assert!(
            matches!(&result, StepResult::Refused(reason) if reason.starts_with(why)),
            "{result:?}"
        );
        assert!(!last.contains("/exec"), "{last}");
    }
}

#[test]
fn the_default_container_is_the_annotated_one() {
    let mut found = pod("o", "", "True");
    assert_eq!(default_container(&found).as_deref(), Some("main"));
    found["metadata"]["annotations"] = json!({"kubectl.kubernetes.io/default-container": "side"});
    assert_eq!(default_container(&found).as_deref(), Some("side"));
}
