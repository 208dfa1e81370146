//! Runs a plugin from its command line to its exit code: the pipeline, in order, once for all plugins.

mod run;
mod shown;
mod verify;

#[cfg(test)]
mod tests;

use std::future::Future;
use std::process::ExitCode;

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::parser::ValueSource;
use clap::{ArgMatches, Args, CommandFactory, FromArgMatches, Parser, ValueEnum};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use crate::access::{Access, AccessOptions};
use crate::cli::connection::{ConnectionFlags, HostFlags, KUBECONFIG_USER, MemberFlags};
use crate::cli::docker::DockerChoice;
use crate::cli::run::{FAIL_ON, OF_REPAIRS, OUTPUT, RunFlags, RunOptions};
use crate::clock::Deadline;
use crate::core_dump;
use crate::env::Env;
use crate::error::{Explain, Failure, UsageError};
use crate::exit::Exit;
use crate::finding::{FailOn, Finding, Subject};
use crate::interrupt::Interrupt;
use crate::io;
use crate::plan::{Plan, Proof};
use crate::progress::Progress;
use crate::report::{Format, Overview};
use crate::undo;

pub(crate) use run::Run;
pub(crate) use shown::{Purpose, Shown};

/// A plugin: the knowledge of one documented fault of a federation.
pub trait Repair: Sized {
    /// The name after `karmada-`, such as `fix-endpoints`.
    const NAME: &'static str;
    /// What it does, in one line of help.
    const ABOUT: &'static str;
    /// Examples and exit codes, shown at the end of the help.
    const AFTER_HELP: &'static str;
    /// Whether a run needs the control plane.
    const CONTROL_PLANE: Need = Need::Required;
    /// Whether it has a repair; without one the flags of repairs are not offered.
    const REPAIRS: bool = true;
    /// Output formats of its own beside those of all plugins, which [`Repair::rendering`] makes.
    const OWN_FORMATS: &'static [&'static str] = &[];
    /// From which severity on findings make the run exit with 1, unless `--fail-on` says otherwise.
    const FAIL_ON: FailOn = FailOn::Error;
    /// Its own flags.
    type Args: Args;
    /// Its own flags, as meant.
    type Config;
    /// Everything that it reads; secrets serialise as masks.
    type Observed: Serialize;

    /// What the flags mean. Pure.
    ///
    /// # Errors
    /// When the command line cannot be followed.
    fn config(args: Self::Args) -> Result<Self::Config, UsageError>;

    /// Which Docker daemon is meant; the one that the docker command finds where the plugin has no flags for it. Pure.
    fn docker(_config: &Self::Config) -> DockerChoice {
        DockerChoice::Found
    }

    /// Does what the command line asks for when that is neither a diagnosis nor a repair, and reports it itself;
    /// `None` = it asks for a diagnosis.
    fn instead(
        _access: &Access,
        _config: &Self::Config,
        _options: &RunOptions,
    ) -> impl Future<Output = Option<Result<Exit, Failure>>> {
        std::future::ready(None)
    }

    /// Does all reads, concurrently.
    ///
    /// # Errors
    /// Only when nothing can be said at all, such as an unreachable control plane; a part that cannot be read is
    /// part of the observation.
    fn observe(
        access: &Access,
        config: &Self::Config,
        depth: Depth,
    ) -> impl Future<Output = Result<Self::Observed, Failure>>;

    /// What is wrong. Pure.
    fn diagnose(observed: &Self::Observed, config: &Self::Config, now: Timestamp) -> Vec<Finding>;

    /// What would cure it. Pure.
    fn plan(
        observed: &Self::Observed,
        findings: &[Finding],
        config: &Self::Config,
        now: Timestamp,
    ) -> Plan;

    /// The lines of the overview. Pure.
    fn overview(
        observed: &Self::Observed,
        findings: &[Finding],
        config: &Self::Config,
        now: Timestamp,
    ) -> Overview;

    /// The diagnosis in one of [`Repair::OWN_FORMATS`], as it is printed. Pure.
    fn rendering(
        _format: &str,
        _observed: &Self::Observed,
        _findings: &[Finding],
        _config: &Self::Config,
        _now: Timestamp,
    ) -> String {
        String::new()
    }

    /// Proves that a subject works, once its steps are done and verified; whatever it writes for that it removes, also
    /// when a signal is heard.
    fn prove(
        _access: &Access,
        _observed: &Self::Observed,
        _proof: &Proof,
        _config: &Self::Config,
        _until: Until<'_>,
    ) -> impl Future<Output = ProofResult> {
        std::future::ready(ProofResult::Impossible(
            "nothing more can be proven".to_owned(),
        ))
    }
}

/// Whether a run needs the Karmada control plane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// Without a kubeconfig or context that leads to one the run ends with an error.
    Required,
    /// Nothing is wrong when the command line and the environment name none.
    Optional,
}

/// When a proof ends at the latest.
#[derive(Debug, Clone, Copy)]
pub struct Until<'a> {
    /// What has not shown by then is not going to.
    pub deadline: Deadline,
    /// A signal ends it at once.
    pub interrupt: &'a Interrupt,
}

/// How a proof ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "result", content = "detail", rename_all = "kebab-case")]
pub enum ProofResult {
    /// It works; what was seen.
    Passed(String),
    /// It does not work; what was seen.
    Failed(String),
    /// It could not be tried; why.
    Impossible(String),
    /// It was not tried; why.
    Skipped(String),
}

/// How much an observation reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Depth {
    /// What the diagnosis needs.
    Overview,
    /// That, and the proof that these subjects work.
    Proof(Vec<Subject>),
}

