//! The table of kinds that the lab serves.

/// One kind of object.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Kind {
    pub(crate) group: &'static str,
    pub(crate) version: &'static str,
    pub(crate) resource: &'static str,
    pub(crate) singular: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) short: &'static [&'static str],
    pub(crate) namespaced: bool,
    /// Whether `metadata.generation` counts the changes of everything but metadata and status.
    pub(crate) generation: bool,
    pub(crate) subresources: &'static [&'static str],
    pub(crate) served: Served,
}

/// Which API servers serve a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Served {
    Everywhere,
    ControlPlane,
    Aggregated,
}

/// What an API server is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// The API server of a Karmada control plane, `cluster.karmada.io` included.
    ControlPlane,
    /// The API server of an ordinary cluster.
    Cluster,
    /// Karmada's aggregated API server alone.
    Aggregated,
}

impl Kind {
    /// `resource.group`, or the resource alone in the core group.
    pub(crate) fn qualified(&self) -> String {
        if self.group.is_empty() {
            self.resource.to_owned()
        } else {
            format!("{}.{}", self.resource, self.group)
        }
    }

    /// The value of `apiVersion` in objects of this kind.
    pub(crate) fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.to_owned()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }

    /// Whether status is written through a subresource of its own.
    pub(crate) fn has_status(&self) -> bool {
        self.subresources.contains(&"status")
    }

    pub(crate) fn served_by(&self, role: Role) -> bool {
        match role {
            Role::ControlPlane => true,
            Role::Cluster => self.served == Served::Everywhere,
            Role::Aggregated => self.served == Served::Aggregated,
        }
    }
}

/// The kinds that an API server of this role serves.
pub(crate) fn of(role: Role) -> impl Iterator<Item = &'static Kind> {
    KINDS.iter().filter(move |kind| kind.served_by(role))
}

/// The kind behind a path, if the role serves it.
pub(crate) fn find(
    role: Role,
    group: &str,
    version: &str,
    resource: &str,
) -> Option<&'static Kind> {
    of(role)
        .find(|kind| kind.group == group && kind.version == version && kind.resource == resource)
}

/// The kind of that resource, wherever it is served.
///
/// # Panics
/// If the table has no such kind: callers name their kinds literally.
pub(crate) fn known(group: &str, resource: &str) -> &'static Kind {
    KINDS
        .iter()
        .find(|kind| kind.group == group && kind.resource == resource)
        .expect("callers name kinds of the table")
}

const CORE: &str = "";
const RBAC: &str = "rbac.authorization.k8s.io";
const ADMISSION: &str = "admissionregistration.k8s.io";

const fn kind(
    group: &'static str,
    version: &'static str,
    resource: &'static str,
    singular: &'static str,
    kind: &'static str,
) -> Kind {
    Kind {
        group,
        version,
        resource,
        singular,
        kind,
        short: &[],
        namespaced: true,
        generation: false,
        subresources: &[],
        served: Served::Everywhere,
    }
}

impl Kind {
    const fn short(mut self, short: &'static [&'static str]) -> Self {
        self.short = short;
        self
    }

    const fn cluster_scoped(mut self) -> Self {
        self.namespaced = false;
        self
    }

    const fn generation(mut self) -> Self {
        self.generation = true;
        self
    }

    const fn with(mut self, subresources: &'static [&'static str]) -> Self {
        self.subresources = subresources;
        self
    }

    const fn served(mut self, served: Served) -> Self {
        self.served = served;
        self
    }
}

