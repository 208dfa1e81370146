//! Reads kubeconfig files from disk and merges them by kubectl's rules.

use std::collections::BTreeSet;
use std::fmt;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use kube::config::{Kubeconfig as Entries, NamedAuthInfo, NamedCluster, NamedContext};
use serde_json::Value;
use serde_saphyr::DuplicateKeyPolicy;

use crate::cluster::error::ClusterError;
use crate::env::Env;

/// One or several kubeconfig files, merged.
///
/// Paths inside are absolute: each was resolved against the folder of the file that holds it.
/// Source: <https://kubernetes.io/docs/concepts/configuration/organize-cluster-access-kubeconfig/>.
#[derive(Clone)]
pub struct Kubeconfig {
    entries: Entries,
    files: Vec<KubeconfigFile>,
    explicit: bool,
}

impl Kubeconfig {
    /// Reads the file that `--kubeconfig` names; without one the list in `$KUBECONFIG`, else `~/.kube/config`.
    ///
    /// In a list, missing files and empty segments are ignored and the first file that names an entry wins.
    /// Nothing found at all is not an error here: choosing a context says so.
    ///
    /// # Errors
    /// A file that was named by the flag and is missing, and any file that cannot be read as a kubeconfig.
    pub fn load(flag: Option<&Path>, env: &Env) -> Result<Kubeconfig, ClusterError> {
        let explicit = flag.filter(|path| !path.as_os_str().is_empty());
        let mut kubeconfig = Kubeconfig {
            explicit: explicit.is_some(),
            ..Kubeconfig::blank()
        };
        for path in paths(explicit, env) {
            let read = read_file(&path)?;
            let content = match &read {
                None if kubeconfig.explicit => return Err(ClusterError::MissingFile { path }),
                None => FileContent::Missing,
                Some(entries) if is_blank(entries) => FileContent::Empty,
                Some(_) => FileContent::Entries,
            };
            kubeconfig.merge(read.unwrap_or_default());
            kubeconfig.files.push(KubeconfigFile { path, content });
        }
        Ok(kubeconfig)
    }

    /// What there is without any file.
    pub fn blank() -> Kubeconfig {
        Kubeconfig {
            entries: Entries::default(),
            files: Vec::new(),
            explicit: false,
        }
    }

    /// The name of the context that is used unless another is asked for; `None` = not set.
    pub fn current_context(&self) -> Option<&str> {
        self.entries
            .current_context
            .as_deref()
            .filter(|name| !name.is_empty())
    }

    /// All contexts, sorted by name.
    pub fn contexts(&self) -> Vec<ContextSummary> {
        let mut contexts: Vec<_> = self
            .entries
            .contexts
            .iter()
            .map(|named| self.summary(named))
            .collect();
        contexts.sort_by(|a, b| a.name.cmp(&b.name));
        contexts
    }

    /// Whether there is nothing in any file that a connection could be made from.
    pub fn is_blank(&self) -> bool {
        is_blank(&self.entries)
    }

    /// Whether `--kubeconfig` named the file.
    pub(crate) fn is_explicit(&self) -> bool {
        self.explicit
    }

    /// The files, each with what is worth saying about it, for an error's text.
    pub(crate) fn places(&self) -> String {
        let places: Vec<String> = self.files.iter().map(KubeconfigFile::to_string).collect();
        match places.is_empty() {
            true => "neither --kubeconfig, $KUBECONFIG nor $HOME names a file".to_owned(),
            false => places.join(", "),
        }
    }

    pub(crate) fn context(&self, name: &str) -> Option<&NamedContext> {
        self.entries
            .contexts
            .iter()
            .find(|named| named.name == name)
    }

    pub(crate) fn cluster(&self, name: &str) -> Option<&NamedCluster> {
        self.entries
            .clusters
            .iter()
            .find(|named| named.name == name)
    }

    pub(crate) fn user(&self, name: &str) -> Option<&NamedAuthInfo> {
        self.entries
            .auth_infos
            .iter()
            .find(|named| named.name == name)
    }

    fn summary(&self, named: &NamedContext) -> ContextSummary {
        let context = named.context.as_ref();
        let cluster = context.and_then(|context| self.cluster(&context.cluster));
        let user = context.and_then(|context| self.user(context.user.as_deref()?));
        ContextSummary {
            name: named.name.clone(),
            server: cluster.and_then(|named| {
                named
                    .cluster
                    .as_ref()?
                    .server
                    .as_deref()
                    .map(without_userinfo)
            }),
            runs_a_login: user
                .and_then(|named| named.auth_info.as_ref())
                .is_some_and(|user| user.exec.is_some() || user.auth_provider.is_some()),
        }
    }

