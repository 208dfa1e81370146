//! Repairs the addresses at which a Karmada control plane dials its member clusters.

pub mod agent;
pub mod bypass;
pub mod collision;
pub mod config;
pub mod credentials;
pub mod delivery;
pub mod diagnose;
pub mod direct;
pub mod doors;
pub mod endpoint;
pub mod examine;
pub mod host;
pub mod identity;
pub mod observed;
pub mod place;
pub mod plan;
pub mod proxy_answer;
pub mod route;
pub mod stored;
pub mod vantage;

mod ask_agents;
mod ask_directly;
pub mod observe;
pub mod overview;
pub mod secret_kubeconfig;
mod serving;
mod try_addresses;

#[cfg(test)]
mod fixture;

use jiff::Timestamp;
use karmada_repair::access::Access;
use karmada_repair::cli::docker::DockerChoice;
use karmada_repair::driver::{Depth, ProofResult, Repair, Until};
use karmada_repair::error::{Failure, UsageError};
use karmada_repair::finding::Finding;
use karmada_repair::plan::{Plan, Proof};
use karmada_repair::report::Overview;

use crate::config::{Config, FixEndpointsArgs};
use crate::observed::Observed;

/// The plugin.
#[derive(Debug)]
pub struct FixEndpoints;

impl Repair for FixEndpoints {
    const NAME: &'static str = "fix-endpoints";
    const ABOUT: &'static str =
        "Repair the addresses at which a Karmada control plane dials its member clusters";
    const AFTER_HELP: &'static str = AFTER_HELP;
    type Args = FixEndpointsArgs;
    type Config = Config;
    type Observed = Observed;

    fn config(args: FixEndpointsArgs) -> Result<Config, UsageError> {
        Config::resolve(args)
    }

    fn docker(config: &Config) -> DockerChoice {
        config.docker.clone()
    }

    async fn observe(access: &Access, config: &Config, depth: Depth) -> Result<Observed, Failure> {
        observe::observe(access, config, depth).await
    }

    fn diagnose(observed: &Observed, config: &Config, now: Timestamp) -> Vec<Finding> {
        diagnose::diagnose(observed, config, now)
    }

    fn plan(observed: &Observed, findings: &[Finding], config: &Config, now: Timestamp) -> Plan {
        plan::plan(observed, findings, config, now)
    }

    fn overview(
        observed: &Observed,
        findings: &[Finding],
        config: &Config,
        now: Timestamp,
    ) -> Overview {
        overview::overview(observed, findings, config, now)
    }

    async fn prove(
        access: &Access,
        observed: &Observed,
        proof: &Proof,
        _config: &Config,
        until: Until<'_>,
    ) -> ProofResult {
        delivery::prove_member(access, observed, &proof.subject.name, until).await
    }
}

const AFTER_HELP: &str = "\
Examples:
  # Say what is wrong, and what would be done
  kubectl karmada-fix-endpoints --dry-run
  # Repair all members of the control plane in this context
  kubectl karmada-fix-endpoints --context karmada-apiserver
  # Repair one member without asking
  kubectl karmada-fix-endpoints member1 --yes
  # Also restart what keeps connections to old addresses, which the proof of delivery needs
  kubectl karmada-fix-endpoints --host-context k3d-karmada-host
  # Only prove that workloads are delivered
  kubectl karmada-fix-endpoints --check-delivery
  # A member that is not a container here
  kubectl karmada-fix-endpoints --endpoint member1=https://192.168.1.20:6443

Exit codes:
  0  healthy, or repaired and verified
  1  faults remain: found, dry run, declined, or no --yes without a terminal
  2  the command line is wrong
  3  no fault was found, but something could not be read
  4  a repair was begun and not completed, or not proven
  130, 143  interrupted before the first write";
