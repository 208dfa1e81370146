//! Examines every certificate that a Karmada federation lives on.

pub mod bar;
pub mod certificate;
pub mod chain;
pub mod checks;
pub mod config;
pub mod der;
pub mod diagnose;
pub mod hints;
pub mod install;
pub mod inventory;
pub mod material;
pub mod observe;
pub mod observed;
pub mod overview;
pub mod place;
pub mod probe;
pub mod render;
pub mod rows;
pub mod rustls_verdict;
pub mod signature;
pub mod sources;
pub mod threshold;
pub mod view;
pub mod words;

use jiff::Timestamp;
use karmada_repair::access::Access;
use karmada_repair::driver::{Depth, Need, Repair};
use karmada_repair::error::{Failure, UsageError};
use karmada_repair::finding::{FailOn, Finding};
use karmada_repair::plan::Plan;
use karmada_repair::report::Overview;

use crate::config::{CheckCertsArgs, Config};
use crate::observed::Observed;

/// The plugin.
#[derive(Debug)]
pub struct CheckCerts;

impl Repair for CheckCerts {
    const NAME: &'static str = "check-certs";
    const ABOUT: &'static str =
        "Examine every certificate that a Karmada federation lives on, and say which ends first";
    const AFTER_HELP: &'static str = AFTER_HELP;
    const CONTROL_PLANE: Need = Need::Optional;
    const REPAIRS: bool = false;
    const OWN_FORMATS: &[&str] = render::FORMATS;
    const FAIL_ON: FailOn = FailOn::Warning;
    type Args = CheckCertsArgs;
    type Config = Config;
    type Observed = Observed;

    fn config(args: CheckCertsArgs) -> Result<Config, UsageError> {
        Config::resolve(args)
    }

    async fn observe(access: &Access, config: &Config, _depth: Depth) -> Result<Observed, Failure> {
        Ok(observe::observe(access, config).await)
    }

    fn diagnose(observed: &Observed, config: &Config, now: Timestamp) -> Vec<Finding> {
        diagnose::diagnose(observed, config, now)
    }

    fn plan(
        _observed: &Observed,
        _findings: &[Finding],
        _config: &Config,
        _now: Timestamp,
    ) -> Plan {
        Plan::default()
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
        format: &str,
        observed: &Observed,
        findings: &[Finding],
        config: &Config,
        now: Timestamp,
    ) -> String {
        render::render(format, observed, findings, config, now)
    }
}

const AFTER_HELP: &str = "\
Examples:
  # Everything that the current context and the host cluster give access to
  kubectl karmada-check-certs --host-context k3d-karmada-host
  # The control plane is down: the host cluster alone, or the files alone, give the answer
  kubectl karmada-check-certs --host-kubeconfig ~/.kube/host.config
  kubectl karmada-check-certs --path /etc/karmada/pki
  # One server, against the CA in a file
  kubectl karmada-check-certs --endpoint 172.18.0.2:5443 --path ca.crt
  # A timeline to look at, and metrics for the textfile collector of node_exporter
  kubectl karmada-check-certs -o html > certificates.html
  kubectl karmada-check-certs -o prometheus > karmada_certs.prom
  # Fail when something ends within a week, warn within 60 days
  kubectl karmada-check-certs --warn-within 60d --fail-within 7d --fail-on error

Exit codes:
  0  nothing is wrong and nothing ends soon
  1  faults or, unless --fail-on says otherwise, warnings were found
  2  the command line is wrong
  3  no fault was found, but something could not be read
  130, 143  interrupted";
