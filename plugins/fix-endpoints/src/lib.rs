//! Repairs the addresses at which a Karmada control plane dials its member clusters.

pub mod config;
pub mod diagnose;
pub mod endpoint;
pub mod examine;
pub mod observed;
pub mod place;
pub mod plan;
pub mod proxy_answer;
pub mod route;

pub mod observe;
pub mod overview;
pub mod secret_kubeconfig;

#[cfg(test)]
mod fixture;

use jiff::Timestamp;
use karmada_repair::access::Access;
use karmada_repair::driver::{Depth, Repair};
use karmada_repair::error::{Failure, UsageError};
use karmada_repair::finding::{Finding, Severity};
use karmada_repair::plan::{Action, Plan};
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

    fn aftermath(plan: &Plan) -> Vec<Finding> {
        let redirected = plan.steps.iter().filter(|step| {
            matches!(&step.action, Action::PatchObject { object, .. } if object.kind == "Cluster")
        });
        redirected
            .map(|step| {
                Finding::new(
                    diagnose::PAGE,
                    "delivery-not-proven",
                    Severity::Info,
                    step.subject.clone(),
                    "it is reached; that workloads are delivered to it is not proven, because controllers may keep \
                     connections to the old address until they restart",
                )
                .hint(
                    "on the host cluster: kubectl -n karmada-system rollout restart deployment karmada-controller-manager",
                )
            })
            .collect()
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
  # A member that is not a container here
  kubectl karmada-fix-endpoints --endpoint member1=https://192.168.1.20:6443

Exit codes:
  0  healthy, or repaired and verified
  1  faults remain: found, dry run, declined, or no --yes without a terminal
  2  the command line is wrong
  3  no fault was found, but something could not be read
  4  a repair was begun and not completed, or not proven
  130, 143  interrupted before the first write";
