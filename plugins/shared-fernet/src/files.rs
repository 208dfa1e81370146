//! Writes new keys: the only file of the plugin that touches the file system.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use karmada_repair::error::{Explain, Failure};
use karmada_repair::exit::Exit;
use karmada_repair::io;
use karmada_repair::text::shell_word;
use zeroize::Zeroizing;

use crate::airflow::KeyKind;
use crate::config::{Destination, Generate};
use crate::generate::{NewFile, NewKey, kinds, manifests, values};
use crate::random;

/// Makes new keys and writes them where they were asked for.
///
/// # Errors
/// When there is no randomness, or a file is there already or cannot be written; files that were written before it stay.
pub fn generate(options: &Generate) -> Result<Exit, Failure> {
    let keys = kinds(options.airflow)
        .iter()
        .map(|&kind| new_key(kind))
        .collect::<Result<Vec<NewKey>, _>>()?;
    match &options.to {
        Destination::Stdout => io::report(&values(&keys)),
        Destination::Values(file) => {
            write_new(file, &values(&keys))?;
            io::report(&format!("{} written\n", file.display()));
            io::say(&format!(
                "hint: give it to Helm in every cluster: helm upgrade --install airflow apache-airflow/airflow -n {} --values {}",
                options.namespace,
                shell_word(&file.display().to_string())
            ));
        }
        Destination::Manifests(folder) => {
            let files = manifests(&keys, options);
            write_folder(folder, &files)?;
            let shown = shell_word(&folder.display().to_string());
            io::say(&format!(
                "hint: in every cluster, before Helm: kubectl create -f {shown}/{}-KEY.yaml, then helm upgrade --install ... --values {shown}/values.yaml",
                options.name
            ));
        }
    }
    Ok(Exit::Healthy)
}

fn new_key(kind: KeyKind) -> Result<NewKey, random::NoRandomness> {
    let text = match kind {
        KeyKind::Fernet => random::fernet_key()?.text(),
        KeyKind::Webserver | KeyKind::Api => random::hexadecimal(32)?,
        KeyKind::Jwt => random::hexadecimal(64)?,
    };
    Ok(NewKey { kind, text })
}

fn write_folder(folder: &Path, files: &[NewFile]) -> Result<(), CannotWrite> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)
        .map_err(|source| CannotWrite::of(folder, source))?;
    // None is written where one is in the way.
    for file in files {
        let path = folder.join(&file.name);
        if path.symlink_metadata().is_ok() {
            return Err(CannotWrite::Exists { path });
        }
    }
    for file in files {
        let path = folder.join(&file.name);
        write_new(&path, &file.content)?;
        io::report(&format!("{} written\n", path.display()));
    }
    Ok(())
}

/// A file that only its owner may read, and that was not there before.
fn write_new(path: &Path, content: &Zeroizing<String>) -> Result<(), CannotWrite> {
    let failed = |source| CannotWrite::of(path, source);
    let mut file: File = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
        .map_err(failed)?;
    file.write_all(content.as_bytes()).map_err(failed)?;
    file.sync_all().map_err(failed)
}

/// A file was not written.
#[derive(Debug, thiserror::Error)]
enum CannotWrite {
    #[error("{} is there already, and no key is overwritten", path.display())]
    Exists { path: PathBuf },
    #[error("cannot write {}", path.display())]
    Failed {
        path: PathBuf,
        source: std::io::Error,
    },
}

impl CannotWrite {
    fn of(path: &Path, source: std::io::Error) -> CannotWrite {
        let path = path.to_path_buf();
        match source.kind() {
            std::io::ErrorKind::AlreadyExists => CannotWrite::Exists { path },
            _ => CannotWrite::Failed { path, source },
        }
    }
}

impl Explain for CannotWrite {
    fn exit(&self) -> Exit {
        Exit::Faults
    }

    fn hint(&self) -> Option<String> {
        match self {
            CannotWrite::Exists { .. } => {
                Some("name another file, or move that one away".to_owned())
            }
            CannotWrite::Failed { .. } => None,
        }
    }
}
