//! Gives access to Karmada's member clusters, by rights in the control plane, and removes what stands in its way.

pub mod account;
pub mod answer;
pub mod audit;
pub mod config;
pub mod diagnose;
pub mod examine;
pub mod grant;
pub mod member_role;
pub mod observe;
pub mod observed;
pub mod overview;
pub mod plan;
pub mod rbac;
pub mod revoke;

mod prove;
mod whoami;

#[cfg(test)]
mod fixture;

use jiff::Timestamp;
use karmada_repair::access::Access;
use karmada_repair::driver::{Depth, ProofResult, Repair, Until};
use karmada_repair::error::{Failure, UsageError};
use karmada_repair::finding::Finding;
use karmada_repair::plan::{Plan, Proof};
use karmada_repair::report::Overview;

use crate::config::{Config, GrantImpersonateArgs};
use crate::observed::Observed;

/// The plugin.
#[derive(Debug)]
pub struct GrantImpersonate;

impl Repair for GrantImpersonate {
    const NAME: &'static str = "grant-impersonate";
    const ABOUT: &'static str =
        "Give users, service accounts and groups access to Karmada's member clusters";
    const AFTER_HELP: &'static str = AFTER_HELP;
    const OWN_FORMATS: &'static [&'static str] = &["manifests"];
    type Args = GrantImpersonateArgs;
    type Config = Config;
    type Observed = Observed;

    fn config(args: GrantImpersonateArgs) -> Result<Config, UsageError> {
        Config::resolve(args)
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

    fn rendering(
        _format: &str,
        observed: &Observed,
        findings: &[Finding],
        config: &Config,
        now: Timestamp,
    ) -> String {
        plan::manifests(observed, findings, config, now)
            .iter()
            .map(|manifest| {
                let yaml = serde_saphyr::to_string(manifest)
                    .expect("a manifest has string keys and no value that YAML lacks");
                format!("---\n{yaml}")
            })
            .collect()
    }

    async fn prove(
        access: &Access,
        observed: &Observed,
        proof: &Proof,
        _config: &Config,
        until: Until<'_>,
    ) -> ProofResult {
        prove::prove(access, observed, proof, until).await
    }
}

const AFTER_HELP: &str = "\
Examples:
  # Say why you do not reach members, and what would be done
  kubectl karmada-grant-impersonate --dry-run
  # Give yourself access to all members
  kubectl karmada-grant-impersonate
  # Give a user access to two members, and the right to read there
  kubectl karmada-grant-impersonate member1 member2 --user jane --member-role view
  # A user whose certificate or token carries groups
  kubectl karmada-grant-impersonate --from-kubeconfig jane.config
  # A service account of the control plane
  kubectl karmada-grant-impersonate --serviceaccount ci:deployer --verbs get,create
  # Everybody in a group whose user name members accept
  kubectl karmada-grant-impersonate --group devs --user jane --user bob
  # Who can pass to members, and through which binding
  kubectl karmada-grant-impersonate --list
  # Take it away
  kubectl karmada-grant-impersonate --user jane --revoke

Exit codes:
  0  healthy, or repaired and verified
  1  faults remain: found, dry run, declined, or no --yes without a terminal
  2  the command line is wrong
  3  no fault was found, but something could not be read
  4  a repair was begun and not completed, or not proven
  130, 143  interrupted before the first write";
