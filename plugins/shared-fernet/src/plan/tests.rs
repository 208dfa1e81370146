use karmada_repair::plan::{Action, Plan};
use serde_json::json;

use super::*;
use crate::config::Config;
use crate::diagnose::diagnose;
use crate::fixture::{World, compare, rotation, sync, workload};
use crate::keyring::Keyring;
use crate::keyring::tests::{key, ring};

fn planned(world: &World, config: &Config) -> Plan {
    let observed = world.observed(config);
    let findings = diagnose(&observed, config);
    plan(&observed, &findings, config)
}

fn codes(world: &World, config: &Config) -> Vec<String> {
    let observed = world.observed(config);
    diagnose(&observed, config)
        .into_iter()
        .map(|finding| finding.key.code)
        .collect()
}

/// What a step does, in a word and with its cluster.
fn words(plan: &Plan) -> Vec<String> {
    plan.steps
        .iter()
        .map(|step| {
            let server = match step.action.server() {
                Some(karmada_repair::plan::Server::Member(name)) => name.as_str(),
                _ => "?",
            };
            let name = step
                .action
                .object()
                .map_or("", |object| object.name.as_str());
            let word = match &step.action {
                Action::PatchObject { .. } => "write",
                Action::CreateObject { .. } => "create",
                Action::Restart { .. } => "restart",
                Action::Exec(_) => "run",
                _ => "?",
            };
            format!("{word} {server} {name}")
        })
        .collect()
}

/// Every pod of every cluster reads what every pod of any writes.
#[track_caller]
fn all_read_all(world: &World, moment: &str) {
    let lists: Vec<(String, Keyring)> = world
        .clusters
        .keys()
        .flat_map(|name| {
            let running = world.running(name);
            running.into_iter().map(move |list| (name.clone(), list))
        })
        .collect();
    for (reader, list) in &lists {
        for (writer, other) in &lists {
            assert!(
                list.reads(other.primary()),
                "{moment}: {reader} cannot read what {writer} writes"
            );
        }
    }
}

/// Carries out the first steps of a plan, and looks after each.
#[track_caller]
fn walk(world: &mut World, config: &Config, steps: usize) -> usize {
    let plan = planned(world, config);
    for (index, step) in plan.steps.iter().take(steps).enumerate() {
        assert!(
            world.carry_out(step),
            "step {index} is refused: {:?}",
            step.action
        );
        all_read_all(world, &format!("after step {index}"));
    }
    plan.steps.len()
}

#[test]
fn a_rotation_goes_through_all_clusters_stage_by_stage() {
    let world = World::of(&[("a", &[1]), ("b", &[1])]);
    let stage = [
        "write a airflow-fernet-key",
        "restart a scheduler",
        "restart a webserver",
        "write b airflow-fernet-key",
        "restart b scheduler",
        "restart b webserver",
    ];
    let expected: Vec<&str> = [&stage[..], &stage[..], &["run a scheduler"], &stage[..]].concat();
    assert_eq!(words(&planned(&world, &rotation(false))), expected);
}

#[test]
fn a_rotation_ends_with_the_new_key_alone_and_nothing_to_do() {
    let mut world = World::of(&[("a", &[1, 2]), ("b", &[1, 2])]);
    let config = rotation(false);
    walk(&mut world, &config, usize::MAX);
    for cluster in ["a", "b"] {
        assert_eq!(world.list(cluster), ring(&[9]));
        assert!(
            world
                .running(cluster)
                .iter()
                .all(|list| *list == ring(&[9]))
        );
    }
    assert!(planned(&world, &config).steps.is_empty());
    assert_eq!(codes(&world, &config), [""; 0]);
    assert_eq!(codes(&world, &compare()), [""; 0]);
    assert!(planned(&world, &rotation(true)).steps.is_empty());
}

