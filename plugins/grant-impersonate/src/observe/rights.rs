//! What subjects may do in members, and what the caller may do to grant.

use futures::stream::{StreamExt, iter};
use http::Request;
use http::header::{ACCEPT, CONTENT_TYPE};
use karmada_repair::access::Access;
use karmada_repair::cluster::client::DryRun;
use karmada_repair::karmada::proxy_path;
use karmada_repair::part::Part;
use serde_json::{Value, json};

use crate::account::{Identity, RBAC_GROUP};
use crate::config::Config;
use crate::grant::CARRIED;
use crate::observe::{AT_ONCE, somebody};
use crate::observed::{MayGrant, Member, Rights};
use crate::rbac::{KARMADA_GROUP, PROXY};

/// Whether it is asked what subjects may do: of very many, only whether they pass.
pub fn are_asked_for(identities: &[Identity], members: usize) -> bool {
    identities.len() * members <= MOST_ASKED
}

/// Reads what those who pass may do.
pub(super) async fn read(access: &Access, identities: &[Identity], members: &mut [Member]) {
    if !are_asked_for(identities, members.len()) {
        return;
    }
    let questions: Vec<(usize, &Identity, String)> = members
        .iter()
        .enumerate()
        .flat_map(|(index, member)| {
            identities
                .iter()
                .filter(|identity| {
                    member
                        .answer(&identity.account)
                        .is_some_and(crate::answer::Answer::passes)
                })
                .map(move |identity| (index, identity, member.name().to_owned()))
        })
        .collect();
    let answers: Vec<(usize, String, Part<Rights>)> = iter(questions)
        .map(|(index, identity, member)| async move {
            let subject = identity.account.subject().to_string();
            (index, subject, of(access, identity, &member).await)
        })
        .buffer_unordered(AT_ONCE)
        .collect()
        .await;
    for (index, subject, rights) in answers {
        members[index].rights.insert(subject, rights);
    }
}

/// What an identity may do in a member: the caller asks the member about it, else the identity asks about itself.
pub async fn of(access: &Access, identity: &Identity, member: &str) -> Part<Rights> {
    for (rights, attributes) in questions() {
        let allowed = match ask_about(access, identity, member, &attributes).await {
            Ok(allowed) => allowed,
            Err(_) => match ask_as(access, identity, member, &attributes).await {
                Ok(allowed) => allowed,
                Err(reason) => return Part::Unreadable(reason),
            },
        };
        if allowed {
            return Part::Seen(rights);
        }
    }
    Part::Seen(Rights::Nothing)
}

/// From the most to the least.
fn questions() -> [(Rights, Value); 3] {
    let attributes = |group: &str, resource: &str, verb: &str| json!({"group": group, "resource": resource, "verb": verb});
    [
        (Rights::Everything, attributes("*", "*", "*")),
        (Rights::Write, attributes("apps", "deployments", "create")),
        (Rights::Read, attributes("", "pods", "list")),
    ]
}

/// A SubjectAccessReview in the member, sent as the caller.
async fn ask_about(
    access: &Access,
    identity: &Identity,
    member: &str,
    attributes: &Value,
) -> Result<bool, String> {
    let user = identity
        .account
        .user_name()
        .ok_or("a group sends no requests")?;
    // What the member's API server adds to whoever has proven who he is.
    let groups: Vec<&str> = identity
        .groups
        .iter()
        .map(String::as_str)
        .chain(["system:authenticated"])
        .collect();
    let review = json!({
        "apiVersion": AUTHORIZATION, "kind": "SubjectAccessReview",
        "spec": {"user": user, "groups": groups, "resourceAttributes": attributes},
    });
    let path = format!(
        "{}/apis/{AUTHORIZATION}/subjectaccessreviews",
        proxy_path(member)
    );
    let answer = access
        .control_plane()
        .create(&path, &review, DryRun::Off)
        .await
        .map_err(|error| error.to_string())?;
    decision(&answer)
}

