//! The plugin on real Docker daemons, of Debian 12 and of Debian unstable: each trap is shown first, with plain calls, and
//! then avoided or cured by the plugin.

#![allow(clippy::unwrap_used, reason = "a failed step fails the scenario")]
#![allow(
    clippy::disallowed_methods,
    reason = "the plugin's rules: scenarios start it"
)]
#![allow(
    clippy::print_stderr,
    reason = "which versions ran is told beside the results"
)]

mod machine;
mod order;
mod restarts;
mod states;
mod thieves;

use std::process::ExitCode;

use karmada_lab::DockerOf;
use karmada_scenarios::scenario::show_with_patience;
use libtest_mimic::{Arguments, Failed, Trial};

use crate::machine::Machine;

/// A fact about the plugin on a daemon.
type Show = fn(&mut Machine);

fn main() -> ExitCode {
    if let Some(ended) = karmada_lab::enter() {
        return ended;
    }
    let mut arguments = Arguments::from_args();
    // Each trial has a daemon of its own.
    arguments.test_threads.get_or_insert(THREADS);
    let trials = DockerOf::ALL
        .into_iter()
        .flat_map(|of| {
            all()
                .into_iter()
                .map(move |(name, show)| trial(of, name, show))
        })
        .collect();
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn all() -> Vec<(&'static str, Show)> {
    [
        restarts::scenarios(),
        thieves::scenarios(),
        states::scenarios(),
        order::scenarios(),
    ]
    .concat()
}

fn trial(of: DockerOf, name: &str, show: Show) -> Trial {
    let name = format!("{}::{name}", of.name());
    let Some(missing) = of.missing() else {
        return Trial::test(name.clone(), move || {
            show_with_patience(&name, || {
                let mut machine = Machine::start(of).expect("the daemon of the trial starts");
                show(&mut machine);
            });
            Ok(())
        });
    };
    if std::env::var("CI").is_ok_and(|value| value == "true") {
        return Trial::test(name, move || Err(Failed::from(missing)));
    }
    eprintln!("{name}: ignored: {missing}");
    Trial::test(name, || Ok(())).with_ignored_flag(true)
}

const THREADS: usize = 2;
