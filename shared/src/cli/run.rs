//! The flags that say how a run goes: output, consent, waiting, backup.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use crate::confirm::DryRun;
use crate::error::UsageError;
use crate::finding::FailOn;
use crate::report::Format;

/// How a run goes.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Run")]
pub struct RunFlags {
    /// Output format
    #[arg(id = OUTPUT, short = 'o', long = "output", default_value = "table", value_name = "FORMAT")]
    output: String,
    /// Carry the plan out without asking
    #[arg(short = 'y', long)]
    yes: bool,
    /// Write nothing: "client" only reads, "server" also sends each API write with dryRun=All
    #[arg(
        long,
        value_enum,
        default_value = "none",
        default_missing_value = "client",
        num_args = 0..=1,
        require_equals = true,
        value_name = "none|client|server"
    )]
    dry_run: DryRun,
    /// How long the verification may take, such as 90s or 5m
    #[arg(long, default_value = "120s", value_parser = duration, allow_hyphen_values = true, value_name = "DURATION")]
    timeout: Duration,
    /// Verify after the repair; --wait=false does not, and says so
    #[arg(
        long,
        default_value_t = true,
        default_missing_value = "true",
        num_args = 0..=1,
        require_equals = true,
        action = clap::ArgAction::Set,
        value_name = "true|false"
    )]
    wait: bool,
    /// From which severity on findings make the run exit with 1
    #[arg(id = FAIL_ON, long = "fail-on", value_enum, default_value = "error", value_name = "SEVERITY")]
    fail_on: FailOn,
    /// Print only the commands that would do the repair by hand
    #[arg(long)]
    print_commands: bool,
    /// Where the backup is written before the first write [default: $XDG_STATE_HOME/karmada-repair]
    #[arg(long, value_name = "FOLDER")]
    backup_dir: Option<PathBuf>,
    /// Take back what a run did, from the backup it wrote
    #[arg(long, value_name = "FILE")]
    undo: Option<PathBuf>,
}

/// How a run goes, as meant.
#[derive(Debug, Clone)]
pub struct RunOptions {
    /// The output format.
    pub format: Format,
    /// Whether consent is given beforehand.
    pub yes: bool,
    /// Whether, and how, nothing is written.
    pub dry_run: DryRun,
    /// How long the verification may take; `None` when it is switched off.
    pub verify_within: Option<Duration>,
    /// From which severity on a finding fails the run.
    pub fail_on: FailOn,
    /// Whether only the equivalent commands are printed.
    pub print_commands: bool,
    /// The folder for the backup; `None` for the default.
    pub backup_dir: Option<PathBuf>,
    /// The backup to take back; `None` for an ordinary run.
    pub undo: Option<PathBuf>,
}

impl RunFlags {
    /// What the flags mean together; `own` are the formats of the plugin.
    ///
    /// # Errors
    /// When two of them contradict each other.
    pub fn resolve(self, own: &[&'static str]) -> Result<RunOptions, UsageError> {
        let RunFlags {
            output,
            yes,
            dry_run,
            timeout,
            wait,
            fail_on,
            print_commands,
            backup_dir,
            undo,
        } = self;
        let format = Format::named(&output, own)
            .ok_or_else(|| UsageError::new(format!("there is no output format {output:?}")))?;
        if let (Format::Own(format), true) = (format, yes || undo.is_some()) {
            return Err(UsageError::new(format!(
                "--output {format} is a picture of the diagnosis: it cannot be used with --yes or --undo"
            )));
        }
        if yes && dry_run != DryRun::None {
            return Err(UsageError::new(
                "--yes and --dry-run cannot be used together: a dry run writes nothing",
            ));
        }
        if yes && print_commands {
            return Err(UsageError::new(
                "--yes and --print-commands cannot be used together: printing commands writes nothing",
            ));
        }
        if print_commands && !matches!(format, Format::Table | Format::Wide) {
            return Err(UsageError::new(
                "--print-commands and --output cannot be used together: commands have no other format",
            ));
        }
        Ok(RunOptions {
            format,
            yes,
            dry_run,
            verify_within: wait.then_some(timeout),
            fail_on,
            print_commands,
            backup_dir,
            undo,
        })
    }
}

/// The identifiers of the flags that only a repair gives a meaning to.
pub(crate) const OF_REPAIRS: [&str; 7] = [
    "yes",
    "dry_run",
    "timeout",
    "wait",
    "print_commands",
    "backup_dir",
    "undo",
];
/// The identifier of `--output`, whose values are made for each plugin.
pub(crate) const OUTPUT: &str = "output";
/// The identifier of `--fail-on`, whose default is the plugin's.
pub(crate) const FAIL_ON: &str = "fail_on";

/// A duration in kubectl's syntax: whole seconds (`90`), or numbers with the units `ms`, `s`, `m`, `h` (`1m30s`).
fn duration(text: &str) -> Result<Duration, String> {
    let invalid = || {
        format!(
            "{text:?} is not a duration; write a number of seconds, or numbers with units such as 90s, 2m or 1m30s"
        )
    };
    if let Ok(seconds) = text.parse::<u64>() {
        return Ok(Duration::from_secs(seconds));
    }
    let span: jiff::SignedDuration = text.parse().map_err(|_| invalid())?;
    Duration::try_from(span).map_err(|_| invalid())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_kubectl_reads_them() {
        let cases = [
            ("90", Some(90_000)),
            ("90s", Some(90_000)),
            ("1m30s", Some(90_000)),
            ("250ms", Some(250)),
            ("1h", Some(3_600_000)),
            ("0", Some(0)),
            ("-1s", None),
            ("fast", None),
            ("", None),
        ];
        for (text, milliseconds) in cases {
            let read = duration(text).ok().map(|duration| duration.as_millis());
            assert_eq!(read, milliseconds, "{text:?}");
        }
    }
}
