//! A command is run in a pod; how it ends decides.

use std::time::Duration;

use serde_json::Value;
use url::form_urlencoded::byte_serialize;

use crate::access::ServerApi;
use crate::apply::StepResult;
use crate::cluster::exec::{End, ExecRequest, Executed};
use crate::cluster::object::{Kind, ObjectReference};
use crate::cluster::request_error::{RequestError, Sent};
use crate::interrupt::Interrupt;
use crate::plan::PodCommand;
use crate::text::{harmless, seconds};

/// Runs the command in the pod, or in the newest ready pod of the workload, and waits for its end.
pub(super) async fn run(
    api: &ServerApi,
    command: &PodCommand,
    interrupt: &Interrupt,
) -> StepResult {
    let pod = match pod(api, command).await {
        Ok(pod) => pod,
        Err(reason) => return StepResult::Refused(reason),
    };
    let namespace = command.object.namespace.as_deref().unwrap_or_default();
    let name = pod["metadata"]["name"].as_str().unwrap_or_default();
    let object = ObjectReference::namespaced(Kind::Pod, namespace, name);
    let container = command
        .container
        .clone()
        .or_else(|| default_container(&pod));
    let within = Duration::from_secs(command.timeout_seconds);
    let request = ExecRequest {
        container: container.as_deref(),
        argv: &command.argv,
        within,
    };
    let path = object.path();
    let program = harmless(command.argv.first().map_or("", String::as_str));
    let ended = tokio::select! {
        ended = api.exec(&path, &request) => ended,
        _ = interrupt.wait() => {
            return StepResult::Failed(format!("interrupted; {program} goes on in {object}"));
        }
    };
    match ended {
        Ok(executed) => result(&program, &object, &executed),
        Err(error) => not_seen(&program, &object, within, &error),
    }
}

fn result(program: &str, pod: &ObjectReference, executed: &Executed) -> StepResult {
    match &executed.end {
        End::Exit(0) => StepResult::Applied(None),
        End::Exit(code) => StepResult::Failed(format!(
            "{program} ended in {pod} with exit code {code}{}",
            last_words(executed)
        )),
        End::Error(problem) if lacks_the_program(problem) => {
            StepResult::Refused(format!("there is no {program} in {pod}"))
        }
        End::Error(problem) => StepResult::Failed(format!(
            "{program} in {pod}: {}{}",
            harmless(problem),
            last_words(executed)
        )),
    }
}

fn not_seen(
    program: &str,
    pod: &ObjectReference,
    within: Duration,
    error: &RequestError,
) -> StepResult {
    if error.is_timeout() && error.was_sent() == Sent::Maybe {
        return StepResult::Failed(format!(
            "{program} has not ended after {} and may go on in {pod}",
            seconds(within)
        ));
    }
    match error.was_sent() {
        Sent::No => StepResult::Refused(error.to_string()),
        Sent::Maybe => StepResult::Failed(format!(
            "{error}; whether {program} was done in {pod} cannot be told"
        )),
    }
}

/// The end of what the command wrote, its complaints before its output; empty when it wrote nothing.
fn last_words(executed: &Executed) -> String {
    let lines = match executed.stderr.last_lines(SHOWN_LINES) {
        lines if lines.is_empty() => executed.stdout.last_lines(SHOWN_LINES),
        lines => lines,
    };
    match lines.is_empty() {
        true => String::new(),
        false => format!(": {}", harmless(&lines.join(" | "))),
    }
}

/// The pod that is meant.
async fn pod(api: &ServerApi, command: &PodCommand) -> Result<Value, String> {
    let object = &command.object;
    let now: Value = api
        .get(&object.path())
        .await
        .map_err(|error| error.to_string())?;
    if now["metadata"]["uid"] != *command.uid {
        return Err(format!(
            "conflict: {object} is another object by now; run again to see it as it is"
        ));
    }
    if object.kind == Kind::Pod.name() {
        return match now["status"]["phase"].as_str() {
            Some("Running") => Ok(now),
            phase => Err(format!("{object} is {}", phase.unwrap_or("not running"))),
        };
    }
    let namespace = object.namespace.as_deref().unwrap_or_default();
    let selector: String = byte_serialize(selector(&now["spec"]["selector"]).as_bytes()).collect();
    let path = format!("{}?labelSelector={selector}", Kind::Pod.path_in(namespace));
    let pods = api
        .list::<Value>(&path)
        .await
        .map_err(|error| error.to_string())?;
    newest_ready(pods.items).ok_or_else(|| format!("no pod of {object} is ready"))
}

/// A `LabelSelector` as the query of a list.
fn selector(selector: &Value) -> String {
    let labels = selector["matchLabels"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, value)| format!("{name}={}", value.as_str().unwrap_or_default()));
    let expressions = selector["matchExpressions"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|expression| {
            let key = expression["key"].as_str().unwrap_or_default();
            let values: Vec<&str> = expression["values"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .collect();
            let values = values.join(",");
            match expression["operator"].as_str() {
                Some("In") => format!("{key} in ({values})"),
                Some("NotIn") => format!("{key} notin ({values})"),
                Some("DoesNotExist") => format!("!{key}"),
                _ => key.to_owned(),
            }
        });
    labels.chain(expressions).collect::<Vec<_>>().join(",")
}

/// The newest pod that is ready and is not about to go: after a roll-out it is one of the new ones.
fn newest_ready(pods: Vec<Value>) -> Option<Value> {
    let is_ready = |pod: &Value| {
        let conditions = pod["status"]["conditions"].as_array();
        pod["metadata"]["deletionTimestamp"].is_null()
            && conditions
                .into_iter()
                .flatten()
                .any(|condition| condition["type"] == "Ready" && condition["status"] == "True")
    };
    let age = |pod: &Value| {
        let metadata = |field: &str| {
            pod["metadata"][field]
                .as_str()
                .unwrap_or_default()
                .to_owned()
        };
        (metadata("creationTimestamp"), metadata("name"))
    };
    pods.into_iter().filter(is_ready).max_by_key(age)
}

/// The container that kubectl takes when none is named; an API server takes one by itself only if there is no other.
fn default_container(pod: &Value) -> Option<String> {
    let annotated =
        pod["metadata"]["annotations"]["kubectl.kubernetes.io/default-container"].as_str();
    annotated
        .or_else(|| pod["spec"]["containers"][0]["name"].as_str())
        .map(str::to_owned)
}

/// The words are those of runc and crun.
fn lacks_the_program(problem: &str) -> bool {
    problem.contains("executable file not found") || problem.contains("no such file or directory")
}

const SHOWN_LINES: usize = 3;

#[cfg(test)]
mod tests;
