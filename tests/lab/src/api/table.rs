//! Server-side printing: lists as `Table` objects. Pure.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::kinds::Kind;

/// One column of a table.
struct Column {
    name: &'static str,
    /// Shown only with `-o wide`.
    wide: bool,
    cell: fn(&Value) -> Value,
}

/// The `Table` of these objects.
pub(crate) fn render(kind: &Kind, objects: &[Value], revision: &str) -> Value {
    let columns = columns(kind);
    let definitions: Vec<Value> = columns
        .iter()
        .map(|column| {
            let format = if column.name == "Name" { "name" } else { "" };
            json!({
                "name": column.name, "type": "string", "format": format, "description": "",
                "priority": u8::from(column.wide),
            })
        })
        .collect();
    let rows: Vec<Value> = objects
        .iter()
        .map(|object| {
            let cells: Vec<Value> = columns.iter().map(|column| (column.cell)(object)).collect();
            let partial = json!({
                "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": object["metadata"],
            });
            json!({"cells": cells, "object": partial})
        })
        .collect();
    json!({
        "kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": {"resourceVersion": revision},
        "columnDefinitions": definitions, "rows": rows,
    })
}

/// A `Table` as kubectl prints it, without its wide columns.
pub(crate) fn print(table: &Value) -> String {
    let columns: Vec<&Value> = table["columnDefinitions"]
        .as_array()
        .into_iter()
        .flatten()
        .collect();
    let narrow = |cells: Vec<String>| -> Vec<String> {
        cells
            .into_iter()
            .zip(&columns)
            .filter(|(_, column)| column["priority"] == 0)
            .map(|(cell, _)| cell)
            .collect()
    };
    let mut lines = vec![narrow(
        columns
            .iter()
            .map(|column| string(&column["name"]).to_uppercase())
            .collect(),
    )];
    for row in table["rows"].as_array().into_iter().flatten() {
        lines.push(narrow(
            row["cells"]
                .as_array()
                .into_iter()
                .flatten()
                .map(string)
                .collect(),
        ));
    }
    let width = |index: usize| {
        lines
            .iter()
            .filter_map(|line| line.get(index))
            .map(String::len)
            .max()
            .unwrap_or_default()
            + 3
    };
    let print = |line: &Vec<String>| {
        let cells = line
            .iter()
            .enumerate()
            .map(|(index, cell)| format!("{cell:<width$}", width = width(index)));
        cells.collect::<String>().trim_end().to_owned()
    };
    lines.iter().map(print).collect::<Vec<_>>().join("\n")
}

/// How long ago, as kubectl prints ages.
pub(crate) fn age(since: Option<&str>, now: Timestamp) -> String {
    let Some(seconds) = since
        .and_then(|text| text.parse::<Timestamp>().ok())
        .map(|since| now.as_second() - since.as_second())
    else {
        return "<unknown>".to_owned();
    };
    let (minutes, hours) = (seconds / 60, seconds / 3600);
    match seconds {
        ..120 => format!("{}s", seconds.max(0)),
        120..600 if seconds % 60 != 0 => format!("{minutes}m{}s", seconds % 60),
        120..10_800 => format!("{minutes}m"),
        10_800..28_800 if minutes % 60 != 0 => format!("{hours}h{}m", minutes % 60),
        10_800..172_800 => format!("{hours}h"),
        _ => format!("{}d", hours / 24),
    }
}

