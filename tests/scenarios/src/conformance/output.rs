//! What is printed of a diagnosis, where, and in which form.

use karmada_lab::{Backend, Lab};
use serde_json::{Value, json};

use super::{diagnosis, faulty};
use crate::plugin::Plugin;
use crate::scenario::{Scenario, anywhere, embedded};
use crate::state;
use crate::under_test::UnderTest;

pub(super) fn scenarios() -> Vec<Scenario> {
    let mut scenarios = anywhere![
        prints_json_as_the_schema_has_it,
        prints_the_same_in_yaml,
        exits_alike_in_every_format,
        changes_nothing_when_run_dry,
    ];
    scenarios.extend(embedded![
        is_quiet_when_its_reader_has_gone,
        says_that_the_report_could_not_be_printed,
        colours_nothing_away_from_a_terminal,
    ]);
    scenarios
}

fn start(backend: &Backend) -> Box<dyn Lab> {
    (UnderTest::of_this_process().federation)(backend)
}

fn prints_json_as_the_schema_has_it(backend: &Backend) {
    let lab = start(backend);
    let said = diagnosis(&*lab).args(&["-o", "json"]).run();
    said.exits(1);
    let report = said.report();
    assert_eq!(report["plugin"], UnderTest::of_this_process().name());
    assert_eq!(report["schemaVersion"], 1);
    assert_eq!(report["verdict"], "faulty");
    assert_eq!(report["exitCode"], 1);
    assert_ne!(report["findings"], json!([]));
}

fn prints_the_same_in_yaml(backend: &Backend) {
    let lab = start(backend);
    let json = diagnosis(&*lab).args(&["-o", "json"]).run();
    let yaml = diagnosis(&*lab).args(&["-o", "yaml"]).run();
    yaml.exits(1);
    let mut reports = [json.json(), serde_saphyr::from_str(&yaml.stdout).unwrap()];
    for report in &mut reports {
        // Times differ, in the steps' annotations too.
        report["time"] = Value::Null;
        report["steps"] = json!(report["steps"].as_array().unwrap().len());
    }
    assert_eq!(reports[0], reports[1]);
}

fn exits_alike_in_every_format(backend: &Backend) {
    let lab = start(backend);
    for format in ["table", "wide", "json", "yaml", "name"] {
        diagnosis(&*lab).args(&["-o", format]).run().exits(1);
    }
}

fn changes_nothing_when_run_dry(backend: &Backend) {
    let lab = start(backend);
    let dry: &[&[&str]] = match UnderTest::of_this_process().repairs {
        true => &[&["--dry-run"], &["--dry-run=client"], &["--dry-run=server"]],
        false => &[&[]],
    };
    for dry in dry {
        let before = state::of(&*lab);
        let said = diagnosis(&*lab).args(dry).run();
        said.exits(1).does_not_tell("backup");
        state::is_same(&state::of(&*lab), &before, &said);
        if let Some(federation) = lab.embedded() {
            assert_eq!(federation.writes(), [], "{said}");
        }
    }
}

fn is_quiet_when_its_reader_has_gone() {
    let lab = faulty();
    let dry: &[&str] = match UnderTest::of_this_process().repairs {
        true => &["--dry-run"],
        false => &[],
    };
    for (plugin, code) in [
        (diagnosis(&*lab).args(dry), 1),
        (diagnosis(&*lab).args(dry).args(&["-o", "json"]), 1),
        (Plugin::alone().args(&["--help"]), 0),
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let said = plugin.run_into(writer);
        said.exits(code).does_not_tell("error");
    }
}

fn says_that_the_report_could_not_be_printed() {
    let lab = faulty();
    let full = std::fs::File::options()
        .write(true)
        .open("/dev/full")
        .unwrap();
    diagnosis(&*lab).run_into(full).tells("error: ");
}

fn colours_nothing_away_from_a_terminal() {
    let lab = faulty();
    for plugin in [
        diagnosis(&*lab),
        Plugin::alone().args(&["--help"]),
        Plugin::alone().args(&["--no-such-flag"]),
    ] {
        let said = plugin.without("NO_COLOR").run();
        let coloured = said.stdout.contains('\u{1b}') || said.stderr.contains('\u{1b}');
        assert!(!coloured, "{said}");
    }
}