const KINDS: &[Kind] = &[
    kind(CORE, "v1", "namespaces", "namespace", "Namespace")
        .short(&["ns"])
        .cluster_scoped()
        .with(&["status"]),
    kind(CORE, "v1", "secrets", "secret", "Secret"),
    kind(CORE, "v1", "configmaps", "configmap", "ConfigMap").short(&["cm"]),
    kind(
        CORE,
        "v1",
        "serviceaccounts",
        "serviceaccount",
        "ServiceAccount",
    )
    .short(&["sa"])
    .with(&["token"]),
    kind(CORE, "v1", "services", "service", "Service")
        .short(&["svc"])
        .with(&["status"]),
    kind(CORE, "v1", "nodes", "node", "Node")
        .short(&["no"])
        .cluster_scoped()
        .with(&["status"]),
    kind(CORE, "v1", "pods", "pod", "Pod")
        .short(&["po"])
        .with(&["status", "exec"]),
    kind(CORE, "v1", "events", "event", "Event").short(&["ev"]),
    kind(CORE, "v1", "endpoints", "endpoint", "Endpoints").short(&["ep"]),
    kind("apps", "v1", "deployments", "deployment", "Deployment")
        .short(&["deploy"])
        .generation()
        .with(&["status", "scale"]),
    kind("apps", "v1", "statefulsets", "statefulset", "StatefulSet")
        .short(&["sts"])
        .generation()
        .with(&["status", "scale"]),
    kind("apps", "v1", "daemonsets", "daemonset", "DaemonSet")
        .short(&["ds"])
        .generation()
        .with(&["status"]),
    kind("batch", "v1", "jobs", "job", "Job")
        .generation()
        .with(&["status"]),
    kind("batch", "v1", "cronjobs", "cronjob", "CronJob")
        .short(&["cj"])
        .generation()
        .with(&["status"]),
    kind(
        ADMISSION,
        "v1",
        "mutatingwebhookconfigurations",
        "mutatingwebhookconfiguration",
        "MutatingWebhookConfiguration",
    )
    .cluster_scoped()
    .generation(),
    kind(
        ADMISSION,
        "v1",
        "validatingwebhookconfigurations",
        "validatingwebhookconfiguration",
        "ValidatingWebhookConfiguration",
    )
    .cluster_scoped()
    .generation(),
    kind(
        "apiextensions.k8s.io",
        "v1",
        "customresourcedefinitions",
        "customresourcedefinition",
        "CustomResourceDefinition",
    )
    .short(&["crd", "crds"])
    .cluster_scoped()
    .generation()
    .with(&["status"]),
    kind(
        "discovery.k8s.io",
        "v1",
        "endpointslices",
        "endpointslice",
        "EndpointSlice",
    )
    .generation(),
    kind(RBAC, "v1", "clusterroles", "clusterrole", "ClusterRole").cluster_scoped(),
    kind(
        RBAC,
        "v1",
        "clusterrolebindings",
        "clusterrolebinding",
        "ClusterRoleBinding",
    )
    .cluster_scoped(),
    kind(RBAC, "v1", "roles", "role", "Role"),
    kind(RBAC, "v1", "rolebindings", "rolebinding", "RoleBinding"),
    kind("coordination.k8s.io", "v1", "leases", "lease", "Lease"),
    kind(
        "apiregistration.k8s.io",
        "v1",
        "apiservices",
        "apiservice",
        "APIService",
    )
    .cluster_scoped()
    .with(&["status"]),
    kind(
        "policy.karmada.io",
        "v1alpha1",
        "propagationpolicies",
        "propagationpolicy",
        "PropagationPolicy",
    )
    .short(&["pp"])
    .generation()
    .served(Served::ControlPlane),
    kind(
        "policy.karmada.io",
        "v1alpha1",
        "clusterpropagationpolicies",
        "clusterpropagationpolicy",
        "ClusterPropagationPolicy",
    )
    .short(&["cpp"])
    .cluster_scoped()
    .generation()
    .served(Served::ControlPlane),
    kind("work.karmada.io", "v1alpha1", "works", "work", "Work")
        .short(&["wk"])
        .generation()
        .with(&["status"])
        .served(Served::ControlPlane),
    kind(
        "cluster.karmada.io",
        "v1alpha1",
        "clusters",
        "cluster",
        "Cluster",
    )
    .cluster_scoped()
    .generation()
    .with(&["status", "proxy"])
    .served(Served::Aggregated),
];
