//! Members that a plan would lead to the same place: one of them is taken for what it is not. Pure.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::config::Config;
use crate::endpoint::Endpoint;
use crate::examine::{Examination, Remedy, examine};
use crate::observed::{Member, Observed};

/// A place that two members would share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Collision {
    /// The other member.
    pub other: String,
    /// Where both would be.
    pub place: String,
}

/// The members whose plan leads where another member is, or is planned to be, by name.
pub fn collisions(
    observed: &Observed,
    config: &Config,
    now: Timestamp,
) -> BTreeMap<String, Collision> {
    let places: Vec<(&Member, Place)> = observed
        .members
        .iter()
        .filter(|member| member.is_dialled())
        .filter_map(|member| {
            let place = place(member, &examine(member, observed, config, now))?;
            Some((member, place))
        })
        .collect();
    let mut collisions = BTreeMap::new();
    for (member, place) in places.iter().filter(|(_, place)| place.is_planned) {
        let other = places
            .iter()
            .find(|(other, there)| other.name() != member.name() && place.is_that_of(there));
        if let Some((other, _)) = other {
            let collision = Collision {
                other: other.name().to_owned(),
                place: place.to_string(),
            };
            collisions.insert(member.name().to_owned(), collision);
        }
    }
    collisions
}

/// Where a member is dialled in the end.
struct Place {
    endpoint: Endpoint,
    /// The container's ID and name, where it is one.
    container: Option<(String, String)>,
    is_planned: bool,
}

impl Place {
    fn is_that_of(&self, other: &Place) -> bool {
        let same_container = match (&self.container, &other.container) {
            (Some((one, _)), Some((other, _))) => one == other,
            _ => false,
        };
        self.endpoint.leads_where(&other.endpoint)
            || (same_container && self.endpoint.port() == other.endpoint.port())
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.container {
            Some((_, name)) => write!(f, "port {} of {name}", self.endpoint.port()),
            None => write!(f, "{}", self.endpoint),
        }
    }
}

/// `None` where nobody knows: nothing is planned, and it is not reached.
fn place(member: &Member, examination: &Examination<'_>) -> Option<Place> {
    let planned = |endpoint: &Endpoint| Place {
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
        Remedy::Nothing if member.is_reached() => {
            let endpoint = member.endpoint()?;
            let server = examination
                .home
                .as_ref()
                .and_then(|home| home.servers.first());
            Some(Place {
                endpoint,
                container: server.map(|server| (server.id.clone(), server.name.clone())),
                is_planned: false,
            })
        }
        Remedy::Nothing | Remedy::Blocked(_) => None,
    }
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
}
