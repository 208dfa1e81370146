//! The few objects that kubectl sends in the protobuf encoding: role bindings. Pure.
//!
//! The encoding is `k8s\0` and a `runtime.Unknown` message (Kubernetes API conventions, "Alternate representations").

use serde_json::{Map, Value, json};

use super::refusal::Refusal;

/// The content type of the encoding.
pub(crate) const CONTENT_TYPE: &str = "application/vnd.kubernetes.protobuf";

/// Reads a RoleBinding or ClusterRoleBinding.
///
/// # Errors
/// 415 for any other kind, 400 for anything malformed.
pub(crate) fn decode(bytes: &[u8]) -> Result<Value, Refusal> {
    let malformed = || Refusal::bad_request("the body of the request is no protobuf object");
    let envelope = Message::parse(bytes.strip_prefix(b"k8s\0").ok_or_else(malformed)?)
        .ok_or_else(malformed)?;
    let about = envelope.message(1).ok_or_else(malformed)?;
    let (version, kind) = (about.text(1), about.text(2));
    if !kind.ends_with("RoleBinding") {
        return Err(Refusal::unsupported_media_type(
            "the body of the request was in an unknown format - accepted media types include: application/json",
        ));
    }
    let object = envelope.message(2).ok_or_else(malformed)?;
    let subjects: Vec<Value> = object
        .messages(2)
        .map(|subject| {
            fields(
                &subject,
                &[(1, "kind"), (2, "apiGroup"), (3, "name"), (4, "namespace")],
            )
        })
        .collect();
    let metadata = object.message(1).map(|metadata| {
        fields(
            &metadata,
            &[(1, "name"), (2, "generateName"), (3, "namespace")],
        )
    });
    let role = object
        .message(3)
        .map(|role| fields(&role, &[(1, "apiGroup"), (2, "kind"), (3, "name")]));
    Ok(json!({
        "apiVersion": version, "kind": kind, "metadata": metadata.unwrap_or_else(|| json!({})), "subjects": subjects,
        "roleRef": role.unwrap_or_else(|| json!({})),
    }))
}

/// The length-delimited fields of a message, by number, in order.
struct Message<'a>(Vec<(u64, &'a [u8])>);

impl<'a> Message<'a> {
    fn parse(mut bytes: &'a [u8]) -> Option<Self> {
        let mut found = Vec::new();
        while !bytes.is_empty() {
            let key = varint(&mut bytes)?;
            match key & 7 {
                0 => {
                    varint(&mut bytes)?;
                }
                2 => {
                    let length = usize::try_from(varint(&mut bytes)?).ok()?;
                    let (value, rest) = bytes.split_at_checked(length)?;
                    found.push((key >> 3, value));
                    bytes = rest;
                }
                _ => return None,
            }
        }
        Some(Self(found))
    }

    fn text(&self, number: u64) -> String {
        let found = self.0.iter().find(|(found, _)| *found == number);
        found
            .map(|(_, value)| String::from_utf8_lossy(value).into_owned())
            .unwrap_or_default()
    }

    fn message(&self, number: u64) -> Option<Message<'a>> {
        self.messages(number).next()
    }

    fn messages(&self, number: u64) -> impl Iterator<Item = Message<'a>> {
        self.0
            .iter()
            .filter(move |(found, _)| *found == number)
            .filter_map(|(_, value)| Message::parse(value))
    }
}

fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (first, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(first & 0x7f) << shift;
        if first & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

/// The named text fields that are not empty.
fn fields(message: &Message, names: &[(u64, &str)]) -> Value {
    let present = names
        .iter()
        .map(|(number, name)| ((*name).to_owned(), message.text(*number)));
    Value::Object(
        present
            .filter(|(_, text)| !text.is_empty())
            .map(|(name, text)| (name, json!(text)))
            .collect::<Map<_, _>>(),
    )
}
