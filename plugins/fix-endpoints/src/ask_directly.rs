//! Members are read past the control plane, with contexts of their own.

use std::time::Duration;

use futures::future::{join, join_all, join3};
use jiff::Timestamp;
use karmada_repair::access::{Access, MemberApi, NoMember, Way};
use karmada_repair::cluster::object::ObjectReference;
use karmada_repair::error::chain;
use karmada_repair::part::Part;
use karmada_repair::tls::{ServingCertificate, serving_certificate};
use serde_json::Value;

use crate::config::Config;
use crate::credentials::{account_object, are_doubtful, impersonator_account_object, is_rebuilt};
use crate::direct::{Direct, DirectView, Kin};
use crate::doors::{Door, doors};
use crate::endpoint::Endpoint;
use crate::examine::{Block, Remedy, examine};
use crate::observe::part;
use crate::observed::{Member, Observed};
use crate::place::candidates;
use crate::stored::StoredSecret;

/// Reads the members whose credentials are doubtful, or of which nothing else tells where they are.
pub(crate) async fn ask_directly(
    access: &Access,
    config: &Config,
    observed: &mut Observed,
    now: Timestamp,
) {
    let selected: Vec<&str> = observed.members.iter().map(Member::name).collect();
    let asked = observed
        .members
        .iter()
        .filter(|member| member.is_dialled() && is_worth_asking(member, observed, config, now))
        .map(|member| async {
            let direct = direct(access, member, &selected, observed, now).await;
            (member.name().to_owned(), direct)
        });
    let answers = join_all(asked).await;
    for (name, direct) in answers {
        for member in &mut observed.members {
            if member.name() == name {
                member.direct = direct.clone();
            }
        }
    }
}

fn is_worth_asking(member: &Member, observed: &Observed, config: &Config, now: Timestamp) -> bool {
    let remedy = examine(member, observed, config, now).remedy;
    are_doubtful(member)
        || matches!(&remedy, Remedy::Blocked(block) if block.leaves_the_place_open())
        || matches!(remedy, Remedy::Blocked(Block::OtherAuthority(_)))
}

async fn direct(
    access: &Access,
    member: &Member,
    selected: &[&str],
    observed: &Observed,
    now: Timestamp,
) -> Direct {
    match access.member_directly(&member.cluster, selected).await {
        Ok(Some(api)) => Direct::Seen(Box::new(view(&api, member, Kin::Recorded).await)),
        Ok(None) => Direct::NoWay,
        Err(NoMember::Another { context, cluster }) => {
            let refusal = NoMember::Another { context, cluster }.to_string();
            let Ok(Some(api)) = access.claimed_member(&member.cluster, selected).await else {
                return Direct::Refused(refusal);
            };
            let view = view(&api, member, Kin::Rebuilt).await;
            if is_rebuilt(&view.account, &of_namesakes(member, observed), now) {
                Direct::Seen(Box::new(view))
            } else {
                Direct::Refused(refusal)
            }
        }
        Err(why) => Direct::Unreadable(why.to_string()),
    }
}

/// What containers of clusters with the member's name serve.
fn of_namesakes<'a>(member: &'a Member, observed: &Observed) -> Vec<&'a ServingCertificate> {
    let Some(docker) = observed.docker.seen() else {
        return Vec::new();
    };
    candidates(
        member.name(),
        member.endpoint().as_ref(),
        &docker.containers,
    )
    .iter()
    .filter(|home| home.is_namesake)
    .filter_map(|home| member.certificate_of(home))
    .collect()
}

async fn view(api: &MemberApi, member: &Member, kin: Kin) -> DirectView {
    let server = api.own_server().unwrap_or_default().to_owned();
    let (doors, account, impersonator) = join3(
        doors_of(api, &server),
        secret(api, account_object(member)),
        secret(api, impersonator_account_object(member)),
    )
    .await;
    let served = served(&server).await;
    DirectView {
        context: match api.way() {
            Way::Given(context) | Way::Same(context) => context.clone(),
            Way::Proxy => String::new(),
        },
        is_given: matches!(api.way(), Way::Given(_)),
        kin,
        uid: api.uid().unwrap_or_default().to_owned(),
        server,
        served,
        doors,
        account,
        impersonator,
    }
}

/// The addresses that the member tells of, each with what is served there.
async fn doors_of(api: &MemberApi, server: &str) -> Vec<Door> {
    let (service, nodes) = join(service(api), api.get::<Value>("/api/v1/nodes")).await;
    let mut doors = doors(server, &service, &nodes.unwrap_or_default());
    let seen = join_all(doors.iter().map(|door| {
        let (host, port) = (door.endpoint.host(), door.endpoint.port());
        serving_certificate(host, port, HANDSHAKE)
    }))
    .await;
    for (door, seen) in doors.iter_mut().zip(seen) {
        door.served = seen.map_or_else(|error| Part::Unreadable(chain(&error)), Part::Seen);
    }
    doors
}

/// The endpoints of the Service `kubernetes`, by the newest API that the member has; null when none tells.
async fn service(api: &MemberApi) -> Value {
    for path in [
        "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes",
        "/apis/discovery.k8s.io/v1beta1/namespaces/default/endpointslices/kubernetes",
        "/api/v1/namespaces/default/endpoints/kubernetes",
    ] {
        if let Ok(service) = api.get::<Value>(path).await {
            return service;
        }
    }
    Value::Null
}

async fn served(server: &str) -> Part<ServingCertificate> {
    let endpoint = match Endpoint::parse(server) {
        Ok(endpoint) => endpoint,
        Err(error) => return Part::Unreadable(error.to_string()),
    };
    match serving_certificate(endpoint.host(), endpoint.port(), HANDSHAKE).await {
        Ok(certificate) => Part::Seen(certificate),
        Err(error) => Part::Unreadable(chain(&error)),
    }
}

async fn secret(api: &MemberApi, object: ObjectReference) -> Part<StoredSecret> {
    let read = api.get::<Value>(&object.path()).await;
    part(read.map(|object| StoredSecret::read(&object)))
}

const HANDSHAKE: Duration = Duration::from_secs(3);
