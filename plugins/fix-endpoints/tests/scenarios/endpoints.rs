//! Endpoints of members, as they are and as they are planned.

use karmada_lab::Lab;
use karmada_scenarios::{Said, state};
use serde_json::json;

/// The endpoint of a Cluster.
pub(crate) fn endpoint(lab: &dyn Lab, cluster: &str) -> String {
    let cluster = state::cluster(lab, cluster);
    cluster["spec"]["apiEndpoint"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

/// The endpoint at which the first server of a member is dialled over its home network.
pub(crate) fn home_endpoint(lab: &dyn Lab, member: &str) -> String {
    let cluster = lab.spec().member(member);
    let (server, network) = (cluster.first_server(), cluster.home_network());
    let address = lab.docker().address(&server, &network).unwrap();
    format!("https://{address}:{}", cluster.api_port())
}

/// Changes the endpoint of a Cluster.
pub(crate) fn set_endpoint(lab: &dyn Lab, cluster: &str, endpoint: &str) {
    state::patch_cluster(lab, cluster, &json!({"spec": {"apiEndpoint": endpoint}}));
}

/// The note on a Cluster that delivery was never proven.
pub(crate) fn unproven(lab: &dyn Lab, cluster: &str) -> bool {
    state::annotations(lab, cluster)["karmada-repair/delivery-unproven"].is_string()
}

/// The endpoints that the steps of a JSON report set, in order.
#[track_caller]
pub(crate) fn planned(said: &Said) -> Vec<String> {
    said.json()["steps"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|step| step["summary"].as_str())
        .filter_map(|summary| summary.split("set spec.apiEndpoint to ").nth(1))
        .map(|rest| rest.split([',', ' ']).next().unwrap_or_default().to_owned())
        .collect()
}