#[test]
fn a_rotation_that_was_killed_at_any_step_is_gone_on_with() {
    let all = planned(&World::of(&[("a", &[1]), ("b", &[1])]), &rotation(false))
        .steps
        .len();
    for killed in 0..=all {
        let mut world = World::of(&[("a", &[1]), ("b", &[1])]);
        walk(&mut world, &rotation(false), killed);
        let ran_before = world.clusters["a"].commands;
        let trimmed = ["a", "b"].map(|cluster| world.list(cluster) == ring(&[9]));
        // Nothing was begun at step 0, and everything is done after the last one.
        let resumed = rotation(killed > 0);
        walk(&mut world, &resumed, usize::MAX);
        for cluster in ["a", "b"] {
            assert_eq!(world.list(cluster), ring(&[9]), "killed after {killed}");
            let running = world.running(cluster);
            assert!(
                running.iter().all(|list| *list == ring(&[9])),
                "killed after {killed}"
            );
        }
        let ran = world
            .clusters
            .values()
            .map(|cluster| cluster.commands)
            .sum::<usize>();
        if trimmed.contains(&false) {
            assert!(
                ran > ran_before,
                "the rows are encrypted anew in the run that trims"
            );
        }
        assert!(planned(&world, &resumed).steps.is_empty());
    }
}

#[test]
fn a_rotation_that_was_killed_twice_is_gone_on_with() {
    let all = planned(
        &World::of(&[("a", &[1]), ("b", &[1]), ("c", &[1])]),
        &rotation(false),
    );
    for first in 1..all.steps.len() {
        for second in 0..4 {
            let mut world = World::of(&[("a", &[1]), ("b", &[1]), ("c", &[1])]);
            walk(&mut world, &rotation(false), first);
            walk(&mut world, &rotation(true), second);
            walk(&mut world, &rotation(true), usize::MAX);
            for cluster in ["a", "b", "c"] {
                assert_eq!(world.list(cluster), ring(&[9]), "{first} {second}");
            }
        }
    }
}

#[test]
fn nothing_is_rotated_where_a_cluster_could_not_follow() {
    let mut disjoint = World::of(&[("a", &[1]), ("b", &[2])]);
    assert!(codes(&disjoint, &rotation(false)).contains(&"rotation-needs-sync".to_owned()));
    assert!(planned(&disjoint, &rotation(false)).steps.is_empty());
    disjoint.set("b", "airflow-fernet-key", "fernet-key", "deadbeef");
    assert!(codes(&disjoint, &rotation(false)).contains(&"rotation-blocked".to_owned()));
    assert!(planned(&disjoint, &rotation(false)).steps.is_empty());

    let mut immutable = World::of(&[("a", &[1]), ("b", &[1])]);
    immutable.secret("b", "airflow-fernet-key")["immutable"] = json!(true);
    let codes = codes(&immutable, &rotation(false));
    assert!(codes.contains(&"rotation-blocked".to_owned()), "{codes:?}");
    assert!(planned(&immutable, &rotation(false)).steps.is_empty());
}

#[test]
fn one_stage_is_done_in_a_run_where_tasks_have_pods_of_their_own() {
    let launching = || {
        let mut world = World::of(&[("a", &[1]), ("b", &[1])]);
        let cluster = world.clusters.get_mut("b").expect("it is there");
        for workload in &mut cluster.workloads {
            workload["spec"]["template"]["metadata"]["labels"]["executor"] =
                json!("KubernetesExecutor");
        }
        world
    };
    let mut world = launching();
    let mut runs = 0;
    let mut resume = false;
    loop {
        let steps = planned(&world, &rotation(resume)).steps.len();
        if steps == 0 {
            break;
        }
        walk(&mut world, &rotation(resume), usize::MAX);
        resume = true;
        runs += 1;
        assert!(runs < 9, "it comes to an end");
    }
    assert_eq!(runs, 3);
    assert_eq!(world.list("a"), ring(&[9]));
    assert_eq!(world.list("b"), ring(&[9]));
}

#[test]
fn a_sync_of_disjoint_lists_loses_no_key() {
    let mut world = World::of(&[("a", &[1]), ("b", &[2])]);
    assert!(codes(&world, &compare()).contains(&"keys-disjoint".to_owned()));
    for step in planned(&world, &sync(false)).steps {
        assert!(world.carry_out(&step));
    }
    assert_eq!(world.list("a"), ring(&[1, 2]));
    assert_eq!(world.list("b"), ring(&[1, 2]));
    assert_eq!(codes(&world, &compare()), [""; 0]);
    assert!(planned(&world, &sync(false)).steps.is_empty());
}

