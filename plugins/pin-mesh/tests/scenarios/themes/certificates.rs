//! A pinned address is of use for the API once the certificate names it.

use karmada_lab::{Federation, Spec};
use karmada_scenarios::plugin::Plugin;
use karmada_scenarios::scenario::{Scenario, embedded};

pub(super) fn scenarios() -> Vec<Scenario> {
    embedded![
        warns_of_a_certificate_that_lacks_the_address,
        has_k3s_name_the_address,
        takes_the_file_back,
    ]
}

fn warns_of_a_certificate_that_lacks_the_address() {
    let federation = Federation::start(Spec::default()).unwrap();
    Plugin::on(&federation)
        .args(&["--yes"])
        .run()
        .exits(0)
        .reports("certificate-lacks-address")
        .reports("add --add-san");
}

fn has_k3s_name_the_address() {
    let federation = Federation::start(Spec::default()).unwrap();
    let run = || Plugin::on(&federation).args(&["--add-san", "--yes"]).run();
    Plugin::on(&federation).args(&["--yes"]).run().exits(0);
    run()
        .exits(0)
        .reports("write /etc/rancher/k3s/config.yaml.d/50-karmada-mesh.yaml");
    let names = federation.member("cluster-a").names();
    assert!(names.contains(&"172.28.0.11".to_owned()), "{names:?}");
    run().exits(0).does_not_report("Plan");
}

fn takes_the_file_back() {
    let federation = Federation::start(Spec::default()).unwrap();
    Plugin::on(&federation).args(&["--yes"]).run().exits(0);
    let said = Plugin::on(&federation)
        .args(&["--add-san", "--yes", "-o", "json"])
        .run();
    said.exits(0);
    let backup = said.json()["backup"].as_str().unwrap().to_owned();
    Plugin::on(&federation)
        .args(&["--undo", &backup, "--yes"])
        .run()
        .exits(0)
        .reports("Taken back");
}
