//! What the client makes of commands in pods.

#![allow(clippy::unwrap_used)]

use std::time::Duration;

use serde_json::json;

use crate::cluster::exec::{End, ExecRequest, Executed};
use crate::cluster::options::ConnectionOptions;
use crate::cluster::request_error::{RequestError, Sent};
use crate::cluster::tests::fake_server::{FakeServer, Reply};

const POD: &str = "/api/v1/namespaces/n/pods/p";
const SOON: Duration = Duration::from_secs(20);

async fn exec(reply: Reply, within: Duration) -> (Result<Executed, RequestError>, Vec<String>) {
    let server = FakeServer::start([reply]).await;
    let client = server.client(ConnectionOptions::default());
    let argv = ["sh", "-c", "echo $HOME & exit"].map(str::to_owned);
    let request = ExecRequest {
        container: Some("c"),
        argv: &argv,
        within,
    };
    let ended = client.exec(POD, &request).await;
    (ended, server.requests())
}

fn messages(messages: &[(u8, &str)]) -> Reply {
    Reply::Messages {
        messages: messages
            .iter()
            .map(|(channel, text)| [&[*channel], text.as_bytes()].concat())
            .collect(),
        stays: true,
    }
}

fn failure(code: &str) -> String {
    json!({
        "status": "Failure", "reason": "NonZeroExitCode", "message": "command terminated",
        "details": {"causes": [{"reason": "ExitCode", "message": code}]}
    })
    .to_string()
}

#[tokio::test]
async fn keeps_both_streams_and_tells_how_the_command_ended() {
    let failed = failure("3");
    let long = "x".repeat(70_000);
    let table = [
        (r#"{"status":"Success"}"#, End::Exit(0)),
        (failed.as_str(), End::Exit(3)),
        (
            r#"{"status":"Failure","message":"no such container","reason":"InternalError","code":500}"#,
            End::Error("no such container".to_owned()),
        ),
    ];
    for (status, end) in table {
        let reply = messages(&[
            (1, "one "),
            (2, "bad"),
            (1, "two"),
            (1, ""),
            (1, &long),
            (3, status),
        ]);
        let (ended, requests) = exec(reply, SOON).await;
        let ended = ended.unwrap();
        assert_eq!(ended.end, end);
        assert_eq!(ended.stdout.text(), format!("one two{long}"));
        assert_eq!(ended.stderr.text(), "bad");
        assert_eq!(format!("{:?}", ended.stderr), "3 bytes");
        let line = "GET /api/v1/namespaces/n/pods/p/exec?container=c&stdout=true&stderr=true&command=sh&command=-c&\
                    command=echo+%24HOME+%26+exit HTTP/1.1\r\n";
        assert!(requests[0].starts_with(line), "{}", requests[0]);
        assert!(requests[0].contains("authorization: Bearer t0ken\r\n"));
    }
}

#[tokio::test]
async fn of_too_much_output_only_the_end_is_kept() {
    let piece = "y".repeat(1 << 19);
    let reply = messages(&[
        (1, "begin"),
        (1, &piece),
        (1, &piece),
        (1, "end"),
        (3, r#"{"status":"Success"}"#),
    ]);
    let (ended, _) = exec(reply, SOON).await;
    let stdout = ended.unwrap().stdout;
    assert!(stdout.is_cut());
    assert_eq!(stdout.text().len(), 1 << 20);
    assert!(stdout.text().ends_with("end"));
}

#[tokio::test]
async fn a_command_whose_end_is_not_seen_may_have_been_run() {
    let cut = Reply::Messages {
        messages: vec![b"\x01begun".to_vec()],
        stays: false,
    };
    let (ended, requests) = exec(cut, SOON).await;
    let error = ended.unwrap_err();
    assert_eq!(error.was_sent(), Sent::Maybe);
    assert_eq!(requests.len(), 1, "it is not sent twice");

    let (ended, _) = exec(messages(&[(1, "begun")]), Duration::from_millis(300)).await;
    let error = ended.unwrap_err();
    assert!(error.is_timeout());
    assert_eq!(error.was_sent(), Sent::Maybe);

    let (ended, _) = exec(messages(&[(3, "no status")]), SOON).await;
    assert_eq!(
        ended.unwrap_err().to_string().split(": ").last(),
        Some("the status of the command is no Status")
    );
}

#[tokio::test]
async fn a_refusal_is_told_in_the_words_of_the_server() {
    let table = [
        (
            Reply::json(
                "403 Forbidden",
                r#"{"kind":"Status","status":"Failure","reason":"Forbidden","message":"pods \"p\" is forbidden","code":403}"#,
            ),
            "error from server (Forbidden): pods \"p\" is forbidden",
        ),
        (
            Reply::with("404 Not Found", "text/plain", "", "404 page not found"),
            "error from server (NotFound): the server could not find the requested resource (get pods p)",
        ),
    ];
    for (reply, words) in table {
        let (ended, _) = exec(reply, SOON).await;
        let error = ended.unwrap_err();
        assert_eq!(error.to_string(), words);
        assert_eq!(error.was_sent(), Sent::No);
    }
    let (ended, _) = exec(Reply::json("200 OK", "{}"), SOON).await;
    assert!(matches!(ended.unwrap_err(), RequestError::Malformed { .. }));
}
