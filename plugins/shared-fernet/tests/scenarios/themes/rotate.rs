//! The fernet key is replaced, and no moment leaves a cluster behind.

use std::sync::{Arc, Mutex};

use karmada_lab::{Execution, Federation, PodExec};
use karmada_scenarios::scenario::{Scenario, embedded};
use rustix::process::Signal;

use crate::airflow::{self, KEYS};

pub(super) fn scenarios() -> Vec<Scenario> {
    embedded![
        replaces_the_key_everywhere,
        stops_before_old_keys_are_dropped_when_the_command_fails,
        goes_on_after_a_kill_at_any_step,
        begins_nothing_when_it_is_to_go_on,
        rotates_nothing_where_lists_differ,
        is_not_taken_back_beyond_the_new_key,
    ]
}

fn federation() -> Box<dyn karmada_lab::Lab> {
    let backends = karmada_lab::backends();
    airflow::with_one_key(
        backends
            .iter()
            .find(|backend| backend.name == "embedded")
            .unwrap(),
    )
}

/// Answers the command of Airflow, and notes in which member it ran.
fn answer(federation: &Federation, execution: fn() -> Execution) -> Arc<Mutex<Vec<String>>> {
    let ran = Arc::new(Mutex::new(Vec::new()));
    for member in ["cluster-a", "cluster-b"] {
        let ran = Arc::clone(&ran);
        federation.member(member).on_exec(move |exec: &PodExec| {
            let command = exec.command.join(" ");
            ran.lock()
                .unwrap()
                .push(format!("{member} {} {command}", exec.container));
            execution()
        });
    }
    ran
}

fn done() -> Execution {
    Execution::said("")
}

fn replaces_the_key_everywhere() {
    let lab = federation();
    let ran = answer(lab.embedded().unwrap(), done);
    let said = airflow::plugin(&*lab).args(&["rotate", "--yes"]).run();
    said.exits(0).reports("Repaired, and verified");
    assert_eq!(
        *ran.lock().unwrap(),
        ["cluster-a scheduler airflow rotate-fernet-key"]
    );
    let list = airflow::list(&*lab, "cluster-a");
    assert_eq!(list.len(), 1, "{said}");
    assert_ne!(list[0], KEYS[0]);
    assert_eq!(airflow::list(&*lab, "cluster-b"), list);
    // The new key was not shown either.
    for part in list {
        assert!(!said.stdout.contains(&part) && !said.stderr.contains(&part));
    }
    airflow::plugin(&*lab).run().exits(0);
    airflow::plugin(&*lab)
        .args(&["rotate", "--resume", "--yes"])
        .run()
        .exits(0);
}

fn stops_before_old_keys_are_dropped_when_the_command_fails() {
    let lab = federation();
    answer(lab.embedded().unwrap(), || {
        Execution::failed(1, "cryptography.fernet.InvalidToken")
    });
    let said = airflow::plugin(&*lab).args(&["rotate", "--yes"]).run();
    said.exits(4)
        .tells("InvalidToken")
        .tells("rotate-fernet-key");
    for member in ["cluster-a", "cluster-b"] {
        let list = airflow::list(&*lab, member);
        assert_eq!(list.len(), 2, "{said}");
        assert_eq!(list[1], KEYS[0]);
    }
    airflow::plugin(&*lab)
        .run()
        .reports("[rotation-unfinished]");
    let said = airflow::plugin(&*lab)
        .args(&["rotate", "--resume", "--rotated", "--yes"])
        .run();
    said.exits(0);
    assert_eq!(airflow::list(&*lab, "cluster-a").len(), 1);
}

fn goes_on_after_a_kill_at_any_step() {
    let steps = {
        let lab = federation();
        let said = airflow::plugin(&*lab)
            .args(&["rotate", "--dry-run", "-o", "json"])
            .run();
        said.json()["steps"].as_array().unwrap().len()
    };
    for killed in (0..steps).step_by(4) {
        let lab = federation();
        answer(lab.embedded().unwrap(), done);
        let mut running = airflow::plugin(&*lab).args(&["rotate", "--yes"]).start();
        running.wait_for("backup: ");
        for _ in 0..killed {
            running.wait_for(": applied");
        }
        running.signal(Signal::KILL);
        running.finish();
        let said = airflow::plugin(&*lab)
            .args(&["rotate", "--resume", "--yes"])
            .run();
        // Between the last list and the restarts after it no rotation is left to go on with: they are told.
        let told = said.code == Some(1) && said.stdout.contains("[pods-stale]");
        assert!(said.code == Some(0) || told, "{said}");
        let lists = ["cluster-a", "cluster-b"].map(|member| airflow::list(&*lab, member));
        assert_eq!(lists[0], lists[1], "{said}");
        assert_eq!(lists[0].len(), 1, "killed after {killed}: {said}");
    }
}

fn begins_nothing_when_it_is_to_go_on() {
    let lab = federation();
    let said = airflow::plugin(&*lab)
        .args(&["rotate", "--resume", "--yes"])
        .run();
    said.exits(0).reports("[rotation-none]");
    assert_eq!(airflow::list(&*lab, "cluster-a"), [KEYS[0]]);
}

fn rotates_nothing_where_lists_differ() {
    let lab = federation();
    airflow::secret(
        &*lab.member("cluster-b"),
        "airflow",
        "airflow-fernet-key",
        "fernet-key",
        KEYS[1],
    );
    let said = airflow::plugin(&*lab).args(&["rotate", "--yes"]).run();
    said.exits(1).reports("[rotation-needs-sync]");
    assert_eq!(airflow::list(&*lab, "cluster-a"), [KEYS[0]]);
}

/// What the new key encrypted stays readable, whatever is taken back.
fn is_not_taken_back_beyond_the_new_key() {
    let lab = federation();
    answer(lab.embedded().unwrap(), done);
    let said = airflow::plugin(&*lab).args(&["rotate", "--yes"]).run();
    said.exits(0);
    let new = airflow::list(&*lab, "cluster-a").remove(0);
    let backup = said
        .line_with("backup: ")
        .trim_start_matches("backup: ")
        .to_owned();
    let said = airflow::plugin(&*lab)
        .args(&["--yes", "--undo", &backup])
        .run();
    said.exits(0).tells("not taken back");
    for member in ["cluster-a", "cluster-b"] {
        assert_eq!(
            airflow::list(&*lab, member),
            [KEYS[0].to_owned(), new.clone()],
            "{said}"
        );
    }
}
