//! Makes, finds, compares, distributes and rotates the keys that Airflow instances of several clusters share.

pub mod airflow;
pub mod blocked;
pub mod compare;
pub mod config;
pub mod decode;
pub mod diagnose;
pub mod digest;
pub mod discovery;
pub mod files;
pub mod generate;
pub mod group;
pub mod instances;
pub mod key;
pub mod keyring;
pub mod keys;
pub mod observe;
pub mod observed;
pub mod overview;
pub mod plan;
pub mod progress;
pub mod random;
pub mod rotate;
pub mod rotation;
pub mod secret;
pub mod stages;
pub mod stale;
pub mod sync;
pub mod token;

#[cfg(test)]
mod fixture;

use jiff::Timestamp;
use karmada_repair::access::Access;
use karmada_repair::cli::run::RunOptions;
use karmada_repair::driver::{Depth, Need, Repair};
use karmada_repair::error::{Failure, UsageError};
use karmada_repair::exit::Exit;
use karmada_repair::finding::Finding;
use karmada_repair::plan::Plan;
use karmada_repair::report::Overview;

use crate::config::{Config, Operation, SharedFernetArgs};
use crate::observed::Observed;

/// The plugin.
#[derive(Debug)]
pub struct SharedFernet;

impl Repair for SharedFernet {
    const NAME: &'static str = "shared-fernet";
    const ABOUT: &'static str = "Compare, distribute and rotate the keys that Airflow instances of several member clusters share";
    const AFTER_HELP: &'static str = AFTER_HELP;
    const CONTROL_PLANE: Need = Need::Optional;
    type Args = SharedFernetArgs;
    type Config = Config;
    type Observed = Observed;

    fn config(args: SharedFernetArgs) -> Result<Config, UsageError> {
        Config::resolve(args)
    }

    async fn instead(_: &Access, config: &Config, _: &RunOptions) -> Option<Result<Exit, Failure>> {
        match &config.operation {
            Operation::Generate(options) => Some(files::generate(options)),
            _ => None,
        }
    }

    async fn observe(access: &Access, config: &Config, _: Depth) -> Result<Observed, Failure> {
        observe::observe(access, config).await
    }

    fn diagnose(observed: &Observed, config: &Config, _: Timestamp) -> Vec<Finding> {
        diagnose::diagnose(observed, config)
    }

    fn plan(observed: &Observed, findings: &[Finding], config: &Config, _: Timestamp) -> Plan {
        plan::plan(observed, findings, config)
    }

    fn overview(
        observed: &Observed,
        findings: &[Finding],
        config: &Config,
        _: Timestamp,
    ) -> Overview {
        overview::overview(observed, findings, config)
    }
}

const AFTER_HELP: &str = "\
Equal letters in the table are equal keys; no key is ever shown.

Examples:
  # Compare what the Airflow of each member really uses
  kubectl karmada-shared-fernet
  # Only two members, with other names in one of them
  kubectl karmada-shared-fernet cluster-a cluster-b --map cluster-b=airflow-prod/airflow2
  # Make keys before anything is installed
  kubectl karmada-shared-fernet generate --airflow 3 --manifests keys/
  # Bring all members to the keys of cluster-a; what others encrypted stays readable
  kubectl karmada-shared-fernet sync --from cluster-a --dry-run
  # Replace the fernet key in all members, and go on where it stopped
  kubectl karmada-shared-fernet rotate
  kubectl karmada-shared-fernet rotate --resume
  # Can every member decrypt this value of the database?
  kubectl karmada-shared-fernet verify --ciphertext - < value

Exit codes:
  0  keys agree, or were brought to agree and verified
  1  faults remain: found, dry run, declined, or no --yes without a terminal
  2  the command line is wrong
  3  no fault was found, but something could not be read
  4  a change was begun and not completed, or not proven
  130, 143  interrupted before the first write";
