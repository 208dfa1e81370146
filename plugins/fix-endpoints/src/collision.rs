//! Members that a plan would lead to the same place: one of them is taken for what it is not. Pure.

use std::collections::BTreeMap;

use jiff::Timestamp;
use karmada_repair::karmada::{Cluster, SyncMode};

use crate::config::Config;
use crate::endpoint::Endpoint;
use crate::examine::{Examination, Remedy, examine};
use crate::observed::{Member, Observed};

/// A place that two members would share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Collision {
    /// The other member.
    pub other: String,
    /// Where both are, or would be.
    pub place: String,
    /// Whether a plan leads there; else the control plane dials it there now.
    pub is_planned: bool,
}

/// The members that are, or would be, where another member is, by name: all clusters count as others, selected or not.
///
/// Of two, the one whose plan leads there is meant; where nothing is planned for either, both.
pub fn collisions(
    observed: &Observed,
    config: &Config,
    now: Timestamp,
) -> BTreeMap<String, Collision> {
    let selected: Vec<Place<'_>> = observed
        .members
        .iter()
        .filter(|member| config.examines(member))
        .filter_map(|member| place(member, &examine(member, observed, config, now)))
        .collect();
    let others: Vec<Place<'_>> = observed.others.iter().filter_map(unexamined).collect();
    let mut collisions = BTreeMap::new();
    for place in &selected {
        let other = selected
            .iter()
            .chain(&others)
            .filter(|other| other.name != place.name)
            .find(|other| place.is_that_of(other) && (place.is_planned || !other.is_planned));
        if let Some(other) = other {
            let collision = Collision {
                other: other.name.to_owned(),
                place: place.to_string(),
                is_planned: place.is_planned,
            };
            collisions.insert(place.name.to_owned(), collision);
        }
    }
    collisions
}

/// Where a member is dialled in the end.
struct Place<'a> {
    name: &'a str,
    endpoint: Endpoint,
    /// The proxy through which it is dialled: behind two of them, one address is two places.
    proxy: Option<&'a str>,
    /// The container's ID and name, where it is one.
    container: Option<(String, String)>,
    is_planned: bool,
}

impl Place<'_> {
    fn is_that_of(&self, other: &Place<'_>) -> bool {
        let same_container = match (&self.container, &other.container) {
            (Some((one, _)), Some((other, _))) => one == other,
            _ => false,
        };
        (self.proxy == other.proxy && self.endpoint.leads_where(&other.endpoint))
            || (same_container && self.endpoint.port() == other.endpoint.port())
    }
}

impl std::fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.container {
            Some((_, name)) => write!(f, "port {} of {name}", self.endpoint.port()),
            None => write!(f, "{}", self.endpoint),
        }
    }
}

/// `None` where nobody knows: nothing is planned, and it is not reached.
fn place<'a>(member: &'a Member, examination: &Examination<'_>) -> Option<Place<'a>> {
    let proxy = member.cluster.spec.proxy_url.as_deref();
    let planned = |endpoint: &Endpoint| Place {
        name: member.name(),
        proxy,
        endpoint: endpoint.clone(),
        container: None,
        is_planned: true,
    };
    match &examination.remedy {
        Remedy::Take(route) => Some(Place {
            container: Some((route.server.id.clone(), route.server.name.clone())),
            ..planned(&route.endpoint)
        }),
        Remedy::Dial(door) => Some(planned(&door.endpoint)),
        Remedy::Write(endpoint) => Some(planned(endpoint)),
        Remedy::Bypass(endpoint) => Some(Place {
            proxy: None,
            ..planned(endpoint)
        }),
        Remedy::Nothing if member.is_reached() => {
            let endpoint = member.endpoint()?;
            let server = examination
                .home
                .as_ref()
                .and_then(|home| home.servers.first());
            Some(Place {
                name: member.name(),
                endpoint,
                proxy,
                container: server.map(|server| (server.id.clone(), server.name.clone())),
                is_planned: false,
            })
        }
        Remedy::Nothing | Remedy::Blocked(_) => None,
    }
}

/// Where a cluster is that was not selected, if the controllers reach it there.
fn unexamined(cluster: &Cluster) -> Option<Place<'_>> {
    let is_dialled = cluster.spec.sync_mode == SyncMode::Push;
    let endpoint = cluster.spec.api_endpoint.as_deref()?;
    (is_dialled && cluster.is_ready()).then_some(Place {
        name: &cluster.metadata.name,
        endpoint: Endpoint::parse(endpoint).ok()?,
        proxy: cluster.spec.proxy_url.as_deref(),
        container: None,
        is_planned: false,
    })
}

