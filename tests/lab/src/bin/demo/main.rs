//! `cargo demo`: a broken Karmada federation, its diagnosis and its repair, with the commands a user would type.

mod commands;
mod screen;
mod story;

use std::process::ExitCode;

use karmada_lab::{Federation, Spec};

use crate::commands::Commands;
use crate::screen::Screen;

fn main() -> ExitCode {
    let screen = Screen::new();
    match Options::parse(std::env::args().skip(1)) {
        Ok(options) if options.help => {
            screen.line(HELP);
            ExitCode::SUCCESS
        }
        Ok(options) => run(&screen, &options).map_or_else(
            |reason| {
                screen.error(&reason);
                ExitCode::FAILURE
            },
            |()| ExitCode::SUCCESS,
        ),
        Err(reason) => {
            screen.error(&reason);
            ExitCode::from(2)
        }
    }
}

/// The switches of the command line.
#[derive(Debug, Default)]
struct Options {
    keep: bool,
    no_story: bool,
    help: bool,
}

impl Options {
    fn parse(arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut options = Self::default();
        for argument in arguments {
            match argument.as_str() {
                "--keep" => options.keep = true,
                "--no-story" => options.no_story = true,
                "--help" | "-h" => options.help = true,
                other => return Err(format!("unknown argument {other}; try --help")),
            }
        }
        Ok(options)
    }
}

fn run(screen: &Screen, options: &Options) -> Result<(), String> {
    if !options.no_story {
        commands::build_plugins()?;
    }
    let federation = Federation::start(Spec::default()).map_err(|error| screen::chain(&error))?;
    let commands = Commands::new(&federation);
    let told = if options.no_story {
        Ok(())
    } else {
        story::tell(screen, &federation, &commands)
    };
    if options.keep {
        if let Err(reason) = &told {
            screen.error(reason);
        }
        keep(screen, &federation, &commands)?;
    }
    told
}

/// Leaves the federation to the user until Ctrl-C.
fn keep(screen: &Screen, federation: &Federation, commands: &Commands) -> Result<(), String> {
    screen.line("The federation keeps running. In another terminal:");
    screen.line("");
    screen.line(&format!(
        "export KUBECONFIG={} DOCKER_HOST={} PATH={}:$PATH",
        federation.kubeconfig().display(),
        federation.docker_host(),
        commands.directory().display(),
    ));
    screen.line("");
    screen.line("Ctrl-C ends it.");
    screen
        .wait_for_interrupt()
        .map_err(|error| screen::chain(&error))
}

const HELP: &str = "\
Shows a broken Karmada federation, what is wrong with it, and its repair.

Usage: cargo demo [-- OPTIONS]

Options:
  --keep      leave the federation running until Ctrl-C, to try the plugins and kubectl by hand
  --no-story  only start the federation; useful with --keep
  --help      show this text";