/// A SelfSubjectAccessReview in the member, sent on behalf of the identity: everybody may ask about himself.
async fn ask_as(
    access: &Access,
    identity: &Identity,
    member: &str,
    attributes: &Value,
) -> Result<bool, String> {
    let review = json!({
        "apiVersion": AUTHORIZATION, "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": attributes},
    });
    let path = format!(
        "{}/apis/{AUTHORIZATION}/selfsubjectaccessreviews",
        proxy_path(member)
    );
    let request = Request::post(&path)
        .header(ACCEPT, JSON)
        .header(CONTENT_TYPE, JSON)
        .body(review.to_string().into_bytes())
        .map_err(|error| error.to_string())?;
    let (answer, _) = access
        .ask_on_behalf(somebody(identity).as_ref(), request)
        .await
        .map_err(|error| error.to_string())?;
    match answer.status.is_success() {
        true => decision(&answer.decode::<Value>()?),
        false => Err(answer.message()),
    }
}

fn decision(review: &Value) -> Result<bool, String> {
    review["status"]["allowed"]
        .as_bool()
        .ok_or_else(|| "the review has no decision".to_owned())
}

/// What the caller may do to grant, by SelfSubjectAccessReviews in the control plane.
pub(super) async fn to_grant(access: &Access, config: &Config) -> Part<MayGrant> {
    let rbac = |verb: &'static str, resource: &'static str| {
        (
            format!("{verb} {resource}"),
            json!({"group": RBAC_GROUP, "resource": resource, "verb": verb}),
        )
    };
    let writes = [
        rbac("create", "clusterroles"),
        rbac("patch", "clusterroles"),
        rbac("create", "clusterrolebindings"),
        rbac("patch", "clusterrolebindings"),
    ];
    let gives = [
        rbac("escalate", "clusterroles"),
        rbac("bind", "clusterroles"),
    ];
    let (resource, subresource) = PROXY.split_once('/').unwrap_or((PROXY, ""));
    let places: Vec<&str> = match config.members.as_slice() {
        [] => vec![""],
        members => members.iter().map(String::as_str).collect(),
    };
    let verbs = config.verbs.iter().map(String::as_str).chain([CARRIED]);
    let holds = verbs.flat_map(|verb| {
        places.iter().map(move |name| {
            let mut attributes = json!({
                "group": KARMADA_GROUP, "resource": resource, "subresource": subresource, "verb": verb,
            });
            if !name.is_empty() {
                attributes["name"] = json!(name);
            }
            (String::new(), attributes)
        })
    });
    let questions: Vec<(Kind, String, Value)> = writes
        .into_iter()
        .map(|(words, attributes)| (Kind::Write, words, attributes))
        .chain(
            gives
                .into_iter()
                .map(|(words, attributes)| (Kind::Give, words, attributes)),
        )
        .chain(holds.map(|(words, attributes)| (Kind::Hold, words, attributes)))
        .collect();
    let answers: Vec<(Kind, String, Result<bool, String>)> = iter(questions)
        .map(|(kind, words, attributes)| async move {
            (kind, words, ask_about_oneself(access, &attributes).await)
        })
        .buffered(AT_ONCE)
        .collect()
        .await;
    let mut lacks = Vec::new();
    let (mut may_give, mut holds) = (true, true);
    for (kind, words, answer) in answers {
        let allowed = match answer {
            Ok(allowed) => allowed,
            Err(reason) => return Part::Unreadable(reason),
        };
        match kind {
            Kind::Write if !allowed => lacks.push(words),
            Kind::Write => {}
            Kind::Give => may_give &= allowed,
            Kind::Hold => holds &= allowed,
        }
    }
    Part::Seen(MayGrant {
        lacks,
        may_give: may_give || holds,
    })
}

#[derive(Clone, Copy)]
enum Kind {
    Write,
    Give,
    Hold,
}

async fn ask_about_oneself(access: &Access, attributes: &Value) -> Result<bool, String> {
    let review = json!({
        "apiVersion": AUTHORIZATION, "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": attributes},
    });
    let path = format!("/apis/{AUTHORIZATION}/selfsubjectaccessreviews");
    let answer = access
        .control_plane()
        .create(&path, &review, DryRun::Off)
        .await
        .map_err(|error| error.to_string())?;
    decision(&answer)
}

/// Each takes up to three requests.
const MOST_ASKED: usize = 100;
const AUTHORIZATION: &str = "authorization.k8s.io/v1";
const JSON: &str = "application/json";
