//! The plugin's own words and flags, and what they mean together. Pure.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::OnceLock;

use clap::{Args, Subcommand, ValueEnum, ValueHint};
use karmada_repair::cli::connection::named_once;
use karmada_repair::error::UsageError;

use crate::airflow::KeyKind;
use crate::rotation::{Entangled, Goal};

/// The plugin's own words and flags.
#[derive(Debug, Args)]
pub struct SharedFernetArgs {
    /// Member clusters to compare [default: all]
    #[arg(value_name = "CLUSTER")]
    names: Vec<String>,
    #[command(subcommand)]
    verb: Option<Verb>,
    #[command(flatten)]
    scope: ScopeFlags,
}

/// Which Airflow is meant.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Airflow")]
pub struct ScopeFlags {
    /// Member clusters, as karmadactl takes them [default: all]
    #[arg(short = 'C', long, value_name = "CLUSTER", value_delimiter = ',')]
    clusters: Vec<String>,
    /// Only look for Airflow in this namespace; may be repeated [default: all namespaces]
    #[arg(short = 'n', long, value_name = "NAMESPACE")]
    namespace: Vec<String>,
    /// Only this release
    #[arg(long, value_name = "RELEASE")]
    release: Option<String>,
    /// Which Airflow is meant in a cluster, where names differ; may be given once per cluster
    #[arg(long, value_name = "CLUSTER=NAMESPACE[/RELEASE]")]
    map: Vec<String>,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Compare the keys that each cluster's Airflow really uses; writes nothing (what happens without a command, too)
    Compare(CompareArgs),
    /// Make new keys, as a Helm values file or as manifests of Secrets
    Generate(GenerateArgs),
    /// Bring all clusters to one list of keys, those of one cluster first
    Sync(SyncArgs),
    /// Replace the fernet key everywhere, in an order in which each cluster always reads what the others write
    Rotate(RotateArgs),
    /// Say which clusters can decrypt a value of the database
    Verify(VerifyArgs),
}

#[derive(Debug, Args)]
struct CompareArgs {
    /// Member clusters to compare [default: all]
    #[arg(value_name = "CLUSTER")]
    names: Vec<String>,
}

#[derive(Debug, Args)]
struct GenerateArgs {
    /// The major version of Airflow, which decides on the keys that it needs
    #[arg(long, value_enum, value_name = "2|3")]
    airflow: AirflowVersion,
    /// Write a Helm values file with the keys, readable by you alone; an existing file is not touched
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with_all = ["manifests", "stdout"])]
    values: Option<PathBuf>,
    /// Write manifests of Secrets and the values that name them into this folder, readable by you alone; existing files
    /// are not touched
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath, conflicts_with = "stdout")]
    manifests: Option<PathBuf>,
    /// Print the keys as a values file, for a pipe
    #[arg(long)]
    stdout: bool,
    /// The beginning of the Secrets' names; not that of a release, whose Secrets Helm replaces
    #[arg(long, value_name = "NAME", default_value = "airflow-shared")]
    name: String,
}

#[derive(Debug, Args)]
struct SyncArgs {
    /// The cluster whose keys come first
    #[arg(long, value_name = "CLUSTER")]
    from: String,
    /// Drop the other clusters' fernet keys: what they encrypted becomes unreadable unless it was rotated before
    #[arg(long)]
    replace: bool,
}

#[derive(Debug, Args)]
struct RotateArgs {
    /// Only go on with a rotation that was begun, begin none
    #[arg(long)]
    resume: bool,
    /// airflow rotate-fernet-key has been run by hand since all clusters had the new key first
    #[arg(long)]
    rotated: bool,
}

#[derive(Debug, Args)]
struct VerifyArgs {
    /// Read encrypted values from stdin, one a line, as they stand in connection.password or variable.val
    #[arg(long, value_name = "-", required = true, value_parser = ["-"], allow_hyphen_values = true)]
    ciphertext: String,
}

