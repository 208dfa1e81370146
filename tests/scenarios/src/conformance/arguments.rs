//! The command line, before anything is read.

use super::faulty;
use crate::plugin::Plugin;
use crate::refusal::{kubeconfig, refuses};
use crate::scenario::{Scenario, embedded};
use crate::under_test::UnderTest;

pub(super) fn scenarios() -> Vec<Scenario> {
    embedded![
        shows_help_and_version,
        refuses_an_unknown_flag,
        refuses_flags_of_a_run_that_contradict_each_other,
        refuses_a_wait_that_is_no_time,
        refuses_an_undo_of_what_is_no_backup,
    ]
}

fn shows_help_and_version() {
    let plugin = UnderTest::of_this_process();
    let name = plugin.name();
    let help = Plugin::alone().args(&["--help"]).run();
    help.exits(0)
        .reports(&format!("Usage: kubectl karmada-{name}"))
        .reports("Examples:\n")
        .reports(&format!("\n  kubectl karmada-{name} "))
        .reports("Exit codes:\n");
    assert_eq!(help.stderr, "");
    let version = Plugin::alone().args(&["--version"]).run();
    assert_eq!(
        version.stdout,
        format!("kubectl-karmada-{name} {}\n", plugin.version)
    );
}

fn refuses_an_unknown_flag() {
    let said = Plugin::alone().args(&["--no-such-flag"]).run();
    said.exits(2)
        .tells("error: ")
        .tells("--no-such-flag")
        .tells("--help");
    assert_eq!(said.stdout, "");
}

fn refuses_flags_of_a_run_that_contradict_each_other() {
    for flags in [
        &["--yes", "--dry-run"][..],
        &["--yes", "--print-commands"],
        &["--print-commands", "-o", "json"],
        &["-o", "no-such-format"],
        &["--dry-run=maybe"],
        &["--wait=perhaps"],
    ] {
        let said = Plugin::alone().args(flags).run();
        said.exits(2).tells("error: ");
    }
}

fn refuses_a_wait_that_is_no_time() {
    for time in ["soon", "-1s", "", "1 parsec"] {
        let said = Plugin::alone().args(&["--timeout", time]).run();
        said.exits(2).tells("error: ");
    }
}

fn refuses_an_undo_of_what_is_no_backup() {
    let lab = faulty();
    let federation = lab.embedded().unwrap();
    let garbage = kubeconfig(federation, "{}");
    for file in ["/nowhere/backup.json", &garbage] {
        let plugin = Plugin::on(federation).args(&["--undo", file]);
        let told = match UnderTest::of_this_process().repairs {
            true => file,
            false => "repairs nothing",
        };
        refuses(federation, plugin, 2, &[told]);
    }
}
