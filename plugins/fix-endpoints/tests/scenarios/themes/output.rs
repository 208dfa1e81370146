//! What is printed, where, and in which form.

use karmada_lab::{Backend, Federation, Lab, Spec};
use karmada_scenarios::plugin::Plugin;
use karmada_scenarios::scenario::{Scenario, anywhere, embedded};
use karmada_scenarios::state::{self, secret_path};

use crate::endpoints;

pub(super) fn scenarios() -> Vec<Scenario> {
    let mut scenarios = anywhere![
        prints_only_names_when_asked,
        prints_more_columns_when_wide,
        keeps_the_report_on_stdout_and_the_talk_on_stderr,
    ];
    scenarios.extend(embedded![
        prints_json_of_a_repair_as_the_schema_has_it,
        is_not_disturbed_by_a_reader_that_has_gone,
        shows_control_characters_escaped,
        keeps_secrets_out_of_backups,
        keeps_backups_private,
        orders_members_by_name,
        names_no_home_folder_as_an_error,
    ]);
    scenarios
}

fn start(backend: &Backend) -> Box<dyn Lab> {
    backend.start(Spec::default()).unwrap()
}

fn prints_json_of_a_repair_as_the_schema_has_it() {
    let federation = Federation::start(Spec::default()).unwrap();
    let said = Plugin::with_host(&federation).args(&["-o", "json"]).run();
    said.exits(0);
    let report = said.report();
    assert_eq!(report["verdict"], "repaired");
    let said = Plugin::on(&federation).args(&["-o", "json"]).run();
    assert_eq!(said.report()["verdict"], "healthy");
    let backup = report["backup"].as_str().unwrap();
    let said = Plugin::with_host(&federation)
        .args(&["-o", "json", "--undo", backup])
        .run();
    assert_eq!(said.report()["verdict"], "undone", "{said}");
}

fn prints_only_names_when_asked(backend: &Backend) {
    let lab = start(backend);
    let said = Plugin::on(&*lab).args(&["-o", "name"]).run();
    said.exits(1);
    assert_eq!(said.stdout, "cluster/cluster-a\ncluster/cluster-b\n");
}

fn prints_more_columns_when_wide(backend: &Backend) {
    let lab = start(backend);
    let heading = |arguments: &[&str]| {
        let said = Plugin::on(&*lab).args(arguments).run();
        said.stdout
            .lines()
            .next()
            .unwrap()
            .split_whitespace()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        heading(&[]),
        ["CLUSTER", "MODE", "READY", "ENDPOINT", "STATUS"]
    );
    let wide = heading(&["-o", "wide"]);
    assert_eq!(wide[..5], heading(&[]));
    assert_eq!(
        wide[5..],
        ["REASON", "CONTAINER", "ADDRESS", "CERTIFICATE-NAMES"]
    );
}

fn keeps_the_report_on_stdout_and_the_talk_on_stderr(backend: &Backend) {
    let lab = start(backend);
    let said = Plugin::with_host(&*lab).run();
    said.exits(0)
        .does_not_report("backup:")
        .does_not_report("waiting")
        .tells("backup: ")
        .does_not_tell("CLUSTER");
}

fn is_not_disturbed_by_a_reader_that_has_gone() {
    let federation = Federation::start(Spec::default()).unwrap();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    Plugin::with_host(&federation)
        .run_into(writer)
        .exits(0)
        .does_not_tell("error");
    assert!(state::is_ready(&federation, "cluster-a"));
}

/// Whoever may write the status of a member must not write on the terminal of who reads it.
fn shows_control_characters_escaped() {
    let federation = Federation::start(Spec::default()).unwrap();
    let url = "https://172.20.0.77:6443/\u{202e}x";
    endpoints::set_endpoint(&federation, "cluster-a", url);
    let said = Plugin::on(&federation).run();
    assert!(
        !said.stdout.contains('\u{202e}') && !said.stdout.contains('\u{1b}'),
        "{said}"
    );
}

/// The backup of a secret holds what is changed, and no token.
fn keeps_secrets_out_of_backups() {
    let mut spec = Spec::default();
    spec.members[0].secret_kubeconfig = Some(String::new());
    let federation = Federation::start(spec).unwrap();
    let said = Plugin::with_host(&federation).args(&["-o", "json"]).run();
    said.exits(0);
    let backup = std::fs::read_to_string(said.json()["backup"].as_str().unwrap()).unwrap();
    for secret in federation
        .secrets()
        .iter()
        .filter(|secret| !secret.is_empty())
    {
        assert!(!backup.contains(secret), "a secret is in the backup");
    }
    assert!(
        federation
            .control_plane()
            .read(&secret_path("cluster-a"))
            .unwrap()["data"]["token"]
            .is_string()
    );
}

fn keeps_backups_private() {
    use std::os::unix::fs::PermissionsExt;
    let federation = Federation::start(Spec::default()).unwrap();
    let folder = federation.directory().join("kept/here");
    let said = Plugin::with_host(&federation)
        .args(&["-o", "json", "--backup-dir", folder.to_str().unwrap()])
        .run();
    said.exits(0);
    let report = said.json();
    let backup = std::path::Path::new(report["backup"].as_str().unwrap());
    assert_eq!(backup.parent(), Some(folder.as_path()));
    let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(backup), mode(&folder)), (0o600, 0o700));
}

fn orders_members_by_name() {
    let mut spec = Spec::default();
    spec.members.reverse();
    let federation = Federation::start(spec).unwrap();
    let said = Plugin::on(&federation).args(&["-o", "json"]).run();
    let report = said.json();
    let names: Vec<&str> = report["subjects"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|subject| subject["name"].as_str())
        .collect();
    assert_eq!(names, ["cluster-a", "cluster-b"]);
}

fn names_no_home_folder_as_an_error() {
    let federation = Federation::start(Spec::default()).unwrap();
    Plugin::on(&federation)
        .without("HOME")
        .without("XDG_STATE_HOME")
        .args(&["--yes"])
        .run()
        .exits(1)
        .tells("there is no folder for the backup")
        .tells("--backup-dir");
    assert_eq!(federation.writes(), []);
}
