//! A file of the user's is written, whole or not at all.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use crate::apply::StepResult;
use crate::plan::LocalFile;

/// Writes or removes the file, on condition that it is as it was diagnosed.
pub(super) fn write(file: &LocalFile) -> StepResult {
    let path = Path::new(&file.path);
    let now = match text(path) {
        Ok(now) => now,
        Err(error) => return StepResult::Refused(format!("cannot read {}: {error}", file.path)),
    };
    if now == file.after {
        return StepResult::Unchanged;
    }
    if now != file.before {
        return StepResult::Refused(format!(
            "conflict: {} is another file by now; run again to see it as it is now",
            file.path
        ));
    }
    let written = match &file.after {
        Some(text) => replace(path, text),
        None => fs::remove_file(path),
    };
    match written {
        Ok(()) => StepResult::Applied(None),
        Err(error) => StepResult::Refused(format!("cannot write {}: {error}", file.path)),
    }
}

/// The text of a file; `None` = there is none.
///
/// # Errors
/// When there is one and it cannot be read.
pub(crate) fn text(path: &Path) -> io::Result<Option<String>> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn replace(path: &Path, text: &str) -> io::Result<()> {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    let mut partial = tempfile::Builder::new()
        .prefix(".partial-")
        .tempfile_in(folder)?;
    partial.write_all(text.as_bytes())?;
    partial.as_file().sync_all()?;
    let permissions = match fs::metadata(path) {
        Ok(metadata) => metadata.permissions(),
        Err(_) => std::os::unix::fs::PermissionsExt::from_mode(0o644),
    };
    partial.as_file().set_permissions(permissions)?;
    partial.persist(path).map_err(|error| error.error)?;
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn file(folder: &tempfile::TempDir, before: Option<&str>, after: Option<&str>) -> LocalFile {
        LocalFile {
            path: folder.path().join("mesh.yaml").display().to_string(),
            before: before.map(str::to_owned),
            after: after.map(str::to_owned),
        }
    }

    #[test]
    fn a_file_is_written_changed_and_removed_as_planned_and_only_so() {
        let folder = tempfile::tempdir().unwrap();
        let applied = StepResult::Applied(None);
        assert_eq!(write(&file(&folder, None, Some("a"))), applied);
        assert_eq!(
            write(&file(&folder, None, Some("a"))),
            StepResult::Unchanged
        );
        assert_eq!(write(&file(&folder, Some("a"), Some("b"))), applied);
        let conflict = write(&file(&folder, Some("a"), Some("c")));
        assert!(matches!(conflict, StepResult::Refused(_)), "{conflict:?}");
        assert_eq!(write(&file(&folder, Some("b"), None)), applied);
        assert_eq!(
            write(&file(&folder, Some("b"), None)),
            StepResult::Unchanged
        );
    }
}
