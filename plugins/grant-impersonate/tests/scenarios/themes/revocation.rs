//! Access taken away.

use karmada_lab::{Backend, Federation};
use karmada_scenarios::plugin::Plugin;
use karmada_scenarios::scenario::{Program, Scenario, anywhere, embedded};
use karmada_scenarios::state;

use crate::world::{PATIENTLY, accepts, asks, bind, open, settle, small, user};

pub(super) fn scenarios() -> Vec<Scenario> {
    let mut scenarios: Vec<Scenario> = anywhere![returns_to_the_refusal_of_before]
        .into_iter()
        .map(|scenario| scenario.needs(&[Program::Kubectl]))
        .collect();
    scenarios.extend(embedded![
        leaves_what_others_granted,
        cuts_no_grant_into_pieces,
        revokes_nothing_where_nothing_was_granted,
    ]);
    scenarios
}

fn returns_to_the_refusal_of_before(backend: &Backend) {
    let lab = backend.start(small()).unwrap();
    let lab = &*lab;
    settle(lab);
    let before = state::restorable(lab);
    let jane = ["--user", "jane", "--in-group", "devs", "--yes"];
    Plugin::on(lab).args(&jane).args(&PATIENTLY).run().exits(0);
    asks(lab, "jane", &["devs"], "member1").exits(0);
    let said = Plugin::on(lab)
        .args(&jane)
        .args(&["--revoke"])
        .args(&PATIENTLY)
        .run();
    said.exits(0).reports("still-granted");
    asks(lab, "jane", &["devs"], "member1")
        .exits(1)
        .tells("cannot get resource \"clusters/proxy\"");
    assert!(lab.wait_for(lab.patience(), || !accepts(lab, "member1", "jane")));
    state::returns_to(lab, &before, &said);
    Plugin::on(lab)
        .args(&["--user", "jane", "--revoke"])
        .run()
        .exits(0)
        .reports("Nothing to repair.");
}

fn leaves_what_others_granted() {
    let federation = Federation::start(small()).unwrap();
    settle(&federation);
    let jane = ["--user", "jane", "--yes"];
    Plugin::on(&federation)
        .args(&jane)
        .args(&PATIENTLY)
        .run()
        .exits(0);
    bind(&federation, "by-hand", &["get"], &[user("jane")]);
    let said = Plugin::on(&federation)
        .args(&jane)
        .args(&["--revoke"])
        .args(&PATIENTLY)
        .run();
    said.exits(0).reports("still-passes").reports("by-hand");
    assert!(accepts(&federation, "member1", "jane"));
}

fn cuts_no_grant_into_pieces() {
    let federation = Federation::start(open()).unwrap();
    settle(&federation);
    let jane = ["--user", "jane", "--yes"];
    Plugin::on(&federation)
        .args(&jane)
        .args(&PATIENTLY)
        .run()
        .exits(0);
    let before = state::of(&federation);
    let said = Plugin::on(&federation)
        .args(&jane)
        .args(&["member1", "--revoke"])
        .run();
    said.exits(1).reports("granted-more-widely");
    state::is_same(&state::of(&federation), &before, &said);
}

fn revokes_nothing_where_nothing_was_granted() {
    let federation = Federation::start(small()).unwrap();
    settle(&federation);
    let before = state::of(&federation);
    let said = Plugin::on(&federation).args(&["--revoke", "--yes"]).run();
    said.exits(0).reports("still-passes");
    state::is_same(&state::of(&federation), &before, &said);
}
