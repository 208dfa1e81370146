//! The plugin's own flags, and what they mean together. Pure.

use std::collections::BTreeMap;

use clap::Args;
use karmada_repair::cli::connection::named_once;
use karmada_repair::cli::docker::{DockerChoice, DockerFlags};
use karmada_repair::error::UsageError;

use crate::endpoint::Endpoint;
use crate::observed::Member;

/// The plugin's own flags.
#[derive(Debug, Args)]
pub struct FixEndpointsArgs {
    /// Member clusters to examine [default: all]
    #[arg(value_name = "CLUSTER")]
    names: Vec<String>,
    /// Member clusters to examine, as karmadactl takes them
    #[arg(short = 'C', long, value_name = "CLUSTER", value_delimiter = ',')]
    clusters: Vec<String>,
    /// The endpoint of a member, instead of the one that Docker leads to; may be given once per member
    #[arg(long, value_name = "NAME=URL")]
    endpoint: Vec<String>,
    /// Only prove, for each member that is ready, that workloads are delivered to it
    #[arg(long, conflicts_with = "no_delivery_check")]
    check_delivery: bool,
    /// Do not prove after a repair that workloads are delivered
    #[arg(long)]
    no_delivery_check: bool,
    /// Dial members at the names of their containers, which stay when addresses change, where the control plane knows them
    #[arg(long)]
    by_name: bool,
    /// A container that runs the control plane, instead of those found by the published port; may be repeated
    #[arg(long, value_name = "CONTAINER")]
    control_plane_container: Vec<String>,
    #[command(flatten)]
    docker: DockerFlags,
}

/// What the flags mean together.
#[derive(Debug, Clone, Default)]
pub struct Config {
    /// The members to examine, without duplicates; empty = all.
    pub members: Vec<String>,
    /// The endpoints given by hand, by member.
    pub endpoints: BTreeMap<String, Endpoint>,
    /// Whether members are to be dialled at the names of their containers.
    pub by_name: bool,
    /// The containers that run the control plane; empty = to be found.
    pub control_plane_containers: Vec<String>,
    /// When it is proven that workloads are delivered.
    pub delivery: DeliveryCheck,
    /// Which Docker daemon is meant.
    pub docker: DockerChoice,
}

/// When it is proven that workloads are delivered to a member.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum DeliveryCheck {
    /// After a repair, and as long as one was never proven.
    #[default]
    AfterRepair,
    /// For every member that is ready.
    Always,
    /// Not at all.
    Never,
}

impl Config {
    /// Whether a member was named, so that it is examined even if its agent dials the control plane.
    pub fn names(&self, member: &str) -> bool {
        self.members.iter().any(|name| name == member) || self.endpoints.contains_key(member)
    }

    /// Whether the endpoint of a member is examined.
    pub fn examines(&self, member: &Member) -> bool {
        member.is_dialled() || self.names(member.name())
    }

    /// What the flags mean together.
    ///
    /// # Errors
    /// When the command line cannot be followed.
    pub fn resolve(args: FixEndpointsArgs) -> Result<Config, UsageError> {
        let FixEndpointsArgs {
            names,
            clusters,
            endpoint,
            check_delivery,
            no_delivery_check,
            by_name,
            control_plane_container,
            docker,
        } = args;
        let members = named_once(names.into_iter().chain(clusters))?;
        let mut endpoints = BTreeMap::new();
        for given in endpoint {
            let (name, endpoint) = named_endpoint(&given)?;
            if !members.is_empty() && !members.contains(&name) {
                return Err(UsageError::new(format!(
                    "--endpoint is given for {name:?}, which is not among the selected clusters"
                )));
            }
            if endpoints.insert(name.clone(), endpoint).is_some() {
                return Err(UsageError::new(format!(
                    "--endpoint is given twice for {name:?}"
                )));
            }
        }
        Ok(Config {
            members,
            endpoints,
            by_name,
            control_plane_containers: control_plane_container,
            delivery: match (check_delivery, no_delivery_check) {
                (true, _) => DeliveryCheck::Always,
                (_, true) => DeliveryCheck::Never,
                (false, false) => DeliveryCheck::AfterRepair,
            },
            docker: docker.resolve()?,
        })
    }
}

fn named_endpoint(given: &str) -> Result<(String, Endpoint), UsageError> {
    let example = "write it as --endpoint member1=https://172.20.0.3:6443";
    let (name, url) = given
        .split_once('=')
        .filter(|(name, _)| !name.is_empty() && !name.contains("://"))
        .ok_or_else(|| {
            UsageError::new("--endpoint needs the name of a cluster and a URL").with_hint(example)
        })?;
    // The URL is not repeated: one with a password in it is among those that are refused.
    let endpoint = Endpoint::given(url).map_err(|error| {
        UsageError::new(format!(
            "the endpoint of cluster {name:?} cannot be used: {error}"
        ))
        .with_hint(example)
    })?;
    Ok((name.to_owned(), endpoint))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: FixEndpointsArgs,
    }

    fn config(words: &[&str]) -> Result<Config, String> {
        let words = std::iter::once("plugin").chain(words.iter().copied());
        let line = Line::try_parse_from(words).map_err(|error| error.to_string())?;
        Config::resolve(line.args).map_err(|error| error.to_string())
    }

    #[test]
    fn members_come_from_positions_and_the_flag_of_karmadactl() {
        let config = config(&["a", "-C", "b,c", "b"]).expect("the words are right");
        assert_eq!(config.members, ["a", "b", "c"]);
    }

    #[test]
    fn endpoints_are_given_once_per_selected_member() {
        let cases = [
            (
                vec!["--endpoint", "a=https://h:1", "--endpoint", "b=https://h:2"],
                None,
            ),
            (
                vec!["a", "--endpoint", "b=https://h:1"],
                Some("not among the selected"),
            ),
            (
                vec!["--endpoint", "a=https://h:1", "--endpoint", "a=https://h:2"],
                Some("given twice"),
            ),
            (
                vec!["--endpoint", "https://h:1"],
                Some("needs the name of a cluster"),
            ),
            (vec!["--endpoint", "a=h:1"], Some("no scheme")),
        ];
        for (words, expected) in cases {
            match (config(&words), expected) {
                (Ok(_), None) => {}
                (Err(error), Some(part)) => assert!(error.contains(part), "{error}"),
                (result, expected) => panic!("{words:?}: {result:?}, expected {expected:?}"),
            }
        }
    }

    #[test]
    fn a_password_in_an_endpoint_is_not_repeated() {
        let error = config(&["--endpoint", "a=https://me:hunter2@h:1"]).expect_err("it is refused");
        assert!(!error.contains("hunter2"), "{error}");
    }
}
