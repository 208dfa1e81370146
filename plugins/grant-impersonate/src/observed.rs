//! Everything that one observation brings. Plain data; tokens are held masked.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use karmada_repair::cluster::object::ObjectReference;
use karmada_repair::karmada::Cluster;
use karmada_repair::part::Part;
use karmada_repair::plan::Commands;
use secrecy::SecretString;
use serde::Serialize;
use serde_json::Value;

use crate::account::{Account, Identity};
use crate::answer::Answer;
use crate::member_role::RoleWork;
use crate::rbac::{Accepted, Rbac};

/// A federation, as far as access to members goes.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Observed {
    /// How the control plane was reached.
    pub control_plane: ControlPlane,
    /// Who is meant.
    pub identities: Vec<Identity>,
    /// All clusters that were selected, by name.
    pub members: Vec<Member>,
    /// The roles and bindings that lead to members.
    pub rbac: Part<Rbac>,
    /// Objects of the names that grants to the identities have, as `ClusterRole/NAME`: whole, whoever made them.
    #[serde(skip)]
    pub objects: BTreeMap<String, Value>,
    /// Whether the caller may grant; absent when nobody needed to know.
    pub may_grant: Part<MayGrant>,
    /// How long something written may be on its way before it counts as lost.
    #[serde(skip)]
    pub patience: SignedDuration,
    /// What delivers to members; absent without access to the host cluster.
    pub controller_manager: Part<Workload>,
}

/// How the control plane was reached.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ControlPlane {
    /// The URL of its API server.
    pub server: String,
    /// The commands that reach the same servers.
    pub commands: Commands,
    /// This plugin with the flags that reach the same servers.
    pub own_command: String,
}

/// What the caller may do to grant, as the API server says of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MayGrant {
    /// The verbs on ClusterRoles and ClusterRoleBindings that it lacks, as `create clusterroles`.
    pub lacks: Vec<String>,
    /// Whether it may give what it does not hold itself (`escalate`, `bind`), or holds all of it.
    pub may_give: bool,
}

impl MayGrant {
    /// Whether grants will be taken.
    pub fn is_enough(&self) -> bool {
        self.lacks.is_empty() && self.may_give
    }
}

/// A workload of the host cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Workload {
    /// Which.
    pub object: ObjectReference,
    /// Its UID.
    pub uid: String,
}

/// One member cluster.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Member {
    /// The object in the control plane; nothing but its name where it could not be read.
    pub cluster: Cluster,
    /// Why the object could not be read; `None` = it was.
    pub unreadable: Option<String>,
    /// The object's UID; `None` = not told.
    pub cluster_uid: Option<String>,
    /// The secret with the impersonator's token; absent also when none is named.
    pub secret: Part<ImpersonatorSecret>,
    /// The Work that carries the ClusterRole `karmada-impersonator`.
    pub role_work: Part<Work>,
    /// The Work that carries the ClusterRoleBinding `karmada-impersonator`.
    pub binding_work: Part<Work>,
    /// What has come of them in the member; absent when nobody needed to look.
    pub copy: Part<Copy>,
    /// The impersonator's token as the member holds it; absent when nobody needed to look.
    #[serde(skip)]
    pub true_token: Part<SecretString>,
    /// What came of the attempts to reach it, by subject.
    pub answers: BTreeMap<String, Answer>,
    /// What the subjects may do there, by subject; only of those who pass.
    pub rights: BTreeMap<String, Part<Rights>>,
    /// Works of this plugin that bind roles there; absent when nobody needed to look.
    pub role_works: Part<Vec<RoleWork>>,
    /// Whether the role that is to be bound exists there (`--member-role`); absent when nobody needed to look.
    pub member_role: Part<bool>,
}