/// The major version of Airflow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum AirflowVersion {
    /// Airflow 2: fernet and webserver key.
    #[value(name = "2")]
    Two,
    /// Airflow 3: fernet key, API secret key and JWT secret.
    #[value(name = "3")]
    Three,
}

/// What words and flags mean together.
#[derive(Debug, Clone, Default)]
pub struct Config {
    /// What is to be done.
    pub operation: Operation,
    /// Where.
    pub scope: Scope,
    /// What a rotation is to bring about, fixed by the first observation of the run.
    pub goal: OnceLock<Option<Result<Goal, Entangled>>>,
}

/// What is to be done.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Operation {
    /// The keys are compared.
    #[default]
    Compare,
    /// New keys are made.
    Generate(Generate),
    /// All clusters get one list of keys.
    Sync(Sync),
    /// The fernet key is replaced.
    Rotate(Rotate),
    /// Tokens on stdin are decrypted with the keys of each cluster.
    Verify,
}

/// How new keys are made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Generate {
    /// For which Airflow.
    pub airflow: AirflowVersion,
    /// Where they go.
    pub to: Destination,
    /// The beginning of the Secrets' names.
    pub name: String,
    /// The namespace of the Secrets.
    pub namespace: String,
}

/// Where new keys go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Destination {
    /// A Helm values file.
    Values(PathBuf),
    /// A folder of manifests.
    Manifests(PathBuf),
    /// stdout, because it was asked for.
    Stdout,
}

/// How all clusters get one list of keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sync {
    /// The cluster whose keys come first.
    pub from: String,
    /// Whether other clusters' fernet keys are dropped.
    pub replace: bool,
}

/// How the fernet key is replaced.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rotate {
    /// Whether no rotation is begun.
    pub resume: bool,
    /// Whether the rows have been encrypted anew by hand.
    pub rotated: bool,
}

/// Which Airflow is meant.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scope {
    /// The members, without duplicates; empty = all.
    pub clusters: Vec<String>,
    /// The namespaces; empty = all.
    pub namespaces: Vec<String>,
    /// The release; `None` = any.
    pub release: Option<String>,
    /// The place in single clusters.
    pub map: BTreeMap<String, Place>,
}

/// An Airflow in a cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Its namespace.
    pub namespace: String,
    /// Its release; `None` = the only one there.
    pub release: Option<String>,
}

impl Scope {
    /// The namespaces to look into in a cluster; empty = all.
    pub fn namespaces_in(&self, cluster: &str) -> Vec<String> {
        match self.map.get(cluster) {
            Some(place) => vec![place.namespace.clone()],
            None => self.namespaces.clone(),
        }
    }

    /// The release that is meant in a cluster; `None` = any.
    pub fn release_in(&self, cluster: &str) -> Option<&str> {
        match self.map.get(cluster) {
            Some(place) => place.release.as_deref(),
            None => self.release.as_deref(),
        }
    }
}

impl Config {
    /// What words and flags mean together.
    ///
    /// # Errors
    /// When the command line cannot be followed.
    pub fn resolve(args: SharedFernetArgs) -> Result<Config, UsageError> {
        let SharedFernetArgs { names, verb, scope } = args;
        let (more, operation) = match verb {
            None => (Vec::new(), Operation::Compare),
            Some(Verb::Compare(compare)) => (compare.names, Operation::Compare),
            Some(Verb::Generate(generate)) => {
                let namespace = match scope.namespace.as_slice() {
                    [] => "airflow".to_owned(),
                    [one] => one.clone(),
                    _ => {
                        return Err(UsageError::new(
                            "generate makes Secrets for one namespace, and --namespace names several",
                        ));
                    }
                };
                (
                    Vec::new(),
                    Operation::Generate(generated(generate, namespace)?),
                )
            }
            Some(Verb::Sync(sync)) => (Vec::new(), Operation::Sync(synced(sync)?)),
            Some(Verb::Rotate(RotateArgs { resume, rotated })) => {
                (Vec::new(), Operation::Rotate(Rotate { resume, rotated }))
            }
            Some(Verb::Verify(_)) => (Vec::new(), Operation::Verify),
        };
        let scope = scope.resolve(names.into_iter().chain(more))?;
        if let Operation::Sync(Sync { from, .. }) = &operation
            && !scope.clusters.is_empty()
            && !scope.clusters.contains(from)
        {
            return Err(UsageError::new(format!(
                "--from names {from}, which is not among the selected clusters"
            )));
        }
        Ok(Config {
            operation,
            scope,
            goal: OnceLock::new(),
        })
    }