    fn merge(&mut self, next: Entries) {
        let entries = &mut self.entries;
        add_new(&mut entries.clusters, next.clusters, |named| &named.name);
        add_new(&mut entries.auth_infos, next.auth_infos, |named| {
            &named.name
        });
        add_new(&mut entries.contexts, next.contexts, |named| &named.name);
        if self.current_context().is_none() {
            self.entries.current_context = next.current_context;
        }
    }
}

/// Shows the files only: their content is secret.
impl fmt::Debug for Kubeconfig {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Kubeconfig")
            .field("files", &self.files)
            .finish_non_exhaustive()
    }
}

/// What can be said of a context without connecting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextSummary {
    /// Its name.
    pub name: String,
    /// The URL of its server, without userinfo; `None` = its cluster entry is missing or has none.
    pub server: Option<String>,
    /// Whether its user gets credentials from a command or an auth provider, so that connecting may open a login.
    pub runs_a_login: bool,
}

#[derive(Debug, Clone)]
struct KubeconfigFile {
    path: PathBuf,
    content: FileContent,
}

#[derive(Debug, Clone, Copy)]
enum FileContent {
    Missing,
    Empty,
    Entries,
}

impl fmt::Display for KubeconfigFile {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        match self.content {
            FileContent::Missing => write!(formatter, "{path} (missing)"),
            FileContent::Empty => write!(formatter, "{path} (empty)"),
            FileContent::Entries => write!(formatter, "{path}"),
        }
    }
}

/// A URL without the name and password it may carry.
pub(crate) fn without_userinfo(url: &str) -> String {
    let (scheme, rest) = url
        .split_once("://")
        .map_or(("", url), |(scheme, rest)| (scheme, rest));
    let authority_end = rest.find('/').unwrap_or(rest.len());
    let host_start = rest[..authority_end].rfind('@').map_or(0, |at| at + 1);
    match scheme {
        "" => rest[host_start..].to_owned(),
        scheme => format!("{scheme}://{}", &rest[host_start..]),
    }
}

fn paths(explicit: Option<&Path>, env: &Env) -> Vec<PathBuf> {
    if let Some(path) = explicit {
        return vec![path.to_owned()];
    }
    let Some(list) = env.var("KUBECONFIG") else {
        return env
            .home()
            .map(|home| home.join(".kube/config"))
            .into_iter()
            .collect();
    };
    let mut seen = BTreeSet::new();
    std::env::split_paths(list)
        .filter(|path| !path.as_os_str().is_empty() && seen.insert(path.clone()))
        .collect()
}

fn add_new<T>(all: &mut Vec<T>, next: Vec<T>, name: impl Fn(&T) -> &String) {
    let known: BTreeSet<String> = all.iter().map(|entry| name(entry).clone()).collect();
    all.extend(
        next.into_iter()
            .filter(|entry| !known.contains(name(entry))),
    );
}

fn is_blank(entries: &Entries) -> bool {
    entries.contexts.is_empty()
        && entries.clusters.is_empty()
        && entries.auth_infos.is_empty()
        && entries
            .current_context
            .as_deref()
            .unwrap_or_default()
            .is_empty()
}

/// `None` = there is no such file.
fn read_file(path: &Path) -> Result<Option<Entries>, ClusterError> {
    let bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(source) => {
            return Err(ClusterError::UnreadableFile {
                path: path.to_owned(),
                source,
            });
        }
    };
    let text = decode(bytes).ok_or_else(|| ClusterError::NotText {
        path: path.to_owned(),
    })?;
    let mut entries = parse(&text, path)?;
    refuse_duplicates(&entries, path)?;
    make_paths_absolute(&mut entries, path.parent().unwrap_or(Path::new("")));
    Ok(Some(entries))
}

