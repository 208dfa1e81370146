//! What a scenario is, and on which backends it runs.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use karmada_lab::{Availability, Backend, backends};
use libtest_mimic::{Failed, Trial};

/// A fact about the plugin, with what shows it.
pub struct Scenario {
    name: &'static str,
    needs: &'static [Program],
    pending: Option<&'static str>,
    show: Show,
}

/// A program that some scenarios type commands of.
#[derive(Debug, Clone, Copy)]
pub enum Program {
    /// `kubectl`.
    Kubectl,
    /// `docker`.
    Docker,
    /// `python3` with its package `cryptography`.
    PythonWithCryptography,
    /// `unshare`, where it may make a mount namespace, in which a scenario has folders as a pod has them.
    Unshare,
}

enum Show {
    Embedded(fn()),
    Anywhere(fn(&Backend)),
}

impl Scenario {
    /// A scenario that needs what only the embedded backend offers.
    pub fn embedded(name: &'static str, show: fn()) -> Scenario {
        Scenario {
            name,
            needs: &[],
            pending: None,
            show: Show::Embedded(show),
        }
    }

    /// A scenario for every backend.
    pub fn anywhere(name: &'static str, show: fn(&Backend)) -> Scenario {
        Scenario {
            name,
            needs: &[],
            pending: None,
            show: Show::Anywhere(show),
        }
    }

    /// The same with programs that must be on `PATH`.
    pub fn needs(mut self, programs: &'static [Program]) -> Scenario {
        self.needs = programs;
        self
    }

    /// The same as a fact that does not hold yet, and why: ignored unless asked for, everywhere.
    pub fn pending(mut self, why: &'static str) -> Scenario {
        self.pending = Some(why);
        self
    }
}

/// A trial per scenario and backend, those of the slow backends last. What is missing shows as ignored with the reason;
/// where `CI=true`, it fails.
pub(crate) fn trials(scenarios: &[Scenario]) -> Vec<Trial> {
    let mut names = BTreeSet::new();
    for scenario in scenarios {
        assert!(
            names.insert(scenario.name),
            "two scenarios {}",
            scenario.name
        );
    }
    let mut trials = Vec::new();
    for backend in backends() {
        for scenario in scenarios {
            trials.extend(scenario.on(&backend));
        }
    }
    trials
}

impl Scenario {
    fn on(&self, backend: &Backend) -> Option<Trial> {
        let name = format!("{}::{}", backend.name, self.name);
        let show: Box<dyn Fn() + Send> = match self.show {
            Show::Embedded(show) if backend.name == EMBEDDED => Box::new(show),
            Show::Embedded(_) => return None,
            Show::Anywhere(show) => {
                let backend = backend.clone();
                Box::new(move || show(&backend))
            }
        };
        let missing = self.needs.iter().find(|program| !program.is_there());
        let absent = missing.map(|program| format!("no {}", program.file()));
        Some(match (&backend.availability, absent) {
            (Availability::Missing(reason), _) => ignored(name, reason),
            (Availability::Demanded(reason), _) => failing(name, reason.clone()),
            (Availability::Available, Some(reason)) if in_ci() => failing(name, reason),
            (Availability::Available, Some(reason)) => ignored(name, &reason),
            (Availability::Available, None) => {
                let trial = Trial::test(name.clone(), move || {
                    show_with_patience(&name, show);
                    Ok(())
                });
                match self.pending {
                    Some(why) => trial.with_kind(why).with_ignored_flag(true),
                    None => trial,
                }
            }
        })
    }
}

/// Shows a fact. Where `CI=true`, one that fails is shown a second time, and both are told: a machine that was busy for a
/// moment is so told from a fault.
#[allow(clippy::print_stderr, reason = "this is the log of a test")]
pub fn show_with_patience(name: &str, show: impl Fn()) {
    if !in_ci() {
        return show();
    }
    if catch_unwind(AssertUnwindSafe(&show)).is_err() {
        eprintln!("{name} failed as above, and is shown once more");
        show();
    }
}

impl Program {
    fn file(self) -> &'static str {
        match self {
            Program::Kubectl => "kubectl",
            Program::Docker => "docker",
            Program::PythonWithCryptography => "python3 with cryptography",
            Program::Unshare => "unshare",
        }
    }

    fn is_there(self) -> bool {
        if let Program::PythonWithCryptography = self {
            return python_with_cryptography().is_some();
        }
        let path = std::env::var_os("PATH").unwrap_or_default();
        let is_file = std::env::split_paths(&path).any(|folder| folder.join(self.file()).is_file());
        let works = || match self {
            Program::Kubectl | Program::Docker | Program::PythonWithCryptography => true,
            Program::Unshare => Command::new("unshare")
                .args(["--user", "--map-root-user", "--mount", "true"])
                .output()
                .is_ok_and(|output| output.status.success()),
        };
        is_file && works()
    }
}

/// A `python3` that has the package `cryptography`: the one on `PATH`, else that of the system.
pub fn python_with_cryptography() -> Option<PathBuf> {
    ["python3", "/usr/bin/python3"]
        .into_iter()
        .find(|python| {
            let imported = Command::new(python)
                .args(["-c", "import cryptography.fernet"])
                .stderr(Stdio::null())
                .status();
            imported.is_ok_and(|status| status.success())
        })
        .map(PathBuf::from)
}

fn ignored(name: String, reason: &str) -> Trial {
    Trial::test(name, || Ok(()))
        .with_kind(reason)
        .with_ignored_flag(true)
}

fn failing(name: String, reason: String) -> Trial {
    Trial::test(name, move || Err(Failed::from(reason)))
}

fn in_ci() -> bool {
    std::env::var("CI").is_ok_and(|value| value == "true")
}

/// The name of the embedded backend.
pub(crate) const EMBEDDED: &str = "embedded";

/// Scenarios of the embedded backend, named like the functions that show them.
#[macro_export]
macro_rules! embedded {
    ($($name:ident),* $(,)?) => {
        vec![$($crate::Scenario::embedded(stringify!($name), $name)),*]
    };
}

/// Scenarios of every backend, named like the functions that show them.
#[macro_export]
macro_rules! anywhere {
    ($($name:ident),* $(,)?) => {
        vec![$($crate::Scenario::anywhere(stringify!($name), $name)),*]
    };
}

pub use {anywhere, embedded};