/// Runs the plugin as the process's main function does.
pub fn main<R: Repair>() -> ExitCode {
    ExitCode::from(run::<R>().code())
}

#[derive(Parser)]
struct CommandLine<A: Args> {
    #[command(flatten)]
    plugin: A,
    #[command(flatten)]
    run: RunFlags,
    #[command(flatten)]
    connection: ConnectionFlags,
    #[command(flatten)]
    members: MemberFlags,
    #[command(flatten)]
    host: HostFlags,
}

fn run<R: Repair>() -> Exit {
    core_dump::switch_off();
    let matches = match command::<R>().try_get_matches() {
        Ok(matches) => matches,
        Err(error) => {
            // Help and version are no errors; a closed pipe is not one either.
            let _ = error.print();
            return if error.use_stderr() {
                Exit::Usage
            } else {
                Exit::Healthy
            };
        }
    };
    if let Some(flag) = flag_of_a_repair::<R>(&matches) {
        let error = UsageError::new(format!(
            "{} repairs nothing: --{flag} has no meaning",
            R::NAME
        ));
        return fail(&error.into());
    }
    let resolved = CommandLine::<R::Args>::from_arg_matches(&matches)
        .map_err(|error| UsageError::new(error.to_string()))
        .and_then(|line| {
            Ok((
                R::config(line.plugin)?,
                line.run.resolve(R::OWN_FORMATS)?,
                AccessOptions {
                    connection: line.connection.resolve()?,
                    members: line.members.resolve()?,
                    host: line.host.resolve()?,
                    control_plane: R::CONTROL_PLANE,
                },
            ))
        });
    let (config, options, access) = match resolved {
        Ok(resolved) => resolved,
        Err(error) => {
            let hint = error.hint();
            let error = match hint {
                Some(_) => error,
                None => error.with_hint(format!("see kubectl karmada-{} --help", R::NAME)),
            };
            return fail(&error.into());
        }
    };
    if rustls::crypto::ring::default_provider()
        .install_default()
        .is_err()
    {
        return fail(&UsageError::new("another TLS provider is installed in this process").into());
    }
    let runtime = match tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => {
            return fail(&UsageError::new(format!("cannot start the runtime: {error}")).into());
        }
    };
    let ended = runtime.block_on(pipeline::<R>(&config, &options, access));
    // A name look-up in a thread of its own must not hold up the end.
    runtime.shutdown_background();
    match ended {
        Ok(Exit::Healthy) if io::report_was_lost() => Exit::Unknown,
        Ok(exit) => exit,
        Err(failure) => fail(&failure),
    }
}

/// The command as `--help`, completion and documents see it.
pub fn command<R: Repair>() -> clap::Command {
    let own = R::Args::augment_args(clap::Command::new(R::NAME));
    let mut command = CommandLine::<R::Args>::command()
        .name(format!("kubectl-karmada-{}", R::NAME))
        .bin_name(format!("kubectl karmada-{}", R::NAME))
        .display_name(format!("kubectl-karmada-{}", R::NAME))
        .about(R::ABOUT)
        .after_help(R::AFTER_HELP)
        .version(VERSION)
        .mut_arg(OUTPUT, |output| {
            let shared = Format::value_variants()
                .iter()
                .filter_map(Format::to_possible_value);
            let own = R::OWN_FORMATS.iter().map(PossibleValue::new);
            output.value_parser(PossibleValuesParser::new(shared.chain(own)))
        })
        .mut_arg(FAIL_ON, |fail_on| {
            let value = R::FAIL_ON.to_possible_value();
            fail_on.default_value(value.map_or_else(String::new, |value| value.get_name().into()))
        });
    if own
        .get_arguments()
        .any(|own| own.get_long() == Some("user"))
    {
        command = command.mut_arg(KUBECONFIG_USER, |user| user.long("kubeconfig-user"));
    }
    if !R::REPAIRS {
        for flag in OF_REPAIRS {
            command = command.mut_arg(flag, |flag| flag.hide(true));
        }
    }
    if command.has_subcommands() {
        // What is common to all verbs may stand behind the verb, too.
        command = command.mut_args(|arg| match arg.is_positional() {
            true => arg,
            false => arg.global(true),
        });
    }
    command
}

/// The first flag on the command line that only a repair gives a meaning to, where there is none.
fn flag_of_a_repair<R: Repair>(matches: &ArgMatches) -> Option<String> {
    let typed = |flag: &&str| matches.value_source(flag) == Some(ValueSource::CommandLine);
    let flag = OF_REPAIRS.into_iter().filter(|_| !R::REPAIRS).find(typed)?;
    Some(flag.replace('_', "-"))
}

async fn pipeline<R: Repair>(
    config: &R::Config,
    options: &RunOptions,
    access: AccessOptions,
) -> Result<Exit, Failure> {
    let interrupt = Interrupt::listen()
        .map_err(|error| UsageError::new(format!("cannot listen for signals: {error}")))?;
    let access = Access::open(R::NAME, access, Env::from_process())?;
    let run = Run {
        access: &access,
        options,
        interrupt,
        progress: Progress::new(),
    };
    let docker = R::docker(config);
    let ended = match &options.undo {
        Some(file) => tokio::select! {
            ended = undo::run(file, &run, &docker) => ended,
            exit = run.interrupted_before_writing() => Ok(exit),
        },
        None => tokio::select! {
            ended = run.asked_for::<R>(config) => ended,
            exit = run.interrupted_before_writing() => Ok(exit),
        },
    };
    run.progress.finish();
    ended
}

fn fail(failure: &Failure) -> Exit {
    io::say_error(failure.as_ref(), failure.hint().as_deref());
    failure.exit()
}

pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");
