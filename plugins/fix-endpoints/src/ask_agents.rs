//! The agents of members that dial the control plane (pull mode) are read.

use futures::future::join_all;
use karmada_repair::access::{Access, MemberApi};
use karmada_repair::cluster::client::{DryRun, PatchKind};
use karmada_repair::part::Part;
use karmada_repair::text::shell_word;
use serde_json::{Value, json};

use crate::agent::{AGENT, Agent};
use crate::config::Config;
use crate::observed::{Member, Observed};

/// Reads the agents of the members that were named.
pub(crate) async fn ask_agents(access: &Access, config: &Config, observed: &mut Observed) {
    let selected: Vec<&str> = observed.members.iter().map(Member::name).collect();
    let asked = observed
        .members
        .iter()
        .filter(|member| !member.is_dialled() && config.names(member.name()))
        .map(|member| async {
            let agent = agent(access, member, &selected).await;
            (member.name().to_owned(), agent)
        });
    let answers = join_all(asked).await;
    for (name, agent) in answers {
        for member in &mut observed.members {
            if member.name() == name {
                member.agent = agent.clone();
            }
        }
    }
}

async fn agent(access: &Access, member: &Member, selected: &[&str]) -> Part<Agent> {
    let api = match access.member(&member.cluster, selected).await {
        Ok(api) => api,
        Err(why) => {
            return Part::Unreadable(format!(
                "the member is not reached (--cluster-context {}=CONTEXT names a way): {why}",
                shell_word(member.name())
            ));
        }
    };
    match found(&api).await {
        Ok(Some(agent)) => {
            let refusal = refusal(&api, &agent).await;
            Part::Seen(Agent { refusal, ..agent })
        }
        Ok(None) => Part::Unreadable("the member has no Deployment of karmada-agent".to_owned()),
        Err(why) => Part::Unreadable(why),
    }
}

/// Why it may not be patched: a patch that changes nothing is sent as a dry run, because a `Cluster` that was changed before
/// its agent could not be is worse than none.
async fn refusal(api: &MemberApi, agent: &Agent) -> Option<String> {
    let path = agent.object.path();
    let nothing = json!({});
    let tried = api
        .api()
        .patch(&path, PatchKind::Merge, &nothing, DryRun::All)
        .await;
    tried.err().map(|error| error.to_string())
}

/// The agent in its usual namespace, else the only one in any.
async fn found(api: &MemberApi) -> Result<Option<Agent>, String> {
    let usual = deployments(api, USUAL).await?;
    if let Some(agent) = usual.iter().find_map(Agent::read) {
        return Ok(Some(agent));
    }
    let everywhere = deployments(api, EVERYWHERE).await?;
    let mut agents = everywhere.iter().filter_map(Agent::read);
    match (agents.next(), agents.next()) {
        (agent, None) => Ok(agent),
        (Some(one), Some(other)) => Err(format!(
            "the member has several Deployments of {AGENT}: {} in {} and {} in {}",
            one.object,
            one.object.namespace.as_deref().unwrap_or_default(),
            other.object,
            other.object.namespace.as_deref().unwrap_or_default()
        )),
        (None, Some(_)) => Ok(None),
    }
}

async fn deployments(api: &MemberApi, path: &str) -> Result<Vec<Value>, String> {
    let mut list: Value = api.get(path).await.map_err(|error| error.to_string())?;
    match list["items"].take() {
        Value::Array(items) => Ok(items),
        _ => Ok(Vec::new()),
    }
}

const USUAL: &str = "/apis/apps/v1/namespaces/karmada-system/deployments";
const EVERYWHERE: &str = "/apis/apps/v1/deployments";
