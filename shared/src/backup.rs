//! The file that holds what a run is about to change, written before the first write.

use std::fs::{DirBuilder, File};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::apply::{Outcome, StepResult, Written};
use crate::env::Env;
use crate::error::Explain;
use crate::exit::Exit;
use crate::plan::Step;

/// What a run was about to change; everything that `--undo` needs.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Backup {
    /// The version of this format.
    pub schema_version: u32,
    /// The plugin that wrote it, such as `fix-endpoints`.
    pub plugin: String,
    /// When it was written (RFC 3339, UTC).
    pub time: Timestamp,
    /// The URL of the control plane's API server; `None` = the run had none.
    pub server: Option<String>,
    /// The steps that were confirmed, in order, each with the object as it was before.
    pub steps: Vec<SavedStep>,
}

/// One step of a backup.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SavedStep {
    /// The step as it was confirmed; its action carries its inverse.
    pub step: Step,
    /// The object as it was read before the first write: an API object, or a container's networks; null = there was none.
    pub before: Value,
    /// How the step ended; `None` in a backup whose run was killed, where only the object tells.
    #[serde(default)]
    pub result: Option<StepResult>,
    /// The object as the step left it; `None` when it left none, when the run was killed, and for containers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written: Option<Written>,
}

impl Backup {
    /// Writes the backup into the folder with mode 0600 and returns the file's path; it is complete on disk on return.
    ///
    /// # Errors
    /// When the folder or the file cannot be made; nothing of the plan has been written by then.
    pub fn write(&self, folder: &Path) -> Result<PathBuf, BackupError> {
        own_folder(folder)?;
        let stamp = self.time.strftime("%Y%m%dT%H%M%S%.6fZ").to_string();
        let path = folder.join(format!("{}-{stamp}.json", self.plugin));
        self.partial(folder)?
            .persist_noclobber(&path)
            .map_err(|error| unwritable(folder, error.error))?;
        Ok(path)
    }

    /// Writes the results into the backup at this path, which stays complete at every moment.
    ///
    /// # Errors
    /// When the file cannot be replaced; it is then as it was.
    pub fn record(&mut self, outcome: &Outcome, path: &Path) -> Result<(), BackupError> {
        for (saved, result) in self.steps.iter_mut().zip(&outcome.results) {
            saved.result = Some(result.clone());
        }
        for (saved, written) in self.steps.iter_mut().zip(&outcome.written) {
            saved.written.clone_from(written);
        }
        let folder = path.parent().unwrap_or(Path::new("."));
        self.partial(folder)?
            .persist(path)
            .map_err(|error| unwritable(folder, error.error))?;
        Ok(())
    }

    fn partial(&self, folder: &Path) -> Result<tempfile::NamedTempFile, BackupError> {
        let failed = |source| unwritable(folder, source);
        let text = serde_json::to_vec_pretty(self).map_err(|error| failed(error.into()))?;
        let mut partial = tempfile::Builder::new()
            .prefix(".partial-")
            .permissions(PermissionsExt::from_mode(0o600))
            .tempfile_in(folder)
            .map_err(failed)?;
        partial.write_all(&text).map_err(failed)?;
        partial.as_file().sync_all().map_err(failed)?;
        Ok(partial)
    }

    /// Reads a backup.
    ///
    /// # Errors
    /// When the file cannot be read, is larger than any backup, or is not a backup of a known version.
    pub fn read(path: &Path) -> Result<Backup, BackupError> {
        let unreadable = |source| BackupError::Unreadable {
            path: path.to_path_buf(),
            source,
        };
        let file = File::open(path).map_err(unreadable)?;
        let size = file.metadata().map_err(unreadable)?.len();
        if size > LARGEST {
            return Err(unreadable(std::io::Error::other(format!(
                "it has {size} bytes, and a backup has at most {LARGEST}"
            ))));
        }
        let backup: Backup =
            serde_json::from_reader(std::io::BufReader::new(file)).map_err(|source| {
                BackupError::NotABackup {
                    path: path.to_path_buf(),
                    source,
                }
            })?;
        if backup.schema_version != SCHEMA_VERSION {
            return Err(BackupError::OtherVersion {
                path: path.to_path_buf(),
                found: backup.schema_version,
            });
        }
        Ok(backup)
    }
}

/// Where backups go: `--backup-dir`, else `karmada-repair` in the user's state folder.
///
/// # Errors
/// Without a home folder there is no default.
pub fn folder(chosen: Option<&Path>, env: &Env) -> Result<PathBuf, BackupError> {
    match chosen {
        Some(folder) => std::path::absolute(folder).map_err(|error| unwritable(folder, error)),
        None => Ok(env
            .state_home()
            .ok_or(BackupError::NoHome)?
            .join("karmada-repair")),
    }
}

/// Why there is no backup.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// Neither `--backup-dir` nor a home folder.
    #[error("there is no folder for the backup: HOME and XDG_STATE_HOME are not set")]
    NoHome,
    /// The folder is a link or belongs to somebody else, who could read or swap what is written.
    #[error("the backup folder is not safe: {} {problem}", path.display())]
    UnsafeFolder {
        /// The folder.
        path: PathBuf,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// The backup could not be written.
    #[error("cannot write the backup in {}: nothing was changed", path.display())]
    Unwritable {
        /// The folder.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// The backup could not be read.
    #[error("cannot read the backup {}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// The file is something else.
    #[error("{} is not a backup of this suite", path.display())]
    NotABackup {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: serde_json::Error,
    },
    /// The backup is of another version of the format.
    #[error("the backup {} has format version {found}, and this program reads version {SCHEMA_VERSION}", path.display())]
    OtherVersion {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
    },
}

impl Explain for BackupError {
    fn exit(&self) -> Exit {
        match self {
            BackupError::NoHome
            | BackupError::UnsafeFolder { .. }
            | BackupError::Unwritable { .. } => Exit::Faults,
            BackupError::Unreadable { .. }
            | BackupError::NotABackup { .. }
            | BackupError::OtherVersion { .. } => Exit::Usage,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            BackupError::NoHome
            | BackupError::UnsafeFolder { .. }
            | BackupError::Unwritable { .. } => {
                Some("name a folder of your own: --backup-dir FOLDER".to_owned())
            }
            BackupError::Unreadable { .. }
            | BackupError::NotABackup { .. }
            | BackupError::OtherVersion { .. } => None,
        }
    }
}

/// The version of the backup format that this program writes and reads.
pub const SCHEMA_VERSION: u32 = 1;

fn own_folder(folder: &Path) -> Result<(), BackupError> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)
        .map_err(|source| unwritable(folder, source))?;
    let metadata =
        std::fs::symlink_metadata(folder).map_err(|source| unwritable(folder, source))?;
    let problem = if metadata.is_symlink() {
        Some("is a symbolic link")
    } else if metadata.mode() & 0o022 != 0 {
        Some("can be written by others")
    } else {
        None
    };
    match problem {
        Some(problem) => Err(BackupError::UnsafeFolder {
            path: folder.to_path_buf(),
            problem,
        }),
        None => Ok(()),
    }
}

fn unwritable(folder: &Path, source: std::io::Error) -> BackupError {
    BackupError::Unwritable {
        path: folder.to_path_buf(),
        source,
    }
}

const LARGEST: u64 = 64 << 20;