#[cfg(test)]
mod tests {
    use karmada_repair::part::Part;

    use super::*;
    use crate::fixture::*;

    #[track_caller]
    fn check(observed: &Observed, config: &Config, expected: &[&str]) {
        let found: Vec<String> = codes(observed, config)
            .into_iter()
            .filter(|code| code.contains("same-address"))
            .collect();
        assert_eq!(found, expected);
        let plan = planned(observed, config);
        for member in expected.iter().filter_map(|code| code.split(' ').nth(2)) {
            assert!(
                plan.steps.iter().all(|step| step.subject.name != member),
                "{member} is written to: {:?}",
                sentences(&plan)
            );
        }
    }

    fn by_hand(endpoints: &[(&str, &str)]) -> Config {
        let endpoints = endpoints.iter().map(|(name, url)| {
            let endpoint = Endpoint::given(url).expect("a URL");
            ((*name).to_owned(), endpoint)
        });
        Config {
            endpoints: endpoints.collect(),
            ..Config::default()
        }
    }

    #[test]
    fn members_at_places_of_their_own_do_not_collide() {
        check(&field_report(), &Config::default(), &[]);
    }

    #[test]
    fn two_plans_that_lead_to_one_container_are_both_refused() {
        let mut observed = field_report();
        // The container of cluster-b is gone; its port was taken by that of cluster-a, with a certificate of both.
        docker(&mut observed)
            .containers
            .retain(|container| container.name != "k3d-cluster-b-server-0");
        publish(found(&mut observed, "k3d-cluster-a-server-0"), 6552, 6443);
        let stolen = observed.members[0].clone();
        let other = &mut observed.members[1];
        other.served = stolen.served;
        if let (Part::Seen(secret), Part::Seen(theirs)) = (&mut other.secret, &stolen.secret) {
            secret.ca_bundle = theirs.ca_bundle.clone();
        }
        check(
            &observed,
            &Config::default(),
            &[
                "error same-address cluster-a",
                "error same-address cluster-b",
            ],
        );
    }

    #[test]
    fn endpoints_given_by_hand_collide_too() {
        let observed = field_report();
        let url = "https://192.168.1.20:6443";
        check(
            &observed,
            &by_hand(&[("cluster-a", url), ("cluster-b", url)]),
            &[
                "error same-address cluster-a",
                "error same-address cluster-b",
            ],
        );
        check(
            &observed,
            &by_hand(&[("cluster-b", "https://172.20.0.3:6443")]),
            &[
                "error same-address cluster-a",
                "error same-address cluster-b",
            ],
        );
    }

    #[test]
    fn only_the_newcomer_is_refused_where_another_member_is_reached() {
        let mut observed = field_report();
        let member = &mut observed.members[0];
        member.cluster.spec.api_endpoint = Some("https://172.20.0.3:6443".to_owned());
        make_ready(member);
        attach(
            found(&mut observed, HOST),
            "k3d-cluster-a",
            Some("172.20.0.4"),
        );
        check(
            &observed,
            &by_hand(&[("cluster-b", "https://172.20.0.3:6443")]),
            &["error same-address cluster-b"],
        );
    }

    #[test]
    fn members_that_were_not_selected_count_too() {
        let mut observed = field_report();
        let mut other = observed.members.remove(0).cluster;
        other.spec.api_endpoint = Some("https://172.21.0.3:6443".to_owned());
        other.status.conditions = vec![condition("True", "ClusterReady")];
        observed.others = vec![other];
        check(
            &observed,
            &Config::default(),
            &["error same-address cluster-b"],
        );
        observed.others[0].spec.proxy_url = Some("http://10.0.0.9:3128".to_owned());
        check(&observed, &Config::default(), &[]);
        observed.others[0].spec.proxy_url = None;
        observed.others[0].status.conditions = Vec::new();
        check(&observed, &Config::default(), &[]);
    }

    #[test]
    fn members_that_are_in_one_place_already_are_found() {
        let mut observed = field_report();
        for member in &mut observed.members {
            member.cluster.spec.api_endpoint = Some("https://192.168.1.20:6443".to_owned());
            make_ready(member);
        }
        check(
            &observed,
            &Config::default(),
            &[
                "error same-address cluster-a",
                "error same-address cluster-b",
            ],
        );
    }
}
