//! Questions about who one is and what one may do. Pure over the store.

use serde_json::{Value, json};

use super::identity::{self, StaticToken, User};
use super::rbac::{self, Attempt};
use super::store::Store;

/// Answers a review, or `None` if the resource is no review.
pub(crate) fn answer(
    store: &Store,
    statics: &[StaticToken],
    user: &User,
    resource: &str,
    review: &Value,
) -> Option<Value> {
    let mut answer = review.clone();
    if let Some(metadata) = answer.as_object_mut() {
        metadata.insert("metadata".to_owned(), json!({"creationTimestamp": null}));
    }
    match resource {
        "selfsubjectreviews" => answer["status"] = json!({"userInfo": user.info()}),
        "selfsubjectaccessreviews" => answer["status"] = access(store, user, &review["spec"]),
        "subjectaccessreviews" => {
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let groups = review["spec"]["groups"]
                .as_array()
                .into_iter()
                .flatten()
                .map(text)
                .collect();
            let subject = User {
                name: text(&review["spec"]["user"]),
                groups,
            };
            answer["status"] = access(store, &subject, &review["spec"]);
        }
        "selfsubjectrulesreviews" => {
            answer["status"] =
                json!({"incomplete": true, "resourceRules": [], "nonResourceRules": []});
        }
        "tokenreviews" => {
            let found = identity::of_token(
                store,
                statics,
                review["spec"]["token"].as_str().unwrap_or_default(),
            );
            answer["status"] = match found {
                Some(user) => json!({"authenticated": true, "user": user.info()}),
                None => json!({"authenticated": false, "error": "[invalid bearer token]"}),
            };
        }
        _ => return None,
    }
    Some(answer)
}

fn access(store: &Store, user: &User, spec: &Value) -> Value {
    let text = |value: &'static str, at: &'static str| spec[at][value].as_str().unwrap_or_default();
    let attempt = if spec["nonResourceAttributes"].is_object() {
        Attempt::Path {
            verb: text("verb", "nonResourceAttributes"),
            path: text("path", "nonResourceAttributes"),
        }
    } else {
        let at = "resourceAttributes";
        Attempt::Resource {
            verb: text("verb", at),
            group: text("group", at),
            resource: text("resource", at),
            subresource: text("subresource", at),
            namespace: text("namespace", at),
            name: text("name", at),
        }
    };
    let allowed = rbac::allows(store, user, &attempt);
    json!({"allowed": allowed, "reason": if allowed { "RBAC: allowed" } else { "" }})
}
