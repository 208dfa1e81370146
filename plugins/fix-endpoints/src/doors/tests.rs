use karmada_repair::part::Part;
use serde_json::json;

use super::*;
use crate::config::Config;
use crate::direct::{Direct, DirectView, Kin};
use crate::fixture::*;
use crate::observed::Observed;
use crate::proxy_answer::ProxyAnswer;
use crate::vantage::Tried;

fn urls(doors: &[Door]) -> Vec<String> {
    doors.iter().map(|door| door.endpoint.to_string()).collect()
}

fn nodes() -> Value {
    json!({"items": [
        {"metadata": {"labels": {}}, "status": {"addresses": [{"type": "InternalIP", "address": "10.0.0.9"}]}},
        {
            "metadata": {"labels": {"node-role.kubernetes.io/control-plane": "true"}},
            "status": {"addresses": [
                {"type": "Hostname", "address": "n1"},
                {"type": "InternalIP", "address": "10.0.0.5"},
                {"type": "InternalIP", "address": "10.0.0.6"}
            ]}
        }
    ]})
}

#[test]
fn addresses_come_from_kubeconfig_service_and_nodes() {
    let slice = json!({
        "endpoints": [{"addresses": ["10.0.0.5"]}],
        "ports": [{"name": "metrics", "port": 1}, {"name": "https", "port": 6444}]
    });
    assert_eq!(
        urls(&doors("https://api.example:443", &slice, &nodes())),
        [
            "https://api.example:443",
            "https://10.0.0.5:6444",
            "https://10.0.0.6:6444"
        ]
    );
    let endpoints = json!({"subsets": [
        {"addresses": [{"ip": "10.0.0.7"}], "ports": [{"name": "https", "port": 8443}]}
    ]});
    assert_eq!(
        urls(&doors("https://127.0.0.1:6550", &endpoints, &Value::Null)),
        ["https://10.0.0.7:8443"]
    );
    assert_eq!(
        urls(&doors("https://127.0.0.1:6550", &Value::Null, &nodes())),
        ["https://10.0.0.5:6443", "https://10.0.0.6:6443"]
    );
    assert_eq!(
        urls(&doors(
            "https://0.0.0.0:6550",
            &Value::Null,
            &json!({"items": []})
        )),
        Vec::<String>::new()
    );
}

/// A member on no container here, of which its own API tells three addresses; one of them is not in its certificate.
fn elsewhere() -> Observed {
    let mut observed = field_report();
    observed.members.truncate(1);
    let docker = docker(&mut observed);
    docker.containers.retain(|container| container.name == HOST);
    let (certificate, authority) = served(&["10.0.0.5", "10.0.0.6"]);
    let member = &mut observed.members[0];
    member.served.clear();
    member.secret = Part::Seen(crate::observe::secret(&secret(&[
        ("token", "t"),
        ("caBundle", &authority),
    ])));
    let slice = json!({
        "endpoints": [{"addresses": ["10.0.0.4", "10.0.0.5", "10.0.0.6"]}],
        "ports": [{"name": "https", "port": 6443}]
    });
    member.direct = Direct::Seen(Box::new(DirectView {
        context: "a".to_owned(),
        is_given: true,
        kin: Kin::Recorded,
        uid: "u-1".to_owned(),
        server: "https://127.0.0.1:6551".to_owned(),
        served: Part::Seen(certificate),
        doors: doors("https://127.0.0.1:6551", &slice, &Value::Null),
        account: Part::Absent,
        impersonator: Part::Absent,
    }));
    observed
}

fn set(observed: &mut Observed, address: &str, reach: Reach) {
    let from = HOST.to_owned();
    observed.members[0]
        .tried
        .insert(format!("https://{address}:6443"), Tried { from, reach });
}

#[track_caller]
fn check(observed: &Observed, expected: Option<(&str, Option<&str>)>) {
    let plan = planned(observed, &Config::default());
    let step = plan.steps.first();
    let found = step.map(|step| (step.action.sentence(), step.caution.as_deref()));
    let expected = expected.map(|(address, caution)| {
        (
            format!(
                "patch cluster/cluster-a: set spec.apiEndpoint to https://{address}:6443, \
                 annotate karmada-repair/delivery-unproven=2026-11-30T12:00:00Z"
            ),
            caution,
        )
    });
    assert_eq!(found, expected);
}

const UNTRIED: &str = "it was not tried from where the control plane dials";

#[test]
fn the_first_address_that_answers_where_the_control_plane_dials_is_taken() {
    let mut observed = elsewhere();
    check(&observed, Some(("10.0.0.5", Some(UNTRIED))));
    set(&mut observed, "10.0.0.5", Reach::Refused);
    check(&observed, Some(("10.0.0.6", Some(UNTRIED))));
    set(&mut observed, "10.0.0.6", Reach::Open);
    check(&observed, Some(("10.0.0.6", None)));
    set(&mut observed, "10.0.0.5", Reach::Open);
    check(&observed, Some(("10.0.0.5", None)));
}

#[test]
fn an_address_that_does_not_answer_there_is_not_taken() {
    let mut observed = elsewhere();
    set(&mut observed, "10.0.0.5", Reach::Refused);
    set(&mut observed, "10.0.0.6", Reach::NoAnswer);
    check(&observed, None);
    let codes = codes(&observed, &Config::default());
    assert!(
        codes.contains(&"error address-not-answering cluster-a".to_owned()),
        "{codes:?}"
    );
}

#[test]
fn an_address_served_under_another_authority_is_not_taken() {
    let mut observed = elsewhere();
    if let Direct::Seen(view) = &mut observed.members[0].direct {
        view.doors[1].served = Part::Seen(served(&["10.0.0.5"]).0);
    }
    check(&observed, Some(("10.0.0.6", Some(UNTRIED))));
}

#[test]
fn an_address_that_may_be_right_is_changed_only_when_the_control_plane_fails_there() {
    let mut observed = elsewhere();
    observed.members[0].cluster.spec.api_endpoint = Some("https://10.9.9.9:6443".to_owned());
    check(&observed, None);
    let answers = [
        ("dial tcp 10.9.9.9:6443: i/o timeout", true),
        ("x509: certificate signed by unknown authority", false),
        (
            "the impersonatorSecretRef of cluster cluster-a is nil",
            false,
        ),
    ];
    for (answer, moves) in answers {
        observed.members[0].proxy = Some(ProxyAnswer::read(503, answer));
        check(&observed, moves.then_some(("10.0.0.5", Some(UNTRIED))));
    }
    observed.members[0].proxy = None;
    make_ready(&mut observed.members[0]);
    check(&observed, None);
}
