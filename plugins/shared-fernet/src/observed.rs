//! What the plugin has seen. Data; values of keys serialise as masks.

use std::collections::BTreeMap;

use jiff::Timestamp;
use karmada_repair::cluster::object::ObjectReference;
use karmada_repair::part::Part;
use serde::{Serialize, Serializer};

use crate::airflow::KeyKind;
use crate::digest::Digest;
use crate::discovery::{SecretKey, Source};
use crate::key::{MASK, Opaque};
use crate::keyring::Reading;
use crate::rotation::{Entangled, Goal, Note};
use crate::token::{NoToken, Token};

/// What one observation saw.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Observed {
    /// The selected members, by name.
    pub clusters: Vec<ClusterSeen>,
    /// This plugin with the flags that reach the same servers.
    pub own_command: String,
    /// The commands that reach the same servers.
    pub commands: karmada_repair::plan::Commands,
    /// What a rotation is to bring about; `None` = none is asked for, or there is none to go on with.
    #[serde(skip)]
    pub goal: Option<Result<Goal, Entangled>>,
    /// The tokens on stdin, each with why it is none; `None` = none were asked for.
    #[serde(skip)]
    pub tokens: Option<Vec<Result<Token, NoToken>>>,
    /// The Secrets of the control plane by `namespace/name`, as far as members hold copies of them.
    pub templates: BTreeMap<String, Part<SecretSeen>>,
}

/// One member.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterSeen {
    /// Its name.
    pub name: String,
    /// What runs there; unreadable when no way leads there.
    pub instances: Part<Vec<Instance>>,
    /// Why workloads of other namespaces, or all, could not be listed; `None` = they were.
    pub unlisted: Option<String>,
    /// Its clock minus that of this machine, in seconds; `None` = it told no time.
    pub clock_offset: Option<i64>,
}

/// One Airflow in a member: a release of a chart, or what comes nearest.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Instance {
    /// Its namespace.
    pub namespace: String,
    /// Its release; empty = nothing names one.
    pub release: String,
    /// What runs it; empty = nothing was found, and the keys are those that charts name.
    pub workloads: Vec<Workload>,
    /// Its pods.
    pub pods: Part<Vec<PodSeen>>,
    /// Where it gets each key from, each place once. A kind that nothing reads is left out.
    pub keys: BTreeMap<KeyKind, Vec<KeyUse>>,
    /// The Secrets that hold them, by name.
    pub secrets: BTreeMap<String, Part<SecretSeen>>,
    /// Variables that look like one of Airflow's and are none, with the one that was meant.
    pub wrong_variables: Vec<(&'static str, KeyKind)>,
}

/// A Deployment, StatefulSet or DaemonSet that runs a part of Airflow.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Workload {
    /// The object.
    pub object: ObjectReference,
    /// Its UID.
    pub uid: String,
    /// Its component, as `scheduler`; `None` = its labels name none.
    pub component: Option<String>,
    /// The container in which Airflow's command runs; `None` = it has none with a key.
    pub container: Option<String>,
    /// Whether it starts pods of its own for tasks.
    pub launches_pods: bool,
    /// How many pods it wants.
    pub replicas: i64,
    /// The labels by which it finds its pods.
    pub selector: BTreeMap<String, String>,
    /// The keys of Secrets that it reads.
    pub reads: Vec<SecretKey>,
}

/// A pod of Airflow.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PodSeen {
    /// Its name.
    pub name: String,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// When the first of its containers that read keys started; `None` = none runs.
    pub started: Option<Timestamp>,
    /// When a roll-out restart asked for it; `None` = none did.
    pub restarted_at: Option<Timestamp>,
    /// The keys of Secrets that it reads.
    pub reads: Vec<SecretKey>,
}

/// A place that a key comes from, and what is there.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct KeyUse {
    /// The place.
    pub source: Source,
    /// The workloads that read it there, each as `kind/name`.
    pub readers: Vec<String>,
    /// What is there.
    pub value: Part<Value>,
}

/// A value of a key.
#[derive(Clone)]
pub struct Value {
    /// The bytes as the container sees them.
    pub raw: Opaque,
    /// What Airflow makes of them; `None` = they are used as they are.
    pub reading: Option<Reading>,
    /// The digests of what counts: of each key of a Fernet list in order, else of the value. Empty = there is nothing
    /// that Airflow could use.
    pub digests: Vec<Digest>,
    /// The digest of the value without white space around it.
    pub trimmed: Digest,
}

impl std::fmt::Debug for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(MASK)
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(MASK)
    }
}

/// A Secret, without its values.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SecretSeen {
    /// Its name.
    pub name: String,
    /// Its UID.
    pub uid: String,
    /// Its version.
    pub resource_version: String,
    /// Its type, as `Opaque`.
    pub kind: String,
    /// Whether its data cannot be changed.
    pub immutable: bool,
    /// Whether Karmada keeps it as the control plane has it.
    pub karmada_managed: bool,
    /// Whether a hook of Helm made it.
    pub helm_hook: bool,
    /// The release of Helm that it is part of; `None` = none.
    pub helm_release: Option<String>,
    /// Whether Argo CD tracks it.
    pub argo_cd: bool,
    /// Whether the annotation of `kubectl apply` holds its values.
    pub last_applied: bool,
    /// Whether it has annotations at all.
    pub annotated: bool,
    /// The rotation that wrote it last; `None` = none did.
    pub note: Option<Note>,
    /// The names of its keys.
    pub keys: Vec<String>,
    /// When each of its keys was last written, as far as the API server tells; a key that is not in here is as old as
    /// the Secret.
    pub written: BTreeMap<String, Timestamp>,
    /// When it was made.
    pub created: Option<Timestamp>,
}

impl SecretSeen {
    /// When this key was last written.
    pub fn written_at(&self, key: &str) -> Option<Timestamp> {
        self.written.get(key).copied().or(self.created)
    }
}

impl Instance {
    /// `cluster/namespace/release`, as reports name it.
    pub fn name(&self, cluster: &str) -> String {
        match self.release.as_str() {
            "" => format!("{cluster}/{}", self.namespace),
            release => format!("{cluster}/{}/{release}", self.namespace),
        }
    }

    /// The place that most of its workloads get the key from; `None` = none gets it.
    pub fn main_use(&self, kind: KeyKind) -> Option<&KeyUse> {
        // The first of the longest, so that the answer does not depend on the order of a map.
        let uses = self.keys.get(&kind)?;
        uses.iter().rev().max_by_key(|one| one.readers.len())
    }

    /// The value of that place; `None` = none was read.
    pub fn value(&self, kind: KeyKind) -> Option<&Value> {
        self.main_use(kind)?.value.seen()
    }

    /// The Secret and key of that place; `None` = it is another kind of place.
    pub fn secret_key(&self, kind: KeyKind) -> Option<&SecretKey> {
        match &self.main_use(kind)?.source {
            Source::SecretKey(key) => Some(key),
            _ => None,
        }
    }

    /// The Secret of that place, if it was read.
    pub fn secret(&self, kind: KeyKind) -> Option<&SecretSeen> {
        self.secrets.get(&self.secret_key(kind)?.secret)?.seen()
    }
}

impl ClusterSeen {
    /// The instances that were found; none when the member could not be read.
    pub fn found(&self) -> &[Instance] {
        self.instances.seen().map_or(&[], Vec::as_slice)
    }
}
