//! The commands that the demo runs: the plugins built beside it, and kubectl where there is one.

use std::env;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use karmada_lab::Federation;

/// Runs commands in the environment of a federation.
pub(crate) struct Commands {
    environment: Vec<(String, String)>,
    directory: PathBuf,
    kubectl: Option<PathBuf>,
}

/// What a command said.
pub(crate) struct Said {
    pub(crate) text: String,
    pub(crate) code: Option<i32>,
}

impl Commands {
    pub(crate) fn new(federation: &Federation) -> Self {
        let directory = own_directory();
        let mut environment: Vec<(String, String)> = federation.environment().into_iter().collect();
        let path = env::var("PATH").unwrap_or_default();
        environment.retain(|(name, _)| name != "PATH");
        environment.push(("PATH".to_owned(), format!("{}:{path}", directory.display())));
        Self {
            environment,
            directory,
            kubectl: find("kubectl", &path),
        }
    }

    /// The directory that holds the plugins.
    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    pub(crate) fn has_kubectl(&self) -> bool {
        self.kubectl.is_some()
    }

    /// Runs `kubectl` with these arguments; without kubectl, a plugin is run directly.
    ///
    /// # Errors
    /// When there is neither kubectl nor the plugin.
    pub(crate) fn kubectl(&self, arguments: &[&str]) -> Result<Said, String> {
        let (program, rest) = match (&self.kubectl, arguments) {
            (Some(kubectl), _) => (kubectl.clone(), arguments),
            (None, [plugin, rest @ ..]) => (self.plugin(plugin)?, rest),
            (None, []) => return Err("there is no kubectl on PATH".to_owned()),
        };
        let failed = |error: io::Error| format!("cannot run {}: {error}", program.display());
        // Both streams go into one pipe, so that their lines keep their order.
        let (mut reader, writer) = io::pipe().map_err(failed)?;
        let mut command = Command::new(&program);
        command
            .args(rest)
            .env_clear()
            .envs(self.environment.iter().cloned())
            .stdin(Stdio::null())
            .stdout(writer.try_clone().map_err(failed)?)
            .stderr(writer);
        let mut child = command.spawn().map_err(failed)?;
        // The command holds the writing ends; the pipe ends when the child does.
        drop(command);
        let mut bytes = Vec::new();
        reader.read_to_end(&mut bytes).map_err(failed)?;
        let status = child.wait().map_err(failed)?;
        Ok(Said {
            text: String::from_utf8_lossy(&bytes).trim_end().to_owned(),
            code: status.code(),
        })
    }

    /// The file of a plugin that kubectl would run for `name`.
    pub(crate) fn plugin(&self, name: &str) -> Result<PathBuf, String> {
        let file = format!("kubectl-{}", name.replace('-', "_"));
        let path = self.directory.join(&file);
        if path.is_file() {
            Ok(path)
        } else {
            Err(format!(
                "there is no {file} in {}",
                self.directory.display()
            ))
        }
    }
}

/// Builds the binaries of the workspace beside the demo's own.
pub(crate) fn build_plugins() -> Result<(), String> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let profile = if own_directory().ends_with("release") {
        "release"
    } else {
        "dev"
    };
    let status = Command::new(cargo)
        .args([
            "build",
            "--quiet",
            "--workspace",
            "--bins",
            "--exclude",
            env!("CARGO_PKG_NAME"),
            "--profile",
            profile,
        ])
        .current_dir(root)
        .status()
        .map_err(|error| format!("cannot run cargo: {error}"))?;
    if status.success() {
        Ok(())
    } else {
        Err("the plugins could not be built".to_owned())
    }
}

fn own_directory() -> PathBuf {
    env::current_exe()
        .ok()
        .and_then(|path| path.parent().map(Path::to_path_buf))
        .unwrap_or_default()
}

fn find(program: &str, path: &str) -> Option<PathBuf> {
    env::split_paths(path)
        .map(|directory| directory.join(program))
        .find(|candidate| candidate.is_file())
}