/// Text in UTF-8, or in the UTF-16 that PowerShell's `>` writes; `None` = neither.
fn decode(bytes: Vec<u8>) -> Option<String> {
    let utf16 = |bytes: &[u8], unit: fn([u8; 2]) -> u16| {
        let (pairs, rest) = bytes.as_chunks::<2>();
        let units: Vec<u16> = pairs.iter().map(|pair| unit(*pair)).collect();
        rest.is_empty()
            .then(|| String::from_utf16(&units).ok())
            .flatten()
    };
    let text = match bytes.as_slice() {
        [0xFF, 0xFE, rest @ ..] => utf16(rest, u16::from_le_bytes),
        [0xFE, 0xFF, rest @ ..] => utf16(rest, u16::from_be_bytes),
        [0xEF, 0xBB, 0xBF, rest @ ..] => String::from_utf8(rest.to_vec()).ok(),
        _ => String::from_utf8(bytes).ok(),
    };
    text.filter(|text| !text.contains('\0'))
}

/// Reads the first document, as kubectl does.
fn parse(text: &str, path: &Path) -> Result<Entries, ClusterError> {
    let options = || serde_saphyr::options! { duplicate_keys: DuplicateKeyPolicy::LastWins };
    let error = match serde_saphyr::from_multiple_with_options(text, options()) {
        Ok(documents) => return first_entries(documents, path),
        Err(error) => error,
    };
    // The parser's own text may quote the file, and with it a credential: only the place is told.
    let line = error.location().map(|place| place.line());
    let path_text = path.to_owned();
    let Ok(documents) = serde_saphyr::from_multiple_with_options(text, options()) else {
        return Err(ClusterError::NotYaml {
            path: path_text,
            line,
        });
    };
    let document = documents.into_iter().next().unwrap_or(Value::Null);
    let kind = document["kind"].as_str().map(str::to_owned);
    if !document.is_object() || kind.as_deref().is_some_and(|kind| kind != "Config") {
        return Err(not_a_kubeconfig(kind.as_deref(), path));
    }
    // A key that is there twice passes as a value, where the last one wins, as in kubectl.
    serde_json::from_value(document).map_err(|_| ClusterError::OddShape {
        path: path_text,
        line,
    })
}

fn first_entries(documents: Vec<Option<Entries>>, path: &Path) -> Result<Entries, ClusterError> {
    let entries = documents.into_iter().next().flatten().unwrap_or_default();
    match entries.kind.as_deref() {
        None | Some("Config") => Ok(entries),
        kind => Err(not_a_kubeconfig(kind, path)),
    }
}

fn not_a_kubeconfig(kind: Option<&str>, path: &Path) -> ClusterError {
    let is_a_kind =
        |kind: &&str| kind.len() <= 63 && kind.chars().all(|letter| letter.is_ascii_alphanumeric());
    ClusterError::NotKubeconfig {
        path: path.to_owned(),
        kind: kind.filter(is_a_kind).map(str::to_owned),
    }
}

fn refuse_duplicates(entries: &Entries, path: &Path) -> Result<(), ClusterError> {
    let lists: [(&'static str, Vec<&String>); 3] = [
        (
            "contexts",
            entries.contexts.iter().map(|named| &named.name).collect(),
        ),
        (
            "clusters",
            entries.clusters.iter().map(|named| &named.name).collect(),
        ),
        (
            "users",
            entries.auth_infos.iter().map(|named| &named.name).collect(),
        ),
    ];
    for (list, names) in lists {
        let mut seen = BTreeSet::new();
        if let Some(name) = names.into_iter().find(|name| !seen.insert(name.as_str())) {
            return Err(ClusterError::DuplicateName {
                path: path.to_owned(),
                list,
                name: name.clone(),
            });
        }
    }
    Ok(())
}

fn make_paths_absolute(entries: &mut Entries, folder: &Path) {
    let absolute = |path: &mut Option<String>| {
        if let Some(path) = path.as_mut().filter(|path| !path.is_empty()) {
            *path = folder.join(&*path).to_string_lossy().into_owned();
        }
    };
    for cluster in entries
        .clusters
        .iter_mut()
        .filter_map(|named| named.cluster.as_mut())
    {
        absolute(&mut cluster.certificate_authority);
    }
    for user in entries
        .auth_infos
        .iter_mut()
        .filter_map(|named| named.auth_info.as_mut())
    {
        absolute(&mut user.client_certificate);
        absolute(&mut user.client_key);
        absolute(&mut user.token_file);
        // A bare command is looked up in PATH, as client-go does; only one with a separator is a path.
        if let Some(exec) = user.exec.as_mut()
            && exec
                .command
                .as_deref()
                .is_some_and(|command| command.contains(std::path::MAIN_SEPARATOR))
        {
            absolute(&mut exec.command);
        }
    }
}
