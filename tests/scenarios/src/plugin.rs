//! The plugin's binary and shell commands, as subprocesses that see one federation and nothing else.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use karmada_lab::Lab;

use crate::background::Running;
use crate::said::Said;
use crate::terminal::Session;
use crate::under_test::UnderTest;

/// A command to be run.
#[derive(Debug, Clone)]
pub struct Plugin {
    program: String,
    arguments: Vec<String>,
    environment: BTreeMap<String, String>,
    input: Option<String>,
    secrets: Vec<String>,
}

impl Plugin {
    /// The plugin with no flags.
    pub fn on(lab: &dyn Lab) -> Plugin {
        let mut environment = lab.environment();
        // `kubectl` finds the plugin as a user's does.
        let folder = Path::new(binary()).parent().unwrap();
        let path = environment.get("PATH").cloned().unwrap_or_default();
        environment.insert("PATH".to_owned(), format!("{}:{path}", folder.display()));
        Plugin {
            program: binary().to_owned(),
            arguments: Vec::new(),
            environment,
            input: None,
            secrets: secrets(lab),
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
        let command = pty_process::blocking::Command::new(&self.program)
            .args(&self.arguments)
            .env_clear()
            .envs(&self.environment);
        Session::open(command, self.shown(), self.secrets)
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
        let mut child = command.spawn().unwrap();
        if let (Some(text), Some(mut stdin)) = (&self.input, child.stdin.take()) {
            // A plugin that asks nothing has no need of it.
            let _ = stdin.write_all(text.as_bytes());
        }
        let shown = self.shown();
        Running::new(child, shown, self.secrets)
    }

    fn shown(&self) -> String {
        let program = Path::new(&self.program).file_name().unwrap_or_default();
        format!("{} {}", program.display(), self.arguments.join(" "))
    }
}

/// What must not be shown; a value that was emptied is no secret.
fn secrets(lab: &dyn Lab) -> Vec<String> {
    let mut secrets = lab.secrets();
    secrets.retain(|secret| secret.len() >= 8);
    secrets
}

/// The plugin's own file.
pub fn binary() -> &'static str {
    UnderTest::of_this_process().binary
}
