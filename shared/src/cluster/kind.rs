//! The kinds of objects that repairs read and write, and their paths. Pure.

use crate::cluster::object::path_segment;

/// A kind of the Kubernetes API, of Karmada's own, or of a server's built-in extensions, in the version that every
/// supported server has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs, reason = "the names are those of the API")]
pub enum Kind {
    Cluster,
    Work,
    ResourceBinding,
    ClusterResourceBinding,
    PropagationPolicy,
    ClusterPropagationPolicy,
    OverridePolicy,
    ClusterOverridePolicy,
    Namespace,
    Node,
    Pod,
    Secret,
    ConfigMap,
    Service,
    ServiceAccount,
    Deployment,
    StatefulSet,
    DaemonSet,
    Job,
    CronJob,
    Role,
    RoleBinding,
    ClusterRole,
    ClusterRoleBinding,
    MutatingWebhookConfiguration,
    ValidatingWebhookConfiguration,
    ApiService,
    CustomResourceDefinition,
}

impl Kind {
    /// The kind with this group, version and name; `None` = another one.
    pub fn of(api_version: &str, name: &str) -> Option<Kind> {
        ALL.into_iter()
            .find(|kind| kind.name() == name && kind.api_version() == api_version)
    }

    /// As in `kind:`, for example `Cluster`.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// Group and version, as `apps/v1`; the core group is `v1` alone.
    pub fn api_version(self) -> &'static str {
        self.row().api_version
    }

    /// The plural in paths, for example `clusters`.
    pub fn resource(self) -> &'static str {
        self.row().resource
    }

    /// Whether its objects live in namespaces.
    pub fn is_namespaced(self) -> bool {
        self.row().namespaced
    }

    /// The path that lists all its objects, of all namespaces.
    pub fn path(self) -> String {
        format!("{}/{}", self.root(), self.resource())
    }

    /// The path that lists and creates its objects in a namespace.
    pub fn path_in(self, namespace: &str) -> String {
        format!(
            "{}/namespaces/{}/{}",
            self.root(),
            path_segment(namespace),
            self.resource()
        )
    }

    fn root(self) -> String {
        let root = match self.api_version().contains('/') {
            true => "/apis",
            false => "/api",
        };
        format!("{root}/{}", self.api_version())
    }

    fn row(self) -> Row {
        let (name, api_version, resource, namespaced) = match self {
            Kind::Cluster => ("Cluster", "cluster.karmada.io/v1alpha1", "clusters", false),
            Kind::Work => ("Work", "work.karmada.io/v1alpha1", "works", true),
            Kind::ResourceBinding => (
                "ResourceBinding",
                "work.karmada.io/v1alpha2",
                "resourcebindings",
                true,
            ),
            Kind::ClusterResourceBinding => (
                "ClusterResourceBinding",
                "work.karmada.io/v1alpha2",
                "clusterresourcebindings",
                false,
            ),
            Kind::PropagationPolicy => ("PropagationPolicy", POLICY, "propagationpolicies", true),
            Kind::ClusterPropagationPolicy => (
                "ClusterPropagationPolicy",
                POLICY,
                "clusterpropagationpolicies",
                false,
            ),
            Kind::OverridePolicy => ("OverridePolicy", POLICY, "overridepolicies", true),
            Kind::ClusterOverridePolicy => (
                "ClusterOverridePolicy",
                POLICY,
                "clusteroverridepolicies",
                false,
            ),
            Kind::Namespace => ("Namespace", CORE, "namespaces", false),
            Kind::Node => ("Node", CORE, "nodes", false),
            Kind::Pod => ("Pod", CORE, "pods", true),
            Kind::Secret => ("Secret", CORE, "secrets", true),
            Kind::ConfigMap => ("ConfigMap", CORE, "configmaps", true),
            Kind::Service => ("Service", CORE, "services", true),
            Kind::ServiceAccount => ("ServiceAccount", CORE, "serviceaccounts", true),
            Kind::Deployment => ("Deployment", APPS, "deployments", true),
            Kind::StatefulSet => ("StatefulSet", APPS, "statefulsets", true),
            Kind::DaemonSet => ("DaemonSet", APPS, "daemonsets", true),
            Kind::Job => ("Job", BATCH, "jobs", true),
            Kind::CronJob => ("CronJob", BATCH, "cronjobs", true),
            Kind::Role => ("Role", RBAC, "roles", true),
            Kind::RoleBinding => ("RoleBinding", RBAC, "rolebindings", true),
            Kind::ClusterRole => ("ClusterRole", RBAC, "clusterroles", false),
            Kind::ClusterRoleBinding => ("ClusterRoleBinding", RBAC, "clusterrolebindings", false),
            Kind::MutatingWebhookConfiguration => (
                "MutatingWebhookConfiguration",
                ADMISSION,
                "mutatingwebhookconfigurations",
                false,
            ),
            Kind::ValidatingWebhookConfiguration => (
                "ValidatingWebhookConfiguration",
                ADMISSION,
                "validatingwebhookconfigurations",
                false,
            ),
            Kind::ApiService => (
                "APIService",
                "apiregistration.k8s.io/v1",
                "apiservices",
                false,
            ),
            Kind::CustomResourceDefinition => (
                "CustomResourceDefinition",
                "apiextensions.k8s.io/v1",
                "customresourcedefinitions",
                false,
            ),
        };
        Row {
            name,
            api_version,
            resource,
            namespaced,
        }
    }
}

