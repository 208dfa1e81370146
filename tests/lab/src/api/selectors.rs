//! Label and field selectors. Pure.

use serde_json::Value;

use super::refusal::Refusal;
use super::request::Query;

/// What a list or watch asks for.
#[derive(Debug, Clone, Default)]
pub(crate) struct Selection {
    labels: Vec<Requirement>,
    fields: Vec<(String, bool, String)>,
}

#[derive(Debug, Clone)]
enum Requirement {
    In(String, Vec<String>),
    NotIn(String, Vec<String>),
    Exists(String),
    Missing(String),
}

impl Selection {
    /// Reads `labelSelector` and `fieldSelector`.
    pub(crate) fn parse(query: &Query) -> Result<Self, Refusal> {
        let labels = split_outside_parentheses(query.value("labelSelector").unwrap_or_default());
        let fields = query.value("fieldSelector").unwrap_or_default();
        Ok(Self {
            labels: labels
                .iter()
                .map(|text| requirement(text))
                .collect::<Result<_, _>>()?,
            fields: fields
                .split(',')
                .filter(|text| !text.is_empty())
                .map(field)
                .collect::<Result<_, _>>()?,
        })
    }

    /// Selects one object by its name.
    pub(crate) fn by_name(mut self, name: &str) -> Self {
        self.fields
            .push(("metadata.name".to_owned(), true, name.to_owned()));
        self
    }

    pub(crate) fn matches(&self, object: &Value) -> bool {
        let label = |name: &str| object["metadata"]["labels"][name].as_str();
        let labels = self.labels.iter().all(|requirement| match requirement {
            Requirement::In(name, values) => {
                label(name).is_some_and(|value| values.iter().any(|wanted| wanted == value))
            }
            Requirement::NotIn(name, values) => {
                label(name).is_none_or(|value| values.iter().all(|wanted| wanted != value))
            }
            Requirement::Exists(name) => label(name).is_some(),
            Requirement::Missing(name) => label(name).is_none(),
        });
        labels
            && self.fields.iter().all(|(path, equal, wanted)| {
                let found = object.pointer(&format!("/{}", path.replace('.', "/")));
                let found = found.and_then(Value::as_str).unwrap_or_default();
                (found == wanted) == *equal
            })
    }
}

fn requirement(text: &str) -> Result<Requirement, Refusal> {
    let text = text.trim();
    if let Some((name, values)) = text.split_once(" notin ") {
        return Ok(Requirement::NotIn(name.trim().to_owned(), set(values)));
    }
    if let Some((name, values)) = text.split_once(" in ") {
        return Ok(Requirement::In(name.trim().to_owned(), set(values)));
    }
    if let Some((name, value)) = text.split_once("!=") {
        return Ok(Requirement::NotIn(
            name.trim().to_owned(),
            vec![value.trim().to_owned()],
        ));
    }
    if let Some((name, value)) = text.split_once('=') {
        return Ok(Requirement::In(
            name.trim().to_owned(),
            vec![value.trim_start_matches('=').trim().to_owned()],
        ));
    }
    match text.strip_prefix('!') {
        Some(name) => Ok(Requirement::Missing(name.trim().to_owned())),
        None if text.contains(['(', ')', ' ']) => Err(Refusal::bad_request(format!(
            "unable to parse requirement: found '{text}', expected: in, notin, =, ==, !="
        ))),
        None => Ok(Requirement::Exists(text.to_owned())),
    }
}

fn field(text: &str) -> Result<(String, bool, String), Refusal> {
    let parse = |separator: &str, equal| {
        text.split_once(separator).map(|(path, value)| {
            (
                path.trim().to_owned(),
                equal,
                value.trim_start_matches('=').to_owned(),
            )
        })
    };
    parse("!=", false)
        .or_else(|| parse("=", true))
        .ok_or_else(|| Refusal::bad_request(format!("invalid field selector: \"{text}\"")))
}

fn set(text: &str) -> Vec<String> {
    text.trim()
        .trim_matches(['(', ')'])
        .split(',')
        .map(|value| value.trim().to_owned())
        .collect()
}

fn split_outside_parentheses(text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut depth = 0;
    for character in text.chars() {
        match character {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        if character == ',' && depth == 0 {
            parts.push(String::new());
        } else if let Some(last) = parts.last_mut() {
            last.push(character);
        }
    }
    parts.retain(|part| !part.trim().is_empty());
    parts
}
