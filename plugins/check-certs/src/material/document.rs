//! Documents in YAML and JSON: kubeconfigs as such, others wherever a value in them looks like a certificate. Pure.

use serde_json::{Map, Value};
use serde_saphyr::DuplicateKeyPolicy;

use crate::material::read::{Reading, from_base64};
use crate::material::{Context, Expectation, Fault, Material, Reference, pem};

/// Reads a document, if the bytes are one and hold anything of interest.
pub(super) fn read(
    reading: &mut Reading,
    bytes: &[u8],
    inside: &str,
    expectation: Expectation,
    depth: usize,
) {
    let Some(text) = text_of(bytes, expectation) else {
        return;
    };
    match documents(text) {
        Ok(documents) => {
            for document in documents.iter().take(MOST_DOCUMENTS) {
                walk(reading, document, inside, depth, 0);
            }
        }
        Err(line) if expectation == Expectation::Kubeconfig => {
            let line = line.map_or(String::new(), |line| format!(" (line {line})"));
            let reason = format!("is neither YAML nor JSON{line}");
            reading.fault(inside, Fault::Unparsable(reason));
        }
        Err(_) => {}
    }
}

/// The text, if it may be a document that holds certificates.
fn text_of(bytes: &[u8], expectation: Expectation) -> Option<&str> {
    if bytes.len() > LARGEST {
        return None;
    }
    let text = std::str::from_utf8(bytes).ok()?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let begins = text.trim_start();
    if begins.starts_with("-----BEGIN") {
        return None;
    }
    let promising =
        expectation == Expectation::Kubeconfig || MARKS.iter().any(|mark| text.contains(mark));
    promising.then_some(text)
}

/// The documents of a text; an error carries the line, never the text, which may be secret.
fn documents(text: &str) -> Result<Vec<Value>, Option<u64>> {
    if text.trim_start().starts_with('{')
        && let Ok(value) = serde_json::from_str(text)
    {
        return Ok(vec![value]);
    }
    let options = serde_saphyr::options! { duplicate_keys: DuplicateKeyPolicy::LastWins };
    serde_saphyr::from_multiple_with_options(text, options)
        .map_err(|error| error.location().map(|place| place.line()))
}

fn walk(reading: &mut Reading, value: &Value, inside: &str, depth: usize, level: usize) {
    if level > DEEPEST {
        return;
    }
    match value {
        Value::Object(fields) if is_kubeconfig(fields) => {
            kubeconfig(reading, fields, inside, depth)
        }
        Value::Object(fields) => {
            for (name, value) in fields {
                match value {
                    Value::String(text) => string(reading, name, text, &way(inside, name), depth),
                    _ => walk(reading, value, &way(inside, name), depth, level + 1),
                }
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                let name = item["name"]
                    .as_str()
                    .map_or(index.to_string(), str::to_owned);
                let inside = format!("{inside}[{name}]");
                match item {
                    Value::String(text) => string(reading, "", text, &inside, depth),
                    _ => walk(reading, item, &inside, depth, level + 1),
                }
            }
        }
        _ => {}
    }
}

/// A string anywhere in a document: base64 is how documents hold PEM, and no fault.
fn string(reading: &mut Reading, name: &str, text: &str, inside: &str, depth: usize) {
    if name == "caBundle" {
        return encoded(reading, text, inside, Expectation::Certificate, depth);
    }
    let trimmed = text.trim_start();
    if trimmed.starts_with("LS0tLS1CRUdJTi") || trimmed.starts_with("LS0tLS1CRUdJTiB") {
        encoded(reading, text, inside, Expectation::Nothing, depth);
    } else if pem::looks_like_pem(text.as_bytes()) || trimmed.starts_with("ey") {
        reading.value(text.as_bytes(), inside, Expectation::Nothing, depth + 1);
    } else if text.contains("certificate-authority-data") {
        reading.value(text.as_bytes(), inside, Expectation::Kubeconfig, depth + 1);
    }
}

/// A value that is meant to be base64.
fn encoded(
    reading: &mut Reading,
    text: &str,
    inside: &str,
    expectation: Expectation,
    depth: usize,
) {
    if text.trim().is_empty() {
        return reading.fault(inside, Fault::Empty);
    }
    if pem::looks_like_pem(text.as_bytes()) {
        let reason = "is PEM where base64 of PEM is read".to_owned();
        reading.value(text.as_bytes(), inside, expectation, depth + 1);
        return reading.fault(inside, Fault::Unparsable(reason));
    }
    match from_base64(text.as_bytes()) {
        Some(bytes) => reading.value(&bytes, inside, expectation, depth + 1),
        None => reading.fault(inside, Fault::Unparsable("is not base64".to_owned())),
    }
}

