//! Files and folders of this machine.

use std::collections::BTreeSet;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use karmada_repair::finding::Subject;

use crate::inventory::{FaultAt, Inventory};
use crate::material::{Expectation, Fault, Reference};
use crate::observed::{Reading, Source};
use crate::place::Holder;

/// Reads these files, and all files in these folders.
pub fn read(paths: &[PathBuf], inventory: &mut Inventory) -> Vec<Source> {
    let mut walk = Walk {
        inventory,
        sources: Vec::new(),
        seen: BTreeSet::new(),
        files: 0,
    };
    for path in paths {
        walk.given(path);
    }
    walk.named_in_kubeconfigs();
    walk.sources
}

struct Walk<'a> {
    inventory: &'a mut Inventory,
    sources: Vec<Source>,
    seen: BTreeSet<PathBuf>,
    files: usize,
}

impl Walk<'_> {
    fn given(&mut self, path: &Path) {
        let metadata = match fs::metadata(path) {
            Ok(metadata) => metadata,
            Err(error) => return self.unreadable(path, error.to_string()),
        };
        let (files, unreadable) = (self.files, self.sources.len());
        if metadata.is_dir() {
            self.folder(path, 0);
        } else {
            let expectation = match Expectation::of(&shown(path)) {
                Expectation::Nothing => Expectation::Certificate,
                expectation => expectation,
            };
            self.file(path, expectation);
        }
        if self.files == files && self.sources.len() == unreadable {
            return self.unreadable(path, "there is no file in it".to_owned());
        }
        self.sources.push(Source {
            subject: Subject::new("file", shown(path)),
            state: Reading::Read,
        });
    }

    fn folder(&mut self, path: &Path, depth: usize) {
        // A folder that leads back to one above it is not entered again.
        let known = fs::canonicalize(path).is_ok_and(|real| !self.seen.insert(real));
        if known || depth > DEEPEST {
            return;
        }
        let entries = match fs::read_dir(path) {
            Ok(entries) => entries,
            Err(error) => return self.unreadable(path, error.to_string()),
        };
        let entries = entries.filter_map(Result::ok).map(|entry| entry.path());
        let mut paths: Vec<PathBuf> = entries.collect();
        paths.sort();
        for path in paths {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            // A mounted Secret holds its files twice: kubelet keeps them in a folder whose name begins with two dots.
            if name.starts_with("..") {
                continue;
            }
            if self.files >= MOST_FILES {
                let reason = format!("more than {MOST_FILES} files were found before it");
                return self.unreadable(&path, reason);
            }
            match fs::metadata(&path) {
                Ok(metadata) if metadata.is_dir() => self.folder(&path, depth + 1),
                Ok(metadata) if metadata.is_file() => {
                    let expectation = Expectation::of(&name);
                    self.file(&path, expectation);
                }
                // Sockets, pipes and devices hold no certificates and may never end.
                Ok(_) => {}
                Err(error) => self.unreadable(&path, error.to_string()),
            }
        }
    }

    fn file(&mut self, path: &Path, expectation: Expectation) {
        self.files += 1;
        let holder = Holder::File(shown(path));
        match content(path) {
            Ok(Content::Bytes(bytes)) => self.inventory.add(&holder, "", &bytes, expectation),
            Ok(Content::TooLarge(size)) => self.inventory.faults.push(FaultAt {
                place: holder.at(""),
                expectation,
                fault: Fault::TooLarge(size),
            }),
            Err(reason) => self.unreadable(path, reason),
        }
    }

    /// The files that kubeconfigs name, relative to the folder of each.
    fn named_in_kubeconfigs(&mut self) {
        let mut named: Vec<PathBuf> = Vec::new();
        for at in &self.inventory.contexts {
            let Holder::File(path) = &at.place.holder else {
                continue;
            };
            let folder = Path::new(path).parent().unwrap_or(Path::new(""));
            let references = [&at.context.authorities, &at.context.client_certificate];
            for reference in references.into_iter().flatten() {
                if let Reference::File(file) = reference {
                    let file = folder.join(file);
                    let holder = Holder::File(shown(&file));
                    let known = self.inventory.bundles.iter();
                    let known = known
                        .map(|bundle| &bundle.place.holder)
                        .any(|other| *other == holder);
                    if !known && !named.contains(&file) {
                        named.push(file);
                    }
                }
            }
        }
        for file in named {
            self.file(&file, Expectation::Certificate);
        }
    }

    fn unreadable(&mut self, path: &Path, reason: String) {
        self.sources.push(Source {
            subject: Subject::new("file", shown(path)),
            state: Reading::Unreadable(reason),
        });
    }
}

enum Content {
    Bytes(Vec<u8>),
    TooLarge(usize),
}

/// The content of a regular file.
fn content(path: &Path) -> Result<Content, String> {
    let metadata = fs::metadata(path).map_err(|error| error.to_string())?;
    if !metadata.is_file() {
        return Err("is neither a file nor a folder".to_owned());
    }
    if metadata.len() > LARGEST {
        let size = usize::try_from(metadata.len()).unwrap_or(usize::MAX);
        return Ok(Content::TooLarge(size));
    }
    let file = fs::File::open(path).map_err(|error| error.to_string())?;
    let mut bytes = Vec::new();
    // A file may grow while it is read.
    file.take(LARGEST)
        .read_to_end(&mut bytes)
        .map_err(|error| error.to_string())?;
    Ok(Content::Bytes(bytes))
}

fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

const LARGEST: u64 = 32 * 1024 * 1024;
const MOST_FILES: usize = 100_000;
const DEEPEST: usize = 16;
