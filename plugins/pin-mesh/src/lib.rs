//! Gives the nodes of local clusters fixed addresses on one Docker network.

pub mod address;
pub mod assign;
pub mod certificate;
pub mod config;
pub mod diagnose;
pub mod examine;
pub mod mesh_file;
pub mod network;
pub mod observed;
pub mod plan;
pub mod print;
pub mod release;
pub mod scope;
pub mod services;

mod observe;
mod overview;

#[cfg(test)]
mod tests;

use jiff::Timestamp;
use karmada_repair::access::Access;
use karmada_repair::cli::docker::DockerChoice;
use karmada_repair::cli::run::RunOptions;
use karmada_repair::driver::{Depth, Need, Repair};
use karmada_repair::error::{Failure, UsageError};
use karmada_repair::exit::Exit;
use karmada_repair::finding::Finding;
use karmada_repair::io;
use karmada_repair::plan::Plan;
use karmada_repair::report::{Format, Overview};

use crate::config::{Config, PinMeshArgs, Task};
use crate::observed::Observed;

/// The plugin.
#[derive(Debug)]
pub struct PinMesh;

impl Repair for PinMesh {
    const NAME: &'static str = "pin-mesh";
    const ABOUT: &'static str =
        "Give the nodes of local clusters addresses on one Docker network that survive its restart";
    const AFTER_HELP: &'static str = AFTER_HELP;
    const CONTROL_PLANE: Need = Need::Optional;
    type Args = PinMeshArgs;
    type Config = Config;
    type Observed = Observed;

    fn config(args: PinMeshArgs) -> Result<Config, UsageError> {
        Config::resolve(args)
    }

    fn docker(config: &Config) -> DockerChoice {
        config.docker.clone()
    }

    async fn instead(
        access: &Access,
        config: &Config,
        options: &RunOptions,
    ) -> Option<Result<Exit, Failure>> {
        match config.task {
            Task::Services | Task::Print(_) => Some(only_print(access, config, options).await),
            Task::Pin { .. } | Task::Release => None,
        }
    }

    async fn observe(access: &Access, config: &Config, _depth: Depth) -> Result<Observed, Failure> {
        observe::observe(access, config).await
    }

    fn diagnose(observed: &Observed, config: &Config, _now: Timestamp) -> Vec<Finding> {
        diagnose::diagnose(observed, &observed.settled(config))
    }

    fn plan(observed: &Observed, findings: &[Finding], config: &Config, _now: Timestamp) -> Plan {
        plan::plan(observed, findings, &observed.settled(config))
    }

    fn overview(
        observed: &Observed,
        findings: &[Finding],
        config: &Config,
        _now: Timestamp,
    ) -> Overview {
        overview::overview(observed, findings, &observed.settled(config))
    }
}

async fn only_print(
    access: &Access,
    config: &Config,
    options: &RunOptions,
) -> Result<Exit, Failure> {
    let observed = observe::observe(access, config).await?;
    let config = &observed.settled(config);
    let examined = examine::examine(&observed, config)?;
    if let Task::Print(form) = config.task {
        let docker = &observed.commands.docker;
        io::report(&print::print(&observed, config, &examined, form, docker));
        return Ok(Exit::Healthy);
    }
    let docker = access.docker(&config.docker)?;
    let crossings = services::look(access, docker, &observed, config, &examined).await;
    let text = match options.format {
        Format::Json => serde_json::to_string_pretty(&crossings)
            .map(|text| format!("{text}\n"))
            .unwrap_or_default(),
        Format::Yaml => serde_saphyr::to_string(&crossings).unwrap_or_default(),
        _ => crossings.text(&services::clusters_on(&examined)),
    };
    io::report(&text);
    for (cluster, why) in &crossings.unread {
        io::say(&format!("the services of {cluster} cannot be read: {why}"));
    }
    Ok(match crossings.unread.is_empty() {
        true => Exit::Healthy,
        false => Exit::Unknown,
    })
}

const AFTER_HELP: &str = "\
Examples:
  # Say what is wrong, and what would be done
  kubectl karmada-pin-mesh --all --dry-run
  # Pin all clusters of this machine on the network karmada-mesh
  kubectl karmada-pin-mesh --all
  # Pin one cluster, its first server at this address
  kubectl karmada-pin-mesh cluster-a=172.28.0.11
  # Keep the addresses in a file that can be committed, and apply it again
  kubectl karmada-pin-mesh --all --file mesh.yaml
  # Also have the certificates of k3s servers name the addresses
  kubectl karmada-pin-mesh --all --add-san
  # Restart every node to see that all of it holds
  kubectl karmada-pin-mesh --drill
  # Where do the pods of one cluster find the services of another?
  kubectl karmada-pin-mesh --services
  # Before a cluster is deleted
  kubectl karmada-pin-mesh cluster-a --release

Exit codes:
  0  all is pinned, or was and is verified
  1  faults remain: found, dry run, declined, or no --yes without a terminal
  2  the command line is wrong
  3  no fault was found, but something could not be read
  4  a change was begun and not completed, or not proven
  130, 143  interrupted before the first write";
