//! The plugin's own flags, and what they mean together. Pure.

use std::net::Ipv4Addr;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use ipnet::Ipv4Net;
use karmada_repair::cli::docker::{DockerChoice, DockerFlags};
use karmada_repair::error::UsageError;

use crate::address::{self, Range};
use crate::mesh_file::MeshFile;

/// The plugin's own flags.
#[derive(Debug, Args)]
pub struct PinMeshArgs {
    /// Clusters or containers whose nodes to pin, one with the address to have
    /// [default: the control plane's cluster, its members, and what is on the network]
    #[arg(value_name = "CLUSTER|CONTAINER[=IP]")]
    words: Vec<String>,
    /// All clusters of k3d, kind and minikube on the Docker daemon
    #[arg(long)]
    all: bool,
    /// The network that all nodes share
    #[arg(long, default_value = DEFAULT_NETWORK, value_name = "NAME")]
    network: String,
    /// The subnet of the network, if it is made [default: 172.28.0.0/24]
    #[arg(long, value_name = "CIDR")]
    subnet: Option<String>,
    /// The part of the subnet from which Docker takes addresses by itself, if the network is made [default: the upper half]
    #[arg(long, value_name = "CIDR")]
    ip_range: Option<String>,
    /// A file of addresses to keep to; addresses that it lacks are added to it
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// The cluster that runs the Karmada control plane, if it is not found
    #[arg(long, value_name = "CLUSTER")]
    control_plane: Option<String>,
    /// Make the network anew although it can carry pins, because of what it lacks
    #[arg(long)]
    replace_network: bool,
    /// Also make the addresses on the nodes' own networks fixed, where those allow it
    #[arg(long)]
    home: bool,
    /// Also have the serving certificates of k3s servers name the pinned address, which restarts the containers
    #[arg(long)]
    add_san: bool,
    /// Take the nodes off the network, and remove it when nothing is left on it
    #[arg(long, conflicts_with_all = ["home", "add_san", "replace_network", "drill", "file"])]
    release: bool,
    /// Restart each node's container in turn, and see that addresses, eth0 and default route are unchanged
    #[arg(long)]
    drill: bool,
    /// Only print who reaches whom, and where NodePort services are found
    #[arg(long, conflicts_with_all = ["release", "drill", "home", "add_san", "replace_network", "print"])]
    services: bool,
    /// Only print the set-up, for those who keep it in code
    #[arg(long, value_enum, value_name = "FORM", conflicts_with_all = ["release", "drill", "home", "add_san", "replace_network"])]
    print: Option<Form>,
    #[command(flatten)]
    docker: DockerFlags,
}

/// In which form a set-up is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Form {
    /// A Simple config of k3d for each cluster.
    K3d,
    /// A Terraform block.
    Terraform,
    /// Commands of docker.
    Commands,
}

/// What the flags mean together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// What was named, without duplicates; empty = what there is.
    pub words: Vec<Word>,
    /// Whether all clusters of the daemon are meant.
    pub all: bool,
    /// The network that all nodes share.
    pub network: String,
    /// The subnet that was asked for; `None` = the default one.
    pub subnet: Option<Ipv4Net>,
    /// The part of it that was asked for as Docker's own; `None` = the upper half.
    pub ip_range: Option<Ipv4Net>,
    /// The file of addresses.
    pub file: Option<PathBuf>,
    /// The cluster that was named as the control plane's.
    pub control_plane: Option<String>,
    /// Whether a network that can carry pins is replaced too.
    pub replace_network: bool,
    /// What is done besides pinning.
    pub task: Task,
    /// Which Docker daemon is meant.
    pub docker: DockerChoice,
}

/// What is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Task {
    /// Nodes are pinned.
    Pin {
        /// Also on their own networks.
        home: bool,
        /// Certificates get the addresses.
        add_san: bool,
        /// The containers are restarted to see that it holds.
        drill: bool,
    },
    /// Nodes are taken off the network.
    Release,
    /// Who reaches whom, and services, are printed.
    Services,
    /// The set-up is printed.
    Print(Form),
}

