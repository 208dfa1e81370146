//! A member in its own words: what its API tells past the control plane. Plain data.

use karmada_repair::part::Part;
use karmada_repair::tls::ServingCertificate;
use serde::Serialize;

use crate::doors::Door;
use crate::stored::StoredSecret;

/// Whether a member was read past the control plane, and what came of it.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(tag = "state", content = "value", rename_all = "kebab-case")]
pub enum Direct {
    /// Nobody needed to look.
    #[default]
    NotAsked,
    /// No context was given for it, and no loaded one leads there.
    NoWay,
    /// The context that was given leads to another cluster; in words.
    Refused(String),
    /// The context that was given cannot be used; in words.
    Unreadable(String),
    /// It was read.
    Seen(Box<DirectView>),
}

/// What a member's own API tells.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DirectView {
    /// The context that leads there.
    pub context: String,
    /// Whether that context was given for it on the command line; else it was found among the loaded ones.
    pub is_given: bool,
    /// Why it is the member.
    pub kin: Kin,
    /// The UID of its namespace kube-system.
    pub uid: String,
    /// The URL at which that context reaches it.
    pub server: String,
    /// What is served at that URL, as seen from here.
    pub served: Part<ServingCertificate>,
    /// Where its API server may be dialled.
    pub doors: Vec<Door>,
    /// The secret of the service account that acts for the control plane there: `token` and `ca.crt`.
    pub account: Part<StoredSecret>,
    /// The secret of the service account that impersonates users there: `token`.
    pub impersonator: Part<StoredSecret>,
}

/// Why a cluster is the member.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kin {
    /// Its UID is the recorded one (`spec.id`), or none is recorded.
    Recorded,
    /// Its UID is another one, but the context was given for the member, it holds the member's service account, and its
    /// CA signed what the member's own container serves: the member was rebuilt.
    Rebuilt,
}

impl Direct {
    /// What was read.
    pub fn seen(&self) -> Option<&DirectView> {
        match self {
            Direct::Seen(view) => Some(view),
            Direct::NotAsked | Direct::NoWay | Direct::Refused(_) | Direct::Unreadable(_) => None,
        }
    }
}
