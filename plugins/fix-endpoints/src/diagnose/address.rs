//! Findings about the address at which a member is dialled. Pure.

use karmada_repair::finding::{Finding, Severity};

use crate::diagnose::about;
use crate::endpoint::Endpoint;
use crate::examine::{Examination, Fault, Remedy};
use crate::observed::Member;

/// The code of an address fault.
pub fn code(fault: &Fault) -> &'static str {
    match fault {
        Fault::Missing => "endpoint-missing",
        Fault::Malformed(_) => "endpoint-malformed",
        Fault::OwnHost => "endpoint-own-host",
        Fault::Stale => "endpoint-stale",
        Fault::WrongPort(_) => "endpoint-wrong-port",
        Fault::NotCertified => "endpoint-not-certified",
        Fault::NotShared(_) => "network-not-shared",
        Fault::NotAsGiven => "endpoint-not-as-given",
        Fault::UnknownName => "endpoint-unknown-name",
        Fault::FinalSlash => "endpoint-final-slash",
        Fault::Unreached => "endpoint-unreached",
        Fault::NotByName => "endpoint-not-by-name",
        Fault::ProxyInTheWay => "proxy-url-in-the-way",
    }
}

pub(super) fn of_fault(member: &Member, fault: &Fault, examination: &Examination<'_>) -> Finding {
    let actual = member.cluster.spec.api_endpoint.clone();
    let shown = actual.clone().unwrap_or_default();
    let severity = match fault {
        Fault::FinalSlash => Severity::Warning,
        Fault::NotShared(_) if member.cluster.is_ready() => Severity::Warning,
        _ => Severity::Error,
    };
    let message = match fault {
        Fault::Missing => "it has no endpoint to dial".to_owned(),
        Fault::Malformed(error) => format!("its endpoint {shown} cannot be dialled: {error}"),
        Fault::OwnHost => format!("the control plane dials {shown}, which leads back to itself"),
        Fault::Stale => {
            format!("the control plane dials {shown}, an address that the member does not hold now")
        }
        Fault::WrongPort(port) => {
            format!("the control plane dials {shown}, and the member listens on port {port}")
        }
        Fault::NotCertified => {
            format!("the control plane dials {shown}, which the member's certificate does not name")
        }
        Fault::NotShared(containers) => format!(
            "{} and the member share no network over which {shown} could be reached",
            containers.join(", ")
        ),
        Fault::NotAsGiven => {
            format!("the control plane dials {shown}, not the endpoint given with --endpoint")
        }
        Fault::UnknownName => {
            format!("the control plane dials {shown}, a name that it does not know")
        }
        Fault::Unreached => format!(
            "the control plane fails to reach it at {shown}, and the member tells of another address"
        ),
        Fault::NotByName => format!(
            "the control plane dials {shown}, an address, where --by-name asks for the name of its container"
        ),
        Fault::ProxyInTheWay => format!(
            "the control plane dials it through {}, which does not let it through, and {shown} answers without",
            member.cluster.spec.proxy_url.as_deref().unwrap_or_default()
        ),
        Fault::FinalSlash => format!(
            "its endpoint {shown} ends in a slash, for which the proxy answers 404 to requests for single objects"
        ),
    };
    let mut finding = about(member, code(fault), severity, message);
    finding.actual = match fault {
        Fault::ProxyInTheWay => member.cluster.spec.proxy_url.clone(),
        _ => actual,
    };
    finding.expected = match &examination.remedy {
        Remedy::Take(route) => Some(route.endpoint.to_string()),
        Remedy::Dial(door) => Some(door.endpoint.to_string()),
        Remedy::Write(endpoint) => Some(endpoint.to_string()),
        Remedy::Nothing | Remedy::Bypass(_) | Remedy::Blocked(_) => None,
    };
    finding
}

/// Where the member is to be dialled in the end: the remedy's endpoint, else the one that is there.
pub fn wanted_endpoint(member: &Member, examination: &Examination<'_>) -> Option<Endpoint> {
    match &examination.remedy {
        Remedy::Take(route) => Some(route.endpoint.clone()),
        Remedy::Dial(door) => Some(door.endpoint.clone()),
        Remedy::Write(endpoint) | Remedy::Bypass(endpoint) => Some(endpoint.clone()),
        Remedy::Nothing => Endpoint::parse(member.cluster.spec.api_endpoint.as_deref()?).ok(),
        Remedy::Blocked(_) => None,
    }
}
