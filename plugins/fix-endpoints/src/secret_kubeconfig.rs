//! The kubeconfig that a recipe left in a member's secret: read, and its servers rewritten. Pure.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use karmada_repair::tls::Verdict;
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;

use crate::credentials;
use crate::endpoint::Endpoint;
use crate::examine::Examination;
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

/// The CA certificates in it (base64 of PEM) that did not sign what the member presents, where those that the control plane
/// stores, or is to store, did.
pub fn stale_authorities(
    kubeconfig: &SecretKubeconfig,
    member: &Member,
    examination: &Examination<'_>,
    now: Timestamp,
) -> Vec<String> {
    let SecretKubeconfig::Kubeconfig { encoded, .. } = kubeconfig else {
        return Vec::new();
    };
    let of_container = examination
        .home
        .as_ref()
        .and_then(|home| member.certificate_of(home));
    let of_context = || member.direct.seen().and_then(|view| view.served.seen());
    let (Some(presented), Some(right)) = (
        of_container.or_else(of_context),
        credentials::authority(member, now),
    ) else {
        return Vec::new();
    };
    let signed = |authority: &str| {
        credentials::judged(presented, authority, now) != Verdict::UnknownAuthority
    };
    let mut stale: Vec<String> = decoded(encoded.expose_secret())
        .map(|text| values(&text, "/cluster/certificate-authority-data"))
        .unwrap_or_default()
        .into_iter()
        .filter(|encoded| decoded(encoded).is_some_and(|pem| signed(&right) && !signed(&pem)))
        .collect();
    stale.sort();
    stale.dedup();
    stale
}

/// Texts of a kubeconfig that are replaced.
#[derive(Debug, Default)]
pub struct Replaced<'a> {
    /// Servers, all by the same one.
    pub servers: Vec<String>,
    /// What replaces them; empty where none is.
    pub server: String,
    /// CA certificates (base64 of PEM), all by the same ones.
    pub authorities: &'a [String],
    /// What replaces them, in PEM; empty where none is.
    pub authority: String,
}

/// The kubeconfig with these texts replaced and every other byte kept, in base64; `None` when that is not what comes
/// out, because one of them stands elsewhere in it too.
pub fn rewritten(encoded: &str, replaced: &Replaced<'_>) -> Option<String> {
    let text = decoded(encoded)?;
    let authority = STANDARD.encode(&replaced.authority);
    let changes = [
        ("server", replaced.servers.as_slice(), &replaced.server),
        (
            "certificate-authority-data",
            replaced.authorities,
            &authority,
        ),
    ];
    let mut expected: Value = serde_saphyr::from_str(&text).ok()?;
    for cluster in expected.get_mut("clusters")?.as_array_mut()? {
        for (field, old, new) in &changes {
            let value = cluster
                .get_mut("cluster")
                .and_then(|cluster| cluster.get_mut(*field));
            if let Some(value) = value
                && value
                    .as_str()
                    .is_some_and(|value| old.iter().any(|old| old == value))
            {
                *value = Value::String((*new).clone());
            }
        }
    }
    let changed = changes.iter().fold(text, |text, (_, old, new)| {
        old.iter()
            .fold(text, |text, old| text.replace(old.as_str(), new))
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
    value.get("clusters")?.as_array()?;
    Some(values(text, "/cluster/server"))
}

/// The texts at a place (RFC 6901) of each cluster.
fn values(text: &str, place: &str) -> Vec<String> {
    let value: Value = serde_saphyr::from_str(text).unwrap_or_default();
    value["clusters"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|cluster| cluster.pointer(place)?.as_str())
        .map(str::to_owned)
        .collect()
}
