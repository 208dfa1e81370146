//! Discovery, version and OpenAPI documents, made from the table of kinds. Pure.

use serde_json::{Map, Value, json};

use super::kinds::{self, Kind, Role};

/// `GET /api`.
pub(crate) fn core_versions() -> Value {
    json!({"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []})
}

/// `GET /apis`.
pub(crate) fn groups(role: Role) -> Value {
    let groups: Vec<Value> = group_names(role)
        .iter()
        .filter_map(|group| self::group(role, group))
        .collect();
    json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
}

/// `GET /apis/GROUP`.
pub(crate) fn group(role: Role, name: &str) -> Option<Value> {
    let mut versions: Vec<&str> = versions(role)
        .iter()
        .filter(|(group, _)| *group == name)
        .map(|(_, version)| *version)
        .collect();
    versions.dedup();
    let listed: Vec<Value> = versions
        .iter()
        .map(|version| json!({"groupVersion": format!("{name}/{version}"), "version": version}))
        .collect();
    let preferred = listed.first()?.clone();
    Some(
        json!({"kind": "APIGroup", "apiVersion": "v1", "name": name, "versions": listed, "preferredVersion": preferred}),
    )
}

/// `GET /api/v1` and `GET /apis/GROUP/VERSION`.
pub(crate) fn resources(role: Role, group: &str, version: &str) -> Option<Value> {
    if !versions(role).contains(&(group, version)) {
        return None;
    }
    let mut resources = Vec::new();
    for kind in kinds::of(role).filter(|kind| kind.group == group && kind.version == version) {
        resources.push(json!({
            "name": kind.resource, "singularName": kind.singular, "namespaced": kind.namespaced, "kind": kind.kind,
            "shortNames": kind.short,
            "verbs": ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"],
        }));
        for subresource in kind.subresources {
            let (owner, verbs): (&str, &[&str]) = match *subresource {
                "proxy" => ("Cluster", &["create", "delete", "get", "patch", "update"]),
                "token" => ("TokenRequest", &["create"]),
                "scale" => ("Scale", &["get", "patch", "update"]),
                "exec" => ("PodExecOptions", &["create", "get"]),
                _ => (kind.kind, &["get", "patch", "update"]),
            };
            let mut entry = json!({
                "name": format!("{}/{subresource}", kind.resource), "singularName": "", "namespaced": kind.namespaced,
                "kind": owner, "verbs": verbs,
            });
            if owner == "Scale" {
                entry["group"] = json!("autoscaling");
                entry["version"] = json!("v1");
            }
            resources.push(entry);
        }
    }
    for (review_group, name, kind) in REVIEWS {
        if *review_group == group {
            resources.push(json!({"name": name, "singularName": "", "namespaced": false, "kind": kind, "verbs": ["create"]}));
        }
    }
    let group_version = if group.is_empty() {
        version.to_owned()
    } else {
        format!("{group}/{version}")
    };
    Some(
        json!({"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group_version, "resources": resources}),
    )
}

/// `GET /version`.
pub(crate) fn version(git_version: &str) -> Value {
    let mut parts = git_version.trim_start_matches('v').split('.');
    json!({
        "major": parts.next().unwrap_or("1"), "minor": parts.next().unwrap_or("33"), "gitVersion": git_version,
        "gitCommit": "", "gitTreeState": "clean", "buildDate": "2025-11-11T00:00:00Z", "goVersion": "go1.24",
        "compiler": "gc", "platform": "linux/amd64",
    })
}

/// `GET /openapi/v3`.
pub(crate) fn openapi_index(role: Role) -> Value {
    let paths: Map<String, Value> = versions(role)
        .iter()
        .map(|(group, version)| {
            let path = group_version_path(group, version);
            let url = format!("/openapi/v3/{path}?hash=lab");
            (path, json!({"serverRelativeURL": url}))
        })
        .collect();
    json!({"paths": paths})
}

/// `GET /openapi/v3/apis/GROUP/VERSION`: enough for kubectl to learn that the server validates fields itself.
pub(crate) fn openapi(role: Role, path: &str) -> Option<Value> {
    let (group, version) = versions(role)
        .into_iter()
        .find(|(group, version)| group_version_path(group, version) == path)?;
    let (mut paths, mut schemas) = (Map::new(), Map::new());
    for kind in kinds::of(role).filter(|kind| kind.group == group && kind.version == version) {
        let gvk = json!({"group": kind.group, "kind": kind.kind, "version": kind.version});
        let scope = if kind.namespaced {
            "namespaces/{namespace}/"
        } else {
            ""
        };
        let parameters: Vec<Value> = ["dryRun", "fieldManager", "fieldValidation", "force"]
            .iter()
            .map(|name| json!({"name": name, "in": "query", "schema": {"type": "string", "uniqueItems": true}}))
            .collect();
        paths.insert(
            format!("/{path}/{scope}{}/{{name}}", kind.resource),
            json!({"patch": {
                "x-kubernetes-action": "patch", "x-kubernetes-group-version-kind": gvk, "parameters": parameters,
                "responses": {"200": {"description": "OK"}},
            }}),
        );
        schemas.insert(
            schema_name(kind),
            json!({
                "type": "object", "x-kubernetes-group-version-kind": [gvk], "x-kubernetes-preserve-unknown-fields": true,
            }),
        );
    }
    Some(json!({
        "openapi": "3.0.0", "info": {"title": "Kubernetes", "version": "lab"}, "paths": paths,
        "components": {"schemas": schemas},
    }))
}

/// Review kinds, which are answered and never stored: group, resource, kind.
pub(crate) const REVIEWS: &[(&str, &str, &str)] = &[
    (
        "authentication.k8s.io",
        "selfsubjectreviews",
        "SelfSubjectReview",
    ),
    ("authentication.k8s.io", "tokenreviews", "TokenReview"),
    (
        "authorization.k8s.io",
        "selfsubjectaccessreviews",
        "SelfSubjectAccessReview",
    ),
    (
        "authorization.k8s.io",
        "selfsubjectrulesreviews",
        "SelfSubjectRulesReview",
    ),
    (
        "authorization.k8s.io",
        "subjectaccessreviews",
        "SubjectAccessReview",
    ),
];

fn versions(role: Role) -> Vec<(&'static str, &'static str)> {
    let mut found: Vec<(&str, &str)> = Vec::new();
    let reviews = REVIEWS
        .iter()
        .filter(|_| role != Role::Aggregated)
        .map(|(group, _, _)| (*group, "v1"));
    for version in kinds::of(role)
        .map(|kind| (kind.group, kind.version))
        .chain(reviews)
    {
        if !found.contains(&version) {
            found.push(version);
        }
    }
    found
}

fn group_names(role: Role) -> Vec<&'static str> {
    let mut names: Vec<&str> = versions(role)
        .iter()
        .map(|(group, _)| *group)
        .filter(|group| !group.is_empty())
        .collect();
    names.dedup();
    names
}

fn group_version_path(group: &str, version: &str) -> String {
    if group.is_empty() {
        format!("api/{version}")
    } else {
        format!("apis/{group}/{version}")
    }
}

fn schema_name(kind: &Kind) -> String {
    let group = if kind.group.is_empty() {
        "core"
    } else {
        kind.group
    };
    format!("io.k8s.lab.{group}.{}.{}", kind.version, kind.kind)
}
