//! The agent of a member that dials the control plane (pull mode), and what it would write about itself. Pure.
//!
//! An agent writes the endpoint of its flags into the `Cluster` when it starts; since Karmada v1.12 it may not, and ends
//! again and again. So both are changed, and the control plane first: then there is nothing left for it to write.

use json_patch::Patch;
use karmada_repair::cluster::object::ObjectReference;
use karmada_repair::plan::{Action, Server, set_value};
use serde::Serialize;
use serde_json::Value;

use crate::endpoint::Endpoint;
use crate::observed::Member;

/// The Deployment of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Agent {
    /// The Deployment.
    pub object: ObjectReference,
    /// Its `metadata.generation`.
    pub generation: i64,
    /// Its flag with the endpoint.
    pub flag: Flag,
    /// What is missing for its roll-out; `None` = nothing.
    pub unfinished: Option<String>,
    /// Why it may not be changed; `None` = it may.
    pub refusal: Option<String>,
}

/// The flag `--cluster-api-endpoint`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Flag {
    /// Where it is, or would be, in the Deployment (RFC 6901).
    pointer: String,
    /// The whole argument there; `None` = the flag is not given.
    argument: Option<String>,
    /// What stands before the URL in the argument.
    prefix: &'static str,
}

impl Agent {
    /// Reads a Deployment; `None` when no container of it is an agent's.
    pub fn read(deployment: &Value) -> Option<Agent> {
        let text = |pointer: &str| deployment.pointer(pointer).and_then(Value::as_str);
        let containers = deployment
            .pointer("/spec/template/spec/containers")?
            .as_array()?;
        let (index, container) = containers.iter().enumerate().find(|(_, container)| {
            let image = container["image"].as_str().unwrap_or_default();
            container["name"] == AGENT || is_image_of_agent(image)
        })?;
        Some(Agent {
            object: ObjectReference {
                api_version: "apps/v1".to_owned(),
                kind: "Deployment".to_owned(),
                resource: "deployments".to_owned(),
                namespace: Some(text("/metadata/namespace")?.to_owned()),
                name: text("/metadata/name")?.to_owned(),
            },
            generation: deployment["metadata"]["generation"]
                .as_i64()
                .unwrap_or_default(),
            flag: Flag::read(
                container,
                &format!("/spec/template/spec/containers/{index}"),
            )?,
            unfinished: unfinished(deployment),
            refusal: None,
        })
    }

    /// The endpoint that it would write; `None` = none that can be read.
    pub fn endpoint(&self) -> Option<Endpoint> {
        Endpoint::parse(self.flag.url()).ok()
    }

    /// Whether its flag leads where `wanted` does.
    pub fn agrees(&self, wanted: &Endpoint) -> bool {
        self.flag.url() == wanted.to_string()
    }

    /// The patch that brings its flag to `wanted`, and its inverse.
    fn patched(&self, wanted: &Endpoint) -> (Patch, Patch) {
        let Flag {
            pointer,
            argument,
            prefix,
        } = &self.flag;
        set_value(
            pointer,
            argument.as_deref(),
            self.generation,
            &format!("{prefix}{wanted}"),
        )
    }

    /// The change of its flag to `wanted`.
    pub fn redirected(&self, member: &Member, wanted: &Endpoint) -> Action {
        let (patch, inverse) = self.patched(wanted);
        Action::PatchObject {
            server: Server::Member(member.name().to_owned()),
            object: self.object.clone(),
            patch,
            inverse,
        }
    }

    /// Why the plan may not change it; `None` = it may.
    pub fn obstacle(&self) -> Option<String> {
        let is_variable = self.flag.url().contains("$(");
        match &self.refusal {
            Some(refusal) => Some(refusal.clone()),
            None => is_variable.then(|| format!("{FLAG} of its {} is a variable", self.object)),
        }
    }
}

impl Flag {
    /// The URL; empty when the flag is not given.
    pub fn url(&self) -> &str {
        let argument = self.argument.as_deref().unwrap_or_default();
        argument.strip_prefix(self.prefix).unwrap_or_default()
    }

    /// `None` = the container has neither a command nor arguments of its own.
    fn read(container: &Value, place: &str) -> Option<Flag> {
        let lists = ["command", "args"].map(|list| (list, container[list].as_array()));
        let mut given = lists
            .into_iter()
            .filter_map(|(list, words)| Some((list, words?)));
        for (list, words) in given.clone() {
            for (index, word) in words.iter().filter_map(Value::as_str).enumerate() {
                if word.starts_with(JOINED) {
                    return Some(Flag {
                        pointer: format!("{place}/{list}/{index}"),
                        argument: Some(word.to_owned()),
                        prefix: JOINED,
                    });
                }
                // The word after it is the URL.
                if word == FLAG {
                    let url = words.get(index + 1).and_then(Value::as_str)?;
                    return Some(Flag {
                        pointer: format!("{place}/{list}/{}", index + 1),
                        argument: Some(url.to_owned()),
                        prefix: "",
                    });
                }
            }
        }
        let (list, words) = given.next_back()?;
        Some(Flag {
            pointer: format!("{place}/{list}/{}", words.len()),
            argument: None,
            prefix: JOINED,
        })
    }
}

