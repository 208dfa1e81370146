//! The kubeconfig that a recipe left in a member's secret: read, and its servers rewritten. Pure.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use secrecy::SecretString;
use serde_json::Value;

use crate::endpoint::Endpoint;
use crate::observed::{Member, SecretKubeconfig};

/// Reads the value of the key as the API has it (base64); `None` = the key is not there.
pub fn read(encoded: Option<&str>) -> SecretKubeconfig {
    let Some(encoded) = encoded else {
        return SecretKubeconfig::Absent;
    };
    if encoded.is_empty() {
        return SecretKubeconfig::Empty;
    }
    let servers = decoded(encoded).and_then(|text| servers(&text));
    match servers {
        Some(servers) if !servers.is_empty() => SecretKubeconfig::Kubeconfig {
            servers,
            encoded: SecretString::from(encoded),
        },
        _ => SecretKubeconfig::Other,
    }
}

/// The servers that must follow the member to `wanted`: those that lead where the member was dialled before, or back
/// to whoever dials them, and the only one in any case.
pub fn stale_servers(servers: &[String], member: &Member, wanted: &Endpoint) -> Vec<String> {
    let before = member
        .cluster
        .spec
        .api_endpoint
        .as_deref()
        .and_then(|text| Endpoint::parse(text).ok());
    let mut stale: Vec<String> = servers
        .iter()
        .filter(|server| match Endpoint::parse(server) {
            Ok(endpoint) if endpoint.leads_where(wanted) => false,
            Ok(endpoint) => {
                servers.len() == 1
                    || endpoint.is_own_host()
                    || before
                        .as_ref()
                        .is_some_and(|before| before.leads_where(&endpoint))
            }
            Err(_) => servers.len() == 1,
        })
        .cloned()
        .collect();
    stale.sort();
    stale.dedup();
    stale
}

/// The kubeconfig with these servers replaced and every other byte kept, in base64; `None` when that is not what comes
/// out, because a server's text stands elsewhere in it too.
pub fn rewritten(encoded: &str, stale: &[String], wanted: &Endpoint) -> Option<String> {
    let text = decoded(encoded)?;
    let mut expected: Value = serde_saphyr::from_str(&text).ok()?;
    for cluster in expected.get_mut("clusters")?.as_array_mut()? {
        let server = cluster
            .get_mut("cluster")
            .and_then(|cluster| cluster.get_mut("server"));
        if let Some(server) = server
            && server
                .as_str()
                .is_some_and(|server| stale.iter().any(|text| text == server))
        {
            *server = Value::String(wanted.to_string());
        }
    }
    let changed = stale.iter().fold(text, |text, server| {
        text.replace(server, &wanted.to_string())
    });
    let found: Value = serde_saphyr::from_str(&changed).ok()?;
    (found == expected).then(|| STANDARD.encode(changed))
}

/// The text behind a value of a secret; `None` = it is not base64, or not text.
pub fn decoded(encoded: &str) -> Option<String> {
    String::from_utf8(STANDARD.decode(encoded).ok()?).ok()
}

fn servers(text: &str) -> Option<Vec<String>> {
    let value: Value = serde_saphyr::from_str(text).ok()?;
    let clusters = value.get("clusters")?.as_array()?;
    Some(
        clusters
            .iter()
            .filter_map(|cluster| cluster.pointer("/cluster/server")?.as_str())
            .map(str::to_owned)
            .collect(),
    )
}
