//! What Karmada's aggregated API server demands of a Cluster. Pure.

use serde_json::Value;
use url::Url;

/// The faults of a Cluster as `(field, message)`.
pub(crate) fn cluster(cluster: &Value) -> Vec<(String, String)> {
    let mut causes = Vec::new();
    let mut fault = |field: &str, message: String| causes.push((field.to_owned(), message));
    let name = cluster["metadata"]["name"].as_str().unwrap_or_default();
    if !is_label(name) {
        let rule = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character";
        fault(
            "metadata.name",
            format!("Invalid value: \"{name}\": {rule}"),
        );
    } else if name.len() > 48 {
        fault(
            "metadata.name",
            format!("Invalid value: \"{name}\": must be no more than 48 characters"),
        );
    }
    let spec = &cluster["spec"];
    if let Some(endpoint) = spec["apiEndpoint"]
        .as_str()
        .filter(|endpoint| !endpoint.is_empty())
        && let Err(reason) = endpoint_fault(endpoint)
    {
        fault(
            "spec.apiEndpoint",
            format!("Invalid value: \"{endpoint}\": {reason}"),
        );
    }
    match spec["syncMode"].as_str() {
        Some("Push" | "Pull") => {}
        Some(other) => fault(
            "spec.syncMode",
            format!("Unsupported value: \"{other}\": supported values: \"Pull\", \"Push\""),
        ),
        None => fault(
            "spec.syncMode",
            "Unsupported value: \"\": supported values: \"Pull\", \"Push\"".to_owned(),
        ),
    }
    if let Some(proxy) = spec["proxyURL"].as_str().filter(|proxy| !proxy.is_empty()) {
        let scheme = Url::parse(proxy)
            .map(|url| url.scheme().to_owned())
            .unwrap_or_default();
        if !["http", "https", "socks5"].contains(&scheme.as_str()) {
            fault(
                "spec.proxyURL",
                format!(
                    "Invalid value: \"{proxy}\": unsupported scheme \"{scheme}\", must be http, https, or socks5"
                ),
            );
        }
    }
    for reference in ["secretRef", "impersonatorSecretRef"] {
        for part in ["namespace", "name"] {
            if spec[reference].is_object()
                && spec[reference][part]
                    .as_str()
                    .unwrap_or_default()
                    .is_empty()
            {
                fault(
                    &format!("spec.{reference}.{part}"),
                    "Required value".to_owned(),
                );
            }
        }
    }
    if spec["zone"].is_string()
        && spec["zones"]
            .as_array()
            .is_some_and(|zones| !zones.is_empty())
    {
        fault(
            "spec.zones",
            "Forbidden: Zone and Zones can not co-exist in the same time".to_owned(),
        );
    }
    causes
}

/// Why Go's `url.Parse` or Karmada refuses the address.
fn endpoint_fault(endpoint: &str) -> Result<(), String> {
    const FORM: &str = "desired format: hostname, hostname:port, IP or IP:port";
    let Some((_, rest)) = endpoint.split_once("://") else {
        let first = endpoint.split('/').next().unwrap_or_default();
        return Err(match first.split_once(':') {
            Some((scheme, _))
                if scheme.starts_with(|c: char| c.is_ascii_alphabetic())
                    && !scheme.contains('.') =>
            {
                format!("host must be provided; {FORM}")
            }
            Some(_) => format!(
                "parse \"{endpoint}\": first path segment in URL cannot contain colon; {FORM}"
            ),
            None => format!("host must be provided; {FORM}"),
        });
    };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if authority.is_empty() {
        return Err(format!("host must be provided; {FORM}"));
    }
    if authority.contains('@') {
        return Err("user information is not permitted".to_owned());
    }
    if rest.contains('#') {
        return Err("fragments are not permitted".to_owned());
    }
    if rest.contains('?') {
        return Err("query parameters are not permitted".to_owned());
    }
    if !authority.starts_with('[') && authority.matches(':').count() > 1 {
        let port = authority.rsplit(':').next().unwrap_or_default();
        if port.parse::<u16>().is_err() {
            return Err(format!(
                "parse \"{endpoint}\": invalid port \":{port}\" after host; {FORM}"
            ));
        }
    }
    Ok(())
}

fn is_label(name: &str) -> bool {
    let inner = name
        .chars()
        .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
    !name.is_empty() && inner && !name.starts_with('-') && !name.ends_with('-')
}