    /// The kinds of keys that are looked at.
    pub fn kinds(&self) -> &'static [KeyKind] {
        match self.operation {
            Operation::Rotate(_) | Operation::Verify => &[KeyKind::Fernet],
            _ => &KeyKind::ALL,
        }
    }
}

fn generated(args: GenerateArgs, namespace: String) -> Result<Generate, UsageError> {
    let GenerateArgs {
        airflow,
        values,
        manifests,
        stdout,
        name,
    } = args;
    let to = match (values, manifests, stdout) {
        (Some(file), _, _) => Destination::Values(file),
        (None, Some(folder), _) => Destination::Manifests(folder),
        (None, None, true) => Destination::Stdout,
        (None, None, false) => {
            return Err(
                UsageError::new("generate does not say where the keys are to go")
                    .with_hint("write --values FILE, --manifests FOLDER, or --stdout for a pipe"),
            );
        }
    };
    let is_name = |name: &str| {
        name.chars()
            .all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-')
            && name.starts_with(|letter: char| letter.is_ascii_alphanumeric())
            && name.len() <= 40
    };
    if !is_name(&name) || !is_name(&namespace) {
        return Err(UsageError::new(
            "names are made of lower-case letters, digits and dashes, at most 40 of them",
        ));
    }
    Ok(Generate {
        airflow,
        to,
        name,
        namespace,
    })
}

fn synced(args: SyncArgs) -> Result<Sync, UsageError> {
    let SyncArgs { from, replace } = args;
    if from.is_empty() {
        return Err(UsageError::new("--from names no cluster"));
    }
    Ok(Sync { from, replace })
}

impl ScopeFlags {
    fn resolve(self, names: impl Iterator<Item = String>) -> Result<Scope, UsageError> {
        let mut scope = Scope {
            release: self.release.filter(|release| !release.is_empty()),
            clusters: named_once(names.chain(self.clusters))?,
            ..Scope::default()
        };
        for namespace in self.namespace {
            if namespace.is_empty() {
                return Err(UsageError::new("a namespace is empty"));
            }
            if !scope.namespaces.contains(&namespace) {
                scope.namespaces.push(namespace);
            }
        }
        for given in self.map {
            let (cluster, place) = mapped(&given)?;
            if !scope.clusters.is_empty() && !scope.clusters.contains(&cluster) {
                return Err(UsageError::new(format!(
                    "--map is given for {cluster:?}, which is not among the selected clusters"
                )));
            }
            if scope.map.insert(cluster.clone(), place).is_some() {
                return Err(UsageError::new(format!(
                    "--map is given twice for {cluster:?}"
                )));
            }
        }
        Ok(scope)
    }
}

fn mapped(given: &str) -> Result<(String, Place), UsageError> {
    let wrong = || {
        UsageError::new(format!(
            "--map {given:?} does not say which Airflow is meant"
        ))
        .with_hint("write it as --map cluster-b=NAMESPACE or --map cluster-b=NAMESPACE/RELEASE")
    };
    let (cluster, place) = given.split_once('=').ok_or_else(wrong)?;
    let (namespace, release) = match place.split_once('/') {
        Some((namespace, release)) => (namespace, Some(release)),
        None => (place, None),
    };
    let filled = |text: &str| !text.is_empty() && !text.contains('/');
    if !filled(cluster) || !filled(namespace) || !release.is_none_or(filled) {
        return Err(wrong());
    }
    let place = Place {
        namespace: namespace.to_owned(),
        release: release.map(str::to_owned),
    };
    Ok((cluster.to_owned(), place))
}

#[cfg(test)]
mod tests;