/// The secret that `spec.impersonatorSecretRef` names, or the one that Karmada would name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ImpersonatorSecret {
    /// Its UID.
    pub uid: String,
    /// Whether `token` is there and not empty.
    pub has_token: bool,
    /// The value of `token` as the API has it (base64); never shown.
    #[serde(skip)]
    pub encoded: Option<Encoded>,
    /// Whether it has `data` at all.
    pub has_data: bool,
}

/// A value of a Secret in base64; compared, never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Encoded(pub String);

impl std::fmt::Debug for Encoded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("***")
    }
}

/// A Work of Karmada's controller `unified-auth-controller`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Work {
    /// Whom its ClusterRole accepts; nobody, for the Work of the binding.
    pub accepted: Accepted,
    /// Its condition `Applied`.
    pub applied: Applied,
    /// When its content was last written; `None` = not recorded.
    pub written: Option<Timestamp>,
}

/// The condition `Applied` of a Work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "state", content = "message", rename_all = "kebab-case")]
pub enum Applied {
    /// `True`; the controller may not have looked at the last change yet.
    Yes,
    /// `False`, and why.
    No(String),
    /// Nobody has tried yet.
    Never,
}

impl Applied {
    /// Whether the member's object was left alone because somebody took the label `karmada.io/managed` off it.
    pub fn is_frozen(&self) -> bool {
        matches!(self, Applied::No(message) if message.contains("Karmada will not manage this resource"))
    }
}

/// What a member holds of Karmada's impersonator.
#[derive(Debug, Clone, Serialize)]
pub struct Copy {
    /// How the member was read, in words.
    pub way: String,
    /// The ClusterRole `karmada-impersonator`.
    pub role: Part<Delivered>,
    /// The ClusterRoleBinding `karmada-impersonator`.
    pub binding: Part<Delivered>,
}

/// An object in a member that Karmada delivers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Delivered {
    /// Its UID.
    pub uid: String,
    /// Whether it has labels at all.
    pub has_labels: bool,
    /// The value of the label `karmada.io/managed`; `None` = it has none.
    pub managed: Option<String>,
    /// Whom it accepts; nobody, for the binding.
    pub accepted: Accepted,
}

impl Delivered {
    /// Whether Karmada leaves it alone.
    pub fn is_frozen(&self) -> bool {
        self.managed.as_deref() != Some("true")
    }
}

/// What a subject may do in a member, cluster-wide.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rights {
    /// Nothing of what was asked.
    Nothing,
    /// List pods.
    Read,
    /// Create deployments.
    Write,
    /// Everything.
    Everything,
}

impl Rights {
    /// The rights in a few words, as what follows `may`.
    pub fn words(self) -> &'static str {
        match self {
            Rights::Nothing => "not list pods",
            Rights::Read => "list pods",
            Rights::Write => "create deployments",
            Rights::Everything => "do everything",
        }
    }
}

impl Member {
    /// The cluster's name.
    pub fn name(&self) -> &str {
        &self.cluster.metadata.name
    }

    /// What came of the attempt to reach it as this account; `None` = there was none.
    pub fn answer(&self, account: &Account) -> Option<&Answer> {
        self.answers.get(&account.subject().to_string())
    }

    /// What the account may do there; `None` = it was not asked.
    pub fn rights(&self, account: &Account) -> Option<&Part<Rights>> {
        self.rights.get(&account.subject().to_string())
    }

    /// Whether it is being deleted.
    pub fn is_being_deleted(&self) -> bool {
        self.cluster.metadata.deletion_timestamp.is_some()
    }
}

impl Member {
    /// Whether the control plane holds the token that the member itself holds.
    pub fn token_is_the_members_own(&self) -> bool {
        use base64::Engine;
        use base64::engine::general_purpose::STANDARD;
        use secrecy::ExposeSecret;

        let held = self
            .secret
            .seen()
            .and_then(|secret| secret.encoded.as_ref());
        match (held, self.true_token.seen()) {
            (Some(held), Some(token)) => held.0 == STANDARD.encode(token.expose_secret()),
            _ => false,
        }
    }
}