fn columns(kind: &Kind) -> Vec<Column> {
    let name = column("Name", |object| object["metadata"]["name"].clone());
    let created = column("Age", |object| {
        json!(age(
            object["metadata"]["creationTimestamp"].as_str(),
            Timestamp::now()
        ))
    });
    let mut columns = vec![name];
    columns.extend(match kind.kind {
        "Cluster" => vec![
            column("Version", |object| {
                text(&object["status"]["kubernetesVersion"])
            }),
            column("Mode", |object| text(&object["spec"]["syncMode"])),
            column("Ready", |object| condition(object, "Ready")),
        ],
        "Namespace" => vec![column("Status", |object| text(&object["status"]["phase"]))],
        "Secret" => vec![
            column("Type", |object| text(&object["type"])),
            column("Data", |object| size(&object["data"])),
        ],
        "ConfigMap" => vec![column("Data", |object| size(&object["data"]))],
        "Deployment" => vec![
            column("Ready", |object| {
                json!(format!(
                    "{}/{}",
                    count(&object["status"]["readyReplicas"]),
                    count(&object["spec"]["replicas"])
                ))
            }),
            column("Up-to-date", |object| {
                json!(count(&object["status"]["updatedReplicas"]))
            }),
            column("Available", |object| {
                json!(count(&object["status"]["availableReplicas"]))
            }),
        ],
        "Pod" => vec![
            column("Ready", |_| json!("1/1")),
            column("Status", |object| text(&object["status"]["phase"])),
            column("Restarts", |_| json!("0")),
        ],
        "Node" => vec![
            column("Status", |object| {
                json!(if condition(object, "Ready") == "True" {
                    "Ready"
                } else {
                    "NotReady"
                })
            }),
            column("Version", |object| {
                text(&object["status"]["nodeInfo"]["kubeletVersion"])
            }),
        ],
        "Service" => vec![
            column("Type", |object| text(&object["spec"]["type"])),
            column("Cluster-IP", |object| text(&object["spec"]["clusterIP"])),
        ],
        "Work" => vec![column("Applied", |object| condition(object, "Applied"))],
        "ClusterRoleBinding" | "RoleBinding" => vec![column("Role", |object| {
            let reference = &object["roleRef"];
            json!(format!(
                "{}/{}",
                string(&reference["kind"]),
                string(&reference["name"])
            ))
        })],
        "APIService" => vec![
            column("Service", |object| {
                let service = &object["spec"]["service"];
                json!(if service.is_null() {
                    "Local".to_owned()
                } else {
                    format!(
                        "{}/{}",
                        string(&service["namespace"]),
                        string(&service["name"])
                    )
                })
            }),
            column("Available", |object| condition(object, "Available")),
        ],
        _ => Vec::new(),
    });
    columns.push(created);
    if kind.kind == "Cluster" {
        columns.extend([
            wide("Zones", |object| {
                let zones: Vec<String> = object["spec"]["zones"]
                    .as_array()
                    .into_iter()
                    .flatten()
                    .map(string)
                    .collect();
                or_none(zones.join(","))
            }),
            wide("Region", |object| {
                or_none(string(&object["spec"]["region"]))
            }),
            wide("Provider", |object| {
                or_none(string(&object["spec"]["provider"]))
            }),
            wide("API-Endpoint", |object| {
                or_none(string(&object["spec"]["apiEndpoint"]))
            }),
            wide("Proxy-URL", |object| {
                or_none(string(&object["spec"]["proxyURL"]))
            }),
        ]);
    }
    columns
}

fn column(name: &'static str, cell: fn(&Value) -> Value) -> Column {
    Column {
        name,
        wide: false,
        cell,
    }
}

fn wide(name: &'static str, cell: fn(&Value) -> Value) -> Column {
    Column {
        name,
        wide: true,
        cell,
    }
}

fn string(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn text(value: &Value) -> Value {
    json!(string(value))
}

fn or_none(text: String) -> Value {
    json!(if text.is_empty() {
        "<none>".to_owned()
    } else {
        text
    })
}

fn count(value: &Value) -> u64 {
    value.as_u64().unwrap_or_default()
}

fn size(value: &Value) -> Value {
    json!(
        value
            .as_object()
            .map_or(0, serde_json::Map::len)
            .to_string()
    )
}

fn condition(object: &Value, kind: &str) -> Value {
    let conditions = object["status"]["conditions"]
        .as_array()
        .into_iter()
        .flatten();
    let found = conditions
        .into_iter()
        .find(|condition| condition["type"] == kind);
    found.map_or_else(|| json!("Unknown"), |condition| condition["status"].clone())
}
