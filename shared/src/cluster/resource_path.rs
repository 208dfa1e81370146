//! Reads the path of an API request the way the API server does. Pure.

use http::Method;

/// The resource that a path is about (kube-apiserver's RequestInfo).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ResourcePath {
    /// Empty = the core group.
    pub(crate) group: String,
    pub(crate) namespace: Option<String>,
    pub(crate) resource: String,
    /// `None` = the path is about all objects.
    pub(crate) name: Option<String>,
    pub(crate) subresource: Option<String>,
}

impl ResourcePath {
    /// `None` = the path is about no resource, as `/version`.
    pub(crate) fn of(path: &str) -> Option<ResourcePath> {
        let path = path.split('?').next().unwrap_or_default();
        let mut segments = path.split('/').filter(|segment| !segment.is_empty());
        let group = match segments.next()? {
            "api" => String::new(),
            "apis" => segments.next()?.to_owned(),
            _ => return None,
        };
        let _version = segments.next()?;
        let mut rest: Vec<&str> = segments.collect();
        let namespace = match rest.as_slice() {
            ["namespaces", namespace, _, ..] => Some((*namespace).to_owned()),
            _ => None,
        };
        if namespace.is_some() {
            rest.drain(..2);
        }
        let mut rest = rest.into_iter().map(str::to_owned);
        Some(ResourcePath {
            group,
            namespace,
            resource: rest.next()?,
            name: rest.next(),
            subresource: rest.next(),
        })
    }

    /// `clusters.cluster.karmada.io`, or `secrets` for the core group.
    pub(crate) fn qualified(&self) -> String {
        match self.group.as_str() {
            "" => self.resource.clone(),
            group => format!("{}.{group}", self.resource),
        }
    }

    /// The verb that RBAC calls a request to this path.
    pub(crate) fn rbac_verb(&self, method: &Method) -> &'static str {
        match (method.as_str(), &self.name) {
            ("GET" | "HEAD", Some(_)) => "get",
            ("GET" | "HEAD", None) => "list",
            ("POST", _) => "create",
            ("PUT", _) => "update",
            ("PATCH", _) => "patch",
            ("DELETE", Some(_)) => "delete",
            ("DELETE", None) => "deletecollection",
            _ => "get",
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn reads_resource_paths() {
        let table = [
            (
                "/apis/cluster.karmada.io/v1alpha1/clusters",
                "clusters.cluster.karmada.io",
                None,
                None,
                None,
                "list",
            ),
            (
                "/apis/cluster.karmada.io/v1alpha1/clusters/a?x=/y",
                "clusters.cluster.karmada.io",
                None,
                Some("a"),
                None,
                "get",
            ),
            (
                "/apis/cluster.karmada.io/v1alpha1/clusters/a/proxy/api/v1",
                "clusters.cluster.karmada.io",
                None,
                Some("a"),
                Some("proxy"),
                "get",
            ),
            (
                "/api/v1/namespaces/x/secrets/s",
                "secrets",
                Some("x"),
                Some("s"),
                None,
                "get",
            ),
            (
                "/api/v1/namespaces/x",
                "namespaces",
                None,
                Some("x"),
                None,
                "get",
            ),
            ("/api/v1/namespaces", "namespaces", None, None, None, "list"),
        ];
        for (path, qualified, namespace, name, subresource, verb) in table {
            let read = ResourcePath::of(path).unwrap();
            assert_eq!(read.qualified(), qualified, "{path}");
            assert_eq!(read.namespace.as_deref(), namespace, "{path}");
            assert_eq!(
                (read.name.as_deref(), read.subresource.as_deref()),
                (name, subresource),
                "{path}"
            );
            assert_eq!(read.rbac_verb(&Method::GET), verb, "{path}");
        }
    }

    #[test]
    fn knows_paths_about_no_resource() {
        for path in [
            "/version",
            "/",
            "",
            "/apis",
            "/apis/cluster.karmada.io",
            "/apis/apps/v1",
            "/api/v1",
        ] {
            assert_eq!(ResourcePath::of(path), None, "{path}");
        }
    }
}