/// A cluster or container that was named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    /// Its name.
    pub name: String,
    /// The address it is to have; `None` = any.
    pub address: Option<Ipv4Addr>,
}

impl Config {
    /// What the flags mean together.
    ///
    /// # Errors
    /// When the command line cannot be followed.
    pub fn resolve(args: PinMeshArgs) -> Result<Config, UsageError> {
        let PinMeshArgs {
            words,
            all,
            network,
            subnet,
            ip_range,
            file,
            control_plane,
            replace_network,
            home,
            add_san,
            release,
            drill,
            services,
            print,
            docker,
        } = args;
        if network.is_empty() || ["bridge", "host", "none"].contains(&network.as_str()) {
            return Err(UsageError::new(format!(
                "--network {network:?} is one of Docker's own networks, on which no address can be fixed"
            ))
            .with_hint("choose another name, such as --network karmada-mesh"));
        }
        let net = |flag: &str, text: Option<String>| {
            text.map(|text| {
                address::subnet(&text)
                    .map_err(|error| UsageError::new(format!("{flag} cannot be used: {error}")))
            })
            .transpose()
        };
        let subnet = net("--subnet", subnet)?;
        let ip_range = net("--ip-range", ip_range)?;
        planned(subnet, ip_range)
            .map_err(|error| UsageError::new(format!("the network cannot be made: {error}")))?;
        Ok(Config {
            words: self::words(words, release)?,
            all,
            network,
            subnet,
            ip_range,
            file,
            control_plane,
            replace_network,
            task: match (release, services, print) {
                (true, ..) => Task::Release,
                (_, true, _) => Task::Services,
                (_, _, Some(form)) => Task::Print(form),
                _ => Task::Pin {
                    home,
                    add_san,
                    drill,
                },
            },
            docker: docker.resolve()?,
        })
    }

    /// The flags with what a file adds; a flag that was not given is as in the file.
    ///
    /// # Errors
    /// When both say different things.
    pub fn with_file(&self, file: &MeshFile) -> Result<Config, UsageError> {
        let mut config = self.clone();
        if let Some(network) = &file.network {
            if config.network == DEFAULT_NETWORK {
                config.network.clone_from(network);
            } else if config.network != *network {
                return Err(UsageError::new(format!(
                    "--network is {}, and the file is of the network {network}",
                    config.network
                )));
            }
        }
        for (flag, given, of_file) in [
            ("--subnet", &mut config.subnet, file.subnet),
            ("--ip-range", &mut config.ip_range, file.ip_range),
        ] {
            match (*given, of_file) {
                (Some(one), Some(other)) if one != other => {
                    return Err(UsageError::new(format!(
                        "{flag} is {one}, and the file says {other}"
                    )));
                }
                (None, of_file) => *given = of_file,
                _ => {}
            }
        }
        planned(config.subnet, config.ip_range)
            .map_err(|error| UsageError::new(format!("the network cannot be made: {error}")))?;
        Ok(config)
    }

    /// The addresses of the network, if it is made.
    pub fn range(&self) -> Range {
        planned(self.subnet, self.ip_range).expect("a config is made of addresses that fit")
    }

    /// Whether nodes are also pinned on their own networks.
    pub fn pins_home(&self) -> bool {
        matches!(self.task, Task::Pin { home: true, .. })
    }

    /// Whether certificates get the pinned addresses.
    pub fn adds_san(&self) -> bool {
        matches!(self.task, Task::Pin { add_san: true, .. })
    }

    /// Whether containers are restarted to see that it holds.
    pub fn drills(&self) -> bool {
        matches!(self.task, Task::Pin { drill: true, .. })
    }
}

fn planned(
    subnet: Option<Ipv4Net>,
    ip_range: Option<Ipv4Net>,
) -> Result<Range, address::AddressError> {
    let default = Ipv4Net::new_assert(Ipv4Addr::new(172, 28, 0, 0), 24);
    Range::planned(subnet.unwrap_or(default), ip_range)
}