fn is_kubeconfig(fields: &Map<String, Value>) -> bool {
    let lists = ["clusters", "users", "contexts"];
    let count = lists
        .iter()
        .filter(|list| fields.get(**list).is_some_and(Value::is_array))
        .count();
    let kind = fields.get("kind").and_then(Value::as_str);
    (kind == Some("Config") && count > 0) || (kind.is_none() && count > 1)
}

fn kubeconfig(reading: &mut Reading, fields: &Map<String, Value>, inside: &str, depth: usize) {
    for (name, cluster) in named(fields, "clusters", "cluster") {
        let inside = way(inside, &format!("clusters[{name}]"));
        data(
            reading,
            cluster,
            &inside,
            "certificate-authority-data",
            Expectation::Certificate,
            depth,
        );
    }
    for (name, user) in named(fields, "users", "user") {
        let inside = way(inside, &format!("users[{name}]"));
        data(
            reading,
            user,
            &inside,
            "client-certificate-data",
            Expectation::Certificate,
            depth,
        );
        data(
            reading,
            user,
            &inside,
            "client-key-data",
            Expectation::Key,
            depth,
        );
        if let Some(token) = text(user, "token") {
            reading.value(
                token.as_bytes(),
                &way(&inside, "token"),
                Expectation::Token,
                depth + 1,
            );
        }
    }
    for (name, context) in named(fields, "contexts", "context") {
        let context = described(fields, name, context, inside);
        reading.push(inside, Material::Context(context));
    }
}

fn described(fields: &Map<String, Value>, name: &str, context: &Value, inside: &str) -> Context {
    let cluster = entry(fields, "clusters", "cluster", text(context, "cluster"));
    let user = entry(fields, "users", "user", text(context, "user"));
    let of = |entry: Option<(&str, &Value)>, field: &str| {
        entry.and_then(|(_, entry)| text(entry, field).map(str::to_owned))
    };
    let reference = |entry: Option<(&str, &Value)>, list: &str, field: &str| {
        let data = format!("{field}-data");
        if of(entry, &data).is_some() {
            let name = entry.map_or("", |(name, _)| name);
            let entry = way(inside, &format!("{list}[{name}]"));
            return Some(Reference::Inside(way(&entry, &data)));
        }
        of(entry, field).map(Reference::File)
    };
    Context {
        name: name.to_owned(),
        server: of(cluster, "server"),
        server_name: of(cluster, "tls-server-name"),
        proxy: of(cluster, "proxy-url"),
        insecure: cluster
            .is_some_and(|(_, entry)| entry["insecure-skip-tls-verify"] == Value::Bool(true)),
        authorities: reference(cluster, "clusters", "certificate-authority"),
        client_certificate: reference(user, "users", "client-certificate"),
    }
}

/// The entry of a list that a context names.
fn entry<'a>(
    fields: &'a Map<String, Value>,
    list: &str,
    inner: &'a str,
    wanted: Option<&str>,
) -> Option<(&'a str, &'a Value)> {
    named(fields, list, inner).find(|(name, _)| Some(*name) == wanted)
}

fn data(
    reading: &mut Reading,
    entry: &Value,
    inside: &str,
    field: &str,
    expectation: Expectation,
    depth: usize,
) {
    if let Some(text) = entry[field].as_str() {
        encoded(reading, text, &way(inside, field), expectation, depth);
    }
}

/// The entries of a list of a kubeconfig, by name.
fn named<'a>(
    fields: &'a Map<String, Value>,
    list: &str,
    inner: &'a str,
) -> impl Iterator<Item = (&'a str, &'a Value)> {
    fields
        .get(list)
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(move |entry| Some((entry["name"].as_str()?, &entry[inner])))
}

/// A field that is filled.
fn text<'a>(entry: &'a Value, field: &str) -> Option<&'a str> {
    entry[field].as_str().filter(|text| !text.is_empty())
}

fn way(inside: &str, name: &str) -> String {
    match inside.is_empty() {
        true => name.to_owned(),
        false => format!("{inside}/{name}"),
    }
}

const MARKS: [&str; 5] = [
    "certificate-authority",
    "client-certificate",
    "caBundle",
    "LS0tLS1CRUdJTi",
    "apiVersion",
];
const LARGEST: usize = 4 * 1024 * 1024;
const MOST_DOCUMENTS: usize = 500;
const DEEPEST: usize = 24;
