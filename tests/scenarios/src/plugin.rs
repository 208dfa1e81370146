//! The plugin's binary and shell commands, as subprocesses that see one federation, or none, and nothing else.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use karmada_lab::Lab;
use tempfile::TempDir;

use crate::background::Running;
use crate::said::Said;
use crate::secrets::Secrets;
use crate::terminal::Session;
use crate::under_test::UnderTest;

/// A command to be run.
#[derive(Clone)]
pub struct Plugin {
    program: String,
    arguments: Vec<String>,
    environment: BTreeMap<String, String>,
    input: Option<String>,
    secrets: Secrets,
    directory: Option<PathBuf>,
    home: Option<Arc<TempDir>>,
}

impl Plugin {
    /// The plugin with no flags.
    pub fn on(lab: &dyn Lab) -> Plugin {
        let secrets = lab.secrets().iter().collect();
        Plugin::within(lab.environment(), secrets)
    }

    /// The plugin with no flags where there is no federation, no kubeconfig and no Docker daemon: only a home folder of its
    /// own, which is also where it runs.
    pub fn alone() -> Plugin {
        let home = tempfile::tempdir().unwrap();
        let path = |name: &str| home.path().join(name).display().to_string();
        let environment = BTreeMap::from([
            ("COLUMNS".to_owned(), "160".to_owned()),
            // Else it would be the daemon of this machine.
            (
                "DOCKER_HOST".to_owned(),
                format!("unix://{}", path("no-docker.sock")),
            ),
            ("HOME".to_owned(), home.path().display().to_string()),
            ("LC_ALL".to_owned(), "C".to_owned()),
            ("NO_COLOR".to_owned(), "1".to_owned()),
            ("PATH".to_owned(), std::env::var("PATH").unwrap_or_default()),
            ("XDG_STATE_HOME".to_owned(), path("state")),
        ]);
        Plugin {
            directory: Some(home.path().to_owned()),
            home: Some(Arc::new(home)),
            ..Plugin::within(environment, Secrets::default())
        }
    }

    fn within(mut environment: BTreeMap<String, String>, secrets: Secrets) -> Plugin {
        // `kubectl` finds the plugin as a user's does.
        let folder = Path::new(binary()).parent().unwrap();
        let path = environment.get("PATH").cloned().unwrap_or_default();
        environment.insert("PATH".to_owned(), format!("{}:{path}", folder.display()));
        Plugin {
            program: binary().to_owned(),
            arguments: Vec::new(),
            environment,
            input: None,
            secrets,
            directory: None,
            home: None,
        }
    }

    /// The plugin with consent and access to the cluster that hosts Karmada.
    pub fn with_host(lab: &dyn Lab) -> Plugin {
        let context = lab.spec().host.context();
        Plugin::on(lab).args(&["--yes", "--host-context", &context])
    }

    /// A script for `sh`, in the environment that the plugin would have.
    pub fn shell(lab: &dyn Lab, script: &str) -> Plugin {
        Plugin {
            program: "sh".to_owned(),
            ..Plugin::on(lab)
        }
        .args(&["-c", script])
    }

    /// With more arguments.
    pub fn args<A: AsRef<str>>(mut self, arguments: &[A]) -> Plugin {
        let arguments = arguments
            .iter()
            .map(|argument| argument.as_ref().to_owned());
        self.arguments.extend(arguments);
        self
    }

    /// With no more patience than a wait needs that is to succeed here.
    pub fn soon(self, lab: &dyn Lab) -> Plugin {
        let patience = match lab.embedded() {
            Some(_) => Duration::from_secs(4),
            None => lab.patience(),
        };
        self.args(&["--timeout", &format!("{}s", patience.as_secs())])
    }

    /// With this variable.
    pub fn env(mut self, name: &str, value: impl Into<String>) -> Plugin {
        self.environment.insert(name.to_owned(), value.into());
        self
    }

    /// Without this variable.
    pub fn without(mut self, name: &str) -> Plugin {
        self.environment.remove(name);
        self
    }

    /// With this text on stdin, which is no terminal.
    pub fn input(mut self, text: &str) -> Plugin {
        self.input = Some(text.to_owned());
        self
    }

    /// With one more value that must never be seen, as it is or encoded; one of fewer than 8 bytes is no secret.
    pub fn secret(mut self, secret: &str) -> Plugin {
        self.secrets.add(secret);
        self
    }

    /// In this working directory.
    pub fn directory(mut self, directory: &Path) -> Plugin {
        self.directory = Some(directory.to_owned());
        self
    }

    /// The home folder of [`Plugin::alone`], which lasts as long as the last clone of it.
    ///
    /// # Panics
    /// If it sees a federation.
    pub fn home(&self) -> &Path {
        self.home.as_ref().expect("it is alone").path()
    }

    /// Runs it to its end.
    pub fn run(self) -> Said {
        self.start().finish()
    }

    /// Runs it to its end with this as stdout; [`Said::stdout`] is then empty.
    pub fn run_into(self, stdout: impl Into<Stdio>) -> Said {
        self.started(stdout.into()).finish()
    }

    /// Starts it without a terminal.
    pub fn start(self) -> Running {
        self.started(Stdio::piped())
    }

    /// Starts it at a terminal of its own.
    pub fn at_terminal(self) -> Session {
        let mut command = pty_process::blocking::Command::new(&self.program)
            .args(&self.arguments)
            .env_clear()
            .envs(&self.environment);
        if let Some(directory) = &self.directory {
            command = command.current_dir(directory);
        }
        Session::open(command, self.taken_down())
    }

    fn started(self, stdout: Stdio) -> Running {
        let mut command = Command::new(&self.program);
        command
            .args(&self.arguments)
            .env_clear()
            .envs(&self.environment)
            .stdin(match self.input {
                Some(_) => Stdio::piped(),
                None => Stdio::null(),
            })
            .stdout(stdout)
            .stderr(Stdio::piped());
        if let Some(directory) = &self.directory {
            command.current_dir(directory);
        }
        let mut child = command.spawn().unwrap();
        if let (Some(text), Some(mut stdin)) = (&self.input, child.stdin.take()) {
            // A plugin that asks nothing has no need of it.
            let _ = stdin.write_all(text.as_bytes());
        }
        Running::new(child, self.taken_down())
    }

    fn taken_down(self) -> Started {
        let program = Path::new(&self.program).file_name().unwrap_or_default();
        Started {
            command: format!("{} {}", program.display(), self.arguments.join(" ")),
            secrets: self.secrets,
            _home: self.home,
        }
    }
}

/// What is remembered of a command that was started.
pub(crate) struct Started {
    /// As a user would have typed it.
    pub(crate) command: String,
    /// What it must not show.
    pub(crate) secrets: Secrets,
    /// Its home folder, which it may need until it ends.
    _home: Option<Arc<TempDir>>,
}

/// The plugin's own file.
pub fn binary() -> &'static str {
    UnderTest::of_this_process().binary
}
