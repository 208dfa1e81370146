//! What is said where the control plane cannot be found or asked.

use karmada_lab::Federation;

use super::{diagnosis, faulty};
use crate::plugin::Plugin;
use crate::refusal::{kubeconfig, refuses};
use crate::scenario::{Scenario, embedded};

pub(super) fn scenarios() -> Vec<Scenario> {
    embedded![
        names_a_missing_kubeconfig,
        names_an_empty_kubeconfig,
        names_a_kubeconfig_that_is_no_yaml,
        names_a_folder_given_as_kubeconfig,
        names_an_unknown_context,
        names_an_unknown_host_context,
        names_the_contexts_that_are_karmada,
        names_the_contexts_that_are_karmada_for_a_member,
        refuses_flags_of_a_connection_that_contradict_each_other,
        refuses_a_request_timeout_that_is_no_time,
        refuses_a_group_without_a_user,
        does_not_repeat_a_password_of_the_command_line,
        takes_both_names_of_the_context_flag,
        does_not_know_what_a_server_that_is_down_would_say,
    ]
}

/// The diagnosis with these arguments more is refused, and the texts are told.
#[track_caller]
fn is_refused(arguments: impl FnOnce(&Federation) -> Vec<String>, code: i32, texts: &[&str]) {
    let lab = faulty();
    let federation = lab.embedded().unwrap();
    let plugin = diagnosis(federation).args(&arguments(federation));
    refuses(federation, plugin, code, texts);
}

#[track_caller]
fn is_refused_with(arguments: &[&str], code: i32, texts: &[&str]) {
    let arguments: Vec<String> = arguments.iter().map(ToString::to_string).collect();
    is_refused(|_| arguments, code, texts);
}

fn given(text: &str) -> impl FnOnce(&Federation) -> Vec<String> {
    move |federation| vec!["--kubeconfig".to_owned(), kubeconfig(federation, text)]
}

fn names_a_missing_kubeconfig() {
    is_refused_with(
        &["--kubeconfig", "/nowhere/config"],
        2,
        &["/nowhere/config"],
    );
}

fn names_an_empty_kubeconfig() {
    is_refused(given(""), 3, &["given.config"]);
}

fn names_a_kubeconfig_that_is_no_yaml() {
    for text in [
        "clusters: [",
        "just words",
        "{\"clusters\": 7}",
        "\u{1}\u{2}",
    ] {
        is_refused(given(text), 3, &["given.config"]);
    }
}

fn names_a_folder_given_as_kubeconfig() {
    let lab = faulty();
    let federation = lab.embedded().unwrap();
    let folder = federation.directory().display().to_string();
    let plugin = diagnosis(federation).args(&["--kubeconfig", &folder]);
    refuses(federation, plugin, 3, &[&folder]);
}

fn names_an_unknown_context() {
    is_refused_with(&["--context", "karmada"], 2, &["\"karmada\""]);
}

fn names_an_unknown_host_context() {
    is_refused_with(&["--host-context", "k3d-nowhere"], 2, &["k3d-nowhere"]);
}

/// The host cluster's context in place of Karmada's.
fn names_the_contexts_that_are_karmada() {
    is_refused_with(
        &["--context", "k3d-karmada-host"],
        3,
        &["not a Karmada control plane", "--context karmada-apiserver"],
    );
}

fn names_the_contexts_that_are_karmada_for_a_member() {
    is_refused_with(
        &["--context", "k3d-cluster-a"],
        3,
        &["not a Karmada control plane", "--context karmada-apiserver"],
    );
}

fn refuses_flags_of_a_connection_that_contradict_each_other() {
    for flags in [
        &["--context", "a", "--karmada-context", "b"][..],
        &["--token", "a-token", "--username", "a"],
        &["--as-user-extra", "novalue"],
    ] {
        Plugin::alone().args(flags).run().exits(2).tells("error: ");
    }
}

fn refuses_a_request_timeout_that_is_no_time() {
    for time in ["soon", "-1s", "1 parsec"] {
        let said = Plugin::alone()
            .args(&[format!("--request-timeout={time}")])
            .run();
        said.exits(2).tells("error: ");
    }
}

fn refuses_a_group_without_a_user() {
    let said = Plugin::alone()
        .args(&["--as-group", "system:masters"])
        .run();
    said.exits(2).tells("error: ").tells("--as");
}

fn does_not_repeat_a_password_of_the_command_line() {
    for flags in [
        ["--token", "hunter2hunter2", "--username", "me"],
        ["--password", "hunter2hunter2", "--token", "other"],
    ] {
        let plugin = Plugin::alone().secret("hunter2hunter2");
        plugin.args(&flags).run().exits(2);
    }
}

fn takes_both_names_of_the_context_flag() {
    let lab = faulty();
    diagnosis(&*lab)
        .args(&[
            "--karmada-context",
            "karmada-apiserver",
            "--context",
            "karmada-apiserver",
        ])
        .run()
        .exits(1);
}

fn does_not_know_what_a_server_that_is_down_would_say() {
    let lab = faulty();
    let federation = lab.embedded().unwrap();
    federation.control_plane().set_refusing(true);
    let plugin = diagnosis(federation);
    refuses(federation, plugin, 3, &["127.0.0.1", "refused", "hint: "]);
}
