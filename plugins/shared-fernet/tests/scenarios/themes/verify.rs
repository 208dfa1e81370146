//! Which clusters decrypt a value of the database.

use karmada_lab::Backend;
use karmada_scenarios::scenario::{Scenario, anywhere};

use crate::airflow;

pub(super) fn scenarios() -> Vec<Scenario> {
    anywhere![tells_which_clusters_decrypt_a_value]
}

/// Key and token of the Fernet specification.
const KEY: &str = "cw_0x689RpI-jtRR7oE8h_eQsKImvJapLeSbXpwF4e4=";
const TOKEN: &str = "gAAAAAAdwJ6wAAECAwQFBgcICQoLDA0ODy021cpGVWKZ_eEwCGM4BLLF_5CV9dOPmrhuVUPgJobwOz7JcbmrR64jVmpU4IwqDA==\n";

fn tells_which_clusters_decrypt_a_value(backend: &Backend) {
    let lab = airflow::with_chart_made_keys(backend);
    let verify = |input: &str| {
        airflow::plugin(&*lab)
            .args(&["verify", "--ciphertext", "-"])
            .input(input)
            .run()
    };
    verify(TOKEN)
        .exits(1)
        .reports("[token-undecryptable]")
        .does_not_report("hello");
    let list = format!("{},{KEY}", airflow::KEYS[0]);
    airflow::secret(
        &*lab.member("cluster-a"),
        "airflow",
        "airflow-fernet-key",
        "fernet-key",
        &list,
    );
    let said = verify(TOKEN);
    said.exits(1)
        .reports("[token-undecryptable]")
        .reports("[token-decrypted]");
    verify("no token\n").exits(1).reports("[token-malformed]");
    verify("").exits(2).tells("no encrypted value on stdin");
}
