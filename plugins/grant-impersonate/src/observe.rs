//! All reads of the plugin.

mod federation;
mod rights;

use std::collections::BTreeMap;

use futures::future::{join, join_all, join3};
use futures::stream::{StreamExt, iter};
use http::Request;
use karmada_repair::access::{Access, NoAnswer};
use karmada_repair::cli::docker::DockerChoice;
use karmada_repair::cluster::client::{Answer as Response, List};
use karmada_repair::cluster::on_behalf::OnBehalf;
use karmada_repair::driver::Depth;
use karmada_repair::error::Failure;
use karmada_repair::karmada::proxy_path;
use karmada_repair::part::Part;
use serde_json::Value;

use crate::account::{Account, Identity, RBAC_GROUP};
use crate::answer::Answer;
use crate::config::{Config, Task};
use crate::examine::{PATIENCE, PATIENCE_OF_A_REPAIR};
use crate::grant;
use crate::observed::{ControlPlane, Member, Observed};
use crate::rbac::{Binding, Rbac, Role};
use crate::whoami;

pub use rights::{are_asked_for as rights_are_asked_for, of as rights_of};

/// Reads who is meant, what is granted, and what comes of it in the members.
///
/// # Errors
/// When the clusters cannot be listed, one that was named does not exist, or nobody can tell who is meant.
pub async fn observe(access: &Access, config: &Config, depth: Depth) -> Result<Observed, Failure> {
    let (clusters, identities) = join(
        federation::clusters(access, config),
        whoami::identities(access, config),
    )
    .await;
    let clusters = clusters?;
    let identities = identities?;
    let names: Vec<&str> = clusters.iter().map(|cluster| cluster.name()).collect();
    access.check_members(&names)?;
    let members = join_all(
        clusters
            .iter()
            .map(|cluster| federation::member(access, config, cluster)),
    );
    let (members, (rbac, objects), controller_manager) = join3(
        members,
        read_rbac(access),
        federation::controller_manager(access),
    )
    .await;
    let mut members: Vec<Member> = members;
    if config.task != Task::List {
        try_all(access, &identities, &mut members).await;
    }
    federation::look_into_members(access, config, &depth, &clusters, &mut members).await;
    // While a repair is verified, what subjects may do does not matter.
    if config.task == Task::Grant && depth == Depth::Overview {
        rights::read(access, &identities, &mut members).await;
    }
    let may_grant = match config.task {
        Task::Grant => rights::to_grant(access, config).await,
        Task::Revoke | Task::List => Part::Absent,
    };
    Ok(Observed {
        control_plane: ControlPlane {
            server: access.control_plane().server().to_owned(),
            commands: access.commands(&DockerChoice::Found),
            own_command: access.own_command(),
        },
        identities,
        members,
        rbac,
        objects,
        may_grant,
        patience: match depth {
            Depth::Overview => PATIENCE,
            Depth::Proof(_) => PATIENCE_OF_A_REPAIR,
        },
        controller_manager,
    })
}

/// What came of asking a member's `/api` as an identity.
pub async fn tried(access: &Access, identity: &Identity, member: &str) -> Answer {
    let path = format!("{}/api", proxy_path(member));
    let Ok(request) = Request::get(&path).body(Vec::new()) else {
        return Answer::Odd {
            message: format!("{path} is no path"),
        };
    };
    answer(
        access
            .ask_on_behalf(somebody(identity).as_ref(), request)
            .await,
    )
}

/// Whom requests as an identity name; `None` = the caller, who sends his own.
fn somebody(identity: &Identity) -> Option<OnBehalf> {
    if identity.is_caller {
        return None;
    }
    Some(OnBehalf {
        user: identity.account.user_name()?,
        groups: identity.groups.clone(),
    })
}

fn answer(response: Result<(Response, std::time::Duration), NoAnswer>) -> Answer {
    match response {
        Ok((response, took)) => Answer::read(
            response.status.as_u16(),
            &response.message(),
            u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        ),
        Err(NoAnswer {
            message,
            timed_out: true,
        }) => Answer::Unreachable { message },
        Err(NoAnswer { message, .. }) => Answer::Odd { message },
    }
}

async fn try_all(access: &Access, identities: &[Identity], members: &mut [Member]) {
    let attempts: Vec<(usize, &Identity, String)> = members
        .iter()
        .enumerate()
        .filter(|(_, member)| !member.is_being_deleted())
        .flat_map(|(index, member)| {
            identities
                .iter()
                .filter(|identity| !matches!(identity.account, Account::Group { .. }))
                .map(move |identity| (index, identity, member.name().to_owned()))
        })
        .collect();
    let answers: Vec<(usize, String, Answer)> = iter(attempts)
        .map(|(index, identity, member)| async move {
            let subject = identity.account.subject().to_string();
            (index, subject, tried(access, identity, &member).await)
        })
        .buffer_unordered(AT_ONCE)
        .collect()
        .await;
    for (index, subject, answer) in answers {
        members[index].answers.insert(subject, answer);
    }
}

/// What leads to members, and this plugin's objects as a whole.
async fn read_rbac(access: &Access) -> (Part<Rbac>, BTreeMap<String, Value>) {
    let list = |resource: &str| {
        let path = format!("/apis/{RBAC_GROUP}/v1/{resource}");
        async move { access.control_plane().list::<Value>(&path).await }
    };
    let (roles, bindings) = join(list("clusterroles"), list("clusterrolebindings")).await;
    let (roles, bindings) = match (roles, bindings) {
        (
            Ok(List { items: roles, .. }),
            Ok(List {
                items: bindings, ..
            }),
        ) => (roles, bindings),
        (Err(error), _) | (_, Err(error)) => {
            return (Part::Unreadable(error.to_string()), BTreeMap::new());
        }
    };
    let objects = [("ClusterRole", &roles), ("ClusterRoleBinding", &bindings)]
        .into_iter()
        .flat_map(|(kind, objects)| {
            objects.iter().filter_map(move |object| {
                let name = object["metadata"]["name"].as_str()?;
                let mut object = object.clone();
                // Items of a list do not repeat what they are.
                object["apiVersion"] = Value::String(format!("{RBAC_GROUP}/v1"));
                object["kind"] = Value::String(kind.to_owned());
                name.starts_with(grant::PREFIX)
                    .then(|| (format!("{kind}/{name}"), object))
            })
        })
        .collect();
    let read = || -> Result<Rbac, serde_json::Error> {
        let roles = roles.into_iter().map(serde_json::from_value::<Role>);
        let bindings = bindings.into_iter().map(serde_json::from_value::<Binding>);
        Ok(Rbac::of(
            roles.collect::<Result<_, _>>()?,
            bindings.collect::<Result<_, _>>()?,
        ))
    };
    match read() {
        Ok(rbac) => (Part::Seen(rbac), objects),
        Err(error) => (
            Part::Unreadable(format!("a role or binding cannot be understood: {error}")),
            BTreeMap::new(),
        ),
    }
}

/// How many attempts are on their way at once.
const AT_ONCE: usize = 16;