fn words(given: Vec<String>, release: bool) -> Result<Vec<Word>, UsageError> {
    let mut words: Vec<Word> = Vec::new();
    for text in given {
        let (name, address) = match text.split_once('=') {
            Some((name, address)) => (name.to_owned(), Some(address)),
            None => (text.clone(), None),
        };
        if name.is_empty() {
            return Err(UsageError::new(format!(
                "{text:?} names neither a cluster nor a container"
            )));
        }
        let address = address
            .map(|address| {
                address::address(address).map_err(|error| {
                    UsageError::new(format!("the address of {name} cannot be used: {error}"))
                })
            })
            .transpose()?;
        if release && address.is_some() {
            return Err(UsageError::new(format!(
                "--release takes no address, and {text:?} has one"
            )));
        }
        match words.iter_mut().find(|word| word.name == name) {
            Some(known) if known.address.is_none() => known.address = address,
            Some(known) if address.is_some() && known.address != address => {
                return Err(UsageError::new(format!("{name} is given two addresses")));
            }
            Some(_) => {}
            None => words.push(Word { name, address }),
        }
    }
    for (index, word) in words.iter().enumerate() {
        let twice = words[..index]
            .iter()
            .find(|other| word.address.is_some() && other.address == word.address);
        if let (Some(other), Some(address)) = (twice, word.address) {
            return Err(UsageError::new(format!(
                "{address} is given to both {} and {}",
                other.name, word.name
            )));
        }
    }
    Ok(words)
}

/// The network that nodes share unless another one is named.
pub const DEFAULT_NETWORK: &str = "karmada-mesh";

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: PinMeshArgs,
    }

    fn config(words: &[&str]) -> Result<Config, String> {
        let words = std::iter::once("plugin").chain(words.iter().copied());
        let line = Line::try_parse_from(words).map_err(|error| error.to_string())?;
        Config::resolve(line.args).map_err(|error| error.to_string())
    }

    #[test]
    fn words_may_carry_an_address() {
        let config = config(&["cluster-a", "k3d-b-server-0=172.28.0.20", "cluster-a"]);
        let words = config.expect("the words are right").words;
        assert_eq!(words.len(), 2);
        assert_eq!(words[1].address, Some(Ipv4Addr::new(172, 28, 0, 20)));
    }

    #[test]
    fn command_lines_that_cannot_be_followed_are_refused() {
        let cases: [(&[&str], &str); 16] = [
            (&["--subnet", "banana"], "is no subnet"),
            (&["--subnet", "172.28.0.5/24"], "host bits set"),
            (&["--subnet", "fd00::/64"], "IPv6"),
            (&["--subnet", "172.28.0.0/30"], "too few addresses"),
            (&["--ip-range", "10.0.0.0/25"], "no part of"),
            (&["a=fd00::1"], "IPv6"),
            (&["a=banana"], "no IPv4 address"),
            (&["a="], "no IPv4 address"),
            (&["=172.28.0.10"], "names neither"),
            (&["a=172.28.0.10", "b=172.28.0.10"], "given to both a and b"),
            (&["a=172.28.0.10", "a=172.28.0.11"], "two addresses"),
            (&["--network", "bridge"], "Docker's own networks"),
            (&["--release", "a=172.28.0.10"], "takes no address"),
            (&["--release", "--drill"], "cannot be used with"),
            (&["--print", "helm"], "invalid value"),
            (
                &["--docker-host", "a", "--docker-context", "b"],
                "conflicting",
            ),
        ];
        for (words, expected) in cases {
            let error = config(words).expect_err(&words.join(" "));
            assert!(error.contains(expected), "{words:?}: {error}");
        }
    }

    #[test]
    fn a_file_fills_in_what_no_flag_says() {
        let file = MeshFile {
            network: Some("mesh".to_owned()),
            subnet: "172.30.0.0/24".parse().ok(),
            ..MeshFile::default()
        };
        let merged = config(&[]).expect("no flags").with_file(&file);
        let merged = merged.expect("nothing contradicts");
        assert_eq!(merged.network, "mesh");
        assert_eq!(merged.range().subnet.to_string(), "172.30.0.0/24");
        let contradicting = config(&["--subnet", "172.31.0.0/24"]).expect("a subnet");
        let error = contradicting.with_file(&file).expect_err("two subnets");
        assert!(error.to_string().contains("the file says"), "{error}");
    }
}
