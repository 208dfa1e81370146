//! A folder that the lab and a node both see: what the lab wants, and what the node did.

use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// A folder of small files that are always read whole.
#[derive(Debug, Clone)]
pub(super) struct Folder(PathBuf);

impl Folder {
    pub(super) fn new(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    pub(super) fn create(path: impl Into<PathBuf>) -> io::Result<Self> {
        let path = path.into();
        std::fs::create_dir_all(&path)?;
        Ok(Self(path))
    }

    pub(super) fn within(&self, name: &str) -> Self {
        Self(self.0.join(name))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.file(name).exists()
    }

    pub(super) fn read(&self, name: &str) -> io::Result<String> {
        std::fs::read_to_string(self.file(name))
    }

    /// The document in a file; null when there is none.
    pub(super) fn json(&self, name: &str) -> Value {
        self.read(name)
            .ok()
            .and_then(|text| serde_json::from_str(&text).ok())
            .unwrap_or_default()
    }

    /// The number in a file; 0 when there is none.
    pub(super) fn number(&self, name: &str) -> u64 {
        self.json(name).as_u64().unwrap_or_default()
    }

    /// Writes a file at once: readers see the old text or the new one.
    pub(super) fn write(&self, name: &str, text: &str) -> io::Result<()> {
        let draft = self.file(&format!(".{name}.draft"));
        std::fs::write(&draft, text)?;
        std::fs::rename(draft, self.file(name))
    }

    pub(super) fn remove(&self, name: &str) {
        // Nothing there is what is wanted.
        let _ = std::fs::remove_file(self.file(name));
    }
}

/// What a node is: `{name, version, servers: [{name, port, role}], forward: {to, ports}}`.
pub(super) const NODE: &str = "node.json";
/// The names in a server's certificate.
pub(super) const NAMES: &str = "names.json";
/// Exists when the certificate does not follow addresses.
pub(super) const FROZEN: &str = "frozen";
/// Exists when another authority signs the certificate.
pub(super) const FOREIGN: &str = "foreign";
/// The number of the certificate that is wanted, and of the one that is served.
pub(super) const WANTED: &str = "certificate.wanted";
pub(super) const SERVED: &str = "certificate.served";
/// What Karmada's part is to do: `{life, running, timing, works}`.
pub(super) const KARMADA: &str = "karmada.json";
/// The life in which Karmada's part last did as it was told.
pub(super) const KARMADA_DONE: &str = "karmada.done";
