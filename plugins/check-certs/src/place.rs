//! Where something was found. Pure.

use std::fmt;

use karmada_repair::finding::Subject;
use serde::Serialize;

/// Which API server an object was read from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// The cluster that runs Karmada.
    Host,
    /// The Karmada control plane.
    ControlPlane,
    /// The member of this name.
    Member(String),
}

/// What holds a value.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Holder {
    /// A `Secret`.
    Secret {
        /// Where it was read.
        origin: Origin,
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
    },
    /// Another object of the Kubernetes API, as `validatingwebhookconfiguration` `validating-config`.
    Object {
        /// Where it was read.
        origin: Origin,
        /// The kind, in lower case.
        kind: String,
        /// The name, with `namespace/` before it where it has one.
        name: String,
    },
    /// A kubeconfig that this run uses, by what led to it.
    Kubeconfig(String),
    /// A file.
    File(String),
    /// A server that presents certificates in its TLS handshake, as `host:port` or as `POD:PORT` in a namespace.
    Endpoint(String),
}

/// Where one value was found.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Place {
    /// What holds it.
    pub holder: Holder,
    /// The key of a secret, with the way inside its value, as `karmada.config/users[admin]/client-certificate-data`; empty
    /// where the holder is the value.
    pub field: String,
    /// Which of several in a bundle, from 0.
    pub index: usize,
}

impl Holder {
    /// Where in this holder, for the first of its kind.
    pub fn at(&self, field: impl Into<String>) -> Place {
        Place {
            holder: self.clone(),
            field: field.into(),
            index: 0,
        }
    }
}

impl Place {
    /// The same place, for another certificate of the bundle.
    pub fn nth(&self, index: usize) -> Place {
        Place {
            index,
            ..self.clone()
        }
    }

    /// What findings about it are about, such as `secret/karmada-system/karmada-cert/apiserver.crt`.
    pub fn subject(&self) -> Subject {
        let (kind, name) = self.holder.kind_and_name();
        let mut name = name;
        if !self.field.is_empty() {
            name.push('/');
            name.push_str(&self.field);
        }
        if self.index > 0 {
            name.push_str(&format!("#{}", self.index + 1));
        }
        Subject::new(kind, name)
    }
}

impl Holder {
    fn kind_and_name(&self) -> (&str, String) {
        match self {
            Holder::Secret {
                origin,
                namespace,
                name,
            } => (
                "secret",
                format!("{}{namespace}/{name}", origin.in_subjects()),
            ),
            Holder::Object { origin, kind, name } => {
                (kind, format!("{}{name}", origin.in_subjects()))
            }
            Holder::Kubeconfig(name) => ("kubeconfig", name.clone()),
            Holder::File(path) => ("file", path.clone()),
            Holder::Endpoint(address) => ("endpoint", address.clone()),
        }
    }
}

impl Origin {
    /// Members are named, since each may have the same objects.
    fn in_subjects(&self) -> String {
        match self {
            Origin::Host | Origin::ControlPlane => String::new(),
            Origin::Member(name) => format!("{name}:"),
        }
    }
}

/// Shows `secret karmada-system/karmada-cert` with the server where that is not the host cluster's.
impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, name) = self.kind_and_name();
        write!(f, "{kind}/{name}")
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.subject().fmt(f)
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Host => f.write_str("the host cluster"),
            Origin::ControlPlane => f.write_str("the control plane"),
            Origin::Member(name) => write!(f, "member {name}"),
        }
    }
}