#[test]
fn a_sync_that_was_killed_at_any_step_is_completed_by_a_later_one() {
    let start: [(&str, &[u8]); 3] = [("a", &[1]), ("b", &[2, 3]), ("c", &[3])];
    let all = planned(&World::of(&start), &sync(false)).steps.len();
    for killed in 0..=all {
        let mut world = World::of(&start);
        for step in planned(&world, &sync(false)).steps.iter().take(killed) {
            assert!(world.carry_out(step));
        }
        // More than one later run may be needed: keys that were added have another order than they would have had.
        for _ in 0..2 {
            for step in planned(&world, &sync(false)).steps {
                assert!(world.carry_out(&step), "killed after {killed}");
            }
        }
        let list = world.list("a");
        assert_eq!(list.primary(), &key(1), "killed after {killed}");
        assert!([2, 3].iter().all(|byte| list.reads(&key(*byte))));
        for cluster in ["b", "c"] {
            assert_eq!(world.list(cluster), list, "killed after {killed}");
        }
        assert_eq!(codes(&world, &compare()), [""; 0], "killed after {killed}");
    }
}

#[test]
fn a_sync_that_replaces_drops_the_others_last() {
    let mut world = World::of(&[("a", &[1]), ("b", &[2])]);
    let plan = planned(&world, &sync(true));
    for step in &plan.steps {
        assert!(world.carry_out(step));
    }
    assert_eq!(world.list("a"), ring(&[1]));
    assert_eq!(world.list("b"), ring(&[1]));
}

#[test]
fn a_missing_key_or_secret_is_made() {
    let mut world = World::of(&[("a", &[1]), ("b", &[])]);
    for step in planned(&world, &sync(false)).steps {
        assert!(world.carry_out(&step));
    }
    assert_eq!(world.list("b"), ring(&[1]));

    let mut world = World::of(&[("a", &[1])]);
    let cluster = world.clusters.entry("b".to_owned()).or_default();
    cluster.workloads.push(workload("b", "scheduler"));
    let plan = planned(&world, &sync(false));
    assert_eq!(
        words(&plan),
        ["create b airflow-fernet-key", "restart b scheduler"]
    );
    for step in &plan.steps {
        assert!(world.carry_out(step));
    }
    assert_eq!(world.list("b"), ring(&[1]));
}

#[test]
fn equal_keys_in_other_words_are_left_alone() {
    let mut world = World::of(&[("a", &[251]), ("b", &[251])]);
    let text = ring(&[251]).value();
    let text = String::from_utf8_lossy(text.bytes())
        .replace('_', "/")
        .replace('-', "+");
    world.set(
        "b",
        "airflow-fernet-key",
        "fernet-key",
        &format!("{text}\n"),
    );
    for workload in ["scheduler", "webserver"] {
        let step = planned(&World::of(&[("a", &[1]), ("b", &[2])]), &sync(false))
            .steps
            .into_iter()
            .find(|step| {
                matches!(&step.action, Action::Restart { object, server: karmada_repair::plan::Server::Member(name), .. } if object.name == workload && name == "b")
            });
        assert!(world.carry_out(&step.expect("b is restarted there")));
    }
    assert_eq!(codes(&world, &compare()), ["key-not-canonical"]);
    assert!(planned(&world, &sync(false)).steps.is_empty());
}

#[test]
fn a_step_is_refused_where_somebody_else_wrote_since() {
    let mut world = World::of(&[("a", &[1]), ("b", &[1])]);
    let plan = planned(&world, &rotation(false));
    world.set("a", "airflow-fernet-key", "fernet-key", "something else");
    assert!(!world.carry_out(&plan.steps[0]));
}

#[test]
fn no_key_is_in_what_a_plan_shows() {
    let world = World::of(&[("a", &[1]), ("b", &[2])]);
    let plan = planned(&world, &sync(false));
    let shown: String = plan
        .steps
        .iter()
        .map(|step| {
            format!(
                "{:?} {} {} {} {:?}",
                step,
                step.action.sentence(),
                step.action.masked(),
                step.command,
                step.caution
            )
        })
        .collect();
    for byte in [1, 2] {
        assert!(!shown.contains(key(byte).text().as_str()));
        let value = ring(&[byte]).value();
        let encoded =
            base64::Engine::encode(&base64::engine::general_purpose::STANDARD, value.bytes());
        assert!(!shown.contains(&encoded));
    }
}
