//! Formats of its own.

use karmada_lab::Backend;
use karmada_scenarios::plugin::Plugin;
use karmada_scenarios::scenario::{Scenario, anywhere};

use crate::ending_in;

pub(super) fn scenarios() -> Vec<Scenario> {
    anywhere![metrics_and_pictures_exit_as_the_table_does]
}

fn metrics_and_pictures_exit_as_the_table_does(backend: &Backend) {
    let lab = ending_in(backend, 10);
    let context = lab.spec().host.context();
    let plugin = || Plugin::on(&*lab).args(&["--host-context", &context, "--no-probe"]);
    plugin().run().exits(1).reports("expiring");
    let subject = "secret/karmada-system/karmada-cert/karmada.crt";
    let metric = "karmada_check_certs_finding{code=\"expiring\",severity=\"warning\",subject=\"";
    for (format, beginning, text) in [
        (
            "prometheus",
            "# HELP karmada_check_certs_",
            &format!("{metric}{subject}\"}} 1\n"),
        ),
        ("svg", "<?xml version", &subject.to_owned()),
        ("html", "<!doctype html>\n", &subject.to_owned()),
    ] {
        let said = plugin().args(&["-o", format]).run();
        said.exits(1).reports(text);
        assert!(said.stdout.starts_with(beginning), "{}", said.stdout);
        plugin()
            .args(&["-o", format, "--fail-on", "error"])
            .run()
            .exits(0);
    }
}
