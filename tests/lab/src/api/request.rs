//! What a path and method of the Kubernetes API ask for. Pure.

use http::Method;
use url::form_urlencoded;

/// A parsed request path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Target {
    /// An object, a collection, or a subresource.
    Resource(Resource),
    /// Anything else: discovery, health, version.
    Path(String),
}

/// The resource that a path names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Resource {
    /// Empty for the core group.
    pub(crate) group: String,
    pub(crate) version: String,
    /// Empty at cluster scope, and for collections over all namespaces.
    pub(crate) namespace: String,
    pub(crate) resource: String,
    /// Empty for collections.
    pub(crate) name: String,
    /// Empty for the object itself.
    pub(crate) subresource: String,
    /// What follows the subresource, with its leading slash; empty when nothing does.
    pub(crate) rest: String,
}

/// The query string of a request, decoded.
#[derive(Debug, Clone, Default)]
pub(crate) struct Query(Vec<(String, String)>);

impl Target {
    pub(crate) fn parse(path: &str) -> Self {
        Resource::parse(path).map_or_else(|| Self::Path(path.to_owned()), Self::Resource)
    }
}

impl Resource {
    fn parse(path: &str) -> Option<Self> {
        let mut segments = path.trim_start_matches('/').split('/').map(decode);
        let (group, version) = match segments.next()?.as_str() {
            "api" => (String::new(), segments.next()?),
            "apis" => (segments.next()?, segments.next()?),
            _ => return None,
        };
        let parts: Vec<String> = segments.collect();
        let mut parts = parts.as_slice();
        let mut namespace = String::new();
        // `namespaces/x` is the object, `namespaces/x/pods` a collection in it; `status` and `finalize` belong to the object.
        if let [first, name, next, ..] = parts
            && first == "namespaces"
            && !matches!(next.as_str(), "status" | "finalize" | "")
        {
            namespace.clone_from(name);
            parts = &parts[2..];
        }
        let part = |index: usize| parts.get(index).cloned().unwrap_or_default();
        let resource = part(0);
        if resource.is_empty() {
            return None;
        }
        let rest = if parts.len() > 3 {
            format!("/{}", parts[3..].join("/"))
        } else {
            String::new()
        };
        Some(Self {
            group,
            version,
            namespace,
            resource,
            name: part(1),
            subresource: part(2),
            rest,
        })
    }

    /// The verb that RBAC judges.
    pub(crate) fn verb(&self, method: &Method, query: &Query) -> &'static str {
        match *method {
            Method::POST => "create",
            Method::PUT => "update",
            Method::PATCH => "patch",
            Method::DELETE if self.name.is_empty() => "deletecollection",
            Method::DELETE => "delete",
            _ if query.is_true("watch") && self.subresource.is_empty() => "watch",
            _ if self.name.is_empty() => "list",
            _ => "get",
        }
    }
}

impl Query {
    pub(crate) fn parse(query: Option<&str>) -> Self {
        Self(
            form_urlencoded::parse(query.unwrap_or_default().as_bytes())
                .into_owned()
                .collect(),
        )
    }

    pub(crate) fn value(&self, name: &str) -> Option<&str> {
        self.0
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_str())
            .filter(|value| !value.is_empty())
    }

    /// All values of a name that is given several times.
    pub(crate) fn values(&self, name: &str) -> Vec<String> {
        let given = self.0.iter().filter(|(key, _)| key == name);
        given.map(|(_, value)| value.clone()).collect()
    }

    pub(crate) fn is_true(&self, name: &str) -> bool {
        self.value(name)
            .is_some_and(|value| value == "true" || value == "1")
    }

    pub(crate) fn dry_run(&self) -> bool {
        self.value("dryRun") == Some("All")
    }
}

/// The verb for a path that is no resource.
pub(crate) fn path_verb(method: &Method) -> String {
    method.as_str().to_ascii_lowercase()
}

fn decode(segment: &str) -> String {
    // A path segment is a form value whose plus signs stand for themselves.
    form_urlencoded::parse(
        format!("s={}", segment.replace('+', "%2B").replace('&', "%26")).as_bytes(),
    )
    .next()
    .map(|(_, value)| value.into_owned())
    .unwrap_or_default()
}