struct Row {
    name: &'static str,
    api_version: &'static str,
    resource: &'static str,
    namespaced: bool,
}

const CORE: &str = "v1";
const APPS: &str = "apps/v1";
const BATCH: &str = "batch/v1";
const RBAC: &str = "rbac.authorization.k8s.io/v1";
const ADMISSION: &str = "admissionregistration.k8s.io/v1";
const POLICY: &str = "policy.karmada.io/v1alpha1";

const ALL: [Kind; 28] = [
    Kind::Cluster,
    Kind::Work,
    Kind::ResourceBinding,
    Kind::ClusterResourceBinding,
    Kind::PropagationPolicy,
    Kind::ClusterPropagationPolicy,
    Kind::OverridePolicy,
    Kind::ClusterOverridePolicy,
    Kind::Namespace,
    Kind::Node,
    Kind::Pod,
    Kind::Secret,
    Kind::ConfigMap,
    Kind::Service,
    Kind::ServiceAccount,
    Kind::Deployment,
    Kind::StatefulSet,
    Kind::DaemonSet,
    Kind::Job,
    Kind::CronJob,
    Kind::Role,
    Kind::RoleBinding,
    Kind::ClusterRole,
    Kind::ClusterRoleBinding,
    Kind::MutatingWebhookConfiguration,
    Kind::ValidatingWebhookConfiguration,
    Kind::ApiService,
    Kind::CustomResourceDefinition,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_found_by_its_name_and_has_a_path() {
        for kind in ALL {
            assert_eq!(Kind::of(kind.api_version(), kind.name()), Some(kind));
        }
        let table = [
            (Kind::Secret, "/api/v1/secrets"),
            (
                Kind::ClusterRole,
                "/apis/rbac.authorization.k8s.io/v1/clusterroles",
            ),
            (Kind::Work, "/apis/work.karmada.io/v1alpha1/works"),
            (
                Kind::ApiService,
                "/apis/apiregistration.k8s.io/v1/apiservices",
            ),
        ];
        for (kind, path) in table {
            assert_eq!(kind.path(), path);
        }
        assert_eq!(
            Kind::StatefulSet.path_in("a/b"),
            "/apis/apps/v1/namespaces/a%2Fb/statefulsets"
        );
        assert_eq!(Kind::of("v1", "Deployment"), None);
    }
}