fn is_image_of_agent(image: &str) -> bool {
    let base = image.rsplit('/').next().unwrap_or_default();
    base.split([':', '@']).next() == Some(AGENT)
}

/// What is missing for a roll-out, as `kubectl rollout status` judges it.
fn unfinished(deployment: &Value) -> Option<String> {
    let number = |pointer: &str| deployment.pointer(pointer).and_then(Value::as_i64);
    let status = |field: &str| number(&format!("/status/{field}")).unwrap_or_default();
    let wanted = number("/spec/replicas").unwrap_or(1);
    let (updated, all, available) = (
        status("updatedReplicas"),
        status("replicas"),
        status("availableReplicas"),
    );
    if status("observedGeneration") < number("/metadata/generation").unwrap_or_default() {
        Some("its controller has not seen the change".to_owned())
    } else if updated < wanted {
        Some(format!("{updated} of {wanted} replicas are new"))
    } else if all > updated {
        Some(format!("{} old replicas are still there", all - updated))
    } else if available < wanted {
        Some(format!("{available} of {wanted} replicas are available"))
    } else {
        None
    }
}

/// The name of the container, the image, and the Deployment that `karmadactl register` makes.
pub const AGENT: &str = "karmada-agent";
const FLAG: &str = "--cluster-api-endpoint";
const JOINED: &str = "--cluster-api-endpoint=";

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn deployment(container: Value) -> Value {
        json!({
            "metadata": {"name": "karmada-agent", "namespace": "karmada-system", "generation": 3},
            "spec": {"replicas": 1, "template": {"spec": {"containers": [{"name": "sidecar", "image": "x"}, container]}}},
            "status": {"observedGeneration": 3, "replicas": 1, "updatedReplicas": 1, "availableReplicas": 1},
        })
    }

    #[track_caller]
    fn redirected(container: Value) -> (String, Value) {
        let before = deployment(container);
        let agent = Agent::read(&before).expect("it is an agent");
        let wanted = Endpoint::parse("https://172.20.0.3:6443").expect("a URL");
        let (patch, inverse) = agent.patched(&wanted);
        let mut after = before.clone();
        json_patch::patch(&mut after, &patch).expect("its preconditions hold");
        let again = Agent::read(&after).expect("it still is");
        assert!(again.agrees(&wanted), "{after}");
        let container = after["spec"]["template"]["spec"]["containers"][1].clone();
        json_patch::patch(&mut after, &inverse).expect("it can be taken back");
        assert_eq!(after, before);
        (agent.flag.url().to_owned(), container)
    }

    #[test]
    fn the_flag_is_replaced_wherever_it_stands() {
        let old = "https://0.0.0.0:6551";
        let new = "https://172.20.0.3:6443";
        let cases = [
            (
                json!({"name": "karmada-agent", "image": "x", "command": ["/bin/karmada-agent", format!("{JOINED}{old}"), "--v=4"]}),
                old,
                json!(["/bin/karmada-agent", format!("{JOINED}{new}"), "--v=4"]),
                "command",
            ),
            (
                json!({"name": "agent", "image": "docker.io/karmada/karmada-agent:v1.18.2", "args": [FLAG, old]}),
                old,
                json!([FLAG, new]),
                "args",
            ),
            (
                json!({"name": "karmada-agent", "image": "x", "command": ["/bin/karmada-agent"]}),
                "",
                json!(["/bin/karmada-agent", format!("{JOINED}{new}")]),
                "command",
            ),
            (
                json!({"name": "karmada-agent", "image": "x", "command": ["/bin/karmada-agent"], "args": ["--v=4"]}),
                "",
                json!(["--v=4", format!("{JOINED}{new}")]),
                "args",
            ),
        ];
        for (container, before, after, list) in cases {
            let (url, container) = redirected(container);
            assert_eq!((url.as_str(), &container[list]), (before, &after));
        }
    }

    #[test]
    fn other_deployments_are_no_agents() {
        let others = [
            json!({"name": "web", "image": "karmada/karmada-agent-helper:1", "args": []}),
            json!({"name": "karmada-agent", "image": "x"}),
        ];
        for container in others {
            assert_eq!(Agent::read(&deployment(container)), None);
        }
    }

    #[test]
    fn a_variable_is_not_replaced() {
        let of_variable =
            json!({"name": AGENT, "image": "x", "args": [format!("{JOINED}$(ENDPOINT)")]});
        let agent = Agent::read(&deployment(of_variable)).expect("it is an agent");
        assert!(agent.obstacle().is_some_and(|why| why.contains("variable")));
    }

    #[test]
    fn an_agent_that_crashes_is_not_rolled_out() {
        let mut crashing = deployment(json!({"name": AGENT, "image": "x", "args": []}));
        crashing["status"]["availableReplicas"] = json!(0);
        let agent = Agent::read(&crashing).expect("it is an agent");
        assert_eq!(
            agent.unfinished.as_deref(),
            Some("0 of 1 replicas are available")
        );
    }
}
